/* What the tests of reading and of writing .npy files share. */
#ifndef TESTS_NPY_TESTING_H
#define TESTS_NPY_TESTING_H

#include <fcntl.h>

#include "npy.h"
#include "scratch.h"

static char error[512];

/* In a new file: ext4 writes a file that was truncated to the disk at once. */
static inline void put_file(const char *name, const void *bytes, size_t count)
{
    remove(name);
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* A whole file; to be freed. */
static inline char *get_file(const char *name, size_t *count)
{
    struct stat status;
    assert_int_equal(stat(name, &status), 0);
    *count = (size_t)status.st_size;
    char *bytes = malloc(*count + 1);
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, *count + 1, file), *count);
    fclose(file);
    return bytes;
}

/* A file made by hand: a preamble before this header, and this many bytes of data behind it. */
static inline void put_npy(const char *name, int major, const char *header, size_t data)
{
    char bytes[8192] = "\x93NUMPY";
    size_t length = strlen(header), start = major > 1 ? 12 : 10;
    assert_true(start + length + data <= sizeof bytes);
    bytes[6] = (char)major;
    bytes[8] = (char)(length & 0xFF);
    bytes[9] = (char)(length >> 8);
    memcpy(bytes + start, header, length);
    put_file(name, bytes, start + length + data);
}

static inline void assert_opens(NpyFile *file, const char *path)
{
    if (!npy_open(file, path, error, sizeof error))
        fail_msg("%s", error);
}

static inline void assert_refused(const char *path, const char *why)
{
    NpyFile file;
    assert_false(npy_open(&file, path, error, sizeof error));
    assert_null(file.memory);
    if (!strstr(error, why))
        fail_msg("'%s' does not say '%s'", error, why);
    assert_null(strchr(error, '\n'));
    assert_int_equal(strncmp(error, !strcmp(path, "-") ? "<stdin>: " : path, strlen(path)), 0);
    npy_close(&file);
}

/* Element number k in C order is k - 5; its imaginary part 2 k, if it has one; bools are k mod 2. */
static inline void assert_counts_up(const Array *array)
{
    int64_t position[RANK_MAX] = { 0 }, k = 0;
    do {
        Number number = array_load(array->dtype, array_at(array, position));
        assert_true(number.re == (array->dtype == DTYPE_BOOL ? (double)(k % 2) : (double)(k - 5)));
        assert_true(number.im == (dtype_kind(array->dtype) == KIND_COMPLEX ? (double)(2 * k) : 0));
        k++;
    } while (array_next(array, position));
    assert_int_equal(k, array_count(array));
}

static inline void fill_counting_up(Array *array)
{
    int64_t position[RANK_MAX] = { 0 }, k = 0;
    if (!array_count(array))
        return;
    do {
        Number number = { .re = (double)(k - 5), .im = (double)(2 * k) };
        if (array->dtype == DTYPE_BOOL)
            number = (Number){ .re = (double)(k % 2) };
        array_store(array->dtype, array_at(array, position), number);
        k++;
    } while (array_next(array, position));
}

/* The standard input or output leads elsewhere between these two. */
static inline int redirect(int standard, int fd)
{
    int kept = dup(standard);
    fflush(NULL);
    assert_true(kept >= 0 && dup2(fd, standard) == standard);
    close(fd);
    return kept;
}

static inline void redirect_back(int standard, int kept)
{
    assert_int_equal(dup2(kept, standard), standard);
    close(kept);
}

static const char *const numpy_names[DTYPE_COUNT] = {
    "?", "i1", "i2", "i4", "i8", "f2", "V2", "f4", "f8", "c8", "c16",
};

/* For each dtype and order, counting.* from numpy: ends in the dtype, then l or b for the bytes, C or F. */
static inline void make_counting(void)
{
    python(
        "def brain(a):\n"
        "    return (a.astype('f4').view('u4') >> 16).astype('u2')\n"
        "k = np.arange(24).reshape(2, 3, 4)\n"
        "for t in '? i1 i2 i4 i8 f2 V2 f4 f8 c8 c16'.split():\n"
        "    a = k % 2 if t == '?' else k - 5 + 2j * k if t[0] == 'c' else k - 5\n"
        "    a = brain(a) if t == 'V2' else a.astype(t)\n"
        "    for order in 'CF':\n"
        "        for swap in 'lb':\n"
        "            b = np.array(a.astype(a.dtype.newbyteorder('<' if swap == 'l' else '>')), order=order)\n"
        "            name = 'counting.%s.%s.%s' % (t, swap, order)\n"
        "            d = np.lib.format.header_data_from_array_1_0(b)\n"
        "            if t == 'V2':\n"
        "                d['descr'] = {'l': '<V2', 'b': '>V2'}[swap]\n"
        "            with open(name, 'wb') as f:\n"
        "                np.lib.format.write_array_header_1_0(f, d)\n"
        "                f.write(b.tobytes(order))\n"
        "np.save('raw.npy', brain(k - 5).view('V2'))\n"
        "for major in 2, 3:\n"
        "    with open('version%d.npy' % major, 'wb') as f:\n"
        "        np.lib.format.write_array(f, k - 5, (major, 0))\n");
}

#endif
