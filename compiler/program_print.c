/* The Program in the notation.
 *
 * A statement's terms become a chain again: a term that `is_value` ends a stage, and what follows reads it as "_".
 * Implicit casts are left out: reading puts them back. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

typedef struct Printer {
    Text *text;
    const Program *program;
    bool *written;                /* [tensor id]: whether its dtype was printed */
    bool long_names;              /* the statement at hand has an index of several letters */
    bool in_head;                 /* before the first "|", where an operand may be nothing at all */
    bool in_stage;                /* behind a "|", where a word that begins the expression may name a stage */
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

static bool is_constant(const char *word)
{
    return !strcmp(word, "inf") || !strcmp(word, "nan") || !strcmp(word, "pi");
}

/* Whether letters in a row would be read as something else. */
static bool means_something(const Printer *printer, const char *word)
{
    size_t length = strlen(word);
    if (is_constant(word) || function_find(word, length) != FUNCTION_NONE ||
        reduction_find(word, length) != REDUCTION_NONE)
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

/* `constant`: without its dtype the word would be inf, nan or pi. */
static void print_dtype(Printer *printer, const Tensor *tensor, bool constant)
{
    if (tensor->maker || (printer->written[tensor->id] && !constant))
        return;
    printer->written[tensor->id] = true;
    if (tensor->dtype != DTYPE_F32 || constant)
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
    bool constant = false;
    if (tensor->name) {
        text_put(printer->text, tensor->name);
        print_positions(printer, term->read.positions, tensor->rank);
    } else {
        Index **letters = ARENA_ARRAY(printer->text->arena, Index *, tensor->rank);
        for (int a = 0; a < tensor->rank; a++)
            letters[a] = term->read.positions[a].parts[0].index;
        print_letters(printer, letters, tensor->rank);
        text_put(printer->text, tensor->rank ? "" : "...");    /* which stand for no dimension */
        constant = tensor->rank == 1 && is_constant(letters[0]->name);
    }
    print_dtype(printer, tensor, constant);
}

static bool is_scalar_operand(const Term *term)
{
    return term->kind == TERM_READ && !term->read.tensor->name && term->read.tensor->rank == 0;
}

static bool is_implicit_cast(const Term *term)
{
    return term->kind == TERM_MAP && term->map.function == FUNCTION_CAST && term->map.implicit;
}

/* The term behind implicit casts, or the first of them that is a stage's value. */
static const Term *strip(const Term *term)
{
    while (!term->is_value && is_implicit_cast(term))
        term = term->map.arguments[0];
    return term;
}

static void print_expr(Printer *printer, const Term *term, int least);

static void print_list_of(Printer *printer, const char *name, Term *const *terms, int count)
{
    text_print(printer->text, "%s(", name);
    for (int i = 0; i < count; i++) {
        text_put(printer->text, i ? ", " : "");
        print_expr(printer, terms[i], LOWEST);
    }
    text_put(printer->text, ")");
}

static void print_where(Printer *printer, const Term *term)
{
    print_list_of(printer, "where", (Term *[]){ term->select.condition, term->select.yes, term->select.no }, 3);
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
    const char *name = function == FUNCTION_CAST ? dtype_name(term->dtype) : function_facts[function].name;
    if (precedence == ATOM) {
        print_list_of(printer, name, arguments, term->map.count);
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

/* The expression that makes the term, even where "_" stands for it elsewhere. */
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
    case TERM_EXTENT: text_print(printer->text, "extent(%s)", term->extent->name); break;
    case TERM_MAP: print_map(printer, term, least); break;
    case TERM_SELECT: print_where(printer, term); break;
    case TERM_CONTRACT:
    case TERM_REDUCE: text_put(printer->text, "_"); break;
    }
}

static void print_expr(Printer *printer, const Term *term, int least)
{
    term = strip(term);
    if (term->is_value)
        text_put(printer->text, "_");
    else
        print_root(printer, term, least);
}

/* ---- factors ---- */

/* Whether the text begins with an operand whose name, right behind a "|", would be taken for a reduction or function. */
static bool begins_with_word(const Term *term, bool root)
{
    if (term->is_value && !root)
        return false;
    bool is_operator = term->kind == TERM_MAP && term->map.count == 2 && precedence_of(term->map.function) != ATOM;
    if (is_operator || is_implicit_cast(term))
        return begins_with_word(term->map.arguments[0], false);
    if (term->kind != TERM_READ || (!term->read.tensor->name && !term->read.tensor->rank))
        return false;
    const Tensor *tensor = term->read.tensor;
    const char *word = tensor->name ? tensor->name : term->read.positions[0].parts[0].index->name;
    size_t length = strlen(word);
    return reduction_find(word, length) != REDUCTION_NONE ||
           (!tensor->name && function_find(word, length) != FUNCTION_NONE);
}

/* A factor between top-level commas or alone: any expression. An operand without letters is nothing at all in the head,
 * unless it has a dtype; what would be read as something else here stands in parentheses. */
static void print_factor(Printer *printer, const Term *term, bool root)
{
    if (is_scalar_operand(term) && term->dtype == DTYPE_F32 && printer->in_head && (root || !term->is_value))
        return;
    bool infinite = term->kind == TERM_CONSTANT && !term->constant.is_integer && !isfinite(term->constant.value);
    bool apart = (root || !term->is_value) && (infinite || (printer->in_stage && begins_with_word(term, root)));
    text_put(printer->text, apart ? "(" : "");
    if (root)
        print_root(printer, term, LOWEST);
    else
        print_expr(printer, term, LOWEST);
    text_put(printer->text, apart ? ")" : "");
    printer->in_stage = false;
}

/* a, b, c is (a * b) * c. `root`: the term itself, even where "_" stands for it elsewhere. */
static void print_factors(Printer *printer, const Term *term, bool root)
{
    if (!root)
        term = strip(term);
    if ((term->is_value && !root) || term->kind != TERM_MAP || !term->map.comma) {
        print_factor(printer, term, root);
        return;
    }
    print_factors(printer, term->map.arguments[0], false);
    text_put(printer->text, ", ");
    print_factor(printer, strip(term->map.arguments[1]), false);
}

/* Whether print_factors() gives a subscript string, which without an arrow follows numpy's implicit rule. */
static bool is_subscript_string(const Term *term, bool root)
{
    if (!root)
        term = strip(term);
    if (term->is_value && !root)
        return false;
    if (term->kind == TERM_MAP && term->map.comma)
        return is_subscript_string(term->map.arguments[0], false) && is_subscript_string(term->map.arguments[1], false);
    return term->kind == TERM_READ && !term->read.tensor->name;
}

/* ---- chains ---- */

/* The value so far of the stage that makes `term`: the one below it. */
static const Term *find_value(const Term *term)
{
    const Term *below[3] = { NULL }, *found = NULL;
    switch (term->kind) {
    case TERM_MAP:
        for (int i = 0; i < term->map.count; i++)
            below[i] = term->map.arguments[i];
        break;
    case TERM_SELECT:
        below[0] = term->select.condition, below[1] = term->select.yes, below[2] = term->select.no;
        break;
    case TERM_CONTRACT:
    case TERM_REDUCE: below[0] = term->reduce.argument; break;
    default: break;
    }
    for (int i = 0; i < 3 && below[i] && !found; i++)
        found = below[i]->is_value ? below[i] : find_value(below[i]);
    return found;
}

static void print_arrow(Printer *printer, const Term *term)
{
    const Text *text = printer->text;
    bool blank = text->length > 0 && text->bytes[text->length - 1] != ' ';    /* an empty operand leaves one */
    text_put(printer->text, blank ? " -> " : "-> ");
    print_indices(printer, term->indices, term->rank);
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

/* Whether the indices are in the order of a stage without an arrow: those of the value so far, then the new ones as they
 * first appear in the expression. */
static bool is_stage_order(const Term *term, const Term *value, const Term *expression)
{
    int count = value->rank;
    for (int i = 0; i < count; i++)
        if (i >= term->rank || term->indices[i] != value->indices[i])
            return false;
    for (int i = 0; i < expression->rank; i++)
        if (!term_has_index(value, expression->indices[i]) && term->indices[count++] != expression->indices[i])
            return false;
    return true;
}

/* One stage, or the head when there is no value below. `arrow`: the head needs one though it sums nothing. */
static void print_stage(Printer *printer, const Term *term, const Term *value, bool arrow)
{
    printer->in_stage = value != NULL;
    printer->in_head = !value;
    if (term->kind == TERM_REDUCE) {
        print_reduction(printer, term);
        return;
    }
    bool contracts = term->kind == TERM_CONTRACT;
    const Term *expression = contracts ? term->reduce.argument : term;
    Dtype declared = contracts ? term->reduce.declared : DTYPE_NONE;
    print_factors(printer, expression, !contracts);
    if (value)
        arrow = declared != DTYPE_NONE || (contracts && term->reduce.over_count) ||
                !is_stage_order(term, value, expression);
    if (arrow || (!value && (contracts || is_subscript_string(expression, true))))
        print_arrow(printer, term);
    if (declared != DTYPE_NONE)
        text_print(printer->text, ":%s", dtype_name(declared));
}

/* The stage that makes a value: the term behind the casts that its arrow's dtype put there. */
static const Term *stage_of(const Term *value)
{
    while (is_implicit_cast(value))
        value = value->map.arguments[0];
    return value;
}

/* The chain up to a value. `arrow`: as in print_stage(), for a chain of the head alone. */
static void print_chain(Printer *printer, const Term *value, bool arrow)
{
    const Term *term = stage_of(value), *previous = find_value(term);
    if (previous) {
        print_chain(printer, previous, false);
        text_put(printer->text, " | ");
    }
    print_stage(printer, term, previous, arrow && !previous);
}

/* ---- statements ---- */

static void begin_statement(Printer *printer, const Statement *statement)
{
    printer->long_names = false;
    for (int i = 0; i < printer->program->index_count; i++) {
        const Index *index = printer->program->indices[i];
        if (index->statement == statement->id && !is_one_letter(index->name))
            printer->long_names = true;
    }
}

/* Whether a chain of the head alone would, without an arrow, get its indices in the target's order: another one. */
static bool needs_order(const Output *output, const Term *head)
{
    int next = 0;
    for (int a = 0; a < output->tensor->rank; a++)
        for (int k = 0; k < output->positions[a].count; k++) {
            const PositionPart *part = &output->positions[a].parts[k];
            Index *const *indices = part->gather ? part->gather->indices : &part->index;
            for (int i = 0, n = part->gather ? part->gather->rank : 1; i < n; i++) {
                if (!term_has_index(head, indices[i]) || indices_have(head->indices, next, indices[i]))
                    continue;
                if (head->indices[next++] != indices[i])
                    return true;
            }
        }
    return false;
}

/* Whether the target's dtype would reach the head, since no stage stands between them, and did not as it was made. */
static bool needs_stage(const Statement *statement, const Term *head)
{
    return statement->declared != DTYPE_NONE && !find_value(head) &&
           (head->kind != TERM_CONTRACT || head->reduce.declared == DTYPE_NONE);
}

static void print_target(Printer *printer, const Statement *statement)
{
    const Output *output = &statement->outputs[0];
    text_put(printer->text, output->tensor->name);
    print_positions(printer, output->positions, output->tensor->rank);
    if (statement->declared != DTYPE_NONE)
        text_print(printer->text, ":%s", dtype_name(statement->declared));
    text_put(printer->text, statement->accumulate ? " += " : " = ");
}

static void print_statement(Printer *printer, const Statement *statement)
{
    const Output *output = &statement->outputs[0];
    begin_statement(printer, statement);
    if (statement->named)
        print_target(printer, statement);
    if (statement->output_count > 1) {
        print_chain(printer, find_value(output->value), false);
        for (int o = 0; o < statement->output_count; o++) {
            text_put(printer->text, o ? " & " : " | ");
            print_reduction(printer, statement->outputs[o].value);
        }
        return;
    }
    const Term *last = stage_of(output->value);
    bool more = needs_stage(statement, last);
    print_chain(printer, output->value, statement->named && needs_order(output, last));
    if (more) {
        text_put(printer->text, " | _");
        print_arrow(printer, last);
    }
}

/* Whether a newline between two statements ends nothing: beside an operator, a comma or an arrow a statement goes on. */
static bool runs_on(const char *before, const char *after)
{
    size_t length = strlen(before);
    while (length && before[length - 1] == ' ')
        length--;
    return strchr("-,", after[0]) || (length && strchr(",=>", before[length - 1]));
}

void program_print(Text *text, const Program *program)
{
    bool *written = ARENA_ARRAY(text->arena, bool, program->tensor_count);
    Printer printer = { .text = text, .program = program, .written = written };
    for (int s = 0; s < program->statement_count; s++) {
        Text own = text_new(text->arena);
        printer.text = &own;
        print_statement(&printer, program->statements[s]);
        text_put(text, s == 0 ? "" : runs_on(text->bytes, own.bytes) ? ";\n" : "\n");
        text_put(text, own.bytes);
    }
}
