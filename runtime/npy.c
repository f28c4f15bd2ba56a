#include "npy.h"

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

enum {
    ALIGN = 64,               /* of the data in the file, as numpy has it */
    PREAMBLE = 10,            /* of format 1.0: magic, version, two bytes of header length */
    HEADER_MAX = 1 << 20      /* einc's dtypes need 1.5 KB at most; the rest is for saying what else a file holds */
};

static const char magic[6] = { '\x93', 'N', 'U', 'M', 'P', 'Y' };
static const char native = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';

/* A dtype in a header is a byte order and one of these. */
static const char *const codes[DTYPE_COUNT] = {
    [DTYPE_BOOL] = "b1", [DTYPE_I8] = "i1", [DTYPE_I16] = "i2", [DTYPE_I32] = "i4", [DTYPE_I64] = "i8",
    [DTYPE_F16] = "f2", [DTYPE_BF16] = "V2", [DTYPE_F32] = "f4", [DTYPE_F64] = "f8",
    [DTYPE_C64] = "c8", [DTYPE_C128] = "c16",
};

const char *npy_code(Dtype dtype)
{
    return codes[dtype];
}

/* What else numpy writes, and what to do about it; a single letter stands for the rest of its kind. */
static const struct {
    const char *code, *what, *advice;
} others[] = {
    { "u1", "uint8", "convert it with .astype('int16')" },
    { "u2", "uint16", "convert it with .astype('int32')" },
    { "u4", "uint32", "convert it with .astype('int64')" },
    { "u8", "uint64", "convert it with .astype('int64')" },
    { "f16", "a long double", "convert it with .astype('float64')" },
    { "c32", "a complex long double", "convert it with .astype('complex128')" },
    { "V1", "one raw byte, or an 8-bit float of ml_dtypes", "convert it with .astype('float32')" },
    { "V", "raw bytes", "give them a dtype with .view() and save that" },
    { "S", "byte strings", "convert them with .astype('float64') if they are numbers" },
    { "U", "strings", "convert them with .astype('float64') if they are numbers" },
    { "O", "Python objects", "convert them with .astype('float64') if they are numbers" },
    { "M", "dates", "convert them with .astype('int64')" },
    { "m", "time spans", "convert them with .astype('int64')" },
    { "[", "records", "save each field as an array of its own, such as a['x']" },
    { "(", "a dtype with a shape", "save the array that has these axes too" },
};

/* ---- errors ---- */

/* Where a message goes, and the path that it begins with. */
typedef struct Report {
    const char *path;
    char *text;
    size_t bytes;
} Report;

/* Says what is wrong; false, so that callers can return it. */
__attribute__((format(printf, 2, 3))) static bool fail(const Report *report, const char *format, ...)
{
    int length = snprintf(report->text, report->bytes, "%s: ", report->path);
    if (length < 0 || (size_t)length >= report->bytes)
        return false;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(report->text + length, report->bytes - (size_t)length, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- the header: a Python dict ---- */

typedef struct Cursor {
    const char *begin, *at, *end;
    const Report *report;
} Cursor;

typedef struct Slice {
    const char *text;
    size_t length;
} Slice;

/* The dict as written. */
typedef struct Dict {
    bool has_descr, has_order, has_shape;
    Slice descr;
    bool fortran;
    Array array;                  /* the shape */
} Dict;

/* What a file says before its data. */
typedef struct Header {
    Array array;                  /* without data */
    bool swap;                    /* the bytes of each component, after reading */
    size_t offset, bytes;         /* of the data */
} Header;

static bool malformed(const Cursor *c)
{
    return fail(c->report, "the header is malformed at its byte %td", c->at - c->begin);
}

/* Whether `sign` comes next, behind any spaces. */
static bool comes(Cursor *c, char sign)
{
    while (c->at < c->end && strchr(" \t\r\n", *c->at) && *c->at)
        c->at++;
    return c->at < c->end && *c->at == sign;
}

static bool take(Cursor *c, char sign)
{
    bool found = comes(c, sign);
    c->at += found;
    return found;
}

/* 'text' or "text". A backslash is kept with what follows it: no name that we know has one. */
static bool take_string(Cursor *c, Slice *slice)
{
    char quote = comes(c, '"') ? '"' : '\'';
    if (!take(c, quote))
        return malformed(c);
    slice->text = c->at;
    while (c->at < c->end && *c->at != quote)
        c->at += *c->at == '\\' && c->end - c->at > 1 ? 2 : 1;
    if (c->at == c->end)
        return malformed(c);
    slice->length = (size_t)(c->at++ - slice->text);
    return true;
}

/* A dtype's name, or the list or tuple of one with fields, up to the bracket that closes it. */
static bool take_descr(Cursor *c, Slice *slice)
{
    Slice inner;
    int depth = 0;
    if (!comes(c, '[') && !comes(c, '('))
        return take_string(c, slice);
    slice->text = c->at;
    do {
        if (comes(c, '\'') || comes(c, '"')) {
            if (!take_string(c, &inner))
                return false;
        } else if (c->at == c->end) {
            return malformed(c);
        } else {
            depth += *c->at == '(' || *c->at == '[';
            depth -= *c->at == ')' || *c->at == ']';
            c->at++;
        }
    } while (depth > 0);
    slice->length = (size_t)(c->at - slice->text);
    return true;
}

static bool take_bool(Cursor *c, bool *value)
{
    *value = comes(c, 'T');
    const char *word = *value ? "True" : "False";
    size_t length = strlen(word);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length))
        return malformed(c);
    c->at += length;
    return true;
}

/* An extent: decimal digits, with an L behind them if Python 2 wrote it. */
static bool take_extent(Cursor *c, int64_t *extent)
{
    if (take(c, '-'))
        return fail(c->report, "the header gives a negative size");
    const char *first = c->at;
    for (*extent = 0; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (__builtin_mul_overflow(*extent, 10, extent) || __builtin_add_overflow(*extent, *c->at - '0', extent))
            return fail(c->report, "the header gives a size that does not fit into 63 bits");
    if (c->at == first)
        return malformed(c);
    take(c, 'L');
    return true;
}

static bool take_shape(Cursor *c, Array *array)
{
    if (!take(c, '('))
        return malformed(c);
    for (array->rank = 0; !take(c, ')'); array->rank++) {
        if (array->rank == RANK_MAX)
            return fail(c->report, "the array has more than %d axes, the most that einc takes", RANK_MAX);
        if (!take_extent(c, &array->shape[array->rank]))
            return false;
        if (!take(c, ',') && !comes(c, ')'))
            return malformed(c);
    }
    return true;
}

static bool same(Slice slice, const char *word)
{
    return slice.length == strlen(word) && !memcmp(slice.text, word, slice.length);
}

/* Reads the dict; what it says is checked later. As in Python, the last of equal keys counts. */
static bool take_dict(Cursor *c, Dict *dict)
{
    if (!take(c, '{'))
        return malformed(c);
    while (!take(c, '}')) {
        Slice key;
        if (!take_string(c, &key))
            return false;
        if (!take(c, ':'))
            return malformed(c);
        bool ok;
        if (same(key, "descr"))
            ok = dict->has_descr = take_descr(c, &dict->descr);
        else if (same(key, "fortran_order"))
            ok = dict->has_order = take_bool(c, &dict->fortran);
        else if (same(key, "shape"))
            ok = dict->has_shape = take_shape(c, &dict->array);
        else
            return fail(c->report, "the header has a key that is none of descr, fortran_order and shape");
        if (!ok)
            return false;
        if (!take(c, ',') && !comes(c, '}'))
            return malformed(c);
    }
    comes(c, 0);
    return c->at == c->end || malformed(c);
}

/* A dtype that is none of ours. */
static bool refuse_dtype(Slice descr, const Report *report)
{
    char shown[64];
    size_t length = 0;
    for (; length < descr.length && length < sizeof shown - 1; length++)
        shown[length] = descr.text[length] >= ' ' && descr.text[length] <= '~' ? descr.text[length] : '?';
    shown[length] = 0;
    const char *code = shown + (*shown && strchr("<>=|", *shown));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        bool any_size = !others[i].code[1];
        if (any_size ? *code == *others[i].code : !strcmp(code, others[i].code))
            return fail(report, "the dtype is %s (%s), which einc does not compute with; %s", others[i].what, shown,
                        others[i].advice);
    }
    return fail(report, "the dtype '%s' is unknown; convert the array with .astype('float32')", shown);
}

static bool find_dtype(Slice descr, Header *header, const Report *report)
{
    Slice code = descr;
    bool ordered = descr.length && memchr("<>=|", *descr.text, 4);
    code.text += ordered;
    code.length -= ordered;
    for (int d = 0; d < DTYPE_COUNT; d++) {
        if (!same(code, codes[d]))
            continue;
        header->array.dtype = (Dtype)d;
        header->swap = ordered && *descr.text != native && (*descr.text == '<' || *descr.text == '>');
        header->swap = header->swap && dtype_size((Dtype)d) > 1;
        return true;
    }
    return refuse_dtype(descr, report);
}

/* The bytes of an array's data into `bytes`; false when no memory can hold them. Extents of 0 do not excuse the
 * others: their product would overflow elsewhere. */
static bool data_bytes(const Array *array, size_t *bytes)
{
    Array full = *array;
    for (int i = 0; i < full.rank; i++)
        full.shape[i] += !full.shape[i];
    int64_t count = array_count(&full), size;
    if (count < 0 || __builtin_mul_overflow(count, (int64_t)dtype_size(array->dtype), &size)
        || size > PTRDIFF_MAX - 2 * HEADER_MAX)
        return false;
    *bytes = array_count(array) ? (size_t)size : 0;
    return true;
}

static bool understand(const char *text, size_t length, Header *header, const Report *report)
{
    Cursor c = { text, text, text + length, report };
    Dict dict = { 0 };
    if (!take_dict(&c, &dict))
        return false;
    if (!dict.has_descr || !dict.has_order || !dict.has_shape)
        return fail(report, "the header lacks the key %s",
                    !dict.has_descr ? "descr" : !dict.has_shape ? "shape" : "fortran_order");
    header->array = dict.array;
    if (!find_dtype(dict.descr, header, report))
        return false;
    if (!data_bytes(&header->array, &header->bytes))
        return fail(report, "the header gives a shape that no memory can hold");
    array_lay_out(&header->array, dict.fortran);
    return true;
}

/* ---- reading ---- */

/* Reads until the end of the file or until `buffer` is full; how much there was, -1 with errno set. */
static ssize_t read_up_to(int fd, void *buffer, size_t bytes)
{
    size_t got = 0;
    while (got < bytes) {
        ssize_t n = read(fd, (char *)buffer + got, bytes - got < INT_MAX ? bytes - got : INT_MAX);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (!n)
            break;
        got += (size_t)n;
    }
    return (ssize_t)got;
}

static bool truncated(const Report *report, size_t got, size_t bytes, const char *part)
{
    return fail(report, "the file is truncated: %zu of the %zu bytes of its %s are missing", bytes - got, bytes, part);
}

static bool read_part(int fd, void *buffer, size_t bytes, const char *part, const Report *report)
{
    ssize_t got = read_up_to(fd, buffer, bytes);
    if (got < 0)
        return fail(report, "cannot read: %s", strerror(errno));
    return (size_t)got == bytes || truncated(report, (size_t)got, bytes, part);
}

/* Reads magic, version and the length of the header, which begins after *preamble bytes. */
static bool read_preamble(int fd, size_t *length, size_t *preamble, const Report *report)
{
    unsigned char start[PREAMBLE + 2] = { 0 };   /* formats 2.0 and 3.0 have two more bytes of length */
    ssize_t got = read_up_to(fd, start, PREAMBLE);
    if (got < 0)
        return fail(report, "cannot read: %s", strerror(errno));
    if (!got)
        return fail(report, "there is nothing in it; a .npy file is wanted");
    if (!memcmp(start, "PK", 2))
        return fail(report, "this is an .npz archive; save its arrays one by one with numpy.save");
    if (memcmp(start, magic, (size_t)got < sizeof magic ? (size_t)got : sizeof magic))
        return fail(report, "this is not a .npy file; numpy.save makes one");
    if (got < PREAMBLE)
        return truncated(report, (size_t)got, PREAMBLE, "preamble");
    int major = start[6], minor = start[7];
    if (major < 1 || major > 3 || minor)
        return fail(report, "the .npy format %d.%d is unknown; einc reads 1.0, 2.0 and 3.0", major, minor);
    if (major > 1 && !read_part(fd, start + PREAMBLE, 2, "header length", report))
        return false;
    *preamble = major > 1 ? sizeof start : PREAMBLE;
    *length = start[8] | (size_t)start[9] << 8 | (size_t)start[10] << 16 | (size_t)start[11] << 24;
    if (*length > HEADER_MAX)
        return fail(report, "the header has %zu bytes, more than the %d that einc reads", *length, HEADER_MAX);
    return true;
}

/* Reads all that comes before the data. */
static bool read_header(int fd, Header *header, const Report *report)
{
    size_t length = 0, preamble = 0;
    if (!read_preamble(fd, &length, &preamble, report))
        return false;
    char *text = malloc(length + 1);
    if (!text)
        return fail(report, "%s", strerror(ENOMEM));
    bool ok = read_part(fd, text, length, "header", report) && understand(text, length, header, report);
    free(text);
    header->offset = preamble + length;
    return ok;
}

static void reverse_bytes(char *data, size_t bytes, size_t size)
{
    for (char *element = data; element < data + bytes; element += size)
        for (size_t i = 0; i < size / 2; i++) {
            char low = element[i];
            element[i] = element[size - 1 - i];
            element[size - 1 - i] = low;
        }
}

/* Zeroed memory, aligned to a page; NULL when there is none. */
static void *pages(size_t bytes)
{
    void *memory = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void release(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes ? bytes : 1);
}

static bool read_data(NpyFile *file, int fd, const Header *header, const Report *report)
{
    file->memory = pages(header->bytes);
    file->bytes = header->bytes;
    if (!file->memory)
        return fail(report, "%s for its %zu bytes", strerror(ENOMEM), header->bytes);
    if (!read_part(fd, file->memory, header->bytes, "data", report))
        return false;
    if (header->swap)
        reverse_bytes(file->memory, header->bytes, dtype_size(dtype_real(header->array.dtype)));
    file->array.data = file->memory;
    return true;
}

static bool read_file(NpyFile *file, int fd, bool seekable, const Report *report)
{
    Header header = { 0 };
    struct stat status;
    if (!read_header(fd, &header, report))
        return false;
    file->array = header.array;
    if (seekable && !fstat(fd, &status) && S_ISREG(status.st_mode)) {
        size_t there = (size_t)status.st_size > header.offset ? (size_t)status.st_size - header.offset : 0;
        if (there < header.bytes)
            return truncated(report, there, header.bytes, "data");
        file->bytes = header.offset + header.bytes;
        void *memory = header.swap ? MAP_FAILED : mmap(NULL, file->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (memory != MAP_FAILED) {
            file->memory = memory;
            file->mapped = true;
            file->array.data = (char *)memory + header.offset;
            return true;
        }
    }
    return read_data(file, fd, &header, report);
}

bool npy_open(NpyFile *file, const char *path, char *error, size_t error_bytes)
{
    bool standard = !strcmp(path, "-");
    Report report = { standard ? "<stdin>" : path, error, error_bytes };
    *file = (NpyFile){ 0 };
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return fail(&report, "cannot open: %s", strerror(errno));
    bool ok = read_file(file, fd, !standard, &report);
    if (!standard)
        close(fd);
    if (!ok)
        npy_close(file);
    return ok;
}

void npy_close(NpyFile *file)
{
    release(file->memory, file->bytes);
    *file = (NpyFile){ 0 };
}

/* ---- writing ---- */

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

/* The header as numpy.save writes it, byte for byte; its length, a multiple of ALIGN. RANK_MAX extents take 1.4 KB, so
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
    char order = dtype_size(array->dtype) == 1 ? '|' : native;
    length = PREAMBLE + snprintf(out + PREAMBLE, bytes - PREAMBLE,
                                 "{'descr': '%c%s', 'fortran_order': False, 'shape': (%s), }%*s", order,
                                 codes[array->dtype], shape, spare, "");
    int end = (length + 1) / ALIGN * ALIGN + ALIGN;   /* with a newline; numpy adds 64 spaces rather than none */
    memcpy(out, magic, sizeof magic);
    memcpy(out + sizeof magic, "\1\0", 2);
    out[8] = (char)((end - PREAMBLE) & 0xFF);
    out[9] = (char)((end - PREAMBLE) >> 8);
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
    Report report = { is_stdout(path) ? "<stdout>" : path, error, error_bytes };
    char header[2048];
    *writer = (NpyWriter){ .array = { .dtype = dtype, .rank = rank }, .fd = -1, .path = strdup(report.path) };
    for (int i = 0; i < rank; i++)
        writer->array.shape[i] = shape[i];
    array_lay_out(&writer->array, false);
    size_t offset, bytes;
    bool ok = data_bytes(&writer->array, &bytes);
    if (!ok) {
        fail(&report, "the array is too large for any memory");
    } else {
        offset = put_header(header, sizeof header, &writer->array);
        writer->bytes = offset + bytes;
        ok = writer->path && open_output(writer, path) && (!writer->temporary || map_output(writer));
        if (ok && !writer->memory)
            ok = (writer->memory = pages(writer->bytes));
        if (!ok)
            fail(&report, "cannot write its %zu bytes: %s", writer->bytes, strerror(errno));
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
    Report report = { writer->path, error, error_bytes };
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
        fail(&report, "cannot write its %zu bytes: %s", writer->bytes, strerror(errno));
    npy_abort(writer);
    return ok;
}

void npy_abort(NpyWriter *writer)
{
    if (!writer->path)
        return;
    release(writer->memory, writer->bytes);
    if (writer->fd >= 0)
        close(writer->fd);
    if (writer->temporary)
        unlink(writer->temporary);
    free(writer->temporary);
    free(writer->target);
    free(writer->path);
    *writer = (NpyWriter){ .fd = -1 };
}
