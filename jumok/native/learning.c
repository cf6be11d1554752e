/* What a CPU does beside large matrix products while a model learns: one pass over the numbers where torch makes several.

   drop           dropout by random bytes, added to what came in or not; also its gradient
   drop_relu      the same after relu; drop_relu_backward its gradient
   gelu           gelu; gelu_backward its gradient
   normalise_rows layer norm, with what its gradient needs; normalise_rows_backward its gradient
   random_bytes   what dropout is decided by
   loss_rows      cross-entropy of rows of logits, which become their own gradient

   torch computes the same, which each is tested against (tests/native). Arrays are float32. */

#include "vectors.h"

/* Spreads a word's bits over all of it (lowbias32 by Chris Wellons). */
static inline uint32_t hashed(uint32_t x) {
    x = (x ^ x >> 16) * 0x7feb352d;
    x = (x ^ x >> 15) * 0x846ca68b;
    return x ^ x >> 16;
}

/* Random bytes, the same ones for a seed: each four are a hash of their place, and of either half of the seed. */
void random_bytes(uint64_t seed, int64_t count, uint8_t *restrict out) {
    enum { WORDS = 256 };
    const uint32_t first = (uint32_t)seed, second = (uint32_t)(seed >> 32);
    uint32_t words[WORDS];
    for (int64_t start = 0; start < count; start += sizeof words) {
        const uint32_t place = (uint32_t)(start / sizeof *words);
        #pragma omp simd
        for (uint32_t i = 0; i < WORDS; i++) words[i] = hashed(hashed(place + i + first) + second);
        const int64_t rest = count - start;
        memcpy(out + start, words, rest < (int64_t)sizeof words ? (size_t)rest : sizeof words);
    }
}

/* out = [base +] x · scale where a random byte reaches the threshold, else [base +] 0 */
void drop(const float *restrict base, const float *restrict x, const uint8_t *restrict bytes, int threshold, float scale,
          int64_t count, float *restrict out) {
    if (base) {
        #pragma omp simd
        for (int64_t i = 0; i < count; i++) out[i] = base[i] + (bytes[i] >= threshold ? x[i] * scale : 0.0f);
    } else {
        #pragma omp simd
        for (int64_t i = 0; i < count; i++) out[i] = bytes[i] >= threshold ? x[i] * scale : 0.0f;
    }
}

/* The same after relu. */
void drop_relu(const float *restrict x, const uint8_t *restrict bytes, int threshold, float scale, int64_t count,
               float *restrict out) {
    #pragma omp simd
    for (int64_t i = 0; i < count; i++) out[i] = (bytes[i] >= threshold) & (x[i] > 0.0f) ? x[i] * scale : 0.0f;
}

/* What came through had a gradient of scale, everything else none. */
void drop_relu_backward(const float *restrict out, const float *restrict gradient, float scale, int64_t count,
                    float *restrict to_x) {
    #pragma omp simd
    for (int64_t i = 0; i < count; i++) to_x[i] = out[i] > 0.0f ? gradient[i] * scale : 0.0f;
}

/* gelu (Hendrycks and Gimpel 2016): x Φ(x) */
void gelu(const float *restrict x, int64_t count, float *restrict out) {
    #pragma omp simd
    for (int64_t i = 0; i < count; i++) {
        float density;
        out[i] = x[i] * share_below(x[i], &density);
    }
}

void gelu_backward(const float *restrict x, const float *restrict gradient, int64_t count, float *restrict to_x) {
    #pragma omp simd
    for (int64_t i = 0; i < count; i++) {
        float density, below = share_below(x[i], &density);
        to_x[i] = gradient[i] * (below + x[i] * density * 0.398942280f);
    }
}

/* Layer norm of rows; the mean and 1 / deviation of each are kept for the gradient. */
void normalise_rows(const float *restrict x, int64_t rows, int64_t width, const float *restrict scale,
                    const float *restrict shift, float epsilon, float *restrict out, float *restrict means,
                    float *restrict spreads) {
    for (int64_t row = 0; row < rows; row++)
        spreads[row] = normalise_row(x + row * width, width, scale, shift, epsilon, out + row * width, &means[row]);
}

/* The gradient of x, to which `added` is added where there is one; those of scale and shift are added to. */
void normalise_rows_backward(const float *gradient, const float *x, int64_t rows, int64_t width, const float *scale,
                             const float *means, const float *spreads, const float *added, float *to_x, float *to_scale,
                             float *to_shift) {
    for (int64_t row = 0; row < rows; row++)
        normalise_row_back(gradient + row * width, x + row * width, width, scale, means[row], spreads[row],
                           added ? added + row * width : NULL, to_x + row * width, to_scale, to_shift);
}

/* Rows of logits, to which bias is added where there is one, become the gradient of their smoothed cross-entropy. It is added
   up in *total, −log p in *plain, and the gradients by column in to_bias, where there is one. Returns 0, or 1 where a target is no
   column: then nothing was written. */
int loss_rows(float *logits, int64_t rows, int64_t columns, const float *bias, const int64_t *targets, float smoothing,
              double *total, double *plain, float *to_bias) {
    for (int64_t row = 0; row < rows; row++)
        if (targets[row] < 0 || targets[row] >= columns) return 1;
    for (int64_t row = 0; row < rows; row++)
        loss_row(logits + row * columns, columns, bias, targets[row], smoothing, total, plain, to_bias);
    return 0;
}
