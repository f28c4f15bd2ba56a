/* Arrays: layout, positions, and elements as numbers. The 16-bit floats are compared with numpy, and with the
 * midpoints between their neighbours, which is what rounding to the nearest means. */
#include <float.h>
#include <math.h>

#include "array.h"
#include "scratch.h"

enum { DOUBLES = 1 << 20, PATTERNS = 1 << 16 };

static void read_whole(const char *name, void *buffer, size_t bytes)
{
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    assert_int_equal(fread(buffer, 1, bytes, file), bytes);
    fclose(file);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double widened(Dtype dtype, unsigned pattern)
{
    uint16_t element = (uint16_t)pattern;
    return array_load(dtype, &element).re;
}

static uint16_t narrowed(Dtype dtype, double value)
{
    uint16_t element;
    array_store(dtype, &element, (Number){ .re = value });
    return element;
}

/* xorshift: the same numbers in every run. */
static uint64_t next_random(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* ---- layout ---- */

static void layouts(void **state)
{
    (void)state;
    Array array = { .rank = 3, .shape = { 2, 3, 5 } };
    array_lay_out(&array, false);
    assert_memory_equal(array.stride, ((int64_t[]){ 15, 5, 1 }), 3 * sizeof(int64_t));
    array_lay_out(&array, true);
    assert_memory_equal(array.stride, ((int64_t[]){ 1, 2, 6 }), 3 * sizeof(int64_t));

    Array empty = { .rank = 3, .shape = { 4, 0, 5 } };
    array_lay_out(&empty, false);
    assert_memory_equal(empty.stride, ((int64_t[]){ 5, 5, 1 }), 3 * sizeof(int64_t));

    Array huge = { .rank = 4, .shape = { 0, INT64_MAX, INT64_MAX, INT64_MAX } };
    array_lay_out(&huge, false);
    array_lay_out(&huge, true);
    Array scalar = { .rank = 0 };
    array_lay_out(&scalar, false);
}

static void counts(void **state)
{
    (void)state;
    assert_int_equal(array_count(&(Array){ .rank = 0 }), 1);
    assert_int_equal(array_count(&(Array){ .rank = 2, .shape = { 6, 7 } }), 42);
    assert_int_equal(array_count(&(Array){ .rank = 2, .shape = { 6, 0 } }), 0);
    assert_int_equal(array_count(&(Array){ .rank = 2, .shape = { INT64_MAX, 1 } }), INT64_MAX);
    assert_int_equal(array_count(&(Array){ .rank = 2, .shape = { INT64_MAX / 2 + 1, 2 } }), -1);
    assert_int_equal(array_count(&(Array){ .rank = 3, .shape = { INT64_MAX, INT64_MAX, 0 } }), 0);
}

static void positions(void **state)
{
    (void)state;
    int16_t data[24];
    Array array = { .data = data, .dtype = DTYPE_I16, .rank = 3, .shape = { 2, 3, 4 } };
    array_lay_out(&array, false);
    int64_t position[3] = { 0 };
    int count = 0;
    do
        assert_ptr_equal(array_at(&array, position), &data[count++]);
    while (array_next(&array, position));
    assert_int_equal(count, 24);
    assert_memory_equal(position, ((int64_t[3]){ 0 }), sizeof position);

    Array reversed = { .data = &data[23], .dtype = DTYPE_I16, .rank = 1, .shape = { 24 }, .stride = { -1 } };
    assert_ptr_equal(array_at(&reversed, (int64_t[]){ 23 }), data);

    Array scalar = { .data = data, .dtype = DTYPE_I16, .rank = 0 };
    assert_ptr_equal(array_at(&scalar, position), data);
    assert_false(array_next(&scalar, position));
}

/* ---- 16-bit floats ---- */

static void every_pattern_survives(void **state)
{
    (void)state;
    for (unsigned pattern = 0; pattern < PATTERNS; pattern++) {
        assert_int_equal(narrowed(DTYPE_F16, widened(DTYPE_F16, pattern)), pattern);
        assert_int_equal(narrowed(DTYPE_BF16, widened(DTYPE_BF16, pattern)), pattern);
    }
}

static void patterns_mean_what_numpy_says(void **state)
{
    (void)state;
    static double half[PATTERNS], brain[PATTERNS];
    python("p = np.arange(65536, dtype=np.uint16)\n"
           "np.seterr(all='ignore')\n"
           "p.view(np.float16).astype(np.float64).tofile('half')\n"
           "(p.astype(np.uint32) << 16).view(np.float32).astype(np.float64).tofile('brain')\n");
    read_whole("half", half, sizeof half);
    read_whole("brain", brain, sizeof brain);
    for (unsigned p = 0; p < PATTERNS; p++) {
        double h = widened(DTYPE_F16, p), b = widened(DTYPE_BF16, p);
        assert_true(isnan(half[p]) ? isnan(h) : bits_of(h) == bits_of(half[p]));
        assert_true(isnan(brain[p]) ? isnan(b) : bits_of(b) == bits_of(brain[p]));
    }
}

/* The largest finite magnitude of a 16-bit float, as a pattern. */
static unsigned largest(Dtype dtype)
{
    return dtype == DTYPE_F16 ? 0x7BFF : 0x7F7F;
}

/* The value of a magnitude's pattern; beyond the largest, what would come next. */
static double magnitude(Dtype dtype, unsigned pattern)
{
    unsigned most = largest(dtype);
    return pattern <= most ? widened(dtype, pattern) : 2 * widened(dtype, most) - widened(dtype, most - 1);
}

/* Doubles that try a 16-bit float: random bits, random within its range, midpoints and what lies just beside. */
static double trial(Dtype dtype, int i)
{
    uint64_t random = next_random();
    unsigned pattern = random % (largest(dtype) + 1);
    double middle = (magnitude(dtype, pattern) + magnitude(dtype, pattern + 1)) / 2;
    double sign = random >> 63 ? -1 : 1;
    switch (i % 5) {
    case 0: return from_bits(random);
    case 1: return sign * ldexp(1 + (double)(random >> 12) * 0x1p-52, (int)(random % 50) - 30);
    case 2: return sign * middle;
    case 3: return sign * nextafter(middle, 0);
    default: return sign * nextafter(middle, INFINITY);
    }
}

static void assert_nearest(Dtype dtype, double value)
{
    unsigned most = largest(dtype), result = narrowed(dtype, value), size = result & 0x7FFF;
    if (isnan(value)) {
        assert_true(size > most + 1);
        return;
    }
    assert_int_equal(result >> 15, bits_of(value) >> 63);
    assert_true(size <= most + 1);
    double here = magnitude(dtype, size), x = fabs(value);
    double above = size > most ? INFINITY : (here + magnitude(dtype, size + 1)) / 2;
    double below = size ? (magnitude(dtype, size - 1) + here) / 2 : -1;
    assert_true(x < above || (x == above && (size % 2 == 0 || size > most)));
    assert_true(x > below || (x == below && size % 2 == 0));
}

static void rounds_to_nearest(void **state)
{
    (void)state;
    for (int i = 0; i < DOUBLES; i++) {
        assert_nearest(DTYPE_F16, trial(DTYPE_F16, i));
        assert_nearest(DTYPE_BF16, trial(DTYPE_BF16, i));
    }
}

static void rounds_as_numpy(void **state)
{
    (void)state;
    static double values[DOUBLES];
    static uint16_t theirs[DOUBLES];
    for (int i = 0; i < DOUBLES; i++)
        values[i] = trial(DTYPE_F16, i);
    FILE *file = fopen("values", "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(values, sizeof *values, DOUBLES, file), DOUBLES);
    assert_int_equal(fclose(file), 0);
    python("np.seterr(all='ignore')\n"
           "np.fromfile('values').astype(np.float16).tofile('rounded')\n");
    read_whole("rounded", theirs, sizeof theirs);
    for (int i = 0; i < DOUBLES; i++)
        if (!isnan(values[i]))
            assert_int_equal(narrowed(DTYPE_F16, values[i]), theirs[i]);
}

static void narrow_edges(void **state)
{
    (void)state;
    static const struct {
        double value;
        uint16_t half, brain;
    } cases[] = {
        { 0.0, 0x0000, 0x0000 }, { -0.0, 0x8000, 0x8000 }, { 1.0, 0x3C00, 0x3F80 },
        { INFINITY, 0x7C00, 0x7F80 }, { -INFINITY, 0xFC00, 0xFF80 },
        { DBL_MAX, 0x7C00, 0x7F80 }, { -DBL_MAX, 0xFC00, 0xFF80 },
        { DBL_TRUE_MIN, 0x0000, 0x0000 }, { -DBL_TRUE_MIN, 0x8000, 0x8000 }, { DBL_MIN, 0x0000, 0x0000 },
        { 65504, 0x7BFF, 0x4780 }, { 65519.999999999, 0x7BFF, 0x4780 }, { 65520, 0x7C00, 0x4780 },
        { 0x1.FEp127, 0x7C00, 0x7F7F }, { 0x1.FEFFFFFFp127, 0x7C00, 0x7F7F }, { 0x1.FFp127, 0x7C00, 0x7F80 },
        { 0x1p-24, 0x0001, 0x3380 }, { 0x1p-25, 0x0000, 0x3300 }, { 0x1.0000000000001p-25, 0x0001, 0x3300 },
        { 0x1.8p-24, 0x0002, 0x33C0 }, { 0x1.FFFFFFFFFFFFFp-26, 0x0000, 0x3300 },
        { 0x1p-133, 0x0000, 0x0001 }, { 0x1p-134, 0x0000, 0x0000 }, { 0x1.0000000000001p-134, 0x0000, 0x0001 },
        { 0x1.FFFFFFFFFFFFFp-15, 0x0400, 0x3880 }, { 0x1.FFFFFFFFFFFFFp-127, 0x0000, 0x0080 },
        /* by way of float32 these would become ties, and go to the even side */
        { 1 + 0x1p-11 + 0x1p-40, 0x3C01, 0x3F80 }, { 1 + 0x1p-8 + 0x1p-40, 0x3C04, 0x3F81 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(narrowed(DTYPE_F16, cases[i].value), cases[i].half);
        assert_int_equal(narrowed(DTYPE_BF16, cases[i].value), cases[i].brain);
    }
    /* A NaN whose payload is in the lowest bits may not become infinity. */
    assert_true(isnan(widened(DTYPE_F16, narrowed(DTYPE_F16, from_bits(0x7FF0000000000001)))));
    assert_true(isnan(widened(DTYPE_BF16, narrowed(DTYPE_BF16, from_bits(0xFFF0000000000001)))));
}

/* ---- other elements ---- */

static int64_t stored(Dtype dtype, Number number)
{
    char element[16];
    array_store(dtype, element, number);
    return array_load(dtype, element).integer;
}

static void floats_to_integers_saturate(void **state)
{
    (void)state;
    static const Dtype integers[] = { DTYPE_I8, DTYPE_I16, DTYPE_I32, DTYPE_I64 };
    for (int i = 0; i < 4; i++) {
        int64_t most = INT64_MAX >> (64 - (8 << i));
        double limit = ldexp(1, (8 << i) - 1);
        assert_int_equal(stored(integers[i], (Number){ .re = NAN }), 0);
        assert_int_equal(stored(integers[i], (Number){ .re = INFINITY }), most);
        assert_int_equal(stored(integers[i], (Number){ .re = -INFINITY }), -most - 1);
        assert_int_equal(stored(integers[i], (Number){ .re = limit }), most);
        assert_int_equal(stored(integers[i], (Number){ .re = -limit }), -most - 1);
        assert_int_equal(stored(integers[i], (Number){ .re = -2 * limit }), -most - 1);
        assert_int_equal(stored(integers[i], (Number){ .re = 100.99 }), 100);
        assert_int_equal(stored(integers[i], (Number){ .re = -100.99 }), -100);
        assert_int_equal(stored(integers[i], (Number){ .re = -0.5 }), 0);
    }
    assert_int_equal(stored(DTYPE_I8, (Number){ .re = 127.9 }), 127);
    assert_int_equal(stored(DTYPE_I8, (Number){ .re = -128.9 }), -128);
    assert_int_equal(stored(DTYPE_I8, (Number){ .re = 300 }), 127);
    assert_int_equal(stored(DTYPE_I64, (Number){ .re = 0x1.FFFFFFFFFFFFFp62 }), INT64_MAX - 1023);
}

static void integers_are_exact(void **state)
{
    (void)state;
    static const int64_t values[] = { 0, 1, -1, INT64_MAX, INT64_MIN, (1ll << 53) + 1, 300, -129 };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        Number number = array_load(DTYPE_I64, &values[i]);
        assert_int_equal(number.integer, values[i]);
        assert_true(number.re == (double)values[i] && number.im == 0);
        assert_int_equal(stored(DTYPE_I64, number), values[i]);
        assert_int_equal(stored(DTYPE_I32, number), (int32_t)values[i]);
        assert_int_equal(stored(DTYPE_I16, number), (int16_t)values[i]);
        assert_int_equal(stored(DTYPE_I8, number), (int8_t)values[i]);
        assert_int_equal(stored(DTYPE_BOOL, number), values[i] != 0);
    }
    /* Just above the middle of two floats, where float64 has only the middle itself. */
    int64_t above = (1ll << 60) + (1ll << 36) + 1;
    float rounded;
    array_store(DTYPE_F32, &rounded, array_load(DTYPE_I64, &above));
    assert_true(rounded == 0x1.000002p60f);
    array_store(DTYPE_F32, &rounded, (Number){ .re = -0.0 });
    assert_true(rounded == 0 && signbit(rounded));
}

/* What a number was before it was changed does not count. */
static void stale_integers_do_not_count(void **state)
{
    (void)state;
    Number number = { .re = 2.5, .integer = 5 };
    assert_int_equal(stored(DTYPE_I32, number), 2);
    float rounded;
    array_store(DTYPE_F32, &rounded, number);
    assert_true(rounded == 2.5f);
}

static void bools(void **state)
{
    (void)state;
    assert_int_equal(stored(DTYPE_BOOL, (Number){ .re = 0.25 }), 1);
    assert_int_equal(stored(DTYPE_BOOL, (Number){ .re = -0.0 }), 0);
    assert_int_equal(stored(DTYPE_BOOL, (Number){ .im = 1 }), 1);
    assert_int_equal(stored(DTYPE_BOOL, (Number){ .re = NAN }), 1);
    uint8_t odd = 0x80;
    assert_int_equal(array_load(DTYPE_BOOL, &odd).integer, 1);
    assert_true(array_load(DTYPE_BOOL, &odd).re == 1);
    array_store(DTYPE_BOOL, &odd, (Number){ .re = 7 });
    assert_int_equal(odd, 1);
}

static void complex_parts(void **state)
{
    (void)state;
    Number number = { .re = 1.5, .im = -2.25 };
    float single[2];
    double both[2], real;
    array_store(DTYPE_C64, single, number);
    array_store(DTYPE_C128, both, number);
    array_store(DTYPE_F64, &real, number);
    assert_true(single[0] == 1.5f && single[1] == -2.25f);
    assert_true(both[0] == 1.5 && both[1] == -2.25 && real == 1.5);
    assert_true(array_load(DTYPE_C64, single).im == -2.25 && array_load(DTYPE_C128, both).im == -2.25);
    assert_int_equal(stored(DTYPE_I8, number), 1);
    float overflow;
    array_store(DTYPE_F32, &overflow, (Number){ .re = 1e300 });
    assert_true(isinf(overflow));
}

/* Nothing beside the element is read or written, wherever it stands. */
static void elements_need_no_alignment(void **state)
{
    (void)state;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (size_t shift = 0; shift < 16; shift++) {
            size_t size = dtype_size((Dtype)d);
            char *bytes = malloc(shift + size + 1);
            assert_non_null(bytes);
            memset(bytes, 0x5A, shift + size + 1);
            array_store((Dtype)d, bytes + shift, (Number){ .re = 1, .integer = 1 });
            assert_true(array_load((Dtype)d, bytes + shift).re == 1);
            for (size_t i = 0; i < shift; i++)
                assert_int_equal(bytes[i], 0x5A);
            assert_int_equal(bytes[shift + size], 0x5A);
            free(bytes);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts),
        cmocka_unit_test(counts),
        cmocka_unit_test(positions),
        cmocka_unit_test(every_pattern_survives),
        cmocka_unit_test(patterns_mean_what_numpy_says),
        cmocka_unit_test(rounds_to_nearest),
        cmocka_unit_test(rounds_as_numpy),
        cmocka_unit_test(narrow_edges),
        cmocka_unit_test(floats_to_integers_saturate),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(stale_integers_do_not_count),
        cmocka_unit_test(bools),
        cmocka_unit_test(complex_parts),
        cmocka_unit_test(elements_need_no_alignment),
    };
    return cmocka_run_group_tests(tests, enter_directory, remove_directory);
}
