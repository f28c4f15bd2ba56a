/* The models of templates/cuda/wgmma.cu and of what compiler/emit_wgmma.c writes, in tests/cuda_emulator.h. Only cuda_hopper.h
 * includes it. */
#define matrix_of(lines) emulated::describe(lines, 16)
#define panels_of(lines) emulated::describe(lines, 64 * 128)
#define panels_apart(lines, panel) emulated::describe(lines, (uint64_t)(panel))
#define wgmma_fence() emulated::fence_products()
#define wgmma_commit() emulated::ask_with_group(emulated::COMMIT, __LINE__)

template <int OPEN> UNWATCHED static void wgmma_wait()
{
    emulated::ask_with_group(OPEN, 3 + OPEN);
}

#define wgmma_settle_f32(sum) ((void)(sum))
#define wgmma_settle_i32(sum) ((void)(sum))

UNWATCHED static float power_f32(float x)
{
    return x < -126 ? 0 : exp2f(x);
}

#define WGMMA(type, columns)                                                                                                    \
    template <int LEFT_PANELS, int RIGHT_PANELS> UNWATCHED static void wgmma_##type##_##columns(float *sums, uint64_t left,      \
                                                                                              uint64_t right, int adds)         \
    {                                                                                                                           \
        emulated::Product p = {};                                                                                               \
        p.left = left;                                                                                                          \
        p.right = right;                                                                                                        \
        p.adds = adds != 0;                                                                                                     \
        p.number = emulated::number_of_##type;                                                                                  \
        p.panels[0] = LEFT_PANELS;                                                                                              \
        p.panels[1] = RIGHT_PANELS;                                                                                             \
        emulated::begin_product(sums, columns, p);                                                                              \
    }
#define WIDTHS(type)                                                                                                            \
    WGMMA(type, 64) WGMMA(type, 72) WGMMA(type, 80) WGMMA(type, 88) WGMMA(type, 96) WGMMA(type, 104) WGMMA(type, 112)            \
    WGMMA(type, 120) WGMMA(type, 128) WGMMA(type, 136) WGMMA(type, 144) WGMMA(type, 152) WGMMA(type, 160) WGMMA(type, 168)       \
    WGMMA(type, 176) WGMMA(type, 184) WGMMA(type, 192) WGMMA(type, 200) WGMMA(type, 208) WGMMA(type, 216) WGMMA(type, 224)       \
    WGMMA(type, 232) WGMMA(type, 240) WGMMA(type, 248) WGMMA(type, 256)
WIDTHS(bf16)
WIDTHS(f16)

#define WGMMA_WORDS(type, columns)                                                                                              \
    UNWATCHED static void wgmma_words_##type##_##columns(float *sums, const uint32_t left[4], uint64_t right)                    \
    {                                                                                                                           \
        emulated::Product p = {};                                                                                               \
        p.right = right;                                                                                                        \
        p.adds = p.has_words = p.panels[1] = true;                                                                              \
        p.number = emulated::number_of_##type;                                                                                  \
        memcpy(p.own, left, sizeof p.own);                                                                                      \
        emulated::begin_product(sums, columns, p);                                                                              \
    }
WGMMA_WORDS(bf16, 64)
WGMMA_WORDS(bf16, 128)
WGMMA_WORDS(bf16, 256)
WGMMA_WORDS(f16, 64)
WGMMA_WORDS(f16, 128)
WGMMA_WORDS(f16, 256)

/* Of bytes there are fewer widths. */
#define WGMMA_BYTES(columns)                                                                                                    \
    UNWATCHED static void wgmma_i8_##columns(int32_t *sums, uint64_t left, uint64_t right, int adds)                            \
    {                                                                                                                           \
        emulated::Product p = {};                                                                                               \
        p.left = left;                                                                                                          \
        p.right = right;                                                                                                        \
        p.adds = adds != 0;                                                                                                     \
        emulated::begin_product(sums, columns, p);                                                                              \
    }
WGMMA_BYTES(64) WGMMA_BYTES(80) WGMMA_BYTES(96) WGMMA_BYTES(112) WGMMA_BYTES(128) WGMMA_BYTES(144) WGMMA_BYTES(160)
WGMMA_BYTES(176) WGMMA_BYTES(192) WGMMA_BYTES(208) WGMMA_BYTES(224) WGMMA_BYTES(240) WGMMA_BYTES(256)
