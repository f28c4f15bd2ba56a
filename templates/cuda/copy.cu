/* Copies from an array to shared memory that go on while the thread does something else. A library of regions, as
 * templates/types.c is. With EINC_MODEL they are whoever's who compiles: tests/cuda_emulator.h has models in C++. */
#include "../types.c"

//{ copy_f32
#ifndef EINC_MODEL
/* Begins to copy a number; without one, a zero. */
INLINE void copy_f32(float *to, const float *from, int is_there)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(is_there ? 4 : 0) : "memory");
}
#endif
//}

//{ copy_i32
#ifndef EINC_MODEL
/* Begins to copy a number; without one, a zero. */
INLINE void copy_i32(int32_t *to, const int32_t *from, int is_there)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(is_there ? 4 : 0) : "memory");
}
#endif
//}

//{ copy_f64
#ifndef EINC_MODEL
/* Begins to copy a number; without one, a zero. */
INLINE void copy_f64(double *to, const double *from, int is_there)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(is_there ? 8 : 0) : "memory");
}
#endif
//}

//{ copy_line
#ifndef EINC_MODEL
/* Begins to copy the first `bytes` of 16; the others become zeros. Both ends are aligned to 16. */
INLINE void copy_line(void *to, const void *from, int bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(bytes) : "memory");
}
#endif
//}

//{ copies_end
#ifndef EINC_MODEL
/* What this thread has begun to copy since the last time is a group. */
INLINE void copies_end(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
#endif
//}

//{ copies_wait
#ifndef EINC_MODEL
/* All groups of this thread but the last OPEN are there. */
template <int OPEN>
INLINE void copies_wait(void)
{
    asm volatile("cp.async.wait_group %0;" :: "n"(OPEN) : "memory");
}
#endif
//}
