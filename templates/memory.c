/* Loads and stores of any dtype, a vector at a time.
 *
 * load_Mv(p, stride, count) takes p[0], p[stride], ... into the first `count` lanes, 1 <= count <= LANES, and never
 * reads past them; the other lanes repeat the first, so that they hold a number that occurs. `stride` may be 0 or
 * negative. Where stride is 1 and count is LANES, both usually constants, it is one plain load.
 *
 * stream_Mv(p, stride, x, count, past) is store_Mv(), past the caches where `past` is not 0, which is for results that are
 * larger than they are, and where p is aligned; of less than a vector where it is 2, too, as stream_rows() has it.
 * pass_Mv(p, x) does it with a vector, at a multiple of its bytes. STREAM_END() follows before another thread reads. */
#ifndef TEMPLATES_MEMORY
#define TEMPLATES_MEMORY

#include "half.c"
#include "stream.c"
#include "words.c"

//{ row_address
/* The r-th row from `first` on, 0 <= r < 8. One row is `one` bytes further, three and five rows are `three` and `five`:
 * an address is made of one of these, twice or four times, as machines add them for nothing. */
INLINE const char *row_address(const char *first, int64_t one, int64_t three, int64_t five, int r)
{
    return first + (r % 3 == 0 ? three * (r / 3) : r == 5 ? five : r == 7 ? three + one * 4 : one * r);
}
//}

//{ load_f32v
INLINE f32v load_f32v(const f32u *p, int64_t stride, int count)
{
    return from_bits_f32v(load_u32v(p, stride, count));
}
//}

//{ store_f32v
INLINE void store_f32v(f32u *p, int64_t stride, f32v x, int count)
{
    store_u32v(p, stride, bits_f32v(x), count);
}
//}

//{ stream_f32v
INLINE void stream_f32v(f32u *p, int64_t stride, f32v x, int count, int past)
{
    if (!past || stride != 1 || !stream_first(p, &x, sizeof x, count * (int)sizeof *p, past))
        store_f32v(p, stride, x, count);
}
//}

//{ pass_f32v
INLINE void pass_f32v(f32u *p, f32v x)
{
    if (!pass_bytes(p, &x, sizeof x))
        store_f32v(p, 1, x, LANES);
}
//}

//{ load_f64v
INLINE f64v load_f64v(const f64u *p, int64_t stride, int count)
{
    return from_bits_f64v(load_u64v(p, stride, count));
}
//}

//{ store_f64v
INLINE void store_f64v(f64u *p, int64_t stride, f64v x, int count)
{
    store_u64v(p, stride, bits_f64v(x), count);
}
//}

//{ stream_f64v
INLINE void stream_f64v(f64u *p, int64_t stride, f64v x, int count, int past)
{
    if (!past || stride != 1 || !stream_first(p, &x, sizeof x, count * (int)sizeof *p, past))
        store_f64v(p, stride, x, count);
}
//}

//{ pass_f64v
INLINE void pass_f64v(f64u *p, f64v x)
{
    if (!pass_bytes(p, &x, sizeof x))
        store_f64v(p, 1, x, LANES);
}
//}

//{ load_i32v
INLINE i32v load_i32v(const i32u *p, int64_t stride, int count)
{
    return (i32v)load_u32v(p, stride, count);
}
//}

//{ store_i32v
INLINE void store_i32v(i32u *p, int64_t stride, i32v x, int count)
{
    store_u32v(p, stride, (u32v)x, count);
}
//}

//{ stream_i32v
INLINE void stream_i32v(i32u *p, int64_t stride, i32v x, int count, int past)
{
    if (!past || stride != 1 || !stream_first(p, &x, sizeof x, count * (int)sizeof *p, past))
        store_i32v(p, stride, x, count);
}
//}

//{ pass_i32v
INLINE void pass_i32v(i32u *p, i32v x)
{
    if (!pass_bytes(p, &x, sizeof x))
        store_i32v(p, 1, x, LANES);
}
//}

//{ load_i64v
INLINE i64v load_i64v(const i64u *p, int64_t stride, int count)
{
    return (i64v)load_u64v(p, stride, count);
}
//}

//{ store_i64v
INLINE void store_i64v(i64u *p, int64_t stride, i64v x, int count)
{
    store_u64v(p, stride, (u64v)x, count);
}
//}

//{ stream_i64v
INLINE void stream_i64v(i64u *p, int64_t stride, i64v x, int count, int past)
{
    if (!past || stride != 1 || !stream_first(p, &x, sizeof x, count * (int)sizeof *p, past))
        store_i64v(p, stride, x, count);
}
//}

//{ pass_i64v
INLINE void pass_i64v(i64u *p, i64v x)
{
    if (!pass_bytes(p, &x, sizeof x))
        store_i64v(p, 1, x, LANES);
}
//}

//{ load_i16v
INLINE i32v load_i16v(const i16u *p, int64_t stride, int count)
{
    return widen_i16v((i16v)load_u16v(p, stride, count));
}
//}

//{ store_i16v
INLINE void store_i16v(i16u *p, int64_t stride, i32v x, int count)
{
    store_u16v(p, stride, CONVERT((u32v)x, u16v), count);
}
//}

//{ load_i8v
INLINE i32v load_i8v(const i8u *p, int64_t stride, int count)
{
    return widen_i8v((i8v)load_u8v(p, stride, count));
}
//}

//{ store_i8v
INLINE void store_i8v(i8u *p, int64_t stride, i32v x, int count)
{
    store_u8v(p, stride, CONVERT(CONVERT((u32v)x, u16v), u8v), count);
}
//}

//{ load_boolv
INLINE boolv load_boolv(const boolu *p, int64_t stride, int count)
{
    return widen_i8v((i8v)load_u8v(p, stride, count)) != 0;
}
//}

//{ store_boolv
INLINE void store_boolv(boolu *p, int64_t stride, boolv x, int count)
{
    store_u8v(p, stride, CONVERT(CONVERT((u32v)x & 1, u16v), u8v), count);
}
//}

//{ load_f16v
INLINE f32v load_f16v(const f16u *p, int64_t stride, int count)
{
    return to_f32_f16v(load_u16v(p, stride, count));
}
//}

//{ store_f16v
INLINE void store_f16v(f16u *p, int64_t stride, f32v x, int count)
{
    store_u16v(p, stride, to_f16_f32v(x), count);
}
//}

//{ stream_f16v
INLINE void stream_f16v(f16u *p, int64_t stride, f32v x, int count, int past)
{
    u16v bits = to_f16_f32v(x);
    if (!past || stride != 1 || !stream_first(p, &bits, sizeof bits, count * (int)sizeof *p, past))
        store_u16v(p, stride, bits, count);
}
//}

//{ load_bf16v
INLINE f32v load_bf16v(const bf16u *p, int64_t stride, int count)
{
    return to_f32_bf16v(load_u16v(p, stride, count));
}
//}

//{ store_bf16v
INLINE void store_bf16v(bf16u *p, int64_t stride, f32v x, int count)
{
    store_u16v(p, stride, to_bf16_f32v(x), count);
}
//}

//{ store_factor_bf16v
INLINE void store_factor_bf16v(bf16u *p, int64_t stride, f32v x, int count)
{
    store_u16v(p, stride, factor_bf16v(x), count);
}
//}

#ifndef EINC_AVX512BF16
//{ store_factors_bf16v
/* So many vectors side by side, an even number. */
INLINE void store_factors_bf16v(bf16u *p, const f32v *x, const int count)
{
    UNROLL
    for (int i = 0; i < count; i++)
        store_factor_bf16v(p + i * LANES, 1, x[i], LANES);
}
//}
#else
//{ store_factors_bf16v@avx512bf16
/* So many vectors side by side, an even number: two take as long as one. */
INLINE void store_factors_bf16v(bf16u *p, const f32v *x, const int count)
{
    UNROLL
    for (int i = 0; i < count; i += 2) {
#if EINC_VECTORS && LANES >= 8
        u32v both;
        __asm__("vcvtne2ps2bf16 %1, %2, %0" : "=v"(both) : "v"(x[i]), "v"(x[i + 1]));
        memcpy(p + i * LANES, &both, sizeof both);
#else
        store_factor_bf16v(p + i * LANES, 1, x[i], LANES);
        store_factor_bf16v(p + (i + 1) * LANES, 1, x[i + 1], LANES);
#endif
    }
}
//}
#endif

//{ stream_bf16v
INLINE void stream_bf16v(bf16u *p, int64_t stride, f32v x, int count, int past)
{
    u16v bits = to_bf16_f32v(x);
    if (!past || stride != 1 || !stream_first(p, &bits, sizeof bits, count * (int)sizeof *p, past))
        store_u16v(p, stride, bits, count);
}
//}

//{ load_c64
INLINE c64 load_c64(const c64u *p)
{
    c64 x;
    x.re = p->re;
    x.im = p->im;
    return x;
}
//}

//{ store_c64
INLINE void store_c64(c64u *p, c64 x)
{
    p->re = x.re;
    p->im = x.im;
}
//}

//{ load_c128
INLINE c128 load_c128(const c128u *p)
{
    c128 x;
    x.re = p->re;
    x.im = p->im;
    return x;
}
//}

//{ store_c128
INLINE void store_c128(c128u *p, c128 x)
{
    p->re = x.re;
    p->im = x.im;
}
//}

//{ load_c64v
INLINE c64v load_c64v(const c64u *p, int64_t stride, int count)
{
    c64v x;
#if EINC_SHUFFLES
    if (stride == 1 && count == LANES) {
        const f32v low = load_f32v(&p->re, 1, LANES), high = load_f32v(&p->re + LANES, 1, LANES);
        x.re = __builtin_shuffle(low, high, 2 * lanes_i32v());
        x.im = __builtin_shuffle(low, high, 2 * lanes_i32v() + 1);
        return x;
    }
#elif EINC_VECTORS
    if (stride == 1 && count == LANES) {
        float both[2 * LANES], re[LANES], im[LANES];
        memcpy(both, p, sizeof both);
        for (int l = 0; l < LANES; l++) {
            re[l] = both[2 * l];
            im[l] = both[2 * l + 1];
        }
        memcpy(&x.re, re, sizeof re);
        memcpy(&x.im, im, sizeof im);
        return x;
    }
#endif
    x.re = load_f32v(&p->re, 2 * stride, count);
    x.im = load_f32v(&p->im, 2 * stride, count);
    return x;
}
//}

//{ store_c64v
INLINE void store_c64v(c64u *p, int64_t stride, c64v x, int count)
{
#if EINC_SHUFFLES
    if (stride == 1 && count == LANES) {
        const i32v from = (lanes_i32v() >> 1) + (lanes_i32v() & 1) * LANES;
        store_f32v(&p->re, 1, __builtin_shuffle(x.re, x.im, from), LANES);
        store_f32v(&p->re + LANES, 1, __builtin_shuffle(x.re, x.im, from + LANES / 2), LANES);
        return;
    }
#elif EINC_VECTORS
    if (stride == 1 && count == LANES) {
        float both[2 * LANES], re[LANES], im[LANES];
        memcpy(re, &x.re, sizeof re);
        memcpy(im, &x.im, sizeof im);
        for (int l = 0; l < LANES; l++) {
            both[2 * l] = re[l];
            both[2 * l + 1] = im[l];
        }
        memcpy(p, both, sizeof both);
        return;
    }
#endif
    store_f32v(&p->re, 2 * stride, x.re, count);
    store_f32v(&p->im, 2 * stride, x.im, count);
}
//}

//{ load_c128v
INLINE c128v load_c128v(const c128u *p, int64_t stride, int count)
{
    c128v x;
#if EINC_SHUFFLES
    if (stride == 1 && count == LANES) {
        const f64v low = load_f64v(&p->re, 1, LANES), high = load_f64v(&p->re + LANES, 1, LANES);
        x.re = __builtin_shuffle(low, high, 2 * lanes_i64v());
        x.im = __builtin_shuffle(low, high, 2 * lanes_i64v() + 1);
        return x;
    }
#elif EINC_VECTORS
    if (stride == 1 && count == LANES) {
        double both[2 * LANES], re[LANES], im[LANES];
        memcpy(both, p, sizeof both);
        for (int l = 0; l < LANES; l++) {
            re[l] = both[2 * l];
            im[l] = both[2 * l + 1];
        }
        memcpy(&x.re, re, sizeof re);
        memcpy(&x.im, im, sizeof im);
        return x;
    }
#endif
    x.re = load_f64v(&p->re, 2 * stride, count);
    x.im = load_f64v(&p->im, 2 * stride, count);
    return x;
}
//}

//{ store_c128v
INLINE void store_c128v(c128u *p, int64_t stride, c128v x, int count)
{
#if EINC_SHUFFLES
    if (stride == 1 && count == LANES) {
        const i64v from = (lanes_i64v() >> 1) + (lanes_i64v() & 1) * LANES;
        store_f64v(&p->re, 1, __builtin_shuffle(x.re, x.im, from), LANES);
        store_f64v(&p->re + LANES, 1, __builtin_shuffle(x.re, x.im, from + LANES / 2), LANES);
        return;
    }
#elif EINC_VECTORS
    if (stride == 1 && count == LANES) {
        double both[2 * LANES], re[LANES], im[LANES];
        memcpy(re, &x.re, sizeof re);
        memcpy(im, &x.im, sizeof im);
        for (int l = 0; l < LANES; l++) {
            both[2 * l] = re[l];
            both[2 * l + 1] = im[l];
        }
        memcpy(p, both, sizeof both);
        return;
    }
#endif
    store_f64v(&p->re, 2 * stride, x.re, count);
    store_f64v(&p->im, 2 * stride, x.im, count);
}
//}

/* Whether all of some rows of numbers are less than infinity when multiplied by `sign`: 1, or -1 for more than minus
 * infinity. A NaN is not. */

//{ all_tame_f32v
INLINE int all_tame_f32v(const f32u *x, int64_t rows, int64_t row_step, int64_t count, float sign)
{
    boolv wild = not_boolv(first_boolv(LANES));
    for (int64_t r = 0; r < rows; r++, x += row_step)
        for (int64_t i = 0; i < count; i += LANES) {
            const f32v y = load_f32v(x + i, 1, count - i < LANES ? (int)(count - i) : LANES) * sign;
            wild = or_boolv(wild, not_boolv(y < splat_f32v(INFINITY)));
        }
    return !any_boolv(wild);
}
//}

//{ all_tame_f64v
INLINE int all_tame_f64v(const f64u *x, int64_t rows, int64_t row_step, int64_t count, double sign)
{
    boolv wild = not_boolv(first_boolv(LANES));
    for (int64_t r = 0; r < rows; r++, x += row_step)
        for (int64_t i = 0; i < count; i += LANES) {
            const f64v y = load_f64v(x + i, 1, count - i < LANES ? (int)(count - i) : LANES) * sign;
            wild = or_boolv(wild, not_boolv(narrow_boolv(y < splat_f64v(INFINITY))));
        }
    return !any_boolv(wild);
}
//}

#endif
