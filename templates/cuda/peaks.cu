/* What a device can do at most: loops of multiply-adds that need no memory. Each thread has chains enough that the unit is never
 * idle. mma.sync is not the fastest way to the tensor cores of all devices: there the data sheet says what is. */
#ifdef __CUDACC_RTC__
typedef long long int64_t;
#endif

enum { THREADS = 128, RESIDENT = 4, CHAINS = 8 };

typedef struct Frame {
    double *out;                  /* [thread of the grid], so that nothing is left out */
    int64_t rounds;
} Frame;

template <class T> static __device__ T chains(int64_t rounds, T a, T b)
{
    T x[CHAINS], sum = 0;
    for (int c = 0; c < CHAINS; c++)
        x[c] = (T)(threadIdx.x + c);
#pragma unroll 16
    for (int64_t r = 0; r < rounds; r++)
        for (int c = 0; c < CHAINS; c++)
            x[c] = x[c] * a + b;
    for (int c = 0; c < CHAINS; c++)
        sum += x[c];
    return sum;
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) peak_f32(const __grid_constant__ Frame frame)
{
    frame.out[blockIdx.x * THREADS + threadIdx.x] = chains(frame.rounds, 0.999f, 0.001f);
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) peak_f64(const __grid_constant__ Frame frame)
{
    frame.out[blockIdx.x * THREADS + threadIdx.x] = chains(frame.rounds, 0.999, 0.001);
}

/* CHAINS products of 16 x 16 by 16 x 8 in each round of a warp. */
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) peak_bf16(const __grid_constant__ Frame frame)
{
    float x[CHAINS][4], sum = 0;
    for (int c = 0; c < CHAINS; c++)
        for (int k = 0; k < 4; k++)
            x[c][k] = 0;
#pragma unroll 4
    for (int64_t r = 0; r < frame.rounds; r++)
        for (int c = 0; c < CHAINS; c++) {
#ifdef __CUDACC_RTC__
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
                         : "+f"(x[c][0]), "+f"(x[c][1]), "+f"(x[c][2]), "+f"(x[c][3]) : "r"(threadIdx.x), "r"(threadIdx.x + c));
#else
            for (int k = 0; k < 4; k++)
                x[c][k] = x[c][k] + 1;
#endif
        }
    for (int c = 0; c < CHAINS; c++)
        for (int k = 0; k < 4; k++)
            sum += x[c][k];
    frame.out[blockIdx.x * THREADS + threadIdx.x] = sum;
}
