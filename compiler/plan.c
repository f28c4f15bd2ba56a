/* plan: steps, launches, storage, in this order. See plan.h. */
#include "planning.h"

/* All steps have the same number of lanes: that of the tiled products if there is one, so that their sums fill registers;
 * else as many as fit of what is widest. */
static void choose_lanes(Plan *plan)
{
    int lanes = 0;
    for (int s = 0; s < plan->step_count; s++) {
        const Contract *c = plan->steps[s]->contract;
        int own = !c ? 0 : c->block ? plan->target->grid->lanes : plan->target->vector_bytes / (int)dtype_size(state_dtype(c->product));
        if (c && (lanes == 0 || own < lanes))
            lanes = own;
    }
    if (lanes)
        plan->lanes = lanes;
    if (plan->lanes == 0)
        plan->lanes = 1;
}

Plan *plan(Arena *arena, const Program *program, const Program *lowered, const Target *target, const PlanHints *hints)
{
    static const PlanHints nothing_known = { 0 };
    Planner planner = { .arena = arena, .plan = ARENA_NEW(arena, Plan), .hints = hints ? hints : &nothing_known };
    Plan *plan = planner.plan;
    plan->program = program;
    plan->lowered = lowered;
    plan->target = target;
    plan->memory = planner.hints->memory;
    plan->precision = planner.hints->precision;
    for (int s = 0; s < lowered->statement_count; s++) {
        Step *step = plan_step(&planner, lowered->statements[s], s);
        ARENA_APPEND(arena, plan->steps, plan->step_count, step);
    }
    choose_lanes(plan);
    plan_launches(&planner);
    plan_storage(&planner);
    plan_lift(&planner);
    return plan;
}

int launch_products(const Launch *launch)
{
    int products = 0;
    for (int s = 0; s < launch->step_count; s++)
        products += launch->steps[s]->contract != NULL;
    return products;
}

bool plan_has_contract(const Plan *plan)
{
    for (int s = 0; s < plan->step_count; s++)
        if (plan->steps[s]->contract)
            return true;
    return false;
}

static int launch_of(const Plan *plan, int step)
{
    for (int l = 0; l < plan->launch_count; l++)
        for (int s = 0; s < plan->launches[l]->step_count; s++)
            if (plan->launches[l]->steps[s]->id == step)
                return l;
    return -1;
}

bool plan_has_whole_sweeps(const Plan *plan)
{
    for (int a = 0; a < plan->step_count; a++)
        for (int b = 0; b < a; b++) {
            const Sweep *sweep = plan->steps[a]->statement->sweep;
            if (sweep && plan->steps[b]->statement->sweep == sweep && launch_of(plan, a) != launch_of(plan, b))
                return false;
        }
    for (int l = 0; l < plan->launch_count; l++)
        for (int s = 0; s < plan->launches[l]->step_count; s++)
            if (plan->launches[l]->steps[s]->statement->sweep && (!plan->launches[l]->sweep || !plan->launches[l]->block_count))
                return false;
    return true;
}

bool plan_sweeps(const Plan *plan)
{
    for (int l = 0; l < plan->launch_count; l++)
        if (plan->launches[l]->sweep)
            return true;
    return false;
}

bool plan_has_steps_together(const Plan *plan)
{
    for (int l = 0; l < plan->launch_count; l++)
        if (plan->launches[l]->step_count > 1)
            return true;
    return false;
}

const Block *launch_block_of(const Launch *launch, const Index *index)
{
    for (int s = 0; index && s < launch->step_count; s++) {
        for (int b = 0; b < launch->block_count; b++)
            if (launch->blocks[b].of_step[s] == index)
                return &launch->blocks[b];
        if (launch->sweep && launch->sweep->of_step[s] == index)
            return launch->sweep;
    }
    return NULL;
}

bool launch_sweeps(const Launch *launch, int step)
{
    return launch->sweep && step >= launch->sweep_from && step < launch->sweep_to;
}

bool plan_has_parts(const Plan *plan)
{
    bool parts = false;
    for (int s = 0; s < plan->step_count; s++) {
        const Contract *c = plan->steps[s]->contract;
        parts |= c && (c->parts || (c->block && c->tile));
    }
    for (int l = 0; l < plan->launch_count; l++)
        parts |= plan->launches[l]->fuse && plan->launches[l]->fuse->leaves_out;
    return parts;
}

bool plan_has_split(const Plan *plan)
{
    for (int s = 0; s < plan->step_count; s++)
        if (plan->steps[s]->split)
            return true;
    return false;
}

const char *plan_permission(const Plan *plan)
{
    for (int s = 0; s < plan->step_count; s++)
        if (plan->steps[s]->contract && !plan->target->grid && (plan->steps[s]->contract->tile->dot || plan->steps[s]->contract->parts))
            return plan->target->permission;
    return NULL;
}

bool plan_wants_room(const Plan *plan)
{
    bool room = plan->stores_whole;
    for (int s = 0; s < plan->step_count; s++)
        room |= plan->steps[s]->turned || plan->steps[s]->split || (plan->steps[s]->kind == STEP_RANK && plan->step_count > 1);    /* stored for it */
    for (int l = 0; l < plan->launch_count; l++)    /* steps that run together store nothing on the way */
        for (int s = 0; s < plan->launches[l]->step_count && !plan->launches[l]->fuse; s++)
            room |= plan->launches[l]->steps[s]->contract != NULL;
    return room;
}
