/* The host's side of products in a ring: maps of operands, made by the driver, and launches with much shared memory. A library of
 * regions, as templates/types.c is. */
#include "tma.cu"

//{ MapAxis
/* An axis of a tensor map: its points, how far apart they are in elements, and how many of them a tile has. */
typedef struct MapAxis {
    int64_t extent, stride, box;
} MapAxis;
//}

//{ make_map has_rings MAP_U8 MAP_BF16 MAP_F16
#ifndef __CUDACC_RTC__
/* As the driver calls elements of 8 and of 16 bits. */
enum { MAP_U8 = 0, MAP_F16 = 6, MAP_BF16 = 9 };

typedef int EncodeTiled(TensorMap *map, int type, uint32_t rank, void *data, const uint64_t *extents, const uint64_t *strides,
                        const uint32_t *box, const uint32_t *steps, int interleave, int swizzle, int promotion, int fill);

/* The driver's function; NULL where it has none. */
static EncodeTiled *find_encode(void)
{
    static const char name[] = "cuTensorMapEncodeTiled";
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
    cudaError_t error = cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
#else
    cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
    return error == cudaSuccess && found == cudaDriverEntryPointSuccess ? (EncodeTiled *)function : NULL;
}

/* Whether the current device has such tensor cores. */
static int has_rings(void)
{
    int device = 0, major = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess && major == 9;
}

/* Whether an array can be copied by a map in tiles whose lines are swizzled: its first axis without gaps, all else in steps of 16
 * bytes, upwards. Then the map is made. */
static int make_map(TensorMap *map, int type, const void *data, const MapAxis *axes, int rank)
{
    enum { STEP = 16, SWIZZLE_128 = 3, PROMOTION_256 = 3 };
    const int bytes = type == MAP_U8 ? 1 : 2;
    EncodeTiled *encode = find_encode();
    uint64_t extents[5], strides[5];
    uint32_t box[5], steps[5];
    for (int a = 0; a < rank; a++) {
        const int64_t stride = axes[a].extent == 1 ? a == 0 ? 1 : STEP : axes[a].stride;
        if (axes[a].extent < 1 || axes[a].extent > INT32_MAX || stride < 1 || (a == 0 ? stride != 1 : stride * bytes % STEP != 0))
            return 0;
        extents[a] = (uint64_t)axes[a].extent;
        strides[a] = (uint64_t)(stride * bytes);
        box[a] = (uint32_t)axes[a].box;
        steps[a] = 1;
    }
    return encode && (uintptr_t)data % STEP == 0 &&
           encode(map, type, (uint32_t)rank, (void *)data, extents, strides + 1, box, steps, 0, SWIZZLE_128, PROMOTION_256, 0) == 0;
}
#endif
//}

//{ launch_ring
#ifndef __CUDACC_RTC__
/* Starts a block for each tile, or for each multiprocessor. */
template <class F>
static int launch_ring(void (*kernel)(const F), const F *f, int64_t tiles, int threads, int bytes, cudaStream_t stream)
{
    int device = 0, processors = 0;
    void *arguments[] = { (void *)f };
    if (tiles == 0)
        return 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) != cudaSuccess)
        return 1;
    return cudaLaunchKernel(kernel, dim3((unsigned)size_min(tiles, processors)), dim3((unsigned)threads), arguments, (size_t)bytes,
                            stream) != cudaSuccess;
}
#endif
//}
