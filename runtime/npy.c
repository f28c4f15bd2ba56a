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

/* A dtype in a header is a byte order and one of these. */
const char *const npy_codes[DTYPE_COUNT] = {
    [DTYPE_BOOL] = "b1", [DTYPE_I8] = "i1", [DTYPE_I16] = "i2", [DTYPE_I32] = "i4", [DTYPE_I64] = "i8",
    [DTYPE_F16] = "f2", [DTYPE_BF16] = "V2", [DTYPE_F32] = "f4", [DTYPE_F64] = "f8",
    [DTYPE_C64] = "c8", [DTYPE_C128] = "c16",
};

const char *npy_code(Dtype dtype)
{
    return npy_codes[dtype];
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

bool npy_fail(const NpyReport *report, const char *format, ...)
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
    const NpyReport *report;
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
    return npy_fail(c->report, "the header is malformed at its byte %td", c->at - c->begin);
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
        return npy_fail(c->report, "the header gives a negative size");
    const char *first = c->at;
    for (*extent = 0; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (__builtin_mul_overflow(*extent, 10, extent) || __builtin_add_overflow(*extent, *c->at - '0', extent))
            return npy_fail(c->report, "the header gives a size that does not fit into 63 bits");
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
            return npy_fail(c->report, "the array has more than %d axes, the most that einc takes", RANK_MAX);
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
            return npy_fail(c->report, "the header has a key that is none of descr, fortran_order and shape");
        if (!ok)
            return false;
        if (!take(c, ',') && !comes(c, '}'))
            return malformed(c);
    }
    comes(c, 0);
    return c->at == c->end || malformed(c);
}

/* A dtype that is none of ours. */
static bool refuse_dtype(Slice descr, const NpyReport *report)
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
            return npy_fail(report, "the dtype is %s (%s), which einc does not compute with; %s", others[i].what, shown,
                        others[i].advice);
    }
    return npy_fail(report, "the dtype '%s' is unknown; convert the array with .astype('float32')", shown);
}

static bool find_dtype(Slice descr, Header *header, const NpyReport *report)
{
    Slice code = descr;
    bool ordered = descr.length && memchr("<>=|", *descr.text, 4);
    code.text += ordered;
    code.length -= ordered;
    for (int d = 0; d < DTYPE_COUNT; d++) {
        if (!same(code, npy_codes[d]))
            continue;
        header->array.dtype = (Dtype)d;
        header->swap = ordered && *descr.text != npy_native && (*descr.text == '<' || *descr.text == '>');
        header->swap = header->swap && dtype_size((Dtype)d) > 1;
        return true;
    }
    return refuse_dtype(descr, report);
}

bool npy_data_bytes(const Array *array, size_t *bytes)
{
    Array full = *array;
    for (int i = 0; i < full.rank; i++)
        full.shape[i] += !full.shape[i];
    int64_t count = array_count(&full), size;
    if (count < 0 || __builtin_mul_overflow(count, (int64_t)dtype_size(array->dtype), &size)
        || size > PTRDIFF_MAX - 2 * NPY_HEADER_MAX)
        return false;
    *bytes = array_count(array) ? (size_t)size : 0;
    return true;
}

static bool understand(const char *text, size_t length, Header *header, const NpyReport *report)
{
    Cursor c = { text, text, text + length, report };
    Dict dict = { 0 };
    if (!take_dict(&c, &dict))
        return false;
    if (!dict.has_descr || !dict.has_order || !dict.has_shape)
        return npy_fail(report, "the header lacks the key %s",
                    !dict.has_descr ? "descr" : !dict.has_shape ? "shape" : "fortran_order");
    header->array = dict.array;
    if (!find_dtype(dict.descr, header, report))
        return false;
    if (!npy_data_bytes(&header->array, &header->bytes))
        return npy_fail(report, "the header gives a shape that no memory can hold");
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

static bool truncated(const NpyReport *report, size_t got, size_t bytes, const char *part)
{
    return npy_fail(report, "the file is truncated: %zu of the %zu bytes of its %s are missing", bytes - got, bytes, part);
}

static bool read_part(int fd, void *buffer, size_t bytes, const char *part, const NpyReport *report)
{
    ssize_t got = read_up_to(fd, buffer, bytes);
    if (got < 0)
        return npy_fail(report, "cannot read: %s", strerror(errno));
    return (size_t)got == bytes || truncated(report, (size_t)got, bytes, part);
}

/* Reads magic, version and the length of the header, which begins after *preamble bytes. */
static bool read_preamble(int fd, size_t *length, size_t *preamble, const NpyReport *report)
{
    unsigned char start[NPY_PREAMBLE + 2] = { 0 };   /* formats 2.0 and 3.0 have two more bytes of length */
    ssize_t got = read_up_to(fd, start, NPY_PREAMBLE);
    if (got < 0)
        return npy_fail(report, "cannot read: %s", strerror(errno));
    if (!got)
        return npy_fail(report, "there is nothing in it; a .npy file is wanted");
    if (!memcmp(start, "PK", 2))
        return npy_fail(report, "this is an .npz archive; save its arrays one by one with numpy.save");
    if (memcmp(start, npy_magic, (size_t)got < sizeof npy_magic ? (size_t)got : sizeof npy_magic))
        return npy_fail(report, "this is not a .npy file; numpy.save makes one");
    if (got < NPY_PREAMBLE)
        return truncated(report, (size_t)got, NPY_PREAMBLE, "preamble");
    int major = start[6], minor = start[7];
    if (major < 1 || major > 3 || minor)
        return npy_fail(report, "the .npy format %d.%d is unknown; einc reads 1.0, 2.0 and 3.0", major, minor);
    if (major > 1 && !read_part(fd, start + NPY_PREAMBLE, 2, "header length", report))
        return false;
    *preamble = major > 1 ? sizeof start : NPY_PREAMBLE;
    *length = start[8] | (size_t)start[9] << 8 | (size_t)start[10] << 16 | (size_t)start[11] << 24;
    if (*length > NPY_HEADER_MAX)
        return npy_fail(report, "the header has %zu bytes, more than the %d that einc reads", *length, NPY_HEADER_MAX);
    return true;
}

/* Reads all that comes before the data. */
static bool read_header(int fd, Header *header, const NpyReport *report)
{
    size_t length = 0, preamble = 0;
    if (!read_preamble(fd, &length, &preamble, report))
        return false;
    char *text = malloc(length + 1);
    if (!text)
        return npy_fail(report, "%s", strerror(ENOMEM));
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

void *npy_pages(size_t bytes)
{
    void *memory = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void npy_release(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes ? bytes : 1);
}

static bool read_data(NpyFile *file, int fd, const Header *header, const NpyReport *report)
{
    file->memory = npy_pages(header->bytes);
    file->bytes = header->bytes;
    if (!file->memory)
        return npy_fail(report, "%s for its %zu bytes", strerror(ENOMEM), header->bytes);
    if (!read_part(fd, file->memory, header->bytes, "data", report))
        return false;
    if (header->swap)
        reverse_bytes(file->memory, header->bytes, dtype_size(dtype_real(header->array.dtype)));
    file->array.data = file->memory;
    return true;
}

static bool read_file(NpyFile *file, int fd, bool seekable, const NpyReport *report)
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
    NpyReport report = { standard ? "<stdin>" : path, error, error_bytes };
    *file = (NpyFile){ 0 };
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return npy_fail(&report, "cannot open: %s", strerror(errno));
    bool ok = read_file(file, fd, !standard, &report);
    if (!standard)
        close(fd);
    if (!ok)
        npy_close(file);
    return ok;
}

void npy_close(NpyFile *file)
{
    npy_release(file->memory, file->bytes);
    *file = (NpyFile){ 0 };
}
