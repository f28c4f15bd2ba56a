/* The Program in the notation.
 *
 * A statement's terms become a chain again. A term that must be a stage's value is called a boundary: contractions,
 * reductions, and what is used more than once, since only "_" can be used twice. An expression holds one boundary at
 * most, as it came from a chain, and prints it as "_". Implicit casts are left out: reading puts them back. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

typedef struct Printer {
    Text *text;
    const Program *program;
    int *uses;                    /* [term id] */
    bool *written;                /* [tensor id]: whether its dtype was printed */
    bool long_names;              /* the statement at hand has an index of several letters */
    const Term *previous;         /* what "_" stands for; NULL in a chain's first expression */
    size_t stage;                 /* where the text of the stage at hand begins */
    bool in_where;
} Printer;

enum Precedence { LOWEST, OR, AND, COMPARE, SUM, PRODUCT, SIGN, POWER, ATOM };

/* ---- words ---- */

static bool is_one_letter(const char *name)
{
    size_t length = 1;
    while (((unsigned char)name[length] & 0xC0) == 0x80)
        length++;
    return name[length] == 0;
}

/* Whether letters in a row would be read as something else. */
static bool means_something(const Printer *printer, const char *word)
{
    size_t length = strlen(word);
    if (!strcmp(word, "inf") || !strcmp(word, "nan") || !strcmp(word, "pi") ||
        function_find(word, length) != FUNCTION_NONE || reduction_find(word, length) != REDUCTION_NONE)
        return true;
    return program_find(printer->program, word) != NULL;
}

static void print_letters(Printer *printer, Index *const *indices, int count)
{
    Text joined = text_new(printer->text->arena);
    for (int i = 0; i < count; i++)
        text_put(&joined, indices[i]->name);
    bool apart = printer->long_names || means_something(printer, joined.bytes);
    for (int i = 0; i < count; i++)
        text_print(printer->text, "%s%s", apart && i ? " " : "", indices[i]->name);
}

/* Behind an arrow or a reduction. */
static void print_indices(Printer *printer, Index *const *indices, int count)
{
    bool brackets = printer->long_names || count == 0;
    text_put(printer->text, brackets ? "[" : "");
    for (int i = 0; i < count; i++)
        text_print(printer->text, "%s%s", brackets && i ? "," : "", indices[i]->name);
    text_put(printer->text, brackets ? "]" : "");
}

static void print_number(Text *text, double value)
{
    char digits[40];
    if (isnan(value) || isinf(value)) {
        text_put(text, isnan(value) ? "nan" : "inf");
        return;
    }
    int precision = 15;
    do
        snprintf(digits, sizeof digits, "%.*g", precision, value);
    while (strtod(digits, NULL) != value && precision++ < 17);
    text_print(text, "%s%s", digits, strpbrk(digits, ".e") ? "" : ".");
}

static void print_dtype(Printer *printer, const Tensor *tensor)
{
    if (tensor->maker || printer->written[tensor->id])
        return;
    printer->written[tensor->id] = true;
    if (tensor->dtype != DTYPE_F32)
        text_print(printer->text, ":%s", dtype_name(tensor->dtype));
}

/* ---- expressions ---- */

static void print_read(Printer *printer, const Term *term);

static void print_position(Printer *printer, const Position *position)
{
    for (int k = 0; k < position->count; k++) {
        const PositionPart *part = &position->parts[k];
        int64_t c = part->coefficient;
        text_put(printer->text, c < 0 ? "-" : k ? "+" : "");
        if (c != 1 && c != -1)
            text_print(printer->text, "%llu*", (unsigned long long)(c < 0 ? 0 - (uint64_t)c : (uint64_t)c));
        if (part->index)
            text_put(printer->text, part->index->name);
        else
            print_read(printer, part->gather);
    }
    if (position->constant || !position->count)
        text_print(printer->text, position->count ? "%+lld" : "%lld", (long long)position->constant);
}

static void print_positions(Printer *printer, const Position *positions, int rank)
{
    text_put(printer->text, "[");
    for (int a = 0; a < rank; a++) {
        text_put(printer->text, a ? "," : "");
        print_position(printer, &positions[a]);
    }
    text_put(printer->text, "]");
}

static void print_read(Printer *printer, const Term *term)
{
    const Tensor *tensor = term->read.tensor;
    if (tensor->name) {
        text_put(printer->text, tensor->name);
        print_positions(printer, term->read.positions, tensor->rank);
    } else {
        Index **letters = ARENA_ARRAY(printer->text->arena, Index *, tensor->rank);
        for (int a = 0; a < tensor->rank; a++)
            letters[a] = term->read.positions[a].parts[0].index;
        print_letters(printer, letters, tensor->rank);
    }
    print_dtype(printer, tensor);
}

static bool is_scalar_operand(const Term *term)
{
    return term->kind == TERM_READ && !term->read.tensor->name && term->read.tensor->rank == 0;
}

static const Term *strip(const Term *term)
{
    while (term->kind == TERM_MAP && term->map.function == FUNCTION_CAST && term->map.implicit)
        term = term->map.arguments[0];
    return term;
}

static bool is_product(const Term *term)
{
    return term->kind == TERM_MAP && term->map.function == FUNCTION_MUL;
}

/* A product that only commas can write, since one of its factors is the operand without letters. */
static bool needs_commas(const Term *term)
{
    term = strip(term);
    for (; is_product(term); term = strip(term->map.arguments[0]))
        if (is_scalar_operand(strip(term->map.arguments[1])))
            return true;
    return is_scalar_operand(term);
}

/* Reads outside of any where's branch, as written, and inside one. */
static void read_places(const Term *term, bool *outside, bool *inside)
{
    switch (term->kind) {
    case TERM_READ: *(term->read.in_where ? inside : outside) = true; break;
    case TERM_MAP:
        for (int i = 0; i < term->map.count; i++)
            read_places(term->map.arguments[i], outside, inside);
        break;
    case TERM_SELECT:
        read_places(term->select.condition, outside, inside);
        read_places(term->select.yes, outside, inside);
        read_places(term->select.no, outside, inside);
        break;
    default: break;
    }
}

/* Whether a term can only have been the value so far. */
static bool is_value(const Printer *printer, const Term *term)
{
    if (term->kind == TERM_CONTRACT || term->kind == TERM_REDUCE || printer->uses[term->id] > 1)
        return true;
    bool outside = false, inside = false;
    if (printer->in_where)
        read_places(term, &outside, &inside);
    return outside && !inside;
}

static bool is_boundary(const Printer *printer, const Term *term)
{
    return is_value(printer, term) || needs_commas(term);
}

/* The term behind implicit casts, or the first of the casts that is a boundary. */
static const Term *strip_to_boundary(const Printer *printer, const Term *term)
{
    return is_boundary(printer, term) ? term : strip(term);
}

static void print_expr(Printer *printer, const Term *term, int least);

static void print_list(Printer *printer, Term *const *terms, int count)
{
    text_put(printer->text, "(");
    for (int i = 0; i < count; i++) {
        text_put(printer->text, i ? ", " : "");
        print_expr(printer, terms[i], LOWEST);
    }
    text_put(printer->text, ")");
}

static void print_where(Printer *printer, const Term *term)
{
    bool in_where = printer->in_where;
    text_put(printer->text, "where(");
    print_expr(printer, term->select.condition, LOWEST);
    printer->in_where = true;
    text_put(printer->text, ", ");
    print_expr(printer, term->select.yes, LOWEST);
    text_put(printer->text, ", ");
    print_expr(printer, term->select.no, LOWEST);
    printer->in_where = in_where;
    text_put(printer->text, ")");
}

static int precedence_of(Function function)
{
    switch (function) {
    case FUNCTION_OR: return OR;
    case FUNCTION_AND: return AND;
    case FUNCTION_LT: case FUNCTION_LE: case FUNCTION_GT: case FUNCTION_GE: case FUNCTION_EQ: case FUNCTION_NE:
        return COMPARE;
    case FUNCTION_ADD: case FUNCTION_SUB: return SUM;
    case FUNCTION_MUL: case FUNCTION_DIV: return PRODUCT;
    case FUNCTION_NEG: case FUNCTION_NOT: return SIGN;
    case FUNCTION_POW: return POWER;
    default: return ATOM;
    }
}

static void print_map(Printer *printer, const Term *term, int least)
{
    Function function = term->map.function;
    Term *const *arguments = term->map.arguments;
    int precedence = precedence_of(function);
    /* At the far left of a stage a minus would be taken for the operator behind an implied "_". */
    if (function == FUNCTION_NEG && printer->previous && printer->text->length == printer->stage)
        least = ATOM;
    const char *name = function == FUNCTION_CAST ? dtype_name(term->dtype) : function_facts[function].name;
    if (precedence == ATOM) {
        text_put(printer->text, name);
        print_list(printer, arguments, term->map.count);
        return;
    }
    text_put(printer->text, precedence < least ? "(" : "");
    if (precedence == SIGN) {
        text_put(printer->text, function == FUNCTION_NEG ? "-" : "!");
        print_expr(printer, arguments[0], POWER);
    } else if (precedence == POWER) {
        print_expr(printer, arguments[0], ATOM);
        text_put(printer->text, "^");
        print_expr(printer, arguments[1], ATOM);
    } else {
        print_expr(printer, arguments[0], precedence == COMPARE ? SUM : precedence);
        text_print(printer->text, " %s ", name);
        print_expr(printer, arguments[1], precedence + 1);
    }
    text_put(printer->text, precedence < least ? ")" : "");
}

/* The expression without asking whether it is a boundary. */
static void print_root(Printer *printer, const Term *term, int least)
{
    switch (term->kind) {
    case TERM_READ: print_read(printer, term); break;
    case TERM_CONSTANT:
        if (term->constant.is_integer)
            text_print(printer->text, "%lld", (long long)term->constant.integer);
        else
            print_number(printer->text, term->constant.value);
        break;
    case TERM_POSITION: text_print(printer->text, "@%s", term->position->name); break;
    case TERM_MAP: print_map(printer, term, least); break;
    case TERM_SELECT: print_where(printer, term); break;
    case TERM_CONTRACT:
    case TERM_REDUCE: text_put(printer->text, "_"); break;
    }
}

static void print_expr(Printer *printer, const Term *term, int least)
{
    term = strip_to_boundary(printer, term);
    if (is_boundary(printer, term))
        text_put(printer->text, "_");
    else
        print_root(printer, term, least);
}

/* ---- chains ---- */

static const Term *find_boundary(Printer *printer, const Term *term);

/* The boundary below a term that is none. */
static const Term *find_inside(Printer *printer, const Term *term)
{
    const Term *found = NULL;
    if (term->kind == TERM_MAP) {
        for (int i = 0; i < term->map.count && !found; i++)
            found = find_boundary(printer, term->map.arguments[i]);
    } else if (term->kind == TERM_SELECT) {
        bool in_where = printer->in_where;
        found = find_boundary(printer, term->select.condition);
        printer->in_where = true;
        if (!found)
            found = find_boundary(printer, term->select.yes);
        if (!found)
            found = find_boundary(printer, term->select.no);
        printer->in_where = in_where;
    }
    return found;
}

static const Term *find_boundary(Printer *printer, const Term *term)
{
    term = strip_to_boundary(printer, term);
    return is_boundary(printer, term) ? term : find_inside(printer, term);
}

/* A factor between top-level commas or alone: any expression; the operand without letters is nothing at all. */
static void print_factor(Printer *printer, const Term *term)
{
    term = strip_to_boundary(printer, term);
    bool infinite = term->kind == TERM_CONSTANT && !term->constant.is_integer && !isfinite(term->constant.value);
    if (is_scalar_operand(term) && !printer->previous)
        return;
    text_put(printer->text, infinite ? "(" : "");
    print_expr(printer, term, LOWEST);
    text_put(printer->text, infinite ? ")" : "");
}

/* a, b, c is (a * b) * c. A cast on the left came from promotion only where just commas can write what is below. */
static void print_factors(Printer *printer, const Term *term)
{
    if (is_value(printer, term) || !is_product(term)) {
        print_factor(printer, term);
        return;
    }
    const Term *left = term->map.arguments[0];
    print_factors(printer, needs_commas(left) ? strip(left) : left);
    text_put(printer->text, ", ");
    print_factor(printer, term->map.arguments[1]);
}

static void print_arrow(Printer *printer, const Term *term)
{
    text_put(printer->text, " -> ");
    print_indices(printer, term->indices, term->rank);
}

static void print_chain(Printer *printer, const Term *term);

static void begin_stage(Printer *printer, const Term *previous)
{
    if (previous) {
        print_chain(printer, previous);
        text_put(printer->text, " | ");
    }
    printer->previous = previous;
    printer->stage = printer->text->length;
}

static void print_reduction(Printer *printer, const Term *term)
{
    text_put(printer->text, reduction_facts[term->reduce.reduction].name);
    if (term->reduce.has_parameter) {
        double p = term->reduce.parameter;
        text_put(printer->text, signbit(p) ? "(-" : "(");
        if (p == floor(p) && fabs(p) < 1e15)
            text_print(printer->text, "%.0f", fabs(p));
        else
            print_number(printer->text, fabs(p));
        text_put(printer->text, ")");
    }
    text_put(printer->text, " ");
    print_indices(printer, term->reduce.over, term->reduce.over_count);
}

/* Whether `indices` are in the order of a stage without an arrow: those of the value so far, then the new ones as they
 * first appear in the expression. */
static bool is_stage_order(Index *const *indices, const Term *value, const Term *expression)
{
    int count = value->rank;
    for (int i = 0; i < count; i++)
        if (indices[i] != value->indices[i])
            return false;
    for (int i = 0; i < expression->rank; i++)
        if (!term_has_index(value, expression->indices[i]) && indices[count++] != expression->indices[i])
            return false;
    return true;
}

/* A stage, or the head, with an arrow only if it takes one. */
static void print_pointwise(Printer *printer, const Term *term)
{
    if (needs_commas(term)) {
        begin_stage(printer, NULL);
        print_factors(printer, term);
        print_arrow(printer, term);
        return;
    }
    const Term *value = find_inside(printer, term);
    begin_stage(printer, value);
    bool infinite = term->kind == TERM_CONSTANT && !term->constant.is_integer && !isfinite(term->constant.value);
    text_put(printer->text, infinite ? "(" : "");
    print_root(printer, term, LOWEST);
    text_put(printer->text, infinite ? ")" : "");
    if (value && !is_stage_order(term->indices, value, term))
        print_arrow(printer, term);
}

static void print_contract(Printer *printer, const Term *term)
{
    const Term *argument = term->reduce.argument;
    bool commas = !is_value(printer, argument) && needs_commas(argument);
    const Term *value = commas ? NULL : find_boundary(printer, argument);
    begin_stage(printer, value);
    print_factors(printer, commas ? strip(argument) : argument);
    bool implied = value && term->reduce.declared == DTYPE_NONE && !term->reduce.over_count &&
                   !is_boundary(printer, strip_to_boundary(printer, argument)) &&
                   is_stage_order(term->indices, value, argument);
    if (implied)
        return;
    print_arrow(printer, term);
    if (term->reduce.declared != DTYPE_NONE)
        text_print(printer->text, ":%s", dtype_name(term->reduce.declared));
}

static void print_chain(Printer *printer, const Term *term)
{
    term = strip(term);
    if (term->kind == TERM_REDUCE) {
        print_chain(printer, term->reduce.argument);
        text_put(printer->text, " | ");
        print_reduction(printer, term);
    } else if (term->kind == TERM_CONTRACT) {
        print_contract(printer, term);
    } else {
        print_pointwise(printer, term);
    }
}

/* ---- statements ---- */

static void count_uses(Printer *printer, const Term *term)
{
    switch (term->kind) {
    case TERM_MAP:
        for (int i = 0; i < term->map.count; i++)
            printer->uses[term->map.arguments[i]->id]++;
        break;
    case TERM_SELECT:
        printer->uses[term->select.condition->id]++;
        printer->uses[term->select.yes->id]++;
        printer->uses[term->select.no->id]++;
        break;
    case TERM_CONTRACT:
    case TERM_REDUCE: printer->uses[term->reduce.argument->id]++; break;
    default: break;
    }
}

static void begin_statement(Printer *printer, const Statement *statement)
{
    printer->long_names = false;
    for (int i = 0; i < printer->program->index_count; i++) {
        const Index *index = printer->program->indices[i];
        if (index->statement == statement->id && !is_one_letter(index->name))
            printer->long_names = true;
    }
}

static void print_statement(Printer *printer, const Statement *statement)
{
    const Output *output = &statement->outputs[0];
    begin_statement(printer, statement);
    printer->previous = NULL;
    if (statement->named) {
        text_put(printer->text, output->tensor->name);
        print_positions(printer, output->positions, output->tensor->rank);
        if (statement->declared != DTYPE_NONE)
            text_print(printer->text, ":%s", dtype_name(statement->declared));
        text_put(printer->text, statement->accumulate ? " += " : " = ");
    }
    if (statement->output_count == 1) {
        print_chain(printer, output->value);
        return;
    }
    print_chain(printer, strip(output->value)->reduce.argument);
    for (int o = 0; o < statement->output_count; o++) {
        text_put(printer->text, o ? " & " : " | ");
        print_reduction(printer, statement->outputs[o].value);
    }
}

static Printer printer_new(Text *text, const Program *program)
{
    Printer printer = { .text = text, .program = program };
    printer.uses = ARENA_ARRAY(text->arena, int, program->term_count);
    printer.written = ARENA_ARRAY(text->arena, bool, program->tensor_count);
    for (int i = 0; i < program->term_count; i++)
        count_uses(&printer, program->terms[i]);
    return printer;
}

void program_print(Text *text, const Program *program)
{
    Printer printer = printer_new(text, program);
    for (int s = 0; s < program->statement_count; s++) {
        text_put(text, s ? "\n" : "");
        print_statement(&printer, program->statements[s]);
    }
}

void term_print(Text *text, const Program *program, const Term *term)
{
    Printer printer = printer_new(text, program);
    begin_statement(&printer, program->statements[term->statement]);
    print_chain(&printer, term);
}
