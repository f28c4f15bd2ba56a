/* A job: the expression and all that the options say about it, in the form that the compiler takes. */
#ifndef EINC_JOB_H
#define EINC_JOB_H

#include "expression.h"
#include "npy.h"

/* What is known of an operand or of the target of a `+=`: from -i its array, from --shape its shape. */
typedef struct Known {
    const char *name;             /* NULL: the next operand in order */
    const char *path;             /* NULL: from --shape, or derived */
    NpyFile file;                 /* of -i */
    int rank;
    int64_t shape[RANK_MAX];
} Known;

typedef struct Job {
    Cli *cli;
    Expression expression;
    CompileOptions options;       /* `check.operands` in the order of `known` */
    Known **known;
    int known_count;
    Compiled *front;              /* after job_front() */
    bool noted;                   /* what is not computed has been said */
    const char *dumped[8];        /* the passes whose results have been printed */
} Job;

/* Reads expression and options; opens files. Reports all that is wrong; to `einc run`, operands without an array, too. An
 * einc_status; job_close() in either case. */
int job_read(Cli *cli, Job *job);
void job_close(Job *job);

/* Checks the expression with what is known. What nobody asks for is noted, the first time. */
int job_front(Job *job);

/* Gives operands of which nothing is known the shapes that follow from the extents, as far as they do, and checks again.
 * An axis that stays unknown is -1. */
int job_derive_shapes(Job *job);

/* Reports extents and sizes that are needed for numbers but not known. */
int job_require_extents(Job *job);

/* EINC_BUDGET, after a message, when no plan can meet --memory for these extents; EINC_OK when they are not known. */
int job_check_budget(Job *job, const Compiled *compiled);

/* The place among job->known of what is known of the tensor; -1 when nothing is. */
int job_known_of(const Job *job, const Tensor *tensor);

/* "NAME=REST": the name in the arena, and *rest; NULL when there is no '=' behind a word. */
const char *job_split_name(Cli *cli, const char *text, const char **rest);

#endif
