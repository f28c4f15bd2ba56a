/* A job of tests/kernel_main.c: its line read, and memory laid out for its arrays between pages without access. */
#ifndef TESTS_KERNEL_JOB_H
#define TESTS_KERNEL_JOB_H

#include "npy.h"
#include "runtime.h"

enum { ARRAYS_MAX = 64, MESSAGE_BYTES = 2048 };

typedef struct Set {
    ExtentSpec extents[ARRAYS_MAX];
    OperandSpec operands[ARRAYS_MAX];
    NpyFile files[ARRAYS_MAX];
    int extent_count, operand_count;
} Set;

/* Memory between two pages without access. */
typedef struct Guarded {
    char *map;
    size_t map_bytes, page;
    char *bytes;
    size_t size;
} Guarded;

typedef struct Job {
    Arena arena;
    jmp_buf full;
    const char *expression, *target;
    bool aligned;                 /* data may not lie anywhere */
    bool bare;                    /* compiled without shapes */
    bool lined;                   /* operands have lines that are aligned to 16 bytes */
    bool ordered;                 /* results lie in C's order, from a line of the cache on */
    bool all_ordered;             /* and operands in that order, too */
    bool on_device;               /* on a GPU, not in the emulator */
    Nests nests;
    int64_t sweep;
    Precision precision;
    uint64_t seed;
    Set *sets;
    int set_count;
    int64_t expected[ARRAYS_MAX][RANK_MAX];    /* shapes to compile for in the place of the first set's */
    int expected_count;
    Guarded guarded[4 * ARRAYS_MAX];
    int guarded_count;
    long elements, refused, planned_pages, touched_pages;
    char message[MESSAGE_BYTES];
} Job;

/* Sets the message, if there is none yet; false. */
bool job_fail(Job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A number below `below`, chosen by the seed. */
int job_pick(Job *job, int below);

/* Reads a line into a job whose arena is ready. The job keeps pointers into the line. */
bool job_read(Job *job, char *line);

/* What the byte at an address is before anybody writes to it: NaN in every floating-point type, and no integer that small
 * operands add up to, so that what was written is seen to be and what was not spoils the numbers made from it. */
unsigned char job_poison(const char *at);

/* Memory of so many bytes, poisoned. `at_end`: they end where the page without access begins; else they begin where one ends. */
char *job_guard(Job *job, size_t bytes, bool at_end);

/* Gives back all that job_guard() gave. */
void job_release(Job *job);

/* A copy of an array, laid out anew between pages without access. */
Array job_lay_out(Job *job, const Array *from, bool output);

/* Whether what lies between an output's elements is as it was. */
bool job_gaps_are_clean(Job *job, const Array *array, const Guarded *g);

#endif
