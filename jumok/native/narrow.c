/* What stands between products in bf16 while a model learns (nn/precision.py): read and written in bf16, computed in float32.

   narrow_drop           dropout by random bytes of numbers that follow a product
   narrow_drop_added     the same, added to what came in, which stays float32; narrow_drop_back its gradient
   narrow_drop_relu      dropout after relu; narrow_drop_relu_back its gradient
   narrow_gelu           gelu; narrow_gelu_back its gradient
   narrow_normalise_rows layer norm of float32, for a product; narrow_normalise_back its gradient
   narrow_sums           sums of columns, which are the gradient of a bias
   narrow_loss_rows      cross-entropy of rows of logits, which become their own gradient

   The twins in float32 are in learning.c. */

#include "narrow.h"
#include "vectors.h"

void narrow_drop(const narrow *restrict x, const uint8_t *restrict bytes, int threshold, float scale, int64_t count,
                 narrow *restrict out) {
    #pragma omp simd
    for (int64_t i = 0; i < count; i++) out[i] = narrowed(bytes[i] >= threshold ? widened(x[i]) * scale : 0.0f);
}

/* The same without dropout. */
void narrow_added(const float *restrict base, const narrow *restrict x, int64_t count, float *restrict out) {
    #pragma omp simd
    for (int64_t i = 0; i < count; i++) out[i] = base[i] + widened(x[i]);
}

void narrow_drop_added(const float *restrict base, const narrow *restrict x, const uint8_t *restrict bytes, int threshold,
                       float scale, int64_t count, float *restrict out) {
    #pragma omp simd
    for (int64_t i = 0; i < count; i++) out[i] = base[i] + (bytes[i] >= threshold ? widened(x[i]) * scale : 0.0f);
}

void narrow_drop_back(const float *restrict gradient, const uint8_t *restrict bytes, int threshold, float scale, int64_t count,
                      narrow *restrict to_x) {
    #pragma omp simd
    for (int64_t i = 0; i < count; i++) to_x[i] = narrowed(bytes[i] >= threshold ? gradient[i] * scale : 0.0f);
}

void narrow_drop_relu(const narrow *restrict x, const uint8_t *restrict bytes, int threshold, float scale, int64_t count,
                      narrow *restrict out) {
    #pragma omp simd
    for (int64_t i = 0; i < count; i++) {
        float wide = widened(x[i]);
        out[i] = narrowed((bytes[i] >= threshold) & (wide > 0.0f) ? wide * scale : 0.0f);
    }
}

void narrow_drop_relu_back(const narrow *restrict out, const narrow *restrict gradient, float scale, int64_t count,
                           narrow *restrict to_x) {
    #pragma omp simd
    for (int64_t i = 0; i < count; i++)
        to_x[i] = narrowed(widened(out[i]) > 0.0f ? widened(gradient[i]) * scale : 0.0f);
}

void narrow_gelu(const narrow *restrict x, int64_t count, narrow *restrict out) {
    #pragma omp simd
    for (int64_t i = 0; i < count; i++) {
        float density, wide = widened(x[i]);
        out[i] = narrowed(wide * share_below(wide, &density));
    }
}

void narrow_gelu_back(const narrow *restrict x, const narrow *restrict gradient, int64_t count, narrow *restrict to_x) {
    #pragma omp simd
    for (int64_t i = 0; i < count; i++) {
        float density, wide = widened(x[i]), below = share_below(wide, &density);
        to_x[i] = narrowed(widened(gradient[i]) * (below + wide * density * 0.398942280f));
    }
}

/* As normalise_rows of learning.c; space holds a row. */
void narrow_normalise_rows(const float *x, int64_t rows, int64_t width, const float *scale, const float *shift, float epsilon,
                           float *space, narrow *out, float *means, float *spreads) {
    for (int64_t row = 0; row < rows; row++) {
        spreads[row] = normalise_row(x + row * width, width, scale, shift, epsilon, space, &means[row]);
        narrow_row(space, width, out + row * width);
    }
}

/* As normalise_rows_backward of learning.c. */
void narrow_normalise_back(const narrow *gradient, const float *x, int64_t rows, int64_t width, const float *scale,
                           const float *means, const float *spreads, const float *added, float *space, float *to_x,
                           float *to_scale, float *to_shift) {
    for (int64_t row = 0; row < rows; row++) {
        widen_row(gradient + row * width, width, space);
        normalise_row_back(space, x + row * width, width, scale, means[row], spreads[row], added ? added + row * width : NULL,
                           to_x + row * width, to_scale, to_shift);
    }
}

/* Sums of the columns of x (rows, columns), eight rows at a time: sums are read and written an eighth as often. */
void narrow_sums(const narrow *restrict x, int64_t rows, int64_t columns, float *restrict sums) {
    memset(sums, 0, sizeof(float) * columns);
    int64_t row = 0;
    for (; row + 8 <= rows; row += 8) {
        const narrow *restrict from = x + row * columns;
        #pragma omp simd
        for (int64_t i = 0; i < columns; i++) {
            float sum = 0.0f;
            #pragma GCC unroll 8
            for (int k = 0; k < 8; k++) sum += widened(from[k * columns + i]);
            sums[i] += sum;
        }
    }
    for (; row < rows; row++)
        #pragma omp simd
        for (int64_t i = 0; i < columns; i++) sums[i] += widened(x[row * columns + i]);
}

/* As loss_rows of learning.c; a row of logits is computed in space, which holds one. */
int narrow_loss_rows(narrow *logits, int64_t rows, int64_t columns, const float *bias, const int64_t *targets, float smoothing,
                     float *space, double *total, double *plain, float *to_bias) {
    for (int64_t row = 0; row < rows; row++)
        if (targets[row] < 0 || targets[row] >= columns) return 1;
    for (int64_t row = 0; row < rows; row++) {
        narrow *x = logits + row * columns;
        widen_row(x, columns, space);
        loss_row(space, columns, bias, targets[row], smoothing, total, plain, to_bias);
        narrow_row(space, columns, x);
    }
    return 0;
}
