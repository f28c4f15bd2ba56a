/* A tile of sums in contract.cu where numbers are multiplied in parts. */
//---

/* The sums of the tile from a row and a column on: of parts, or where one of those is infinite or none, of the numbers
 * themselves. */
//{ head
INLINE void tile_N(Slices_N *slices, const Frame *f, int64_t row, int64_t rows, int64_t depth, float sums[HIGH_N][WIDE_N])
//}
{
    for (int is_whole = 0; is_whole < 2; is_whole++) {
        //{ sums
        begin_N(slices, f, row, rows, depth);
        sums_N(slices, f, depth, is_whole, sums);
        //}
        if (!is_whole && !is_odd_N(sums))
            break;
    }
}
