/* What npy.c, which reads, and npy_write.c share. */
#ifndef EINC_NPY_FORMAT_H
#define EINC_NPY_FORMAT_H

#include <stdarg.h>

#include "npy.h"

enum {
    NPY_ALIGN = 64,               /* of the data in the file, as numpy has it */
    NPY_PREAMBLE = 10,            /* of format 1.0: magic, version, two bytes of header length */
    NPY_HEADER_MAX = 1 << 20      /* einc's dtypes need 1.5 KB at most; the rest is for saying what else a file holds */
};

static const char npy_magic[6] = { '\x93', 'N', 'U', 'M', 'P', 'Y' };
static const char npy_native = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';

extern const char *const npy_codes[DTYPE_COUNT];

/* Where a message goes, and the path that it begins with. */
typedef struct NpyReport {
    const char *path;
    char *text;
    size_t bytes;
} NpyReport;

/* Says what is wrong; false, so that callers can return it. */
__attribute__((format(printf, 2, 3))) bool npy_fail(const NpyReport *report, const char *format, ...);

/* The bytes of an array's data into `bytes`; false when no memory can hold them. Extents of 0 do not excuse the
 * others: their product would overflow elsewhere. */
bool npy_data_bytes(const Array *array, size_t *bytes);

/* Zeroed memory, aligned to a page; NULL when there is none. */
void *npy_pages(size_t bytes);
void npy_release(void *memory, size_t bytes);

#endif
