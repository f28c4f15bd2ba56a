/* The tensor cores of a warp in tests/cuda_emulator.h: the models of templates/cuda/mma.cu. Only that file includes it. */
namespace emulated {

UNWATCHED static void load_lines(uint32_t words[4], const void *line, bool turned, int place)
{
    const char *at = (const char *)line;
    unsigned lane = current->thread % LANES;
    if (!is_shared(at, LINE) || (uintptr_t)at % LINE)
        fail("loads a line of a matrix from %p", line);
    give(&at, place);
    for (unsigned m = 0; m < 4; m++) {
        for (unsigned half = 0; half < 2; half++) {
            unsigned number = lane % 4 * 2 + half, row = turned ? number : lane / 4, column = turned ? lane / 4 : number;
            const char *from = lane_gave<const char *>(8 * m + row) + column * 2;
#ifdef EMULATED_RACES
            note(from, 2, false);
#endif
            memcpy((char *)&words[m] + 2 * half, from, 2);
        }
    }
    wait_at(AT_WARP, -place);
}

struct Operands {
    uint32_t left[4], right[2];
};

inline float number_of_bf16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &wide, 4);
    return x;
}

inline float number_of_f16(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float x = exponent ? ldexpf((float)(fraction + 1024), exponent - 25) : ldexpf((float)fraction, -24);
    if (exponent == 31)
        x = fraction ? NAN : INFINITY;
    return bits & 0x8000 ? -x : x;
}

template <float (*number)(uint16_t)> inline float half_product(uint32_t left, uint32_t right)
{
    return number((uint16_t)left) * number((uint16_t)right) + number((uint16_t)(left >> 16)) * number((uint16_t)(right >> 16));
}

/* The instruction leaves out all but 19 bits, whatever the others are. */
inline float rounded_product(uint32_t left, uint32_t right)
{
    float x, y;
    if ((left | right) & 0x1FFF)
        fail("multiplies a number that is not rounded to 19 bits");
    memcpy(&x, &left, 4);
    memcpy(&y, &right, 4);
    return x * y;
}

/* Ties go away from zero. */
UNWATCHED static uint32_t nearest_of_19_bits(uint32_t bits)
{
    return (bits & 0x7FFFFFFF) > 0x7F800000 ? 0x7FFFE000 : (bits + 0x1000) & ~0x1FFFu;
}

inline int32_t byte_product(uint32_t left, uint32_t right)
{
    int32_t sum = 0;
    for (int at = 0; at < 32; at += 8)
        sum += (int32_t)(int8_t)(left >> at) * (int8_t)(right >> at);
    return sum;
}

/* Of 16 rows and 8 columns each lane makes its 2 x 2 sums: templates/cuda/mma.cu. */
template <class T>
UNWATCHED static void multiply_matrices(T *sums, T *below, const uint32_t *left, const uint32_t *right,
                                        T (*product)(uint32_t, uint32_t), int place)
{
    Operands own = { { left[0], left[1], left[2], left[3] }, { right[0], right[1] } };
    unsigned lane = current->thread % LANES;
    give(&own, place);
    for (unsigned c = 0; c < 2; c++)
        for (unsigned word = 0; word < 4; word++) {
            const Operands row = lane_gave<Operands>(lane / 4 * 4 + word);
            const Operands column = lane_gave<Operands>((lane % 4 * 2 + c) * 4 + word);
            for (int far = 0; far < 2; far++) {
                sums[c] += product(row.left[2 * far], column.right[far]);
                below[c] += product(row.left[2 * far + 1], column.right[far]);
            }
        }
    wait_at(AT_WARP, -place);
}

/* The same of f64: of 8 points a lane has two, of both its rows and of its column. */
UNWATCHED static void multiply_doubles(double *sums, double *below, const double *left, const double *right, int place)
{
    struct Doubles {
        double left[4], right[2];
    };
    Doubles own = { { left[0], left[1], left[2], left[3] }, { right[0], right[1] } };
    unsigned lane = current->thread % LANES;
    give(&own, place);
    for (unsigned c = 0; c < 2; c++)
        for (unsigned point = 0; point < 8; point++) {
            const Doubles row = lane_gave<Doubles>(lane / 4 * 4 + point % 4);
            const double column = lane_gave<Doubles>((lane % 4 * 2 + c) * 4 + point % 4).right[point / 4];
            sums[c] = fma(row.left[point / 4 * 2], column, sums[c]);
            below[c] = fma(row.left[point / 4 * 2 + 1], column, below[c]);
        }
    wait_at(AT_WARP, -place);
}

/* Of 4 points, beginning with other sums. */
UNWATCHED static void multiply_few_doubles(double *sums, const double *begin, const double *left, double right, int place)
{
    struct Doubles {
        double left[2], right;
    };
    Doubles own = { { left[0], left[1] }, right };
    unsigned lane = current->thread % LANES;
    double result[4] = { begin[0], begin[1], begin[2], begin[3] };
    give(&own, place);
    for (unsigned c = 0; c < 2; c++)
        for (unsigned point = 0; point < 4; point++) {
            const Doubles row = lane_gave<Doubles>(lane / 4 * 4 + point);
            const double column = lane_gave<Doubles>((lane % 4 * 2 + c) * 4 + point).right;
            result[c] = fma(row.left[0], column, result[c]);
            result[2 + c] = fma(row.left[1], column, result[2 + c]);
        }
    wait_at(AT_WARP, -place);
    memcpy(sums, result, sizeof result);
}

} // namespace emulated

/* Those of templates/cuda/mma.cu. */
#define load_matrices(words, line) emulated::load_lines(words, line, false, __LINE__)
#define load_matrices_turned(words, line) emulated::load_lines(words, line, true, __LINE__)
#define mma_bf16(sums, below, left, right) \
    emulated::multiply_matrices(sums, below, left, right, emulated::half_product<emulated::number_of_bf16>, __LINE__)
#define mma_f16(sums, below, left, right) \
    emulated::multiply_matrices(sums, below, left, right, emulated::half_product<emulated::number_of_f16>, __LINE__)
#define mma_tf32(sums, below, left, right) \
    emulated::multiply_matrices(sums, below, left, right, emulated::rounded_product, __LINE__)
#define near_tf32(number) emulated::nearest_of_19_bits(number)
#define mma_f64_few(sums, begin, left, right) emulated::multiply_few_doubles(sums, begin, left, right, __LINE__)
#define mma_f64(sums, below, left, right) emulated::multiply_doubles(sums, below, left, right, __LINE__)
#define mma_i8(sums, below, left, right) \
    emulated::multiply_matrices(sums, below, left, right, emulated::byte_product, __LINE__)

UNWATCHED static uint32_t pair_bf16(float first, float second)
{
    uint32_t word = 0;
    for (int i = 0; i < 2; i++) {
        float x = i ? second : first;
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        word |= (x != x ? 0x7FFFu : (bits + 0x7FFF + (bits >> 16 & 1)) >> 16) << 16 * i;
    }
    return word;
}

UNWATCHED static uint32_t pair_f16(float first, float second)
{
    const _Float16 pair[2] = { (_Float16)first, (_Float16)second };
    uint32_t word;
    memcpy(&word, pair, sizeof word);
    return word;
}
