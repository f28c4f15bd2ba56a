/* What a user of Python, C, numpy or einops probably meant where the text is no program. Looks at the text alone. */
#include <ctype.h>
#include <string.h>

#include "parser.h"

/* What stands for something else elsewhere. */
static const struct {
    const char *written, *hint;
} foreign[] = {
    { "%", "the remainder is 'mod(a, b)'" },
    { "?", "a choice is 'where(condition, a, b)'" },
    { "~", "the logical not is '!'" },
    { "\"", "the expression is what stands between the quotes" },
    { "'", "quotes do not belong to the expression; a transposition is an order of indices: 'ij -> ji'" },
    { "`", "the expression is what stands between the quotes" },
    { "{", "indices stand in '[...]', expressions in '(...)'" },
    { "}", "indices stand in '[...]', expressions in '(...)'" },
    { "$", "a name starts with a letter" },
    { "\\", "a statement that ends with an operator goes on in the next line by itself" },
    { "and", "the logical and is '&&'" },
    { "or", "the logical or is '||'" },
    { "not", "the logical not is '!'" },
    { "if", "a choice is 'where(condition, a, b)'" },
    { "for", "loops follow from the indices: what is not behind '->' is summed" },
    { "\u2192", "the arrow is '->'" },
    { "\u21D2", "the arrow is '->'" },
    { "\u2212", "the minus is '-'" },
    { "\u2013", "the minus is '-'" },
    { "\u00B7", "a product is '*' or ','" },
    { "\u22C5", "a product is '*' or ','" },
    { "\u221E", "infinity is 'inf'" },
    { "\u2264", "write '<='" },
    { "\u2265", "write '>='" },
    { "\u2260", "write '!='" },
    { "\u2211", "a sum is a stage: '... | sum j'" },
    { "\u2026", "an ellipsis is three dots: '...'" },
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_word(char c)
{
    return c == '_' || isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* The end of what stands before `at`, blanks left out. */
static size_t back(const Source *source, size_t at)
{
    while (at > 0 && is_blank(source->text[at - 1]))
        at--;
    return at;
}

/* The word that ends at `end`; empty when there is none. */
static Span word_at(const Source *source, size_t end)
{
    size_t begin = end;
    while (begin > 0 && is_word(source->text[begin - 1]))
        begin--;
    return (Span){ begin, end };
}

static bool is_text(const Source *source, Span at, const char *text)
{
    size_t length = strlen(text);
    return at.end - at.begin == length && !memcmp(source->text + at.begin, text, length);
}

static char before(const Source *source, size_t at)
{
    size_t end = back(source, at);
    return end ? source->text[end - 1] : 0;
}

/* Whether an operand or a number ends before `at`. */
static bool after_value(const Source *source, size_t at)
{
    char c = before(source, at);
    return c == ']' || c == ')' || is_word(c);
}

/* Whether the word begins a stage. */
static bool begins_stage(const Source *source, Span word)
{
    char c = before(source, word.begin);
    return c == '|' || c == '&';
}

static Reduction reduction_at(const Source *source, Span word)
{
    return reduction_find(source->text + word.begin, word.end - word.begin);
}

/* Where the bracket opens that is still open at `at`; `at` when there is none. */
static size_t open_bracket(const Source *source, size_t at)
{
    int depth = 0;
    for (size_t i = at; i > 0; i--) {
        char c = source->text[i - 1];
        depth += (c == ')' || c == ']') - (c == '(' || c == '[');
        if (depth < 0)
            return i - 1;
    }
    return at;
}

/* The reduction's name before `at`, with its parameters or without: "| sum", "| topk(3)"; empty when there is none. */
static Span reduction_before(const Source *source, size_t at)
{
    size_t end = back(source, at);
    if (end && source->text[end - 1] == ')')
        end = back(source, open_bracket(source, end - 1));
    Span word = word_at(source, end);
    return begins_stage(source, word) && reduction_at(source, word) != REDUCTION_NONE ? word : (Span){ at, at };
}

/* What to say about what stands behind a stage's "name(...)", "name[...]" or "name" without being a list of words. */
static const char *stage_hint(const Parser *parser, Span at)
{
    const Source *source = parser->source;
    size_t open = open_bracket(source, at.begin), end = back(source, open < at.begin ? open : at.begin);
    bool closed = end && source->text[end - 1] == ')';
    if (closed)
        end = back(source, open_bracket(source, end - 1));
    Span name = word_at(source, end);
    while (!closed && name.begin < name.end && !begins_stage(source, name) && is_word(before(source, name.begin)))
        name = word_at(source, back(source, name.begin));
    Reduction reduction = reduction_at(source, name);
    const char *word = source->text + name.begin;
    int length = (int)(name.end - name.begin);
    if (!length || !begins_stage(source, name))
        return NULL;
    if (closed && reduction == REDUCTION_NONE && function_find(word, (size_t)length) == FUNCTION_NONE)
        return ops_reduction_hint(parser->arena, word, (size_t)length);
    if (closed && reduction != REDUCTION_NONE && reduction_facts[reduction].parameters == NO_PARAMETER)
        return arena_format(parser->arena, "'%.*s' takes no number: '%.*s j'", length, word, length, word);
    if (!closed && reduction != REDUCTION_NONE && reduction_facts[reduction].parameters != NO_PARAMETER &&
        at.begin < source->length && isdigit((unsigned char)source->text[at.begin]))
        return arena_format(parser->arena, "its number stands in parentheses, behind the name: '%.*s(%.*s) j'",
                            length, word, (int)(at.end - at.begin), source->text + at.begin);
    return NULL;
}

/* What to say about a word, or about anything behind a stage's word. */
static const char *word_hint(const Parser *parser, Span at)
{
    const Source *source = parser->source;
    size_t open = open_bracket(source, at.begin);
    if (open < at.begin && source->text[open] == '(') {
        Span name = word_at(source, back(source, open));
        if (begins_stage(source, name) && reduction_at(source, name) != REDUCTION_NONE)
            return "the indices of a reduction stand behind its name: 'sum j', 'topk(10) n'";
    }
    const char *hint = stage_hint(parser, at);
    if (hint)
        return hint;
    Span reduction = reduction_before(source, at.begin);
    Reduction named = reduction_at(source, reduction);
    bool needs_number = named != REDUCTION_NONE && reduction_facts[named].parameters == NEEDS_PARAMETER;
    if (reduction.end < at.begin || (reduction.begin < reduction.end && reduction.end == at.begin))
        return arena_format(parser->arena, "'%.*s' wants the indices that it runs over, as in '%.*s%s j'",
                            (int)(reduction.end - reduction.begin), source->text + reduction.begin,
                            (int)(reduction.end - reduction.begin), source->text + reduction.begin,
                            needs_number ? "(10)" : "");
    Span last = word_at(source, back(source, at.begin));
    if (last.begin == last.end || before(source, last.begin) == ':')    /* a dtype */
        return NULL;
    const char *near = !begins_stage(source, last) ? NULL
                       : ops_nearest_reduction(parser->arena, source->text + last.begin, last.end - last.begin);
    if (near)
        return near;
    bool digits = false;
    for (size_t i = last.begin; i < last.end; i++)
        digits |= isdigit((unsigned char)source->text[i]) || source->text[i] == '_';
    if (digits && isalpha((unsigned char)source->text[last.begin]))
        return "an operand of letters has letters only; a named one needs brackets, as in 'x1[i,j]'";
    return NULL;
}

/* Whether nothing but words stands between an arrow and `at`. */
static bool behind_arrow(const Source *source, size_t at)
{
    while (at > 0 && (is_blank(source->text[at - 1]) || is_word(source->text[at - 1])))
        at--;
    return at > 1 && source->text[at - 1] == '>' && source->text[at - 2] == '-';
}

/* Whether the last stage before `at` is joined to another with '&'. */
static bool behind_and(const Source *source, size_t at)
{
    while (at > 0 && !strchr("|&;\n", source->text[at - 1]))
        at--;
    return at > 0 && source->text[at - 1] == '&';
}

static const char *sign_hint(const Source *source, Span at)
{
    char c = source->text[at.begin], last = before(source, at.begin);
    bool doubled = at.begin > 0 && source->text[at.begin - 1] == c;
    size_t open = open_bracket(source, at.begin);
    bool in_brackets = open < at.begin && source->text[open] == '[';
    if (c == '>' && last == '-')
        return "the arrow is '->', without a blank";
    if (is_text(source, at, "->"))
        return "an expression has one arrow; a further one is a stage: '| -> ij'";
    if (c == '*' && doubled)
        return "a power is written '^'";
    if (c == '/' && doubled)
        return "division to an integer is 'floor(a / b)'";
    if (c == '|' && behind_and(source, at.begin))
        return "'&' joins reductions at the end of a chain; for what is to follow, write one statement for each";
    if (c == '|' && last == '|')
        return "a stage is missing here; logical or is '||'";
    if (c == '&')
        return "logical and is '&&'; '&' joins the last reductions of a chain, as in 'max n & argmax n'";
    if (c == '@' && after_value(source, at.begin))
        return "a matrix product is 'ij,jk->ik'; '@i' is the position along i";
    if (c == '.' && at.begin + 1 < source->length && source->text[at.begin + 1] == '.')
        return "an ellipsis is three dots: '...'";
    if (c == '.')
        return "there are no methods: a reduction is a stage, '... | sum j', a transposition an order, 'ij -> ji'";
    if (c == ':' && in_brackets)
        return "there are no slices: each axis has an index or a position, as in 'x[i,2*j+1]'";
    if (c == ':' && before(source, word_at(source, back(source, at.begin)).begin) == ':')
        return "a dtype stands once; a conversion is a stage: '... | f32'";
    if (c == '(' && behind_arrow(source, at.begin))
        return "indices are not grouped: an axis of the result is one index";
    Span word = word_at(source, back(source, at.begin));
    if (c == '[' && word.begin < word.end && behind_arrow(source, at.begin))
        return "behind '->' stand indices alone: '-> [i,j]'";
    if (c == '[' && word.begin < word.end && after_value(source, word.begin))
        return "operands are multiplied with ',' or '*'";
    if (c == '[' && word.begin == word.end && last != ']' && last != ')')
        return "an operand with brackets has a name: 'A[i,j]'";
    if (c == '=' && at.end < source->length && source->text[at.end] == '>')
        return "the arrow is '->'";
    if (c == '=' && (is_text(source, word, "axis") || is_text(source, word, "dim")))
        return "axes have no numbers: a reduction names its indices, as in '| sum j'";
    if (c == '[' && last == ']')
        return "all positions stand in one pair of brackets: 'x[i,j]'";
    if (c == '=' && at.end - at.begin == 1)
        return "a comparison is '=='; what a statement makes stands at its beginning: 'y[i] = ...'";
    if (strchr("<>=!", c) && after_value(source, at.begin))
        return "comparisons do not chain: 'a < b && b < c'";
    return NULL;
}

const char *parse_hint(const Parser *parser, Span at)
{
    const Source *source = parser->source;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (is_text(source, at, foreign[i].written))
            return foreign[i].hint;
    if (at.begin >= source->length || at.begin == at.end || is_blank(source->text[at.begin])) {
        size_t open = open_bracket(source, at.begin);
        int line, column;
        const char *hint = word_hint(parser, at);
        if (hint || open == at.begin)
            return hint;
        diag_place(source, open, &line, &column);
        return arena_format(parser->arena, "the '%c' in line %d, column %d is not closed", source->text[open], line,
                            column);
    }
    char c = source->text[at.begin];
    char ends = source->text[at.end - 1];
    if (isdigit((unsigned char)c) && is_word(ends) && !isdigit((unsigned char)ends))
        return ends == 'j' && !isalpha((unsigned char)source->text[at.end - 2])
                   ? "the imaginary unit is 'complex(0, 1)'"
                   : "a number may not touch a letter; multiply with '*' or ','";
    if (c == '_' && at.end - at.begin > 1)
        return "a name starts with a letter; '_' alone is the value so far";
    const char *hint = word_hint(parser, at);
    if (hint)
        return hint;
    if (!is_word(c))
        return sign_hint(source, at);
    char last = before(source, at.begin);
    size_t open = open_bracket(source, at.begin);
    if (open < at.begin && source->text[open] == '[' && is_word(last))
        return isdigit((unsigned char)last) || isdigit((unsigned char)c)
                   ? "a multiple of an index is written '2*i'; ',' stands between positions"
                   : "in brackets, ',' stands between indices";
    if (last == ']' || last == ')' || isdigit((unsigned char)last) || (isdigit((unsigned char)c) && is_word(last)))
        return "operands are multiplied with ',' or '*'";
    for (size_t i = at.begin; i < at.end && !isdigit((unsigned char)c); i++)
        if (isdigit((unsigned char)source->text[i]) || source->text[i] == '_')
            return "an operand of letters has letters only; a named one needs brackets, as in 'x1[i,j]'";
    return NULL;
}
