/* What all kernels use: eight numbers at once, sums of them, the largest, e^x and Φ(x) without a call, layer norm
   and its gradient, cross-entropy. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "processor.h"

typedef float eight __attribute__((vector_size(32)));
typedef float four __attribute__((vector_size(16)));
typedef int32_t eight_integers __attribute__((vector_size(32)));

static inline eight load(const float *from) {
    eight found;
    memcpy(&found, from, sizeof found);
    return found;
}

#ifdef __clang__
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define PICK(a, b, ...) __builtin_shuffle(a, b, (eight_integers){__VA_ARGS__})
#endif

/* The sums of four times eight numbers: halves are added by a tree, since one after another takes longer than a short product. */
static inline void add_up(eight a, eight b, eight c, eight d, float *sums) {
    eight ab = PICK(a, b, 0, 8, 2, 10, 4, 12, 6, 14) + PICK(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
    eight cd = PICK(c, d, 0, 8, 2, 10, 4, 12, 6, 14) + PICK(c, d, 1, 9, 3, 11, 5, 13, 7, 15);
    eight all = PICK(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) + PICK(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
    for (int k = 0; k < 4; k++) sums[k] = all[k] + all[k + 4];
}

#define STRIP 16 /* numbers that are gone through side by side */

/* The largest number, or −∞, and the sum. Not by reductions of OpenMP: clang begins that of a maximum with the least finite number. */
static inline float largest_and_sum(const float *x, int64_t count, float *sum) {
    float tops[STRIP], sums[STRIP] = {0}, top = -INFINITY, all = 0.0f;
    int64_t first = 0;
    for (int j = 0; j < STRIP; j++) tops[j] = -INFINITY;
    for (; first + STRIP <= count; first += STRIP)
        #pragma omp simd
        for (int j = 0; j < STRIP; j++) {
            tops[j] = x[first + j] > tops[j] ? x[first + j] : tops[j];
            sums[j] += x[first + j];
        }
    for (; first < count; first++) {
        top = x[first] > top ? x[first] : top;
        all += x[first];
    }
    for (int j = 0; j < STRIP; j++) {
        top = tops[j] > top ? tops[j] : top;
        all += sums[j];
    }
    *sum = all;
    return top;
}

static inline float largest(const float *x, int64_t count) {
    float sum; /* the compiler leaves it out */
    return largest_and_sum(x, count, &sum);
}

static inline float exponential(float x) {
    /* 2^n · e^r with |r| ≤ ln 2 / 2: n goes into the exponent's bits, e^r is a short series. */
    const float rounder = 12582912.0f; /* 1.5 · 2^23: a number added to it is rounded to an integer in its last bits */
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    float shifted = x * 1.44269504f + rounder, n = shifted - rounder;
    float r = x - n * 0.693145752f - n * 1.42860677e-6f; /* ln 2 in two parts: n times the first is exact */
    float series = 1.0f / 5040;
    series = series * r + 1.0f / 720;
    series = series * r + 1.0f / 120;
    series = series * r + 1.0f / 24;
    series = series * r + 1.0f / 6;
    series = series * r + 0.5f;
    series = series * r + 1.0f;
    series = series * r + 1.0f;
    uint32_t bits;
    float power;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127) << 23; /* the rounder's own bits are shifted out */
    memcpy(&power, &bits, sizeof power);
    return series * power;
}

/* Φ(x), the share of a normal distribution below x, to 1.5e-7 (Abramowitz and Stegun 1964, 7.1.26), and e^(−x²/2). */
static inline float share_below(float x, float *density) {
    float size = fabsf(x) * 0.707106781f, t = 1.0f / (1.0f + 0.3275911f * size), power = exponential(-size * size);
    float series = 1.061405429f;
    series = series * t - 1.453152027f;
    series = series * t + 1.421413741f;
    series = series * t - 0.284496736f;
    series = series * t + 0.254829592f;
    float beyond = 0.5f * series * t * power;
    *density = power;
    return x < 0.0f ? beyond : 1.0f - beyond;
}

/* Layer norm of one row; returns 1 / deviation. */
static inline float normalise_row(const float *x, int64_t width, const float *scale, const float *shift, float epsilon, float *out,
                                  float *mean_of) {
    float mean = 0.0f, square = 0.0f;
    #pragma omp simd reduction(+ : mean)
    for (int64_t i = 0; i < width; i++) mean += x[i];
    mean /= width;
    #pragma omp simd reduction(+ : square)
    for (int64_t i = 0; i < width; i++) square += (x[i] - mean) * (x[i] - mean);
    const float spread = 1.0f / sqrtf(square / width + epsilon);
    #pragma omp simd
    for (int64_t i = 0; i < width; i++) out[i] = (x[i] - mean) * spread * scale[i] + shift[i];
    *mean_of = mean;
    return spread;
}

/* The gradient of a row that became `normal · scale + shift`, given that of what it became; `added` (may be null) is added to it. The
   gradients of scale and shift are added to. */
static inline void normalise_row_back(const float *restrict gradient, const float *restrict x, int64_t width,
                                      const float *restrict scale, float mean, float spread, const float *restrict added,
                                      float *restrict to_x, float *restrict to_scale, float *restrict to_shift) {
    float level = 0.0f, along = 0.0f;
    #pragma omp simd reduction(+ : level, along)
    for (int64_t i = 0; i < width; i++) {
        const float normal = (x[i] - mean) * spread, inner = gradient[i] * scale[i];
        level += inner;
        along += inner * normal;
        to_scale[i] += gradient[i] * normal;
        to_shift[i] += gradient[i];
    }
    level /= width;
    along /= width;
    if (added) {
        #pragma omp simd
        for (int64_t i = 0; i < width; i++)
            to_x[i] = added[i] + spread * (gradient[i] * scale[i] - level - (x[i] - mean) * spread * along);
    } else {
        #pragma omp simd
        for (int64_t i = 0; i < width; i++)
            to_x[i] = spread * (gradient[i] * scale[i] - level - (x[i] - mean) * spread * along);
    }
}

/* A row of logits, to which bias is added where there is one, becomes the gradient of its smoothed cross-entropy. */
static inline void loss_row(float *x, int64_t columns, const float *bias, int64_t target, float smoothing, double *total,
                            double *plain, float *to_bias) {
    const float evenly = smoothing / columns;
    float sum = 0.0f, all;
    if (bias) {
        #pragma omp simd
        for (int64_t i = 0; i < columns; i++) x[i] += bias[i];
    }
    const float right = x[target], top = largest_and_sum(x, columns, &all);
    #pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < columns; i++) {
        x[i] = exponential(x[i] - top);
        sum += x[i];
    }
    double level = top + log(sum);
    *plain += level - right;
    *total += level - (1.0 - smoothing) * right - smoothing * (all / columns);
    const float share = 1.0f / sum;
    #pragma omp simd
    for (int64_t i = 0; i < columns; i++) x[i] = x[i] * share - evenly;
    x[target] -= 1.0f - smoothing;
    if (to_bias) {
        #pragma omp simd
        for (int64_t i = 0; i < columns; i++) to_bias[i] += x[i];
    }
}
