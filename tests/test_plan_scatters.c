/* What the planner makes of `+=` at computed positions, and of products under a where. */
#include "plan_testing.h"

typedef struct Operands {
    int count;
    int64_t shapes[4][4];         /* of f32; after the last axis 0 */
    bool of_integers[4];
} Operands;

static Planned *plan_operands(const char *text, const Operands *operands)
{
    OperandSpec specs[4];
    for (int i = 0; i < operands->count; i++) {
        int rank = 0;
        while (rank < 4 && operands->shapes[i][rank])
            rank++;
        const char *name = i == 0 && text[0] == 'y' ? "y" : NULL;    /* what is added to */
        specs[i] = (OperandSpec){ .name = name, .dtype = operands->of_integers[i] ? DTYPE_I64 : DTYPE_F32, .rank = rank, .shape = operands->shapes[i] };
    }
    CompileOptions options = { .target = target_find("avx512"), .check = { .operands = specs, .operand_count = operands->count } };
    return plan_of(text, options);
}

static const Contract *first_product(const Planned *planned)
{
    return planned->plan->launches[0]->steps[0]->contract;
}

/* A convolution read the other way is one whose rows are of a window, and in units enough, if an index stands alone in each of its
 * sums; others are stored as products and scattered then. */
static void convolutions_are_read_backwards(void **unused)
{
    (void)unused;
    static const struct { const char *text; Operands operands; bool gathered, product; } cases[] = {
        { "y[n,o,h+r,w+s] += x[n,c,h,w], k[c,o,r,s]", { 3, { { 1, 64, 58, 58 }, { 1, 64, 56, 56 }, { 64, 64, 3, 3 } }, { false } }, true, true },
        { "y[n,o,t+2*r] += x[n,c,t], k[c,o,r]", { 3, { { 8, 128, 1004 }, { 8, 128, 1000 }, { 128, 128, 3 } }, { false } }, true, true },
        { "y[n,o,2*h+r,2*w+s] += x[n,c,h,w], k[c,o,r,s]", { 3, { { 1, 64, 58, 58 }, { 1, 64, 28, 28 }, { 64, 64, 4, 4 } }, { false } }, false, true },
        { "y[n,o,h+r,w+s+1] += x[n,c,h,w], k[c,o,r,s]", { 3, { { 1, 64, 58, 59 }, { 1, 64, 56, 56 }, { 64, 64, 3, 3 } }, { false } }, false, true },
        { "y[h+r] += x[h], k[r]", { 3, { { 8191 }, { 4096 }, { 4096 } }, { false } }, false, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Planned *planned = plan_operands(cases[i].text, &cases[i].operands);
        const Launch *launch = planned->plan->launches[0];
        const Contract *c = first_product(planned);
        bool gathered = c && c->window && !launch->steps[launch->step_count - 1]->scatters;
        if (gathered != cases[i].gathered || (c != NULL) != cases[i].product)
            fail_msg("%s: %s, %s", cases[i].text, gathered ? "gathered" : "scattered", c ? "a product" : "no product");
        end(planned);
    }
}

/* Rows that go to places from an array are multiplied some at a time, without memory for all, in two units of columns, which are as wide;
 * whoever does not say how many there are gets the same, and a few numbers are multiplied where they are added. */
static void scattered_rows_are_multiplied_first(void **unused)
{
    (void)unused;
    static const char text[] = "y[t[e]:i64,h] += x[e,f], W[f,h]";
    static const int64_t sides[] = { 4, 64, 128, 256, 512 }, columns[] = { 0, 32, 64, 128, 128 };
    for (int i = 0; i < 5; i++) {
        const int64_t side = sides[i];
        ExtentSpec extents[] = { { .name = "e", .extent = 100000 }, { .name = "f", .extent = side }, { .name = "h", .extent = side } };
        CompileOptions options = { .target = target_find("avx512"), .check = { .extents = extents, .extent_count = 3 } };
        Planned *planned = plan_of(text, options);
        const Launch *launch = planned->plan->launches[0];
        assert_int_equal(first_product(planned) != NULL, i > 0);
        assert_int_equal(launch->sweep != NULL, i > 0);
        if (i > 0)
            assert_int_equal(tile_along(planned, "h", &options.check), columns[i]);
        end(planned);
    }
    Planned *planned = plan_of(text, (CompileOptions){ .target = target_find("avx512") });
    assert_true(planned->plan->launches[0]->sweep && first_product(planned));
    end(planned);
}

/* What is scattered is made some rows of an image at a time where it would be much, or nobody knows how much; the first index of a sum is
 * the long one then, and goes if it stands alone. */
static void much_is_scattered_by_rows(void **unused)
{
    (void)unused;
    static const char strided[] = "y[n,o,2*h+r,2*w+s] += x[n,c,h,w], k[c,o,r,s]", plain[] = "y[n,o,h+r,w+s] += x[n,c,h,w], k[c,o,r,s]";
    static const struct { const char *text; int64_t side, most; bool gathered; } cases[] = {
        { strided, 28, 4, false }, { strided, 4, 0, false }, { strided, 1000, 8, false }, { strided, 0, 4, false }, { plain, 56, 0, true }, { plain, 0, 0, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t side = cases[i].side;
        ExtentSpec extents[] = { { .name = "h", .extent = side }, { .name = "w", .extent = side }, { .name = "r", .extent = 4 }, { .name = "s", .extent = 4 },
                                 { .name = "c", .extent = 64 },   { .name = "o", .extent = 64 },   { .name = "n", .extent = 1 } };
        CompileOptions options = { .target = target_find("avx512"), .check = { .extents = extents, .extent_count = side ? 7 : 0 } };
        Planned *planned = plan_of(cases[i].text, options);
        const Launch *launch = planned->plan->launches[0];
        const Sweep *sweep = launch->steps[0]->statement->sweep;
        bool gathered = !launch->steps[launch->step_count - 1]->scatters;
        if (gathered != cases[i].gathered || (sweep ? sweep->points : 0) > cases[i].most || (sweep != NULL) != (cases[i].most > 0))
            fail_msg("%s of %ld squared: %s, %ld rows at a time", cases[i].text, (long)side, gathered ? "gathered" : "scattered",
                     sweep ? (long)sweep->points : 0);
        end(planned);
    }
}

/* One side of a product is under a where whose condition knows nothing of the other. */
static void one_side_is_under_the_where(void **unused)
{
    (void)unused;
    static const struct { const char *text; bool product; } cases[] = {
        { "where(M[i,k] > 0, A[i,k] * B[k,j], 0) -> [i,j]", true },
        { "A[i,k], B[k,j] -> [i,j,k] | where(M[k,j] > 0, _, 0) | sum k", true },
        { "A[i,k] + B[k,j] -> [i,j,k] | where(M[i,k] > 0, _, -inf) | max k", true },
        { "where(M[i,k] > 0, A[i,k] + B[k,j], 0) -> [i,j]", false },    /* a 0 is none any more */
        { "where(M[i,k] > @j, A[i,k] * B[k,j], 0) -> [i,j]", false },
        { "where(@k >= @i - 2 && @k <= @i + 2 && M[i,k] > 0, A[i,k] * B[k,j], 0) -> [i,j]", false },    /* loops keep to such a band */
        { "where(M[i,k] > 0, A[i,k] * B[k,j], 1) -> [i,j]", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Operands operands = { 3, { { 512, 512 }, { 512, 512 }, { 512, 512 } }, { false } };
        Planned *planned = plan_operands(cases[i].text, &operands);
        if ((first_product(planned) != NULL) != cases[i].product)
            fail_msg("%s: %s", cases[i].text, cases[i].product ? "no product" : "a product");
        end(planned);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_are_read_backwards),
        cmocka_unit_test(scattered_rows_are_multiplied_first),
        cmocka_unit_test(much_is_scattered_by_rows),
        cmocka_unit_test(one_side_is_under_the_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
