#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel_job.h"

enum { FIELDS_MAX = 4096, SETS_MAX = 64, SWEEP_FORCED = 3 };    /* the extents are small */

bool job_fail(Job *job, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!job->message[0])
        vsnprintf(job->message, sizeof job->message, format, arguments);
    va_end(arguments);
    return false;
}

/* splitmix64 (Steele, Lea and Flood 2014) */
static uint64_t next_random(Job *job)
{
    uint64_t z = job->seed += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

int job_pick(Job *job, int below)
{
    return (int)(next_random(job) % (uint64_t)below);
}

static void unescape(char *field)
{
    char *to = field;
    for (const char *from = field; *from; from++)
        *to++ = *from != '\\' || !from[1] ? *from : *++from == 't' ? '\t' : *from == 'n' ? '\n' : *from;
    *to = 0;
}

/* A shape such as 40,3; "" has no axis. */
static void add_expected(Job *job, const char *field)
{
    int64_t *shape = job->expected[job->expected_count++];
    for (char *end; *field; field = *end ? end + 1 : end)
        *shape++ = strtoll(field, &end, 10);
}

static bool add_operand(Job *job, Set *set, char *field)
{
    char *equals = strchr(field, '='), *path = equals ? equals + 1 : field;
    int k = set->operand_count;
    char error[512];
    if (k == ARRAYS_MAX || !npy_open(&set->files[k], path, error, sizeof error))
        return job_fail(job, "%s", k == ARRAYS_MAX ? "too many operands" : error);
    if (equals)
        *equals = 0;
    const Array *array = &set->files[k].array;
    set->operands[k] = (OperandSpec){ equals ? field : NULL, array->dtype, array->rank, array->shape };
    set->operand_count++;
    return true;
}

static bool add_field(Job *job, const char *option, char *field)
{
    Set *set = job->set_count ? &job->sets[job->set_count - 1] : NULL;
    char *equals = strchr(field, '=');
    if (!strcmp(option, "-s")) {
        job->seed = strtoull(field, NULL, 10);
    } else if (!strcmp(option, "-t")) {
        job->target = field;
    } else if (!strcmp(option, "-p")) {
        job->precision = (Precision)precision_find(field);
    } else if (!strcmp(option, "-b")) {
        job->bare = true;
    } else if (!strcmp(option, "-l")) {
        job->lined = true;
    } else if (!strcmp(option, "-c")) {
        job->ordered = true;
        job->all_ordered = !strcmp(field, "all");
    } else if (!strcmp(option, "-e") && job->expected_count < ARRAYS_MAX) {
        add_expected(job, field);
    } else if (!strcmp(option, "-g")) {
        job->on_device = true;
    } else if (!strcmp(option, "-n")) {
        job->sweep = !strcmp(field, "swept") || !strcmp(field, "swept-loops") ? SWEEP_FORCED : 0;
        job->nests = !strcmp(field, "tiled") || !strcmp(field, "swept") ? NESTS_TILED : !strcmp(field, "loops") || !strcmp(field, "swept-loops") ? NESTS_LOOPS : NESTS_BY_COST;
    } else if (set && !strcmp(option, "-d") && equals) {
        *equals = 0;
        set->extents[set->extent_count++] = (ExtentSpec){ .name = field, .extent = atoll(equals + 1) };
    } else if (set && !strcmp(option, "-i")) {
        return add_operand(job, set, field);
    } else {
        return job_fail(job, "no such option: %s", option);
    }
    return true;
}

bool job_read(Job *job, char *line)
{
    char **fields = ARENA_ARRAY(&job->arena, char *, FIELDS_MAX);
    int count = 0;
    for (char *field = line; field && count < FIELDS_MAX;) {
        char *tab = strchr(field, '\t');
        if (tab)
            *tab = 0;
        unescape(field);
        fields[count++] = field;
        field = tab ? tab + 1 : NULL;
    }
    job->expression = fields[0];
    job->sets = ARENA_ARRAY(&job->arena, Set, SETS_MAX);
    for (int i = 1; i < count;) {
        if (!strcmp(fields[i], "|")) {
            if (job->set_count++ == SETS_MAX)
                return job_fail(job, "too many data sets");
            i++;
        } else if (i + 1 >= count || !add_field(job, fields[i], fields[i + 1])) {
            return job_fail(job, "an option without a value");
        } else {
            i += 2;
        }
    }
    return job->set_count > 0 || job_fail(job, "no data set");
}

/* ---- memory ---- */

unsigned char job_poison(const char *at)
{
    return (unsigned char)(UINT64_C(0xFFF5FFA5FFA5FFA5) >> 8 * ((uintptr_t)at % 8));
}

char *job_guard(Job *job, size_t bytes, bool at_end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), inside = (bytes + page - 1) / page * page + page;
    Guarded *g = &job->guarded[job->guarded_count++];
    g->page = page;
    g->map_bytes = inside + 2 * page;
    g->map = mmap(NULL, g->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g->map == MAP_FAILED || mprotect(g->map + page, inside, PROT_READ | PROT_WRITE))
        abort();
    for (char *at = g->map + page; at < g->map + page + inside; at++)
        *at = (char)job_poison(at);
    g->size = bytes;
    return g->bytes = at_end ? g->map + page + inside - bytes : g->map + page;
}

void job_release(Job *job)
{
    for (int i = 0; i < job->guarded_count; i++)
        munmap(job->guarded[i].map, job->guarded[i].map_bytes);
    job->guarded_count = 0;
}

/* Strides of some layout for the shape, and how many elements it reaches below and above the first. */
static void choose_strides(Job *job, Array *array, bool output, int64_t *below, int64_t *above)
{
    int order[RANK_MAX], rank = array->rank, kind = (output ? job->ordered : job->all_ordered) ? 1 : job_pick(job, 6);
    for (int a = 0; a < rank; a++)
        order[a] = kind == 0 ? a : rank - 1 - a;                 /* Fortran's order, or C's */
    for (int a = rank - 1; a > 0 && kind >= 3; a--) {
        int b = job_pick(job, a + 1), swap = order[a];
        order[a] = order[b];
        order[b] = swap;
    }
    int64_t stride = 1;
    *below = *above = 0;
    for (int k = 0; k < rank; k++) {
        int a = order[k];
        int64_t size = array->shape[a], extent = size > 0 ? size : 1;
        bool gap = kind >= 4 && job_pick(job, 3) == 0, negative = kind >= 4 && job_pick(job, 3) == 0;
        stride *= gap ? 2 : 1;
        bool zero = kind == 5 && !output && job_pick(job, 4) == 0;
        array->stride[a] = zero ? 0 : negative ? -stride : stride;
        *(negative ? below : above) += zero ? 0 : stride * (extent - 1);
        stride *= extent;
    }
}

/* C's order, each line of the last axis from a multiple of 16 bytes on. */
static void choose_lines(Array *array, int64_t *above)
{
    int64_t stride = 1, line = 16 / (int64_t)dtype_size(array->dtype);
    *above = 0;
    for (int a = array->rank - 1; a >= 0; a--) {
        int64_t extent = array->shape[a] > 0 ? array->shape[a] : 1;
        array->stride[a] = stride;
        *above += stride * (extent - 1);
        stride *= a == array->rank - 1 ? (extent + line - 1) / line * line : extent;
    }
}

Array job_lay_out(Job *job, const Array *from, bool output)
{
    Array array = *from;
    int64_t below, above;
    size_t size = dtype_size(from->dtype);
    bool empty = array_count(from) == 0, shifted = job_pick(job, 4) == 0;
    bool lined = job->lined && !output && size < 16, ordered = job->ordered && output;
    choose_strides(job, &array, output, &below, &above);
    if (lined) {
        below = shifted = 0;
        choose_lines(&array, &above);
    }
    size_t bytes = empty ? 0 : (size_t)(below + above + 1) * size;
    bytes = lined ? (bytes + 15) / 16 * 16 : ordered ? (bytes + 63) / 64 * 64 : bytes;
    shifted = shifted && !ordered;
    char *memory = job_guard(job, bytes, !shifted);
    array.data = memory + (size_t)below * size;
    if (shifted && bytes && !job->aligned) {      /* one byte further, where nothing is aligned */
        array.data = (char *)array.data + 1;
        job->guarded[job->guarded_count - 1].bytes++;
    }
    int64_t position[RANK_MAX] = { 0 };
    for (bool more = !empty && from->data; more; more = array_next(from, position))
        memcpy(array_at(&array, position), array_at(from, position), size);
    return array;
}

bool job_gaps_are_clean(Job *job, const Array *array, const Guarded *g)
{
    unsigned char *marks = arena_alloc(&job->arena, g->size + 1);
    int64_t position[RANK_MAX] = { 0 };
    for (bool more = array_count(array) > 0; more; more = array_next(array, position))
        memset(marks + ((char *)array_at(array, position) - g->bytes), 1, dtype_size(array->dtype));
    for (size_t i = 0; i < g->size; i++)
        if (!marks[i] && (unsigned char)g->bytes[i] != job_poison(g->bytes + i))
            return job_fail(job, "wrote %zu bytes behind the beginning of an output, between its elements", i);
    return true;
}
