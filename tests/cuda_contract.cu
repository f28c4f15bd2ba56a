/* The template of tiled products for CUDA as it stands, in tests/cuda_emulator.h: its sample with sizes around the edges of tiles
 * and slices, with SAMPLE_NARROW on tensor cores, with SAMPLE_PARTS of numbers in parts, with SAMPLE_DOUBLE of f64, with SAMPLE_BRIEF of few points. Says what is wrong, and ends with 1
 * then. */
#ifdef SAMPLE_BRIEF
#include "../templates/cuda/contract_brief.cu"
#else
#include "../templates/cuda/contract.cu"
#endif

extern "C" __global__ void product(const Frame frame)
{
    step_N(&frame);
}

#ifdef SAMPLE_BRIEF
enum { LINES = 600, POINTS = POINTS_N };
#else
enum { LINES = 80, POINTS = 80 };
#endif

static partu A[LINES * POINTS], B[LINES * POINTS];
static float out[LINES];

#ifdef SAMPLE_NARROW
#define NUMBER(x) to_f32_bf16(x)
#define PART(x) to_bf16_f32(x)
#else
#define NUMBER(x) (x)
#define PART(x) (x)
#endif

/* What a row's sums are multiplied with, and its place in the frame. */
#ifdef SAMPLE_BRIEF
#define FACTOR(i) (float)(1 + (i) % 3)
#define FACTORS factors,
static float factors[LINES];
#else
#define FACTOR(i) 1
#define FACTORS
#endif

/* Of what has two parts one more bit than one of them. */
#ifdef SAMPLE_PARTS
enum { WIDTH = 1023 };
#else
enum { WIDTH = 23 };
#endif

/* Whether out[j] is the largest sum[k](A[i,k] * B[j,k]) of all i. The numbers are whole, so that sums are exact. */
static bool is_right(int64_t rows, int64_t columns, int64_t depth)
{
    for (int64_t j = 0; j < columns; j++) {
        float most = -INFINITY;
        for (int64_t i = 0; i < rows; i++) {
            float sum = 0;
            for (int64_t k = 0; k < depth; k++)
                sum += NUMBER(A[i * depth + k]) * NUMBER(B[j * depth + k]);
            sum *= FACTOR(i);
            most = sum > most ? sum : most;
        }
        if (out[j] != most)
            return false;
    }
    return true;
}

int main()
{
#ifdef SAMPLE_BRIEF
    static const int64_t sizes[] = { 0, 1, 63, 64, 257, 512, 599 }, depths[] = { POINTS };
    for (int i = 0; i < LINES; i++)
        factors[i] = FACTOR(i);
#else
    static const int64_t sizes[] = { 0, 1, 31, 32, 33, 64, 79 }, depths[] = { 0, 1, 7, 8, 9, 32, 40, 79 };
#endif
    int wrong = 0;
    for (int i = 0; i < LINES * POINTS; i++) {
        A[i] = PART((float)(i * 7919 % WIDTH - WIDTH / 2));
        B[i] = PART((float)(i * 104729 % 19 - 9));
    }
    for (int r = 0; r < 7; r++)
        for (int c = 0; c < 7; c++)
            for (size_t k = 0; k < sizeof depths / sizeof *depths; k++) {
                Frame frame = { A, B, FACTORS out, sizes[r], sizes[c], depths[k] };
                void *arguments[] = { &frame };
                for (int j = 0; j < LINES; j++)
                    out[j] = 12345;
                bool ran = cudaLaunchKernel(product, dim3(1), dim3(THREADS), arguments, 0, NULL) == cudaSuccess;
                if (ran && is_right(sizes[r], sizes[c], depths[k]) && (out[sizes[c]] == 12345))
                    continue;
                printf("a product of %d x %d x %d\n", (int)sizes[r], (int)sizes[c], (int)depths[k]);
                wrong = 1;
            }
    return wrong;
}
