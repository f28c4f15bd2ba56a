/* Complex arithmetic, parts and casts. Products and quotients are numpy's formulas: four multiplications, and Smith's
 * quotient, which overflows only where the result nearly does. */
#ifndef TEMPLATES_COMPLEX
#define TEMPLATES_COMPLEX

#include "arith.c"
#include "convert.c"
#include "gather.c"
#include "integer.c"
#include "real_round.c"

//{ make_c64
INLINE c64 make_c64(float re, float im)
{
    c64 x;
    x.re = re;
    x.im = im;
    return x;
}
//}

//{ complex_f32
INLINE c64 complex_f32(float re, float im)
{
    return make_c64(re, im);
}
//}

//{ real_c64
INLINE float real_c64(c64 x)
{
    return x.re;
}
//}

//{ imag_c64
INLINE float imag_c64(c64 x)
{
    return x.im;
}
//}

//{ conj_c64
INLINE c64 conj_c64(c64 x)
{
    return make_c64(x.re, -x.im);
}
//}

//{ neg_c64
INLINE c64 neg_c64(c64 x)
{
    return make_c64(-x.re, -x.im);
}
//}

//{ add_c64
INLINE c64 add_c64(c64 a, c64 b)
{
    return make_c64(a.re + b.re, a.im + b.im);
}
//}

//{ sub_c64
INLINE c64 sub_c64(c64 a, c64 b)
{
    return make_c64(a.re - b.re, a.im - b.im);
}
//}

//{ mul_c64
INLINE c64 mul_c64(c64 a, c64 b)
{
    return make_c64(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
//}

//{ square_c64
INLINE c64 square_c64(c64 x)
{
    return mul_c64(x, x);
}
//}

//{ div_c64
/* Both are divided by the greater part of b first. */
INLINE c64 div_c64(c64 a, c64 b)
{
    if (b.re == 0 && b.im == 0)
        return make_c64(a.re / fabsf(b.re), a.im / fabsf(b.re));
    if (fabsf(b.re) >= fabsf(b.im)) {
        float ratio = b.im / b.re, scale = 1 / (b.re + b.im * ratio);
        return make_c64((a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale);
    }
    float ratio = b.re / b.im, scale = 1 / (b.im + b.re * ratio);
    return make_c64((a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale);
}
//}

//{ recip_c64
INLINE c64 recip_c64(c64 x)
{
    if (fabsf(x.im) <= fabsf(x.re)) {
        float ratio = x.im / x.re, whole = x.re + x.im * ratio;
        return make_c64(1 / whole, -ratio / whole);
    }
    float ratio = x.re / x.im, whole = x.re * ratio + x.im;
    return make_c64(ratio / whole, -1 / whole);
}
//}

//{ abs_c64
INLINE float abs_c64(c64 x)
{
    return hypotf(x.re, x.im);
}
//}

//{ eq_c64
INLINE int eq_c64(c64 a, c64 b)
{
    return a.re == b.re && a.im == b.im;
}
//}

//{ ne_c64
INLINE int ne_c64(c64 a, c64 b)
{
    return a.re != b.re || a.im != b.im;
}
//}

//{ isnan_c64
INLINE int isnan_c64(c64 x)
{
    return isnan_f32(x.re) || isnan_f32(x.im);
}
//}

//{ isinf_c64
INLINE int isinf_c64(c64 x)
{
    return isinf_f32(x.re) || isinf_f32(x.im);
}
//}

//{ isfinite_c64
INLINE int isfinite_c64(c64 x)
{
    return isfinite_f32(x.re) && isfinite_f32(x.im);
}
//}

//{ to_c64_c128
INLINE c64 to_c64_c128(c128 x)
{
    return make_c64((float)x.re, (float)x.im);
}
//}

//{ to_c64_f32
INLINE c64 to_c64_f32(float x)
{
    return make_c64((float)x, 0);
}
//}

//{ to_c64_f64
INLINE c64 to_c64_f64(double x)
{
    return make_c64((float)x, 0);
}
//}

//{ to_c64_i32
INLINE c64 to_c64_i32(int32_t x)
{
    return make_c64((float)x, 0);
}
//}

//{ to_c64_i64
INLINE c64 to_c64_i64(int64_t x)
{
    return make_c64((float)x, 0);
}
//}

//{ to_c64_bool
INLINE c64 to_c64_bool(int x)
{
    return make_c64((float)x, 0);
}
//}

//{ to_bool_c64
INLINE int to_bool_c64(c64 x)
{
    return x.re != 0 || x.im != 0;
}
//}

//{ make_c128
INLINE c128 make_c128(double re, double im)
{
    c128 x;
    x.re = re;
    x.im = im;
    return x;
}
//}

//{ complex_f64
INLINE c128 complex_f64(double re, double im)
{
    return make_c128(re, im);
}
//}

//{ real_c128
INLINE double real_c128(c128 x)
{
    return x.re;
}
//}

//{ imag_c128
INLINE double imag_c128(c128 x)
{
    return x.im;
}
//}

//{ conj_c128
INLINE c128 conj_c128(c128 x)
{
    return make_c128(x.re, -x.im);
}
//}

//{ neg_c128
INLINE c128 neg_c128(c128 x)
{
    return make_c128(-x.re, -x.im);
}
//}

//{ add_c128
INLINE c128 add_c128(c128 a, c128 b)
{
    return make_c128(a.re + b.re, a.im + b.im);
}
//}

//{ sub_c128
INLINE c128 sub_c128(c128 a, c128 b)
{
    return make_c128(a.re - b.re, a.im - b.im);
}
//}

//{ mul_c128
INLINE c128 mul_c128(c128 a, c128 b)
{
    return make_c128(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
//}

//{ square_c128
INLINE c128 square_c128(c128 x)
{
    return mul_c128(x, x);
}
//}

//{ div_c128
/* Both are divided by the greater part of b first. */
INLINE c128 div_c128(c128 a, c128 b)
{
    if (b.re == 0 && b.im == 0)
        return make_c128(a.re / fabs(b.re), a.im / fabs(b.re));
    if (fabs(b.re) >= fabs(b.im)) {
        double ratio = b.im / b.re, scale = 1 / (b.re + b.im * ratio);
        return make_c128((a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale);
    }
    double ratio = b.re / b.im, scale = 1 / (b.im + b.re * ratio);
    return make_c128((a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale);
}
//}

//{ recip_c128
INLINE c128 recip_c128(c128 x)
{
    if (fabs(x.im) <= fabs(x.re)) {
        double ratio = x.im / x.re, whole = x.re + x.im * ratio;
        return make_c128(1 / whole, -ratio / whole);
    }
    double ratio = x.re / x.im, whole = x.re * ratio + x.im;
    return make_c128(ratio / whole, -1 / whole);
}
//}

//{ abs_c128
INLINE double abs_c128(c128 x)
{
    return hypot(x.re, x.im);
}
//}

//{ eq_c128
INLINE int eq_c128(c128 a, c128 b)
{
    return a.re == b.re && a.im == b.im;
}
//}

//{ ne_c128
INLINE int ne_c128(c128 a, c128 b)
{
    return a.re != b.re || a.im != b.im;
}
//}

//{ isnan_c128
INLINE int isnan_c128(c128 x)
{
    return isnan_f64(x.re) || isnan_f64(x.im);
}
//}

//{ isinf_c128
INLINE int isinf_c128(c128 x)
{
    return isinf_f64(x.re) || isinf_f64(x.im);
}
//}

//{ isfinite_c128
INLINE int isfinite_c128(c128 x)
{
    return isfinite_f64(x.re) && isfinite_f64(x.im);
}
//}

//{ to_c128_c64
INLINE c128 to_c128_c64(c64 x)
{
    return make_c128((double)x.re, (double)x.im);
}
//}

//{ to_c128_f32
INLINE c128 to_c128_f32(float x)
{
    return make_c128((double)x, 0);
}
//}

//{ to_c128_f64
INLINE c128 to_c128_f64(double x)
{
    return make_c128((double)x, 0);
}
//}

//{ to_c128_i32
INLINE c128 to_c128_i32(int32_t x)
{
    return make_c128((double)x, 0);
}
//}

//{ to_c128_i64
INLINE c128 to_c128_i64(int64_t x)
{
    return make_c128((double)x, 0);
}
//}

//{ to_c128_bool
INLINE c128 to_c128_bool(int x)
{
    return make_c128((double)x, 0);
}
//}

//{ to_bool_c128
INLINE int to_bool_c128(c128 x)
{
    return x.re != 0 || x.im != 0;
}
//}

/* Vectors of complex numbers are put together and taken apart; arithmetic is that of their parts. */

//{ complex_f32v
INLINE c64v complex_f32v(f32v re, f32v im)
{
    c64v x;
    x.re = re;
    x.im = im;
    return x;
}
//}

//{ real_c64v
INLINE f32v real_c64v(c64v x)
{
    return x.re;
}
//}

//{ imag_c64v
INLINE f32v imag_c64v(c64v x)
{
    return x.im;
}
//}

//{ select_c64v
INLINE c64v select_c64v(boolv mask, c64v a, c64v b)
{
    return complex_f32v(select_f32v(mask, a.re, b.re), select_f32v(mask, a.im, b.im));
}
//}

//{ add_c64v
INLINE c64v add_c64v(c64v a, c64v b)
{
    return complex_f32v(a.re + b.re, a.im + b.im);
}
//}

//{ abs_c64v
/* The parts are multiplied by a power of two first, so that the greater one's square is an ordinary number. */
INLINE f32v abs_c64v(c64v x)
{
    const f32v re = abs_f32v(x.re), im = abs_f32v(x.im);
    const i32v exponent = (i32v)(bits_f32v(select_f32v(re > im, re, im)) >> 23);
    const i32v down = max_i32v(min_i32v(254 - exponent, splat_i32v(253)), splat_i32v(1));
    const f32v scale = from_bits_f32v((u32v)down << 23), back = from_bits_f32v((u32v)(254 - down) << 23);
    const f32v a = re * scale, b = im * scale, size = sqrt_f32v(fma_f32v(a, a, b * b)) * back, most = splat_f32v(INFINITY);
    return select_f32v(or_boolv(re == most, im == most), most, size);
}
//}

//{ complex_f64v
INLINE c128v complex_f64v(f64v re, f64v im)
{
    c128v x;
    x.re = re;
    x.im = im;
    return x;
}
//}

//{ real_c128v
INLINE f64v real_c128v(c128v x)
{
    return x.re;
}
//}

//{ imag_c128v
INLINE f64v imag_c128v(c128v x)
{
    return x.im;
}
//}

//{ select_c128v
INLINE c128v select_c128v(boolv mask, c128v a, c128v b)
{
    return complex_f64v(select_f64v(mask, a.re, b.re), select_f64v(mask, a.im, b.im));
}
//}

//{ add_c128v
INLINE c128v add_c128v(c128v a, c128v b)
{
    return complex_f64v(a.re + b.re, a.im + b.im);
}
//}

//{ abs_c128v
/* The parts are multiplied by a power of two first, so that the greater one's square is an ordinary number. */
INLINE f64v abs_c128v(c128v x)
{
    const f64v re = abs_f64v(x.re), im = abs_f64v(x.im);
    const i64v exponent = (i64v)(bits_f64v(select_f64v(narrow_boolv(re > im), re, im)) >> 52);
    const i64v down = max_i64v(min_i64v(2046 - exponent, splat_i64v(2045)), splat_i64v(1));
    const f64v scale = from_bits_f64v((u64v)down << 52), back = from_bits_f64v((u64v)(2046 - down) << 52);
    const f64v a = re * scale, b = im * scale, size = sqrt_f64v(fma_f64v(a, a, b * b)) * back, most = splat_f64v(INFINITY);
    return select_f64v(or_boolv(narrow_boolv(re == most), narrow_boolv(im == most)), most, size);
}
//}

#endif
