#include "print.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHOLE_MAX = 1000, EDGE = 3, WIDTH = 75, DIGITS_MAX = 17, PRECISION = 8, NUMBER_BYTES = 400 };

/* ---- digits ---- */

/* A finite number as 0.d1d2d3… * 10^point, with no more digits than its dtype needs. */
typedef struct Decimal {
    bool negative;
    bool whole;                   /* one of an array */
    double size;
    char digits[DIGITS_MAX + 2];
    int count, point;
} Decimal;

/* Whether `text` is read as the same number of the dtype. */
static bool reads_back(Dtype dtype, const char *text, double value)
{
    uint64_t a = 0, b = 0;
    if (dtype == DTYPE_F64)
        return strtod(text, NULL) == value;
    if (dtype == DTYPE_F32)
        return strtof(text, NULL) == (float)value;
    array_store(dtype, &a, (Number){ .re = strtod(text, NULL) });
    array_store(dtype, &b, (Number){ .re = value });
    return a == b;
}

/* Of the size of `value` as "%.*e" writes it. */
static Decimal decimal_read(const char *text, double value)
{
    Decimal d = { .negative = signbit(value), .size = fabs(value) };
    for (; *text && *text != 'e'; text++)
        if (*text >= '0' && *text <= '9')
            d.digits[d.count++] = *text;
    while (d.count > 1 && d.digits[d.count - 1] == '0')
        d.count--;
    d.digits[d.count] = 0;
    d.point = (*text ? atoi(text + 1) : 0) + 1;
    return d;
}

static Decimal decimal_of(Dtype dtype, double value)
{
    char text[64];
    for (int precision = 0; precision < DIGITS_MAX; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, fabs(value));
        if (reads_back(dtype, text, fabs(value)))
            break;
    }
    return decimal_read(text, value);
}

/* The same for one of an array, of which numpy shows no more than 8 digits behind the point. */
static Decimal decimal_cut(Dtype dtype, double value, bool exponent)
{
    char text[64];
    Decimal d = decimal_of(dtype, value);
    int most = exponent ? 1 + PRECISION : d.point + PRECISION;
    if (d.count <= most)
        return d;
    snprintf(text, sizeof text, "%.*e", most > 0 ? most - 1 : 0, fabs(value));
    return most > 0 ? decimal_read(text, value) : decimal_read("0e0", value);
}

/* ---- one number, in two halves around the point ---- */

/* How the numbers of an array are laid out, so that their points are below each other. */
typedef struct Layout {
    Dtype dtype;                  /* of one component */
    bool exponents;
    int left, right;              /* characters before and behind the point */
    int exponent_digits;
    bool plus;                    /* a sign in front of positive numbers, too */
} Layout;

/* Digits before the point that the dtype does not need are zeros; those of arrays are the true ones, as in numpy. */
static void put_positional(const Decimal *d, char *left, char *right)
{
    int l = 0, r = 0;
    if (d->point > d->count && d->whole)
        l = sprintf(left, "%.0f", d->size);
    for (; l < d->point; l++)
        left[l] = l < d->count ? d->digits[l] : '0';
    if (!l)
        left[l++] = '0';
    for (int i = d->point; i < d->count; i++)
        right[r++] = i < 0 ? '0' : d->digits[i];
    left[l] = right[r] = 0;
    if (!strcmp(right, "0"))
        right[0] = 0;
}

static void put_scientific(const Decimal *d, char *left, char *right)
{
    left[0] = d->digits[0];
    left[1] = 0;
    strcpy(right, d->digits + 1);
}

static int exponent_of(const Decimal *d)
{
    return d->digits[0] == '0' ? 0 : d->point - 1;
}

static void put_halves(const Layout *layout, const Decimal *d, char *left, char *right)
{
    if (d->negative || layout->plus)
        *left++ = d->negative ? '-' : '+';
    if (layout->exponents)
        put_scientific(d, left, right);
    else
        put_positional(d, left, right);
}

static int exponent_digits_of(int exponent)
{
    return abs(exponent) >= 100 ? 3 : 2;
}

/* Makes room for one more number. */
static void widen(Layout *layout, double value)
{
    char left[NUMBER_BYTES], right[NUMBER_BYTES];
    Decimal d = decimal_cut(layout->dtype, value, layout->exponents);
    put_halves(layout, &d, left, right);
    int l = (int)strlen(left), r = (int)strlen(right), e = exponent_digits_of(exponent_of(&d));
    layout->left = l > layout->left ? l : layout->left;
    layout->right = r > layout->right ? r : layout->right;
    layout->exponent_digits = e > layout->exponent_digits ? e : layout->exponent_digits;
}

static bool is_extreme(double least, double most)
{
    return most >= 1e8 || least < 1e-4 || most / least > 1000;
}

/* numpy's choice: exponents where the numbers that are not 0 lie far apart or far from 1. */
static Layout layout_of(Dtype dtype, const double *values, size_t count, bool plus)
{
    Layout layout = { .dtype = dtype, .plus = plus };
    double least = INFINITY, most = 0;
    int odd = 0;
    for (size_t i = 0; i < count; i++) {
        double size = fabs(values[i]);
        if (isfinite(size) && size > 0) {
            least = size < least ? size : least;
            most = size > most ? size : most;
        }
    }
    layout.exponents = most > 0 && is_extreme(least, most);
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]))
            widen(&layout, values[i]);
    if (layout.exponents)
        layout.exponent_digits += 2;    /* 'e' and its sign */
    else
        layout.exponent_digits = 0;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i])) {
            int length = isnan(values[i]) ? 3 : 3 + (values[i] < 0 || plus);
            odd = length > odd ? length : odd;
        }
    int beside = layout.right + layout.exponent_digits + 1;
    if (odd - beside > layout.left)
        layout.left = odd - beside;
    return layout;
}

/* All have as many digits as the one that needs the most. */
static void put_exponential(const Layout *layout, double value, char *out)
{
    char text[NUMBER_BYTES];
    snprintf(text, sizeof text, layout->plus ? "%+#.*e" : "%#.*e", layout->right, value);
    int before = (int)strcspn(text, "."), mantissa = (int)strcspn(text, "e"), exponent = atoi(text + mantissa + 1);
    sprintf(out, "%*s%.*se%c%0*d", layout->left - before, "", mantissa, text, exponent < 0 ? '-' : '+',
            layout->exponent_digits - 2, abs(exponent));
}

static const char *odd_word(double value, bool plus)
{
    return isnan(value) ? plus ? "+nan" : "nan" : value < 0 ? "-inf" : plus ? "+inf" : "inf";
}

/* The number in its layout: `left` and `right` padded, so that all have the same length. */
static void put_number(const Layout *layout, double value, char *out)
{
    char left[NUMBER_BYTES], right[NUMBER_BYTES];
    int width = layout->left + 1 + layout->right + layout->exponent_digits;
    if (!isfinite(value)) {
        sprintf(out, "%*s", width, odd_word(value, layout->plus));
        return;
    }
    if (layout->exponents) {
        put_exponential(layout, value, out);
        return;
    }
    Decimal d = decimal_cut(layout->dtype, value, false);
    d.whole = true;
    put_halves(layout, &d, left, right);
    sprintf(out, "%*s.%-*s", layout->left, left, layout->right, right);
}

/* ---- scalars ---- */

/* As Python: 1.0 and (1+0j). */
static void put_real(Text *text, Dtype dtype, double value, bool complex, bool plus)
{
    char left[NUMBER_BYTES], right[NUMBER_BYTES];
    double size = fabs(value);
    if (!isfinite(value)) {
        text_put(text, odd_word(value, plus));
        return;
    }
    Decimal d = decimal_of(dtype, value);
    Layout layout = { .dtype = dtype, .plus = plus, .exponents = size > 0 && (size < 1e-4 || size >= 1e16) };
    put_halves(&layout, &d, left, right);
    if (layout.exponents)
        text_print(text, "%s%s%se%c%02d", left, *right ? "." : "", right, exponent_of(&d) < 0 ? '-' : '+', abs(exponent_of(&d)));
    else
        text_print(text, *right ? "%s.%s" : complex ? "%s" : "%s.0", left, right);
}

static void put_complex(Text *text, Dtype dtype, Number number)
{
    bool imaginary = number.re == 0 && !signbit(number.re);
    if (!imaginary) {
        text_put(text, "(");
        put_real(text, dtype, number.re, true, false);
    }
    put_real(text, dtype, number.im, true, !imaginary);
    text_put(text, imaginary ? "j" : "j)");
}

void print_element(Text *text, Dtype dtype, const void *element)
{
    Number number = array_load(dtype, element);
    switch (dtype_kind(dtype)) {
    case KIND_BOOL: text_put(text, number.integer ? "True" : "False"); break;
    case KIND_INT: text_print(text, "%" PRId64, number.integer); break;
    case KIND_FLOAT: put_real(text, dtype, number.re, false, false); break;
    case KIND_COMPLEX: put_complex(text, dtype_real(dtype), number); break;
    }
}

/* ---- arrays ---- */

typedef struct Printer {
    Text *text;
    const Array *array;
    bool summary;
    Number *shown;                /* the elements that are printed, in order */
    size_t count, capacity, next;
    Layout re, im;
    int width;                    /* of integers */
    size_t line;                  /* where the line begins in the text */
} Printer;

static bool is_cut(const Printer *p, int axis)
{
    return p->summary && p->array->shape[axis] > 2 * EDGE;
}

/* The i-th index along an axis that is printed after `i`; jumps over what is left out. */
static int64_t after(const Printer *p, int axis, int64_t i)
{
    return is_cut(p, axis) && i == EDGE - 1 ? p->array->shape[axis] - EDGE : i + 1;
}

static void collect(Printer *p, int axis, int64_t *at)
{
    if (axis == p->array->rank) {
        p->shown = arena_grow(p->text->arena, p->shown, p->count, sizeof *p->shown);
        p->shown[p->count++] = array_load(p->array->dtype, array_at(p->array, at));
        return;
    }
    for (at[axis] = 0; at[axis] < p->array->shape[axis]; at[axis] = after(p, axis, at[axis]))
        collect(p, axis + 1, at);
}

static void lay_out(Printer *p)
{
    Arena *arena = p->text->arena;
    Kind kind = dtype_kind(p->array->dtype);
    Dtype real = dtype_real(p->array->dtype);
    double *part = ARENA_ARRAY(arena, double, p->count);
    for (size_t i = 0; i < p->count && kind == KIND_INT; i++) {
        int length = snprintf(NULL, 0, "%" PRId64, p->shown[i].integer);
        p->width = length > p->width ? length : p->width;
    }
    if (kind < KIND_FLOAT)
        return;
    for (size_t i = 0; i < p->count; i++)
        part[i] = p->shown[i].re;
    p->re = layout_of(real, part, p->count, false);
    for (size_t i = 0; i < p->count; i++)
        part[i] = p->shown[i].im;
    if (kind == KIND_COMPLEX)
        p->im = layout_of(real, part, p->count, true);
}

static void put_element(const Printer *p, Number number, char *out)
{
    switch (dtype_kind(p->array->dtype)) {
    case KIND_BOOL: strcpy(out, number.integer ? " True" : "False"); break;
    case KIND_INT: sprintf(out, "%*" PRId64, p->width, number.integer); break;
    case KIND_FLOAT: put_number(&p->re, number.re, out); break;
    case KIND_COMPLEX: {
        put_number(&p->re, number.re, out);
        out += strlen(out);
        put_number(&p->im, number.im, out);
        size_t length = strlen(out), end = length;    /* the j stands before what pads the number */
        while (end && out[end - 1] == ' ')
            end--;
        memmove(out + end + 1, out + end, length - end + 1);
        out[end] = 'j';
        break;
    }
    }
}

/* A word of the innermost axis, on a new line where it would be too long. */
static void put_word(Printer *p, const char *word, int indent, int width)
{
    size_t length = p->text->length - p->line;
    if (length + strlen(word) > (size_t)width && length > (size_t)indent) {
        while (p->text->length > p->line && p->text->bytes[p->text->length - 1] == ' ')
            p->text->bytes[--p->text->length] = 0;
        text_put(p->text, "\n");
        p->line = p->text->length;
        text_print(p->text, "%*s", indent, "");
    }
    text_put(p->text, word);
}

static void put_row(Printer *p, int axis, int indent, int width)
{
    char word[4 * NUMBER_BYTES];
    for (int64_t i = 0; i < p->array->shape[axis]; i = after(p, axis, i)) {
        if (i)
            text_put(p->text, " ");
        put_element(p, p->shown[p->next++], word);
        put_word(p, word, indent, width);
        if (is_cut(p, axis) && i == EDGE - 1) {
            text_put(p->text, " ");
            put_word(p, "...", indent, width);
        }
    }
}

static void put_axis(Printer *p, int axis, int width)
{
    int indent = axis + 1, left = p->array->rank - axis;
    text_put(p->text, "[");
    if (left == 1)
        put_row(p, axis, indent, width - 1);
    for (int64_t i = 0; left > 1 && i < p->array->shape[axis]; i = after(p, axis, i)) {
        for (int line = 0; i && line < left - 1; line++)
            text_put(p->text, "\n");
        p->line = i ? p->text->length : p->line;
        text_print(p->text, "%*s", i ? indent : 0, "");
        put_axis(p, axis + 1, width - 1);
        if (is_cut(p, axis) && i == EDGE - 1) {
            for (int line = 0; line < left - 1; line++)
                text_put(p->text, "\n");
            text_print(p->text, "%*s...", indent, "");
        }
    }
    text_put(p->text, "]");
}

void print_array(Text *text, const Array *array)
{
    Printer p = { .text = text, .array = array, .summary = array_count(array) > WHOLE_MAX, .line = text->length };
    int64_t at[RANK_MAX] = { 0 };
    if (!array->rank) {
        print_element(text, array->dtype, array->data);
    } else if (!array_count(array)) {
        text_put(text, "[]");
    } else {
        collect(&p, 0, at);
        lay_out(&p);
        put_axis(&p, 0, WIDTH);
    }
    text_put(text, "\n");
}
