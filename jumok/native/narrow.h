/* bf16: the upper half of a float, which keeps its range and eight bits of its precision. */

#include <stdint.h>
#include <string.h>

typedef uint16_t narrow;

static inline float widened(narrow x) {
    uint32_t bits = (uint32_t)x << 16;
    float wide;
    memcpy(&wide, &bits, sizeof wide);
    return wide;
}

/* The nearest one, of two equally near the even one; what is no number stays none. */
static inline narrow narrowed(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t nearest = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return (narrow)((bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : nearest);
}

static inline void widen_row(const narrow *restrict x, int64_t count, float *restrict out) {
    #pragma omp simd
    for (int64_t i = 0; i < count; i++) out[i] = widened(x[i]);
}

static inline void narrow_row(const float *restrict x, int64_t count, narrow *restrict out) {
    #pragma omp simd
    for (int64_t i = 0; i < count; i++) out[i] = narrowed(x[i]);
}
