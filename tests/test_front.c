/* The front end: what a Program prints, that it reads back as the same, names and extents that depend on no order, and
 * that an expression means the same under other names, orders and with one index more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "extents.h"

typedef struct Front {
    Arena arena;
    jmp_buf failed;
    Source source;
    Diags diags;
    Program *program;
} Front;

/* The Program of a text, with what is known; `program` is NULL when it is refused. */
static Front *read_text(const char *text, const CheckOptions *options)
{
    Front *front = calloc(1, sizeof *front);
    assert_non_null(front);
    front->arena.failed = &front->failed;
    assert_int_equal(setjmp(front->failed), 0);
    front->source = (Source){ "expr", text, strlen(text) };
    front->diags = (Diags){ .arena = &front->arena, .source = &front->source };
    Ast *ast = parse(&front->arena, &front->source, &front->diags);
    front->program = ast ? check(&front->arena, ast, options, &front->diags) : NULL;
    return front;
}

static Front *accept(const char *text, const CheckOptions *options)
{
    Front *front = read_text(text, options);
    if (!front->program)
        fail_msg("%s: %s", text, front->diags.first->message);
    const char *broken = program_verify(front->program);
    if (broken)
        fail_msg("%s: %s", text, broken);
    return front;
}

static void end(Front *front)
{
    arena_free(&front->arena);
    free(front);
}

/* ---- printing ---- */

static void assert_prints(const char *text, const char *expected)
{
    Front *front = accept(text, NULL);
    Text printed = text_new(&front->arena);
    program_print(&printed, front->program);
    if (expected && strcmp(printed.bytes, expected))
        fail_msg("%s\nprints as\n%s\nnot as\n%s", text, printed.bytes, expected);
    Front *again = accept(printed.bytes, NULL);
    if (!program_equal(front->program, again->program))
        fail_msg("%s\nprints as another program:\n%s", text, printed.bytes);
    end(again);
    end(front);
}

/* Every expression of the design's table, and others where the text's form decides what is meant. */
static void programs_print_and_read_back(void **unused)
{
    (void)unused;
    static const char *const texts[][2] = {
        { "ijk,mnk->ijmn | max n | sum j", "ijk, mnk -> ijmn | max n | sum j" },
        { "Q[i,j,k], D[m,n,k] -> [i,j,m,n] | where(@n < len[m], _, -inf) | max n | sum j",
          "Q[i,j,k], D[m,n,k] -> ijmn | where(@n < len[m], _, -inf) | max n | sum j" },
        { "Q[i,j,k], D[start[m]:i64+n,k] -> [i,j,m,n] | where(@n < len[m], _, -inf) | max n | sum j",
          "Q[i,j,k], D[start[m]:i64+n,k] -> ijmn | where(@n < len[m], _, -inf) | max n | sum j" },
        { "(ik - jk)^2 -> ij | bottomk(10) j & argbottomk(10) j", "(ik - jk)^2 -> ij | bottomk(10) j & argbottomk(10) j" },
        { "(bid - bjd)^2 -> bij | min j | mean i", "(bid - bjd)^2 -> bij | min j | mean i" },
        { "(id - jd)^2 -> ij | exp(-0.5 * _) | * jv -> iv", "(id - jd)^2 -> ij | exp(-0.5 * _) | _ * jv -> iv" },
        { "x[n,c,h+r,w+s], k[o,c,r,s] -> [n,o,h,w]", "x[n,c,h+r,w+s], k[o,c,r,s] -> nohw" },
        { "bhqd,bhkd->bhqk | _ * 0.125 | where(@q >= @k, _, -inf) | softmax k | * bhkv -> bhqv",
          "bhqd, bhkd -> bhqk | _ * 0.125 | where(@q >= @k, _, -inf) | softmax k | _ * bhkv -> bhqv" },
        { "ik + kj -> ikj | logsumexp k", "ik + kj | logsumexp k" },
        { "ik + kj -> ikj | max k & argmax k", "ik + kj | max k & argmax k" },
        { "bij,abj->abi", "bij, abj -> abi" },
        { "dW[v,h]:f32 += G[c,v]:bf16, X[c,h]:bf16", "dW[v,h]:f32 += G[c,v]:bf16, X[c,h]:bf16 -> vh:f32" },
        { "lse = X[t,h], W[v,h] -> [t,v] | logsumexp v ; pick = X[t,h], W[y[t]:i64,h] -> [t] ; lse[t] - pick[t] | mean t",
          "lse[t] = X[t,h], W[v,h] -> tv | logsumexp v\npick[t] = X[t,h], W[y[t]:i64,h] -> t\nlse[t] - pick[t] | mean t" },
        { "where(@h+@r >= 1 && @h+@r <= 56, x[n,c,h+r-1], 0) * k[o,c,r] -> [n,o,h]", NULL },
        { "", "-> []" },
        { ",", ", -> []" },
        { "ba", "ba -> ab" },
        { "ii->", "ii -> []" },
        { "ab, | _ + exp(_)", "ab, -> ab | _ + exp(_)" },
        { "sl -> sl | cumsum l", "sl -> sl | cumsum l" },
        { "mask[h] | start[v,h] + _", "mask[h] | start[v,h] + _" },
        { "x[i] | -n / b + _", "x[i] | -n / b + _" },
        { "x[i] | -_", "x[i] | -_" },
        { "x[i] | - _^2 * 3", "x[i] | -_^2 * 3" },
        { "x[i] | - y[i]", "x[i] | _ - y[i]" },
        { "y[j,i] = a[i] * b[j] -> ij", "y[j,i] = a[i] * b[j] -> ij" },
        { "y[j,i] = a[i] * b[j]", "y[j,i] = a[i] * b[j] -> ji" },
        { "y:f32 = a[i]:f64 -> i | -> i", "y[i]:f32 = a[i]:f64 | _ -> i" },
        { "y:f32 = b, erf(e) | erf(_)", "y[b,e]:f32 = b, erf(e) | erf(_)" },
        { "y[n] = x[n] | topk(2) n", "y[n] = x[n] | topk(2) n" },
        { "x[i] | where(m[i] > 0, _, exp(_)) | cumsum i", "x[i] | where(m[i] > 0, _, exp(_)) | cumsum i" },
        { "a[i] | where(where(c[i], _, 0) > 0, b[i], _)", NULL },
        { "p i, ij -> pj", "p i, ij -> pj" },
        { "s u m, i -> i", "s u m, i -> i" },
        { "max[i] + 1 | (max[i]) * _ | sum i", "max[i] + 1 | (max[i] * _) | sum i" },
        { "Q[batch,seq], Q[batch,dim] -> [seq,dim]", "Q[batch,seq], Q[batch,dim] -> [seq,dim]" },
        { "ij:i8,jk:i8,k:f32->i", "ij:i8, jk:i8, k -> i" },
        { "a[i]:i8 * b[i]:i8 * c[i]", "a[i]:i8 * b[i]:i8 * c[i]" },
        { "x[i] | clamp(_, -inf, 3) | (inf) * _", "x[i] | clamp(_, -inf, 3) | inf * _" },
        { "x[2*(h+r)-1, 3-k]", "x[2*h+2*r-1,-k+3]" },
        { "y = x[i]; -y[i] | sum i", "y[i] = x[i];\n-y[i] | sum i" },
        { "A = 4,; pi", "A[] = 4, ;\np i -> ip" },
        { "x[i] | norm(-inf) i", NULL },
        { "x[i,j] | norm(2.5) ji | -> ", NULL },
        { "!(a[i] > 0 && b[i] < 1 || c[i] == 2)", NULL },
        { "-a[i]^-b[i]^2 - (c[i] - d[i]) / -e[i]", NULL },
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_prints(texts[i][0], texts[i][1]);
}

/* ---- names ---- */

static void labels_are_no_names(void **unused)
{
    (void)unused;
    Front *front = accept("i, j, k, l, D[i], A[i]", NULL);
    const char *labels[] = { "B", "C", "E", "F", "D", "A" };
    for (int i = 0; i < 6; i++)
        assert_string_equal(front->program->inputs[i]->label, labels[i]);
    end(front);
}

/* A token as long as the source is: a name, then blanks, a comment and empty lines behind it. */
static void tokens_are_of_any_length(void **unused)
{
    (void)unused;
    enum { LENGTH = 50000 };
    static const char fills[] = { 'a', ' ', '#', '\n' };
    char *text = malloc(LENGTH + 10);
    for (size_t i = 0; i < sizeof fills; i++) {
        memset(text, fills[i], LENGTH);
        strcpy(text + LENGTH, i ? "" : "[i]");
        if (i)
            memcpy(text, "a[i]", 4);
        Front *front = accept(text, NULL);
        assert_int_equal(strlen(front->program->inputs[0]->name), i ? 1 : LENGTH);
        end(front);
    }
    free(text);
}

static void an_extent_never_means_a_dimension_of_dots(void **unused)
{
    (void)unused;
    OperandSpec operand = { NULL, DTYPE_F32, 3, (int64_t[]){ 4, 5, 6 } };
    ExtentSpec given = { .name = "a", .extent = 7 };
    CheckOptions options = { &operand, 1, &given, 1 };
    Front *front = read_text("...k -> ...", &options);
    assert_null(front->program);
    assert_string_equal(front->diags.first->message, "the expression has no index 'a'");
    end(front);
    OperandSpec operands[] = { operand, { NULL, DTYPE_F32, 1, (int64_t[]){ 7 } } };
    options.operands = operands, options.operand_count = 2;
    front = accept("...k, a -> a...", &options);
    const int64_t *shapes[3] = { operand.shape, operands[1].shape };
    assert_non_null(extents_infer(&front->arena, front->program, shapes, &given, 1, &front->diags));
    end(front);
}

/* ---- extents ---- */

/* The extent that the shapes give an index, -1 when nothing does. */
static int64_t extent_of(Front *front, const char *name, int count, int64_t shapes[][2])
{
    const Program *p = front->program;
    const int64_t **known = ARENA_ARRAY(&front->arena, const int64_t *, p->tensor_count);
    for (int i = 0; i < count; i++)
        known[p->inputs[i]->id] = shapes[i];
    Extents *extents = extents_infer(&front->arena, p, known, NULL, 0, &front->diags);
    if (!extents)
        fail_msg("%s: %s", front->source.text, front->diags.first->message);
    for (int i = 0; i < p->index_count; i++)
        if (!strcmp(p->indices[i]->name, name))
            return extents->of[i];
    return -2;
}

/* The same factors in each order give the same extents. */
static void extents_do_not_depend_on_the_order(void **unused)
{
    (void)unused;
    static const char *const factors[] = { "u[2+r]", "v[1+s+3*r]", "w[s]" };
    int64_t sizes[] = { 9, 20, 4 };
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            int c = 3 - a - b;
            if (a == b || c < 0 || c > 2 || c == a || c == b)
                continue;
            char text[64];
            snprintf(text, sizeof text, "%s * %s * %s", factors[a], factors[b], factors[c]);
            int64_t shapes[][2] = { { sizes[a] }, { sizes[b] }, { sizes[c] } };
            Front *front = accept(text, NULL);
            assert_int_equal(extent_of(front, "r", 3, shapes), 6);    /* 1 + 3 + 3*5 = 19 is in range, u allows 7 */
            assert_int_equal(extent_of(front, "s", 3, shapes), 4);
            end(front);
        }
}

static void indices_that_wait_for_each_other_take_what_they_have(void **unused)
{
    (void)unused;
    static const char *const texts[] = { "x[h+r] * y[h+1] * z[r+1]", "z[r+1] * y[h+1] * x[h+r]" };
    for (int i = 0; i < 2; i++) {
        int64_t shapes[][2] = { { i ? 4 : 30 }, { 6 }, { i ? 30 : 4 } };
        Front *front = accept(texts[i], NULL);
        assert_int_equal(extent_of(front, "h", 3, shapes), 5);
        assert_int_equal(extent_of(front, "r", 3, shapes), 3);
        end(front);
    }
}

static void a_target_without_its_array_takes_what_fits(void **unused)
{
    (void)unused;
    int64_t shapes[][2] = { { 9 } };
    Front *front = accept("y[m] += x[m+1]", NULL);
    assert_int_equal(extent_of(front, "m", 1, shapes), 8);
    const int64_t **known = ARENA_ARRAY(&front->arena, const int64_t *, front->program->tensor_count);
    int64_t own[] = { 3 };
    known[front->program->inputs[0]->id] = shapes[0];
    known[program_find(front->program, "y")->id] = own;
    Extents *extents = extents_infer(&front->arena, front->program, known, NULL, 0, &front->diags);
    assert_non_null(extents);
    assert_int_equal(extents->of[0], 3);
    end(front);
}

/* ---- the same in other words ---- */

/* How terms are compared: index names are mapped, one index may be left out, and order counts nowhere but where it
 * decides the value: the arguments of what does not commute, argmax's indices. */
typedef struct Words {
    Arena *arena;
    const char *from, *to;        /* letters of the same place mean the same */
    char left_out;                /* a letter that is as if it were not there; 0 for none */
} Words;

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *joined(const Words *w, const char **words, int count, bool sorted)
{
    Text text = text_new(w->arena);
    if (sorted && count)
        qsort(words, (size_t)count, sizeof *words, compare_words);
    for (int i = 0; i < count; i++)
        text_print(&text, "%s%s", i ? " " : "", words[i]);
    return text.bytes;
}

static const char *index_word(const Words *w, const Index *index)
{
    const char *at = index->name[1] ? NULL : strchr(w->from, index->name[0]);
    return at && *w->from ? arena_format(w->arena, "%c", w->to[at - w->from]) : index->name;
}

static const char *indices_words(const Words *w, Index *const *indices, int count, bool sorted)
{
    const char **words = ARENA_ARRAY(w->arena, const char *, count);
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (!w->left_out || indices[i]->name[0] != w->left_out)
            words[kept++] = index_word(w, indices[i]);
    return joined(w, words, kept, sorted);
}

static const char *term_words(const Words *w, const Term *term)
{
    switch (term->kind) {
    case TERM_READ: {
        Index **indices = ARENA_ARRAY(w->arena, Index *, term->read.tensor->rank);
        for (int a = 0; a < term->read.tensor->rank; a++)
            indices[a] = term->read.positions[a].parts[0].index;
        return arena_format(w->arena, "%s{%s}", dtype_name(term->dtype), indices_words(w, indices, term->read.tensor->rank, true));
    }
    case TERM_CONSTANT: return arena_format(w->arena, "%g", term->constant.value);
    case TERM_POSITION: return arena_format(w->arena, "@%s", index_word(w, term->position));
    case TERM_EXTENT: break;      /* of no checked program */
    case TERM_MAP: {
        bool commutes = term->map.function == FUNCTION_MUL || term->map.function == FUNCTION_ADD;
        const char **words = ARENA_ARRAY(w->arena, const char *, term->map.count);
        for (int i = 0; i < term->map.count; i++)
            words[i] = term_words(w, term->map.arguments[i]);
        return arena_format(w->arena, "(%s %s)", function_facts[term->map.function].name,
                            joined(w, words, term->map.count, commutes));
    }
    case TERM_SELECT:
        return arena_format(w->arena, "(where %s %s %s)", term_words(w, term->select.condition),
                            term_words(w, term->select.yes), term_words(w, term->select.no));
    case TERM_CONTRACT:
    case TERM_REDUCE: {
        bool ordered = reduction_facts[term->reduce.reduction].gives == GIVES_POSITION;
        if (term->kind == TERM_CONTRACT && !term->reduce.over_count)
            return term_words(w, term->reduce.argument);
        return arena_format(w->arena, "(%s %g [%s] %s)", reduction_facts[term->reduce.reduction].name, term->reduce.parameter,
                            indices_words(w, term->reduce.over, term->reduce.over_count, !ordered),
                            term_words(w, term->reduce.argument));
    }
    }
    return "";
}

/* Each output: its value, and the set of its indices. */
static const char *program_words(const Words *w, const Program *program)
{
    Text text = text_new(w->arena);
    const Statement *result = program_result(program);
    for (int o = 0; o < result->output_count; o++) {
        const Tensor *tensor = result->outputs[o].tensor;
        text_print(&text, "%s[%s] = %s\n", dtype_name(tensor->dtype), indices_words(w, tensor->axes, tensor->rank, true),
                   term_words(w, result->outputs[o].value));
    }
    return text.bytes;
}

static void assert_same(const char *text, const char *other, const char *from, const char *to, char left_out)
{
    Front *front = accept(text, NULL), *variant = accept(other, NULL);
    Words plain = { &front->arena, "", "", 0 }, mapped = { &front->arena, from, to, left_out };
    const char *a = program_words(&plain, front->program), *b = program_words(&mapped, variant->program);
    if (strcmp(a, b))
        fail_msg("%s\n%s\n%s\n%s", text, a, other, b);
    end(variant);
    end(front);
}

/* A text and others that mean the same: other names for its indices, operands in another order, operands and outputs
 * stored in other orders, and z as one index more in all operands and outputs. */
static const struct {
    const char *text, *renamed, *from, *to, *swapped, *transposed, *batched;
} variants[] = {
    { "ijk,mnk->ijmn | max n | sum j", "kji,nmi->kjnm | max m | sum j", "kjinm", "ijkmn", "mnk,ijk->ijmn | max n | sum j",
      "kji,nkm->nmji | max n | sum j", "zijk,mznk->ijmnz | max n | sum j" },
    { "bhqd,bhkd->bhqk | _ * 0.125 | where(@q >= @k, _, -inf) | softmax k | * bhkv -> bhqv",
      "xyst,xyut->xysu | _ * 0.125 | where(@s >= @u, _, -inf) | softmax u | * xyuw -> xysw", "xystuw", "bhqdkv",
      "bhkd,bhqd->bhqk | 0.125 * _ | where(@q >= @k, _, -inf) | softmax k | bhkv * _ -> bhqv",
      "qdbh,dbkh->qkhb | _ * 0.125 | where(@q >= @k, _, -inf) | softmax k | * vkhb -> vqhb",
      "zbhqd,bzhkd->bhqkz | _ * 0.125 | where(@q >= @k, _, -inf) | softmax k | * zbhkv -> bhqvz" },
    { "(ik - jk)^2 -> ij | bottomk(10) j & argbottomk(10) j", "(na - ma)^2 -> nm | bottomk(10) m & argbottomk(10) m", "nam",
      "ikj", NULL, "(ki - jk)^2 -> ji | bottomk(10) j & argbottomk(10) j",
      "(zik - jzk)^2 -> ijz | bottomk(10) j & argbottomk(10) j" },
    { "ik + kj -> ikj | logsumexp k", "ab + bc -> abc | logsumexp b", "abc", "ikj", "kj + ik -> ikj | logsumexp k",
      "ki + kj -> kji | logsumexp k", "ikz + zkj -> zikj | logsumexp k" },
    { "ik + kj -> ikj | max k & argmax k", "ab + bc -> abc | max b & argmax b", "abc", "ikj",
      "kj + ik -> ikj | max k & argmax k", "ki + jk -> jik | max k & argmax k", "ikz + zkj -> zikj | max k & argmax k" },
    { "bij,abj->abi", "xyz,wxz->wxy", "xyzw", "bija", "abj,bij->abi", "jib,jab->iba", "bijz,zabj->abiz" },
    { "(id - jd)^2 -> ij | exp(-0.5 * _) | * jv -> iv", "(ax - bx)^2 -> ab | exp(-0.5 * _) | * by -> ay", "axby", "idjv",
      "(id - jd)^2 -> ij | exp(_ * -0.5) | jv * _ -> iv", "(di - dj)^2 -> ji | exp(-0.5 * _) | * vj -> vi",
      "(zid - zjd)^2 -> zij | exp(-0.5 * _) | * jvz -> ziv" },
    { "ij,jk,kl->il | relu | mean l", "ab,bc,cd->ad | relu | mean d", "abcd", "ijkl", "jk,ij,kl->il | relu | mean l",
      "ji,kj,lk->li | relu | mean l", "zij,zjk,klz->zil | relu | mean l" },
    { "ij -> ij | softmax j | log | sum i", "pq -> pq | softmax q | log | sum p", "pq", "ij", NULL,
      "ji -> ij | softmax j | log | sum i", "zij -> zij | softmax j | log | sum i" },
};

static void renaming_changes_names_alone(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        assert_same(variants[i].text, variants[i].renamed, variants[i].from, variants[i].to, 0);
}

static void swapping_operands_changes_their_order_alone(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        if (variants[i].swapped)
            assert_same(variants[i].text, variants[i].swapped, "", "", 0);
}

static void transposing_storage_changes_axes_alone(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        assert_same(variants[i].text, variants[i].transposed, "", "", 0);
}

static void a_batch_index_changes_nothing_else(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        assert_same(variants[i].text, variants[i].batched, "", "", 'z');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_print_and_read_back),
        cmocka_unit_test(labels_are_no_names),
        cmocka_unit_test(tokens_are_of_any_length),
        cmocka_unit_test(an_extent_never_means_a_dimension_of_dots),
        cmocka_unit_test(extents_do_not_depend_on_the_order),
        cmocka_unit_test(indices_that_wait_for_each_other_take_what_they_have),
        cmocka_unit_test(a_target_without_its_array_takes_what_fits),
        cmocka_unit_test(renaming_changes_names_alone),
        cmocka_unit_test(swapping_operands_changes_their_order_alone),
        cmocka_unit_test(transposing_storage_changes_axes_alone),
        cmocka_unit_test(a_batch_index_changes_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
