/* Products of narrow numbers, of which one instruction adds several to a sum: two of bf16 to an f32, two of i16 or four of i8 to
 * an i32. They lie side by side in a word of 32 bits, the first in its low bits. A row's word meets the words of LANES columns.
 * Where no instruction takes i8, it is widened to i16.
 *
 * The vectors' instruction for i8 takes the row's numbers without a sign: those are stored 128 too large, and a sum starts at
 * -128 times what its column adds up to; offset_i8v() finds that. All wraps around at 32 bits, so nothing is lost. */
#ifndef TEMPLATES_DOT
#define TEMPLATES_DOT

#include "integer.c"
#include "size.c"
#include "turn.c"
#include "words.c"

//{ flush_f32
/* What is below the normal numbers is 0, of the same sign. */
INLINE float flush_f32(float x)
{
    uint32_t bits = bits_f32(x);
    return from_bits_f32((bits & 0x7FFFFFFF) < 0x00800000 ? bits & 0x80000000 : bits);
}
//}

//{ model_bf16v
/* What the unit does: it adds the second product first, each with one rounding, and flushes what it takes and gives. */
INLINE f32v model_bf16v(f32v sum, u32v left, u32v right)
{
    float sums[LANES];
    uint32_t a[LANES], b[LANES];
    memcpy(sums, &sum, sizeof sum), memcpy(a, &left, sizeof left), memcpy(b, &right, sizeof right);
    for (int l = 0; l < LANES; l++) {
        float x = flush_f32(sums[l]);
        x = flush_f32(fmaf(flush_f32(from_bits_f32(a[l] & 0xFFFF0000)), flush_f32(from_bits_f32(b[l] & 0xFFFF0000)), x));
        sums[l] = flush_f32(fmaf(flush_f32(from_bits_f32(a[l] << 16)), flush_f32(from_bits_f32(b[l] << 16)), x));
    }
    memcpy(&sum, sums, sizeof sum);
    return sum;
}
//}

//{ model_i8v
INLINE i32v model_i8v(i32v sum, u32v left, u32v right)
{
    for (int at = 0; at < 32; at += 8)
        sum = (i32v)((u32v)sum + (left >> at & 0xFF) * (u32v)((i32v)(right << (24 - at)) >> 24));
    return sum;
}
//}

//{ model_i16v
INLINE i32v model_i16v(i32v sum, u32v left, u32v right)
{
    for (int at = 16; at >= 0; at -= 16)
        sum = (i32v)((u32v)sum + (u32v)((i32v)(left << at) >> 16) * (u32v)((i32v)(right << at) >> 16));
    return sum;
}
//}

#ifndef EINC_AVX512BF16
//{ dot_bf16v
INLINE f32v dot_bf16v(f32v sum, u32v left, u32v right)
{
    return model_bf16v(sum, left, right);
}
//}
#else
//{ dot_bf16v@avx512bf16
INLINE f32v dot_bf16v(f32v sum, u32v left, u32v right)
{
#if EINC_VECTORS && LANES >= 4
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(left), "v"(right));
    return sum;
#else
    return model_bf16v(sum, left, right);
#endif
}
//}
#endif

#ifndef EINC_AVX512VNNI
//{ dot_i8v
INLINE i32v dot_i8v(i32v sum, u32v left, u32v right)
{
    return model_i8v(sum, left, right);
}
//}
#else
//{ dot_i8v@avx512vnni
INLINE i32v dot_i8v(i32v sum, u32v left, u32v right)
{
#if EINC_VECTORS && LANES >= 4
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(left), "v"(right));
    return sum;
#else
    return model_i8v(sum, left, right);
#endif
}
//}
#endif

#if !defined EINC_FMA && !defined EINC_AVX512 && !defined EINC_AVX512VNNI
//{ dot_i16v
INLINE i32v dot_i16v(i32v sum, u32v left, u32v right)
{
    return model_i16v(sum, left, right);
}
//}
#elif !defined EINC_AVX512 && !defined EINC_AVX512VNNI
//{ dot_i16v@fma
INLINE i32v dot_i16v(i32v sum, u32v left, u32v right)
{
#if EINC_VECTORS && (LANES == 4 || LANES == 8)
    u32v products;
    __asm__("vpmaddwd %2, %1, %0" : "=x"(products) : "x"(left), "x"(right));
    return (i32v)((u32v)sum + products);
#else
    return model_i16v(sum, left, right);
#endif
}
//}
#elif !defined EINC_AVX512VNNI
//{ dot_i16v@avx512
INLINE i32v dot_i16v(i32v sum, u32v left, u32v right)
{
#if EINC_VECTORS && LANES >= 4
    u32v products;
    __asm__("vpmaddwd %2, %1, %0" : "=v"(products) : "v"(left), "v"(right));
    return (i32v)((u32v)sum + products);
#else
    return model_i16v(sum, left, right);
#endif
}
//}
#else
//{ dot_i16v@avx512vnni
INLINE i32v dot_i16v(i32v sum, u32v left, u32v right)
{
#if EINC_VECTORS && LANES >= 4
    __asm__("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(left), "v"(right));
    return sum;
#else
    return model_i16v(sum, left, right);
#endif
}
//}
#endif

//{ splat_word
/* The word at p, for all lanes. */
INLINE u32v splat_word(const void *p)
{
    uint32_t word;
    memcpy(&word, p, 4);
    return splat_u32v(word);
}
//}

//{ load_words
/* The words at p and so many bytes on and on. */
INLINE u32v load_words(const void *p, int64_t apart, int count)
{
    uint32_t lanes[LANES];
    u32v x;
    UNROLL
    for (int l = 0; l < LANES; l++)
        memcpy(&lanes[l], (const char *)p + apart * (l < count ? l : 0), 4);
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

//{ widen_lanes_i8_i16
/* So many words of two numbers each, of 8 bits in memory, one after the other; 0 in the other lanes. */
INLINE u32v widen_lanes_i8_i16(const i8u *p, int count)
{
    uint32_t lanes[LANES];
    u32v x;
    UNROLL
    for (int l = 0; l < LANES; l++)
        lanes[l] = l < count ? (uint32_t)(uint16_t)p[2 * l] | (uint32_t)p[2 * l + 1] << 16 : 0;
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

#if !defined EINC_FMA && !defined EINC_AVX512
//{ load_words_i8_i16
INLINE u32v load_words_i8_i16(const i8u *p, int count)
{
    return widen_lanes_i8_i16(p, count);
}
//}
#elif !defined EINC_AVX512
//{ load_words_i8_i16@fma
INLINE u32v load_words_i8_i16(const i8u *p, int count)
{
#if EINC_VECTORS && (LANES == 4 || LANES == 8)
    u32v x;
    if (count == LANES) {
        __asm__("vpmovsxbw %1, %0" : "=x"(x) : "m"(*(const i8u (*)[2 * LANES])p));
        return x;
    }
#endif
    return widen_lanes_i8_i16(p, count);
}
//}
#else
//{ load_words_i8_i16@avx512
INLINE u32v load_words_i8_i16(const i8u *p, int count)
{
#if EINC_VECTORS && LANES >= 4
    u32v x;
    if (count == LANES) {
        __asm__("vpmovsxbw %1, %0" : "=v"(x) : "m"(*(const i8u (*)[2 * LANES])p));
        return x;
    }
#endif
    return widen_lanes_i8_i16(p, count);
}
//}
#endif

//{ turn_words
/* So many words of the rows from `from` on, so many bytes apart, become rows of a panel. Back comes how many: none where a
 * row is no whole number of words further. */
APART int64_t turn_words(u32u *to, int64_t to_word, const void *from, int64_t apart, int rows, int64_t words)
{
    if (apart % 4 != 0)
        return 0;
    for (int64_t k = 0; k < words; k += LANES) {
        const f32u *square = (const f32u *)from + k;
        const int columns = (int)size_min(LANES, words - k);
        turn_f32((f32u *)to + k * to_word, to_word, 1, square, apart / 4, 1, rows, columns, square + LANES, apart / 4);
    }
    return words;
}
//}

//{ turn_words_i8_i16
/* The same for words of two numbers of 8 bits, so many bytes apart, which are widened. */
APART int64_t turn_words_i8_i16(u32u *to, int64_t to_word, const i8u *from, int64_t apart, int rows, int64_t words)
{
    u32u square[LANES * LANES];
    for (int64_t k = 0; k < words; k += LANES) {
        const i8u *first = from + 2 * k;
        const int columns = (int)size_min(LANES, words - k);
        for (int r = 0; r < rows; r++)
            store_u32v(square + r * LANES, 1, load_words_i8_i16(first + r * apart, columns), LANES);
        turn_f32((f32u *)to + k * to_word, to_word, 1, (const f32u *)square, LANES, 1, rows, columns, (const f32u *)(first + 2 * LANES),
                 apart / 4);
    }
    return words;
}
//}

/* Packing: a column's number in its place of a word, a row's numbers one after the other. */

//{ weave_words
/* So many words of two numbers: those of a row, from `from` on, and those of the next, so many numbers further. They become a
 * row of a panel. Back comes how many: none where there are fewer than lanes. */
INLINE int64_t weave_words(u32u *to, int64_t to_word, const void *from, int64_t apart, int lanes, int64_t words)
{
    const bf16u *at = (const bf16u *)from;
    if (lanes < LANES)
        return 0;
    for (int64_t k = 0; k < words; k++) {
        const u16v low = load_u16v(at + 2 * k * apart, 1, LANES), high = load_u16v(at + (2 * k + 1) * apart, 1, LANES);
        store_u32v(to + k * to_word, 1, widen_u16v(low) | widen_u16v(high) << 16, LANES);
    }
    return words;
}
//}

//{ weave_words_i8_i16
/* The same for numbers of 8 bits, which are widened. */
INLINE int64_t weave_words_i8_i16(u32u *to, int64_t to_word, const i8u *from, int64_t apart, int lanes, int64_t words)
{
    if (lanes < LANES)
        return 0;
    for (int64_t k = 0; k < words; k++) {
        const i32v low = load_i8v(from + 2 * k * apart, 1, LANES), high = load_i8v(from + (2 * k + 1) * apart, 1, LANES);
        store_u32v(to + k * to_word, 1, ((u32v)low & 0xFFFF) | (u32v)high << 16, LANES);
    }
    return words;
}
//}

//{ place_bf16v
INLINE u32v place_bf16v(f32v x, int at)
{
    return bits_f32v(x) >> 16 << 16 * at;
}
//}

//{ place_i16v
INLINE u32v place_i16v(i32v x, int at)
{
    return ((u32v)x & 0xFFFF) << 16 * at;
}
//}

//{ place_i8v
INLINE u32v place_i8v(i32v x, int at)
{
    return ((u32v)x & 0xFF) << 8 * at;
}
//}

//{ part_bf16v
/* The nearest number of bf16, of two the greater in size, in the upper half of a word; x is what that leaves. */
INLINE u32v part_bf16v(f32v *x)
{
    const u32v part = (bits_f32v(*x) + 0x8000) & 0xFFFF0000;
    *x = *x - from_bits_f32v(part);
    return part;
}
//}

//{ store_parts_bf16v
/* Words of two points each, one for each part of their numbers, so many words behind each other. */
INLINE void store_parts_bf16v(u32u *to, f32v low, f32v high, const int parts, int64_t apart, int lanes)
{
    UNROLL
    for (int part = 0; part < parts; part++) {
        const u32v word = part_bf16v(&low) >> 16;
        store_u32v(to + part * apart, 1, word | part_bf16v(&high), lanes);
    }
}
//}

//{ note_sizes
/* Keeps the greatest size of the numbers so far, and the least: as a number with a sign of which 0's is the greatest of all. */
INLINE void note_sizes(i32v *most, i32v *least, f32v x)
{
    const u32v size = bits_f32v(x) & 0x7FFFFFFF;
    *most = max_i32v(*most, (i32v)size);
    *least = min_i32v(*least, (i32v)(size + 0x7FFFFFFF));
}
//}

//{ odd_sizes
/* Not 0 in lanes where a number was neither 0 nor of a size between 2^-40 and 2^40: others have parts too small for a unit that
 * takes denormal numbers for 0, or products whose sum may overflow. */
INLINE u32v odd_sizes(i32v most, i32v least)
{
    return (u32v)(most > 0x53800000) | (u32v)(least < -0x54800001);
}
//}

//{ any_u32v
/* Whether a lane is not 0. */
INLINE int any_u32v(u32v x)
{
    uint32_t lanes[LANES], any = 0;
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        any |= lanes[l];
    return any != 0;
}
//}

//{ Cutting
/* Rows that are cut into parts a few blocks of 32 numbers at a time, while others are multiplied. */
typedef struct Cutting {
    const f32u *from;             /* the next block, */
    int64_t from_step;            /* and how far a row's end is from the next row */
    u32u *to, *packed[2];         /* in turns: rows that are cut, and those that are multiplied */
    int64_t to_step;
    int64_t row, blocks;          /* blocks of a row: to come, and all */
    int64_t left, share;          /* blocks of all rows to come, and how many at a time */
    i32v most, least;             /* sizes */
} Cutting;
//}

//{ cut_begin
/* For rows of so many blocks, with none for rows that are not cut so; packed in two places, so many words apart. */
INLINE void cut_begin(Cutting *c, u32u *packed, int64_t apart, int64_t blocks, int64_t from_step, int64_t to_step)
{
    memset(c, 0, sizeof *c);
    c->to = c->packed[0] = packed;
    c->packed[1] = packed + apart;
    c->blocks = blocks;
    c->from_step = from_step;
    c->to_step = to_step;
}
//}

//{ cut_next
/* The rows from `from` on are next, in `shares`; those that were go where they are multiplied. */
INLINE void cut_next(Cutting *c, const f32u *from, int64_t rows, int64_t shares)
{
    u32u *to = c->packed[0];
    c->packed[0] = c->packed[1];
    c->packed[1] = c->to = to;
    c->from = from;
    c->row = c->blocks;
    c->left = rows * c->blocks;
    c->share = size_ceil_div(c->left, shares);
}
//}

//{ cut_some
/* Cuts so many blocks. */
INLINE void cut_some(Cutting *c, int64_t some, const int parts)
{
    const f32u *from = c->from;
    u32u *to = c->to;
    int64_t row = c->row;
    i32v most = c->most, least = c->least;
    some = size_min(some, c->left);
    c->left -= some;
    for (; some > 0; some--) {
        for (int word = 0; word < 16; word += LANES) {
            const f32v low = load_f32v(from + word, 1, LANES), high = load_f32v(from + word + 16, 1, LANES);
            note_sizes(&most, &least, low);
            note_sizes(&most, &least, high);
            store_parts_bf16v(to + word, low, high, parts, 16, LANES);
        }
        from += 32;
        to += 16 * parts;
        if (--row == 0) {
            row = c->blocks;
            from += c->from_step;
            to += c->to_step;
        }
    }
    c->from = from, c->to = to, c->row = row;
    c->most = most, c->least = least;
}
//}

//{ store_row_bf16v
INLINE void store_row_bf16v(void *p, f32v x, int count)
{
    store_u16v(p, 1, CONVERT(bits_f32v(x) >> 16, u16v), count);
}
//}

//{ store_row_i16v
INLINE void store_row_i16v(void *p, i32v x, int count)
{
    store_i16v((i16u *)p, 1, x, count);
}
//}

//{ store_row_i8v
INLINE void store_row_i8v(void *p, i32v x, int count)
{
    store_u8v(p, 1, CONVERT((u32v)x & 0xFF, u8v), count);
}
//}

//{ store_row_without_sign_i8v
INLINE void store_row_without_sign_i8v(void *p, i32v x, int count)
{
    store_u8v(p, 1, CONVERT(((u32v)x & 0xFF) ^ 0x80, u8v), count);
}
//}

//{ copy_row_bf16
INLINE void copy_row_bf16(void *to, const void *from, int64_t count)
{
    memcpy(to, from, (size_t)(2 * count));
}
//}

//{ copy_row_i16
INLINE void copy_row_i16(void *to, const void *from, int64_t count)
{
    memcpy(to, from, (size_t)(2 * count));
}
//}

//{ copy_row_i8_i16
INLINE void copy_row_i8_i16(void *to, const void *from, int64_t count)
{
    i16u *into = (i16u *)to;
    const i8u *at = (const i8u *)from;
    int64_t i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES)
        store_u32v((u32u *)(into + i), 1, load_words_i8_i16(at + i, LANES), LANES);
    for (; i < count; i++)
        into[i] = at[i];
}
//}

//{ copy_row_i8
INLINE void copy_row_i8(void *to, const void *from, int64_t count)
{
    memcpy(to, from, (size_t)count);
}
//}

//{ copy_row_without_sign_i8
INLINE void copy_row_without_sign_i8(void *to, const void *from, int64_t count)
{
    uint8_t *into = (uint8_t *)to;
    const uint8_t *at = (const uint8_t *)from;
    int64_t i = 0;
    for (; i + 4 * LANES <= count; i += 4 * LANES)
        store_u32v(into + i, 1, load_u32v(at + i, 1, LANES) ^ 0x80808080, LANES);
    if (0 < i && i < count) {     /* the last ones, some of them again */
        i = count - 4 * LANES;
        store_u32v(into + i, 1, load_u32v(at + i, 1, LANES) ^ 0x80808080, LANES);
        return;
    }
    for (; i < count; i++)
        into[i] = at[i] ^ 0x80;
}
//}

//{ offset_i8v
/* `start` less 128 times the numbers in a word. */
INLINE i32v offset_i8v(i32v start, u32v word)
{
    i32v zero = splat_i32v(0);
    return (i32v)((u32v)start - (u32v)dot_i8v(zero, splat_u32v(0x80808080), word));
}
//}

#endif
