/* .npy files: read what numpy writes, and survive what nobody should have written. */
#include <math.h>

#include "npy_testing.h"

static void reads_numpys_dtypes(void **state)
{
    (void)state;
    make_counting();
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
    };
    return cmocka_run_group_tests(tests, enter_directory, remove_directory);
}
