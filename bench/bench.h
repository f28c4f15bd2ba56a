/* The benchmarks: rows of a table, each measured against what this machine can do, in the same run. */
#ifndef EINC_BENCH_H
#define EINC_BENCH_H

#include "arena.h"
#include "einc.h"
#include "peak.h"

/* What bounds a row's time from below: the slowest of these. */
enum {
    BOUND_COMPUTE = 1,            /* its operations at the peak of the row's instruction */
    BOUND_READ = 2,               /* its operands, read once: measured on those very bytes */
    BOUND_WRITE = 4,              /* its outputs, written once, likewise */
    BOUND_ALL = 7,
    BOUND_OTHER = 8               /* what another expression takes */
};

/* What the floats of a row's operands are. */
typedef enum {
    DATA_UNIFORM,                 /* in [-0.5, 0.5) */
    DATA_WIDE,                    /* in [-500, 500): too far apart for sums of their exponentials to keep them all */
    DATA_ONE_NAN                  /* uniform, but for a NaN in the last operand */
} Data;

typedef struct Row {
    const char *name;             /* "maxsim-f32-cache": `--rows maxsim` chooses all that begin so */
    const char *work;             /* for the page */
    const char *expression;
    const char *operands;         /* "f32 16,32,128; i64 256" */
    const char *extents;          /* "h=56,w=56": those that no operand tells, or NULL */
    double flops;                 /* multiply-adds count two; of ragged operands all are counted, padding too */
    const char *target;           /* einc's, and whose instruction is the peak; NULL: native, with `unit` the peak's */
    const char *unit;
    Dtype dtype;                  /* that the instruction multiplies */
    int bounds;
    double goal;                  /* share of the bound; above 1 where the row does its work with another instruction */
    int threads;
    bool speedup;                 /* the share is that of `threads`' speed-up over one in the bound's own */
    const char *precision;        /* NULL: that of the dtype */
    int least, most;              /* an i64 operand has lengths between these; 0: there is none */
    int labels;                   /* an i64 operand has numbers below this; 0: there is none */
    const char *other;            /* the expression of BOUND_OTHER, */
    const char *other_operands;   /* and its operands; NULL: the row's */
    Data data;
    bool only_named;              /* too long to run unless its name is given */
} Row;

/* All rows, those of TCCG among them; ends in a NULL name. In the arena. */
const Row *rows_all(Arena *arena);

/* tccg.c: 48 contractions in `dtype`, of tensors of about `bytes`. */
enum { TCCG_COUNT = 48, TCCG_BYTES = 200 << 20 };
Row tccg_row(Arena *arena, int i, Dtype dtype, double bytes);

/* ---- work.c: a row made ready ---- */

enum { OPERANDS_MAX = 4, AXES_MAX = 8 };

typedef struct Work {
    const Row *row;
    struct Work *other;           /* of the row's other expression; NULL: it has none */
    einc_context *context;
    einc_kernel *kernel;
    double limit;                 /* seconds: a call that takes longer is given up */
    double flops;                 /* useful ones */
    int64_t shapes[OPERANDS_MAX + 1][AXES_MAX];
    DLTensor tensors[OPERANDS_MAX + 1];    /* the output last */
    const DLTensor *inputs[OPERANDS_MAX];
    DLTensor *output;
    int input_count;
    void *in, *out;               /* all operands; the output: in huge pages where the system gives them */
    size_t in_bytes, out_bytes;
    void *workspace;
    size_t workspace_bytes;
    const char *failure;          /* NULL, or why the row cannot be measured */
    bool absent;                  /* because this CPU lacks the instruction */
    bool broken;                  /* because its result is wrong, or it takes memory that the plan does not have */
    int64_t checked;              /* elements of the result compared with the evaluator */
    double extra_bytes;           /* memory that the process took in the first call */
} Work;

/* Compiles the row, makes its operands, calls it once, during which the process may not grow by more than 16 MiB, and
 * compares elements of the result with the evaluator. False with work->failure set; work_end() is due in any case. */
bool work_begin(Work *work, Arena *arena, const Row *row, double limit);
void work_end(Work *work);

/* One call, and how long it took; less than 0 after work->failure. */
double work_call(Work *work, Arena *arena, int workers);

/* Writes operands and result as DIR/0.npy, 1.npy … and DIR/result.npy. */
bool work_export(Work *work, Arena *arena, const char *folder);

/* ---- measure.c ---- */

/* One round: the peaks, calls of the row, the peaks again. */
typedef struct Round {
    double seconds;               /* of the fastest call */
    double other;                 /* seconds of the other expression's fastest call */
    double compute, read, write;  /* per second, the best sample; 0 where not asked for */
} Round;

typedef struct Figure {
    Round best;                   /* each the best of all rounds */
    Round one;                    /* with one thread, where the row is a speed-up */
    double bound;                 /* seconds that the best peaks allow */
    double share;                 /* bound / best.seconds; of a speed-up: that / the bound's */
    double median;                /* of the rounds' own shares */
    double speedup;
    int rounds;
    const char *bounded_by;       /* "FMA", "reading" … */
    const char *failure;
} Figure;

bool measure_round(Work *work, Arena *arena, int workers, Round *round);
/* Rounds for about so many seconds. `pretend` scales the bound: 1, but for a test of what follows from a bound that is
 * beaten. */
Figure measure(Work *work, Arena *arena, double seconds, double pretend);

/* Seconds that these peaks allow, and which of them that is. */
double bound_of(const Work *work, const Round *peaks, const char **by);

/* Measured times cannot beat a bound: a share above this fails the bench. */
#define SHARE_MAX 1.02

#endif
