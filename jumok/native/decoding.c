/* One step of a decoder on a CPU: of a text decoder (jumok/models/text_decoder.py), or of a stack that only looks at itself.

   decode_layers  the decoder's layers for one new token of every hypothesis
   decode_step    the same, and the logits after it
   decode_stack   the same without logits, of tokens that come embedded

   torch computes the same in nn/transformer.py, which it is tested against (tests/decoding). Arrays are float32. Returns are 0, or 1
   where a token, a length or a sentence is out of range: then nothing was read or written. */

#include "decoding.h"

enum { RELU, GELU, GELU_TANH, SILU };

void normalise(const float *x, int rows, int width, const float *scale, const float *shift, float epsilon,
                      float *out) {
    float mean;
    for (int64_t row = 0; row < rows; row++) normalise_row(x + row * width, width, scale, shift, epsilon, out + row * width, &mean);
}

/* One query of one head over count positions; scores has room for seven more. */
static inline __attribute__((always_inline)) void attend_to(
    const float *query, const float *keys, const float *values, int64_t count, int64_t place, const int width, float scale,
    float *scores, float *out) {
    const int eights = width / 8;
    float top = -INFINITY, sum = 0.0f;
    for (int64_t k = 0; k < count; k += 4) {
        const float *four[4];
        eight parts[4] = {0};
        for (int j = 0; j < 4; j++) four[j] = keys + (k + j < count ? k + j : k) * place;
        for (int i = 0; i < 4 * width; i += 16) __builtin_prefetch(values + k * place + i); /* they are read next */
        for (int i = 0; i < eights; i++) {
            eight from = load(query + 8 * i);
            for (int j = 0; j < 4; j++) parts[j] += from * load(four[j] + 8 * i);
        }
        add_up(parts[0], parts[1], parts[2], parts[3], scores + k);
        for (int i = 8 * eights; i < width; i++)
            for (int j = 0; j < 4; j++) scores[k + j] += query[i] * four[j][i];
    }
    for (int64_t k = 0; k < count; k++) {
        scores[k] *= scale;
        top = scores[k] > top ? scores[k] : top;
    }
    const int64_t rounded = (count + 7) / 8 * 8;
    for (int64_t k = count; k < rounded; k++) scores[k] = -INFINITY; /* e^x of these is nearly zero, and is never read */
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

/* The compiler unrolls loops of a known width and keeps their sums in registers: the common widths are spelt out. */
void attend(const float *query, const float *keys, const float *values, int64_t count, int64_t place, int width,
                   float scale, float *scores, float *restrict out) {
    float kept[64]; /* the compiler cannot know that out overlaps nothing: it would store every sum at once */
    switch (width) {
    case 32: attend_to(query, keys, values, count, place, 32, scale, scores, kept); break;
    case 48: attend_to(query, keys, values, count, place, 48, scale, scores, kept); break;
    case 64: attend_to(query, keys, values, count, place, 64, scale, scores, kept); break;
    default: attend_to(query, keys, values, count, place, width, scale, scores, out); return;
    }
    memcpy(out, kept, width * sizeof(float));
}

/* One new token of every hypothesis: its key and value go behind those in the key-value cache, its query attends to all of them.
   joined (rows, 3 · heads · width) are queries, keys and values, out (rows, heads · width); row and head are the cache's strides. */
static void attend_to_cache(const float *joined, int rows, int heads, int width, float *keys, float *values, int64_t row, int64_t head,
                            const int64_t *length, float scale, float *scores, float *out) {
    const int64_t all = (int64_t)heads * width;
    for (int64_t r = 0; r < rows; r++)
        for (int h = 0; h < heads; h++) {
            const float *query = joined + r * 3 * all + h * width;
            const int64_t from = r * row + h * head;
            memcpy(keys + from + length[r] * width, query + all, width * sizeof(float));
            memcpy(values + from + length[r] * width, query + 2 * all, width * sizeof(float));
            attend(query, keys + from, values + from, length[r] + 1, width, width, scale, scores, out + r * all + h * width);
        }
}

static void activate(float *x, int64_t count, int kind) {
    switch (kind) {
    case RELU:
        #pragma omp simd
        for (int64_t i = 0; i < count; i++) x[i] = x[i] > 0.0f ? x[i] : 0.0f;
        break;
    case GELU:
        #pragma omp simd
        for (int64_t i = 0; i < count; i++) {
            float density;
            x[i] *= share_below(x[i], &density);
        }
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

/* x (rows, width) and what a layer's feed-forward makes of it, where it has one. */
void feed_forward(const struct decoder *d, const float *const *w, float *x, int rows, float *normed, float *inner, void *room) {
    if (!d->features) return;
    if (d->pre) normalise(x, rows, d->width, w[FEEDFORWARD_NORM], w[FEEDFORWARD_SHIFT], d->epsilon, normed);
    linear(d, d->pre ? normed : x, rows, d->width, w[FEEDFORWARD_IN], w[FEEDFORWARD_IN_BIAS], d->features, inner, 0, room);
    activate(inner, (int64_t)rows * d->features, d->activation);
    linear(d, inner, rows, d->features, w[FEEDFORWARD_OUT], w[FEEDFORWARD_OUT_BIAS], d->width, x, 1, room);
    if (!d->pre) normalise(x, rows, d->width, w[FEEDFORWARD_NORM], w[FEEDFORWARD_SHIFT], d->epsilon, x);
}

/* Whether all that a step's indices point to is there. */
static int in_range(const struct decoder *d, const struct step *s) {
    for (int64_t row = 0; row < s->hypotheses; row++) {
        if (s->length[row] < 0 || s->length[row] >= s->longest) return 0;
        if (!s->embedded && (s->next[row] < 0 || s->next[row] >= d->tokens)) return 0;
        if (d->positions && s->length[row] >= d->places) return 0;
        if (d->crosses) {
            const int64_t sentence = s->sentence[row / s->group];
            if (sentence < 0 || sentence >= s->sentences) return 0;
            if (s->source_length[sentence] < 0 || s->source_length[sentence] > s->source_longest) return 0;
        }
    }
    return 1;
}

/* Returns the floats that a step of some hypotheses needs, none of which attends to more than longest positions. */
int64_t work_space(const struct decoder *d, int hypotheses, int64_t longest) {
    int64_t wide = 3 * d->width > d->features ? 3 * d->width : d->features;
    return (int64_t)hypotheses * (3 * d->width + 2 * wide) + longest + 8;
}

const float *decode_layers(const struct decoder *d, const struct step *s) {
    const int rows = s->hypotheses, width = d->width, head = width / d->heads;
    float *x = s->space, *normed = x + (int64_t)rows * width, *mixed = normed + (int64_t)rows * width;
    const int64_t wide = (int64_t)rows * (3 * width > d->features ? 3 * width : d->features);
    float *inner = mixed + (int64_t)rows * width, *room = inner + wide, *scores = room + wide;

    if (!in_range(d, s)) return NULL;
    if (s->embedded) memcpy(x, s->embedded, (int64_t)rows * width * sizeof(float));
    for (int64_t row = 0; row < rows && !s->embedded; row++) {
        const float *embedding = d->table + s->next[row] * width;
        const float *position = d->positions ? d->positions + s->length[row] * width : NULL;
        float *into = x + row * width;
        for (int i = 0; i < width; i++) into[i] = embedding[i] * d->embedding_scale + (position ? position[i] : 0.0f);
    }

    for (int layer = 0; layer < d->layers; layer++) {
        const float *const *w = d->weights + layer * WEIGHTS;
        float *const *remembered = s->remembered + layer * REMEMBERED;
        const float *given = d->pre ? normed : x;

        if (d->pre) normalise(x, rows, width, w[SELF_NORM], w[SELF_SHIFT], d->epsilon, normed);
        linear(d, given, rows, width, w[SELF_IN], w[SELF_IN_BIAS], 3 * width, inner, 0, room);
        attend_to_cache(inner, rows, d->heads, head, remembered[KEYS], remembered[VALUES], s->row, s->head, s->length, d->scale,
                        scores, mixed);
        linear(d, mixed, rows, width, w[SELF_OUT], w[SELF_OUT_BIAS], width, x, 1, room);
        if (!d->pre) normalise(x, rows, width, w[SELF_NORM], w[SELF_SHIFT], d->epsilon, x);

        if (d->crosses) {
            if (d->pre) normalise(x, rows, width, w[CROSS_NORM], w[CROSS_SHIFT], d->epsilon, normed);
            linear(d, given, rows, width, w[CROSS_IN], w[CROSS_IN_BIAS], width, inner, 0, room);
            for (int64_t row = 0; row < rows; row++)
                for (int h = 0; h < d->heads; h++) {
                    int64_t sentence = s->sentence[row / s->group], from = sentence * s->memory_row + h * s->memory_head;
                    attend(inner + row * width + h * head, remembered[MEMORY_KEYS] + from, remembered[MEMORY_VALUES] + from,
                           s->source_length[sentence], s->memory_place, head, d->scale, scores, mixed + row * width + h * head);
                }
            linear(d, mixed, rows, width, w[CROSS_OUT], w[CROSS_OUT_BIAS], width, x, 1, room);
            if (!d->pre) normalise(x, rows, width, w[CROSS_NORM], w[CROSS_SHIFT], d->epsilon, x);
        }

        feed_forward(d, w, x, rows, normed, inner, room);
    }
    if (d->final_norm) normalise(x, rows, width, d->final_norm, d->final_shift, d->epsilon, x);
    return x;
}

int decode_step(const struct decoder *d, const struct step *s) {
    const float *features = decode_layers(d, s);
    if (!features) return 1;
    linear(d, features, s->hypotheses, d->width, d->project, d->project_bias, d->vocabulary, s->logits, 0, s->space + (int64_t)s->hypotheses * d->width);
    return 0;
}

int decode_stack(const struct decoder *d, const struct step *s, float *out) {
    const float *features = decode_layers(d, s);
    if (!features) return 1;
    memcpy(out, features, (int64_t)s->hypotheses * d->width * sizeof(float));
    return 0;
}
