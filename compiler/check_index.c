/* Indices and positions: what a word means, what "..." stands for, and the reads that operands become. */
#include <string.h>

#include "check.h"

static size_t letter_length(const char *letter)
{
    size_t length = 1;
    while (((unsigned char)letter[length] & 0xC0) == 0x80)
        length++;
    return length;
}

static bool is_dots(const AstWord *word) { return word->text[0] == '.'; }

static bool is_bracketed(const Check *check, const char *word)
{
    for (int i = 0; i < check->bracketed_count; i++)
        if (!strcmp(check->bracketed[i], word))
            return true;
    return false;
}

static bool is_one_index(const Check *check, const AstWord *word)
{
    return is_bracketed(check, word->text) || letter_length(word->text) == strlen(word->text);
}

static void collect_brackets(Check *check, const AstPosition *positions)
{
    for (const AstPosition *p = positions; p; p = p->next)
        for (const AstTerm *t = p->terms; t; t = t->next) {
            if (t->index && !is_bracketed(check, t->index->text))
                ARENA_APPEND(check->arena, check->bracketed, check->bracketed_count, t->index->text);
            if (t->gather)
                collect_brackets(check, t->gather->tensor.positions);
            if (t->group)
                collect_brackets(check, t->group);
        }
}

static void collect_tensor_brackets(Check *check, const AstExpr *expr, int statement)
{
    (void)statement;
    if (expr->kind == AST_TENSOR)
        collect_brackets(check, expr->tensor.positions);
}

void check_enter_brackets(Check *check, const AstStatement *statement)
{
    check->bracketed = NULL;
    check->bracketed_count = 0;
    if (statement->target)
        collect_brackets(check, statement->target->positions);
    check_walk(check, statement, 0, collect_tensor_brackets);
}

static int word_rank(const Check *check, const AstWord *word)
{
    if (is_dots(word))
        return 0;
    if (is_one_index(check, word))
        return 1;
    int letters = 0;
    for (const char *c = word->text; *c; c += letter_length(c))
        letters++;
    return letters;
}

int check_explicit_rank(Check *check, const AstExpr *operand, bool *dots)
{
    int rank = 0;
    *dots = false;
    if (operand->kind == AST_LETTERS)
        for (const AstWord *w = operand->letters.words; w; w = w->next) {
            rank += word_rank(check, w);
            *dots |= is_dots(w);
        }
    else if (operand->kind == AST_TENSOR)
        for (const AstPosition *p = operand->tensor.positions; p; p = p->next) {
            rank += !p->dots;
            *dots |= p->dots;
        }
    return rank;
}

Index *check_new_index(Check *check, const char *name, Span at)
{
    Program *p = check->program;
    Index *index = ARENA_NEW(check->arena, Index);
    index->name = name;
    index->span = at;
    index->id = p->index_count;
    index->statement = check->statement->id;
    index->rule = EXTENT_GIVEN;
    ARENA_APPEND(check->arena, p->indices, p->index_count, index);
    ARENA_APPEND(check->arena, check->scope, check->scope_count, index);
    return index;
}

Index *check_index(Check *check, const char *name, Span at)
{
    for (int i = check->scope_count - 1; i >= 0; i--)
        if (!strcmp(check->scope[i]->name, name) && !check->scope[i]->in_dots)
            return check->scope[i];
    return check_new_index(check, name, at);
}

/* Appends what one word of letters, an arrow or a reduction means. */
static void add_word(Check *check, const AstWord *word, Index ***indices, int *count)
{
    if (is_one_index(check, word)) {
        ARENA_APPEND(check->arena, *indices, *count, check_index(check, word->text, word->span));
        return;
    }
    size_t at = 0, length;
    for (const char *c = word->text; *c; c += length, at += length) {
        length = letter_length(c);
        Span span = { word->span.begin + at, word->span.begin + at + length };
        ARENA_APPEND(check->arena, *indices, *count, check_index(check, arena_copy(check->arena, c, length), span));
    }
}

bool check_indices(Check *check, const AstWord *words, Index ***indices, int *count)
{
    bool dots = false;
    for (const AstWord *w = words; w; w = w->next) {
        if (!is_dots(w)) {
            add_word(check, w, indices, count);
            continue;
        }
        if (dots) {
            diag_error(check->diags, w->span, "'...' may stand once");
            return false;
        }
        dots = true;
        for (int i = 0; i < check->dot_count; i++)
            ARENA_APPEND(check->arena, *indices, *count, check->dots[i]);
    }
    return true;
}

Index *check_position_word(Check *check, const AstWord *word)
{
    if (is_one_index(check, word))
        return check_index(check, word->text, word->span);
    diag_error(check->diags, word->span, "'@' wants one index, and no bracket names an index '%s'", word->text);
    diag_hint(check->diags, "the position along i is '@i'");
    return NULL;
}

/* ---- "..." ---- */

/* How many dimensions an operand's "..." stands for; 0 without one. */
static int dots_in(Check *check, const AstExpr *expr)
{
    bool dots;
    int rank = check_explicit_rank(check, expr, &dots);
    if (!dots)
        return 0;
    Tensor *tensor = expr->kind == AST_LETTERS ? check->operands[expr->operand]
                                               : check_name(check, expr->tensor.name->text)->tensor;
    if (!tensor)
        return 0;
    if (tensor->rank < 0) {
        diag_error(check->diags, expr->span, "the rank of %s is not known, so '...' has no length",
                   tensor_words(check->arena, tensor));
        diag_hint(check->diags, "give its shape, as in '--shape %s=2,3,4'", tensor->label);
        tensor->rank = rank;    /* so that it is said once */
        return 0;
    }
    if (tensor->rank < rank) {
        diag_error(check->diags, expr->span, "%s has %d dimensions, but %d indices", tensor_words(check->arena, tensor),
                   tensor->rank, rank);
        return 0;
    }
    return tensor->rank - rank;
}

static void count_dots(Check *check, const AstExpr *expr, int statement)
{
    (void)statement;
    int dots = expr->kind == AST_EMPTY ? 0 : dots_in(check, expr);
    if (dots > check->dot_count)
        check->dot_count = dots;
}

/* One letter as UTF-8: a-z, A-Z, then from U+00C0 on. */
static const char *nth_letter(Check *check, unsigned n)
{
    unsigned c = n < 26 ? 'a' + n : n < 52 ? 'A' + n - 26 : 0xC0 + n - 52;
    if (c < 0x80)
        return arena_format(check->arena, "%c", (int)c);
    if (c < 0x800)
        return arena_format(check->arena, "%c%c", (int)(0xC0 | c >> 6), (int)(0x80 | (c & 0x3F)));
    return arena_format(check->arena, "%c%c%c", (int)(0xE0 | c >> 12), (int)(0x80 | (c >> 6 & 0x3F)),
                        (int)(0x80 | (c & 0x3F)));
}

/* Whether the user's words may mean this letter: it is in the text, or names a given extent. */
static bool is_users(const Check *check, const char *letter)
{
    const Source *source = check->ast->source;
    for (int i = 0; i < check->options->extent_count; i++)
        if (!strcmp(check->options->extents[i].name, letter))
            return true;
    return memmem(source->text, source->length, letter, strlen(letter)) != NULL;
}

/* Names for the dimensions of "...": letters that the program does not use, so that it prints without "...". */
static void name_dots(Check *check, const AstStatement *statement)
{
    check->dots = ARENA_ARRAY(check->arena, Index *, check->dot_count);
    unsigned next = 0;
    for (int i = 0; i < check->dot_count; i++) {
        const char *letter = nth_letter(check, next++);
        while (is_users(check, letter))
            letter = nth_letter(check, next++);
        check->dots[i] = check_new_index(check, letter, statement->span);
        check->dots[i]->in_dots = true;
    }
}

/* ---- the statement's words ---- */

/* Enters the indices of all words of letters, in the order of the text. */
static void enter_letters(Check *check, const AstExpr *expr, int statement)
{
    (void)statement;
    Index **unused = NULL;
    int count = 0;
    if (expr->kind == AST_LETTERS)
        for (const AstWord *w = expr->letters.words; w; w = w->next)
            if (!is_dots(w))
                add_word(check, w, &unused, &count);
}

void check_begin_statement(Check *check, const AstStatement *statement)
{
    check->scope = NULL;
    check->scope_count = check->dot_count = check->where_depth = 0;
    check->value = NULL;
    int id = check->statement->id;
    check_enter_brackets(check, statement);
    check_walk(check, statement, id, enter_letters);
    check_walk(check, statement, id, count_dots);
    if (check->dot_count)
        name_dots(check, statement);
}

/* ---- operands ---- */

static Term *new_read(Check *check, Span span, Tensor *tensor, Position *positions)
{
    Term *term = check_new_term(check, TERM_READ, span);
    term->dtype = tensor->dtype;
    term->read.tensor = tensor;
    term->read.positions = positions;
    term->read.in_where = check->where_depth > 0;
    for (int a = 0; a < tensor->rank; a++)
        for (int k = 0; k < positions[a].count; k++) {
            const PositionPart *part = &positions[a].parts[k];
            if (part->index)
                check_add_index(check, term, part->index);
            for (int i = 0; part->gather && i < part->gather->rank; i++)
                check_add_index(check, term, part->gather->indices[i]);
        }
    return term;
}

static Position plain_position(Check *check, Index *index, Span at)
{
    PositionPart *part = ARENA_NEW(check->arena, PositionPart);
    *part = (PositionPart){ 1, index, NULL };
    return (Position){ .span = at, .count = 1, .parts = part };
}

/* The last `count` of the indices that "..." stands for: dimensions are matched from the right. */
static void add_dots(Check *check, Span at, int count, Position **positions, int *rank)
{
    for (int i = check->dot_count - count; i < check->dot_count; i++)
        ARENA_APPEND(check->arena, *positions, *rank, plain_position(check, check->dots[i], at));
}

/* Whether letters are a tensor's name; said. */
static bool means_name(Check *check, const AstExpr *letters)
{
    const AstWord *word = letters->letters.words;
    if (!check_is_name(check, letters))
        return false;
    diag_error(check->diags, letters->span, "'%s' is a tensor, and a word without brackets is an operand of letters",
               word->text);
    const Tensor *tensor = check_name(check, word->text)->tensor;
    Text hint = text_new(check->arena);
    for (int a = 0; tensor && a < tensor->rank; a++)
        text_print(&hint, "%s%s", a ? "," : "", tensor->axes && tensor->axes[a] ? tensor->axes[a]->name : "i");
    diag_hint(check->diags, "write '%s[%s]'", word->text, tensor ? hint.bytes : "...");
    return true;
}

Term *check_letters(Check *check, const AstExpr *expr)
{
    Tensor *tensor = check->operands[expr->operand];
    if (expr->kind == AST_EMPTY)
        return new_read(check, expr->span, tensor, NULL);
    if (means_name(check, expr))
        return NULL;
    Position *positions = NULL;
    int rank = 0;
    bool dots = false;
    for (const AstWord *w = expr->letters.words; w; w = w->next) {
        if (is_dots(w) && dots) {
            diag_error(check->diags, w->span, "'...' may stand once in an operand");
            return NULL;
        }
        if (is_dots(w)) {
            add_dots(check, w->span, dots_in(check, expr), &positions, &rank);
            dots = true;
            continue;
        }
        Index **indices = NULL;
        int count = 0;
        add_word(check, w, &indices, &count);
        for (int i = 0; i < count; i++)
            ARENA_APPEND(check->arena, positions, rank, plain_position(check, indices[i], w->span));
    }
    return tensor->rank == rank ? new_read(check, expr->span, tensor, positions) : NULL;
}

/* ---- positions ---- */

/* Within what an integer can be written as, with its sign in front. */
static bool add(int64_t *sum, int64_t more)
{
    return !__builtin_add_overflow(*sum, more, sum) && *sum > INT64_MIN;
}

static bool add_part(Check *check, Position *position, PositionPart part)
{
    for (int k = 0; part.index && k < position->count; k++)
        if (position->parts[k].index == part.index)
            return add(&position->parts[k].coefficient, part.coefficient);
    ARENA_APPEND(check->arena, position->parts, position->count, part);
    return true;
}

/* What a position does not depend on is not written in it: no pass would see that it is there. */
static bool depends_on_all(Check *check, const Position *position)
{
    for (int k = 0; k < position->count; k++) {
        const PositionPart *part = &position->parts[k];
        if (part->coefficient)
            continue;
        diag_error(check->diags, position->span, "this position does not depend on '%s'",
                   part->index ? part->index->name : part->gather->read.tensor->label);
        diag_hint(check->diags, "its terms add up to 0 times '%s': leave it out",
                  part->index ? part->index->name : part->gather->read.tensor->label);
        return false;
    }
    return true;
}

static Term *build_gather(Check *check, const AstExpr *expr)
{
    Term *gather = check_tensor(check, expr);
    if (gather && dtype_kind(gather->dtype) != KIND_INT) {
        diag_error(check->diags, expr->span, "a position must be an integer, and %s is %s",
                   tensor_words(check->arena, gather->read.tensor), dtype_name(gather->dtype));
        const char *label = gather->read.tensor->label;
        if (dtype_kind(gather->dtype) == KIND_FLOAT && gather->read.tensor->maker)
            diag_hint(check->diags, "make integers of its numbers: '%s = i64(...)'", label);
        else if (dtype_kind(gather->dtype) == KIND_FLOAT)
            diag_hint(check->diags, "declare it, '%s[...]:i64', or make integers of its numbers before: 'p = i64(%s[...])'", label, label);
        return NULL;
    }
    return gather;
}

/* Adds `factor` times the written terms. */
static bool add_terms(Check *check, Position *position, const AstTerm *terms, int64_t factor, int depth)
{
    for (const AstTerm *t = terms; t; t = t->next) {
        int64_t coefficient;
        bool fits = !__builtin_mul_overflow(t->coefficient, factor, &coefficient) && coefficient > INT64_MIN &&
                    depth < AST_DEPTH_MAX;
        if (fits && t->index) {
            Index *index = check_index(check, t->index->text, t->index->span);
            fits = add_part(check, position, (PositionPart){ coefficient, index, NULL });
        } else if (fits && t->gather) {
            Term *gather = build_gather(check, t->gather);
            if (!gather)
                return false;
            fits = add_part(check, position, (PositionPart){ coefficient, NULL, gather });
        } else if (fits && t->group) {
            if (!add_terms(check, position, t->group->terms, coefficient, depth + 1))
                return false;
        } else if (fits) {
            fits = add(&position->constant, coefficient);
        }
        if (!fits) {
            diag_error(check->diags, t->span, "the position does not fit into 64 bits");
            return false;
        }
    }
    return true;
}

/* `rank`: what the positions must come to, "..." included; -1 when they decide. */
bool check_positions(Check *check, const AstPosition *written, int rank, Position **positions, int *count)
{
    int plain = 0;
    bool dots = false;
    for (const AstPosition *p = written; p; p = p->next)
        plain += !p->dots;
    for (const AstPosition *p = written; p; p = p->next) {
        if (p->dots && dots) {
            diag_error(check->diags, p->span, "'...' may stand once in an operand");
            return false;
        }
        if (p->dots) {
            add_dots(check, p->span, rank < 0 ? check->dot_count : rank - plain, positions, count);
            dots = true;
            continue;
        }
        Position position = { .span = p->span };
        if (!add_terms(check, &position, p->terms, 1, 0) || !depends_on_all(check, &position))
            return false;
        if (position.count == 0 && position.constant < 0) {
            diag_error(check->diags, p->span, "position %lld is out of range", (long long)position.constant);
            diag_hint(check->diags, "positions count from 0; there is no counting from the end");
            return false;
        }
        ARENA_APPEND(check->arena, *positions, *count, position);
    }
    if (*count > RANK_MAX) {
        diag_error(check->diags, written->span, "a tensor has at most %d dimensions", RANK_MAX);
        return false;
    }
    return true;
}

Term *check_tensor(Check *check, const AstExpr *expr)
{
    Name *name = check_name(check, expr->tensor.name->text);
    Tensor *tensor = name->tensor;
    if (!tensor)    /* its statement failed, and said so */
        return NULL;
    bool dots;
    int rank = check_explicit_rank(check, expr, &dots);
    if (dots ? rank > tensor->rank : rank != tensor->rank) {
        diag_error(check->diags, expr->span, "'%s' has rank %d, but %d position%s", name->text, tensor->rank, rank,
                   rank == 1 ? "" : "s");
        if (tensor->maker)
            diag_note(check->diags, tensor->span, "it is made here");
        return NULL;
    }
    if (tensor->maker && expr->tensor.dtype.dtype != DTYPE_NONE && expr->tensor.dtype.dtype != tensor->dtype) {
        diag_error(check->diags, expr->tensor.dtype.span, "'%s' is %s", name->text, dtype_name(tensor->dtype));
        diag_hint(check->diags, "a cast is a function: '%s(...)'", dtype_name(expr->tensor.dtype.dtype));
        return NULL;
    }
    Position *positions = NULL;
    int count = 0;
    if (!check_positions(check, expr->tensor.positions, tensor->rank, &positions, &count))
        return NULL;
    return new_read(check, expr->span, tensor, positions);
}
