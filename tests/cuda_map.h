/* The driver's cuTensorMapEncodeTiled for tests without one, in C and C++: what the documentation asks for is asked for here, and
 * what a map says can be read by tests/cuda_hopper.h. */
#ifndef TESTS_CUDA_MAP_H
#define TESTS_CUDA_MAP_H

#include <stdint.h>
#include <string.h>

enum { MAP_AXES = 5, MAP_BYTES = 128, MAP_REFUSED = 1, MAP_BOX = 256, MAP_ALIGNMENT = 16, MAP_SWIZZLED = 3, MAP_LINE = 128 };
#define MAP_MAGIC UINT64_C(0x70616d2072736e74)

typedef struct TestMap {
    uint64_t magic;
    const char *data;
    uint64_t stride[MAP_AXES - 1];    /* in bytes, of all axes but the first */
    uint32_t extent[MAP_AXES], box[MAP_AXES];
    uint32_t rank, size;              /* of an element */
} TestMap;

__attribute__((unused, no_sanitize_thread))
static int map_encode(void *map, int type, uint32_t rank, void *data, const uint64_t *extent, const uint64_t *stride, const uint32_t *box,
                      const uint32_t *step, int interleave, int swizzle, int promotion, int fill)
{
    TestMap made;
    memset(&made, 0, sizeof made);
    made.magic = MAP_MAGIC;
    made.data = (const char *)data;
    made.rank = rank;
    made.size = type == 0 ? 1u : type == 6 || type == 9 ? 2u : 0u;
    (void)promotion;
    if ((uintptr_t)map % MAP_BYTES || !made.size || rank < 2 || rank > MAP_AXES || (uintptr_t)data % MAP_ALIGNMENT || interleave || fill || swizzle != MAP_SWIZZLED)
        return MAP_REFUSED;
    for (uint32_t a = 0; a < rank; a++) {
        if (!extent[a] || extent[a] > UINT32_MAX || !box[a] || box[a] > MAP_BOX || step[a] != 1)
            return MAP_REFUSED;
        if (a > 0 && (!stride[a - 1] || stride[a - 1] % MAP_ALIGNMENT || stride[a - 1] >> 40))
            return MAP_REFUSED;
        made.extent[a] = (uint32_t)extent[a];
        made.box[a] = box[a];
        if (a > 0)
            made.stride[a - 1] = stride[a - 1];
    }
    if (box[0] * made.size > MAP_LINE || sizeof made > MAP_BYTES)
        return MAP_REFUSED;
    memset(map, 0, MAP_BYTES);
    memcpy(map, &made, sizeof made);
    return 0;
}

#endif
