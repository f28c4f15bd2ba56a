/* What kernels use of Hopper alone, in tests/cuda_emulator.h: barriers in shared memory, copies of tiles by maps, products of matrices
 * in shared memory by groups of four warps, and registers that these hand over. Copies and products are made at once, as late as can
 * be, or some so and some so. Until then what they write is poison. Ends the process where one is made before what it needs is there,
 * or in the place of what another still reads; where a barrier is used that is not there yet, or counts too much; where a thread
 * waits for ever. */
#ifndef TESTS_CUDA_HOPPER_H
#define TESTS_CUDA_HOPPER_H

#include "cuda_map.h"

namespace emulated {

enum { BARRIERS_MAX = 32, LOADS_MAX = 64, PRODUCTS_MAX = 64, GROUPS_MAX = THREADS_MAX / GROUP_THREADS, SUMS_MAX = 128, ROWS = 64, POINTS = 16, PANEL = 64,
       WORDS = 4, SETS = 2, REGISTERS = 65536, PLACES_OF_CHUNKS = 8 };

typedef float (*NumberOf)(uint16_t);      /* NULL: numbers are bytes, and sums whole */

struct BarrierModel {
    const void *at;
    unsigned maker, made;             /* its thread, and how often the block had waited then */
    bool ready;
    int count, pending, phase;
    long bytes;
};

/* A tile on its way. */
struct Load {
    char *to;
    size_t bytes;
    TestMap map;
    int64_t place[MAP_AXES];
    const void *barrier;
};

struct Product {
    uint64_t left, right;
    int columns, adds, group;
    NumberOf number;
    bool panels[2], done;         /* whether a side's lines lie side by side */
    bool has_words;               /* the left side is in registers: a thread's, and at last those of all of the group */
    uint32_t own[WORDS], words[GROUP_THREADS][WORDS];
    int set;                      /* of its sums */
};

/* Some sums of a thread, as they will be: their bits. */
struct Sums {
    void *at;
    uint32_t made[SUMS_MAX];
    int open;                     /* products that are not waited for yet */
};

/* A thread's products: what was begun since the last commit. */
struct Own {
    Product begun[PRODUCTS_MAX];
    int begun_count;
    Sums sets[SETS];
    bool fenced;
};

/* Of four warps. */
struct Group {
    Product products[PRODUCTS_MAX];
    int count, committed;
    int registers;                /* of each thread */
};

struct Hopper {
    BarrierModel barriers[BARRIERS_MAX];
    Load loads[LOADS_MAX];
    Group groups[GROUPS_MAX];
    Own own[THREADS_MAX];
    int barrier_count, load_count, registers;    /* that nobody has */
};

static Hopper hoppers[BLOCKS_MAX];

UNWATCHED static Hopper *hopper()
{
    return &hoppers[current->block];
}

UNWATCHED static void hopper_begins(unsigned block)
{
    Hopper *h = &hoppers[block];
    int each = (int)(REGISTERS / block_size / 8 * 8);
    h->barrier_count = h->load_count = 0;
    h->registers = REGISTERS - each * (int)block_size;
    for (int g = 0; g < GROUPS_MAX; g++) {
        h->groups[g].count = h->groups[g].committed = 0;
        h->groups[g].registers = each;
    }
    for (unsigned t = 0; t < block_size; t++) {
        h->own[t].begun_count = 0;
        for (Sums &set : h->own[t].sets)
            set.open = 0;
        h->own[t].fenced = false;
    }
}

UNWATCHED static bool overlap(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

UNWATCHED static void must_be_shared(const void *at, size_t bytes, size_t alignment, const char *what)
{
    if (!is_shared(at, bytes) || (uintptr_t)at % alignment)
        fail("%s at %p", what, at);
}

/* ---- barriers ---- */

UNWATCHED static BarrierModel *barrier_at(const void *at)
{
    Hopper *h = hopper();
    must_be_shared(at, 8, 8, "has a barrier");
    for (int i = 0; i < h->barrier_count; i++)
        if (h->barriers[i].at == at) {
            BarrierModel *b = &h->barriers[i];
            if (current->thread != b->maker && (!b->ready || blocks[current->block].waits == b->made))
                fail("uses a barrier that thread %u may not have made yet", b->maker);
            return b;
        }
    fail("uses a barrier that nobody has made");
}

UNWATCHED static void make_barrier(const void *at, int count)
{
    Hopper *h = hopper();
    must_be_shared(at, 8, 8, "makes a barrier");
    if (h->barrier_count == BARRIERS_MAX || count < 1)
        fail("makes too many barriers, or one for %d", count);
    h->barriers[h->barrier_count++] = { at, current->thread, blocks[current->block].waits, false, count, count, 0, 0 };
}

UNWATCHED static void show_barriers()
{
    Hopper *h = hopper();
    for (int i = 0; i < h->barrier_count; i++)
        h->barriers[i].ready |= h->barriers[i].maker == current->thread;
}

UNWATCHED static void end_phase(BarrierModel *b)
{
    if (b->pending || b->bytes)
        return;
    b->phase ^= 1;
    b->pending = b->count;
}

UNWATCHED static void arrive(const void *at, int bytes)
{
    BarrierModel *b = barrier_at(at);
    if (!b->pending)
        fail("arrives at a barrier that waits for bytes only");
    b->pending--;
    b->bytes += bytes;
    end_phase(b);
}

/* A fibre that waits for a phase looks again in each of the block's turns. */
UNWATCHED static void wait_phase(const void *at, int phase, int place)
{
    if (phase != 0 && phase != 1)
        fail("waits for phase %d", phase);
    while (barrier_at(at)->phase == phase) {
        current->barrier = at;
        current->phase = phase;
        wait_at(AT_PHASE, place);
    }
}

UNWATCHED static bool phase_ended(Fibre *fibre)
{
    current = fibre;
    return barrier_at(fibre->barrier)->phase != fibre->phase;
}

/* ---- copies of tiles ---- */

/* Whether some bytes are among a product's lines, or 16 points of them in panels. A description of lines may begin some points
 * further on. */
UNWATCHED static bool reads(uint64_t matrix, int lines, bool panels, const char *at, size_t bytes)
{
    const char *from = __start_emulated_shared + (matrix & 0xFFC0) * 16;
    if (!panels)
        return overlap(at, bytes, from, (size_t)lines * MAP_LINE);
    for (int first = 0; first < lines; first += PANEL)
        if (overlap(at, bytes, from + (size_t)(first / PANEL) * ((matrix >> 16 & 0x3FFF) << 4), POINTS * MAP_LINE))
            return true;
    return false;
}

/* Whether a product that is not waited for may read the bytes. */
UNWATCHED static const Product *reader_of(Hopper *h, const char *at, size_t bytes)
{
    for (int g = 0; g < GROUPS_MAX; g++)
        for (int i = 0; i < h->groups[g].count; i++) {
            const Product *p = &h->groups[g].products[i];
            if ((!p->has_words && reads(p->left, ROWS, p->panels[0], at, bytes)) || reads(p->right, p->columns, p->panels[1], at, bytes))
                return p;
        }
    return NULL;
}

/* Lines of 128 bytes one below the other, the map's first axis along them; each line's chunks swizzled by its address. */
UNWATCHED static void make_load(Load *load)
{
    const TestMap *map = &load->map;
    size_t line = map->box[0] * map->size, lines = load->bytes / line;
    for (size_t l = 0; l < lines; l++) {
        const char *from = map->data;
        bool inside = true;
        size_t rest = l;
        for (uint32_t a = 1; a < map->rank; a++) {
            int64_t at = load->place[a] + (int64_t)(rest % map->box[a]);
            rest /= map->box[a];
            inside &= at >= 0 && at < (int64_t)map->extent[a];
            from += at * (int64_t)map->stride[a - 1];
        }
        for (uint32_t x = 0; x < map->box[0]; x++) {
            int64_t at = load->place[0] + x;
            size_t offset = (size_t)(load->to - __start_emulated_shared) + l * line + x * map->size;
            offset ^= (offset >> 7 & (PLACES_OF_CHUNKS - 1)) << 4;
            if (inside && at >= 0 && at < (int64_t)map->extent[0])
                memcpy(__start_emulated_shared + offset, from + at * map->size, map->size);
            else
                memset(__start_emulated_shared + offset, 0, map->size);
        }
    }
    Hopper *h = hopper();
    for (int i = 0; i < h->barrier_count; i++)
        if (h->barriers[i].at == load->barrier) {
            h->barriers[i].bytes -= (long)load->bytes;
            end_phase(&h->barriers[i]);
        }
}

UNWATCHED static void make_one_load(Hopper *h, int which)
{
    Load load = h->loads[which];
    h->loads[which] = h->loads[--h->load_count];
    make_load(&load);
}

UNWATCHED static void begin_load(void *to, const void *with, const void *barrier, int rank, const int64_t *place)
{
    Hopper *h = hopper();
    Load load;
    memset(&load, 0, sizeof load);
    load.to = (char *)to;
    load.barrier = barrier;
    memcpy(&load.map, with, sizeof load.map);
    if ((uintptr_t)with % MAP_BYTES || load.map.magic != MAP_MAGIC || (int)load.map.rank != rank)
        fail("copies by what is no map of %d axes", rank);
    load.bytes = load.map.size;
    for (int a = 0; a < rank; a++) {
        load.bytes *= load.map.box[a];
        load.place[a] = (int)place[a];
    }
    must_be_shared(to, load.bytes, 1024, "copies a tile to a place");
    barrier_at(barrier);
    for (int i = 0; i < h->load_count; i++)
        if (overlap(load.to, load.bytes, h->loads[i].to, h->loads[i].bytes))
            fail("copies a tile in the place of another one that is on its way");
    if (reader_of(h, load.to, load.bytes))
        fail("copies a tile in the place of what is multiplied");
    memset(to, SHARED_POISON, load.bytes);
    if (h->load_count == LOADS_MAX)
        fail("copies too many tiles at once");
    h->loads[h->load_count++] = load;
    if (loads_made == AT_ONCE)
        make_one_load(h, h->load_count - 1);
}

/* Between the turns of a block: some copies become done; where nothing else goes on, one. */
UNWATCHED static bool load_some(unsigned block, bool stuck)
{
    Hopper *h = &hoppers[block];
    current = &blocks[block].fibres[0];
    if (!h->load_count || !(stuck || (loads_made == AT_RANDOM && pick(2))))
        return false;
    make_one_load(h, (int)pick((unsigned)h->load_count));
    return true;
}

/* ---- products ---- */

/* Two bits more are of the place than there, as arrays lie behind each other here. */
UNWATCHED static uint64_t describe(const void *lines, uint64_t panel)
{
    uint64_t offset = (uint64_t)((const char *)lines - __start_emulated_shared);
    if (offset >> 20)
        fail("describes a matrix at %p", lines);
    return offset >> 4 | panel >> 4 << 16 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}

/* A number of 64 lines of words: of 16 lines a warp's lanes have what they would have of sums. */
UNWATCHED static float number_of_words(const Product *p, int line, int point)
{
    int thread = line / 16 * 32 + line % 8 * 4 + point % 8 / 2;
    uint32_t word = p->words[thread][line % 16 / 8 + point / 8 * 2];
    return p->number((uint16_t)(point % 2 ? word >> 16 : word));
}

/* Where in shared memory some bytes of a matrix are, whose lines, or points in panels, are swizzled by their address. */
UNWATCHED static const char *place_in(const Product *p, int side, int line, int point, int size)
{
    uint64_t matrix = side ? p->right : p->left;
    size_t eight = (size_t)(matrix >> 32 & 0x3FFF) << 4, offset = (size_t)(matrix & 0xFFFF) << 4;
    size_t panel = (size_t)(matrix >> 16 & 0x3FFF) << 4;
    if (p->panels[side])
        offset += (size_t)(line / PANEL) * panel + (size_t)(point / 8) * eight + (size_t)(point % 8) * MAP_LINE +
                  (size_t)(line % PANEL * size);
    else
        offset += (size_t)(line / 8) * eight + (size_t)(line % 8) * MAP_LINE + (size_t)(point * size);
    const char *at = __start_emulated_shared + (offset ^ (offset >> 7 & (PLACES_OF_CHUNKS - 1)) << 4);
    if (!is_shared(at, (size_t)size))
        fail("multiplies what is in no array of shared memory");
    return at;
}

UNWATCHED static float number_at(const Product *p, int side, int line, int point)
{
    uint16_t bits;
    memcpy(&bits, place_in(p, side, line, point, sizeof bits), sizeof bits);
    return p->number(bits);
}

UNWATCHED static void must_be_there(Hopper *h, const Product *p, int side, int lines)
{
    uint64_t matrix = side ? p->right : p->left;
    if (matrix >> 62 != 1 || !is_shared(__start_emulated_shared + (matrix & 0xFFFF) * 16, LINE))
        fail("multiplies what is no matrix");
    for (int i = 0; i < h->load_count; i++)
        if (reads(matrix, lines, p->panels[side], h->loads[i].to, h->loads[i].bytes))
            fail("multiplies what is not there yet");
}

/* Which of a group's sums is that of a row and a column. */
UNWATCHED static uint32_t *sum_of(Hopper *h, unsigned first, const Product *p, int r, int c)
{
    unsigned thread = first + (unsigned)(r / 16 * 32 + r % 8 * 4 + c % 8 / 2);
    return &h->own[thread].sets[p->set].made[c / 8 * 4 + r % 16 / 8 * 2 + c % 2];
}

UNWATCHED static void add_numbers(Hopper *h, unsigned first, const Product *p)
{
    static float left[ROWS][POINTS], right[2 * SUMS_MAX][POINTS];
    for (int k = 0; k < POINTS; k++) {
        for (int r = 0; r < ROWS; r++)
            left[r][k] = p->has_words ? number_of_words(p, r, k) : number_at(p, 0, r, k);
        for (int c = 0; c < p->columns; c++)
            right[c][k] = number_at(p, 1, c, k);
    }
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < p->columns; c++) {
            float all = 0;
            if (p->adds)
                memcpy(&all, sum_of(h, first, p, r, c), sizeof all);
            for (int k = 0; k < POINTS; k++)
                all += left[r][k] * right[c][k];
            memcpy(sum_of(h, first, p, r, c), &all, sizeof all);
        }
}

UNWATCHED static void add_bytes(Hopper *h, unsigned first, const Product *p)
{
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < p->columns; c++) {
            uint32_t *sum = sum_of(h, first, p, r, c), all = p->adds ? *sum : 0;
            for (int k = 0; k < 2 * POINTS; k++)
                all += (uint32_t)((int32_t)(int8_t)*place_in(p, 0, r, k, 1) * (int8_t)*place_in(p, 1, c, k, 1));
            *sum = all;
        }
}

/* Adds to what the sums of a group's threads will be. */
UNWATCHED static void make_product(Hopper *h, unsigned first, Product *p)
{
    if (!p->has_words)
        must_be_there(h, p, 0, ROWS);
    must_be_there(h, p, 1, p->columns);
    if (p->number)
        add_numbers(h, first, p);
    else
        add_bytes(h, first, p);
    p->done = true;
}

UNWATCHED static void begin_product(void *sums, int columns, const Product &begun)
{
    Own *own = &hopper()->own[current->thread];
    if (!own->fenced)
        fail("multiplies without a fence");
    int set = 0;
    while (set < SETS && !(own->sets[set].open && own->sets[set].at == sums))
        set++;
    for (int free = 0; set == SETS && free < SETS; free++)
        set = own->sets[free].open ? set : free;
    if (own->begun_count == PRODUCTS_MAX || set == SETS)
        fail("multiplies too much at once, or for other sums");
    Sums *s = &own->sets[set];
    if (!s->open++) {
        s->at = sums;
        memcpy(s->made, sums, sizeof *s->made * (size_t)columns / 2);
    }
    memset(sums, SHARED_POISON, sizeof *s->made * (size_t)columns / 2);
    Product *p = &own->begun[own->begun_count++];
    *p = begun;
    p->columns = columns;
    p->set = set;
}

UNWATCHED static void commit_products(Hopper *h, Group *group, unsigned first)
{
    const Own *own = &h->own[first];
    for (unsigned t = first; t < first + GROUP_THREADS; t++) {
        bool same = h->own[t].begun_count == own->begun_count;
        for (int i = 0; same && i < own->begun_count; i++) {
            const Product *a = &own->begun[i], *b = &h->own[t].begun[i];
            same = a->left == b->left && a->right == b->right && a->adds == b->adds && a->columns == b->columns && a->set == b->set;
        }
        if (!same)
            fail("begins other products than thread %u of its group", t);
    }
    for (int i = 0; i < own->begun_count; i++) {
        if (group->count == PRODUCTS_MAX)
            fail("multiplies too much at once");
        group->products[group->count] = own->begun[i];
        for (unsigned t = 0; t < GROUP_THREADS; t++)
            memcpy(group->products[group->count].words[t], h->own[first + t].begun[i].own, sizeof own->begun[i].own);
        group->products[group->count++].group = group->committed;
    }
    group->committed++;
    for (unsigned t = first; t < first + GROUP_THREADS; t++) {
        h->own[t].begun_count = 0;
        h->own[t].fenced = false;
    }
    bool some = products_made == AT_ONCE || (products_made == AT_RANDOM && pick(2));
    for (int i = 0; i < group->count && some; i++)
        if (!group->products[i].done)
            make_product(h, first, &group->products[i]);
}

/* A product is waited for: with the last one of some sums the threads have them. */
UNWATCHED static void end_product(Hopper *h, unsigned first, const Product *p)
{
    for (unsigned t = first; t < first + GROUP_THREADS; t++) {
        Sums *s = &h->own[t].sets[p->set];
        if (!--s->open)
            memcpy(s->at, s->made, sizeof *s->made * (size_t)p->columns / 2);
    }
}

/* All but the last some groups of products. */
UNWATCHED static void wait_products(Hopper *h, Group *group, unsigned first, int open)
{
    int kept = 0;
    for (int i = 0; i < group->count; i++) {
        Product *p = &group->products[i];
        if (p->group >= group->committed - open) {
            group->products[kept++] = *p;
            continue;
        }
        if (!p->done)
            make_product(h, first, p);
        end_product(h, first, p);
    }
    group->count = kept;
}

/* ---- what a group does together ---- */

enum { COMMIT = -1, FENCE = -2, REGISTERS_FEWER = 1 << 10, REGISTERS_MORE = 1 << 11 };

/* Whether the registers that a group asks for are there. */
UNWATCHED static bool may_meet(unsigned block, unsigned first)
{
    int asked = blocks[block].fibres[first].request;
    Hopper *h = &hoppers[block];
    int each = (asked & (REGISTERS_MORE - 1)) - h->groups[first / GROUP_THREADS].registers;
    return asked < 0 || !(asked & REGISTERS_MORE) || each * GROUP_THREADS <= h->registers;
}

UNWATCHED static void group_meets(unsigned block, unsigned first)
{
    Hopper *h = &hoppers[block];
    Group *group = &h->groups[first / GROUP_THREADS];
    int asked = blocks[block].fibres[first].request;
    current = &blocks[block].fibres[first];
    for (unsigned t = first; t < first + GROUP_THREADS; t++)
        if (blocks[block].fibres[t].request != asked)
            fail("asks for something else than thread %u of its group", t);
    if (asked == COMMIT) {
        commit_products(h, group, first);
    } else if (asked >= 0 && (asked & (REGISTERS_FEWER | REGISTERS_MORE))) {
        int each = asked & (REGISTERS_FEWER - 1);
        if (each % 8 || each < 24 || each > 256 || (asked & REGISTERS_MORE ? each < group->registers : each > group->registers))
            fail("asks for %d registers where it has %d", each, group->registers);
        h->registers += (group->registers - each) * GROUP_THREADS;
        group->registers = each;
    } else if (asked >= 0) {
        wait_products(h, group, first, asked);
    }
}

UNWATCHED static void ask_with_group(int request, int place)
{
    current->request = request;
    wait_at(AT_GROUP, place);
}

UNWATCHED static void fence_products()
{
    hopper()->own[current->thread].fenced = true;
}

/* Of a block that has ended. */
UNWATCHED static void hopper_ends(unsigned block)
{
    Hopper *h = &hoppers[block];
    current = &blocks[block].fibres[0];
    if (h->load_count)
        fail("ends before a tile is copied");
    for (unsigned t = 0; t < block_size; t++)
        if (h->own[t].sets[0].open || h->own[t].sets[1].open)
            fail("ends before thread %u's products are made", t);
}

} // namespace emulated

/* The models of templates/cuda/tma.cu. */
#define barrier_init(barrier, count) emulated::make_barrier(barrier, count)
#define barriers_ready() emulated::show_barriers()
#define barrier_expect(barrier, bytes) emulated::arrive(barrier, bytes)
#define barrier_arrive(barrier) emulated::arrive(barrier, 0)
#define barrier_wait(barrier, phase) emulated::wait_phase(barrier, phase, __LINE__)

template <class... Place> UNWATCHED static void load_tile_of(void *to, const void *map, const void *barrier, Place... place)
{
    const int64_t list[] = { place... };
    emulated::begin_load(to, map, barrier, (int)sizeof...(place), list);
}

#define load_tile_2 load_tile_of
#define load_tile_3 load_tile_of
#define load_tile_4 load_tile_of
#define load_tile_5 load_tile_of

template <int COUNT> UNWATCHED static void registers_fewer()
{
    emulated::ask_with_group(COUNT | emulated::REGISTERS_FEWER, 1);
}

template <int COUNT> UNWATCHED static void registers_more()
{
    emulated::ask_with_group(COUNT | emulated::REGISTERS_MORE, 2);
}

#include "cuda_wgmma.h"

#define __trap() abort()

/* What the run time says of the driver, and the launcher asks for. */
enum cudaDriverEntryPointQueryResult { cudaDriverEntryPointSuccess = 0 };
enum { cudaEnableDefault = 0, cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaDevAttrMultiProcessorCount = 16,
       cudaDevAttrComputeCapabilityMajor = 75 };
#define CUDART_VERSION 13000

__attribute__((unused)) static cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned, unsigned long long,
                                                                            cudaDriverEntryPointQueryResult *found)
{
    *function = (void *)map_encode;
    *found = cudaDriverEntryPointSuccess;
    return strcmp(name, "cuTensorMapEncodeTiled") != 0;
}

template <class F> __attribute__((unused)) static cudaError_t cudaFuncSetAttribute(F, int attribute, int bytes)
{
    return attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || bytes > 227 << 10;
}

__attribute__((unused)) static cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

__attribute__((unused)) static cudaError_t cudaDeviceGetAttribute(int *value, int attribute, int)
{
    *value = attribute == cudaDevAttrComputeCapabilityMajor ? 9 : 3;
    return cudaSuccess;
}

#endif
