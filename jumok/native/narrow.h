/* bf16: the upper half of a float, which keeps its range and eight bits of its precision. */

#include <stdint.h>
#include <string.h>

#include "processor.h"

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
    int64_t first = 0;
#if HAS_NARROW_PRODUCTS /* which narrows sixteen numbers at once, and takes the smallest (below 1e-38) for zero */
    typedef float sixteen_floats __attribute__((vector_size(64)));
    typedef narrow sixteen_narrow __attribute__((vector_size(32)));
    for (; first + 16 <= count; first += 16) {
        sixteen_floats wide;
        sixteen_narrow halves;
        memcpy(&wide, x + first, sizeof wide);
        __asm__("vcvtneps2bf16 %1, %0" : "=v"(halves) : "v"(wide));
        memcpy(out + first, &halves, sizeof halves);
    }
#endif
    #pragma omp simd
    for (int64_t i = first; i < count; i++) out[i] = narrowed(x[i]);
}
