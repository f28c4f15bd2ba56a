/* An array in memory as einc's runtime sees it: a DLPack tensor with its dtype understood. */
#ifndef EINC_ARRAY_H
#define EINC_ARRAY_H

#include "program.h"

typedef struct Array {
    void *data;                       /* of element [0, 0, …]; need not be aligned */
    Dtype dtype;
    int rank;
    int64_t shape[RANK_MAX];
    int64_t stride[RANK_MAX];         /* in elements */
} Array;

/* Sets strides as C order (`fortran` false) or Fortran order lays the array out. An axis of extent 0 counts as 1, as
 * in numpy, so that no stride of an empty array is 0. */
void array_lay_out(Array *array, bool fortran);

/* The number of elements; -1 when it does not fit into 63 bits. */
int64_t array_count(const Array *array);

/* The address of the element at `position` (array->rank numbers). */
void *array_at(const Array *array, const int64_t *position);

/* Moves to the next position in C order; false after the last, when the position is all zeros again. Starts at all
 * zeros of a non-empty array; rank 0 has one position, of no numbers. */
bool array_next(const Array *array, int64_t *position);

/* One element as a number. `re` and `im` always hold its value, rounded to float64 if need be. `integer` is the same
 * value exactly when it came from an integer or a bool, and 0 otherwise. */
typedef struct Number {
    double re, im;
    int64_t integer;
} Number;

Number array_load(Dtype dtype, const void *element);
double array_load_real(Dtype dtype, const void *element);    /* of a float dtype */

/* Stores a number as any dtype. Floats round once, to the nearest, ties to even (16-bit ones directly from float64);
 * what is too large becomes infinity, NaN stays NaN. A real dtype takes `re` alone. An integer dtype takes `integer`
 * where that is the value (re == (double)integer, not 0), and wraps; else it takes `re` cut towards zero, saturates,
 * and makes NaN 0. bool is whether the number differs from 0; NaN does. */
void array_store(Dtype dtype, void *element, Number number);

#endif
