/* einc compile 'Q[q,d], K[k,d] -> [q,k] | _ * 0.125 | where(@q >= @k, _, -inf) | softmax k | * V[k,v] -> [q,v]' --name attention -o attention.c --header attention.h
 *
 *     Q[q,d], K[k,d] -> qk | _ * 0.125 | where(@q >= @k, _, -inf) | softmax k | _ * V[k,v] -> qv
 *
 * target portable, 4 lanes
 * launch 1: block of q: tile_1_1 = min(64, q)
 *   step 1: store tmp1[q,k] = sum[d](Q[q,d] * K[k,d])
 *     tiles of 6 x 8: rows q, columns k, contracted d, rows packed as vectors
 *     loops q k, 4 lanes along k
 *   step 2: store tmp2[q] = max[k](where(@q >= @k, tmp1[q,k] * 0.125, -(inf)))
 *     loops q, 4 lanes along k
 *   step 3: store tmp3[q,k] = where(tmp2[q] == -inf, 0, exp(where(@q >= @k, tmp1[q,k] * 0.125, -(inf)) - tmp2[q]))
 *     loops q k, 4 lanes along k, in that of step 4
 *   step 4: store tmp4[q] = sum[k](tmp3[q,k])
 *     loops q, 4 lanes along k
 *   step 5: store out[q,v] = sum[k](tmp3[q,k] * V[k,v]) / where(tmp4[q] == 0, 1, tmp4[q])
 *     tiles of 6 x 8: rows q, columns v, contracted k, rows packed as vectors
 *     loops q v, 4 lanes along v, past the caches from 32 MB
 *   where guessed maxima are good: tmp1 to tmp4 tile by tile
 *   where none of them overflows: sums of powers 2^50 times as large
 * tmp1: a block, row_tmp1 * tile_1_1 * 4 bytes
 * tmp2: a block, tile_1_1 * 4 bytes
 * tmp3: in the place of tmp1
 * tmp4: a block, tile_1_1 * 4 bytes
 * workspace workers * (align(row_tmp1 * tile_1_1 * 4, 64) + align(tile_1_1 * 4, 64) + align(tile_1_1 * 4, 64)
 *         + align(align(k, 8) * d * 4, 64) + align((1 + min(1, align(k, 8) * d / 20481) * 5) * d * 96, 64)
 *         + align(min(1, d / 1025) * align(k, 8) * 144, 64) + 64 + align(tile_1_1 * 16, 64)
 *         + align(align(v, 8) * k * 4, 64) + align((1 + min(1, align(v, 8) * k / 4097) * 7) * k * 96, 64)
 *         + align(min(1, k / 1025) * align(v, 8) * 144, 64) + 64 + 64) */
#ifndef ATTENTION_H
#define ATTENTION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef EINC_HOST
#define EINC_HOST
/* Whose threads and messages. Every member may be 0, and so may the pointer to it. parallel_for runs
 * task(argument, index, worker) once for every 0 <= index < tasks, in any order, at once on up to `workers` threads,
 * 0 <= worker < workers, no two calls with the same worker at once; it returns 0, or a number that the kernel gives back. */
typedef struct einc_host {
    void *(*alloc)(void *user, size_t bytes, size_t align);
    void (*free)(void *user, void *memory);
    int (*parallel_for)(void *user, int64_t tasks, void (*task)(void *argument, int64_t index, int worker), void *argument);
    int workers;
    int (*cancelled)(void *user);
    void (*error)(void *user, int code, const char *message);
    void *user;
} einc_host;
#endif

/* Strides count elements, and may be 0 or negative; data need not be aligned. An array of rank 0 has no shape.
 * Complex numbers are two floats, f16 and bf16 their 16 bits, bool one byte. */
typedef struct attention_args {
    struct {    /* input Q, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } Q;
    struct {    /* input K, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } K;
    struct {    /* input V, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } V;
    struct {    /* output, f32[q,v] */
        float *data;
        int64_t shape[2], stride[2];
    } out;
} attention_args;

/* The bytes of workspace that attention() wants for these shapes and so many workers. 0, or why not. */
int attention_workspace(const attention_args *args, int workers, size_t *bytes);

/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument
 * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,
 * -16 and below a position out of range (outputs are then undefined). Thread-safe. */
int attention(const attention_args *args, void *workspace, size_t bytes, const einc_host *host);

#ifdef __cplusplus
}
#endif

#endif
