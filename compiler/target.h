/* What the planner and the emitter know of a machine: a row of a table. Neither names a target; a new instruction set is
 * a row here and its snippets in templates/. Cache sizes are constants, never probed, so that the same input gives the
 * same text everywhere. */
#ifndef EINC_TARGET_H
#define EINC_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "dtype.h"

/* A tile of a product's sums, and what the instruction that adds to it takes. */
typedef struct Tile {
    int rows, vectors;            /* of sums */
    int group;                    /* so many contracted points, next to each other, make a word of 32 bits; 1: each is a word */
    int words;                    /* so many words are multiplied at once: zeros fill up what is packed */
    int pair_rows;                /* so many rows where pairs of numbers side by side are broadcast, for tiles of one vector of
                                   * columns; 0: there is no cheap way to do so */
    int least_rows;               /* so many rows are read at once, be the tile lower or not */
    int depth;                    /* more words are taken some at a time, */
    int deep;                     /* and so many of them where panels are far, so that sums are rarely kept; 0: no more */
    bool has_starts;              /* rows are taken without a sign, which the first row of a panel makes up for: templates/dot.c */
    const char *skeleton;         /* of the functions that make the sums: a file of templates/ */
    const char *dot;              /* the instruction, as a word of the library, or on a grid its numbers; NULL: the skeleton asks for none */
    int parts;                    /* so many narrow numbers, the largest first, add up to a number; 0: it is one itself */
    const char *pairs;            /* which parts of a row's and a column's number are multiplied, in this order: "01 10 00" */
} Tile;

/* How precise products are: as precise as their dtype, or of the parts of each number. */
typedef enum { PRECISION_EXACT, PRECISION_TF32, PRECISION_BF16X3, PRECISION_BF16X6, PRECISION_COUNT } Precision;

/* What a block of threads makes of a product at a time: a tile of sums, some of them in each thread's registers, from operands that
 * go through shared memory. */
typedef struct BlockTile {
    int rows, columns;            /* of sums; 0: the end of a list */
    int high, wide;               /* rows and columns of one thread */
    int side;                     /* of these so many lie side by side; 0: as many as 16 bytes hold */
    int depth;                    /* contracted points that are in shared memory together */
    int stages;                   /* so many slices of these are in shared memory together */
    int bytes;                    /* of a sum, at most */
    bool is_matrix;               /* of narrow numbers, whose products tensor cores add up; `depth` counts 16-byte chunks */
    int resident;                 /* so many blocks have registers at once */
    bool asks;                    /* for more shared memory than a block has without asking */
} BlockTile;

/* The same for two products one behind the other: `of` is the first one's, whose rows' threads are neighbours in a warp. */
typedef struct FuseTile {
    BlockTile of;
    int values;                   /* columns of the second product; 0: the end of a list */
} FuseTile;

/* What a block of three groups of warps makes of a product whose operands tensor maps describe: templates/cuda/hopper.cu. */
typedef struct RingTile {
    int left, right;              /* lines of both sides, of the right one the most; 0: the end of a list */
    int stages;                   /* so many slices of both, of RING_LINE bytes of each line, are in shared memory together: the least */
    int kept;                     /* so many of the left side stay while a tile meets lines of the right side; 0: they come with those */
    /* Of two products one behind the other, templates/cuda/hopper_fuse.cu: contracted points of the first, all of which it has, and
     * columns of the second, at most. A stage has all points, or all values, of RIGHT lines. Else 0. */
    int depth, values;
    int registers;                /* likewise: of each thread that multiplies */
} RingTile;

enum { RING_LINE = 128, MAP_AXES_MAX = 5, RING_BYTES = 226 << 10 };     /* of slices, which leaves some for barriers */
/* Of three groups of threads one brings and two multiply; three threads, one of each, have so many registers together. */
enum { RING_THREADS = 384, RING_REGISTERS = 504, RING_REGISTERS_MOST = 240, RING_REGISTERS_FEWER = 232 };

/* Many threads at once instead of vectors: each has numbers of its own, and a block of them works as one worker. */
typedef struct Grid {
    int threads;                  /* of a block */
    int lanes;                    /* of a warp: neighbouring threads, which read neighbouring elements together */
    int blocks;                   /* so many give all of the machine work */
    int resident;                 /* so many have registers at once */
    int frame_bytes;              /* no kernel takes more of arguments */
    int shared_bytes;             /* of a block, that it has without asking; */
    int asked_bytes;              /* and with */
    const BlockTile *tiles, *matrices;    /* of products; the last one is for tests */
    const BlockTile *brief;       /* of products of f32 of at most `depth` contracted points and what reduces them */
    const BlockTile *doubles;     /* of products of f64 on tensor cores; NULL: these are no faster than plain units */
    const BlockTile *near;        /* of squared distances that they make in f64, and powers of these; NULL: they are too slow for that */
    const FuseTile *fuse_tiles, *fuse_matrices;    /* of two behind each other, likewise */
    const RingTile *fuse_rings;   /* the same in a ring; NULL: there are none */
    const RingTile *rings;        /* likewise; first one that keeps slices; NULL: it has no such tensor cores */
} Grid;

typedef struct Target {
    const char *name;             /* as `--target` takes it */
    const char *words;            /* for a person: "AVX-512" */
    const Grid *grid;             /* NULL: its threads have vectors */
    int vector_bytes;
    const Tile *tile;             /* of a product; NULL: products are loops */
    const Tile *narrow[DTYPE_COUNT];     /* of one of two of this dtype, where an instruction adds up several of their products */
    int dots[DTYPE_COUNT];        /* an instruction adds so many products of two of this dtype, side by side, to each lane's sum: dot_Dv(); 0: none */
    bool slow_pairs;              /* that of two products of bf16 takes twice as long as two of f32 */
    const Tile *parts[PRECISION_COUNT];  /* of the parts of f32 numbers; on a grid their number and pairs alone */
    bool broadcasts;              /* an instruction fills its operand's lanes with a number from memory, for less than one of its
                                   * own and no lower clock */
    bool spreads;                 /* to fill all lanes with a number costs as much as a product: rows are packed so */
    bool permutes;                /* an instruction takes each lane of a vector from any other, which are known when it runs */
    bool masks;                   /* a vector is stored under a mask, beside arithmetic: places of extrema wait in memory */
    const char *attribute;        /* of every function: __attribute__((target("..."))); "" for none */
    const char *features;         /* of the library's `//{ name@feature`, separated by blanks */
    const char *cpu;              /* what the CPU must report, separated by blanks, as einc doctor spells it; its maker, too */
    const char *permission;       /* the library's function that asks the system for what is not given unasked; or NULL */
    int l1_bytes, l2_bytes;
    bool rows_come;               /* rows of numbers that are multiplied one by one come as fast as tiles take them, though they fall into few sets of
                                   * the first cache: but for a sweep's they are not packed for that */
    int streams;                  /* so many rows of memory its own prefetching follows best; 0: more, which are asked for */
    bool by_pages;                /* memory comes faster where a line of each of several pages is asked for in turn, rows a page before, and what sums go to */
    int in_order;                 /* and at half its speed where not all of a page is: of lines in pages of their own so many are read from
                                   * begin to end together; 0: their order is all the same */
    bool lines_apart;             /* but columns that are met in place without a sweep come faster a tile's own lines at a time */
    int row_bytes;                /* longer rows of memory come faster several at once than one by one, though they share nothing;
                                   * 0: they do not */
    bool apart;                   /* shorter ones do, where each follows a stretch of its own */
    bool asks;                    /* its own prefetching falls behind a loop that does more with a row's numbers than add them up */
    int registers;                /* that hold a vector */
    int sums;                     /* that loops keep in registers where points of two of them meet; 0: a loop's points meet no other's */
    double fma_per_cycle;         /* vector instructions that a core issues, for the roofline on paper */
    double rates[DTYPE_COUNT];    /* products of two of this dtype take so many times less than those of f32, likewise; 0: none is faster */
    double bytes_per_cycle;       /* that a core reads from memory, likewise */
} Target;

/* All rows, the most capable last; ends in a NULL name. The second table has those with a grid. */
extern const Target targets[], grid_targets[];

/* What is known of a precision. */
typedef struct PrecisionFacts {
    const char *name;             /* as `--precision` takes it */
    const char *words;            /* for a person */
    const char *left_out;         /* so much of a product's size is, hardly more; NULL: nothing */
    double error;                 /* the same, with what adding up its parts may lose beyond adding up products */
} PrecisionFacts;

extern const PrecisionFacts precisions[PRECISION_COUNT];

/* -1 when there is none of that name. */
int precision_find(const char *name);

/* NULL when there is none of that name. */
const Target *target_find(const char *name);

/* Whether all compilers know the word of `cpu` in __builtin_cpu_supports(). What the others mean is so with all CPUs that
 * have the rest, or is asked for by the kernel. */
bool target_may_ask(const char *word);

/* Whether a word of `cpu` is the CPU's maker, as __builtin_cpu_is() spells it, no instruction. */
bool target_is_maker(const char *word);

bool target_has_feature(const void *target, const char *feature);

#endif
