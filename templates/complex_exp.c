/* Complex functions. Those of c64 are computed in f64 and rounded. Infinities, NaN and signed zeros follow C99's
 * Annex G, as numpy does. */
#ifndef TEMPLATES_COMPLEX_EXP
#define TEMPLATES_COMPLEX_EXP

#include "complex.c"
#include "real_hyper.c"

//{ exp_c128
/* e^re may overflow where its product with a small cosine or sine does not: then e^700 is multiplied last. */
INLINE c128 exp_c128(c128 x)
{
    if (x.im == 0)
        return make_c128(exp(x.re), x.im);
    if (!isfinite_f64(x.im)) {
        if (x.re == -INFINITY)
            return make_c128(0, 0);
        return make_c128(x.re == INFINITY ? x.re : NAN, NAN);
    }
    double late = x.re > 700 && x.re < 1460 ? 700 : 0, e = exp(x.re - late), last = late > 0 ? exp(late) : 1;
    return make_c128(e * cos(x.im) * last, e * sin(x.im) * last);
}
//}

//{ log_c128
/* Near the unit circle |x|^2 - 1 is not the difference of rounded numbers; elsewhere |x| is kept in range. */
INLINE c128 log_c128(c128 x)
{
    double a = fabs(x.re), b = fabs(x.im), angle = atan2(x.im, x.re);
    double high = a > b ? a : b, low = a > b ? b : a;
    if (high > 0.5 && high < 1.5 && low < 1.5)
        return make_c128(0.5 * log1p((high - 1) * (high + 1) + low * low), angle);
    if (high > 4.5e307 && high < (double)INFINITY)
        return make_c128(log(hypot(a / 4, b / 4)) + 1.3862943611198906, angle);
    if (high < 1e-300 && high > 0)
        return make_c128(log(hypot(a * 18014398509481984.0, b * 18014398509481984.0)) - 37.429947750237046, angle);
    return make_c128(log(hypot(a, b)), angle);
}
//}

//{ sqrt_c128
/* With t = sqrt((|re| + |x|) / 2) it is t + i im / (2 t), turned for a negative re; scaled where t leaves the range. */
INLINE c128 sqrt_c128(c128 x)
{
    if (x.re == 0 && x.im == 0)
        return make_c128(0, x.im);
    if (isinf_f64(x.im))
        return make_c128(INFINITY, x.im);
    if (isinf_f64(x.re)) {
        double other = x.im != x.im ? x.im : 0;
        return x.re > 0 ? make_c128(x.re, copysign(other, x.im)) : make_c128(other, copysign(x.re, x.im));
    }
    double a = fabs(x.re), b = fabs(x.im), scale = 1;
    if (a > 4e307 || b > 4e307) {
        a /= 4;
        b /= 4;
        scale = 2;
    } else if (a < 1e-290 && b < 1e-290) {
        a *= 18014398509481984.0;
        b *= 18014398509481984.0;
        scale = 7.450580596923828125e-9;
    }
    double t = sqrt((a + hypot(a, b)) / 2), u = b / (2 * t);
    return x.re < 0 ? make_c128(u * scale, copysign(t * scale, x.im))
                    : make_c128(t * scale, copysign(u * scale, x.im));
}
//}

//{ rsqrt_c128
INLINE c128 rsqrt_c128(c128 x)
{
    return recip_c128(sqrt_c128(x));
}
//}

//{ sinh_c128
/* sinh re cos im + i cosh re sin im. Where both are e^|re| / 2, the power is multiplied last, as in exp_c128. */
INLINE c128 sinh_c128(c128 x)
{
    if (x.im == 0)
        return make_c128(sinh(x.re), x.im);
    if (!isfinite_f64(x.im))
        return make_c128(x.re == 0 || isinf_f64(x.re) ? x.re : NAN, NAN);
    double c = cos(x.im), s = sin(x.im), a = fabs(x.re);
    if (a > 700 && a < 1460) {
        double e = exp(a - 700) / 2, last = exp(700.0);
        return make_c128(copysign(e, x.re) * c * last, e * s * last);
    }
    return make_c128(x.re == 0 ? copysign(0.0, c) * copysign(1.0, x.re) : sinh(x.re) * c, cosh(x.re) * s);
}
//}

//{ cosh_c128
/* cosh re cos im + i sinh re sin im. Where both are e^|re| / 2, the power is multiplied last, as in exp_c128. */
INLINE c128 cosh_c128(c128 x)
{
    if (x.im == 0)
        return make_c128(cosh(x.re), x.re == x.re ? copysign(1.0, x.re) * x.im : x.im);
    if (!isfinite_f64(x.im))
        return make_c128(isinf_f64(x.re) ? (double)INFINITY : NAN, x.re == 0 ? 0 : NAN);
    double c = cos(x.im), s = sin(x.im), a = fabs(x.re);
    if (a > 700 && a < 1460) {
        double e = exp(a - 700) / 2, last = exp(700.0);
        return make_c128(e * c * last, copysign(e, x.re) * s * last);
    }
    return make_c128(cosh(x.re) * c, x.re == 0 ? copysign(0.0, s) * copysign(1.0, x.re) : sinh(x.re) * s);
}
//}

//{ tanh_c128
/* Kahan's: with t = tan im and s = sinh re it is (s sqrt(1 + s^2) (1 + t^2) + i t) / (1 + (1 + t^2) s^2). */
INLINE c128 tanh_c128(c128 x)
{
    if (isinf_f64(x.re))
        return make_c128(copysign(1.0, x.re), copysign(0.0, isfinite_f64(x.im) ? sin(2 * x.im) : x.im));
    if (x.im == 0)
        return make_c128(tanh(x.re), x.im);
    if (!isfinite_f64(x.im))
        return make_c128(x.re == 0 ? x.re : NAN, NAN);
    if (fabs(x.re) > 22) {
        double e = exp(-fabs(x.re));
        return make_c128(copysign(1.0, x.re), 4 * sin(x.im) * cos(x.im) * e * e);
    }
    double t = tan(x.im), s = sinh(x.re), secant = 1 + t * t, whole = 1 + secant * s * s;
    return make_c128(secant * sqrt(1 + s * s) * s / whole, t / whole);
}
//}

/* sin x = -i sinh(i x), and likewise for tan; cos x = cosh(i x). */

//{ sin_c128
INLINE c128 sin_c128(c128 x)
{
    c128 y = sinh_c128(make_c128(-x.im, x.re));
    return make_c128(y.im, -y.re);
}
//}

//{ cos_c128
INLINE c128 cos_c128(c128 x)
{
    return cosh_c128(make_c128(-x.im, x.re));
}
//}

//{ tan_c128
INLINE c128 tan_c128(c128 x)
{
    c128 y = tanh_c128(make_c128(-x.im, x.re));
    return make_c128(y.im, -y.re);
}
//}

//{ pow_c128
/* A small whole exponent multiplies, so that powers of whole numbers are exact; any other is e^(y log x). */
INLINE c128 pow_c128(c128 x, c128 y)
{
    if (y.re == 0 && y.im == 0)
        return make_c128(1, 0);
    if (x.re == 0 && x.im == 0)
        return y.re > 0 && y.im == 0 ? make_c128(0, 0) : make_c128(NAN, NAN);
    if (y.im != 0 || y.re != trunc(y.re) || fabs(y.re) >= 100)
        return exp_c128(mul_c128(y, log_c128(x)));
    c128 power = make_c128(1, 0), base = x;
    for (int n = (int)fabs(y.re), first = 1; n; n >>= 1) {
        if (n & 1) {
            power = first ? base : mul_c128(power, base);
            first = 0;
        }
        if (n > 1)
            base = mul_c128(base, base);
    }
    return y.re < 0 ? recip_c128(power) : power;
}
//}

//{ exp_c64
INLINE c64 exp_c64(c64 x)
{
    return to_c64_c128(exp_c128(to_c128_c64(x)));
}
//}

//{ log_c64
INLINE c64 log_c64(c64 x)
{
    return to_c64_c128(log_c128(to_c128_c64(x)));
}
//}

//{ sqrt_c64
INLINE c64 sqrt_c64(c64 x)
{
    return to_c64_c128(sqrt_c128(to_c128_c64(x)));
}
//}

//{ rsqrt_c64
INLINE c64 rsqrt_c64(c64 x)
{
    return to_c64_c128(rsqrt_c128(to_c128_c64(x)));
}
//}

//{ sinh_c64
INLINE c64 sinh_c64(c64 x)
{
    return to_c64_c128(sinh_c128(to_c128_c64(x)));
}
//}

//{ cosh_c64
INLINE c64 cosh_c64(c64 x)
{
    return to_c64_c128(cosh_c128(to_c128_c64(x)));
}
//}

//{ tanh_c64
INLINE c64 tanh_c64(c64 x)
{
    return to_c64_c128(tanh_c128(to_c128_c64(x)));
}
//}

//{ sin_c64
INLINE c64 sin_c64(c64 x)
{
    return to_c64_c128(sin_c128(to_c128_c64(x)));
}
//}

//{ cos_c64
INLINE c64 cos_c64(c64 x)
{
    return to_c64_c128(cos_c128(to_c128_c64(x)));
}
//}

//{ tan_c64
INLINE c64 tan_c64(c64 x)
{
    return to_c64_c128(tan_c128(to_c128_c64(x)));
}
//}

//{ pow_c64
INLINE c64 pow_c64(c64 x, c64 y)
{
    return to_c64_c128(pow_c128(to_c128_c64(x), to_c128_c64(y)));
}
//}

#endif
