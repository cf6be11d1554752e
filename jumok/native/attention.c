/* Attention of many short sequences and its gradient, while a model learns.

   softmax(q kᵀ · scale + bias) v, one head of one sequence at a time: all that belongs to it stays in the cache, and queries, keys,
   values and their gradients are read and written where the linear layers around them have them. Nothing but the
   log-sum of each query is kept for the gradient; weights are computed again.

   Head widths are multiples of 4. A sequence may have fewer keys than the longest; a causal query sees no later key. Arrays are float32.
   Returns are 0, or 1 where a sequence would have more keys than there are. */

#include "narrow.h"
#include "vectors.h"

struct attention {
    int64_t sequences;
    int heads, queries, keys, width, causal;
    float scale;
    int64_t query_sequence, query_row, key_sequence, key_row;  /* floats from one to the next; keys and values are laid out alike */
    const int64_t *lengths;  /* keys of each sequence; null: all of them */
    const float *bias;       /* (biases, heads, queries, keys), taken in turns by the sequences; may be null */
    int64_t biases;
};

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

/* out (rows, outside) = a (rows, inside) · b (inside, outside), where outside is a multiple of 4. */
static void small_product(const float *a, int64_t a_row, int64_t a_column, const float *b, int64_t b_row, int rows, int inside,
                          int outside, float *out, int64_t out_row) {
    int column = 0;
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
static void turn(const float *x, int64_t x_row, int count, int width, float *out, int64_t room) {
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

/* e^(row − level), and nothing at all where that is less than any weight counts; returns the sum. */
static inline float raise_scores(float *row, int room, float level) {
    float sums[STRIP] = {0}, sum = 0.0f;
    for (int first = 0; first < room; first += STRIP)
        #pragma omp simd
        for (int j = 0; j < STRIP; j++) {
            float x = row[first + j] - level, raised = exponential(x);
            raised = x < -87.0f ? 0.0f : raised;
            row[first + j] = raised;
            sums[j] += raised;
        }
    for (int j = 0; j < STRIP; j++) sum += sums[j];
    return sum;
}

static inline int seen(const struct attention *a, int keys, int query) {
    return a->causal && query + 1 < keys ? query + 1 : keys;
}

static inline const float *bias_of(const struct attention *a, int64_t sequence, int head) {
    return a->bias ? a->bias + ((sequence % a->biases) * a->heads + head) * (int64_t)a->queries * a->keys : NULL;
}

/* Floats that attend_all and attend_back need. */
int64_t attention_space(const struct attention *a) {
    int64_t room = rounded(a->keys);
    return 2 * a->width * room + 2 * a->queries * room;
}

static int lengths_fit(const struct attention *a) {
    for (int64_t s = 0; a->lengths && s < a->sequences; s++)
        if (a->lengths[s] < 0 || a->lengths[s] > a->keys) return 0;
    return 1;
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
            for (int i = 0; i < a->queries; i++) {
                float *row = weights + (int64_t)i * room;
                scale_scores(row, room, seen(a, keys, i), a->scale, bias ? bias + (int64_t)i * a->keys : NULL);
                const float top = largest(row, room);
                if (!(top > -INFINITY)) { /* it may look at nothing */
                    sum_of[i] = INFINITY;
                    memset(row, 0, sizeof(float) * room);
                    continue;
                }
                const float sum = raise_scores(row, room, top), share = 1.0f / sum;
                sum_of[i] = top + logf(sum);
                for (int first = 0; first < room; first += STRIP)
                    #pragma omp simd
                    for (int j = 0; j < STRIP; j++) row[first + j] *= share;
            }
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
            for (int i = 0; i < a->queries; i++) {
                float *row = weights + (int64_t)i * room, *slope = inner + (int64_t)i * room, parts[STRIP] = {0}, mean = 0.0f;
                scale_scores(row, room, seen(a, keys, i), a->scale, bias ? bias + (int64_t)i * a->keys : NULL);
                raise_scores(row, room, sum_of[i]);
                for (int first = 0; first < room; first += STRIP)
                    #pragma omp simd
                    for (int j = 0; j < STRIP; j++) parts[j] += row[first + j] * slope[first + j];
                for (int j = 0; j < STRIP; j++) mean += parts[j];
                for (int first = 0; first < room; first += STRIP)
                    #pragma omp simd
                    for (int j = 0; j < STRIP; j++) slope[first + j] = row[first + j] * (slope[first + j] - mean);
                if (of_bias) {
                    float *added = of_bias + (int64_t)i * a->keys;
                    #pragma omp simd
                    for (int j = 0; j < keys; j++) added[j] += slope[j];
                }
                for (int first = 0; first < room; first += STRIP)
                    #pragma omp simd
                    for (int j = 0; j < STRIP; j++) slope[first + j] *= a->scale;
            }
            small_product(inner, room, 1, k, a->key_row, a->queries, keys, width, to_query + at_query, a->query_row);
            small_product(inner, 1, room, q, a->query_row, keys, a->queries, width, to_key + at_key, a->key_row);
            small_product(weights, 1, room, outward, out_row, keys, a->queries, width, to_value + at_key, a->key_row);
        }
    }
    return 0;
}

/* --- in bf16: a sequence at a time is widened, attended to as above, and narrowed --- */

/* The same attention, to one sequence whose queries, keys and values stand row by row. */
static struct attention only(const struct attention *a, int64_t sequence) {
    struct attention one = *a;
    const int64_t row = (int64_t)a->heads * a->width, biases = a->bias ? sequence % a->biases : 0;
    one.sequences = one.biases = 1;
    one.query_row = one.key_row = row;
    one.query_sequence = a->queries * row;
    one.key_sequence = a->keys * row;
    one.lengths = a->lengths ? a->lengths + sequence : NULL;
    one.bias = a->bias ? a->bias + biases * a->heads * (int64_t)a->queries * a->keys : NULL;
    return one;
}

static void widen_rows(const narrow *x, int64_t x_row, int rows, int64_t width, float *out) {
    for (int row = 0; row < rows; row++) widen_row(x + row * x_row, width, out + row * width);
}

static void narrow_rows(const float *x, int rows, int64_t width, narrow *out, int64_t out_row) {
    for (int row = 0; row < rows; row++) narrow_row(x + row * width, width, out + row * out_row);
}

/* Floats that narrow_attend_all and narrow_attend_back need. */
int64_t narrow_attention_space(const struct attention *a) {
    return attention_space(a) + (int64_t)a->heads * a->width * (3 * a->queries + 4 * a->keys);
}

int narrow_attend_all(const struct attention *a, const narrow *query, const narrow *key, const narrow *value, float *space,
                      narrow *out, float *sums) {
    const int64_t row = (int64_t)a->heads * a->width;
    float *q = space + attention_space(a), *k = q + a->queries * row, *v = k + a->keys * row, *mixed = v + a->keys * row;
    if (!lengths_fit(a)) return 1;
    for (int64_t s = 0; s < a->sequences; s++) {
        const struct attention one = only(a, s);
        widen_rows(query + s * a->query_sequence, a->query_row, a->queries, row, q);
        widen_rows(key + s * a->key_sequence, a->key_row, a->keys, row, k);
        widen_rows(value + s * a->key_sequence, a->key_row, a->keys, row, v);
        attend_all(&one, q, k, v, space, mixed, sums + s * a->heads * a->queries);
        narrow_rows(mixed, a->queries, row, out + s * a->queries * row, row);
    }
    return 0;
}

int narrow_attend_back(const struct attention *a, const narrow *query, const narrow *key, const narrow *value,
                       const narrow *gradient, const float *sums, float *space, narrow *to_query, narrow *to_key,
                       narrow *to_value, float *to_bias) {
    const int64_t row = (int64_t)a->heads * a->width, of_queries = a->queries * row, of_keys = a->keys * row;
    float *q = space + attention_space(a), *outward = q + of_queries, *to_q = outward + of_queries, *k = to_q + of_queries;
    float *v = k + of_keys, *to_k = v + of_keys, *to_v = to_k + of_keys;
    if (!lengths_fit(a)) return 1;
    for (int64_t s = 0; s < a->sequences; s++) {
        const struct attention one = only(a, s);
        const int64_t at_query = s * a->query_sequence, at_key = s * a->key_sequence;
        widen_rows(query + at_query, a->query_row, a->queries, row, q);
        widen_rows(key + at_key, a->key_row, a->keys, row, k);
        widen_rows(value + at_key, a->key_row, a->keys, row, v);
        widen_rows(gradient + s * of_queries, row, a->queries, row, outward);
        float *of_bias = to_bias ? to_bias + (s % a->biases) * a->heads * (int64_t)a->queries * a->keys : NULL;
        attend_back(&one, q, k, v, outward, sums + s * a->heads * a->queries, space, to_q, to_k, to_v, of_bias);
        narrow_rows(to_q, a->queries, row, to_query + at_query, a->query_row);
        narrow_rows(to_k, a->keys, row, to_key + at_key, a->key_row);
        narrow_rows(to_v, a->keys, row, to_value + at_key, a->key_row);
    }
    return 0;
}
