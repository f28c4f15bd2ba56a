/* The template of products on Hopper's tensor cores as it stands, in tests/cuda_emulator.h: its sample, or with SAMPLE_KEPT the one
 * that keeps the left side's slices, with sizes around the edges of tiles and slices; or another file in its place, as TEMPLATE. Says what is wrong, and ends with 1 then. */
#ifndef TEMPLATE
#define TEMPLATE "../templates/cuda/hopper.cu"
#endif
#include TEMPLATE

enum { LINES = 600, POINTS = 208, LINE_ALIGNMENT = 8 };
#ifdef SAMPLE_KEPT
enum { POINTS_MOST = KEPT_N * SLICE_N };
#else
enum { POINTS_MOST = POINTS };
#endif

static bf16u A[LINES * POINTS], B[LINES * POINTS];
static float out[LINES];

/* Whether out[i] is the largest sum[k](A[i,k] * B[j,k]) of all j. The numbers are whole, so that sums are exact. */
static bool is_right(int64_t rows, int64_t columns, int64_t depth, int64_t stride)
{
    for (int64_t i = 0; i < rows; i++) {
        float most = -INFINITY;
        for (int64_t j = 0; j < columns; j++) {
            float sum = 0;
            for (int64_t k = 0; k < depth; k++)
                sum += to_f32_bf16(A[i * stride + k]) * to_f32_bf16(B[j * stride + k]);
            most = sum > most ? sum : most;
        }
        if (out[i] != most)
            return false;
    }
    return true;
}

static bool make_map(TensorMap *map, void *data, int64_t lines, int64_t depth, int64_t stride, uint32_t box)
{
    const uint64_t extents[] = { (uint64_t)depth, (uint64_t)lines }, strides[] = { 2 * (uint64_t)stride };
    const uint32_t boxes[] = { SLICE_N, box }, steps[] = { 1, 1 };
    return map_encode(map, 9, 2, data, extents, strides, boxes, steps, 0, 3, 2, 0) == 0;
}

static bool check(int64_t rows, int64_t columns, int64_t depth, unsigned grid)
{
    int64_t stride = (depth + LINE_ALIGNMENT - 1) / LINE_ALIGNMENT * LINE_ALIGNMENT;
    Frame frame = { out, rows, columns, depth, { { 0 } }, { { 0 } } };
    void *arguments[] = { &frame };
    for (int j = 0; j < LINES; j++)
        out[j] = 12345;
    bool made = make_map(&frame.left_N, A, rows, depth, stride, LEFT_N) && make_map(&frame.right_N, B, columns, depth, stride, RIGHT_N);
    bool ran = made && cudaLaunchKernel(sample_ring_N, dim3(grid), dim3(GROUPS * GROUP), arguments, 0, NULL) == cudaSuccess;
    return ran && is_right(rows, columns, depth, stride) && (rows == LINES || out[rows] == 12345);
}

int main()
{
    static const int64_t sizes[][3] = { { 1, 1, 1 }, { 128, 64, 64 }, { 127, 63, 63 }, { 129, 65, 65 }, { 270, 130, 200 }, { 40, 200, 208 },
                                        { 200, 33, 16 }, { 130, 129, 128 }, { 600, 70, 100 }, { 600, 33, 60 } };
    int wrong = 0;
    for (int turn = 0; turn < 6; turn++) {
        for (int i = 0; i < LINES * POINTS; i++) {    /* all sums are below 0 in every other turn */
            A[i] = to_bf16_f32((float)(i % 1000 * 7919 % 23 - (turn % 2 ? -1 : 11)));
            B[i] = to_bf16_f32((float)(i % 997 * 104729 % 19 - (turn % 2 ? 19 : 9)));
        }
        for (const int64_t *size : sizes)
            if (!check(size[0], size[1], size_min(size[2], POINTS_MOST), 1 + (unsigned)turn % 3)) {
                printf("a product of %d x %d x %d\n", (int)size[0], (int)size[1], (int)size[2]);
                wrong = 1;
            }
    }
    return wrong;
}
