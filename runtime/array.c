#include "array.h"

#include <math.h>
#include <string.h>

void array_lay_out(Array *array, bool fortran)
{
    uint64_t stride = 1;   /* unsigned: for an empty array, the product of the other extents may overflow */
    for (int i = 0; i < array->rank; i++) {
        int axis = fortran ? i : array->rank - 1 - i;
        array->stride[axis] = (int64_t)stride;
        if (array->shape[axis] > 1)
            stride *= (uint64_t)array->shape[axis];
    }
}

int64_t array_count(const Array *array)
{
    int64_t count = 1;
    bool fits = true;
    for (int i = 0; i < array->rank; i++) {
        if (!array->shape[i])
            return 0;
        fits = fits && !__builtin_mul_overflow(count, array->shape[i], &count);
    }
    return fits ? count : -1;
}

void *array_at(const Array *array, const int64_t *position)
{
    int64_t at = 0;
    for (int i = 0; i < array->rank; i++)
        at += position[i] * array->stride[i];
    return (char *)array->data + at * (int64_t)dtype_size(array->dtype);
}

bool array_next(const Array *array, int64_t *position)
{
    for (int i = array->rank - 1; i >= 0; i--) {
        if (++position[i] < array->shape[i])
            return true;
        position[i] = 0;
    }
    return false;
}

/* The 16-bit floats: a sign, an exponent, and a fraction of so many bits. */
typedef struct Narrow {
    int exponent, fraction;
} Narrow;

static const Narrow half = { 5, 10 }, brain = { 8, 7 };

static int bias(Narrow type)
{
    return (1 << (type.exponent - 1)) - 1;
}

static double widen(Narrow type, const void *element)
{
    uint16_t bits;
    memcpy(&bits, element, sizeof bits);
    int top = (1 << type.exponent) - 1, exponent = bits >> type.fraction & top;
    uint64_t sign = (uint64_t)(bits >> 15) << 63, fraction = bits & ((1u << type.fraction) - 1);
    if (!exponent) {
        double tiny = ldexp((double)fraction, 1 - bias(type) - type.fraction);
        return sign ? -tiny : tiny;
    }
    uint64_t wide = exponent == top ? 2047 : (uint64_t)(exponent - bias(type) + 1023);
    wide = sign | wide << 52 | fraction << (52 - type.fraction);
    double value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* A NaN keeps the upper bits of its payload, so that every 16-bit pattern survives widen() and narrow(). */
static uint16_t narrow_nan(Narrow type, uint64_t magnitude)
{
    uint64_t bits = magnitude >> (52 - type.fraction) & 0x7FFF;
    uint64_t infinity = (uint64_t)((1 << type.exponent) - 1) << type.fraction;
    bits |= infinity;
    return (uint16_t)(bits == infinity ? bits | 1u << (type.fraction - 1) : bits);
}

static void narrow(Narrow type, void *element, double value)
{
    uint64_t bits, infinity = (uint64_t)((1 << type.exponent) - 1) << type.fraction, result;
    memcpy(&bits, &value, sizeof bits);
    uint64_t magnitude = bits & INT64_MAX, hidden = 1ull << 52;
    int exponent = (int)(magnitude >> 52) - 1023 + bias(type), drop = 52 - type.fraction;
    if (isnan(value)) {
        result = narrow_nan(type, magnitude);
    } else if (exponent >= (1 << type.exponent) - 1) {
        result = infinity;
    } else {
        /* A denormal has the exponent 0 and shows its hidden bit, further right the smaller it is. Either way the
         * carry of the rounding runs into the exponent, which makes the next larger number, or infinity. */
        uint64_t exact = magnitude & (hidden - 1);
        if (exponent > 0) {
            exact |= (uint64_t)exponent << 52;
        } else {
            exact |= hidden;
            drop = drop + 1 - exponent < 54 ? drop + 1 - exponent : 54;   /* 53 leaves a tie at most, 54 nothing */
        }
        uint64_t even = exact >> drop & 1;
        result = (exact + (1ull << (drop - 1)) - 1 + even) >> drop;
    }
    uint16_t narrowed = (uint16_t)(result | (bits >> 63) << 15);
    memcpy(element, &narrowed, sizeof narrowed);
}

static Number whole(int64_t value)
{
    return (Number){ .re = (double)value, .integer = value };
}

static double load_f32(const void *element)
{
    float value;
    memcpy(&value, element, sizeof value);
    return value;
}

static double load_f64(const void *element)
{
    double value;
    memcpy(&value, element, sizeof value);
    return value;
}

double array_load_real(Dtype dtype, const void *element)
{
    switch (dtype) {
    case DTYPE_F16: return widen(half, element);
    case DTYPE_BF16: return widen(brain, element);
    case DTYPE_F32: return load_f32(element);
    default: return load_f64(element);
    }
}

Number array_load(Dtype dtype, const void *element)
{
    const char *bytes = element;
    switch (dtype) {
    case DTYPE_BOOL: return whole(*bytes != 0);
    case DTYPE_I8: return whole(*(const int8_t *)element);
    case DTYPE_I16: { int16_t value; memcpy(&value, element, sizeof value); return whole(value); }
    case DTYPE_I32: { int32_t value; memcpy(&value, element, sizeof value); return whole(value); }
    case DTYPE_I64: { int64_t value; memcpy(&value, element, sizeof value); return whole(value); }
    case DTYPE_F16:
    case DTYPE_BF16:
    case DTYPE_F32:
    case DTYPE_F64: return (Number){ .re = array_load_real(dtype, element) };
    case DTYPE_C64: return (Number){ .re = load_f32(bytes), .im = load_f32(bytes + sizeof(float)) };
    case DTYPE_C128: return (Number){ .re = load_f64(bytes), .im = load_f64(bytes + sizeof(double)) };
    case DTYPE_NONE: break;
    }
    return (Number){ 0 };
}

static bool is_whole(Number number)
{
    return number.integer && number.re == (double)number.integer;
}

static int64_t cut(Number number, int bits)
{
    if (is_whole(number))
        return number.integer;
    double limit = ldexp(1, bits - 1);
    int64_t most = (int64_t)(UINT64_MAX >> (65 - bits));
    return isnan(number.re) ? 0 : number.re >= limit ? most : number.re <= -limit ? -most - 1 : (int64_t)number.re;
}

static void store_f32(void *element, double value)
{
    float rounded = (float)value;
    memcpy(element, &rounded, sizeof rounded);
}

static void store_f64(void *element, double value)
{
    memcpy(element, &value, sizeof value);
}

static void store_integer(Dtype dtype, void *element, Number number)
{
    int64_t value = cut(number, dtype_significand(dtype));
    switch (dtype) {
    case DTYPE_I8: *(int8_t *)element = (int8_t)value; break;
    case DTYPE_I16: { int16_t low = (int16_t)value; memcpy(element, &low, sizeof low); break; }
    case DTYPE_I32: { int32_t low = (int32_t)value; memcpy(element, &low, sizeof low); break; }
    default: memcpy(element, &value, sizeof value);
    }
}

void array_store(Dtype dtype, void *element, Number number)
{
    char *bytes = element;
    switch (dtype) {
    case DTYPE_BOOL:
        *bytes = number.re != 0 || number.im != 0;
        break;
    case DTYPE_I8: case DTYPE_I16: case DTYPE_I32: case DTYPE_I64:
        store_integer(dtype, element, number);
        break;
    case DTYPE_F16:
        narrow(half, element, number.re);
        break;
    case DTYPE_BF16:
        narrow(brain, element, number.re);
        break;
    case DTYPE_F32:
        /* From an int64, directly: by way of float64 it would round twice. */
        store_f32(element, is_whole(number) ? (float)number.integer : number.re);
        break;
    case DTYPE_F64:
        store_f64(element, number.re);
        break;
    case DTYPE_C64:
        store_f32(bytes, number.re);
        store_f32(bytes + sizeof(float), number.im);
        break;
    case DTYPE_C128:
        store_f64(bytes, number.re);
        store_f64(bytes + sizeof(double), number.im);
        break;
    case DTYPE_NONE:
        break;
    }
}
