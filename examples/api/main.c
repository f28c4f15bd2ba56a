/* The C API in ten lines: which of two documents answers the query? */
#include <stdio.h>

#include "einc.h"

int main(void)
{
    float query[1][2][2] = { { { 1, 0 }, { 0, 1 } } };                                  /* one of two tokens */
    float documents[2][3][2] = { { { 3, 0 }, { 1, 1 }, { 2, 0 } }, { { 0, 1 }, { 2, 3 }, { 1, 0 } } };
    float scores[1][2];
    DLTensor q = einc_tensor(query, "f32", 3, (int64_t[]){ 1, 2, 2 });
    DLTensor d = einc_tensor(documents, "f32", 3, (int64_t[]){ 2, 3, 2 });
    DLTensor s = einc_tensor(scores, "f32", 2, (int64_t[]){ 1, 2 });
    einc_context *context = einc_context_new(NULL);
    einc_kernel *kernel = einc_compile(context, "ijk,mnk->ijmn | max n | sum j", NULL);
    if (!kernel || einc_call(kernel, (const DLTensor *[]){ &q, &d }, 2, (DLTensor *[]){ &s }, 1, NULL))
        return fprintf(stderr, "%s", einc_error(context)), 1;
    printf("scores %g %g\n", scores[0][0], scores[0][1]);
    einc_kernel_free(kernel);
    einc_context_free(context);
    return 0;
}
