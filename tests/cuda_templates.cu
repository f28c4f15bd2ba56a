/* The templates for CUDA as they stand, in tests/cuda_emulator.h or, compiled by nvcc with INLINE for the device, on a GPU: the
 * sample of the skeleton, indices and teams. Says what is wrong, and ends with 1 then. */
#ifdef __CUDACC__
#include <cstdio>
#else
#define __managed__
#endif

#include "../templates/cuda/kernel.cu"

/* ---- the library ---- */

#define THREADS LIBRARY_THREADS
#define WARP LIBRARY_WARP
#define WARPS LIBRARY_WARPS
#include "../templates/cuda/team.cu"

static int wrong;

static void expect(int holds, const char *what)
{
    if (!holds) {
        printf("%s\n", what);
        wrong = 1;
    }
}

typedef struct Sums {
    int64_t points;
    int64_t *sum, *first;         /* of each point, by its team */
    double *parts;                /* of a thread's neighbours */
} Sums;

/* Each team adds up the numbers of its threads: 1 + 2 + …, as each of the types. */
static __global__ void add_ranks(const Sums sums)
{
    const Team team = team_of(sums.points);
    for (int64_t point = team.number; point < sums.points; point += team.count) {
        int64_t sum = team.rank + 1;
        c128 z = { (double)sum, -(double)sum };
        for (int apart = LIBRARY_WARP / 2; apart > 0; apart /= 2) {
            const c128 later = later_c128(z, apart);
            sum += later_i64(sum, apart);
            z.re += later.re;
            z.im += later.im;
        }
        __shared__ int64_t sum_of[LIBRARY_WARPS];
        if (threadIdx.x % LIBRARY_WARP == 0)
            sum_of[threadIdx.x / LIBRARY_WARP] = sum;
        team_wait(team);
        sum = sum_of[team.size > LIBRARY_WARP ? 0 : threadIdx.x / LIBRARY_WARP];
        for (int warp = 1; warp < team.size / LIBRARY_WARP; warp++)
            sum += sum_of[warp];
        team_wait(team);
        if (team.rank == 0) {
            sums.sum[point] = sum;
            sums.first[point] = z.re == -z.im;
        }
    }
    const float x = (float)threadIdx.x;
    const c64 y = { x, 1 };
    sums.parts[threadIdx.x] = later_f32(x, 1) + later_f64((double)x, 2) + later_i32((int32_t)x, 3) + later_bool(1, 4) + later_c64(y, 5).re;
}

/* Of both sides. */
static __managed__ int64_t sum[12], first[12], indices_wrong;
static __managed__ double parts[LIBRARY_THREADS];
static __managed__ float x[1000], out[1000];

static void check_teams()
{
    for (int64_t points = 1; points < 12; points++) {
        for (int p = 0; p < 12; p++)
            sum[p] = first[p] = 0;
        Sums sums = { points, sum, first, parts };
        void *arguments[] = { &sums };
        expect(cudaLaunchKernel(add_ranks, dim3(1), dim3(LIBRARY_THREADS), arguments, 0, NULL) == cudaSuccess &&
               cudaStreamSynchronize(NULL) == cudaSuccess, "a launch");
        int64_t size = points < LIBRARY_WARPS ? LIBRARY_THREADS : LIBRARY_WARP;
        for (int64_t p = 0; p < points; p++)
            expect(sum[p] == size * (size + 1) / 2 && first[p], "a team's sum");
        for (int t = 0; t + 5 < LIBRARY_WARP; t++)
            expect(parts[t] == 4 * t + 12, "what lanes further on have");
    }
}

typedef struct Extents {
    int64_t extents[5];
    int64_t *wrong;
} Extents;

static __global__ void take_indices(const Extents of)
{
    for (int i = threadIdx.x; i < 5; i += LIBRARY_THREADS)
        for (int64_t point = 0; point < INT64_C(1) << 40; point = 5 * point + 3) {
            int64_t rest = point, index = take_index(&rest, of.extents[i]);
            if (index != point % of.extents[i] || rest != point / of.extents[i])
                *of.wrong = 1;
        }
}

static void check_indices()
{
    Extents of = { { 1, 3, 7, 1 << 20, INT64_C(1) << 33 }, &indices_wrong };
    void *arguments[] = { &of };
    expect(cudaLaunchKernel(take_indices, dim3(1), dim3(LIBRARY_THREADS), arguments, 0, NULL) == cudaSuccess &&
           cudaStreamSynchronize(NULL) == cudaSuccess && !indices_wrong, "an index of a point");
}

static void check_sample()
{
    for (int i = 0; i < 1000; i++)
        x[i] = (float)i;
    sample_args args = { { x, { 1000 }, { 1 } }, { out, { 1000 }, { 1 } } };
    size_t bytes = 1;
    expect(sample_workspace(&args, 4, &bytes) == 0 && bytes == 0, "the sample's workspace");
    expect(sample(&args, NULL, 0, NULL) == 0 && sample_status(NULL, NULL) == 0, "the sample");
    for (int i = 0; i < 1000; i++)
        expect(out[i] == 2 * x[i], "the sample's result");
    args.out.shape[0] = 999;
    expect(sample(&args, NULL, 0, NULL) == BAD_SHAPES && sample(NULL, NULL, 0, NULL) == BAD_ARGUMENT, "what does not fit");
}

int main()
{
    check_sample();
    check_indices();
    check_teams();
    return wrong;
}
