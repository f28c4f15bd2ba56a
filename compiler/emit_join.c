/* Steps that are made in the loop of a reduction: plan_join.c says which. */
#include "emit_nest.h"

/* All reads of a tensor by a step are of the element at hand. */
static void know_reads(Emitter *e, const Step *reader, const Tensor *tensor, Value value)
{
    for (int i = 0; i < e->plan->lowered->term_count; i++) {
        const Term *term = e->plan->lowered->terms[i];
        if (term->kind == TERM_READ && term->statement == reader->statement->id && term->read.tensor == tensor)
            emit_know(e, term, value);
    }
}

void nest_make_joined(Emitter *e, const Nest *nest)
{
    const Step *own = e->step;
    for (int s = 0; own->join && s < own->join->count; s++) {
        const Step *step = e->step = own->join->steps[s];
        const Output *output = &step->statement->outputs[0];
        emit_bind(e, step->vector, emit_bound(e, own->vector));
        if (s == 0) {
            const char *value = emit_varying(e, output->value), *element = emit_name(e, "element");
            emit_line(e, "const %s %s = %s;", emit_type(output->value->dtype, true), element, emit_bare(e, value));
            emit_know(e, output->value, (Value){ element, true });
            for (int reader = 1; reader < own->join->count; reader++)
                know_reads(e, own->join->steps[reader], output->tensor, (Value){ element, true });
            know_reads(e, own, output->tensor, (Value){ element, true });
        }
        if (nest->factors && output->tensor == nest->factors)
            emit_line(e, "%s[chain] = %s;", nest->kept, emit_varying(e, emit_unrounded(e, output)));
        else if (!step->is_passed_on)
            emit_store(e, output);
    }
    e->step = own;
}

void nest_find_factors(Emitter *e, Nest *nest)
{
    const Join *join = e->step->join;
    for (int s = 0; join && nest->chains > 1 && s < join->count; s++) {
        const Step *step = join->steps[s];
        const Tensor *tensor = step->statement->outputs[0].tensor;
        for (int a = 0; a < tensor->rank && !step->is_passed_on && emit_is_factor(e, tensor); a++)
            if (tensor->axes[a] == step->vector && size_is_constant(e->plan->storage[tensor->id].stride[a], 1))
                nest->factors = tensor;
    }
    nest->kept = nest->factors ? emit_name(e, "factors") : NULL;
}

void nest_store_factors(Emitter *e, Nest *nest, const char *at)
{
    const Step *own = e->step;
    for (int s = 0; nest->factors && s < own->join->count; s++) {
        const Output *output = &own->join->steps[s]->statement->outputs[0];
        if (output->tensor != nest->factors)
            continue;
        e->step = own->join->steps[s];
        emit_push(e);
        emit_bind(e, e->step->vector, at);
        const char *target = emit_target(e, output);
        emit_pop(e);
        emit_line(e, "    store_factors_bf16v(%s, %s, %d);", target, nest->kept, nest->chains);
    }
    e->step = own;
    nest->factors = NULL;
}
