/* Short axes that share a vector's lanes: some points of the first one, and all of each of the others. */
#ifndef TEMPLATES_BUNDLE
#define TEMPLATES_BUNDLE

#include "size.c"

//{ Bundled bundle
/* How far an array's points along each axis are apart. */
typedef struct Bundled {
    int64_t stride[8];
} Bundled;

/* How many elements there are from the first to the last of an array's points, so many of the first axis;
 * SIZE_TOO_LARGE where they go backwards. */
PLAIN int64_t bundle_span(const Bundled *array, const int64_t *extent, int axes, int64_t first)
{
    int64_t span = 1;
    for (int a = 0; a < axes; a++) {
        const int64_t steps = (a ? extent[a] : first) - 1;
        if (steps > 0)
            span = size_add(span, array->stride[a] < 0 ? SIZE_TOO_LARGE : size_mul(steps, array->stride[a]));
    }
    return span;
}

/* How many points of the first axis share a vector with all of the others, the last of `axes`; 0: none do. The
 * result's points, the first array's, have to follow each other, and those of the others to be so near each other
 * that a vector has all of them, at all points of the `over` axes behind. How far a lane's element is behind the
 * first one's is in `lanes`. */
SHARED int64_t bundle(const int64_t *extent, int axes, int over, const Bundled *arrays, int count,
                      int32_t (*lanes)[LANES])
{
    int64_t inner = 1;
    for (int a = axes - 1; a > 0; a--) {
        if (extent[a] > 1 && arrays[0].stride[a] != inner)
            return 0;
        inner = size_mul(inner, extent[a]);
    }
    for (int a = 0; a < axes + over; a++)
        if (!extent[a])
            return 0;
    int64_t first = size_min(extent[0], arrays[0].stride[0] == inner ? LANES / inner : inner <= LANES);
    for (int r = 1; r < count; r++)
        while (first > 0 && bundle_span(&arrays[r], extent, axes + over, first) > LANES)
            first--;
    for (int r = 1; r < count && first > 0; r++) {
        int32_t *from = lanes[r - 1];
        int filled = 1;
        from[0] = 0;
        for (int a = axes - 1; a >= 0; a--)
            for (const int row = filled, points = row * (int)(a ? extent[a] : first); filled < points; filled++)
                from[filled] = from[filled - row] + (int32_t)arrays[r].stride[a];
        for (const int all = filled; filled < LANES; filled++)
            from[filled] = from[filled - all];
    }
    return first;
}
//}

//{ permute_lanes_f32v
/* Lane l of the result is lane from[l]. */
INLINE f32v permute_lanes_f32v(f32v x, i32v from)
{
#if EINC_SHUFFLES
    return __builtin_shuffle(x, from);
#else
    float lanes[LANES], chosen[LANES];
    int32_t places[LANES];
    memcpy(lanes, &x, sizeof x);
    memcpy(places, &from, sizeof from);
    for (int l = 0; l < LANES; l++)
        chosen[l] = lanes[places[l] & (LANES - 1)];
    memcpy(&x, chosen, sizeof x);
    return x;
#endif
}
//}

//{ permute_lanes_f64v
/* Lane l of the result is lane from[l]. */
INLINE f64v permute_lanes_f64v(f64v x, i32v from)
{
#if EINC_SHUFFLES
    return __builtin_shuffle(x, CONVERT(from, i64v));
#else
    double lanes[LANES], chosen[LANES];
    int32_t places[LANES];
    memcpy(lanes, &x, sizeof x);
    memcpy(places, &from, sizeof from);
    for (int l = 0; l < LANES; l++)
        chosen[l] = lanes[places[l] & (LANES - 1)];
    memcpy(&x, chosen, sizeof x);
    return x;
#endif
}
//}

/* The instruction has a name of each compiler's: clang makes none of loops like these. */

#if !defined EINC_AVX512 && !defined EINC_FMA
//{ permute_f32v
/* Lane l of the result is lane from[l]. */
INLINE f32v permute_f32v(f32v x, i32v from)
{
    return permute_lanes_f32v(x, from);
}
//}
#endif

#ifndef EINC_AVX512
//{ permute_f64v
/* Lane l of the result is lane from[l]. */
INLINE f64v permute_f64v(f64v x, i32v from)
{
    return permute_lanes_f64v(x, from);
}
//}
#endif

#if !defined EINC_AVX512 && defined EINC_FMA
//{ permute_f32v@fma
/* Lane l of the result is lane from[l]. */
INLINE f32v permute_f32v(f32v x, i32v from)
{
#if EINC_VECTORS && LANES == 8
    return __builtin_ia32_permvarsf256(x, from);
#else
    return permute_lanes_f32v(x, from);
#endif
}
//}
#endif

#ifdef EINC_AVX512
//{ permute_f32v@avx512
/* Lane l of the result is lane from[l]. */
INLINE f32v permute_f32v(f32v x, i32v from)
{
#if defined(__clang__) && EINC_VECTORS && LANES == 16
    return __builtin_ia32_permvarsf512(x, from);
#elif EINC_VECTORS && LANES == 8
    return __builtin_ia32_permvarsf256(x, from);
#else
    return permute_lanes_f32v(x, from);
#endif
}
//}

//{ permute_f64v@avx512
/* Lane l of the result is lane from[l]. */
INLINE f64v permute_f64v(f64v x, i32v from)
{
#if defined(__clang__) && EINC_VECTORS && LANES == 8
    return __builtin_ia32_permvardf512(x, CONVERT(from, i64v));
#else
    return permute_lanes_f64v(x, from);
#endif
}
//}
#endif

#endif
