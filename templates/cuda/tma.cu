/* What Hopper's tensor memory accelerator needs: maps of arrays, barriers in shared memory, copies of whole tiles, and registers
 * that warps hand over. A library of regions, as templates/types.c is. With EINC_MODEL they are whoever's who compiles:
 * tests/cuda_hopper.h has models in C++. */
#include "../types.c"

//{ IS_SM_90A
/* Whether this is compiled for sm_90a: text for all devices of compute capability 9.0 has no groups of warps that multiply. */
#if defined __CUDA_ARCH__ && !defined __CUDA_ARCH_FEAT_SM90_ALL
#define IS_SM_90A 0
#else
#define IS_SM_90A 1
#endif
//}

//{ TensorMap
/* Where an array is and which tiles are copied from it: a CUtensorMap, which the driver makes. */
typedef struct __align__(128) TensorMap {
    uint64_t words[16];
} TensorMap;
//}

//{ Barrier
/* In shared memory: counts threads that arrive and bytes that are copied; when all are there its next phase begins. */
typedef uint64_t Barrier;
//}

//{ Turn
/* Where in a ring of stages, and in which phase its barriers are: 0 and 1 in turn, as often as it has come round. */
typedef struct Turn {
    int stage, phase;
} Turn;
//}

//{ barrier_init
#ifndef EINC_MODEL
/* A phase ends when so many have arrived. */
INLINE void barrier_init(Barrier *barrier, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"((unsigned)__cvta_generic_to_shared(barrier)), "r"(count) : "memory");
}
#endif
//}

//{ barriers_ready
#ifndef EINC_MODEL
/* Copies, too, see the barriers that this thread has made. */
INLINE void barriers_ready(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
#endif
//}

//{ barrier_expect
#ifndef EINC_MODEL
/* Arrives; the phase waits for so many bytes more. */
INLINE void barrier_expect(Barrier *barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"((unsigned)__cvta_generic_to_shared(barrier)), "r"(bytes) : "memory");
}
#endif
//}

//{ barrier_arrive
#ifndef EINC_MODEL
INLINE void barrier_arrive(Barrier *barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"((unsigned)__cvta_generic_to_shared(barrier)) : "memory");
}
#endif
//}

//{ barrier_wait
#ifndef EINC_MODEL
/* Until a phase has ended: of a new barrier that of 1 has. */
INLINE void barrier_wait(Barrier *barrier, int phase)
{
    asm volatile("{\n"
                 ".reg .pred ended;\n"
                 "AGAIN_%=:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
                 "@!ended bra AGAIN_%=;\n"
                 "}" :: "r"((unsigned)__cvta_generic_to_shared(barrier)), "r"(phase) : "memory");
}
#endif
//}

//{ load_tile_2
#ifndef EINC_MODEL
/* Begins to copy a tile, at these places of the map's two axes; what lies outside of the array are zeros. The barrier counts its bytes. */
INLINE void load_tile_2(void *to, const TensorMap *map, Barrier *barrier, int64_t x, int64_t y)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(map), "r"((unsigned)__cvta_generic_to_shared(barrier)),
                    "r"((int)x), "r"((int)y) : "memory");
}
#endif
//}

//{ load_tile_3
#ifndef EINC_MODEL
/* Begins to copy a tile, at these places of the map's three axes; what lies outside of the array are zeros. The barrier counts its bytes. */
INLINE void load_tile_3(void *to, const TensorMap *map, Barrier *barrier, int64_t x, int64_t y, int64_t z)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(map), "r"((unsigned)__cvta_generic_to_shared(barrier)),
                    "r"((int)x), "r"((int)y), "r"((int)z) : "memory");
}
#endif
//}

//{ load_tile_4
#ifndef EINC_MODEL
/* Begins to copy a tile, at these places of the map's four axes; what lies outside of the array are zeros. The barrier counts its bytes. */
INLINE void load_tile_4(void *to, const TensorMap *map, Barrier *barrier, int64_t x, int64_t y, int64_t z, int64_t u)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(map), "r"((unsigned)__cvta_generic_to_shared(barrier)),
                    "r"((int)x), "r"((int)y), "r"((int)z), "r"((int)u) : "memory");
}
#endif
//}

//{ load_tile_5
#ifndef EINC_MODEL
/* Begins to copy a tile, at these places of the map's five axes; what lies outside of the array are zeros. The barrier counts its bytes. */
INLINE void load_tile_5(void *to, const TensorMap *map, Barrier *barrier, int64_t x, int64_t y, int64_t z, int64_t u, int64_t v)
{
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(map), "r"((unsigned)__cvta_generic_to_shared(barrier)),
                    "r"((int)x), "r"((int)y), "r"((int)z), "r"((int)u), "r"((int)v) : "memory");
}
#endif
//}

//{ registers_fewer
#ifndef EINC_MODEL
/* The group of four warps has so many registers a thread from here on, a multiple of 8; */
template <int COUNT>
INLINE void registers_fewer(void)
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(COUNT));
}
#endif
//}

//{ registers_more
#ifndef EINC_MODEL
/* and waits here until others have given them back. */
template <int COUNT>
INLINE void registers_more(void)
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(COUNT));
}
#endif
//}
