/* What a text decoder's sources become: the encoder's layers, and the keys and values that its own layers look at.

   encode_sources  token ids of some sentences → states, and each decoder layer's keys and values

   Sentences stand one behind the other without padding, so that none is computed by another's length. torch computes the same in
   nn/transformer.py, which it is tested against (tests/decoding). Arrays are float32. */

#include "decoding.h"

#define TOGETHER 256 /* tokens that go through all layers together: what they become stays in the second cache */

struct sources {
    int sentences, remembering;  /* remembering: layers of the decoder */
    int64_t longest;  /* places of a sentence in what is written */
    const int64_t *tokens, *length;  /* of all sentences, one behind the other; of each sentence */
    const float *const *project;  /* for each decoder layer: weight (2 · width, width) and bias of its keys and values */
    float *space;  /* source_space() floats */
    float *states;  /* (sentences, longest, width), zeros behind a sentence */
    float *const *remembered;  /* for each decoder layer: keys, then values (sentences, heads, longest, width / heads), zeros as well */
};

/* Returns the floats that sentences need, none of which is longer than this. */
int64_t source_space(const struct decoder *d, int64_t longest) {
    const int64_t rows = TOGETHER + longest;
    return work_space(d, (int)rows, longest);
}

static void look_around(const struct decoder *d, const float *joined, const int64_t *length, int count, float *scores, float *out) {
    const int64_t width = d->width, head = width / d->heads;
    for (int sentence = 0; sentence < count; joined += length[sentence] * 3 * width, out += length[sentence] * width, sentence++)
        for (int h = 0; h < d->heads; h++)
            for (int64_t i = 0; i < length[sentence]; i++)
                attend(joined + i * 3 * width + h * head, joined + width + h * head, joined + 2 * width + h * head, length[sentence], 3 * width,
                       head, d->scale, scores, out + i * width + h * head);
}

/* Writes a part of joined (tokens, …) to out, head by head. */
static void split_heads(const struct decoder *d, const float *from, int64_t step, int64_t length, int64_t longest, float *out) {
    const int64_t head = d->width / d->heads;
    for (int h = 0; h < d->heads; h++, out += longest * head) {
        for (int64_t i = 0; i < length; i++) memcpy(out + i * head, from + i * step + h * head, head * sizeof(float));
        memset(out + length * head, 0, (longest - length) * head * sizeof(float));
    }
}

/* Sentences from `first` on, which have so many tokens. */
static void encode_some(const struct decoder *d, const struct sources *s, int first, int count, const int64_t *tokens, int rows) {
    const int64_t *length = s->length + first, longest = s->longest, width = d->width;
    const int64_t wide = (int64_t)rows * (3 * width > d->features ? 3 * width : d->features);
    float *x = s->space, *normed = x + rows * width, *mixed = normed + rows * width, *inner = mixed + rows * width, *room = inner + wide,
          *scores = room + wide;
    const float *given = d->pre ? normed : x;

    for (int64_t sentence = 0, row = 0; sentence < count; sentence++)
        for (int64_t place = 0; place < length[sentence]; place++, row++) {
            const float *embedding = d->table + tokens[row] * width, *position = d->positions ? d->positions + place * width : NULL;
            for (int64_t i = 0; i < width; i++) x[row * width + i] = embedding[i] * d->embedding_scale + (position ? position[i] : 0.0f);
        }
    for (int layer = 0; layer < d->layers; layer++) {
        const float *const *w = d->weights + layer * WEIGHTS;
        if (d->pre) normalise(x, rows, width, w[SELF_NORM], w[SELF_SHIFT], d->epsilon, normed);
        linear(d, given, rows, width, w[SELF_IN], w[SELF_IN_BIAS], 3 * width, inner, 0, room);
        look_around(d, inner, length, count, scores, mixed);
        linear(d, mixed, rows, width, w[SELF_OUT], w[SELF_OUT_BIAS], width, x, 1, room);
        if (!d->pre) normalise(x, rows, width, w[SELF_NORM], w[SELF_SHIFT], d->epsilon, x);
        feed_forward(d, w, x, rows, normed, inner, room);
    }
    if (d->final_norm) normalise(x, rows, width, d->final_norm, d->final_shift, d->epsilon, x);

    for (int64_t sentence = 0, row = 0; sentence < count; row += length[sentence++]) {
        float *out = s->states + (first + sentence) * longest * width;
        memcpy(out, x + row * width, length[sentence] * width * sizeof(float));
        memset(out + length[sentence] * width, 0, (longest - length[sentence]) * width * sizeof(float));
    }
    for (int layer = 0; layer < s->remembering; layer++) {
        linear(d, x, rows, width, s->project[2 * layer], s->project[2 * layer + 1], 2 * width, inner, 0, room);
        for (int64_t sentence = 0, row = 0; sentence < count; row += length[sentence++])
            for (int part = 0; part < 2; part++)
                split_heads(d, inner + row * 2 * width + part * width, 2 * width, length[sentence], longest,
                            s->remembered[2 * layer + part] + (first + sentence) * longest * width);
    }
}

/* Returns 0, or 1 where a token or a length is out of range: then nothing was read or written. */
int encode_sources(const struct decoder *d, const struct sources *s) {
    int64_t all = 0;
    for (int sentence = 0; sentence < s->sentences; all += s->length[sentence++])
        if (s->length[sentence] < 0 || s->length[sentence] > s->longest || (d->positions && s->length[sentence] > d->places)) return 1;
    for (int64_t i = 0; i < all; i++)
        if (s->tokens[i] < 0 || s->tokens[i] >= d->tokens) return 1;
    const int64_t *tokens = s->tokens;
    for (int first = 0; first < s->sentences;) {
        int count = 0;
        int64_t rows = 0;
        while (first + count < s->sentences && (!count || rows < TOGETHER)) rows += s->length[first + count++];
        encode_some(d, s, first, count, tokens, (int)rows);
        first += count;
        tokens += rows;
    }
    return 0;
}
