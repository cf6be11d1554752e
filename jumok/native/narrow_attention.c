/* Attention of attention.c in bf16: queries, keys, values and gradients are read and written so, weights are computed in fp32.

   Where the processor multiplies pairs of bf16 (VDPBF16PS), products are made of them: weights, and the gradients of scores,
   are rounded for the products that follow. Two neighbours stand in a word of four bytes, and a product in pairs is one of
   words: so keys are turned word by word, and of values two rows become one. Elsewhere a sequence at a time is widened,
   attended to in fp32, and narrowed. */

#include "attention.h"
#include "narrow.h"

#if HAS_NARROW_PRODUCTS

typedef uint32_t words __attribute__((vector_size(64)));
typedef uint16_t sixteen_halves __attribute__((vector_size(32)));

static inline __attribute__((always_inline)) void pair_block(const int rows, const int vectors, const float *a, int64_t a_row,
                                                             int64_t a_column, const float *b, int64_t b_row, int inside,
                                                             float *out, int64_t out_row) {
    sixteen sums[8][4] = {0};
    for (int k = 0; k < inside; k++) {
        words line[4];
        #pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            memcpy(&line[v], b + k * b_row + 16 * v, sizeof line[v]);
            KEEP(line[v]);
        }
        #pragma GCC unroll 8
        for (int row = 0; row < rows; row++) {
            uint32_t pair;
            memcpy(&pair, a + row * a_row + k * a_column, sizeof pair);
            const words factor = (words){0} + pair;
            #pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) __asm__("vdpbf16ps %2, %1, %0" : "+v"(sums[row][v]) : "v"(factor), "v"(line[v]));
        }
    }
    #pragma GCC unroll 8
    for (int row = 0; row < rows; row++)
        #pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) memcpy(out + row * out_row + 16 * v, &sums[row][v], sizeof sums[row][v]);
}

WIDE_PRODUCT(pair_product, pair_block)

static inline sixteen_halves narrowed_sixteen(const float *x) {
    sixteen wide;
    sixteen_halves found;
    memcpy(&wide, x, sizeof wide);
    __asm__("vcvtneps2bf16 %1, %0" : "=v"(found) : "v"(wide));
    return found;
}

/* A row becomes bf16; count is a multiple of sixteen. They may be written over their own beginning. */
static inline void narrow_strips(const float *x, int count, void *out) {
    for (int i = 0; i < count; i += 16) {
        const sixteen_halves halves = narrowed_sixteen(x + i);
        memcpy((char *)out + 2 * i, &halves, sizeof halves);
    }
}

/* Two rows become one of pairs; count is a multiple of sixteen. The first may be written over. */
static inline void pair_strips(const float *x, const float *below, int count, float *out) {
    for (int i = 0; i < count; i += 16) {
        const sixteen_halves low = narrowed_sixteen(x + i), high = narrowed_sixteen(below + i);
        const words both = __builtin_convertvector(low, words) | __builtin_convertvector(high, words) << 16;
        memcpy(out + i, &both, sizeof both);
    }
}

/* The same of rows in bf16: out (⌈rows / 2⌉, room). What is beyond width is left as it is. */
static void pair_rows(const narrow *x, int64_t x_row, int rows, int width, float *out, int64_t room) {
    for (int row = 0; row < rows; row += 2) {
        const narrow *low = x + row * x_row, *high = row + 1 < rows ? low + x_row : NULL;
        char *into = (char *)(out + row / 2 * room);
        #pragma omp simd
        for (int i = 0; i < width; i++) {
            const uint32_t both = low[i] | (high ? (uint32_t)high[i] << 16 : 0);
            memcpy(into + 4 * i, &both, sizeof both);
        }
    }
}

/* Keys or values turned, two features in a word: out (width / 2, room). */
static void turn_pairs(const narrow *x, int64_t x_row, int count, int width, float *out, int64_t room) {
    turn((const float *)(const void *)x, x_row / 2, count, width / 2, out, room);
}

static inline const float *in_pairs(const narrow *x) { return (const float *)(const void *)x; }

static inline int64_t half(int64_t count) { return (count + 1) / 2; }

/* Floats that narrow_attend_all and narrow_attend_back need. */
int64_t narrow_attention_space(const struct attention *a) {
    const int64_t room = rounded(a->keys), wide = rounded(a->width), most = a->queries > room ? a->queries : room;
    return a->width * room + (3 * (int64_t)a->queries + 3) * room + (3 * half(most) + most) * wide;
}

int narrow_attend_all(const struct attention *a, const narrow *query, const narrow *key, const narrow *value, float *space,
                      narrow *out, float *sums) {
    const int width = a->width, wide = rounded(width);
    const int64_t out_row = (int64_t)a->heads * width;
    if (!lengths_fit(a)) return 1;
    memset(space, 0, sizeof(float) * narrow_attention_space(a));
    for (int64_t s = 0; s < a->sequences; s++) {
        const int keys = a->lengths ? (int)a->lengths[s] : a->keys, room = rounded(keys);
        if (!keys) { /* nothing to look at */
            memset(out + s * a->queries * out_row, 0, sizeof(narrow) * a->queries * out_row);
            continue;
        }
        float *mixed = space, *pairs = mixed + (int64_t)a->queries * wide; /* whose padding stays zero */
        float *turned = pairs + half(a->keys) * wide, *weights = turned + (int64_t)width / 2 * room;
        for (int h = 0; h < a->heads; h++) {
            const int64_t at_query = s * a->query_sequence + h * width, at_key = s * a->key_sequence + h * width;
            const float *bias = bias_of(a, s, h);
            narrow *into = out + s * a->queries * out_row + h * width;
            float *sum_of = sums + (s * a->heads + h) * a->queries;
            turn_pairs(key + at_key, a->key_row, keys, width, turned, room);
            pair_rows(value + at_key, a->key_row, keys, width, pairs, wide);
            pair_product(in_pairs(query + at_query), a->query_row / 2, 1, turned, room, a->queries, width / 2, room, weights, room);
            for (int i = 0; i < a->queries; i++) {
                float *row = weights + (int64_t)i * room;
                sum_of[i] = weigh_row(a, row, room, keys, i, bias);
                narrow_strips(row, room, row);
            }
            pair_product(weights, room, 1, pairs, wide, a->queries, half(keys), wide, mixed, wide);
            for (int i = 0; i < a->queries; i++) narrow_row(mixed + (int64_t)i * wide, width, into + i * out_row);
        }
    }
    return 0;
}

int narrow_attend_back(const struct attention *a, const narrow *query, const narrow *key, const narrow *value,
                       const narrow *gradient, const float *sums, float *space, narrow *to_query, narrow *to_key,
                       narrow *to_value, float *to_bias) {
    const int width = a->width, wide = rounded(width), queries = a->queries;
    const int64_t out_row = (int64_t)a->heads * width, most = queries > a->keys ? queries : a->keys;
    if (!lengths_fit(a)) return 1;
    memset(space, 0, sizeof(float) * narrow_attention_space(a));
    for (int64_t s = 0; s < a->sequences; s++) {
        const int keys = a->lengths ? (int)a->lengths[s] : a->keys, room = rounded(keys);
        const int64_t first_query = s * a->query_sequence, first_key = s * a->key_sequence;
        for (int64_t i = 0; !keys && i < queries; i++)
            memset(to_query + first_query + i * a->query_row, 0, sizeof(narrow) * out_row);
        for (int64_t j = keys; j < a->keys; j++) { /* what nobody looked at */
            memset(to_key + first_key + j * a->key_row, 0, sizeof(narrow) * out_row);
            memset(to_value + first_key + j * a->key_row, 0, sizeof(narrow) * out_row);
        }
        if (!keys) continue;
        float *mixed = space, *of_keys = mixed + most * wide, *of_queries = of_keys + half(a->keys) * wide;
        float *outwards = of_queries + half(queries) * wide; /* the padding of all of these stays zero */
        float *turned_keys = outwards + half(queries) * wide, *turned_values = turned_keys + (int64_t)width / 2 * room;
        float *weights = turned_values + (int64_t)width / 2 * room, *inner = weights + (int64_t)(queries + 1) * room;
        float *crossed = inner + (int64_t)(queries + 1) * room;
        memset(turned_values, 0, sizeof(float) * width / 2 * room); /* what another sequence left there may be no number */
        for (int h = 0; h < a->heads; h++) {
            const int64_t at_query = first_query + h * width, at_key = first_key + h * width;
            const narrow *q = query + at_query, *k = key + at_key, *v = value + at_key;
            const narrow *outward = gradient + s * queries * out_row + h * width;
            const float *bias = bias_of(a, s, h), *sum_of = sums + (s * a->heads + h) * queries;
            float *of_bias = to_bias ? to_bias + ((s % a->biases) * a->heads + h) * (int64_t)queries * a->keys : NULL;
            turn_pairs(k, a->key_row, keys, width, turned_keys, room);
            turn_pairs(v, a->key_row, keys, width, turned_values, room);
            pair_rows(k, a->key_row, keys, width, of_keys, wide);
            pair_rows(q, a->query_row, queries, width, of_queries, wide);
            pair_rows(outward, out_row, queries, width, outwards, wide);
            pair_product(in_pairs(q), a->query_row / 2, 1, turned_keys, room, queries, width / 2, room, weights, room);
            pair_product(in_pairs(outward), out_row / 2, 1, turned_values, room, queries, width / 2, room, inner, room);
            for (int i = 0; i < queries; i++)
                slope_row(a, weights + (int64_t)i * room, inner + (int64_t)i * room, room, keys, i, sum_of[i], bias, of_bias);
            memset(weights + (int64_t)queries * room, 0, sizeof(float) * room); /* an odd row's other one */
            memset(inner + (int64_t)queries * room, 0, sizeof(float) * room);
            for (int64_t i = 0; i < queries; i += 2) {
                float *row = weights + i * room, *slope = inner + i * room;
                pair_strips(row, row + room, room, row);
                pair_strips(slope, slope + room, room, crossed + i / 2 * room);
                narrow_strips(slope, room, slope);
                narrow_strips(slope + room, room, slope + room);
            }
            pair_product(inner, room, 1, of_keys, wide, queries, half(keys), wide, mixed, wide);
            for (int i = 0; i < queries; i++) narrow_row(mixed + (int64_t)i * wide, width, to_query + at_query + i * a->query_row);
            pair_product(crossed, 1, room, of_queries, wide, keys, half(queries), wide, mixed, wide);
            for (int j = 0; j < keys; j++) narrow_row(mixed + (int64_t)j * wide, width, to_key + at_key + j * a->key_row);
            pair_product(weights, 1, 2 * room, outwards, wide, keys, half(queries), wide, mixed, wide);
            for (int j = 0; j < keys; j++) narrow_row(mixed + (int64_t)j * wide, width, to_value + at_key + j * a->key_row);
        }
    }
    return 0;
}

#else

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

#endif
