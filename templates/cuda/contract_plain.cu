/* What is the plain units' own in contract.cu: a slice has a line for each contracted point, of which a thread takes its rows' and
 * its columns' numbers. Which those are is in contract_threads.cu. */
//---
/* What the block has in shared memory: some slices of both operands, with a line for each contracted point, and where in its
 * array each row and each column begins. */
typedef struct __align__(16) Slices_N {
    float rows[STAGES_N][DEPTH_N][ROWS_N + PAD_N], columns[STAGES_N][DEPTH_N][COLUMNS_N + PAD_N];
    int64_t rows_at[ROWS_N], columns_at[COLUMNS_N];
} Slices_N;

/* What a thread multiplies of a contracted point. Those side by side are read at once. */
typedef struct Numbers_N {
    float left[HIGH_N], right[WIDE_N];
} Numbers_N;

typedef struct __align__(SIDE_N * sizeof(float)) Side_N {
    float number[SIDE_N];
} Side_N;

INLINE void load_N(const Slices_N *slices, int stage, int p, Numbers_N *numbers)
{
    UNROLL
    for (int r = 0; r < HIGH_N; r += SIDE_N) {
        const Side_N side = *(const Side_N *)&slices->rows[stage][p][row_N(r)];
        UNROLL
        for (int next = 0; next < SIDE_N; next++)
            numbers->left[r + next] = side.number[next];
    }
    UNROLL
    for (int c = 0; c < WIDE_N; c += SIDE_N) {
        const Side_N side = *(const Side_N *)&slices->columns[stage][p][column_N(c)];
        UNROLL
        for (int next = 0; next < SIDE_N; next++)
            numbers->right[c + next] = side.number[next];
    }
}

/* Adds their products. */
INLINE void add_N(const Numbers_N *numbers, float sums[HIGH_N][WIDE_N])
{
    const float *left = numbers->left, *right = numbers->right;
    UNROLL
    for (int r = 0; r < HIGH_N; r++) {
        UNROLL
        for (int c = 0; c < WIDE_N; c++) {
            //{ step
            sums[r][c] = sums[r][c] + left[r] * right[c];
            //}
        }
    }
}

/* Adds the products of a slice, of which so many points are there. A point's numbers are read while those of the one before are
 * multiplied. */
INLINE void multiply_N(const Slices_N *slices, int stage, int64_t points, float sums[HIGH_N][WIDE_N])
{
    const int last = (int)size_min(points, DEPTH_N) - 1;
    Numbers_N now, next;
    load_N(slices, stage, 0, &now);
    for (int p = 0; p <= last; p += 2) {
        load_N(slices, stage, p < last ? p + 1 : last, &next);
        add_N(&now, sums);
        if (p == last)
            break;
        load_N(slices, stage, p + 2 < last ? p + 2 : last, &now);
        add_N(&next, sums);
    }
}
