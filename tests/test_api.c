/* The C API as an embedding program uses it: einc.h and nothing else of einc. tests/test_api_host.c has the host's part. */
#include "api.h"

static einc_context *context;

/* ---- the main job ---- */

static void test_main_job(void **state)
{
    (void)state;
    float q[2 * 3 * 4], d[5 * 2 * 4], scores[2 * 5];
    fill(q, 24, 1);
    fill(d, 40, 2);
    DLTensor queries = einc_tensor(q, "f32", 3, (int64_t[]){ 2, 3, 4 });
    DLTensor documents = einc_tensor(d, "f32", 3, (int64_t[]){ 5, 2, 4 });
    DLTensor out = einc_tensor(scores, "f32", 2, (int64_t[]){ 2, 5 });
    einc_kernel *k = einc_compile(context, "ijk,mnk->ijmn | max n | sum j", NULL);
    assert_non_null(k);
    assert_int_equal(einc_call(k, (const DLTensor *[]){ &queries, &documents }, 2, (DLTensor *[]){ &out }, 1, NULL), EINC_OK);
    for (int i = 0; i < 2; i++)
        for (int m = 0; m < 5; m++) {
            double sum = 0;
            for (int j = 0; j < 3; j++) {
                double best = -INFINITY;
                for (int n = 0; n < 2; n++) {
                    double dot = 0;
                    for (int x = 0; x < 4; x++)
                        dot += (double)q[(i * 3 + j) * 4 + x] * (double)d[(m * 2 + n) * 4 + x];
                    best = fmax(best, dot);
                }
                sum += best;
            }
            assert_near(scores[i * 5 + m], sum);
        }
    einc_kernel_free(k);
}

static void test_version(void **state)
{
    (void)state;
    assert_string_equal(einc_version(), EINC_VERSION);
    assert_int_equal(einc_abi(), EINC_ABI);
    assert_string_equal(einc_error(context), "");
}

/* ---- tensors ---- */

/* out[i,j] = x[i,j] * 2 with the tensor as it is, compared with what its strides say. */
static void expect_doubled(einc_kernel *k, const DLTensor *x, const DLTensor *out)
{
    DLTensor copy = *out;
    assert_int_equal(einc_call(k, &x, 1, (DLTensor *[]){ &copy }, 1, NULL), EINC_OK);
    for (int64_t i = 0; i < x->shape[0]; i++)
        for (int64_t j = 0; j < x->shape[1]; j++)
            assert_near(element(out, i, j), 2 * element(x, i, j));
}

static void test_strides(void **state)
{
    (void)state;
    enum { ROWS = 7, COLUMNS = 33, ROOM = 4000 };
    static char memory[2][ROOM * sizeof(float) + 64];
    int64_t shape[] = { ROWS, COLUMNS };
    static const int64_t layouts[][3] = {    /* strides, and where the data begins */
        { COLUMNS, 1, 0 }, { 1, ROWS, 0 }, { 2 * COLUMNS, 2, 5 }, { -COLUMNS, 1, ROWS * COLUMNS },
        { COLUMNS, -1, COLUMNS }, { -1, -ROWS, ROWS * COLUMNS }, { 100, 3, 0 },
    };
    einc_kernel *k = einc_compile(context, "ij | _ * 2", NULL);
    assert_non_null(k);
    for (size_t a = 0; a < sizeof layouts / sizeof *layouts; a++)
        for (size_t b = 0; b < sizeof layouts / sizeof *layouts; b++)
            for (size_t shift = 0; shift < 8; shift += 3) {
                int64_t in_strides[] = { layouts[a][0], layouts[a][1] }, out_strides[] = { layouts[b][0], layouts[b][1] };
                DLTensor x = einc_tensor(memory[0] + shift, "f32", 2, shape), out = einc_tensor(memory[1], "f32", 2, shape);
                x.strides = in_strides;
                out.strides = out_strides;
                x.byte_offset = (uint64_t)layouts[a][2] * sizeof(float);
                out.byte_offset = (uint64_t)layouts[b][2] * sizeof(float) + shift;
                for (int i = 0; i < ROOM; i++)
                    memcpy(memory[0] + shift + (size_t)i * 4, &(float){ (float)(i % 97) }, 4);
                expect_doubled(k, &x, &out);
            }
    /* one row for all, and one number for all */
    DLTensor x = einc_tensor(memory[0], "f32", 2, shape), out = einc_tensor(memory[1], "f32", 2, shape);
    x.strides = (int64_t[]){ 0, 1 };
    expect_doubled(k, &x, &out);
    x.strides = (int64_t[]){ 0, 0 };
    expect_doubled(k, &x, &out);
    einc_kernel_free(k);
}

static void test_dtypes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        DLDataType dtype;
    } dtypes[] = {
        { "f16", { kDLFloat, 16, 1 } }, { "bf16", { kDLBfloat, 16, 1 } }, { "f32", { kDLFloat, 32, 1 } },
        { "f64", { kDLFloat, 64, 1 } }, { "c64", { kDLComplex, 64, 1 } }, { "c128", { kDLComplex, 128, 1 } },
        { "i8", { kDLInt, 8, 1 } }, { "i16", { kDLInt, 16, 1 } }, { "i32", { kDLInt, 32, 1 } }, { "i64", { kDLInt, 64, 1 } },
        { "bool", { kDLBool, 8, 1 } },
    };
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        unsigned char x[32] = { 1, 0, 1 }, y[32] = { 0 };
        int64_t shape[] = { 2 };
        DLTensor in = einc_tensor(x, dtypes[i].name, 1, shape), out = einc_tensor(y, dtypes[i].name, 1, shape);
        assert_memory_equal(&in.dtype, &dtypes[i].dtype, sizeof in.dtype);
        einc_options options = { .examples = (const DLTensor *[]){ &in }, .example_count = 1 };
        einc_kernel *k = einc_compile(context, "i->i", &options);
        assert_non_null(k);
        assert_string_equal(einc_input_dtype(k, 0), dtypes[i].name);
        assert_string_equal(einc_output_dtype(k, 0), dtypes[i].name);
        assert_int_equal(einc_call(k, (const DLTensor *[]){ &in }, 1, (DLTensor *[]){ &out }, 1, NULL), EINC_OK);
        assert_memory_equal(x, y, 2u * in.dtype.bits / 8);
        einc_kernel_free(k);
    }
}

/* A call that must fail, say why, and leave the output as it was. */
static void expect_refused(einc_kernel *k, const DLTensor *in, DLTensor *out, int status, const char *words)
{
    float *data = out && out->data ? out->data : NULL;
    float before = data ? *data : 0;
    assert_int_equal(einc_call(k, &in, 1, &out, 1, NULL), status);
    if (!strstr(einc_error(context), words))
        fail_msg("expected '%s' in: %s", words, einc_error(context));
    assert_int_equal(einc_error(context)[strlen(einc_error(context)) - 1], '\n');
    if (data)
        assert_true(*data == before);
}

static void test_refusals(void **state)
{
    (void)state;
    float x[6] = { 1, 2, 3, 4, 5, 6 }, y[6] = { 77 };
    int64_t shape[] = { 2, 3 }, other[] = { 3, 2 }, negative[] = { -2, 3 };
    DLTensor in = einc_tensor(x, "f32", 2, shape), out = einc_tensor(y, "f32", 2, shape), wrong;
    einc_kernel *k = einc_compile(context, "ij | _ * 2", NULL);
    assert_non_null(k);
    expect_refused(k, NULL, &out, EINC_EXPRESSION, "operand");
    expect_refused(k, &in, NULL, EINC_EXPRESSION, "output");
    wrong = einc_tensor(x, "f64", 2, shape);
    expect_refused(k, &wrong, &out, EINC_EXPRESSION, "f64");
    wrong = einc_tensor(x, "f99", 2, shape);
    expect_refused(k, &wrong, &out, EINC_EXPRESSION, "dtype");
    wrong = einc_tensor(x, "f32", 1, shape);
    expect_refused(k, &wrong, &out, EINC_EXPRESSION, "rank");
    wrong = einc_tensor(x, "f32", 2, negative);
    expect_refused(k, &wrong, &out, EINC_EXPRESSION, "operand");
    wrong = einc_tensor(NULL, "f32", 2, shape);
    expect_refused(k, &wrong, &out, EINC_EXPRESSION, "no data");
    wrong = in;
    wrong.device.device_type = kDLCUDA;
    expect_refused(k, &wrong, &out, EINC_EXPRESSION, "CPU");
    wrong = in;
    wrong.dtype.lanes = 2;
    expect_refused(k, &wrong, &out, EINC_EXPRESSION, "lane");
    wrong = einc_tensor(y, "f32", 2, other);
    expect_refused(k, &in, &wrong, EINC_EXPRESSION, "axis 0 of output 1 has 3, but must have 2");
    assert_int_equal(einc_call(k, NULL, 0, NULL, 0, NULL), EINC_EXPRESSION);
    assert_non_null(strstr(einc_error(context), "1 operand"));
    assert_int_equal(einc_call(k, (const DLTensor *[]){ &in }, 1, NULL, 0, NULL), EINC_EXPRESSION);
    assert_non_null(strstr(einc_error(context), "1 output"));
    assert_true(y[0] == 77);
    einc_kernel_free(k);
}

static void expect_failure(int status, int expected, const char *words)
{
    if (status != expected || !strstr(einc_error(context), words))
        fail_msg("expected %d and '%s', got %d and: %s", expected, words, status, einc_error(context));
}

/* A tensor of two numbers whose struct is wrong in one member. */
static void test_wrong_tensors(void **state)
{
    (void)state;
    float x[2] = { 1, 2 }, y[2] = { 0 };
    int64_t two[] = { 2 }, least[] = { INT64_MIN }, none[] = { 0 }, most[] = { INT64_MAX };
    DLTensor in = einc_tensor(x, "f32", 1, two), out = einc_tensor(y, "f32", 1, two);
    einc_kernel *k = einc_compile(context, "i->i", NULL);
    assert_non_null(k);
    const struct { DLTensor tensor; const char *words; } cases[] = {
        { { x, in.device, -1, in.dtype, two, NULL, 0 }, "rank" },
        { { x, in.device, 65, in.dtype, two, NULL, 0 }, "rank" },
        { { x, in.device, 1, in.dtype, NULL, NULL, 0 }, "no shape" },
        { { x, in.device, 0, in.dtype, NULL, NULL, 0 }, "rank 0" },
        { { NULL, in.device, 1, in.dtype, two, NULL, 64 }, "no data" },
        { { x, in.device, 1, { kDLFloat, 32, 0 }, two, NULL, 0 }, "lane" },
        { { x, in.device, 1, { kDLUInt, 8, 1 }, two, NULL, 0 }, "there are bool, i8 to i64" },
        { { x, in.device, 1, { kDLFloat, 24, 1 }, two, NULL, 0 }, "dtype" },
        { { x, { kDLCUDA, 0 }, 1, in.dtype, two, NULL, 0 }, "CPU" },
        { { x, in.device, 1, in.dtype, most, NULL, 0 }, "further than any memory" },
        { { x, in.device, 1, in.dtype, two, most, 0 }, "further than any memory" },
        { { x, in.device, 1, in.dtype, two, least, 0 }, "further than any memory" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refused(k, &cases[i].tensor, &out, EINC_EXPRESSION, cases[i].words);
    out.strides = none;
    expect_refused(k, &in, &out, EINC_EXPRESSION, "stride of 0");
    in.data = out.data = NULL;    /* of nothing, all of it is right */
    in.shape = out.shape = none;
    in.strides = least;
    assert_int_equal(einc_call(k, (const DLTensor *[]){ &in }, 1, (DLTensor *[]){ &out }, 1, NULL), EINC_OK);
    einc_kernel_free(k);
}

static void test_wrong_arguments(void **state)
{
    (void)state;
    float x[2] = { 1, 2 }, y[2] = { 0 };
    int64_t shape[1] = { 2 };
    size_t bytes = 9;
    DLTensor X = einc_tensor(x, "f32", 1, shape), Y = einc_tensor(y, "f32", 1, shape);
    const DLTensor *in[] = { &X, NULL };
    DLTensor *out[] = { &Y };
    assert_null(einc_compile(context, NULL, NULL));
    assert_non_null(strstr(einc_error(context), "expression is NULL"));
    einc_kernel *k = einc_compile(context, "P = Q[i] ; Z[j] | sum j", &(einc_options){ .outputs = "P" });
    assert_non_null(k);
    expect_failure(einc_call(k, NULL, 2, out, 1, NULL), EINC_USAGE, "list of operands is NULL");
    expect_failure(einc_call(k, in, 2, out, 1, NULL), EINC_EXPRESSION, "operand 'Z' is NULL");    /* though P does not need it */
    in[1] = &X;
    expect_failure(einc_call(k, in, 2, NULL, 1, NULL), EINC_USAGE, "list of outputs is NULL");
    expect_failure(einc_call(k, in, -1, out, 1, NULL), EINC_EXPRESSION, "2 operands, but -1");
    expect_failure(einc_call(k, in, 2, out, -1, NULL), EINC_EXPRESSION, "1 output, but -1");
    expect_failure(einc_output_shape(k, in, 2, 0, NULL), EINC_USAGE, "'shape' is NULL");
    expect_failure(einc_output_shape(k, NULL, 2, 0, shape), EINC_USAGE, "list of operands is NULL");
    expect_failure(einc_output_shape(k, in, 2, -1, shape), EINC_USAGE, "no output -1");
    expect_failure(einc_workspace(k, in, 2, 1, NULL), EINC_USAGE, "'bytes' is NULL");
    expect_failure(einc_workspace(k, NULL, 2, 1, &bytes), EINC_USAGE, "list of operands is NULL");
    assert_int_equal(bytes, 0);
    assert_int_equal(einc_call(k, in, 2, out, 1, &(einc_call_options){ .workers = -1 }), EINC_OK);
    einc_kernel_free(k);
}

/* What a function says that gets no kernel or no context, as after one that nobody asked whether it failed. */
static void test_nothing_to_work_with(void **state)
{
    (void)state;
    int64_t shape[1];
    size_t bytes;
    char *source, *header;
    assert_null(einc_compile(NULL, "i->i", NULL));
    assert_int_equal(einc_generate(NULL, "i->i", NULL, &source, &header), EINC_USAGE);
    assert_true(!source && !header);
    assert_int_equal(einc_call(NULL, NULL, 0, NULL, 0, NULL), EINC_USAGE);
    assert_int_equal(einc_output_shape(NULL, NULL, 0, 0, shape), EINC_USAGE);
    assert_int_equal(einc_workspace(NULL, NULL, 0, 0, &bytes), EINC_USAGE);
    assert_int_equal(einc_wait(NULL, (DLDevice){ kDLCPU, 0 }, NULL), EINC_USAGE);
    assert_true(einc_input_count(NULL) == 0 && einc_output_count(NULL) == 0);
    assert_true(einc_input_rank(NULL, 0) == -1 && einc_output_rank(NULL, 0) == -1);
    assert_string_equal(einc_input_name(NULL, 0), "");
    assert_string_equal(einc_output_dtype(NULL, 0), "");
    assert_true(!einc_source(NULL) && !einc_header(NULL) && !einc_explain(NULL));
    assert_string_equal(einc_error(NULL), "");
    einc_context_set_threads(NULL, 1);
    einc_text_free(NULL, NULL);
    einc_kernel_free(NULL);
    einc_context_free(NULL);
}

/* ---- options ---- */

static void test_wrong_options(void **state)
{
    (void)state;
    const struct {
        const char *expression;
        einc_options options;
        const char *words;
    } cases[] = {
        { "ij,jk->iz", { 0 }, "expr:1:9: error:" },
        { "ij | logsumexpo j", { 0 }, "did you mean 'logsumexp'" },
        { "ij->i", { .target = "avx3" }, "there is no target 'avx3'" },
        { "ij->i", { .precision = "half" }, "there is no precision 'half'" },
        { "ij->i", { .extents = "i=x" }, "is no extent" },
        { "ij->i", { .extents = "z=3" }, "no index 'z'" },
        { "ij->i", { .statics = "i" }, "is no extent" },
        { "ij->i", { .extents = ",i=3" }, "'' is no extent" },
        { "ij->i", { .extents = "i j = 3, " }, "no index 'i j'" },
        { "ij->i", { .statics = "z=3" }, "no index 'z'" },
        { "ij->i", { .extents = "i=4", .statics = "i=3" }, "index 'i' is given as 4 and as 3" },
        { "ij->i", { .extents = "i=3, i=4" }, "index 'i' is given as 3 and as 4" },
        { "ij->i", { .name = "9x" }, "no name for a C function" },
        { "ij->i", { .name = "step_1" }, "cannot be called 'step_1'" },
        { "ij->i", { .name = "int" }, "cannot be called 'int'" },
        { "ij->i", { .name = "load_f32v" }, "cannot be called 'load_f32v'" },
        { "ij->i", { .flags = EINC_FAST_MATH }, "less precise" },
        { "ij->i", { .flags = 64 }, "unknown flags" },
        { "ij->i", { .outputs = "P" }, "P" },
        { "P = ij->i", { .outputs = "P, P" }, "'P' is asked for twice" },
        { "P = ij->i", { .outputs = "," }, "'' is asked for twice" },
        { "P = ij->i", { .outputs = "P Q" }, "'P Q'" },
        { "ij->i", { .example_count = -1 }, "-1 examples" },
        { "ij->i", { .example_count = 1 }, "list of 1 examples is NULL" },
        { "P[i]", { .example_count = 2, .examples = (const DLTensor *[]){ NULL, NULL },
                    .example_names = (const char *[]){ "P", "P" } }, "two examples of 'P'" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_null(einc_compile(context, cases[i].expression, &cases[i].options));
        if (!strstr(einc_error(context), cases[i].words))
            fail_msg("%s: expected '%s' in: %s", cases[i].expression, cases[i].words, einc_error(context));
    }
}

static void test_names_and_outputs(void **state)
{
    (void)state;
    float a[6] = { 1, 2, 3, 4, 5, 6 }, p[2] = { 0 }, r = 0;
    int64_t shape[] = { 2, 3 }, size[1];
    DLTensor A = einc_tensor(a, "f32", 2, shape), P = einc_tensor(p, "f32", 1, (int64_t[]){ 2 });
    DLTensor R = einc_tensor(&r, "f32", 0, NULL);
    einc_options options = { .outputs = "P, " };
    einc_kernel *k = einc_compile(context, "P = Q[i,j] -> [i] ; P[i] | max i", &options);
    assert_non_null(k);
    assert_int_equal(einc_input_count(k), 1);
    assert_int_equal(einc_output_count(k), 2);
    assert_string_equal(einc_input_name(k, 0), "Q");
    assert_string_equal(einc_output_name(k, 0), "P");
    assert_string_equal(einc_output_name(k, 1), "");
    assert_string_equal(einc_input_name(k, 7), "");
    assert_int_equal(einc_input_rank(k, 0), 2);
    assert_int_equal(einc_output_rank(k, 1), 0);
    DLTensor no_data = einc_tensor(NULL, "f32", 2, shape);
    assert_int_equal(einc_output_shape(k, (const DLTensor *[]){ &no_data }, 1, 0, size), EINC_OK);
    assert_int_equal(size[0], 2);
    assert_int_equal(einc_output_shape(k, (const DLTensor *[]){ &A }, 1, 2, size), EINC_USAGE);
    assert_int_equal(einc_call(k, (const DLTensor *[]){ &A }, 1, (DLTensor *[]){ &P, &R }, 2, NULL), EINC_OK);
    assert_true(p[0] == 6 && p[1] == 15 && r == 15);
    einc_kernel_free(k);
}

static void test_extents_and_statics(void **state)
{
    (void)state;
    float a[3] = { 1, 2, 3 }, y[6];
    DLTensor A = einc_tensor(a, "f32", 1, (int64_t[]){ 3 }), Y = einc_tensor(y, "f32", 2, (int64_t[]){ 3, 2 });
    const DLTensor *in[] = { &A };
    DLTensor *out[] = { &Y };
    einc_kernel *k = einc_compile(context, "y[i,j] = a[i]", &(einc_options){ .extents = "j=2" });
    assert_non_null(k);
    assert_int_equal(einc_call(k, in, 1, out, 1, NULL), EINC_OK);
    assert_true(y[0] == 1 && y[1] == 1 && y[5] == 3);
    einc_kernel_free(k);
    k = einc_compile(context, "y[i,j] = a[i]", NULL);
    assert_non_null(k);
    assert_int_equal(einc_call(k, in, 1, out, 1, NULL), EINC_EXPRESSION);
    assert_non_null(strstr(einc_error(context), "index 'j' is not known"));
    einc_kernel_free(k);
    k = einc_compile(context, "y[i,j] = a[i]", &(einc_options){ .extents = "j=2", .statics = "i=3" });
    assert_non_null(k);
    assert_int_equal(einc_call(k, in, 1, out, 1, NULL), EINC_OK);
    A.shape = Y.shape = (int64_t[]){ 2, 2 };
    assert_int_equal(einc_call(k, in, 1, out, 1, NULL), EINC_EXPRESSION);
    assert_non_null(strstr(einc_error(context), "index 'i' is given as 3, but is 2 in 'a'"));
    einc_kernel_free(k);
}

/* A constant tells an extent that no operand does. */
static void test_statics_are_known(void **state)
{
    (void)state;
    float a[3] = { 1, 2, 3 }, y[6];
    int64_t size[2];
    DLTensor A = einc_tensor(a, "f32", 1, (int64_t[]){ 3 }), Y = einc_tensor(y, "f32", 2, (int64_t[]){ 2, 3 });
    einc_kernel *k = einc_compile(context, "y[j,i] = a[i]", &(einc_options){ .statics = " j = 2 " });
    assert_non_null(k);
    assert_int_equal(einc_output_shape(k, (const DLTensor *[]){ &A }, 1, 0, size), EINC_OK);
    assert_true(size[0] == 2 && size[1] == 3);
    assert_int_equal(einc_call(k, (const DLTensor *[]){ &A }, 1, (DLTensor *[]){ &Y }, 1, NULL), EINC_OK);
    assert_true(y[0] == 1 && y[3] == 1 && y[5] == 3);
    einc_kernel_free(k);
}

/* Operands may have another extent than a hint says, and every function takes theirs; a constant is refused by all. */
static void test_hints_do_not_bind(void **state)
{
    (void)state;
    float a[4] = { 1, 2, 3, 4 };
    DLTensor A = einc_tensor(a, "f32", 1, (int64_t[]){ 4 }), Y = einc_tensor(NULL, "f32", 1, (int64_t[]){ 4 });
    const DLTensor *in[] = { &A };
    for (int constant = 0; constant < 2; constant++) {
        float y[4] = { 0 };
        int64_t size[1];
        size_t bytes;
        int expected = constant ? EINC_EXPRESSION : EINC_OK;
        einc_options options = { .extents = "i=9", .statics = constant ? "i=9" : NULL };
        einc_kernel *k = einc_compile(context, "a[i] | softmax i", &options);
        assert_non_null(k);
        Y.data = y;
        assert_int_equal(einc_output_shape(k, in, 1, 0, size), expected);
        assert_int_equal(einc_workspace(k, in, 1, 1, &bytes), expected);
        assert_int_equal(einc_call(k, in, 1, (DLTensor *[]){ &Y }, 1, NULL), expected);
        assert_true(constant || (size[0] == 4 && y[3] > y[0]));
        einc_kernel_free(k);
    }
}

static void test_accumulate(void **state)
{
    (void)state;
    float g[6] = { 1, 2, 3, 4, 5, 6 }, w[8] = { 100, 100, 100, 100, 100, 100, 100, 100 };
    int64_t y[3] = { 3, 0, 3 }, far[3] = { 0, 4, 1 }, size[2];
    DLTensor Y = einc_tensor(y, "i64", 1, (int64_t[]){ 3 }), G = einc_tensor(g, "f32", 2, (int64_t[]){ 3, 2 });
    DLTensor W = einc_tensor(w, "f32", 2, (int64_t[]){ 4, 2 });
    const DLTensor *in[] = { &Y, &G };
    DLTensor *out[] = { &W };
    einc_kernel *k = einc_compile(context, "W[y[t]:i64,h] += g[t,h]", NULL);
    assert_non_null(k);
    assert_int_equal(einc_output_shape(k, in, 2, 0, size), EINC_OK);
    assert_true(size[0] == -1 && size[1] == 2);
    assert_int_equal(einc_call(k, in, 2, out, 1, NULL), EINC_OK);
    static const float expected[8] = { 103, 104, 100, 100, 100, 100, 106, 108 };
    assert_memory_equal(w, expected, sizeof w);
    Y.data = far;
    assert_int_equal(einc_call(k, in, 2, out, 1, NULL), EINC_EXPRESSION);
    assert_non_null(strstr(einc_error(context), "out of range"));
    einc_kernel_free(k);
}

/* ---- looking inside ---- */

static void test_texts(void **state)
{
    (void)state;
    char *source[2], *header[2];
    einc_options options = { .name = "score", .target = "portable" };
    for (int i = 0; i < 2; i++)
        assert_int_equal(einc_generate(context, "ijk,mnk->ijmn | max n | sum j", &options, &source[i], &header[i]), EINC_OK);
    assert_string_equal(source[0], source[1]);
    assert_string_equal(header[0], header[1]);
    assert_non_null(strstr(source[0], "int score(const score_args *args"));
    assert_non_null(strstr(header[0], "int score_workspace("));
    for (int i = 0; i < 2; i++) {
        einc_text_free(context, source[i]);
        einc_text_free(context, header[i]);
    }
    assert_int_equal(einc_generate(context, "ij->z", NULL, &source[0], &header[0]), EINC_EXPRESSION);
    assert_true(!source[0] && !header[0]);
    assert_int_equal(einc_generate(context, NULL, NULL, &source[0], &header[0]), EINC_USAGE);
    assert_int_equal(einc_generate(context, "i->i", &(einc_options){ .target = "none" }, &source[0], &header[0]), EINC_USAGE);
    assert_int_equal(einc_generate(context, "ij->i", NULL, NULL, &header[0]), EINC_OK);    /* one of them alone */
    einc_text_free(context, header[0]);
    einc_text_free(context, NULL);
    einc_kernel *k = einc_compile(context, "ij,jk->ik", NULL);
    assert_non_null(k);
    assert_non_null(strstr(einc_explain(k), "for j"));
    assert_non_null(strstr(einc_source(k), "int einc_kernel("));
    assert_non_null(strstr(einc_header(k), "einc_kernel_args"));
    einc_context *other = einc_context_new(NULL);    /* where the kernel comes from the disk, and its text is made to be looked at */
    einc_kernel *again = einc_compile(other, "ij,jk->ik", NULL);
    assert_non_null(again);
    assert_string_equal(einc_source(again), einc_source(k));
    assert_string_equal(einc_header(again), einc_header(k));
    assert_string_equal(einc_explain(again), einc_explain(k));
    einc_kernel_free(again);
    einc_context_free(other);
    einc_kernel_free(k);
    einc_kernel_free(NULL);
}

/* ---- the runner ---- */

static int begin(void **state)
{
    api_begin(state);
    context = einc_context_new(NULL);
    return context ? 0 : -1;
}

static int end(void **state)
{
    einc_context_free(context);
    einc_context_free(NULL);
    return api_end(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version), cmocka_unit_test(test_main_job), cmocka_unit_test(test_strides),
        cmocka_unit_test(test_dtypes), cmocka_unit_test(test_refusals), cmocka_unit_test(test_wrong_tensors),
        cmocka_unit_test(test_wrong_arguments), cmocka_unit_test(test_nothing_to_work_with), cmocka_unit_test(test_wrong_options),
        cmocka_unit_test(test_names_and_outputs), cmocka_unit_test(test_extents_and_statics),
        cmocka_unit_test(test_statics_are_known), cmocka_unit_test(test_hints_do_not_bind),
        cmocka_unit_test(test_accumulate), cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
