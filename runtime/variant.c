/* Plans of one kernel for operands of different strides, and of sizes that were not known, made when a call needs them. */
#include <math.h>
#include <string.h>

#include "runtime.h"

/* Elements of the largest tensor, those of 8 bytes counted twice. Strides that no plan fits cost a call ten times what it might
 * take, and so do the order of contractions and rows that are shorter than a vector; other sizes twice or less, often. */
enum { WORTH_COMPILING = 200000, WORTH_SIZING = 4000000, SHORT_ROW = 8 };

/* Whether a variant's fast paths fit these strides. */
static bool variant_fits(const Variant *variant, const uint64_t *words)
{
    for (int u = 0; u < variant->unit_count; u++)
        if (words[variant->unit_words[u]] != 1)
            return false;
    return true;
}

/* Extents of the same power of four have the same plan. */
static uint8_t size_class(uint64_t extent)
{
    uint8_t class = 0;
    for (uint64_t most = 1; most < extent && class < 31; most *= 4)
        class++;
    return class;
}

/* Of each axis of the slots, in their order; there are fewer than words. */
static uint8_t *find_sizes(einc_kernel *kernel, const uint64_t *words)
{
    uint8_t *sizes = ARENA_ARRAY(&kernel->arena, uint8_t, kernel->args_words);
    size_t at = 0;
    for (int i = 0; i < kernel->slot_count; i++)
        for (int a = 0; a < kernel->slots[i].rank && kernel->slots[i].kind != SLOT_EXTENT; a++)
            sizes[at++] = size_class(words[kernel->slots[i].at + 1 + (size_t)a]);
    return sizes;
}

static bool has_sizes(const einc_kernel *kernel, const Variant *variant, const uint64_t *words)
{
    size_t at = 0;
    for (int i = 0; i < kernel->slot_count; i++)
        for (int a = 0; a < kernel->slots[i].rank && kernel->slots[i].kind != SLOT_EXTENT; a++)
            if (variant->sizes[at++] != size_class(words[kernel->slots[i].at + 1 + (size_t)a]))
                return false;
    return true;
}

static void add_units(einc_kernel *kernel, Variant *variant, const UnitSet *units)
{
    for (int u = 0; u < units->count; u++)
        for (int i = 0; i < kernel->slot_count; i++)
            if (variant->compiled->unit->arguments[i].tensor == units->list[u].tensor->origin) {
                const Slot *slot = &kernel->slots[i];
                size_t word = slot->at + 1 + (size_t)(slot->rank ? slot->rank : 1) + (size_t)units->list[u].axis;
                ARENA_APPEND(&kernel->arena, variant->unit_words, variant->unit_count, word);
            }
}

void variant_find_units(einc_kernel *kernel, Variant *variant)
{
    const Plan *plan = variant->compiled->plan;
    for (int s = 0; s < plan->step_count; s++) {
        add_units(kernel, variant, &plan->steps[s]->units);
        if (plan->steps[s]->contract)
            add_units(kernel, variant, &plan->steps[s]->contract->units);
    }
}

static void set_example(const einc_kernel *kernel, OperandSpec *operands, const int64_t **strides, int *count, const Slot *slot,
                        const uint64_t *words)
{
    const Compiled *compiled = kernel->variants->compiled;
    const Tensor *tensor = slot->kind == SLOT_INPUT ? compiled->program->inputs[slot->which] : compiled->outputs[slot->which];
    while (slot->kind == SLOT_OUTPUT && tensor->previous)    /* several `+=` add to the array that the first one has */
        tensor = tensor->previous;
    if (slot->kind == SLOT_OUTPUT && !tensor->from_caller)
        return;
    operands[*count] = (OperandSpec){ .name = tensor->label, .dtype = slot->dtype, .rank = slot->rank,
                                      .shape = (const int64_t *)(words + slot->at + 1) };
    strides[(*count)++] = (const int64_t *)(words + slot->at + 1 + (slot->rank ? slot->rank : 1));
}

/* The newest that fits, of these very sizes or of any; NULL: there is none. */
static const Variant *find_variant(const einc_kernel *kernel, const uint64_t *words, bool sized)
{
    for (const Variant *v = kernel->variants; v; v = v->next)
        if (sized == (v->sizes != NULL) && variant_fits(v, words) && (!sized || has_sizes(kernel, v, words)))
            return v;
    return NULL;
}

/* A plan for the strides at hand, and for the sizes. Without one, for whatever reason, the other one serves. */
static const Variant *add_variant(einc_kernel *kernel, const uint64_t *words, bool sized, const Variant *other)
{
    const Variant *volatile chosen = other;
    volatile bool added = false;
    CompileOptions options = kernel->options;
    pthread_mutex_lock(&kernel->lock);
    const Variant *found = find_variant(kernel, words, sized);    /* another thread may have been faster */
    if (found) {
        pthread_mutex_unlock(&kernel->lock);
        return found;
    }
    jmp_buf *outer = kernel->arena.failed, full;
    kernel->arena.failed = &full;
    context_hush(kernel->context, true);
    if (kernel->variant_count < VARIANTS_MAX && setjmp(full) == 0) {
        OperandSpec *operands = ARENA_ARRAY(&kernel->arena, OperandSpec, kernel->slot_count);
        const int64_t **strides = ARENA_ARRAY(&kernel->arena, const int64_t *, kernel->slot_count);
        options.check.operand_count = 0;
        for (int i = 0; i < kernel->slot_count; i++)
            if (kernel->slots[i].kind == SLOT_INPUT || kernel->slots[i].kind == SLOT_OUTPUT)
                set_example(kernel, operands, strides, &options.check.operand_count, &kernel->slots[i], words);
        options.check.operands = operands;
        options.strides = strides;
        Variant *variant = ARENA_NEW(&kernel->arena, Variant);
        variant->compiled = build_plan(kernel->context, &kernel->arena, &kernel->source, &options);
        if (variant->compiled) {
            variant_find_units(kernel, variant);
            variant->sizes = sized ? find_sizes(kernel, words) : NULL;
            variant->object = object_get(kernel, variant, &options);
        }
        if (variant->object) {
            variant->next = kernel->variants;
            kernel->variants = variant;
            kernel->variant_count++;
            chosen = variant;
            added = true;
        }
    }
    context_hush(kernel->context, false);
    if (!added)                   /* no compiler any more, or no memory: not tried again */
        kernel->variant_count = VARIANTS_MAX;
    kernel->arena.failed = outer;
    pthread_mutex_unlock(&kernel->lock);
    return chosen;
}

const Variant *variant_of_target(einc_kernel *kernel, const Target *target)
{
    for (const Variant *v = kernel->variants; v; v = v->next)
        if (v->compiled->unit->target == target)
            return v;
    Variant *volatile made = NULL;
    CompileOptions options = kernel->options;
    options.target = target;
    pthread_mutex_lock(&kernel->lock);
    for (Variant *v = kernel->variants; v && !made; v = v->next)    /* another thread may have been faster */
        made = v->compiled->unit->target == target ? v : NULL;
    bool found = made != NULL;
    jmp_buf *outer = kernel->arena.failed, full;
    kernel->arena.failed = &full;
    if (!found && setjmp(full) == 0) {
        Variant *variant = ARENA_NEW(&kernel->arena, Variant);
        variant->compiled = build_plan(kernel->context, &kernel->arena, &kernel->source, &options);
        if (variant->compiled)
            variant->object = object_get(kernel, variant, &options);
        if (variant->object) {
            variant->next = kernel->variants;
            kernel->variants = made = variant;
        }
    } else if (!found) {
        context_fail(kernel->context, EINC_FAILED, "error: out of memory");
    }
    kernel->arena.failed = outer;
    pthread_mutex_unlock(&kernel->lock);
    return made;
}

/* Of the largest tensor. */
static double elements_of(const einc_kernel *kernel, const uint64_t *words)
{
    double elements = 1;
    for (int i = 0; i < kernel->slot_count; i++) {
        double count = kernel->slots[i].kind == SLOT_EXTENT ? 1 : fmax((double)dtype_size(kernel->slots[i].dtype) / 4, 1);
        for (int a = 0; a < kernel->slots[i].rank && kernel->slots[i].kind != SLOT_EXTENT; a++)
            count *= (double)(int64_t)words[kernel->slots[i].at + 1 + (size_t)a];
        elements = count > elements ? count : elements;
    }
    return elements;
}

/* Whether some large tensor's rows are short. */
static bool has_short_rows(const einc_kernel *kernel, const uint64_t *words)
{
    for (int i = 0; i < kernel->slot_count; i++) {
        const Slot *slot = &kernel->slots[i];
        double rows = 1;
        for (int a = 0; a + 1 < slot->rank && slot->kind == SLOT_INPUT; a++)
            rows *= (double)(int64_t)words[slot->at + 1 + (size_t)a];
        int64_t row = slot->kind == SLOT_INPUT && slot->rank > 1 ? (int64_t)words[slot->at + (size_t)slot->rank] : 0;
        if (row > 1 && row <= SHORT_ROW && rows * (double)row >= WORTH_COMPILING)
            return true;
    }
    return false;
}

/* The one that was made with the kernel: the last of the list. */
const Variant *variant_first(const Variant *variant)
{
    while (variant->next)
        variant = variant->next;
    return variant;
}

/* A better plan is worth a run of the C compiler where the work is large enough, and shapes agree, which the kernel at hand knows. */
const Variant *variant_choose(einc_kernel *kernel, const uint64_t *words)
{
    const Variant *general = find_variant(kernel, words, false);
    if (general && !kernel->open)
        return general;
    double elements = elements_of(kernel, words);
    bool sized = kernel->open && elements >= WORTH_COMPILING &&
                 (elements >= WORTH_SIZING || kernel->guesses || has_short_rows(kernel, words));
    const Variant *own = sized ? find_variant(kernel, words, true) : general;
    if (own)
        return own;
    const Variant *other = general ? general : variant_first(kernel->variants);
    size_t bytes;
    bool pays = kernel->variant_count < VARIANTS_MAX && elements > WORTH_COMPILING && !other->object->workspace(words, 1, &bytes);
    return pays ? add_variant(kernel, words, sized, other) : other;
}
