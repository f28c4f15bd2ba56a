/* Threads that work together: points and teams, and how the threads of a team exchange what they have. A library of
 * regions, as templates/types.c is. The sizes of blocks and warps are samples. */
#include "../types.c"

#if __cplusplus > 201703L
#define CONSTANTS(...) [[maybe_unused]] static constexpr int __VA_ARGS__
#else
#define CONSTANTS(...) enum { __VA_ARGS__ }
#endif
CONSTANTS(THREADS = 128, WARP = 32, WARPS = THREADS / WARP);

//{ take_index
/* The last index of a point's number, and what is left of it. Most numbers are short, and dividing these is cheap. */
INLINE int64_t take_index(int64_t *rest, int64_t extent)
{
    const int64_t all = *rest;
    if ((uint64_t)(all | extent) >> 32 == 0) {
        *rest = (uint32_t)all / (uint32_t)extent;
        return (uint32_t)all % (uint32_t)extent;
    }
    *rest = all / extent;
    return all % extent;
}
//}

//{ add_index
/* Goes on with an index, of which there are so many, by no more than that; back comes what is carried to the one around it. */
INLINE int64_t add_index(int64_t *index, int64_t more, int64_t extent)
{
    const int64_t sum = *index + more, carry = sum >= extent;
    *index = carry ? sum - extent : sum;
    return carry;
}
//}

//{ UNROLL_MUCH
/* What is read in so many turns of a loop is on its way at once. */
#define UNROLL_MUCH _Pragma("unroll 16")
//}

//{ Team
/* The threads that work on one point: a warp, or the whole block where it has fewer points than warps. */
typedef struct Team {
    int rank, size;            /* of a thread among its team */
    int number, count;         /* of the team among those of the block */
} Team;
//}

//{ team_of
INLINE Team team_of(int64_t points)
{
    Team team;
    team.size = points < WARPS ? THREADS : WARP;
    team.rank = (int)threadIdx.x % team.size;
    team.number = (int)threadIdx.x / team.size;
    team.count = THREADS / team.size;
    return team;
}
//}

//{ team_wait
/* What the team's threads have read and written is done. */
INLINE void team_wait(Team team)
{
    if (team.size > WARP)
        __syncthreads();
    else
        __syncwarp();
}
//}

/* What the lane `apart` further on in the warp has. */

//{ exp2_lossy_f32
/* 2^x; with FLUSHES 0 where that is denormal, for three instructions less. */
template <int FLUSHES>
INLINE float exp2_lossy_f32(float x)
{
    if (!FLUSHES)
        return exp2f(x);
#ifdef EINC_MODEL
    const float power = exp2f(x);
    return power < 1.17549435e-38f ? 0 : power;
#else
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
#endif
}
//}

//{ later_f32
INLINE float later_f32(float x, int apart)
{
    return __shfl_down_sync(0xFFFFFFFF, x, apart);
}
//}

//{ later_f64
INLINE double later_f64(double x, int apart)
{
    return __shfl_down_sync(0xFFFFFFFF, x, apart);
}
//}

//{ later_i32
INLINE int32_t later_i32(int32_t x, int apart)
{
    return __shfl_down_sync(0xFFFFFFFF, x, apart);
}
//}

//{ later_i64
INLINE int64_t later_i64(int64_t x, int apart)
{
    return __shfl_down_sync(0xFFFFFFFF, (long long)x, apart);
}
//}

//{ later_bool
INLINE int later_bool(int x, int apart)
{
    return __shfl_down_sync(0xFFFFFFFF, x, apart);
}
//}

//{ later_c64
INLINE c64 later_c64(c64 x, int apart)
{
    x.re = __shfl_down_sync(0xFFFFFFFF, x.re, apart);
    x.im = __shfl_down_sync(0xFFFFFFFF, x.im, apart);
    return x;
}
//}

//{ later_c128
INLINE c128 later_c128(c128 x, int apart)
{
    x.re = __shfl_down_sync(0xFFFFFFFF, x.re, apart);
    x.im = __shfl_down_sync(0xFFFFFFFF, x.im, apart);
    return x;
}
//}

//{ of_lane_f64
/* What another lane of the warp has. */
INLINE double of_lane_f64(double x, int lane)
{
    return __shfl_sync(0xFFFFFFFF, x, lane);
}
//}

//{ other_f32
/* What the lane has whose number differs in one bit. */
INLINE float other_f32(float x, int apart)
{
    return __shfl_xor_sync(0xFFFFFFFF, x, apart);
}
//}

/* topk and its kin. */

//{ insert_rank
/* Puts x into the sorted list of at most `ranks` elements, of which `*filled` are there. A NaN is better than any number; of
 * equals the first to come stays in front. */
template <class T, class X>
INLINE void insert_rank(int most, T *list, int64_t *places, int64_t ranks, int64_t *filled, X element, int64_t place)
{
    const T x = (T)element;
    int64_t at = *filled;
    for (; at > 0; at--) {
        const T other = list[at - 1];
        const int better = x != x ? other == other : most ? x > other : x < other;
        if (!better)
            break;
        if (at < ranks) {
            list[at] = other;
            places[at] = places[at - 1];
        }
    }
    if (at == ranks)
        return;
    list[at] = x;
    places[at] = place;
    *filled += *filled < ranks;
}
//}

//{ other_i64
INLINE int64_t other_i64(int64_t x, int apart)
{
    return __shfl_xor_sync(0xFFFFFFFF, (long long)x, apart);
}
//}

//{ is_better
/* Whether an element stands in front of another, of those that are in a list; one that is in none has the last place of all. */
template <class T>
INLINE int is_better(int most, T x, int64_t place, T other, int64_t other_place)
{
    if (place == INT64_MAX || other_place == INT64_MAX)
        return place < other_place;
    if (x != x || other != other)
        return other == other || (x != x && place < other_place);
    return x == other ? place < other_place : most ? x > other : x < other;
}
//}

//{ best_of_team
/* Of what the threads of a team have at the head of their lists the best, for all of them. Shared memory has room for each warp's. */
template <class T>
INLINE void best_of_team(int most, Team team, T *warps_best, int64_t *warps_place, T *x, int64_t *place)
{
    for (int apart = WARP / 2; apart > 0; apart /= 2) {
        const T later = (T)__shfl_down_sync(0xFFFFFFFF, *x, apart);
        const int64_t later_place = __shfl_down_sync(0xFFFFFFFF, (long long)*place, apart);
        if (is_better(most, later, later_place, *x, *place)) {
            *x = later;
            *place = later_place;
        }
    }
    if (threadIdx.x % WARP == 0) {
        warps_best[threadIdx.x / WARP] = *x;
        warps_place[threadIdx.x / WARP] = *place;
    }
    team_wait(team);
    const int first = team.size > WARP ? 0 : (int)threadIdx.x / WARP;
    *x = warps_best[first];
    *place = warps_place[first];
    for (int warp = 1; warp < team.size / WARP; warp++)
        if (is_better(most, warps_best[warp], warps_place[warp], *x, *place)) {
            *x = warps_best[warp];
            *place = warps_place[warp];
        }
    team_wait(team);
}
//}

/* Four lanes that have two columns each of every 8, as tensor cores leave their sums. */

//{ turn_quads
/* Of four words that each of four neighbouring lanes has, a lane gets those of its own number, in the lanes' order. */
template <class T>
INLINE void turn_quads(T words[4])
{
    UNROLL
    for (int apart = 1; apart < 4; apart *= 2) {
        const int upper = (int)threadIdx.x & apart;
        UNROLL
        for (int n = 0; n < 4; n++) {
            if (n & apart)
                continue;
            const T other = __shfl_xor_sync(0xFFFFFFFF, upper ? words[n] : words[n | apart], apart);
            words[n] = upper ? other : words[n];
            words[n | apart] = upper ? words[n | apart] : other;
        }
    }
}
//}

//{ store_line_2
/* Stores what a row's lanes have of 32 columns, numbers of 2 bytes, so many elements apart; a lane now 8 that are neighbours, of
 * which some may not be there. */
template <class T>
INLINE void store_line_2(T *to, int64_t stride, const T numbers[8], int count)
{
    typedef struct __align__(16) Line {
        uint32_t words[4];
    } Line;
    Line line;
    UNROLL
    for (int n = 0; n < 4; n++)
        line.words[n] = (uint32_t)(uint16_t)numbers[2 * n] | (uint32_t)(uint16_t)numbers[2 * n + 1] << 16;
    turn_quads(line.words);
    if (count >= 8 && stride == 1 && (uint64_t)to % sizeof line == 0) {
        *(Line *)to = line;
        return;
    }
    UNROLL
    for (int n = 0; n < 8; n++)
        if (n < count)
            to[n * stride] = (T)(line.words[n / 2] >> n % 2 * 16);
}
//}

//{ store_line_4
/* The same of numbers of 4 bytes. */
template <class T>
INLINE void store_line_4(T *to, int64_t stride, const T numbers[8], int count)
{
    typedef struct __align__(16) Line {
        T numbers[4];
    } Line;
    Line even, odd, lines[2];
    UNROLL
    for (int n = 0; n < 4; n++) {
        even.numbers[n] = numbers[2 * n];
        odd.numbers[n] = numbers[2 * n + 1];
    }
    turn_quads(even.numbers);
    turn_quads(odd.numbers);
    UNROLL
    for (int n = 0; n < 8; n++)
        lines[n / 4].numbers[n % 4] = n % 2 ? odd.numbers[n / 2] : even.numbers[n / 2];
    if (count >= 8 && stride == 1 && (uint64_t)to % sizeof(Line) == 0) {
        ((Line *)to)[0] = lines[0];
        ((Line *)to)[1] = lines[1];
        return;
    }
    UNROLL
    for (int n = 0; n < 8; n++)
        if (n < count)
            to[n * stride] = lines[n / 4].numbers[n % 4];
}
//}
