/* Fuzzes the whole front end: text, shapes, dtypes and extents in; parse, check, extents, and the dumps of all of them.
 *
 * An input is a text, then after a zero byte what is known of the operands. Its first byte says how the text is made:
 *
 *     'T'   as it stands
 *     'W'   each byte is a word of the notation
 *     'G'   each byte is a choice in a grammar, so that most texts are programs
 *
 * Extents are numbers from 0 to 2^63 - 1, ranks go beyond the largest. Besides sanitizers, what must hold: a Program is
 * valid, it prints as text that is the same Program, and the memory that a text takes stays in bounds.
 *
 * With libFuzzer this file is all (-fsanitize=fuzzer); without, -DSTANDALONE adds a main: fuzz_front SEED COUNT FILE…
 * runs the files, then COUNT inputs made from the seed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "extents.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_MAX = 4096, DEPTH_MAX = 12, OPERANDS_MAX = 12, GIVEN_MAX = 4, RANK_LIMIT = RANK_MAX + 6 };
enum { BYTES_MAX = 512 << 20 };

/* ---- bytes ---- */

typedef struct Bytes {
    const uint8_t *next, *end;
} Bytes;

/* Behind the end comes what makes the least text. */
static unsigned take(Bytes *bytes)
{
    return bytes->next < bytes->end ? *bytes->next++ : 1;
}

typedef struct Written {
    char text[TEXT_MAX];
    size_t length;
    bool in_stage;                /* "_" has a meaning */
} Written;

static void put(Written *out, const char *word)
{
    size_t length = strlen(word);
    if (out->length + length < TEXT_MAX) {
        memcpy(out->text + out->length, word, length);
        out->length += length;
    }
}

/* ---- words ---- */

static const char *const words[] = {
    "i", "j", "k", "n", "ij", "jk", "kji", "ii", "bq", "é", "αβ", "A", "B", "Q", "len", "seq", "seq_len", "x1", "start",
    "[", "]", "(", ")", ",", ";", "\n", "|", "&", "->", "...", "_", "@", ":", "=", "+=", " ", "#c\n", "'",
    "+", "-", "*", "/", "^", "**", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "!", "%",
    "0", "1", "2", "3", "10", "64", "9223372036854775807", "9223372036854775808", ".5", "1e-3", "1e999", "2.", " 1j", "inf",
    "nan", "pi", "where(", "max(", "min(", "exp", "exp(", "log", "f32", "f32(", "f16", "bf16", "f64", "i8", "i64", "bool",
    "c64", "c128", "complex(", "real(", "clamp(", "mod(", "atan2(", "isnan(",
    "sum ", "max ", "min ", "argmax ", "mean ", "softmax ", "logsumexp ", "topk(2) ", "bottomk(3) ", "argtopk(1) ",
    "cumsum ", "norm(2.5) ", "norm(-inf) ", "var(1) ", "any ", "prod ", "std ", "topk(99999999999) ",
};

enum { WORDS = sizeof words / sizeof *words };

static void write_words(Written *out, Bytes *bytes)
{
    while (bytes->next < bytes->end && *bytes->next)
        put(out, words[take(bytes) % WORDS]);
}

/* ---- a grammar ---- */

static const char *const letters[] = { "i", "j", "i", "j", "k", "i", "j", "é" };
static const char *const names[] = { "A", "len", "max", "Q", "D", "y", "W1", "i" };    /* of rank 1, 1, 1, 2, 2, 2, 3, 0 */
static const char *const made[] = { "r", "r2", "y", "exp" };
static const char *const longs[] = { "seq", "dim", "i", "h0" };
static const char *const dtypes[] = { "f32", "f16", "bf16", "f64", "c64", "c128", "i8", "i16", "i32", "i64", "bool" };
static const char *const operators[] = { "+", "-", "*", "/", "^", "<", "<=", ">", ">=", "==", "!=", "&&", "||" };
static const char *const unary[] = { "exp", "log", "abs", "sqrt", "floor", "real", "conj", "neg", "f16", "i8", "bool", "c64" };
static const char *const binary[] = { "max", "min", "pow", "mod", "atan2", "complex" };
static const char *const reductions[] = { "sum", "max", "argmin", "mean", "any", "logsumexp", "softmax", "cumsum", "topk(2)",
                                          "argtopk(3)", "bottomk(1)", "norm(3)", "norm(-inf)", "std(1)", "prod" };
static const char *const integers[] = { "0", "1", "2", "3", "7", "4611686018427387904", "9223372036854775807" };
static const char *const numbers[] = { "0", "1", "2", "0.5", "1e300", "inf", "nan", "pi", "9223372036854775807" };

#define PICK(table, bytes) ((table)[take(bytes) % (sizeof(table) / sizeof *(table))])

static void write_expr(Written *out, Bytes *bytes, int depth);
static void write_tensor(Written *out, Bytes *bytes, int depth);

static void write_dtype(Written *out, Bytes *bytes)
{
    if (take(bytes) % 6)
        return;
    put(out, ":");
    put(out, PICK(dtypes, bytes));
}

static void write_letters(Written *out, Bytes *bytes)
{
    for (int i = (int)(take(bytes) % 3); i >= 0; i--)
        put(out, take(bytes) % 64 ? PICK(letters, bytes) : "...");
}

static void write_index(Written *out, Bytes *bytes)
{
    put(out, take(bytes) % 24 ? PICK(letters, bytes) : PICK(longs, bytes));
}

static void write_term(Written *out, Bytes *bytes, int depth)
{
    switch (take(bytes) % 12) {
    case 0: put(out, PICK(integers, bytes)); break;
    case 1:
        put(out, PICK(integers, bytes));
        put(out, "*");
        write_index(out, bytes);
        break;
    case 2:
        if (depth < DEPTH_MAX) {
            write_tensor(out, bytes, depth + 1);
            break;
        }
        /* fall through */
    case 3:
        if (depth < DEPTH_MAX) {
            put(out, "(");
            write_term(out, bytes, depth + 1);
            put(out, take(bytes) % 2 ? "+" : "-");
            write_term(out, bytes, depth + 1);
            put(out, ")*");
            put(out, PICK(integers, bytes));
            break;
        }
        /* fall through */
    default: write_index(out, bytes);
    }
}

static void write_position(Written *out, Bytes *bytes, int depth)
{
    if (take(bytes) % 64 == 0) {
        put(out, "...");
        return;
    }
    put(out, take(bytes) % 24 ? "" : "-");
    write_term(out, bytes, depth);
    for (int i = (int)(take(bytes) % 8); i > 5; i--) {
        put(out, i == 6 ? "+" : "-");
        write_term(out, bytes, depth);
    }
}

static void write_tensor(Written *out, Bytes *bytes, int depth)
{
    static const int ranks[] = { 1, 1, 1, 2, 2, 2, 3, 0 };
    unsigned which = take(bytes) % 8;
    put(out, names[which]);
    put(out, "[");
    for (int i = take(bytes) % 64 ? ranks[which] : (int)(take(bytes) % 4); i > 0; i--) {
        write_position(out, bytes, depth);
        put(out, i > 1 ? "," : "");
    }
    put(out, "]");
    write_dtype(out, bytes);
}

static void write_call(Written *out, Bytes *bytes, int depth)
{
    unsigned which = take(bytes) % 4;
    put(out, which == 0 ? PICK(unary, bytes) : which == 1 ? "where" : which == 2 ? "clamp" : PICK(binary, bytes));
    put(out, "(");
    for (unsigned i = which == 0 ? 1 : which == 3 ? 2 : 3; i > 0; i--) {
        write_expr(out, bytes, depth + 1);
        put(out, i > 1 ? "," : ")");
    }
}

static void write_expr(Written *out, Bytes *bytes, int depth)
{
    unsigned choice = take(bytes) % 12;
    if (depth >= DEPTH_MAX && choice > 5)
        choice %= 6;
    switch (choice) {
    case 0: put(out, PICK(numbers, bytes)); break;
    case 1: put(out, out->in_stage ? "_" : PICK(letters, bytes)); break;
    case 2:
        put(out, "@");
        write_index(out, bytes);
        break;
    case 3: case 4: write_letters(out, bytes); write_dtype(out, bytes); break;
    case 5: write_tensor(out, bytes, depth); break;
    case 6: write_call(out, bytes, depth); break;
    case 7: put(out, take(bytes) % 2 ? "-" : "!"); write_expr(out, bytes, depth + 1); break;
    case 8:
        put(out, "(");
        write_expr(out, bytes, depth + 1);
        put(out, ")");
        break;
    default: {
        bool apart = take(bytes) % 4;
        put(out, apart ? "(" : "");
        write_expr(out, bytes, depth + 1);
        put(out, apart || take(bytes) % 2 ? PICK(operators, bytes) : "+");
        write_expr(out, bytes, depth + 1);
        put(out, apart ? ")" : "");
    }
    }
}

static void write_indices(Written *out, Bytes *bytes)
{
    bool brackets = take(bytes) % 3 == 0;
    unsigned first = take(bytes) % 8;
    put(out, brackets ? "[" : "");
    for (int i = take(bytes) % 4 == 0; i >= 0; i--) {
        put(out, first % 2 ? letters[(first + (unsigned)i) % 2] : letters[(first + (unsigned)i) % 5]);
        put(out, !brackets ? " " : i > 0 ? "," : "");
    }
    put(out, brackets ? "]" : "");
}

static void write_arrow(Written *out, Bytes *bytes)
{
    put(out, "->");
    write_indices(out, bytes);
    write_dtype(out, bytes);
}

static void write_reduction(Written *out, Bytes *bytes)
{
    put(out, PICK(reductions, bytes));
    put(out, " ");
    write_indices(out, bytes);
}

static void write_stage(Written *out, Bytes *bytes)
{
    switch (take(bytes) % 6) {
    case 0: case 1: write_reduction(out, bytes); return;
    case 2: put(out, PICK(unary, bytes)); return;
    case 3: write_arrow(out, bytes); return;
    case 4:
        put(out, take(bytes) % 2 ? "," : PICK(operators, bytes));
        write_expr(out, bytes, 8);
        break;
    default:
        write_expr(out, bytes, 6);
        put(out, take(bytes) % 8 ? "+_" : "");
    }
    if (take(bytes) % 4 == 0)
        write_arrow(out, bytes);
}

static void write_statement(Written *out, Bytes *bytes, bool named)
{
    out->in_stage = false;
    if (named) {
        if (take(bytes) % 4 == 0) {
            write_tensor(out, bytes, 4);
        } else {
            put(out, PICK(made, bytes));
            write_dtype(out, bytes);
        }
        put(out, take(bytes) % 3 ? " = " : " += ");
    }
    bool subscripts = take(bytes) % 2;
    for (int i = (int)(take(bytes) % 4); i >= 0; i--) {
        if (subscripts)
            write_letters(out, bytes);
        else
            write_expr(out, bytes, 5);
        put(out, i ? "," : "");
    }
    if (take(bytes) % 2)
        write_arrow(out, bytes);
    out->in_stage = true;
    for (int i = (int)(take(bytes) % 5); i > 0; i--) {
        put(out, " | ");
        write_stage(out, bytes);
    }
    if (take(bytes) % 10 == 0) {
        put(out, " | ");
        write_reduction(out, bytes);
        put(out, " & ");
        write_reduction(out, bytes);
    }
}

static void write_program(Written *out, Bytes *bytes)
{
    for (int i = (int)(take(bytes) % 8); i > 4; i--) {
        write_statement(out, bytes, take(bytes) % 16 != 0);
        put(out, take(bytes) % 2 ? "; " : "\n");
    }
    write_statement(out, bytes, take(bytes) % 3 == 0);
}

/* ---- what is known ---- */

typedef struct Known {
    OperandSpec operands[OPERANDS_MAX];
    int64_t shapes[OPERANDS_MAX][RANK_LIMIT];
    ExtentSpec extents[GIVEN_MAX];
    CheckOptions options;
    int64_t sizes[OPERANDS_MAX];  /* of indices, for the operands of which nothing is known */
} Known;

static int64_t take_extent(Bytes *bytes)
{
    static const int64_t extents[] = { 0, 1, 2, 3, 3, 3, 5, 7, 64, 1 << 20, 1 << 30, INT32_MAX, (int64_t)1 << 32,
                                       (int64_t)1 << 61, (int64_t)1 << 62, INT64_MAX - 1, INT64_MAX };
    return PICK(extents, bytes);
}

/* Whether the text may have the name, so that most of what is given has its operand. */
static const char *found(const char *text, const char *name)
{
    return strstr(text, name) ? name : NULL;
}

static void read_known(Known *known, Bytes *bytes, const char *text)
{
    known->options.operands = known->operands;
    known->options.extents = known->extents;
    known->options.extent_count = take(bytes) % 4 != 0 ? 0 : (int)(take(bytes) % GIVEN_MAX);
    for (int i = 0; i < known->options.extent_count; i++) {
        known->extents[i].name = take(bytes) % 2 ? PICK(letters, bytes) : PICK(longs, bytes);
        known->extents[i].extent = take_extent(bytes);
    }
    unsigned operands = take(bytes);
    known->options.operand_count = operands % 4 == 0 ? (int)(operands / 4 % OPERANDS_MAX) : 0;
    for (int i = 0; i < OPERANDS_MAX; i++)
        known->sizes[i] = take_extent(bytes);
    for (int i = 0; i < known->options.operand_count; i++) {
        OperandSpec *operand = &known->operands[i];
        unsigned dtype = take(bytes), rank = take(bytes);
        operand->name = dtype & 64 ? found(text, PICK(names, bytes)) : NULL;
        operand->dtype = (Dtype)(dtype % (DTYPE_COUNT + 1));
        operand->rank = rank < 240 ? (int)(rank % 5) : (int)(rank % RANK_LIMIT) - 1;
        operand->shape = operand->rank > 0 ? known->shapes[i] : NULL;
        for (int a = 0; a < operand->rank; a++)
            known->shapes[i][a] = take_extent(bytes);
    }
}

/* ---- the front end ---- */

typedef struct Meter {
    size_t bytes;
} Meter;

static void *metered(void *user, size_t bytes, size_t align)
{
    Meter *meter = user;
    (void)align;
    meter->bytes += bytes;
    if (meter->bytes > BYTES_MAX) {
        fprintf(stderr, "a text takes more than %d MiB\n", BYTES_MAX >> 20);
        abort();
    }
    return malloc(bytes);
}

static void unmetered(void *user, void *memory)
{
    (void)user;
    free(memory);
}

static long accepted, complete;    /* how many texts were programs, and how many of these had all extents */

static void broken(const char *what, const char *text, const char *more)
{
    fprintf(stderr, "%s:\n%s\n%s\n", what, text, more);
    abort();
}

static void render_all(Arena *arena, const Diags *diags)
{
    Text text = text_new(arena);
    for (const Diag *d = diags->first; d; d = d->next)
        diag_render(&text, diags->source, d, d->hint != NULL);
}

/* One that agrees with those of the other tensors, if all go well. */
static const int64_t *likely_shape(Arena *arena, const Program *program, const Tensor *tensor, const Known *known)
{
    int64_t *shape = ARENA_ARRAY(arena, int64_t, tensor->rank);
    for (int a = 0; a < tensor->rank; a++) {
        const Index *index = program_axis_index(program, tensor, a);
        shape[a] = index ? known->sizes[(unsigned char)index->name[0] % OPERANDS_MAX] : known->sizes[a % OPERANDS_MAX];
    }
    return shape;
}

static void infer(Arena *arena, const Program *program, const Known *known, Diags *diags)
{
    const int64_t **shapes = ARENA_ARRAY(arena, const int64_t *, program->tensor_count);
    const int *places = check_bind(arena, program, &known->options);
    for (int i = 0; i < known->options.operand_count; i++)
        if (places[i] >= 0 && program->tensors[places[i]]->rank == known->operands[i].rank)
            shapes[places[i]] = known->operands[i].shape;
    for (int t = 0; t < program->tensor_count; t++)
        if (!shapes[t] && program->tensors[t]->rank >= 0)
            shapes[t] = likely_shape(arena, program, program->tensors[t], known);
    Extents *extents = extents_infer(arena, program, shapes, known->extents, known->options.extent_count, diags);
    if (!extents || !extents_require(extents, diags))
        return;
    complete++;
}

static void reads_back(Arena *arena, const Program *program, const Known *known)
{
    Text text = text_new(arena);
    program_print(&text, program);
    Source source = { "print", text.bytes, text.length };
    Diags diags = { .arena = arena, .source = &source };
    Ast *ast = parse(arena, &source, &diags);
    Program *again = ast ? check(arena, ast, &known->options, &diags) : NULL;
    if (!again || !program_equal(program, again))
        broken("it prints as another program", program->source->text, arena_format(arena, "%s\n%s", text.bytes,
                                                                                     diags.first ? diags.first->message : ""));
}

static void run(Arena *arena, const char *written, size_t length, const Known *known)
{
    Source source = { "fuzz", written, length };
    Diags diags = { .arena = arena, .source = &source };
    Text dump = text_new(arena);
    Ast *ast = parse(arena, &source, &diags);
    if (ast) {
        ast_dump(&dump, ast);
        check_inputs(arena, ast);
    }
    Program *program = ast ? check(arena, ast, &known->options, &diags) : NULL;
    if (!program && !diags.errors)
        broken("refused without a word", written, "");
    if (program) {
        const char *invalid = program_verify(program);
        if (invalid)
            broken("the program is not valid", written, invalid);
        accepted++;
        program_dump(&dump, program);
        reads_back(arena, program, known);
        infer(arena, program, known, &diags);
    }
    render_all(arena, &diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Bytes bytes = { data, data + size };
    Written *out = calloc(1, sizeof *out);
    Known *known = calloc(1, sizeof *known);
    Meter meter = { 0 };
    jmp_buf failed;
    Arena arena = { .alloc = metered, .free = unmetered, .user = &meter, .failed = &failed };
    switch (take(&bytes)) {
    case 'W': write_words(out, &bytes); break;
    case 'G': write_program(out, &bytes); break;
    default:
        while (bytes.next < bytes.end && *bytes.next && out->length < TEXT_MAX - 1)
            out->text[out->length++] = (char)*bytes.next++;
    }
    if (bytes.next < bytes.end && !*bytes.next)
        bytes.next++;
    read_known(known, &bytes, out->text);
    if (!setjmp(failed)) {
        char *text = malloc(out->length + 1);    /* exactly as long, so that a sanitizer sees a read behind it */
        memcpy(text, out->text, out->length + 1);
        run(&arena, text, out->length, known);
        free(text);
    }
    arena_free(&arena);
    free(known);
    free(out);
    return 0;
}

#ifdef STANDALONE
static uint64_t next_random(uint64_t *state)
{
    *state += 0x9E3779B97F4A7C15u;
    uint64_t z = *state;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static size_t read_file(const char *path, uint8_t *data, size_t most)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    size_t size = fread(data, 1, most, file);
    fclose(file);
    return size;
}

int main(int count, char **arguments)
{
    enum { FILES_MAX = 512, SIZE_MAX_ = 1024 };
    static uint8_t data[FILES_MAX + 1][SIZE_MAX_];
    size_t sizes[FILES_MAX + 1];
    int files = 0;
    for (int i = 3; i < count && files < FILES_MAX; i++, files++) {
        data[files][0] = 'T';
        sizes[files] = 1 + read_file(arguments[i], data[files] + 1, SIZE_MAX_ - 1);
        LLVMFuzzerTestOneInput(data[files], sizes[files]);
    }
    uint64_t state = count > 1 ? strtoull(arguments[1], NULL, 10) : 1;
    long most = count > 2 ? atol(arguments[2]) : 10000;
    for (long n = 0; n < most; n++) {
        uint8_t *own = data[FILES_MAX];
        unsigned kind = (unsigned)(next_random(&state) % 8);
        size_t size = 16 + next_random(&state) % 200;
        for (size_t i = 0; i < size; i++)
            own[i] = (uint8_t)next_random(&state);
        own[0] = kind < 6 ? 'G' : kind < 7 || !files ? 'W' : 'T';
        if (own[0] == 'T') {    /* a file with some bytes changed */
            int file = (int)(next_random(&state) % (unsigned)files);
            size = sizes[file];
            memcpy(own, data[file], size);
            for (int i = (int)(next_random(&state) % 4); i >= 0 && size > 1; i--)
                own[1 + next_random(&state) % (size - 1)] = (uint8_t)(next_random(&state) % 2 ? "[](),|->_@;&"[next_random(&state) % 12]
                                                                                             : next_random(&state) % 128);
        }
        LLVMFuzzerTestOneInput(own, size);
    }
    printf("fuzz_front: %d files and %ld inputs of seed %s: no fault; %ld programs, %ld with all extents\n", files, most,
           count > 1 ? arguments[1] : "1", accepted, complete);
    return 0;
}
#endif
