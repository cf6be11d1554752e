/* What attention in fp32 (attention.c) and in bf16 (narrow_attention.c) share: what a call is told, keys turned, weights of a query. */

#include "vectors.h"

struct attention {
    int64_t sequences;
    int heads, queries, keys, width, causal;
    float scale;
    int64_t query_sequence, query_row, key_sequence, key_row;  /* numbers from one to the next; keys and values are laid out alike */
    const int64_t *lengths;  /* keys of each sequence; null: all of them */
    const float *bias;       /* (biases, heads, queries, keys), taken in turns by the sequences; may be null */
    int64_t biases;
};

/* Without what a processor has of its own: one sequence after another, in fp32. */
int64_t attention_space(const struct attention *a);
int attend_all(const struct attention *a, const float *query, const float *key, const float *value, float *space,
               float *out, float *sums);
int attend_back(const struct attention *a, const float *query, const float *key, const float *value, const float *gradient,
                const float *sums, float *space, float *to_query, float *to_key, float *to_value, float *to_bias);

#if HAS_AVX512

typedef float sixteen __attribute__((vector_size(64)));

/* Defines out (rows, outside) = a (rows, inside) · b (inside, outside) of blocks, where outside is a multiple of 16. */
#define WIDE_PRODUCT(name, block)                                                                                           \
    static inline __attribute__((always_inline)) void name##_columns(                                                       \
        const int vectors, const int together, const float *a, int64_t a_row, int64_t a_column, const float *b,             \
        int64_t b_row, int rows, int inside, float *out, int64_t out_row) {                                                 \
        int row = 0;                                                                                                        \
        for (; row + together <= rows; row += together)                                                                     \
            block(together, vectors, a + row * a_row, a_row, a_column, b, b_row, inside, out + row * out_row, out_row);     \
        for (; row + 2 <= rows; row += 2)                                                                                   \
            block(2, vectors, a + row * a_row, a_row, a_column, b, b_row, inside, out + row * out_row, out_row);            \
        if (row < rows) block(1, vectors, a + row * a_row, a_row, a_column, b, b_row, inside, out + row * out_row, out_row); \
    }                                                                                                                       \
    static void name(const float *a, int64_t a_row, int64_t a_column, const float *b, int64_t b_row, int rows, int inside,  \
                     int outside, float *out, int64_t out_row) {                                                            \
        int column = 0;                                                                                                     \
        for (; column + 64 <= outside; column += 64)                                                                        \
            name##_columns(4, 4, a, a_row, a_column, b + column, b_row, rows, inside, out + column, out_row);               \
        switch ((outside - column) / 16) {                                                                                  \
        case 3: name##_columns(3, 4, a, a_row, a_column, b + column, b_row, rows, inside, out + column, out_row); break;    \
        case 2: name##_columns(2, 8, a, a_row, a_column, b + column, b_row, rows, inside, out + column, out_row); break;    \
        case 1: name##_columns(1, 8, a, a_row, a_column, b + column, b_row, rows, inside, out + column, out_row); break;    \
        }                                                                                                                   \
    }

#endif

/* Eight by eight numbers, rows become columns. */
static inline void turn_square(const float *x, int64_t x_row, float *out, int64_t out_row) {
    eight rows[8], pairs[8], fours[8];
    for (int i = 0; i < 8; i++) rows[i] = load(x + i * x_row);
    for (int i = 0; i < 4; i++) {
        pairs[2 * i] = PICK(rows[2 * i], rows[2 * i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        pairs[2 * i + 1] = PICK(rows[2 * i], rows[2 * i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int j = 0; j < 2; j++) {
            fours[i + 2 * j] = PICK(pairs[i + j], pairs[i + 2 + j], 0, 1, 8, 9, 4, 5, 12, 13);
            fours[i + 2 * j + 1] = PICK(pairs[i + j], pairs[i + 2 + j], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int i = 0; i < 4; i++) {
        eight low = PICK(fours[i], fours[4 + i], 0, 1, 2, 3, 8, 9, 10, 11);
        eight high = PICK(fours[i], fours[4 + i], 4, 5, 6, 7, 12, 13, 14, 15);
        memcpy(out + i * out_row, &low, sizeof low);
        memcpy(out + (4 + i) * out_row, &high, sizeof high);
    }
}

/* out (width, room) = x (count, width) transposed; what is beyond count is left as it is. */
static inline void turn(const float *x, int64_t x_row, int count, int width, float *out, int64_t room) {
    const int squares = width / 8 * 8;
    int k = 0;
    for (; k + 8 <= count; k += 8)
        for (int i = 0; i < squares; i += 8) turn_square(x + k * x_row + i, x_row, out + i * room + k, room);
    for (; k < count; k++)
        for (int i = 0; i < squares; i++) out[i * room + k] = x[k * x_row + i];
    for (k = 0; k < count; k++)
        for (int i = squares; i < width; i++) out[i * room + k] = x[k * x_row + i];
}

/* Keys are gone through in strips without a rest: scores have room for whole ones. */
static inline int rounded(int count) { return (count + STRIP - 1) / STRIP * STRIP; }

/* Scores of one query, scaled and with their bias; −∞ for keys that it may not see. */
static inline void scale_scores(float *row, int room, int count, float scale, const float *bias) {
    if (bias) {
        #pragma omp simd
        for (int j = 0; j < count; j++) row[j] = row[j] * scale + bias[j];
        for (int j = count; j < room; j++) row[j] = -INFINITY;
        return;
    }
    for (int first = 0; first < room; first += STRIP)
        #pragma omp simd
        for (int j = 0; j < STRIP; j++) row[first + j] = first + j < count ? row[first + j] * scale : -INFINITY;
}

/* The sum of a strip, whose numbers are lost: by halves, since one after another takes longer than a short row. */
static inline float sum_of_strip(float *strip) {
    for (int count = STRIP / 2; count; count /= 2)
        #pragma omp simd
        for (int j = 0; j < count; j++) strip[j] += strip[j + count];
    return strip[0];
}

/* e^(row − level), and nothing at all where that is less than any weight counts; returns the sum. */
static inline float raise_scores(float *row, int room, float level) {
    float sums[STRIP] = {0};
    for (int first = 0; first < room; first += STRIP)
        #pragma omp simd
        for (int j = 0; j < STRIP; j++) {
            float x = row[first + j] - level, raised = exponential(x);
            raised = x < -87.0f ? 0.0f : raised;
            row[first + j] = raised;
            sums[j] += raised;
        }
    return sum_of_strip(sums);
}

static inline int seen(const struct attention *a, int keys, int query) {
    return a->causal && query + 1 < keys ? query + 1 : keys;
}

static inline const float *bias_of(const struct attention *a, int64_t sequence, int head) {
    return a->bias ? a->bias + ((sequence % a->biases) * a->heads + head) * (int64_t)a->queries * a->keys : NULL;
}

/* The weights of query number i, of whose scores the rest of a row of `room` is for no key; returns the log-sum. */
static inline float weigh_row(const struct attention *a, float *row, int room, int keys, int i, const float *bias) {
    scale_scores(row, room, seen(a, keys, i), a->scale, bias ? bias + (int64_t)i * a->keys : NULL);
    const float top = largest(row, room);
    if (!(top > -INFINITY)) { /* it may look at nothing */
        memset(row, 0, sizeof(float) * room);
        return INFINITY;
    }
    const float sum = raise_scores(row, room, top), share = 1.0f / sum;
    for (int first = 0; first < room; first += STRIP)
        #pragma omp simd
        for (int j = 0; j < STRIP; j++) row[first + j] *= share;
    return top + logf(sum);
}

/* The weights again, given the log-sum; slope, which is the gradient of each, becomes that of its score. */
static inline void slope_row(const struct attention *a, float *row, float *slope, int room, int keys, int i, float sum,
                             const float *bias, float *to_bias) {
    float parts[STRIP] = {0};
    scale_scores(row, room, seen(a, keys, i), a->scale, bias ? bias + (int64_t)i * a->keys : NULL);
    raise_scores(row, room, sum);
    for (int first = 0; first < room; first += STRIP)
        #pragma omp simd
        for (int j = 0; j < STRIP; j++) parts[j] += row[first + j] * slope[first + j];
    const float mean = sum_of_strip(parts);
    for (int first = 0; first < room; first += STRIP)
        #pragma omp simd
        for (int j = 0; j < STRIP; j++) slope[first + j] = row[first + j] * (slope[first + j] - mean);
    if (to_bias) {
        float *added = to_bias + (int64_t)i * a->keys;
        #pragma omp simd
        for (int j = 0; j < keys; j++) added[j] += slope[j];
    }
    for (int first = 0; first < room; first += STRIP)
        #pragma omp simd
        for (int j = 0; j < STRIP; j++) slope[first + j] *= a->scale;
}

static inline int lengths_fit(const struct attention *a) {
    for (int64_t s = 0; a->lengths && s < a->sequences; s++)
        if (a->lengths[s] < 0 || a->lengths[s] > a->keys) return 0;
    return 1;
}
