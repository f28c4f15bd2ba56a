/* NumPy's .npy files: arrays from and to disk, in place wherever the file allows it.
 *
 *     char error[512];
 *     NpyFile in;
 *     NpyWriter out;
 *     if (!npy_open(&in, "queries.npy", error, sizeof error))
 *         …
 *     if (!npy_create(&out, "scores.npy", DTYPE_F32, 1, &in.array.shape[0], error, sizeof error))
 *         …
 *     … fill out.array …
 *     if (!npy_commit(&out, error, sizeof error))
 *         …
 *     npy_close(&in);
 *
 * Functions that can fail return false and leave one line in `error`, without a newline: the path, a colon, what is
 * wrong and what to do. A line longer than `error_bytes` is cut. Nothing here prints, exits or keeps global state.
 *
 * A file holds any of einc's dtypes: |b1 |i1 <i2 <i4 <i8 <f2 <f4 <f8 <c8 <c16, and bf16 as <V2 or |V2, as ml_dtypes
 * writes it; '>' in the place of '<' is read too. A bool read is true for any byte but 0. */
#ifndef EINC_NPY_H
#define EINC_NPY_H

#include "array.h"

typedef struct NpyFile {
    Array array;          /* to be read only; lives until npy_close(). C or Fortran order, any alignment */
    void *memory;         /* behind the array: the mapped file, or a copy of its data; NULL when closed */
    size_t bytes;
    bool mapped;          /* the pages are the file's own: if others cut it short, reading raises SIGBUS */
} NpyFile;

/* Opens the array in the file `path`; "-" is the standard input. A regular file in this machine's byte order is mapped,
 * anything else (a pipe, the other byte order) read into memory. What follows the array is left alone, so that several
 * arrays may come through one pipe. A read that a signal interrupts goes on. On failure there is nothing to close, and
 * closing does no harm. */
bool npy_open(NpyFile *file, const char *path, char *error, size_t error_bytes);
void npy_close(NpyFile *file);

typedef struct NpyWriter {
    Array array;          /* to be filled: C order, all zeros, its data 64-byte aligned; lives until commit or abort */
    void *memory;         /* the whole file, its header first; NULL when nothing is open */
    size_t bytes;
    bool mapped;          /* `memory` is the temporary file itself; otherwise npy_commit() writes it */
    int fd;
    char *path;           /* as given, for messages */
    char *target;         /* the file to replace, links followed; NULL: `fd` leads to no regular file, or to stdout */
    char *temporary;      /* beside the target, renamed to it; NULL: `fd` is the target's own */
} NpyWriter;

/* Begins an output file; "-" and /dev/stdout are the standard output. Nothing appears at `path` before npy_commit():
 * until then the array is a file beside it, "scores.npy.einc-1f00ba", whose blocks are already allocated, so that a
 * full disk is found here. (A process that is killed leaves that file.) A new file has the mode 0666 & ~umask, one
 * that is replaced keeps its mode and, where allowed, its owner; a read-only one is refused. A symbolic link is
 * followed; other hard links keep the old contents. What is no regular file, and a file that cannot be replaced because
 * of its folder or because it is a mount, gets header and data in sequence at npy_commit(). On failure there is nothing
 * to abort, and aborting does no harm. */
bool npy_create(NpyWriter *writer, const char *path, Dtype dtype, int rank, const int64_t *shape, char *error,
                size_t error_bytes);

/* Puts the file in its place. It is not synced: after a crash of the machine it may be incomplete. A write that a
 * signal interrupts goes on; one to a pipe that nobody reads raises SIGPIPE. The writer is closed afterwards, also on
 * failure; then the temporary file is gone. */
bool npy_commit(NpyWriter *writer, char *error, size_t error_bytes);

/* Gives the output up: removes the temporary file, leaves the target as it was. Does nothing after npy_commit(), a
 * second time, or when `*writer` is all zeros, so that every way out may call it. Not for signal handlers. */
void npy_abort(NpyWriter *writer);

/* How .npy spells a dtype, without the byte order: "f4". */
const char *npy_code(Dtype dtype);

#endif
