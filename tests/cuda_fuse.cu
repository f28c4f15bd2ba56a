/* The template of two products one behind the other for CUDA as it stands, in tests/cuda_emulator.h: its sample with sizes around the
 * edges of tiles, with SAMPLE_NARROW on tensor cores. Says what is wrong, and ends with 1 then. */
#include "../templates/cuda/fuse.cu"

extern "C" __global__ void product(const Frame frame)
{
    step_N(&frame);
}

enum { LINES = 80 };

static float A[LINES], B[LINES], out[LINES * LINES + 1];
static partu C[LINES * LINES];

#ifdef SAMPLE_NARROW
#define NUMBER(x) to_f32_bf16(x)
#define PART(x) to_bf16_f32(x)
#else
#define NUMBER(x) (x)
#define PART(x) (x)
#endif

/* The numbers are whole, so that sums are exact; the factors want more than 8 bits. */
static bool is_right(int64_t rows, int64_t columns, int64_t values)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t v = 0; v < values; v++) {
            float sum = 0;
            for (int64_t j = 0; j < columns; j++)
                sum += A[i] * B[j] * NUMBER(C[j * values + v]);
            if (out[i * values + v] != sum)
                return false;
        }
    return true;
}

int main()
{
    static const int64_t sizes[] = { 0, 1, 15, 16, 17, 33, 64, 79 };
    int wrong = 0;
    for (int i = 0; i < LINES; i++) {
        A[i] = (float)(i * 7919 % 201 - 100);
        B[i] = (float)(i * 104729 % 51 - 25);
    }
    for (int i = 0; i < LINES * LINES; i++)
        C[i] = PART((float)(i * 7919 % 23 - 11));
    for (int r = 0; r < 8; r++)
        for (int c = 0; c < 8; c++)
            for (int v = 0; v < 8; v++) {
                Frame frame = { A, B, C, out, sizes[r], sizes[c], sizes[v] };
                void *arguments[] = { &frame };
                int64_t behind = sizes[r] * sizes[v];
                out[behind] = 12345;
                bool ran = cudaLaunchKernel(product, dim3(1), dim3(THREADS), arguments, 0, NULL) == cudaSuccess;
                if (ran && is_right(sizes[r], sizes[c], sizes[v]) && out[behind] == 12345)
                    continue;
                printf("a product of %d x %d x %d\n", (int)sizes[r], (int)sizes[c], (int)sizes[v]);
                wrong = 1;
            }
    return wrong;
}
