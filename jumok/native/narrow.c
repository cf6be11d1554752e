/* What stands between products in bf16 while a model learns (nn/precision.py): read and written in bf16, computed in float32.

   narrow_drop           dropout by random bytes of numbers that follow a product
   narrow_drop_added     the same, added to what came in, which stays float32; narrow_drop_back its gradient
   narrow_drop_relu      dropout after relu; narrow_drop_relu_back its gradient
   narrow_gelu           gelu; narrow_gelu_back its gradient
   narrow_loss_rows      cross-entropy of rows of logits, which become their own gradient

   The twins in float32 are in learning.c. */

#include "narrow.h"
#include "vectors.h"

void narrow_drop(const narrow *restrict x, const uint8_t *restrict bytes, int threshold, float scale, int64_t count,
                 narrow *restrict out) {
    #pragma omp simd
    for (int64_t i = 0; i < count; i++) out[i] = narrowed(bytes[i] >= threshold ? widened(x[i]) * scale : 0.0f);
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
