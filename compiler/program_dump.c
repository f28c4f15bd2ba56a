/* The Program as a list: tensors, indices with their rules, terms, statements. For `-dprogram` and the golden tests. */
#include "program.h"

static void dump_indices(Text *text, Index *const *indices, int count)
{
    text_put(text, "[");
    for (int i = 0; i < count; i++)
        text_print(text, "%s%s", i ? "," : "", indices[i]->name);
    text_put(text, "]");
}

static void dump_position(Text *text, const Position *position)
{
    for (int k = 0; k < position->count; k++) {
        const PositionPart *part = &position->parts[k];
        text_put(text, k ? " + " : "");
        if (part->coefficient != 1)
            text_print(text, "%lld*", (long long)part->coefficient);
        if (part->index)
            text_put(text, part->index->name);
        else
            text_print(text, "t%d", part->gather->id);
    }
    if (position->constant || !position->count)
        text_print(text, "%s%lld", position->count ? " + " : "", (long long)position->constant);
}

static void dump_positions(Text *text, const Position *positions, int rank)
{
    text_put(text, "[");
    for (int a = 0; a < rank; a++) {
        text_put(text, a ? ", " : "");
        dump_position(text, &positions[a]);
    }
    text_put(text, "]");
}

static void dump_tensor(Text *text, const Tensor *tensor)
{
    text_print(text, "%s %s %s rank %d", tensor->maker ? "make" : tensor->whole ? "parts" : "input", tensor->label, dtype_name(tensor->dtype),
               tensor->rank);
    if (tensor->from_caller)
        text_put(text, ", adds to the caller's array");
    if (tensor->previous)
        text_print(text, ", adds to the %s before", tensor->previous->label);
    text_put(text, "\n");
}

static void dump_axes(Text *text, const Index *index)
{
    for (int i = 0; i < index->axis_count; i++)
        text_print(text, "%s%s axis %d", i ? ", " : "", index->axes[i].tensor->label, index->axes[i].axis);
}

static void dump_index(Text *text, const Index *index)
{
    text_print(text, "index %s: ", index->name);
    switch (index->rule) {
    case EXTENT_RANKS: text_print(text, "%lld", (long long)index->ranks); break;
    case EXTENT_AXES: dump_axes(text, index); break;
    case EXTENT_FITS:
        dump_axes(text, index);
        text_put(text, index->axis_count ? ", else fits" : "fits");
        for (int i = 0; i < index->fit_count; i++)
            text_print(text, "%s %s axis %d", i ? "," : "", index->fits[i].tensor->label, index->fits[i].axis);
        break;
    case EXTENT_GIVEN: text_put(text, "given"); break;
    case EXTENT_WRITTEN: text_put(text, "as far as is written"); break;
    }
    text_put(text, "\n");
}

static void dump_operation(Text *text, const Term *term)
{
    static const char *const grades[] = { [GRADE_FULL] = "", [GRADE_COARSE] = "coarse ", [GRADE_LARGE] = "large " };
    switch (term->kind) {
    case TERM_READ:
        text_print(text, "read %s", term->read.tensor->label);
        dump_positions(text, term->read.positions, term->read.tensor->rank);
        break;
    case TERM_CONSTANT:
        if (term->constant.is_integer)
            text_print(text, "constant %lld", (long long)term->constant.integer);
        else
            text_print(text, "constant %.17g", term->constant.value);
        break;
    case TERM_POSITION: text_print(text, "position %s", term->position->name); break;
    case TERM_EXTENT: text_print(text, "extent %s", term->extent->name); break;
    case TERM_MAP:
        text_print(text, "map %s%s", grades[term->map.grade], function_facts[term->map.function].name);
        for (int i = 0; i < term->map.count; i++)
            text_print(text, " t%d", term->map.arguments[i]->id);
        break;
    case TERM_SELECT:
        text_print(text, "select t%d t%d t%d", term->select.condition->id, term->select.yes->id, term->select.no->id);
        break;
    case TERM_CONTRACT:
    case TERM_REDUCE:
        text_print(text, "%s %s", term->kind == TERM_CONTRACT ? "contract" : "reduce",
                   reduction_facts[term->reduce.reduction].name);
        if (term->reduce.has_parameter)
            text_print(text, "(%g)", term->reduce.parameter);
        text_put(text, " ");
        dump_indices(text, term->reduce.over, term->reduce.over_count);
        text_print(text, " of t%d", term->reduce.argument->id);
        break;
    }
}

static void dump_term(Text *text, const Term *term)
{
    text_print(text, "    t%d: %s%s", term->id, term->weak ? "weak " : "", dtype_name(term->dtype));
    dump_indices(text, term->indices, term->rank);
    text_put(text, " = ");
    dump_operation(text, term);
    text_put(text, "\n");
}

void program_dump(Text *text, const Program *program)
{
    for (int i = 0; i < program->tensor_count; i++)
        dump_tensor(text, program->tensors[i]);
    for (int s = 0; s < program->statement_count; s++) {
        const Statement *statement = program->statements[s];
        text_print(text, "statement %d\n", s);
        for (int i = 0; i < program->index_count; i++)
            if (program->indices[i]->statement == s) {
                text_put(text, "  ");
                dump_index(text, program->indices[i]);
            }
        for (int i = 0; i < program->term_count; i++)
            if (program->terms[i]->statement == s)
                dump_term(text, program->terms[i]);
        for (int o = 0; o < statement->output_count; o++) {
            const Output *output = &statement->outputs[o];
            text_print(text, "  %s", output->tensor->label);
            dump_positions(text, output->positions, output->tensor->rank);
            text_print(text, " %s t%d%s\n", statement->accumulate ? "+=" : "=", output->value->id, output->partly ? " partly" : "");
        }
    }
}
