/* What generated kernels for CUDA use of it, on a CPU: g++ -xc++ -include tests/cuda_emulator.h. Every thread is a fibre that
 * runs until it waits; some blocks run at once. Threads and blocks run in ascending, descending or any order, another one for
 * each kernel, so that what a missing wait leaves to chance goes wrong in one of them. Shared memory begins as NaN. Ends the
 * process with a message: threads that wait for each other at different places, a warp that not all of its lanes take part
 * in, threads that wait for one that has ended; and, as tests/cuda_races.h finds them, races, and accesses of shared memory that are
 * in none of its arrays. */
#ifndef TESTS_CUDA_EMULATOR_H
#define TESTS_CUDA_EMULATOR_H

#include <alloca.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(threads, resident)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define EINC_MODEL                /* of what kernels have in assembly */

/* What the emulator does itself is no access of a kernel's. */
#define UNWATCHED __attribute__((no_sanitize_thread, noinline, unused))

#include "cuda_shared.h"

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

typedef void *cudaStream_t;
typedef int cudaError_t;
enum { cudaSuccess = 0, cudaMemcpyDeviceToHost = 2 };

namespace emulated {

enum { BLOCKS_MAX = 3, THREADS_MAX = 384, LANES = 32, GROUP_THREADS = 128, STACK = 1 << 16, SHARED_MAX = 5 << 16, SHARED_POISON = 0xFF };

enum { COPIES_MAX = 256, LINE = 16 };

/* One that is on its way to shared memory. */
struct Copy {
    int group;
    char *to;
    char bytes[LINE];
    int size;
};

enum State { READY, AT_BLOCK, AT_WARP, AT_GROUP, AT_PHASE, ENDED };

struct Fibre {
    jmp_buf here;
    ucontext_t first;
    bool begun;
    State state;
    int place;                    /* in the text, of what it waits at */
    char given[48];               /* to the other lanes */
    unsigned thread, block;
    int request, phase;           /* of its group; of a barrier: tests/cuda_hopper.h */
    const void *barrier;
    Copy copies[COPIES_MAX];      /* not made yet */
    int copy_count, group;
};

/* A block that runs. */
struct Block {
    Fibre fibres[THREADS_MAX];
    char shared[SHARED_MAX];      /* its shared memory while another block has its turn */
    unsigned number, begun;       /* how many had begun with it */
    unsigned waits, warp_waits[THREADS_MAX / LANES];    /* how often its threads have waited */
    bool runs;
};

static Block blocks[BLOCKS_MAX];
static unsigned blocks_begun;
static Block *loaded;             /* whose shared memory is in its place */
static char stacks[BLOCKS_MAX][THREADS_MAX][STACK];
static Fibre *current;
static jmp_buf scheduler;
static unsigned block_size, grid_size;
static void (*body)(const void *with);
static const void *frame;         /* what it is run with */
static uint64_t chance = 88172645463325252u;
static int launches;
static bool running;
static int copies_made;           /* at once, at the wait, or some so and some so; */
static int loads_made, products_made;    /* of tests/cuda_hopper.h, likewise */
enum { AT_ONCE, AT_WAIT, AT_RANDOM };

struct Index {
    unsigned x, y, z;
    Index(unsigned n) : x(n), y(0), z(0) {}
};

__attribute__((noreturn, format(printf, 1, 2))) UNWATCHED static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "CUDA emulator: block %u, thread %u ", blocks[current->block].number, current->thread);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

/* xorshift (Marsaglia 2003) */
UNWATCHED static unsigned pick(unsigned below)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return (unsigned)(chance >> 16) % below;
}

/* ---- fibres ---- */

UNWATCHED static void run_fibre()
{
    for (;;) {
        body(frame);
        if (current->copy_count)
            fail("ends before what it copies is there");
        current->state = ENDED;
        if (!_setjmp(current->here))
            _longjmp(scheduler, 1);
    }
}

/* Lets a fibre run until it waits or ends. */
UNWATCHED static void resume(Fibre *fibre)
{
    current = fibre;
    if (_setjmp(scheduler))
        return;
    if (fibre->begun)
        _longjmp(fibre->here, 1);
    fibre->begun = true;
    getcontext(&fibre->first);
    fibre->first.uc_stack.ss_sp = stacks[fibre->block][fibre->thread];
    fibre->first.uc_stack.ss_size = STACK;
    fibre->first.uc_link = NULL;
    makecontext(&fibre->first, run_fibre, 0);
    setcontext(&fibre->first);
}

UNWATCHED static void wait_at(State state, int place)
{
    current->state = state;
    current->place = place;
    if (!_setjmp(current->here))
        _longjmp(scheduler, 1);
}

/* ---- a block ---- */

/* Those of some threads that wait may go on when all of them do: of a block those that have not ended. */
UNWATCHED static bool release(Fibre *fibres, unsigned first, unsigned end, State state)
{
    unsigned waiting = 0, ended = 0;
    int place = 0;
    for (unsigned t = first; t < end; t++) {
        ended += fibres[t].state == ENDED;
        if (fibres[t].state != state)
            continue;
        current = &fibres[t];
        if (waiting++ && fibres[t].place != place)
            fail("waits in line %d, and another that it waits for in line %d", fibres[t].place, place);
        place = fibres[t].place;
    }
    if (!waiting || waiting + (state == AT_BLOCK ? ended : 0) != end - first)
        return false;
    for (unsigned t = first; t < end; t++)
        if (fibres[t].state == state)
            fibres[t].state = READY;
    return true;
}

/* tests/cuda_hopper.h */
static void hopper_begins(unsigned block);
static void hopper_ends(unsigned block);
static bool phase_ended(Fibre *fibre);
static bool may_meet(unsigned block, unsigned first);
static void group_meets(unsigned block, unsigned first);
static bool load_some(unsigned block, bool stuck);

/* Groups of four warps and threads at barriers. */
UNWATCHED static bool release_groups(Block *block)
{
    bool any = false;
    unsigned number = (unsigned)(block - blocks);
    for (unsigned first = 0; first + GROUP_THREADS <= block_size; first += GROUP_THREADS)
        if (may_meet(number, first) && release(block->fibres, first, first + GROUP_THREADS, AT_GROUP)) {
            group_meets(number, first);
            any = true;
        }
    any |= load_some(number, false);
    for (unsigned t = 0; t < block_size; t++)
        if (block->fibres[t].state == AT_PHASE && phase_ended(&block->fibres[t])) {
            block->fibres[t].state = READY;
            any = true;
        }
    return any;
}

/* Whether some threads that waited may go on. */
UNWATCHED static bool release_some(Block *block)
{
    bool any = release_groups(block);
    for (unsigned first = 0; first < block_size; first += LANES)
        if (release(block->fibres, first, first + LANES, AT_WARP)) {
            block->warp_waits[first / LANES]++;
            any = true;
        }
    if (any || !release(block->fibres, 0, block_size, AT_BLOCK))
        return any || load_some((unsigned)(block - blocks), true);
    block->waits++;
    return true;
}

UNWATCHED static void order(unsigned *list, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        list[i] = launches % 3 == 1 ? count - 1 - i : i;
    for (unsigned i = count; i > 1 && launches % 3 == 2; i--) {
        unsigned k = pick(i), swap = list[i - 1];
        list[i - 1] = list[k];
        list[k] = swap;
    }
}

UNWATCHED static void begin(Block *block, unsigned number)
{
    block->number = number;
    block->begun = ++blocks_begun;
    block->runs = true;
    block->waits = 0;
    memset(block->warp_waits, 0, sizeof block->warp_waits);
    memset(block->shared, SHARED_POISON, shared_bytes());
    loaded = loaded == block ? NULL : loaded;
    hopper_begins((unsigned)(block - blocks));
    for (unsigned t = 0; t < block_size; t++) {
        block->fibres[t].thread = t;
        block->fibres[t].block = (unsigned)(block - blocks);
        block->fibres[t].state = READY;
        block->fibres[t].group = 0;
    }
}

/* Every thread that is ready runs until it waits. */
UNWATCHED static void turn(Block *block)
{
    unsigned list[THREADS_MAX];
    if (loaded != block) {
        if (loaded)
            save_shared(loaded->shared);
        load_shared(block->shared);
        loaded = block;
    }
    order(list, block_size);
    for (unsigned i = 0; i < block_size; i++)
        if (block->fibres[list[i]].state == READY) {
            running = true;
            resume(&block->fibres[list[i]]);
            running = false;
        }
    block->runs = release_some(block);
    for (unsigned t = 0; t < block_size && !block->runs; t++) {
        current = &block->fibres[t];
        if (current->state != ENDED)
            fail("waits for ever in line %d", current->place);
    }
    if (!block->runs)
        hopper_ends((unsigned)(block - blocks));
}

/* All blocks of a grid, some at once. */
UNWATCHED static void run_grid()
{
    unsigned *list = (unsigned *)alloca(grid_size * sizeof *list), begun = 0;
    order(list, grid_size);
    copies_made = (int)pick(3);
    loads_made = (int)pick(3);
    products_made = (int)pick(3);
    for (bool any = true; any;) {
        any = false;
        for (int b = 0; b < BLOCKS_MAX; b++) {
            if (!blocks[b].runs && begun < grid_size)
                begin(&blocks[b], list[begun++]);
            if (!blocks[b].runs)
                continue;
            turn(&blocks[b]);
            any = true;
        }
    }
    launches++;
}

/* What the lane `apart` further on has; past the last lane one's own. */
template <class T> UNWATCHED static T shuffle_down(unsigned mask, T x, int apart, int place)
{
    unsigned lane = current->thread % LANES;
    T result;
    if (mask != 0xFFFFFFFF)
        fail("shuffles in line %d without all lanes", place);
    memcpy(current->given, &x, sizeof x);
    wait_at(AT_WARP, place);
    memcpy(&result, (lane + apart < LANES ? current + apart : current)->given, sizeof result);
    wait_at(AT_WARP, -place);
    return result;
}

#ifdef EMULATED_RACES
} // namespace emulated
#include "cuda_races.h"
namespace emulated {
#endif

/* ---- copies ---- */

/* By 4 bytes, as others may access it. */
UNWATCHED static void note_copy(const char *at, int size, bool writes)
{
#ifdef EMULATED_RACES
    for (int byte = 0; byte < size; byte += 4)
        note(at + byte, 4, writes);
#endif
    (void)at, (void)size, (void)writes;
}

/* Begins to copy the first `bytes` of `size`; the others become zeros. Until it is made nothing that means anything is there. */
UNWATCHED static void begin_copy(void *to, const void *from, int bytes, int size)
{
    Copy copy = { current->group, (char *)to, { 0 }, size };
    if (!is_shared(to, (size_t)size) || (uintptr_t)to % (unsigned)size || (bytes && (uintptr_t)from % (unsigned)size) || bytes < 0 || bytes > size)
        fail("copies %d of %d bytes from %p to %p", bytes, size, from, to);
    memcpy(copy.bytes, from, (size_t)bytes);
    note_copy((const char *)from, bytes, false);
    note_copy(copy.to, size, true);
    if (copies_made == AT_ONCE || (copies_made == AT_RANDOM && pick(2))) {
        memcpy(to, copy.bytes, (size_t)size);
        return;
    }
    memset(to, SHARED_POISON, (size_t)size);
    if (current->copy_count == COPIES_MAX)
        fail("copies too much at once");
    current->copies[current->copy_count++] = copy;
}

/* All groups but the last some. */
UNWATCHED static void wait_for_copies(int open)
{
    int kept = 0;
    for (int i = 0; i < current->copy_count; i++) {
        const Copy *copy = &current->copies[i];
        if (copy->group >= current->group - open) {
            current->copies[kept++] = *copy;
            continue;
        }
        note_copy(copy->to, copy->size, true);
        memcpy(copy->to, copy->bytes, (size_t)copy->size);
    }
    current->copy_count = kept;
}

/* ---- what a warp does together ---- */

/* Each lane gives some bytes; then `lane_gave` has them of all, until they meet again. */
template <class T> UNWATCHED static void give(const T *x, int place)
{
    static_assert(sizeof *x <= sizeof current->given, "what a lane gives");
    memcpy(current->given, x, sizeof *x);
    wait_at(AT_WARP, place);
}

/* Whether a thread of the block gives something other than 0. */
UNWATCHED static int any_of_block(int x, int place)
{
    memcpy(current->given, &x, sizeof x);
    wait_at(AT_BLOCK, place);
    int any = 0;
    for (unsigned t = 0; t < block_size; t++) {
        memcpy(&x, blocks[current->block].fibres[t].given, sizeof x);
        any |= x != 0;
    }
    wait_at(AT_BLOCK, -place);
    return any;
}

template <class T> UNWATCHED static T lane_gave(unsigned lane)
{
    T x;
    memcpy(&x, (current - current->thread % LANES + lane)->given, sizeof x);
    return x;
}

/* What another lane has. */
template <class T> UNWATCHED static T shuffle_from(unsigned mask, T x, int lane, int place)
{
    if (mask != 0xFFFFFFFF)
        fail("shuffles in line %d without all lanes", place);
    give(&x, place);
    const T result = lane_gave<T>((unsigned)lane % LANES);
    wait_at(AT_WARP, -place);
    return result;
}

/* What the lane has whose number differs in one bit. */
template <class T> UNWATCHED static T shuffle_other(unsigned mask, T x, int apart, int place)
{
    if (mask != 0xFFFFFFFF)
        fail("shuffles in line %d without all lanes", place);
    give(&x, place);
    const T result = lane_gave<T>((current->thread % LANES) ^ (unsigned)apart);
    wait_at(AT_WARP, -place);
    return result;
}

static void (*kernel_at_hand)();

/* A frame in aligned memory. */
template <class F> UNWATCHED static void copy_frame(F *to, const void *from)
{
    memcpy((void *)to, from, sizeof *to);
}

template <class F> UNWATCHED static void run_kernel(const void *with)
{
    ((void (*)(const F))kernel_at_hand)(*(const F *)with);
}

} // namespace emulated

#define threadIdx (emulated::Index(emulated::current->thread))
#define blockIdx (emulated::Index(emulated::blocks[emulated::current->block].number))
#define blockDim (emulated::Index(emulated::block_size))
#define gridDim (emulated::Index(emulated::grid_size))
#define __syncthreads() emulated::wait_at(emulated::AT_BLOCK, __LINE__)
#define __syncthreads_or(x) emulated::any_of_block(x, __LINE__)
#define __syncwarp() emulated::wait_at(emulated::AT_WARP, __LINE__)
#define __shfl_sync(mask, x, lane) emulated::shuffle_from(mask, x, lane, __LINE__)
#define __shfl_xor_sync(mask, x, apart) emulated::shuffle_other(mask, x, apart, __LINE__)
#define __shfl_down_sync(mask, x, apart) emulated::shuffle_down(mask, x, apart, __LINE__)

/* The models of templates/cuda/copy.cu. */
#define copy_f32(to, from, is_there) emulated::begin_copy(to, from, (is_there) ? 4 : 0, 4)
#define copy_i32(to, from, is_there) emulated::begin_copy(to, from, (is_there) ? 4 : 0, 4)
#define copy_f64(to, from, is_there) emulated::begin_copy(to, from, (is_there) ? 8 : 0, 8)
#define copy_line(to, from, bytes) emulated::begin_copy(to, from, bytes, 16)
#define copies_end() (emulated::current->group++)

template <int OPEN> UNWATCHED static void copies_wait()
{
    emulated::wait_for_copies(OPEN);
}

#include "cuda_matrices.h"

__attribute__((noinline, unused)) static float __fadd_rn(float a, float b)
{
    return a + b;
}

__attribute__((noinline, unused)) static double __dadd_rn(double a, double b)
{
    return a + b;
}

#include "cuda_hopper.h"

/* ---- the host's side: a stream's work is done when it is asked for ---- */

template <class F>
UNWATCHED static cudaError_t cudaLaunchKernel(void (*kernel)(const F), dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t)
{
    using namespace emulated;
    if (array_count == 0)
        find_arrays();
    if (block.x > THREADS_MAX || block.x % LANES || grid.x < 1 || grid.x > 1 << 20 || shared > 227 << 10 || array_count == ARRAYS_MAX ||
        shared_bytes() > SHARED_MAX)
        return 1;
    F copy;
    copy_frame(&copy, arguments[0]);
    kernel_at_hand = (void (*)())kernel;
    body = run_kernel<F>;
    frame = &copy;
    block_size = block.x;
    grid_size = grid.x;
    run_grid();
    return cudaSuccess;
}

__attribute__((unused)) static cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t)
{
    memset(memory, value, bytes);
    return cudaSuccess;
}

__attribute__((unused)) static cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, int, cudaStream_t)
{
    memcpy(to, from, bytes);
    return cudaSuccess;
}

__attribute__((unused)) static cudaError_t cudaStreamSynchronize(cudaStream_t)
{
    return cudaSuccess;
}

#endif
