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

/* Products of 16 rows by 8 columns: of a thread's 4 sums. */
struct Bf16 {
    typedef float Sum;
    static __device__ void add(Sum x[4], unsigned a)
    {
#ifdef __CUDACC_RTC__
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
                     : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]) : "r"(a), "r"((a + 1)));
#else
        x[a % 4] += 1;
#endif
    }
};

struct Tf32 {
    typedef float Sum;
    static __device__ void add(Sum x[4], unsigned a)
    {
#ifdef __CUDACC_RTC__
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
                     : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]) : "r"(a), "r"((a + 1)));
#else
        x[a % 4] += 1;
#endif
    }
};

struct I8 {
    typedef int Sum;
    static __device__ void add(Sum x[4], unsigned a)
    {
#ifdef __CUDACC_RTC__
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
                     : "+r"(x[0]), "+r"(x[1]), "+r"(x[2]), "+r"(x[3]) : "r"(a), "r"((a + 1)));
#else
        x[a % 4] += 1;
#endif
    }
};

struct F64 {
    typedef double Sum;
    static __device__ void add(Sum x[4], unsigned a)
    {
#if defined __CUDACC_RTC__ && __CUDA_ARCH__ >= 900
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
                     : "+d"(x[0]), "+d"(x[1]), "+d"(x[2]), "+d"(x[3]) : "d"((double)a), "d"((double)(a + 1)));
#elif defined __CUDACC_RTC__
        for (int part = 0; part < 4; part++)
            asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                         : "+d"(x[part / 2 * 2]), "+d"(x[part / 2 * 2 + 1]) : "d"((double)a), "d"((double)(a + 1)));
#else
        x[a % 4] += 1;
#endif
    }
};

/* CHAINS of them in each round of a warp. */
template <class M> static __device__ void matrices(const Frame *frame)
{
    typename M::Sum x[CHAINS][4], sum = 0;
    for (int c = 0; c < CHAINS; c++)
        for (int k = 0; k < 4; k++)
            x[c][k] = 0;
#pragma unroll 4
    for (int64_t r = 0; r < frame->rounds; r++)
        for (int c = 0; c < CHAINS; c++)
            M::add(x[c], threadIdx.x + (unsigned)c);
    for (int c = 0; c < CHAINS; c++)
        for (int k = 0; k < 4; k++)
            sum += x[c][k];
    frame->out[blockIdx.x * THREADS + threadIdx.x] = (double)sum;
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) peak_f64_matrices(const __grid_constant__ Frame frame)
{
    matrices<F64>(&frame);
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) peak_tf32(const __grid_constant__ Frame frame)
{
    matrices<Tf32>(&frame);
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) peak_bf16(const __grid_constant__ Frame frame)
{
    matrices<Bf16>(&frame);
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) peak_i8(const __grid_constant__ Frame frame)
{
    matrices<I8>(&frame);
}
