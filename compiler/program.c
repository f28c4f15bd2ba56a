/* Questions about a Program: small helpers, the verifier, and equality. */
#include "program.h"

#include <math.h>
#include <string.h>

bool term_is_number(const Term *term, double number)
{
    for (; term->kind == TERM_MAP && (term->map.function == FUNCTION_CAST || term->map.function == FUNCTION_NEG); term = term->map.arguments[0])
        number = term->map.function == FUNCTION_NEG ? -number : number;
    if (term->kind != TERM_CONSTANT)
        return false;
    return term->constant.is_integer ? (double)term->constant.integer == number : term->constant.value == number;
}

bool term_f32_number(const Term *term, double *number)
{
    double sign = 1;
    for (; term->kind == TERM_MAP; term = term->map.arguments[0])
        if (term->map.function == FUNCTION_NEG)
            sign = -sign;
        else if (term->map.function != FUNCTION_CAST || (term->dtype != DTYPE_F32 && term->dtype != DTYPE_F64))    /* others round */
            return false;
    if (term->kind != TERM_CONSTANT)
        return false;
    *number = sign * (double)(float)(term->constant.is_integer ? (double)term->constant.integer : term->constant.value);
    return true;
}

/* What is left of a term in f32 without its constant factors. */
const Term *term_without_factors(const Term *term, double *factor)
{
    double number = 1;
    while (term->kind == TERM_MAP && term->dtype == DTYPE_F32) {
        const Term *const *x = (const Term *const *)term->map.arguments;
        if (term->map.function == FUNCTION_NEG)
            number = -1, term = x[0];
        else if (term->map.function == FUNCTION_MUL && (term_f32_number(x[0], &number) || term_f32_number(x[1], &number)))
            term = term_f32_number(x[0], &number) ? x[1] : x[0];
        else
            break;
        *factor *= number;
    }
    return term;
}

static void find_complex(void *user, const Term *term)
{
    *(bool *)user |= dtype_kind(term->dtype) == KIND_COMPLEX;
}

bool term_is_whole(const Term *term)
{
    bool made = dtype_kind(term->dtype) == KIND_COMPLEX;
    term_each_argument(term, find_complex, &made);
    Function function = term->kind == TERM_MAP ? term->map.function : FUNCTION_NONE;
    bool apart = function == FUNCTION_REAL || function == FUNCTION_IMAG || function == FUNCTION_ABS ||
                 function == FUNCTION_COMPLEX;
    return made && !apart && term->kind != TERM_READ && term->kind != TERM_SELECT;
}

bool position_is_plain(const Position *position)
{
    return position->count == 1 && position->constant == 0 && position->parts[0].coefficient == 1 &&
           position->parts[0].index;
}

bool position_has_gather(const Position *position)
{
    for (int k = 0; k < position->count; k++)
        if (position->parts[k].gather)
            return true;
    return false;
}

bool statement_scatters(const Statement *statement)
{
    const Output *output = &statement->outputs[0];
    bool computed = false;
    for (int a = 0; a < output->tensor->rank; a++)
        computed |= !output->tensor->axes[a];
    return statement->accumulate && computed;
}

const Term *program_scattered_read(const Program *p, const Tensor *tensor)
{
    for (int i = 0; i < p->term_count; i++)
        if (p->terms[i]->kind == TERM_READ && p->terms[i]->read.tensor == tensor && statement_scatters(p->statements[p->terms[i]->statement]))
            return p->terms[i];
    return NULL;
}

bool indices_have(Index *const *indices, int count, const Index *index)
{
    for (int i = 0; i < count; i++)
        if (indices[i] == index)
            return true;
    return false;
}

bool term_has_index(const Term *term, const Index *index)
{
    return indices_have(term->indices, term->rank, index);
}

const Term *output_stored(const Output *output)
{
    return output->partly ? output->value->select.yes : output->value;
}

/* ---- what bounds loops ---- */

/* Adds up how often an index's position is in a term; false where that is not all that the term depends on it by. */
static bool add_coefficient(const Term *term, const Index *index, int sign, int *coefficient)
{
    if (!term_has_index(term, index))
        return true;
    if (term->kind == TERM_POSITION)
        *coefficient += sign;
    if (term->kind != TERM_MAP)
        return term->kind == TERM_POSITION;
    Term *const *a = term->map.arguments;
    switch (term->map.function) {
    case FUNCTION_CAST:
        return dtype_kind(a[0]->dtype) == KIND_INT && term->dtype == DTYPE_I64 && add_coefficient(a[0], index, sign, coefficient);
    case FUNCTION_NEG: return add_coefficient(a[0], index, -sign, coefficient);
    case FUNCTION_ADD: return add_coefficient(a[0], index, sign, coefficient) && add_coefficient(a[1], index, sign, coefficient);
    case FUNCTION_SUB: return add_coefficient(a[0], index, sign, coefficient) && add_coefficient(a[1], index, -sign, coefficient);
    default: return false;
    }
}

bool comparison_is_of_integers(const Term *condition)
{
    return condition->kind == TERM_MAP && condition->map.function >= FUNCTION_LT && condition->map.function <= FUNCTION_NE &&
           dtype_kind(condition->map.arguments[0]->dtype) == KIND_INT;
}

int comparison_within(const Term *comparison)
{
    Function f = comparison->map.function;
    int side = f == FUNCTION_LT || f == FUNCTION_LE ? 0 : f == FUNCTION_GT || f == FUNCTION_GE ? 1 : -1;
    const Term *x = side < 0 ? NULL : comparison->map.arguments[side];
    return x && x->kind == TERM_MAP && x->map.function == FUNCTION_ABS ? side : -1;
}

const Term *comparison_side(const Term *comparison, int side)
{
    const Term *x = comparison->map.arguments[side];
    return comparison_within(comparison) == side ? x->map.arguments[0] : x;
}

static bool bounds_index(const Term *condition, const Index *index)
{
    int coefficient = 0;
    if (!comparison_is_of_integers(condition) || condition->map.function == FUNCTION_NE)
        return false;
    int inner = comparison_within(condition);
    if (inner >= 0 && term_has_index(condition->map.arguments[1 - inner], index))
        return false;
    return add_coefficient(comparison_side(condition, 0), index, 1, &coefficient) &&
           add_coefficient(comparison_side(condition, 1), index, -1, &coefficient) && (coefficient == 1 || coefficient == -1);
}

static bool is_and(const Term *condition)
{
    return condition->kind == TERM_MAP && condition->map.function == FUNCTION_AND;
}

bool condition_bounds(const Term *condition, Index *const *over, int count)
{
    if (is_and(condition))
        return condition_bounds(condition->map.arguments[0], over, count) ||
               condition_bounds(condition->map.arguments[1], over, count);
    for (int i = 0; i < count; i++)
        if (bounds_index(condition, over[i]))
            return true;
    return false;
}

bool condition_only_bounds(const Term *condition, const Index *index)
{
    if (is_and(condition))
        return condition_only_bounds(condition->map.arguments[0], index) && condition_only_bounds(condition->map.arguments[1], index);
    return !term_has_index(condition, index) || bounds_index(condition, index);
}

/* ---- what a term is made of ---- */

void term_each_argument(const Term *term, OnTerm *on, void *user)
{
    switch (term->kind) {
    case TERM_READ:
        for (int a = 0; a < term->read.tensor->rank; a++)
            for (int k = 0; k < term->read.positions[a].count; k++)
                if (term->read.positions[a].parts[k].gather)
                    on(user, term->read.positions[a].parts[k].gather);
        break;
    case TERM_MAP:
        for (int i = 0; i < term->map.count; i++)
            on(user, term->map.arguments[i]);
        break;
    case TERM_SELECT:
        on(user, term->select.condition);
        on(user, term->select.yes);
        on(user, term->select.no);
        break;
    case TERM_CONTRACT:
    case TERM_REDUCE: on(user, term->reduce.argument); break;
    case TERM_CONSTANT:
    case TERM_POSITION:
    case TERM_EXTENT: break;
    }
}

typedef struct Below {
    bool *seen;                   /* [term id] */
    OnTerm *on;
    void *user;
} Below;

static void visit_below(void *user, const Term *term)
{
    const Below *below = user;
    if (below->seen[term->id])
        return;
    below->seen[term->id] = true;
    term_each_argument(term, visit_below, user);
    below->on(below->user, term);
}

void term_each_unseen(bool *seen, const Term *term, OnTerm *on, void *user)
{
    visit_below(&(Below){ seen, on, user }, term);
}

void term_each_below(Arena *arena, const Term *term, OnTerm *on, void *user)
{
    term_each_unseen(ARENA_ARRAY(arena, bool, term->id + 1), term, on, user);    /* what is below has a lower number */
}

/* ---- finding ---- */

Tensor *program_find(const Program *program, const char *name)
{
    for (int i = program->tensor_count - 1; i >= 0; i--)
        if (program->tensors[i]->name && !strcmp(program->tensors[i]->name, name))
            return program->tensors[i];
    return NULL;
}

const Index *program_axis_index(const Program *program, const Tensor *tensor, int axis)
{
    if (tensor->axes)
        return tensor->axes[axis];
    for (int i = 0; i < program->index_count; i++)
        for (int k = 0; k < program->indices[i]->axis_count; k++)
            if (program->indices[i]->axes[k].tensor == tensor && program->indices[i]->axes[k].axis == axis)
                return program->indices[i];
    return NULL;
}

const Statement *program_result(const Program *program)
{
    return program->statements[program->statement_count - 1];
}

static void find_computed(void *user, const Term *term)
{
    for (int a = 0; term->kind == TERM_READ && a < term->read.tensor->rank; a++)
        *(bool *)user |= !position_is_plain(&term->read.positions[a]);
}

bool term_reads_plainly(Arena *arena, const Term *term)
{
    bool computed = false;
    term_each_below(arena, term, find_computed, &computed);
    return !computed;
}

const Term *term_without_arrow(const Term *term)
{
    while (term->kind == TERM_CONTRACT && term->reduce.over_count == 0)
        term = term->reduce.argument;
    return term;
}

typedef struct Sorting {
    Program *program;
    Term **terms;
    int count;
} Sorting;

static void take_term(void *user, const Term *term)
{
    Sorting *sorting = user;
    ARENA_APPEND(sorting->program->arena, sorting->terms, sorting->count, sorting->program->terms[term->id]);
}

void program_sort_terms(Program *program)
{
    Sorting sorting = { program, NULL, 0 };
    bool *seen = ARENA_ARRAY(program->arena, bool, program->term_count);
    for (int s = 0; s < program->statement_count; s++)
        for (int o = 0; o < program->statements[s]->output_count; o++) {
            const Output *output = &program->statements[s]->outputs[o];
            term_each_unseen(seen, output->value, take_term, &sorting);
            for (int a = 0; a < output->tensor->rank; a++)
                for (int k = 0; k < output->positions[a].count; k++)
                    if (output->positions[a].parts[k].gather)
                        term_each_unseen(seen, output->positions[a].parts[k].gather, take_term, &sorting);
        }
    program->terms = sorting.terms;
    program->term_count = sorting.count;
    for (int i = 0; i < program->term_count; i++)
        program->terms[i]->id = i;
}

bool *program_needed(Arena *arena, const Program *p, const bool *wanted)
{
    bool *needed = ARENA_ARRAY(arena, bool, p->statement_count), *used = ARENA_ARRAY(arena, bool, p->tensor_count);
    for (int t = 0; t < p->tensor_count; t++)
        used[t] = wanted[t];
    for (int s = p->statement_count - 1; s >= 0; s--) {
        for (int o = 0; o < p->statements[s]->output_count; o++) {
            const Tensor *tensor = p->statements[s]->outputs[o].tensor;
            needed[s] |= used[tensor->id];
            if (used[tensor->id] && tensor->previous)
                used[tensor->previous->id] = true;
        }
        for (int i = 0; i < p->term_count && needed[s]; i++)
            if (p->terms[i]->statement == s && p->terms[i]->kind == TERM_READ)
                used[p->terms[i]->read.tensor->id] = true;
    }
    return needed;
}

/* ---- the verifier ---- */

typedef struct Verifier {
    const Program *program;
    const char *broken;
} Verifier;

static void expect(Verifier *v, bool holds, const char *invariant)
{
    if (!holds && !v->broken)
        v->broken = invariant;
}

static void verify_use(Verifier *v, const Term *user, const Term *used)
{
    expect(v, used != NULL, "an argument is missing");
    if (!used)
        return;
    expect(v, used->id < user->id, "a term comes before what it uses");
    expect(v, used->id >= 0 && v->program->terms[used->id] == used, "a term is not in the program's list");
    expect(v, used->statement == user->statement, "a term uses one of another statement");
}

static void verify_position(Verifier *v, const Term *user, const Position *position, int statement)
{
    for (int k = 0; k < position->count; k++) {
        const PositionPart *part = &position->parts[k];
        expect(v, (part->index != NULL) != (part->gather != NULL), "a part of a position is one index or one gather");
        expect(v, part->coefficient != 0, "a part of a position has coefficient 0");
        if (part->index)
            expect(v, part->index->statement == statement, "a position uses an index of another statement");
        if (part->gather)
            expect(v, dtype_kind(part->gather->dtype) == KIND_INT, "a gather is no integer");
        if (part->gather && user)
            verify_use(v, user, part->gather);
        for (int j = 0; j < k && part->index; j++)
            expect(v, position->parts[j].index != part->index, "an index occurs twice in a position");
    }
}

static void verify_term(Verifier *v, const Term *term)
{
    for (int i = 0; i < term->rank; i++) {
        expect(v, term->indices[i]->statement == term->statement, "a term has an index of another statement");
        expect(v, !indices_have(term->indices, i, term->indices[i]), "an index occurs twice in a term");
    }
    switch (term->kind) {
    case TERM_READ:
        for (int a = 0; a < term->read.tensor->rank; a++)
            verify_position(v, term, &term->read.positions[a], term->statement);
        expect(v, term->dtype == term->read.tensor->dtype, "a read has another dtype than its tensor");
        break;
    case TERM_MAP:
        for (int i = 0; i < term->map.count; i++) {
            verify_use(v, term, term->map.arguments[i]);
            if (term->map.function != FUNCTION_CAST)
                expect(v, term->map.arguments[i]->dtype == term->map.arguments[0]->dtype,
                       "the arguments of a function differ in dtype");
        }
        expect(v, term->map.count == function_facts[term->map.function].arity, "a function has the wrong arity");
        break;
    case TERM_SELECT:
        verify_use(v, term, term->select.condition);
        verify_use(v, term, term->select.yes);
        verify_use(v, term, term->select.no);
        expect(v, term->select.condition->dtype == DTYPE_BOOL, "a condition is no bool");
        expect(v, term->select.yes->dtype == term->dtype && term->select.no->dtype == term->dtype,
               "the branches of a where differ in dtype");
        break;
    case TERM_CONTRACT:
    case TERM_REDUCE:
        verify_use(v, term, term->reduce.argument);
        for (int i = 0; i < term->reduce.over_count; i++)
            expect(v, term_has_index(term->reduce.argument, term->reduce.over[i]), "a reduced index is not there");
        break;
    case TERM_CONSTANT:
    case TERM_POSITION:
    case TERM_EXTENT: break;
    }
}

const char *program_verify(const Program *program)
{
    Verifier v = { program, NULL };
    for (int i = 0; i < program->term_count; i++) {
        expect(&v, program->terms[i]->id == i, "a term's number is not its place");
        verify_term(&v, program->terms[i]);
    }
    for (int i = 0; i < program->index_count; i++)
        expect(&v, program->indices[i]->id == i, "an index's number is not its place");
    expect(&v, program->statement_count > 0, "a program has a statement");
    for (int s = 0; s < program->statement_count; s++) {
        const Statement *statement = program->statements[s];
        expect(&v, statement->output_count > 0, "a statement stores something");
        for (int o = 0; o < statement->output_count; o++) {
            const Output *output = &statement->outputs[o];
            expect(&v, output->value->statement == s, "a statement stores a term of another one");
            expect(&v, !output->partly || output->value->kind == TERM_SELECT, "a value that is stored in part is no where");
            for (int a = 0; a < output->tensor->rank; a++) {
                verify_position(&v, NULL, &output->positions[a], s);
                expect(&v, statement->accumulate || position_is_plain(&output->positions[a]),
                       "only '+=' writes at computed positions");
            }
        }
    }
    return v.broken;
}
