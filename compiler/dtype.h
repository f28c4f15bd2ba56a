/* Element types and their promotion.
 *
 * Promotion is numpy's with these exceptions: numbers written in an expression and positions are weak (they take the
 * other side's dtype), and arithmetic on the narrow types f16, bf16, i8 and i16 is done, and gives, f32 or i32. */
#ifndef EINC_DTYPE_H
#define EINC_DTYPE_H

#include <stdbool.h>
#include <stddef.h>

/* X(tag, name, bytes, kind, significand bits, C type of an element in memory) */
#define DTYPES(X)                                        \
    X(BOOL, "bool", 1, KIND_BOOL, 1, "uint8_t")          \
    X(I8, "i8", 1, KIND_INT, 8, "int8_t")                \
    X(I16, "i16", 2, KIND_INT, 16, "int16_t")            \
    X(I32, "i32", 4, KIND_INT, 32, "int32_t")            \
    X(I64, "i64", 8, KIND_INT, 64, "int64_t")            \
    X(F16, "f16", 2, KIND_FLOAT, 11, "uint16_t")         \
    X(BF16, "bf16", 2, KIND_FLOAT, 8, "uint16_t")        \
    X(F32, "f32", 4, KIND_FLOAT, 24, "float")            \
    X(F64, "f64", 8, KIND_FLOAT, 53, "double")           \
    X(C64, "c64", 8, KIND_COMPLEX, 24, "c64")            \
    X(C128, "c128", 16, KIND_COMPLEX, 53, "c128")

typedef enum {
#define X(tag, name, bytes, kind, bits, c) DTYPE_##tag,
    DTYPES(X)
#undef X
    DTYPE_COUNT,
    DTYPE_NONE = DTYPE_COUNT   /* not known or not given */
} Dtype;

/* In the order in which one kind gives way to the next. */
typedef enum { KIND_BOOL, KIND_INT, KIND_FLOAT, KIND_COMPLEX } Kind;

const char *dtype_name(Dtype dtype);
size_t dtype_size(Dtype dtype);
Kind dtype_kind(Dtype dtype);
int dtype_significand(Dtype dtype);          /* of one component, the hidden bit included */
int dtype_exponent(Dtype dtype);             /* of a float: its largest numbers are of 2^15 (f16), 2^127 … */
const char *dtype_c(Dtype dtype);

/* As what so many numbers of a narrow dtype fill a word of 32 bits: as they are, or widened. */
Dtype dtype_in_word(Dtype narrow, int count);

/* DTYPE_NONE when no dtype has that name. */
Dtype dtype_find(const char *name, size_t length);

/* numpy's result_type of two arrays. */
Dtype dtype_promote(Dtype a, Dtype b);

/* The dtype in which arithmetic on this one is done: f16 and bf16 in f32, i8 and i16 in i32. */
Dtype dtype_widen(Dtype dtype);

/* The dtype that a function of real numbers, such as sqrt, gives for this one. */
Dtype dtype_float(Dtype dtype);

/* The dtype of one component of a complex one; any other is itself. */
Dtype dtype_real(Dtype dtype);
Dtype dtype_complex(Dtype dtype);

#endif
