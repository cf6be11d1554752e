/* What a CPU does beside large matrix products while a Transformer writes, a token at a time.

   decode_layers  the decoder's layers for one new token of every row
   decode_step    the same, and the logits after it

   It has a twin in torch, which it is tested against (tests/native). Arrays are float32. */

#include "writing.h"

/* A layer's arrays, in the order in which Python hands them over. */
enum {
    SELF_NORM, SELF_SHIFT, SELF_IN, SELF_IN_BIAS, SELF_OUT, SELF_OUT_BIAS,
    CROSS_NORM, CROSS_SHIFT, CROSS_IN, CROSS_IN_BIAS, CROSS_OUT, CROSS_OUT_BIAS,
    BEND_NORM, BEND_SHIFT, BEND_IN, BEND_IN_BIAS, BEND_OUT, BEND_OUT_BIAS,
    WEIGHTS
};
enum { RELU, GELU, GELU_TANH, SILU };

static void normalise(const float *x, int rows, int width, const float *scale, const float *shift, float epsilon,
                      float *out) {
    float mean;
    for (int64_t row = 0; row < rows; row++) normalise_row(x + row * width, width, scale, shift, epsilon, out + row * width, &mean);
}

/* One query of one head over count places; scores has room for seven more. */
static inline __attribute__((always_inline)) void attend_to(
    const float *query, const float *keys, const float *values, int64_t count, int64_t place, const int width, float scale,
    float *scores, float *out) {
    const int whole = width / 8;
    float top = -INFINITY, sum = 0.0f;
    for (int64_t k = 0; k < count; k += 4) {
        const float *four[4];
        eight parts[4] = {0};
        for (int j = 0; j < 4; j++) four[j] = keys + (k + j < count ? k + j : k) * place;
        for (int i = 0; i < whole; i++) {
            eight from = load(query + 8 * i);
            for (int j = 0; j < 4; j++) parts[j] += from * load(four[j] + 8 * i);
        }
        add_up(parts[0], parts[1], parts[2], parts[3], scores + k);
        for (int i = 8 * whole; i < width; i++)
            for (int j = 0; j < 4; j++) scores[k + j] += query[i] * four[j][i];
    }
    for (int64_t k = 0; k < count; k++) {
        scores[k] *= scale;
        top = scores[k] > top ? scores[k] : top;
    }
    const int64_t rounded = (count + 7) / 8 * 8;
    for (int64_t k = count; k < rounded; k++) scores[k] = -INFINITY; /* e^x of these is next to nothing, and never looked at */
    #pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < rounded; k++) {
        scores[k] = exponential(scores[k] - top);
        sum += scores[k];
    }
    for (int i = 0; i < width; i++) out[i] = 0.0f;
    for (int64_t k = 0; k < count; k++) {
        const float *value = values + k * place;
        float weight = scores[k] / sum;
        #pragma omp simd
        for (int i = 0; i < width; i++) out[i] += weight * value[i];
    }
}

/* The compiler unrolls what it knows the width of, and keeps sums in registers: the common ones are spelt out. */
static void attend(const float *query, const float *keys, const float *values, int64_t count, int64_t place, int width,
                   float scale, float *scores, float *restrict out) {
    float kept[64]; /* out itself might be anywhere, and every sum would be written there at once */
    switch (width) {
    case 32: attend_to(query, keys, values, count, place, 32, scale, scores, kept); break;
    case 64: attend_to(query, keys, values, count, place, 64, scale, scores, kept); break;
    default: attend_to(query, keys, values, count, place, width, scale, scores, out); return;
    }
    memcpy(out, kept, width * sizeof(float));
}

static void activate(float *x, int64_t count, int kind) {
    switch (kind) {
    case RELU:
        #pragma omp simd
        for (int64_t i = 0; i < count; i++) x[i] = x[i] > 0.0f ? x[i] : 0.0f;
        break;
    case GELU:
        for (int64_t i = 0; i < count; i++) x[i] = 0.5f * x[i] * (1.0f + erff(x[i] * 0.707106781f));
        break;
    case GELU_TANH: /* ½ (1 + tanh y) = 1 / (1 + e^−2y) */
        #pragma omp simd
        for (int64_t i = 0; i < count; i++)
            x[i] /= 1.0f + exponential(-1.59576912f * (x[i] + 0.044715f * x[i] * x[i] * x[i]));
        break;
    case SILU:
        #pragma omp simd
        for (int64_t i = 0; i < count; i++) x[i] /= 1.0f + exponential(-x[i]);
        break;
    }
}

/* Floats that decode_step needs for rows, none of which looks at more than longest places. */
int64_t work_space(const struct model *m, int rows, int64_t longest) {
    int64_t wide = 3 * m->width > m->features ? 3 * m->width : m->features;
    return (int64_t)rows * (3 * m->width + wide) + longest + 8;
}

const float *decode_layers(const struct model *m, const struct step *s) {
    const int rows = s->rows, width = m->width, head = width / m->heads;
    float *x = s->space, *normed = x + (int64_t)rows * width, *mixed = normed + (int64_t)rows * width;
    float *inner = mixed + (int64_t)rows * width, *scores = inner + (int64_t)rows * (3 * width > m->features ? 3 * width : m->features);

    for (int64_t row = 0; row < rows; row++) {
        const float *embedding = m->table + s->tokens[row] * width;
        const float *position = m->positions ? m->positions + s->lengths[row] * width : NULL;
        float *into = x + row * width;
        for (int i = 0; i < width; i++) into[i] = embedding[i] * m->embedding_scale + (position ? position[i] : 0.0f);
    }

    for (int layer = 0; layer < m->layers; layer++) {
        const float *const *w = m->weights + layer * WEIGHTS;
        float *const *remembered = s->remembered + layer * REMEMBERED;
        const float *given = m->pre ? normed : x;

        if (m->pre) normalise(x, rows, width, w[SELF_NORM], w[SELF_SHIFT], m->epsilon, normed);
        linear(m->multiply, given, rows, width, w[SELF_IN], w[SELF_IN_BIAS], 3 * width, inner, 0);
        for (int64_t row = 0; row < rows; row++)
            for (int h = 0; h < m->heads; h++) {
                const float *query = inner + row * 3 * width + h * head;
                float *keys = remembered[KEYS] + row * s->row + h * s->head;
                float *values = remembered[VALUES] + row * s->row + h * s->head;
                int64_t length = s->lengths[row];
                memcpy(keys + length * head, query + width, head * sizeof(float));
                memcpy(values + length * head, query + 2 * width, head * sizeof(float));
                attend(query, keys, values, length + 1, head, head, m->scale, scores, mixed + row * width + h * head);
            }
        linear(m->multiply, mixed, rows, width, w[SELF_OUT], w[SELF_OUT_BIAS], width, x, 1);
        if (!m->pre) normalise(x, rows, width, w[SELF_NORM], w[SELF_SHIFT], m->epsilon, x);

        if (m->pre) normalise(x, rows, width, w[CROSS_NORM], w[CROSS_SHIFT], m->epsilon, normed);
        linear(m->multiply, given, rows, width, w[CROSS_IN], w[CROSS_IN_BIAS], width, inner, 0);
        for (int64_t row = 0; row < rows; row++)
            for (int h = 0; h < m->heads; h++) {
                int64_t sentence = s->place[row / s->group], from = sentence * s->sentence + h * s->memory_head;
                attend(inner + row * width + h * head, remembered[MEMORY_KEYS] + from, remembered[MEMORY_VALUES] + from,
                       s->source_lengths[sentence], s->memory_place, head, m->scale, scores, mixed + row * width + h * head);
            }
        linear(m->multiply, mixed, rows, width, w[CROSS_OUT], w[CROSS_OUT_BIAS], width, x, 1);
        if (!m->pre) normalise(x, rows, width, w[CROSS_NORM], w[CROSS_SHIFT], m->epsilon, x);

        if (!m->features) continue;
        if (m->pre) normalise(x, rows, width, w[BEND_NORM], w[BEND_SHIFT], m->epsilon, normed);
        linear(m->multiply, given, rows, width, w[BEND_IN], w[BEND_IN_BIAS], m->features, inner, 0);
        activate(inner, (int64_t)rows * m->features, m->activation);
        linear(m->multiply, inner, rows, m->features, w[BEND_OUT], w[BEND_OUT_BIAS], width, x, 1);
        if (!m->pre) normalise(x, rows, width, w[BEND_NORM], w[BEND_SHIFT], m->epsilon, x);
    }
    if (m->final_norm) normalise(x, rows, width, m->final_norm, m->final_shift, m->epsilon, x);
    return x;
}

void decode_step(const struct model *m, const struct step *s) {
    linear(m->multiply, decode_layers(m, s), s->rows, m->width, m->project, m->project_bias, m->vocabulary, s->logits, 0);
}
