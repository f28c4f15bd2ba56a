/* What the planner makes of masks: which of them leave tiles of a product out. */
#include <stdio.h>

#include "plan_testing.h"

/* Of a window of columns around each row tiles are left out, however the window is written. */
static void windows_leave_tiles_out(void **unused)
{
    (void)unused;
    static const struct { const char *mask; bool bounds; } cases[] = {
        { "@q >= @k && @k > @q - 256", true },       { "@q >= @k && @q - @k < 256", true }, { "0 <= @q - @k && 256 > @q - @k", true },
        { "-@k > -@q - 256 && -@k >= -@q", true },   { "abs(@q - @k) < 256", true },        { "256 >= abs(@k - @q)", true },
        { "abs(@q - @k) >= 256", false },            { "abs(@q - 2 * @k) < 256", false },   { "abs(@k - @q) < @k", false },
        { "abs(@k - w[q]) < 256", true },
    };
    static const char *const names[] = { "q", "k", "d", "v" };
    ExtentSpec extents[4];
    for (int i = 0; i < 4; i++)
        extents[i] = (ExtentSpec){ .name = names[i], .extent = i < 2 ? 1024 : 64 };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        char text[200];
        snprintf(text, sizeof text, "qd,kd->qk | where(%s, _, -inf) | softmax k | * kv -> qv", cases[n].mask);
        OperandSpec w = { .name = "w", .dtype = DTYPE_I64, .rank = -1 };
        bool has_w = strchr(cases[n].mask, 'w') != NULL;
        CompileOptions options = { .target = target_find("avx512"),
                                   .check = { .extents = extents, .extent_count = 4, .operands = &w, .operand_count = has_w } };
        Planned *planned = plan_of(text, options);
        bool bounds = false;
        for (int l = 0; l < planned->plan->launch_count; l++)
            for (int i = 0; i < planned->plan->launches[l]->step_count; i++)
                bounds |= planned->plan->launches[l]->steps[i]->contract && planned->plan->launches[l]->steps[i]->contract->columns_met.condition;
        if (bounds != cases[n].bounds)
            fail_msg("%s: tiles are %sleft out", cases[n].mask, bounds ? "" : "not ");
        end(planned);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_leave_tiles_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
