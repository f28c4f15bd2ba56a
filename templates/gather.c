/* Lanes that are loaded or not, each from its own place or from places equally far apart. What is not active is 0, and not
 * read. */
#ifndef TEMPLATES_GATHER
#define TEMPLATES_GATHER

#include "memory.c"

//{ AT_OFFSETS
/* p[offset] of each lane, as a vector is written. */
#define AT_2(p, offset, l) (p)[lane_i64v(offset, l)], (p)[lane_i64v(offset, (l) + 1)]
#define AT_4(p, offset, l) AT_2(p, offset, l), AT_2(p, offset, (l) + 2)
#define AT_8(p, offset, l) AT_4(p, offset, l), AT_4(p, offset, (l) + 4)
#if LANES == 16
#define AT_OFFSETS(p, offset) AT_8(p, offset, 0), AT_8(p, offset, 8)
#elif LANES == 8
#define AT_OFFSETS(p, offset) AT_8(p, offset, 0)
#elif LANES == 4
#define AT_OFFSETS(p, offset) AT_4(p, offset, 0)
#elif LANES == 2
#define AT_OFFSETS(p, offset) AT_2(p, offset, 0)
#else
#define AT_OFFSETS(p, offset) (p)[lane_i64v(offset, 0)]
#endif
//}

//{ fill_i64v
/* Where lanes are not active, what the first one that is has: so all can be read from, and no lane waits for a branch. */
INLINE i64v fill_i64v(i64v x, boolv active)
{
    int l = 0;
    while (!lane_boolv(active, l))
        l++;
    return select_i64v(active, x, splat_i64v(lane_i64v(x, l)));
}
//}

//{ gather_some_u8v
/* gather_u8v where some lanes are not active. */
APART u8v gather_some_u8v(const void *p, i64v offset, boolv active)
{
    const u32v none = {0};
    if (!any_boolv(active))
        return CONVERT(none, u8v);
    const i64v from = fill_i64v(offset, active);
    const u32v all = { AT_OFFSETS((const uint8_t *)p, from) };
    return CONVERT(select_u32v(active, all, none), u8v);
}
//}

//{ gather_u8v
/* p[offset] in the active lanes. */
INLINE u8v gather_u8v(const void *p, i64v offset, boolv active)
{
    if (!all_boolv(active))
        return gather_some_u8v(p, offset, active);
    const u32v all = { AT_OFFSETS((const uint8_t *)p, offset) };
    return CONVERT(all, u8v);
}
//}

//{ gather_some_u16v
/* gather_u16v where some lanes are not active. */
APART u16v gather_some_u16v(const void *p, i64v offset, boolv active)
{
    const u32v none = {0};
    if (!any_boolv(active))
        return CONVERT(none, u16v);
    const i64v from = fill_i64v(offset, active);
    const u32v all = { AT_OFFSETS((const f16u *)p, from) };
    return CONVERT(select_u32v(active, all, none), u16v);
}
//}

//{ gather_u16v
/* p[offset] in the active lanes. */
INLINE u16v gather_u16v(const void *p, i64v offset, boolv active)
{
    if (!all_boolv(active))
        return gather_some_u16v(p, offset, active);
    const u32v all = { AT_OFFSETS((const f16u *)p, offset) };
    return CONVERT(all, u16v);
}
//}

//{ gather_some_u32v
/* gather_u32v where some lanes are not active. */
APART u32v gather_some_u32v(const void *p, i64v offset, boolv active)
{
    const u32v none = {0};
    if (!any_boolv(active))
        return none;
    const i64v from = fill_i64v(offset, active);
    const u32v all = { AT_OFFSETS((const u32u *)p, from) };
    return select_u32v(active, all, none);
}
//}

//{ gather_u32v
/* p[offset] in the active lanes. */
INLINE u32v gather_u32v(const void *p, i64v offset, boolv active)
{
    if (!all_boolv(active))
        return gather_some_u32v(p, offset, active);
    const u32v all = { AT_OFFSETS((const u32u *)p, offset) };
    return all;
}
//}

//{ gather_some_u64v
/* gather_u64v where some lanes are not active. */
APART u64v gather_some_u64v(const void *p, i64v offset, boolv active)
{
    const i64v none = {0};
    if (!any_boolv(active))
        return (u64v)none;
    const i64v from = fill_i64v(offset, active);
    const i64v all = { AT_OFFSETS((const i64u *)p, from) };
    return (u64v)select_i64v(active, all, none);
}
//}

//{ gather_u64v
/* p[offset] in the active lanes. */
INLINE u64v gather_u64v(const void *p, i64v offset, boolv active)
{
    if (!all_boolv(active))
        return gather_some_u64v(p, offset, active);
    const i64v all = { AT_OFFSETS((const i64u *)p, offset) };
    return (u64v)all;
}
//}

//{ pick_u8v
/* p[0], p[stride], ... in the active lanes. */
INLINE u8v pick_u8v(const void *p, int64_t stride, boolv active)
{
    return gather_u8v(p, lanes_i64v() * stride, active);
}
//}

//{ pick_u16v
/* p[0], p[stride], ... in the active lanes. */
INLINE u16v pick_u16v(const void *p, int64_t stride, boolv active)
{
    return gather_u16v(p, lanes_i64v() * stride, active);
}
//}

#if !defined EINC_AVX512 && !defined EINC_FMA
//{ pick_u32v
/* p[0], p[stride], ... in the active lanes. */
INLINE u32v pick_u32v(const void *p, int64_t stride, boolv active)
{
    return all_boolv(active) ? load_u32v(p, stride, LANES) : gather_u32v(p, lanes_i64v() * stride, active);
}
//}
#elif !defined EINC_AVX512
//{ pick_u32v@fma
/* p[0], p[stride], ... in the active lanes. */
INLINE u32v pick_u32v(const void *p, int64_t stride, boolv active)
{
#if EINC_VECTORS && (LANES == 4 || LANES == 8)
    if (stride == 1) {
        u32v x;
        __asm__("vpmaskmovd (%1), %2, %0" : "=x"(x) : "r"(p), "x"(active) : "memory");
        return x;
    }
#endif
    return all_boolv(active) ? load_u32v(p, stride, LANES) : gather_u32v(p, lanes_i64v() * stride, active);
}
//}
#else
//{ pick_u32v@avx512
/* p[0], p[stride], ... in the active lanes. */
INLINE u32v pick_u32v(const void *p, int64_t stride, boolv active)
{
#if EINC_VECTORS && LANES >= 4
    if (stride == 1) {
        u32v x;
        uint16_t m;
        __asm__("vptestmd %3, %3, %1\n\tvmovdqu32 (%2), %0%{%1%}%{z%}" : "=v"(x), "=&Yk"(m) : "r"(p), "v"(active) : "memory");
        return x;
    }
#endif
    return all_boolv(active) ? load_u32v(p, stride, LANES) : gather_u32v(p, lanes_i64v() * stride, active);
}
//}
#endif

#if !defined EINC_AVX512 && !defined EINC_FMA
//{ pick_u64v
/* p[0], p[stride], ... in the active lanes. */
INLINE u64v pick_u64v(const void *p, int64_t stride, boolv active)
{
    return all_boolv(active) ? load_u64v(p, stride, LANES) : gather_u64v(p, lanes_i64v() * stride, active);
}
//}
#elif !defined EINC_AVX512
//{ pick_u64v@fma
/* p[0], p[stride], ... in the active lanes. */
INLINE u64v pick_u64v(const void *p, int64_t stride, boolv active)
{
#if EINC_VECTORS && (LANES == 2 || LANES == 4)
    if (stride == 1) {
        u64v x;
        const i64v wide = widen_boolv(active);
        __asm__("vpmaskmovq (%1), %2, %0" : "=x"(x) : "r"(p), "x"(wide) : "memory");
        return x;
    }
#endif
    return all_boolv(active) ? load_u64v(p, stride, LANES) : gather_u64v(p, lanes_i64v() * stride, active);
}
//}
#else
//{ pick_u64v@avx512
/* p[0], p[stride], ... in the active lanes. */
INLINE u64v pick_u64v(const void *p, int64_t stride, boolv active)
{
#if EINC_VECTORS && (LANES == 4 || LANES == 8)
    if (stride == 1) {
        u64v x;
        uint16_t m;
        __asm__("vptestmd %3, %3, %1\n\tvmovdqu64 (%2), %0%{%1%}%{z%}" : "=v"(x), "=&Yk"(m) : "r"(p), "v"(active) : "memory");
        return x;
    }
#endif
    return all_boolv(active) ? load_u64v(p, stride, LANES) : gather_u64v(p, lanes_i64v() * stride, active);
}
//}
#endif

//{ gather_f32v
INLINE f32v gather_f32v(const f32u *p, i64v offset, boolv active)
{
    return from_bits_f32v(gather_u32v(p, offset, active));
}
//}

//{ gather_f64v
INLINE f64v gather_f64v(const f64u *p, i64v offset, boolv active)
{
    return from_bits_f64v(gather_u64v(p, offset, active));
}
//}

//{ gather_i32v
INLINE i32v gather_i32v(const i32u *p, i64v offset, boolv active)
{
    return (i32v)gather_u32v(p, offset, active);
}
//}

//{ gather_i64v
INLINE i64v gather_i64v(const i64u *p, i64v offset, boolv active)
{
    return (i64v)gather_u64v(p, offset, active);
}
//}

//{ gather_i16v
INLINE i32v gather_i16v(const i16u *p, i64v offset, boolv active)
{
    return widen_i16v((i16v)gather_u16v(p, offset, active));
}
//}

//{ gather_i8v
INLINE i32v gather_i8v(const i8u *p, i64v offset, boolv active)
{
    return widen_i8v((i8v)gather_u8v(p, offset, active));
}
//}

//{ gather_boolv
INLINE boolv gather_boolv(const boolu *p, i64v offset, boolv active)
{
    return widen_i8v((i8v)gather_u8v(p, offset, active)) != 0;
}
//}

//{ gather_f16v
INLINE f32v gather_f16v(const f16u *p, i64v offset, boolv active)
{
    return to_f32_f16v(gather_u16v(p, offset, active));
}
//}

//{ gather_bf16v
INLINE f32v gather_bf16v(const bf16u *p, i64v offset, boolv active)
{
    return to_f32_bf16v(gather_u16v(p, offset, active));
}
//}

//{ pick_f32v
INLINE f32v pick_f32v(const f32u *p, int64_t stride, boolv active)
{
    return from_bits_f32v(pick_u32v(p, stride, active));
}
//}

//{ pick_f64v
INLINE f64v pick_f64v(const f64u *p, int64_t stride, boolv active)
{
    return from_bits_f64v(pick_u64v(p, stride, active));
}
//}

//{ pick_i32v
INLINE i32v pick_i32v(const i32u *p, int64_t stride, boolv active)
{
    return (i32v)pick_u32v(p, stride, active);
}
//}

//{ pick_i64v
INLINE i64v pick_i64v(const i64u *p, int64_t stride, boolv active)
{
    return (i64v)pick_u64v(p, stride, active);
}
//}

//{ pick_i16v
INLINE i32v pick_i16v(const i16u *p, int64_t stride, boolv active)
{
    return all_boolv(active) ? load_i16v(p, stride, LANES) : widen_i16v((i16v)pick_u16v(p, stride, active));
}
//}

//{ pick_i8v
INLINE i32v pick_i8v(const i8u *p, int64_t stride, boolv active)
{
    return all_boolv(active) ? load_i8v(p, stride, LANES) : widen_i8v((i8v)pick_u8v(p, stride, active));
}
//}

//{ pick_boolv
INLINE boolv pick_boolv(const boolu *p, int64_t stride, boolv active)
{
    return all_boolv(active) ? load_boolv(p, stride, LANES) : (boolv)(widen_i8v((i8v)pick_u8v(p, stride, active)) != 0);
}
//}

//{ pick_f16v
INLINE f32v pick_f16v(const f16u *p, int64_t stride, boolv active)
{
    return all_boolv(active) ? load_f16v(p, stride, LANES) : to_f32_f16v(pick_u16v(p, stride, active));
}
//}

//{ pick_bf16v
INLINE f32v pick_bf16v(const bf16u *p, int64_t stride, boolv active)
{
    return all_boolv(active) ? load_bf16v(p, stride, LANES) : to_f32_bf16v(pick_u16v(p, stride, active));
}
//}

//{ gather_c64v
INLINE c64v gather_c64v(const c64u *p, i64v offset, boolv active)
{
    c64v x;
    x.re = gather_f32v(&p->re, offset * 2, active);
    x.im = gather_f32v(&p->im, offset * 2, active);
    return x;
}
//}

//{ pick_c64v
INLINE c64v pick_c64v(const c64u *p, int64_t stride, boolv active)
{
    c64v x;
    x.re = pick_f32v(&p->re, 2 * stride, active);
    x.im = pick_f32v(&p->im, 2 * stride, active);
    return x;
}
//}

//{ gather_c128v
INLINE c128v gather_c128v(const c128u *p, i64v offset, boolv active)
{
    c128v x;
    x.re = gather_f64v(&p->re, offset * 2, active);
    x.im = gather_f64v(&p->im, offset * 2, active);
    return x;
}
//}

//{ pick_c128v
INLINE c128v pick_c128v(const c128u *p, int64_t stride, boolv active)
{
    c128v x;
    x.re = pick_f64v(&p->re, 2 * stride, active);
    x.im = pick_f64v(&p->im, 2 * stride, active);
    return x;
}
//}

#endif
