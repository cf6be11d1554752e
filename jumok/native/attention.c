/* Attention of many short sequences and its gradient, while a model learns.

   softmax(q kᵀ · scale + bias) v, one head of one sequence at a time: all that belongs to it stays in the cache, and queries, keys,
   values and their gradients are read and written where the linear layers around them have them. Nothing but the
   log-sum of each query is kept for the gradient; weights are computed again.

   Head widths are multiples of 4. A sequence may have fewer keys than the longest; a causal query sees no later key. Arrays are float32
   here; narrow_attention.c has the twin in bf16. Returns are 0, or 1 where a sequence would have more keys than there are. */

#include "attention.h"

/* A block of out (rows, 8 · vectors) = [out +] a (rows, inside) · b (inside, 8 · vectors); a is read by its two strides. */
static inline __attribute__((always_inline)) void block(const int rows, const int vectors, const float *a, int64_t a_row,
                                                        int64_t a_column, const float *b, int64_t b_row, int inside,
                                                        float *out, int64_t out_row) {
    eight sums[4][3] = {0};
    for (int k = 0; k < inside; k++) {
        eight line[3];
        #pragma GCC unroll 3
        for (int v = 0; v < vectors; v++) {
            line[v] = load(b + k * b_row + 8 * v);
            KEEP(line[v]);
        }
        #pragma GCC unroll 4
        for (int row = 0; row < rows; row++) {
            float factor = a[row * a_row + k * a_column];
            #pragma GCC unroll 3
            for (int v = 0; v < vectors; v++) sums[row][v] += factor * line[v];
        }
    }
    #pragma GCC unroll 4
    for (int row = 0; row < rows; row++)
        #pragma GCC unroll 3
        for (int v = 0; v < vectors; v++) memcpy(out + row * out_row + 8 * v, &sums[row][v], sizeof sums[row][v]);
}

static inline __attribute__((always_inline)) void columns_of(const int vectors, const float *a, int64_t a_row, int64_t a_column,
                                                             const float *b, int64_t b_row, int rows, int inside,
                                                             float *out, int64_t out_row) {
    int row = 0;
    for (; row + 4 <= rows; row += 4)
        block(4, vectors, a + row * a_row, a_row, a_column, b, b_row, inside, out + row * out_row, out_row);
    if (row + 2 <= rows) {
        block(2, vectors, a + row * a_row, a_row, a_column, b, b_row, inside, out + row * out_row, out_row);
        row += 2;
    }
    if (row < rows) block(1, vectors, a + row * a_row, a_row, a_column, b, b_row, inside, out + row * out_row, out_row);
}

/* The same of four columns, which is what a narrow head has beyond its eights; more rows hide how long a sum takes. */
static inline __attribute__((always_inline)) void narrow_block(const int rows, const float *a, int64_t a_row, int64_t a_column,
                                                               const float *b, int64_t b_row, int inside, float *out,
                                                               int64_t out_row) {
    four sums[8] = {0};
    for (int k = 0; k < inside; k++) {
        four line;
        memcpy(&line, b + k * b_row, sizeof line);
        KEEP(line);
        #pragma GCC unroll 8
        for (int row = 0; row < rows; row++) sums[row] += a[row * a_row + k * a_column] * line;
    }
    #pragma GCC unroll 8
    for (int row = 0; row < rows; row++) memcpy(out + row * out_row, &sums[row], sizeof sums[row]);
}

static void four_columns(const float *a, int64_t a_row, int64_t a_column, const float *b, int64_t b_row, int rows, int inside,
                         float *out, int64_t out_row) {
    int row = 0;
    for (; row + 8 <= rows; row += 8)
        narrow_block(8, a + row * a_row, a_row, a_column, b, b_row, inside, out + row * out_row, out_row);
    for (; row < rows; row++) narrow_block(1, a + row * a_row, a_row, a_column, b, b_row, inside, out + row * out_row, out_row);
}

#if HAS_AVX512

/* The same of sixteen numbers at once; a vector or two have more rows, which hides how long a sum takes. */
static inline __attribute__((always_inline)) void wide_block(const int rows, const int vectors, const float *a, int64_t a_row,
                                                             int64_t a_column, const float *b, int64_t b_row, int inside,
                                                             float *out, int64_t out_row) {
    sixteen sums[8][4] = {0};
    for (int k = 0; k < inside; k++) {
        sixteen line[4];
        #pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            memcpy(&line[v], b + k * b_row + 16 * v, sizeof line[v]);
            KEEP(line[v]);
        }
        #pragma GCC unroll 8
        for (int row = 0; row < rows; row++) {
            const float factor = a[row * a_row + k * a_column];
            #pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) sums[row][v] += factor * line[v];
        }
    }
    #pragma GCC unroll 8
    for (int row = 0; row < rows; row++)
        #pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) memcpy(out + row * out_row + 16 * v, &sums[row][v], sizeof sums[row][v]);
}

WIDE_PRODUCT(wide_product, wide_block)

#endif

/* out (rows, outside) = a (rows, inside) · b (inside, outside), where outside is a multiple of 4. */
static void small_product(const float *a, int64_t a_row, int64_t a_column, const float *b, int64_t b_row, int rows, int inside,
                          int outside, float *out, int64_t out_row) {
    int column = 0;
#if HAS_AVX512
    column = outside / 16 * 16;
    wide_product(a, a_row, a_column, b, b_row, rows, inside, column, out, out_row);
#endif
    for (; column + 24 <= outside; column += 24)
        columns_of(3, a, a_row, a_column, b + column, b_row, rows, inside, out + column, out_row);
    if (column + 16 <= outside) {
        columns_of(2, a, a_row, a_column, b + column, b_row, rows, inside, out + column, out_row);
        column += 16;
    }
    if (column + 8 <= outside) {
        columns_of(1, a, a_row, a_column, b + column, b_row, rows, inside, out + column, out_row);
        column += 8;
    }
    if (column < outside) four_columns(a, a_row, a_column, b + column, b_row, rows, inside, out + column, out_row);
}

/* Floats that attend_all and attend_back need. */
int64_t attention_space(const struct attention *a) {
    int64_t room = rounded(a->keys);
    return 2 * a->width * room + 2 * a->queries * room;
}

/* out is (sequences, queries, heads · width), sums (sequences, heads, queries). */
int attend_all(const struct attention *a, const float *query, const float *key, const float *value, float *space,
               float *out, float *sums) {
    const int width = a->width;
    const int64_t out_row = (int64_t)a->heads * width;
    if (!lengths_fit(a)) return 1;
    for (int64_t s = 0; s < a->sequences; s++) {
        const int keys = a->lengths ? (int)a->lengths[s] : a->keys, room = rounded(keys);
        if (!keys) { /* nothing to look at */
            memset(out + s * a->queries * out_row, 0, sizeof(float) * a->queries * out_row);
            continue;
        }
        float *turned = space, *weights = space + (int64_t)width * room;
        memset(turned, 0, sizeof(float) * width * room);
        for (int h = 0; h < a->heads; h++) {
            const float *q = query + s * a->query_sequence + h * width, *k = key + s * a->key_sequence + h * width;
            const float *v = value + s * a->key_sequence + h * width, *bias = bias_of(a, s, h);
            float *into = out + s * a->queries * out_row + h * width, *sum_of = sums + (s * a->heads + h) * a->queries;
            turn(k, a->key_row, keys, width, turned, room);
            small_product(q, a->query_row, 1, turned, room, a->queries, width, room, weights, room);
            for (int i = 0; i < a->queries; i++) sum_of[i] = weigh_row(a, weights + (int64_t)i * room, room, keys, i, bias);
            small_product(weights, room, 1, v, a->key_row, a->queries, keys, width, into, out_row);
        }
    }
    return 0;
}

/* Gradients of query, key and value, laid out as they are; to_bias (biases, heads, queries, keys) is added to. */
int attend_back(const struct attention *a, const float *query, const float *key, const float *value, const float *gradient,
                const float *sums, float *space, float *to_query, float *to_key, float *to_value, float *to_bias) {
    const int width = a->width;
    const int64_t out_row = (int64_t)a->heads * width;
    if (!lengths_fit(a)) return 1;
    for (int64_t s = 0; s < a->sequences; s++) {
        const int keys = a->lengths ? (int)a->lengths[s] : a->keys, room = rounded(keys);
        float *turned_keys = space, *turned_values = turned_keys + (int64_t)width * room;
        float *weights = turned_values + (int64_t)width * room, *inner = weights + (int64_t)a->queries * room;
        for (int64_t i = 0; !keys && i < a->queries; i++)
            memset(to_query + s * a->query_sequence + i * a->query_row, 0, sizeof(float) * out_row);
        for (int64_t j = keys; j < a->keys; j++) { /* what nobody looked at */
            memset(to_key + s * a->key_sequence + j * a->key_row, 0, sizeof(float) * out_row);
            memset(to_value + s * a->key_sequence + j * a->key_row, 0, sizeof(float) * out_row);
        }
        if (!keys) continue;
        memset(turned_keys, 0, 2 * sizeof(float) * width * room);
        for (int h = 0; h < a->heads; h++) {
            const int64_t at_query = s * a->query_sequence + h * width, at_key = s * a->key_sequence + h * width;
            const float *q = query + at_query, *k = key + at_key, *v = value + at_key, *bias = bias_of(a, s, h);
            const float *outward = gradient + s * a->queries * out_row + h * width, *sum_of = sums + (s * a->heads + h) * a->queries;
            float *of_bias = to_bias ? to_bias + ((s % a->biases) * a->heads + h) * (int64_t)a->queries * a->keys : NULL;
            turn(k, a->key_row, keys, width, turned_keys, room);
            turn(v, a->key_row, keys, width, turned_values, room);
            small_product(q, a->query_row, 1, turned_keys, room, a->queries, width, room, weights, room);
            small_product(outward, out_row, 1, turned_values, room, a->queries, width, room, inner, room);
            for (int i = 0; i < a->queries; i++)
                slope_row(a, weights + (int64_t)i * room, inner + (int64_t)i * room, room, keys, i, sum_of[i], bias, of_bias);
            small_product(inner, room, 1, k, a->key_row, a->queries, keys, width, to_query + at_query, a->query_row);
            small_product(inner, 1, room, q, a->query_row, keys, a->queries, width, to_key + at_key, a->key_row);
            small_product(weights, 1, room, outward, out_row, keys, a->queries, width, to_value + at_key, a->key_row);
        }
    }
    return 0;
}
