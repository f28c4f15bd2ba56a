/* .npy files being written. */
#include "npy_format.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_all(int fd, const void *memory, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = write(fd, (const char *)memory + done, bytes - done < INT_MAX ? bytes - done : INT_MAX);
        if (n < 0 && errno != EINTR)
            return false;
        done += n < 0 ? 0 : (size_t)n;
    }
    return true;
}

/* The header as numpy.save writes it, byte for byte; its length, a multiple of NPY_ALIGN. RANK_MAX extents take 1.4 KB, so
 * format 1.0, which counts to 64 KB, always does. */
static size_t put_header(char *out, size_t bytes, const Array *array)
{
    char shape[RANK_MAX * 21 + 1] = "";
    int length = 0, spare = 0;
    for (int i = 0; i < array->rank; i++)
        length += sprintf(shape + length, i ? " %" PRId64 "," : "%" PRId64 ",", array->shape[i]);
    if (array->rank > 1)
        shape[length - 1] = 0;   /* (3, 4), but (3,) */
    if (array->rank)
        spare = 21 - snprintf(NULL, 0, "%" PRId64, array->shape[0]);   /* for numpy to append rows in place */
    char order = dtype_size(array->dtype) == 1 ? '|' : npy_native;
    length = NPY_PREAMBLE + snprintf(out + NPY_PREAMBLE, bytes - NPY_PREAMBLE,
                                 "{'descr': '%c%s', 'fortran_order': False, 'shape': (%s), }%*s", order,
                                 npy_codes[array->dtype], shape, spare, "");
    int end = (length + 1) / NPY_ALIGN * NPY_ALIGN + NPY_ALIGN;   /* with a newline; numpy adds 64 spaces rather than none */
    memcpy(out, npy_magic, sizeof npy_magic);
    memcpy(out + sizeof npy_magic, "\1\0", 2);
    out[8] = (char)((end - NPY_PREAMBLE) & 0xFF);
    out[9] = (char)((end - NPY_PREAMBLE) >> 8);
    memset(out + length, ' ', (size_t)(end - length));
    out[end - 1] = '\n';
    return (size_t)end;
}

/* The file at the end of a chain of symbolic links, there or not; NULL with errno set. */
static char *follow(const char *path)
{
    enum { LINKS_MAX = 40 };
    char *at = strdup(path);
    for (int links = 0; at; links++) {
        char link[PATH_MAX], *next;
        ssize_t length = readlink(at, link, sizeof link - 1);
        if (length < 0)
            break;                /* no link, or nothing there */
        link[length] = 0;
        const char *slash = *link == '/' ? NULL : strrchr(at, '/');
        if (links == LINKS_MAX || asprintf(&next, "%.*s%s", slash ? (int)(slash + 1 - at) : 0, at, link) < 0)
            next = NULL;
        free(at);
        at = next;
        errno = links == LINKS_MAX ? ELOOP : ENOMEM;   /* if `at` is now NULL */
    }
    return at;
}

/* A new file beside the target: its descriptor and name, or -1 with errno set. open() rather than mkostemp(), so that
 * the umask applies without being read, which threads cannot do safely. */
static int open_beside(const char *target, char **name)
{
    enum { TRIES = 100, BASE_MAX = 200 };   /* of the target's name: a name has 255 bytes */
    const char *slash = strrchr(target, '/'), *base = slash ? slash + 1 : target;
    *name = NULL;
    errno = *base ? EEXIST : EISDIR;
    for (int i = 0; i < TRIES && errno == EEXIST; i++) {
        unsigned char random[3];
        if (getentropy(random, sizeof random)
            || asprintf(name, "%.*s%.*s.einc-%02x%02x%02x", (int)(base - target), target, BASE_MAX, base, random[0],
                        random[1], random[2]) < 0) {
            *name = NULL;
            return -1;
        }
        int fd = open(*name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0)
            return fd;
        int why = errno;
        free(*name);
        *name = NULL;
        errno = why;
    }
    return -1;
}

/* The standard output under its several names. */
static bool is_stdout(const char *path)
{
    return !strcmp(path, "-") || !strcmp(path, "/dev/stdout") || !strcmp(path, "/dev/fd/1")
        || !strcmp(path, "/proc/self/fd/1");
}

/* Gives a new file the owner and mode of the one it replaces, as far as the system lets us. */
static void inherit(int fd, const struct stat *old)
{
    int refused = fchown(fd, old->st_uid, old->st_gid);
    refused |= fchmod(fd, old->st_mode & 0777);
    (void)refused;
}

/* Opens what the bytes will go to; false with errno set. */
static bool open_output(NpyWriter *writer, const char *path)
{
    struct stat old;
    if (is_stdout(path))
        return (writer->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0;
    bool exists = !stat(path, &old);
    if (exists && !S_ISREG(old.st_mode))
        return (writer->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY)) >= 0;
    if (exists && eaccess(path, W_OK))
        return false;             /* replacing it would be allowed, but is not what a read-only file is for */
    if (!(writer->target = follow(path)))
        return false;
    writer->fd = open_beside(writer->target, &writer->temporary);
    if (exists && writer->fd >= 0)
        inherit(writer->fd, &old);
    else if (exists)
        writer->fd = open(writer->target, O_WRONLY | O_CLOEXEC);
    return writer->fd >= 0;
}

/* Makes the temporary file as large as it will be and maps it. False with errno set when the disk is too full; where
 * blocks cannot be reserved, or nothing mapped, `memory` stays NULL. A hole would do as well until the disk is full:
 * then writing to it raises SIGBUS. Not posix_fallocate(), which only writes zeros where the file system cannot
 * reserve, and those that copy on write need new blocks after that. */
static bool map_output(NpyWriter *writer)
{
    struct rlimit limit;
    if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY && writer->bytes > limit.rlim_cur) {
        errno = EFBIG;            /* going on would raise SIGXFSZ */
        return false;
    }
    int status;
    do
        status = fallocate(writer->fd, 0, 0, (off_t)writer->bytes);
    while (status && errno == EINTR);
    if (status)
        return errno != ENOSPC && errno != EDQUOT && errno != EFBIG;
    void *memory = mmap(NULL, writer->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, writer->fd, 0);
    if (memory != MAP_FAILED) {
        writer->memory = memory;
        writer->mapped = true;
    }
    return true;
}

bool npy_create(NpyWriter *writer, const char *path, Dtype dtype, int rank, const int64_t *shape, char *error,
                size_t error_bytes)
{
    NpyReport report = { is_stdout(path) ? "<stdout>" : path, error, error_bytes };
    char header[2048];
    *writer = (NpyWriter){ .array = { .dtype = dtype, .rank = rank }, .fd = -1, .path = strdup(report.path) };
    for (int i = 0; i < rank; i++)
        writer->array.shape[i] = shape[i];
    array_lay_out(&writer->array, false);
    size_t offset, bytes;
    bool ok = npy_data_bytes(&writer->array, &bytes);
    if (!ok) {
        npy_fail(&report, "the array is too large for any memory");
    } else {
        offset = put_header(header, sizeof header, &writer->array);
        writer->bytes = offset + bytes;
        ok = writer->path && open_output(writer, path) && (!writer->temporary || map_output(writer));
        if (ok && !writer->memory)
            ok = (writer->memory = npy_pages(writer->bytes));
        if (!ok)
            npy_fail(&report, "cannot write its %zu bytes: %s", writer->bytes, strerror(errno));
    }
    if (!ok) {
        npy_abort(writer);
        return false;
    }
    memcpy(writer->memory, header, offset);
    writer->array.data = (char *)writer->memory + offset;
    return true;
}

/* Writes over the target itself: the last resort where a file cannot be replaced, such as one that is a mount. */
static bool overwrite(const NpyWriter *writer)
{
    int fd = open(writer->target, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool ok = write_all(fd, writer->memory, writer->bytes) && !ftruncate(fd, (off_t)writer->bytes);
    return !close(fd) && ok;
}

bool npy_commit(NpyWriter *writer, char *error, size_t error_bytes)
{
    NpyReport report = { writer->path, error, error_bytes };
    bool ok = writer->mapped || write_all(writer->fd, writer->memory, writer->bytes);
    bool in_place = writer->target && !writer->temporary;
    if (ok && in_place)
        ok = !ftruncate(writer->fd, (off_t)writer->bytes);
    ok = !close(writer->fd) && ok;
    writer->fd = -1;
    if (ok && writer->temporary) {
        if (rename(writer->temporary, writer->target)) {
            ok = overwrite(writer);
        } else {
            free(writer->temporary);
            writer->temporary = NULL;
        }
    }
    if (!ok)
        npy_fail(&report, "cannot write its %zu bytes: %s", writer->bytes, strerror(errno));
    npy_abort(writer);
    return ok;
}

void npy_abort(NpyWriter *writer)
{
    if (!writer->path)
        return;
    npy_release(writer->memory, writer->bytes);
    if (writer->fd >= 0)
        close(writer->fd);
    if (writer->temporary)
        unlink(writer->temporary);
    free(writer->temporary);
    free(writer->target);
    free(writer->path);
    *writer = (NpyWriter){ .fd = -1 };
}
