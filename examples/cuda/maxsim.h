/* einc compile 'Q[i,j,k], D[m,n,k] -> [i,j,m,n] | where(@n < length[m]:i64, _, -inf) | max n | sum j' --target cuda:sm_80 --name maxsim -o maxsim.cu --header maxsim.h
 *
 *     Q[i,j,k], D[m,n,k] -> ijmn | where(@n < length[m]:i64, _, -inf) | max n | sum j
 *
 * target cuda:sm_80, 32 lanes
 * launch 1: block of i: tile_1_1 = min(2, i), block of m: 1
 *   step 1: store tmp1[i,j,m] = max[n](where(@n < length[m], sum[k](Q[i,j,k] * D[m,n,k]), -(inf)))
 *     tiles of 64 x 128: rows n, columns i j, contracted k, 8 at a time in shared memory, 8 x 8 sums of a thread
 *     loops i m j, 32 lanes along j
 *   step 2: store out[i,m] = sum[j](tmp1[i,j,m])
 *     loops i m, 32 lanes along j
 * tmp1: a block, row_tmp1 * 4 bytes
 * workspace workers * (align(row_tmp1 * 4, 64)) */
#ifndef MAXSIM_H
#define MAXSIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Arrays of the device. Strides count elements, and may be 0 or negative; data is aligned to its numbers. An array of rank 0
 * has no shape. Complex numbers are two floats, f16 and bf16 their 16 bits, bool one byte. */
typedef struct maxsim_args {
    struct {    /* input Q, f32 */
        const float *data;
        int64_t shape[3], stride[3];
    } Q;
    struct {    /* input D, f32 */
        const float *data;
        int64_t shape[3], stride[3];
    } D;
    struct {    /* input length, i64 */
        const int64_t *data;
        int64_t shape[1], stride[1];
    } length;
    struct {    /* output, f32[i,m] */
        float *data;
        int64_t shape[2], stride[2];
    } out;
} maxsim_args;

/* The bytes of workspace, on the device, that maxsim() wants for these shapes and so many blocks of threads at once. 0, or why
 * not. */
int maxsim_workspace(const maxsim_args *args, int workers, size_t *bytes);

/* Starts the kernel on a stream (a cudaStream_t) and does not wait. `workspace` is aligned to 64 bytes; with more of it than one
 * block wants, more blocks run at once. 0, or a negative number: -2 an argument that has no meaning, -3 shapes that do not
 * fit, -4 too small a workspace, -6 what cudaGetLastError() says. Thread-safe. */
int maxsim(const maxsim_args *args, void *workspace, size_t bytes, void *stream);

/* Waits for the stream. 0, or why the kernel that had the workspace failed: -6 what cudaGetLastError() says, -16 and below a
 * position out of range (outputs are then undefined). */
int maxsim_status(const void *workspace, void *stream);

#ifdef __cplusplus
}
#endif

#endif
