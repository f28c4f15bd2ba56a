/* Arrays as text, in numpy's style. */
#ifndef EINC_PRINT_H
#define EINC_PRINT_H

#include "array.h"
#include "text.h"

/* The array as numpy prints it, with as many digits as tell every number of its dtype from its neighbours: whole up to
 * 1000 elements, else the first and the last three along each axis. Ends in a newline. */
void print_array(Text *text, const Array *array);

/* One element, as numpy prints a scalar. */
void print_element(Text *text, Dtype dtype, const void *element);

#endif
