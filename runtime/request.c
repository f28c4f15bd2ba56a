/* What a kernel's text depends on, all of it, as a key: the same request to the same compiler gives the same text, and one that
 * differs in anything has a key of its own. Different requests may give the same text. */
#include "runtime.h"

#include <string.h>

/* Each word with its length in front, so that what words say together does not depend on where one ends. */
static void put_word(Text *text, const char *word)
{
    if (word)
        text_print(text, "%zu:%s,", strlen(word), word);
    else
        text_put(text, "-,");
}

static void put_number(Text *text, int64_t number)
{
    text_print(text, "%lld,", (long long)number);
}

static void put_extents(Text *text, const ExtentSpec *list, int count)
{
    put_number(text, count);
    for (int i = 0; i < count; i++) {
        put_word(text, list[i].name);
        put_number(text, list[i].extent);
    }
}

static void put_numbers(Text *text, const int64_t *list, int count)
{
    put_number(text, list ? count : -1);
    for (int i = 0; list && i < count; i++)
        put_number(text, list[i]);
}

static void put_operands(Text *text, const CompileOptions *options)
{
    const CheckOptions *check = &options->check;
    put_number(text, check->operand_count);
    put_number(text, options->strides != NULL);
    for (int i = 0; i < check->operand_count; i++) {
        const OperandSpec *operand = &check->operands[i];
        put_word(text, operand->name);
        put_number(text, operand->dtype);
        put_number(text, operand->rank);
        put_numbers(text, operand->shape, operand->rank);
        put_numbers(text, options->strides ? options->strides[i] : NULL, operand->rank);
    }
}

CacheKey request_key(Arena *arena, const Source *source, const CompileOptions *options)
{
    Text text = text_new(arena);
    put_operands(&text, options);
    put_extents(&text, options->check.extents, options->check.extent_count);
    put_number(&text, options->output_count);
    for (int i = 0; i < options->output_count; i++)
        put_word(&text, options->outputs[i]);
    put_extents(&text, options->statics, options->static_count);
    put_word(&text, options->target->name);
    put_number(&text, options->memory);
    put_number(&text, options->nests);
    put_number(&text, options->sweep);
    put_number(&text, options->precision);
    put_word(&text, options->name);
    put_word(&text, options->command);
    const char *expression = arena_copy(arena, source->text, source->length);
    return cache_key((const char *[]){ "the text of", build_identity, text.bytes, expression }, 4);
}
