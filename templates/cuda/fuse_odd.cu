/* Whether a tile of sums that nobody asks for may be left out of fuse.cu. */
//---
/* Whether some value in the tile is infinite or none, so that its product with 0 is not 0. All threads have the same answer. */
INLINE int is_odd_N(const Slices_N *slices)
{
    int is_odd = 0;
    copies_wait<0>();
    __syncthreads();
    for (int at = (int)threadIdx.x; at < COLUMNS_N * DEPTH_N; at += THREADS) {
        //{ test
        const float x = slices->columns[0][at / COLUMNS_N][at % COLUMNS_N];
        is_odd |= x - x != 0;
        //}
    }
    return __syncthreads_or(is_odd);
}
