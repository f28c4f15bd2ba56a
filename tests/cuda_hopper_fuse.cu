/* The template of two products one behind the other on Hopper's tensor cores as it stands, in tests/cuda_emulator.h: its sample with
 * sizes around the edges of tiles, slices and panels; or another file in its place, as TEMPLATE. Says what is wrong, and ends with 1
 * then. */
#ifndef TEMPLATE
#define TEMPLATE "../templates/cuda/hopper_fuse.cu"
#endif
#include TEMPLATE

enum { LINES = 270, POINTS = 128, VALUES = 128, LINE_ALIGNMENT = 8 };

static bf16u A[LINES * POINTS], B[LINES * POINTS], C[LINES * VALUES];
static float out[(LINES + 1) * VALUES], factors[LINES * LINES];

static int64_t aligned(int64_t length)
{
    return (length + LINE_ALIGNMENT - 1) / LINE_ALIGNMENT * LINE_ALIGNMENT;
}

/* Whether out[i,v] is sum[j]((sum[k](A[i,k] * B[j,k]) + 1) * C[j,v]). The numbers are whole and small, so that all is exact. */
static bool is_right(int64_t rows, int64_t columns, int64_t depth, int64_t values)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            factors[j] = 1;
            for (int64_t k = 0; k < depth; k++)
                factors[j] += to_f32_bf16(A[i * aligned(depth) + k]) * to_f32_bf16(B[j * aligned(depth) + k]);
        }
        for (int64_t v = 0; v < values; v++) {
            float sum = 0;
            for (int64_t j = 0; j < columns; j++)
                sum += factors[j] * to_f32_bf16(C[j * aligned(values) + v]);
            if (out[i * values + v] != sum)
                return false;
        }
    }
    return out[rows * values] == 12345;
}

static bool make_map(TensorMap *map, void *data, int64_t lines, int64_t depth, uint32_t box)
{
    const uint64_t extents[] = { (uint64_t)depth, (uint64_t)lines }, strides[] = { 2 * (uint64_t)aligned(depth) };
    const uint32_t boxes[] = { SLICE_N, box }, steps[] = { 1, 1 };
    return map_encode(map, 9, 2, data, extents, strides, boxes, steps, 0, 3, 2, 0) == 0;
}

static bool check(int64_t rows, int64_t columns, int64_t depth, int64_t values, unsigned grid)
{
    Frame frame = { out, rows, columns, values, { { 0 } }, { { 0 } }, { { 0 } } };
    void *arguments[] = { &frame };
    for (float &x : out)
        x = 12345;
    bool made = make_map(&frame.left_N, A, rows, depth, LEFT_N) && make_map(&frame.right_N, B, columns, depth, RIGHT_N) &&
                make_map(&frame.values_N, C, columns, values, RIGHT_N);
    return made && cudaLaunchKernel(sample_ring_N, dim3(grid), dim3(GROUPS * GROUP), arguments, 0, NULL) == cudaSuccess &&
           is_right(rows, columns, depth, values);
}

int main()
{
    static const int64_t sizes[][4] = { { 1, 1, 1, 1 }, { 128, 64, 64, 64 }, { 127, 63, 63, 63 }, { 129, 65, 65, 72 }, { 270, 130, 128, 128 },
                                        { 40, 200, 100, 64 }, { 200, 33, 16, 9 }, { 130, 129, 128, 33 } };
    int wrong = 0;
    for (int turn = 0; turn < 6; turn++) {
        for (int i = 0; i < LINES * POINTS; i++) {    /* sums of so few that 8 bits hold them */
            A[i] = to_bf16_f32((float)(i % 1000 * 7919 % 23 == turn));
            B[i] = to_bf16_f32((float)(i % 997 * 104729 % 19 % 3 - 1));
        }
        for (int i = 0; i < LINES * VALUES; i++)
            C[i] = to_bf16_f32((float)(i % 991 * 7919 % 17 - 8));
        for (const int64_t *size : sizes)
            if (!check(size[0], size[1], size[2], size[3], 1 + (unsigned)turn % 3)) {
                printf("products of %d x %d x %d and %d values\n", (int)size[0], (int)size[1], (int)size[2], (int)size[3]);
                wrong = 1;
            }
    }
    return wrong;
}
