/* .npy files: read what numpy writes, write what numpy writes, and survive what nobody should have written. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "npy.h"

static char directory[] = "/tmp/einc-npy-XXXXXX";
static char error[512];

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

static int enter_directory(void **state)
{
    (void)state;
    return !mkdtemp(directory) || chmod(directory, 0755) || chdir(directory);
}

static int remove_directory(void **state)
{
    (void)state;
    return chdir("/") || nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Runs a numpy script in the temporary directory. */
static void python(const char *script)
{
    const char *interpreter = getenv("PYTHON");
    char command[512];
    snprintf(command, sizeof command, "%s -W ignore -", interpreter ? interpreter : "/usr/bin/python3");
    FILE *pipe = popen(command, "w");
    assert_non_null(pipe);
    fprintf(pipe, "import numpy as np\n%s", script);
    assert_int_equal(pclose(pipe), 0);
}

/* In a new file: ext4 writes a file that was truncated to the disk at once. */
static void put_file(const char *name, const void *bytes, size_t count)
{
    remove(name);
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* A whole file; to be freed. */
static char *get_file(const char *name, size_t *count)
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
static void put_npy(const char *name, int major, const char *header, size_t data)
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

static void assert_opens(NpyFile *file, const char *path)
{
    if (!npy_open(file, path, error, sizeof error))
        fail_msg("%s", error);
}

static void assert_refused(const char *path, const char *why)
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
static void assert_counts_up(const Array *array)
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

static void fill_counting_up(Array *array)
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

/* Runs `body` in a child process, which may change itself; it returns 0 when all is well, 77 to be skipped. */
static void in_child(int (*body)(void))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child)
        _exit(body());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* The standard input or output leads elsewhere between these two. */
static int redirect(int standard, int fd)
{
    int kept = dup(standard);
    fflush(NULL);
    assert_true(kept >= 0 && dup2(fd, standard) == standard);
    close(fd);
    return kept;
}

static void redirect_back(int standard, int kept)
{
    assert_int_equal(dup2(kept, standard), standard);
    close(kept);
}

/* ---- reading ---- */

static const char *const numpy_names[DTYPE_COUNT] = {
    "?", "i1", "i2", "i4", "i8", "f2", "V2", "f4", "f8", "c8", "c16",
};

/* For each dtype and order, counting.* from numpy: ends in the dtype, then l or b for the bytes, C or F. */
static const char make_counting[] =
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
    "        np.lib.format.write_array(f, k - 5, (major, 0))\n";

static void reads_numpys_dtypes(void **state)
{
    (void)state;
    python(make_counting);
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int variant = 0; variant < 4; variant++) {
            char name[64];
            bool fortran = variant & 1, big = variant & 2;
            snprintf(name, sizeof name, "counting.%s.%c.%c", numpy_names[d], big ? 'b' : 'l', fortran ? 'F' : 'C');
            NpyFile file;
            assert_opens(&file, name);
            assert_int_equal(file.array.dtype, d);
            assert_int_equal(file.array.rank, 3);
            assert_memory_equal(file.array.shape, ((int64_t[]){ 2, 3, 4 }), 3 * sizeof(int64_t));
            assert_int_equal(file.array.stride[0], fortran ? 1 : 12);
            assert_int_equal(file.mapped, !big || dtype_size((Dtype)d) == 1);
            assert_counts_up(&file.array);
            npy_close(&file);
            npy_close(&file);
        }
    static const char *const more[] = { "raw.npy", "version2.npy", "version3.npy" };
    for (int i = 0; i < 3; i++) {
        NpyFile file;
        assert_opens(&file, more[i]);
        assert_int_equal(file.array.dtype, i ? DTYPE_I64 : DTYPE_BF16);
        assert_counts_up(&file.array);
        npy_close(&file);
    }
}

static void reads_any_spelling(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
        "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4'}",
        "{\"descr\":\"<f4\",\"shape\":(2,3),\"fortran_order\":False}\n",
        "  {\t'fortran_order' :False ,\n'descr'\r\n: '<f4', 'shape' : ( 2 , 3 , ) , }   \n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }",
        "{'descr': 'f4', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '=f4', 'fortran_order': False, 'shape': (02, 3)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), 'descr': '<f4'}",
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        for (int major = 1; major <= 3; major++) {
            NpyFile file;
            put_npy("spelling.npy", major, headers[i], 24 + 5);   /* what follows the array is nobody's business */
            assert_opens(&file, "spelling.npy");
            assert_true(file.array.dtype == DTYPE_F32 && file.array.rank == 2);
            assert_true(file.array.shape[0] == 2 && file.array.shape[1] == 3 && file.array.stride[0] == 3);
            assert_true(file.mapped && array_load(DTYPE_F32, file.array.data).re == 0);
            npy_close(&file);
        }
}

static void shaped_header(char *out, size_t bytes, const char *shape)
{
    snprintf(out, bytes, "{'descr': '<f4', 'fortran_order': False, 'shape': %s}", shape);
}

static void reads_any_shape(void **state)
{
    (void)state;
    static const struct {
        const char *shape;
        int rank;
        int64_t count;
    } cases[] = {
        { "()", 0, 1 }, { "(0,)", 1, 0 }, { "(7,)", 1, 7 }, { "(0, 5)", 2, 0 }, { "(5, 0, 1)", 3, 0 },
        { "(1000000000000, 0)", 2, 0 }, { "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
        "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2)", 64, 2 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char header[512];
        NpyFile file;
        shaped_header(header, sizeof header, cases[i].shape);
        put_npy("shape.npy", 1, header, (size_t)cases[i].count * 4);
        assert_opens(&file, "shape.npy");
        assert_int_equal(file.array.rank, cases[i].rank);
        assert_int_equal(array_count(&file.array), cases[i].count);
        assert_non_null(file.array.data);
        npy_close(&file);
    }
}

static void refuses_bad_headers(void **state)
{
    (void)state;
#define REST "'descr': '<f4', 'fortran_order': False"
    static const char *const cases[][2] = {
        { "", "malformed" }, { "[]", "malformed" }, { "{", "malformed" }, { "{}", "lacks the key descr" },
        { "{'descr': '<f4', 'shape': ()}", "lacks the key fortran_order" }, { "{" REST "}", "lacks the key shape" },
        { "{" REST ", 'shape': ()} x", "malformed at its byte 54" }, { "{" REST ", 'shape': ()}}", "malformed" },
        { "{" REST ", 'shape': (), 'more': 1}", "none of descr" }, { "{" REST " 'shape': ()}", "malformed" },
        { "{" REST ", 'shape': (-1,)}", "negative" }, { "{" REST ", 'shape': (2, - 3)}", "negative" },
        { "{" REST ", 'shape': (9223372036854775808,)}", "63 bits" }, { "{" REST ", 'shape': (1e3,)}", "malformed" },
        { "{" REST ", 'shape': (4611686018427387904, 2)}", "no memory" },
        { "{" REST ", 'shape': (4611686018427387904, 0, 4611686018427387904)}", "no memory" },
        { "{" REST ", 'shape': (4611686018427387904,)}", "no memory" },
        { "{" REST ", 'shape': (2305843009213693951,)}", "no memory" }, { "{" REST ", 'shape': [3]}", "malformed" },
        { "{" REST ", 'shape': (3 4)}", "malformed" }, { "{" REST ", 'shape': (,)}", "malformed" },
        { "{" REST ", 'shape': (3", "malformed" }, { "{" REST ", 'shape': ()", "malformed" },
        { "{" REST ", 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
          "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}", "more than 64 axes" },
        { "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", "malformed" },
        { "{'descr': '<f4', 'fortran_order': Tru", "malformed" }, { "{'descr': '<f4", "malformed" },
        { "{'descr': '<f4\\", "malformed" }, { "{'descr': [('a', '<f4')", "malformed" },
        { "{'descr': ['", "malformed" }, { "{'descr': (", "malformed" },
        { "{'descr': 5, 'fortran_order': False, 'shape': ()}", "malformed" }, { "{'descr' '<f4'}", "malformed" },
        { "{'descr': '', 'fortran_order': False, 'shape': ()}", "unknown" },
        { "{'descr': '\x01\x80q', 'fortran_order': False, 'shape': ()}", "'??q' is unknown" },
    };
#undef REST
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_npy("bad.npy", 1 + (int)i % 3, cases[i][0], 64);
        assert_refused("bad.npy", cases[i][1]);
    }
}

static void refuses_other_dtypes(void **state)
{
    (void)state;
    static const char *const advice[][2] = {
        { "uint8 (|u1)", "astype('int16')" }, { "uint16 (<u2)", "astype('int32')" },
        { "uint32 (<u4)", "astype('int64')" }, { "uint64 (>u8)", "astype('int64')" },
        { "long double (<f16)", "astype('float64')" }, { "complex long double (<c32)", "astype('complex128')" },
        { "byte strings (|S3)", "astype('float64')" }, { "strings (<U3)", "astype('float64')" },
        { "objects (|O)", "astype(" }, { "dates (<M8[s])", "astype('int64')" }, { "spans (<m8[s])", "astype('int64')" },
        { "raw byte", "astype('float32')" }, { "raw bytes (|V4)", ".view()" },
        { "records ([('x', '<f4'), ('y)', '<i4')])", "each field" }, { "a shape", "axes" },
    };
    python("d = 'u1 <u2 <u4 >u8 longdouble clongdouble S3 U3 O M8[s] m8[s] V1 V4'.split()\n"
           "for i, t in enumerate(d + [[('x', '<f4'), ('y)', '<i4')]]):\n"
           "    np.save('other%d.npy' % i, np.zeros(3, t), allow_pickle=True)\n");
    put_npy("other14.npy", 1, "{'descr': ('<f4', (2,)), 'fortran_order': False, 'shape': (3,)}", 24);
    for (size_t i = 0; i < sizeof advice / sizeof *advice; i++) {
        char name[32];
        snprintf(name, sizeof name, "other%zu.npy", i);
        assert_refused(name, advice[i][0]);
        assert_refused(name, advice[i][1]);
    }
}

static void refuses_other_files(void **state)
{
    (void)state;
    python("np.savez('a.npz', np.zeros(3))\n");
    assert_refused("a.npz", "an .npz archive");
    put_file("empty", "", 0);
    assert_refused("empty", "nothing in it");
    put_file("text", "1,2,3\n4,5,6\n", 12);
    assert_refused("text", "not a .npy file");
    put_file("version", "\x93NUMPY\x04\x00\x10\x00", 10);
    assert_refused("version", "format 4.0 is unknown");
    put_file("version", "\x93NUMPY\x01\x01\x10\x00", 10);
    assert_refused("version", "format 1.1 is unknown");
    put_file("huge", "\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF", 12);
    assert_refused("huge", "4294967295 bytes");
    put_file("long", "\x93NUMPY\x01\x00\xFF\xFF", 10);
    assert_refused("long", "65535 of the 65535 bytes of its header are missing");
    assert_refused("nowhere.npy", "No such file");
    assert_refused(".", "Is a directory");
}

static void says_what_is_missing(void **state)
{
    (void)state;
    size_t count;
    put_npy("whole.npy", 2, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2)}", 24);
    char *bytes = get_file("whole.npy", &count), why[128];
    for (size_t length = 0; length < count; length++) {
        put_file("cut.npy", bytes, length);
        size_t missing = count - length;
        snprintf(why, sizeof why, "truncated: %zu of the 24 bytes of its data", missing);
        const char *expected = !length ? "nothing" : missing <= 24 ? why : "truncated";
        assert_refused("cut.npy", expected);
        int kept = redirect(STDIN_FILENO, open("cut.npy", O_RDONLY));
        assert_refused("-", expected);
        redirect_back(STDIN_FILENO, kept);
    }
    free(bytes);
}

/* Opens whatever it is, and reads all that it claims to hold. */
static void open_and_touch(const char *path)
{
    NpyFile file;
    if (npy_open(&file, path, error, sizeof error)) {
        int64_t position[RANK_MAX] = { 0 };
        int64_t count = 0;
        if (array_count(&file.array) > 0)
            do
                count += !isnan(array_load(file.array.dtype, array_at(&file.array, position)).re);
            while (array_next(&file.array, position));
        assert_true(count <= array_count(&file.array));
    } else {
        assert_true(strlen(error) > strlen(path) + 2);
    }
    npy_close(&file);
}

static void survives_corruption(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }\n",
        "{'descr': '>c8', 'fortran_order': True, 'shape': (3,), }\n",
        "{'descr': [('x', '<f4', (2,)), ('y', '<i4')], 'fortran_order': True, 'shape': (3,)}\n",
    };
    uint32_t random = 1;
    for (int h = 0; h < 3; h++) {
        size_t count;
        put_npy("sound.npy", 1 + h, headers[h], 24);
        char *bytes = get_file("sound.npy", &count);
        for (int i = 0; i < 6000; i++) {
            char *broken = malloc(count);
            memcpy(broken, bytes, count);
            for (int change = 0; change <= i % 3; change++) {
                random = random * 1664525 + 1013904223;
                size_t at = (random >> 8) % count;
                broken[at] = random & 1 ? (char)(random >> 24) : "(){}[]'\",:-0159L \\"[(random >> 24) % 18];
            }
            size_t length = i % 4 ? count : (random >> 4) % (count + 1);
            put_file("broken.npy", broken, length);
            open_and_touch("broken.npy");
            int kept = redirect(STDIN_FILENO, open("broken.npy", O_RDONLY));
            open_and_touch("-");
            redirect_back(STDIN_FILENO, kept);
            free(broken);
        }
        free(bytes);
    }
}

static void survives_noise(void **state)
{
    (void)state;
    uint32_t random = 7;
    for (int i = 0; i < 5000; i++) {
        char bytes[256] = "\x93NUMPY\x01\x00\xF6\x00{'descr':";
        for (size_t at = i % 2 ? 0 : (size_t)(i / 2 % 24); at < sizeof bytes; at++) {
            random = random * 1664525 + 1013904223;
            bytes[at] = (char)(random >> 24);
        }
        put_file("noise.npy", bytes, sizeof bytes);
        open_and_touch("noise.npy");
    }
}

static void reads_pipes(void **state)
{
    (void)state;
    size_t first, second;
    char *little = get_file("counting.f4.l.C", &first), *big = get_file("counting.c16.b.F", &second);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], little, first), first);
    assert_int_equal(write(ends[1], big, second), second);
    close(ends[1]);
    int kept = redirect(STDIN_FILENO, ends[0]);
    for (int i = 0; i < 3; i++) {
        NpyFile file;
        if (i == 2) {
            assert_refused("-", "nothing in it");
            continue;
        }
        assert_opens(&file, "-");
        assert_int_equal(file.array.dtype, i ? DTYPE_C128 : DTYPE_F32);
        assert_false(file.mapped);
        assert_counts_up(&file.array);
        npy_close(&file);
    }
    redirect_back(STDIN_FILENO, kept);
    free(little);
    free(big);
}

static void reads_fifos(void **state)
{
    (void)state;
    assert_int_equal(mkfifo("in.fifo", 0600), 0);
    pid_t child = fork();
    if (!child) {
        int fd = open("in.fifo", O_WRONLY);
        char byte;
        int from = open("counting.i2.l.F", O_RDONLY);
        while (read(from, &byte, 1) == 1)
            if (write(fd, &byte, 1) != 1)
                _exit(1);
        _exit(0);
    }
    NpyFile file;
    assert_opens(&file, "in.fifo");
    assert_false(file.mapped);
    assert_counts_up(&file.array);
    npy_close(&file);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Mapped, so that neither time nor memory is spent on what is not read. */
static void opens_large_files_at_once(void **state)
{
    (void)state;
    put_npy("large.npy", 1, "{'descr': '<i8', 'fortran_order': True, 'shape': (3000000, 2000)}", 0);
    struct stat status;
    assert_int_equal(stat("large.npy", &status), 0);
    if (truncate("large.npy", status.st_size + 48000000000))
        skip();
    NpyFile file;
    assert_opens(&file, "large.npy");
    assert_true(file.mapped);
    assert_int_equal(array_load(DTYPE_I64, array_at(&file.array, (int64_t[]){ 2999999, 1999 })).integer, 0);
    npy_close(&file);
    assert_int_equal(truncate("large.npy", status.st_size + 48000000000 - 1), 0);
    assert_refused("large.npy", "truncated: 1 of the 48000000000 bytes");
    assert_int_equal(unlink("large.npy"), 0);
}

/* A header in a pipe may promise more than there is memory. */
static void refuses_what_does_not_fit(void **state)
{
    (void)state;
    put_npy("lie.npy", 1, "{'descr': '<i8', 'fortran_order': True, 'shape': (1000000000000000,)}", 8);
    int kept = redirect(STDIN_FILENO, open("lie.npy", O_RDONLY));
    assert_refused("-", "8000000000000000 bytes");
    redirect_back(STDIN_FILENO, kept);
}

static void cuts_long_errors(void **state)
{
    (void)state;
    NpyFile file;
    for (size_t bytes = 0; bytes < 40; bytes++) {
        char *text = malloc(bytes + 1);
        memset(text, 'x', bytes + 1);
        assert_false(npy_open(&file, "nowhere.npy", bytes ? text : NULL, bytes));
        assert_int_equal(text[bytes], 'x');
        assert_true(!bytes || memchr(text, 0, bytes));
        free(text);
    }
}

/* ---- writing ---- */

static void assert_creates(NpyWriter *writer, const char *path, Dtype dtype, int rank, const int64_t *shape)
{
    if (!npy_create(writer, path, dtype, rank, shape, error, sizeof error))
        fail_msg("%s", error);
    assert_int_equal((uintptr_t)writer->array.data % 64, 0);
}

static void assert_commits(NpyWriter *writer)
{
    if (!npy_commit(writer, error, sizeof error))
        fail_msg("%s", error);
}

static void assert_not_created(const char *path, const char *why)
{
    NpyWriter writer;
    assert_false(npy_create(&writer, path, DTYPE_F32, 1, (int64_t[]){ 3 }, error, sizeof error));
    if (!strstr(error, why) || strncmp(error, path, strlen(path)))
        fail_msg("'%s' does not say '%s'", error, why);
    npy_abort(&writer);
}

/* Writes three numbers; false with `error` set. */
static bool write_three(const char *path, double first)
{
    NpyWriter writer;
    if (!npy_create(&writer, path, DTYPE_F64, 1, (int64_t[]){ 3 }, error, sizeof error))
        return false;
    array_store(DTYPE_F64, writer.array.data, (Number){ .re = first });
    return npy_commit(&writer, error, sizeof error);
}

/* The first of the numbers in a file, -1 if it cannot be read. */
static double first_of(const char *path)
{
    NpyFile file;
    double first = -1;
    if (npy_open(&file, path, error, sizeof error))
        first = array_load(file.array.dtype, file.array.data).re;
    npy_close(&file);
    return first;
}

static int temporaries, entries;

static int count_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)walk;
    temporaries += strstr(path, ".einc-") != NULL;
    entries += type != FTW_D;
    return 0;
}

static void count_entries(const char *folder)
{
    temporaries = entries = 0;
    nftw(folder, count_entry, 16, FTW_PHYS);
}

static bool same_files(const char *a, const char *b)
{
    size_t a_count, b_count;
    char *a_bytes = get_file(a, &a_count), *b_bytes = get_file(b, &b_count);
    bool same = a_count == b_count && !memcmp(a_bytes, b_bytes, a_count);
    free(a_bytes);
    free(b_bytes);
    return same;
}

static void writes_numpys_bytes(void **state)
{
    (void)state;
    for (int d = 0; d < DTYPE_COUNT; d++) {
        char theirs[64];
        NpyWriter writer;
        snprintf(theirs, sizeof theirs, "counting.%s.l.C", numpy_names[d]);
        assert_creates(&writer, "mine.npy", (Dtype)d, 3, (int64_t[]){ 2, 3, 4 });
        fill_counting_up(&writer.array);
        assert_commits(&writer);
        assert_true(same_files("mine.npy", theirs));
    }
}

/* Shapes that make headers of all lengths around the multiples of 64. */
static void writes_numpys_headers(void **state)
{
    (void)state;
    enum { AXES = 32, TENS = 16 };
    python("if hasattr(np.lib.format, 'GROWTH_AXIS_MAX_DIGITS'):\n"
           "    for rank in range(33):\n"
           "        for tens in range(16):\n"
           "            shape = (1234, 0) + (10,) * tens + (1,) * 32\n"
           "            np.save('shape%d.%d.npy' % (rank, tens), np.zeros(shape[:rank], 'i1'))\n");
    if (access("shape0.0.npy", F_OK))
        skip();                   /* before numpy 1.24, headers had no room to grow */
    for (int rank = 0; rank <= AXES; rank++)
        for (int tens = 0; tens < TENS; tens++) {
            char theirs[40];
            int64_t shape[AXES] = { 1234, 0 };
            NpyWriter writer;
            for (int i = 2; i < rank; i++)
                shape[i] = i < 2 + tens ? 10 : 1;
            snprintf(theirs, sizeof theirs, "shape%d.%d.npy", rank, tens);
            assert_creates(&writer, "mine.npy", DTYPE_I8, rank, shape);
            assert_commits(&writer);
            assert_true(same_files("mine.npy", theirs));
        }
}

static void writes_any_shape(void **state)
{
    (void)state;
    int64_t shape[RANK_MAX];
    for (int i = 0; i < RANK_MAX; i++)
        shape[i] = i ? 4611686018427387 : 0;
    NpyWriter writer;
    NpyFile file;
    assert_false(npy_create(&writer, "axes.npy", DTYPE_C128, 3, shape, error, sizeof error));
    assert_non_null(strstr(error, "too large"));
    for (int i = 0; i < RANK_MAX; i++)
        shape[i] = i == 40 ? 3 : 1;
    assert_creates(&writer, "axes.npy", DTYPE_C128, RANK_MAX, shape);
    for (int i = 0; i < 3 * 16; i++)
        assert_int_equal(((char *)writer.array.data)[i], 0);
    fill_counting_up(&writer.array);
    assert_commits(&writer);
    assert_opens(&file, "axes.npy");
    assert_memory_equal(file.array.shape, shape, sizeof shape);
    assert_counts_up(&file.array);
    npy_close(&file);
    assert_creates(&writer, "scalar.npy", DTYPE_BOOL, 0, NULL);
    fill_counting_up(&writer.array);
    assert_commits(&writer);
    assert_opens(&file, "scalar.npy");
    assert_true(file.array.rank == 0 && file.array.dtype == DTYPE_BOOL);
    npy_close(&file);
}

static void appears_at_commit(void **state)
{
    (void)state;
    NpyWriter writer;
    assert_int_equal(mkdir("place", 0755), 0);
    assert_creates(&writer, "place/out.npy", DTYPE_F64, 1, (int64_t[]){ 100000 });
    assert_true(writer.mapped);
    assert_int_equal(access("place/out.npy", F_OK), -1);
    assert_int_equal(strncmp(writer.temporary, "place/out.npy.einc-", 19), 0);
    assert_int_equal(strlen(writer.temporary), 19 + 6);
    struct stat status;
    assert_int_equal(stat(writer.temporary, &status), 0);
    assert_true(status.st_blocks * 512 >= 800000);   /* allocated, not a hole */
    assert_commits(&writer);
    count_entries("place");
    assert_true(entries == 1 && temporaries == 0);
    npy_abort(&writer);
    assert_int_equal(access("place/out.npy", F_OK), 0);

    assert_true(write_three("place/out.npy", 7));
    assert_creates(&writer, "place/out.npy", DTYPE_F64, 1, (int64_t[]){ 3 });
    fill_counting_up(&writer.array);
    count_entries("place");
    assert_true(entries == 2 && temporaries == 1);
    npy_abort(&writer);
    npy_abort(&writer);
    count_entries("place");
    assert_true(entries == 1 && temporaries == 0);
    assert_true(first_of("place/out.npy") == 7);
    npy_abort(&(NpyWriter){ 0 });
}

/* `einc run … -i a.npy -o a.npy`: what was mapped stays what it was. */
static void replaces_its_own_input(void **state)
{
    (void)state;
    NpyFile file;
    assert_true(write_three("self.npy", 1));
    assert_opens(&file, "self.npy");
    assert_true(write_three("self.npy", 2));
    assert_true(array_load(DTYPE_F64, file.array.data).re == 1);
    npy_close(&file);
    assert_true(first_of("self.npy") == 2);
}

static unsigned mode_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

static void keeps_permissions(void **state)
{
    (void)state;
    mode_t kept = umask(027);
    assert_true(write_three("mode.npy", 1));
    assert_int_equal(mode_of("mode.npy"), 0640);
    umask(077);
    assert_int_equal(chmod("mode.npy", 0664), 0);
    assert_true(write_three("mode.npy", 2));
    assert_int_equal(mode_of("mode.npy"), 0664);
    umask(0);
    assert_int_equal(chmod("mode.npy", 0600), 0);
    assert_true(write_three("mode.npy", 3));
    assert_int_equal(mode_of("mode.npy"), 0600);
    assert_true(write_three("mode2.npy", 3));
    assert_int_equal(mode_of("mode2.npy"), 0666);
    umask(kept);
}

static void follows_links(void **state)
{
    (void)state;
    struct stat status;
    assert_int_equal(mkdir("sub", 0755), 0);
    assert_true(write_three("sub/real.npy", 1));
    assert_int_equal(symlink("real.npy", "sub/inner.npy"), 0);
    assert_int_equal(symlink("sub/inner.npy", "outer.npy"), 0);
    assert_true(write_three("outer.npy", 2));
    assert_true(first_of("sub/real.npy") == 2);
    assert_true(!lstat("outer.npy", &status) && S_ISLNK(status.st_mode));
    assert_true(!lstat("sub/inner.npy", &status) && S_ISLNK(status.st_mode));

    char absolute[128];
    snprintf(absolute, sizeof absolute, "%s/sub/new.npy", directory);
    assert_int_equal(symlink(absolute, "dangling.npy"), 0);
    assert_true(write_three("dangling.npy", 3));
    assert_true(first_of("sub/new.npy") == 3);

    assert_int_equal(symlink("loop.npy", "loop.npy"), 0);
    assert_not_created("loop.npy", "symbolic links");
}

static void takes_long_names(void **state)
{
    (void)state;
    char name[256], path[300];
    memset(name, 'n', 255);
    name[255] = 0;
    snprintf(path, sizeof path, "./%s", name);
    assert_true(write_three(name, 4) && first_of(name) == 4);
    assert_true(write_three(path, 5) && first_of(name) == 5);
}

static void refuses_bad_paths(void **state)
{
    (void)state;
    assert_not_created("nowhere/out.npy", "No such file");
    assert_not_created("", "Is a directory");
    assert_not_created("sub", "Is a directory");
    assert_not_created("nowhere/", "Is a directory");
    assert_not_created("mode.npy/out.npy", "Not a directory");
    NpyWriter writer;
    assert_creates(&writer, "usurped.npy", DTYPE_F64, 1, (int64_t[]){ 3 });
    assert_int_equal(mkdir("usurped.npy", 0755), 0);
    assert_false(npy_commit(&writer, error, sizeof error));
    assert_non_null(strstr(error, "usurped.npy: cannot write its 152 bytes: Is a directory"));
    npy_abort(&writer);
    count_entries(".");
    assert_int_equal(temporaries, 0);
}

/* What arrives at the other end of a pipe is put into a file. */
static void drain(int fd, const char *name)
{
    char bytes[4096];
    size_t count = 0;
    for (ssize_t n; (n = read(fd, bytes + count, sizeof bytes - count)) > 0;)
        count += (size_t)n;
    close(fd);
    put_file(name, bytes, count);
}

static void writes_to_pipes(void **state)
{
    (void)state;
    static const char *const names[] = { "-", "/dev/stdout", "/dev/fd/1" };
    assert_true(write_three("sample.npy", 6));
    for (int i = 0; i < 3; i++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        int kept = redirect(STDOUT_FILENO, ends[1]);
        bool ok = write_three(names[i], 6);
        redirect_back(STDOUT_FILENO, kept);
        drain(ends[0], "drained.npy");
        assert_true(ok && same_files("drained.npy", "sample.npy"));
    }
    assert_int_equal(mkfifo("out.fifo", 0600), 0);
    int reader = open("out.fifo", O_RDONLY | O_NONBLOCK);
    assert_true(write_three("out.fifo", 6));
    drain(reader, "drained.npy");
    assert_true(same_files("drained.npy", "sample.npy"));
    assert_true(write_three("/dev/null", 6));
    assert_false(write_three("/dev/full", 6));
    assert_non_null(strstr(error, "/dev/full: cannot write its 152 bytes: No space left"));
}

/* `{ einc …; einc …; } > both.npy`, then read one after the other. */
static void writes_where_stdout_stands(void **state)
{
    (void)state;
    int kept = redirect(STDOUT_FILENO, open("both.npy", O_WRONLY | O_CREAT, 0666));
    bool ok = write_three("-", 1) && write_three("/dev/stdout", 2);
    redirect_back(STDOUT_FILENO, kept);
    assert_true(ok);
    kept = redirect(STDIN_FILENO, open("both.npy", O_RDONLY));
    double first = first_of("-"), second = first_of("-");
    redirect_back(STDIN_FILENO, kept);
    assert_true(first == 1 && second == 2);
}

/* ---- full disks, foreign files: in a child that gives rights away or mounts ---- */

static bool become_nobody(void)
{
    return geteuid() || !setresuid(65534, 65534, 65534);
}

static int as_nobody(void)
{
    if (!become_nobody())
        return 77;
    if (write_three("public/locked.npy", 1) || !strstr(error, "Permission denied"))
        return 1;
    if (write_three("foreign/new.npy", 1) || !strstr(error, "Permission denied"))
        return 2;
    /* No file can be made beside this one, but it can be written to. */
    return write_three("foreign/open.npy", 9) && first_of("foreign/open.npy") == 9 ? 0 : 3;
}

static void respects_protection(void **state)
{
    (void)state;
    assert_int_equal(mkdir("foreign", 0755) || mkdir("public", 0755), 0);
    assert_true(write_three("public/locked.npy", 5));
    NpyWriter writer;
    assert_creates(&writer, "foreign/open.npy", DTYPE_F64, 1, (int64_t[]){ 1000 });
    assert_commits(&writer);
    assert_int_equal(chmod("public/locked.npy", 0444) || chmod("public", 0777), 0);
    assert_int_equal(chmod("foreign/open.npy", 0666) || chmod("foreign", 0555), 0);
    in_child(as_nobody);
    assert_int_equal(chmod("foreign", 0755), 0);
    assert_true(first_of("public/locked.npy") == 5 && first_of("foreign/open.npy") == 9);
    struct stat status;
    assert_true(!stat("foreign/open.npy", &status) && status.st_size == 152);
}

static int with_small_files(void)
{
    struct rlimit limit = { 4096, 4096 };
    NpyWriter writer;
    if (setrlimit(RLIMIT_FSIZE, &limit))
        return 77;
    if (npy_create(&writer, "limited.npy", DTYPE_F64, 1, (int64_t[]){ 1000 }, error, sizeof error))
        return 1;
    return strstr(error, "File too large") && write_three("limited.npy", 1) ? 0 : 2;
}

static void respects_the_file_size_limit(void **state)
{
    (void)state;
    in_child(with_small_files);
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return ok;
}

/* Makes this process one that may mount, in a namespace that nobody else sees. */
static bool may_mount(void)
{
    char users[64], groups[64];
    snprintf(users, sizeof users, "0 %u 1", (unsigned)geteuid());
    snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getegid());
    if (geteuid() ? unshare(CLONE_NEWUSER | CLONE_NEWNS) : unshare(CLONE_NEWNS))
        return false;
    if (geteuid())
        (void)(write_text("/proc/self/uid_map", users) && write_text("/proc/self/setgroups", "deny")
               && write_text("/proc/self/gid_map", groups));
    return !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

static int on_other_file_systems(void)
{
    NpyWriter writer;
    if (!may_mount() || mount("none", "mnt", "tmpfs", 0, "size=256k"))
        return 77;
    if (npy_create(&writer, "mnt/full.npy", DTYPE_F64, 1, (int64_t[]){ 100000 }, error, sizeof error))
        return 1;
    if (!strstr(error, "cannot write its 800128 bytes: No space left"))
        return 2;
    temporaries = entries = 0;
    nftw("mnt", count_entry, 16, FTW_PHYS);
    if (entries || !write_three("mnt/fits.npy", 3) || first_of("mnt/fits.npy") != 3)
        return 3;

    /* A file that is itself a mount cannot be replaced, only written to. */
    if (!write_three("mnt/below.npy", 1) || mount("mnt/fits.npy", "mnt/below.npy", NULL, MS_BIND, NULL))
        return 77;
    if (!write_three("mnt/below.npy", 4) || first_of("mnt/fits.npy") != 4)
        return 4;
    temporaries = entries = 0;
    nftw("mnt", count_entry, 16, FTW_PHYS);
    if (temporaries)
        return 5;

    /* ramfs cannot allocate ahead, so the array is in memory and written at the end. */
    if (mount("none", "mnt", "ramfs", 0, NULL))
        return 77;
    if (!npy_create(&writer, "mnt/ram.npy", DTYPE_F64, 1, (int64_t[]){ 3 }, error, sizeof error) || writer.mapped)
        return 6;
    array_store(DTYPE_F64, writer.array.data, (Number){ .re = 8 });
    return npy_commit(&writer, error, sizeof error) && first_of("mnt/ram.npy") == 8 ? 0 : 7;
}

static void handles_other_file_systems(void **state)
{
    (void)state;
    assert_int_equal(mkdir("mnt", 0755), 0);
    in_child(on_other_file_systems);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_numpys_dtypes),
        cmocka_unit_test(reads_any_spelling),
        cmocka_unit_test(reads_any_shape),
        cmocka_unit_test(refuses_bad_headers),
        cmocka_unit_test(refuses_other_dtypes),
        cmocka_unit_test(refuses_other_files),
        cmocka_unit_test(says_what_is_missing),
        cmocka_unit_test(survives_corruption),
        cmocka_unit_test(survives_noise),
        cmocka_unit_test(reads_pipes),
        cmocka_unit_test(reads_fifos),
        cmocka_unit_test(opens_large_files_at_once),
        cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(cuts_long_errors),
        cmocka_unit_test(writes_numpys_bytes),
        cmocka_unit_test(writes_numpys_headers),
        cmocka_unit_test(writes_any_shape),
        cmocka_unit_test(appears_at_commit),
        cmocka_unit_test(replaces_its_own_input),
        cmocka_unit_test(keeps_permissions),
        cmocka_unit_test(follows_links),
        cmocka_unit_test(takes_long_names),
        cmocka_unit_test(refuses_bad_paths),
        cmocka_unit_test(writes_to_pipes),
        cmocka_unit_test(writes_where_stdout_stands),
        cmocka_unit_test(respects_protection),
        cmocka_unit_test(respects_the_file_size_limit),
        cmocka_unit_test(handles_other_file_systems),
    };
    return cmocka_run_group_tests(tests, enter_directory, remove_directory);
}
