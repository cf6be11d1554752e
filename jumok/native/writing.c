/* What a CPU does beside large matrix products while a Transformer writes, a token at a time.

   decode_step    the decoder's layers for one new token of every row, and the logits after it
   write_on       the likeliest token after each, again and again, until a row has come to its end
   log_sums       log Σ exp of every row of logits
   likeliest      the largest few of every row of logits, without sorting it
   move_rows      rows of what is remembered take other rows' places

   Each has a twin in torch, which it is tested against (tests/native). Products go to the sgemm that torch brings along;
   it wants Fortran's order, in which a row-major (rows, width) is a column-major (width, rows). Arrays are float32. */

#include "vectors.h"

typedef void (*product)(const char *, const char *, const int *, const int *, const int *, const float *, const float *,
                        const int *, const float *, const int *, const float *, float *, const int *);

/* A layer's arrays, in the order in which Python hands them over. */
enum {
    SELF_NORM, SELF_SHIFT, SELF_IN, SELF_IN_BIAS, SELF_OUT, SELF_OUT_BIAS,
    CROSS_NORM, CROSS_SHIFT, CROSS_IN, CROSS_IN_BIAS, CROSS_OUT, CROSS_OUT_BIAS,
    BEND_NORM, BEND_SHIFT, BEND_IN, BEND_IN_BIAS, BEND_OUT, BEND_OUT_BIAS,
    WEIGHTS
};
enum { KEYS, VALUES, MEMORY_KEYS, MEMORY_VALUES, REMEMBERED };
enum { RELU, GELU, GELU_TANH, SILU };

struct model {
    product multiply;
    int layers, width, heads, features, vocabulary, bends, pre;
    float scale, epsilon, embedding_scale;
    const float *table, *positions;  /* positions may be none */
    const float *final_norm, *final_shift, *project, *project_bias;  /* the final norm may be none */
    const float *const *weights;  /* WEIGHTS a layer */
};

struct step {
    int rows, group;  /* neighbouring rows that share a sentence */
    float *const *remembered;  /* REMEMBERED a layer */
    int64_t row, head;  /* floats from a row to the next and from a head to the next: keys and values; a place is as wide as a head */
    int64_t sentence, memory_head, memory_place;  /* the same in what is remembered of the source */
    const int64_t *tokens, *lengths, *source_lengths;  /* a row, a row, a sentence each */
    float *space;  /* work_space() floats */
    float *logits;  /* (rows, vocabulary) */
};

#define FEW 8 /* rows up to which a product is bound by reading its weights, and a call of sgemm costs more than it saves */

/* Two outputs of all rows at once: their sums stay in registers, and a weight is read once. */
static inline __attribute__((always_inline)) void product_of(const int rows, const float *x, int inside,
                                                             const float *weight, const float *bias, int outside,
                                                             float *out, int add) {
    for (int o = 0; o < outside; o += 2) {
        int pair = o + 1 < outside;
        const float *one = weight + (int64_t)o * inside, *other = pair ? one + inside : one;
        eight first[FEW] = {0}, second[FEW] = {0};
        int i = 0;
        for (; i + 8 <= inside; i += 8) {
            eight a = load(one + i), b = load(other + i);
            #pragma GCC unroll 8
            for (int row = 0; row < rows; row++) {
                eight from = load(x + (int64_t)row * inside + i);
                first[row] += from * a;
                second[row] += from * b;
            }
        }
        #pragma GCC unroll 8
        for (int row = 0; row < rows; row++) {
            float *into = out + (int64_t)row * outside + o, sum = 0.0f, more = 0.0f;
            for (int k = 0; k < 8; k++) {
                sum += first[row][k];
                more += second[row][k];
            }
            for (int k = i; k < inside; k++) {
                sum += x[(int64_t)row * inside + k] * one[k];
                more += x[(int64_t)row * inside + k] * other[k];
            }
            into[0] = (add ? into[0] : 0.0f) + sum + bias[o];
            if (pair) into[1] = (add ? into[1] : 0.0f) + more + bias[o + 1];
        }
    }
}

static void few_rows(const float *x, int rows, int inside, const float *weight, const float *bias, int outside, float *out,
                     int add) {
    switch (rows) {
    case 1: product_of(1, x, inside, weight, bias, outside, out, add); break;
    case 2: product_of(2, x, inside, weight, bias, outside, out, add); break;
    case 3: product_of(3, x, inside, weight, bias, outside, out, add); break;
    case 4: product_of(4, x, inside, weight, bias, outside, out, add); break;
    case 5: product_of(5, x, inside, weight, bias, outside, out, add); break;
    case 6: product_of(6, x, inside, weight, bias, outside, out, add); break;
    case 7: product_of(7, x, inside, weight, bias, outside, out, add); break;
    case 8: product_of(8, x, inside, weight, bias, outside, out, add); break;
    }
}

#define PORTION 512 /* outputs of a product at once: what they start from is still in the cache when they are added to */

/* out (rows, outside) = [out +] x (rows, inside) · weight (outside, inside)ᵀ + bias */
static void linear(product multiply, const float *x, int rows, int inside, const float *weight, const float *bias,
                   int outside, float *out, int add) {
    const float one = 1.0f;
    if (rows <= FEW) {
        few_rows(x, rows, inside, weight, bias, outside, out, add);
        return;
    }
    for (int first = 0; first < outside; first += PORTION) {
        int count = outside - first < PORTION ? outside - first : PORTION;
        const float *more = bias + first;
        for (int64_t row = 0; row < rows; row++) {
            float *into = out + row * outside + first;
            if (add) {
                #pragma omp simd
                for (int i = 0; i < count; i++) into[i] += more[i];
            } else
                memcpy(into, more, count * sizeof(float));
        }
        multiply("T", "N", &count, &rows, &inside, &one, weight + (int64_t)first * inside, &inside, x, &inside, &one,
                 out + first, &outside);
    }
}

static void normalise(const float *x, int rows, int width, const float *scale, const float *shift, float epsilon,
                      float *out) {
    float mean;
    for (int64_t row = 0; row < rows; row++) normalise_row(x + row * width, width, scale, shift, epsilon, out + row * width, &mean);
}

/* One query of one head over count places. */
static inline __attribute__((always_inline)) void attend_to(
    const float *query, const float *keys, const float *values, int64_t count, int64_t place, int width, float scale,
    float *scores, float *out) {
    float top = -INFINITY, sum = 0.0f;
    for (int64_t k = 0; k < count; k++) {
        const float *key = keys + k * place;
        float score = 0.0f;
        #pragma omp simd reduction(+ : score)
        for (int i = 0; i < width; i++) score += query[i] * key[i];
        scores[k] = score * scale;
        top = scores[k] > top ? scores[k] : top;
    }
    #pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < count; k++) {
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

/* The compiler unrolls what it knows the width of: the usual ones are spelt out. */
static void attend(const float *query, const float *keys, const float *values, int64_t count, int64_t place, int width,
                   float scale, float *scores, float *restrict out) {
    switch (width) {
    case 32: attend_to(query, keys, values, count, place, 32, scale, scores, out); break;
    case 64: attend_to(query, keys, values, count, place, 64, scale, scores, out); break;
    default: attend_to(query, keys, values, count, place, width, scale, scores, out);
    }
}

static void bend(float *x, int64_t count, int kind) {
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
    return (int64_t)rows * (3 * m->width + wide) + longest;
}

void decode_step(const struct model *m, const struct step *s) {
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
                int64_t sentence = row / s->group, from = sentence * s->sentence + h * s->memory_head;
                attend(inner + row * width + h * head, remembered[MEMORY_KEYS] + from, remembered[MEMORY_VALUES] + from,
                       s->source_lengths[sentence], s->memory_place, head, m->scale, scores, mixed + row * width + h * head);
            }
        linear(m->multiply, mixed, rows, width, w[CROSS_OUT], w[CROSS_OUT_BIAS], width, x, 1);
        if (!m->pre) normalise(x, rows, width, w[CROSS_NORM], w[CROSS_SHIFT], m->epsilon, x);

        if (!m->features) continue;
        if (m->pre) normalise(x, rows, width, w[BEND_NORM], w[BEND_SHIFT], m->epsilon, normed);
        linear(m->multiply, given, rows, width, w[BEND_IN], w[BEND_IN_BIAS], m->features, inner, 0);
        bend(inner, (int64_t)rows * m->features, m->bends);
        linear(m->multiply, inner, rows, m->features, w[BEND_OUT], w[BEND_OUT_BIAS], width, x, 1);
        if (!m->pre) normalise(x, rows, width, w[BEND_NORM], w[BEND_SHIFT], m->epsilon, x);
    }
    if (m->final_norm) normalise(x, rows, width, m->final_norm, m->final_shift, m->epsilon, x);
    linear(m->multiply, x, rows, width, m->project, m->project_bias, m->vocabulary, s->logits, 0);
}

void log_sums(const float *logits, int64_t rows, int64_t columns, int64_t stride, float *sums) {
    for (int64_t row = 0; row < rows; row++) {
        const float *x = logits + row * stride;
        float top = -INFINITY, sum = 0.0f;
        #pragma omp simd reduction(max : top)
        for (int64_t i = 0; i < columns; i++) top = x[i] > top ? x[i] : top;
        if (top > -INFINITY) {
            #pragma omp simd reduction(+ : sum)
            for (int64_t i = 0; i < columns; i++) sum += exponential(x[i] - top);
            sums[row] = top + logf(sum);
        } else
            sums[row] = top;
    }
}

#define BLOCK 64 /* columns that are passed over at once where none is large enough */

/* values and tokens (rows, count), best first; of equal ones the first. count ≤ columns. */
void likeliest(const float *logits, int64_t rows, int64_t columns, int64_t stride, int count, float *values, int64_t *tokens) {
    for (int64_t row = 0; row < rows; row++, values += count, tokens += count) {
        const float *x = logits + row * stride;
        int found = 0;
        for (int64_t first = 0; first < columns; first += BLOCK) {
            int64_t last = first + BLOCK < columns ? first + BLOCK : columns;
            if (found == count) {
                float top = -INFINITY;
                #pragma omp simd reduction(max : top)
                for (int64_t i = first; i < last; i++) top = x[i] > top ? x[i] : top;
                if (!(top > values[count - 1])) continue;
            }
            for (int64_t i = first; i < last; i++) {
                if (found == count && !(x[i] > values[count - 1])) continue;
                int place = found < count ? found++ : count - 1;
                for (; place && x[i] > values[place - 1]; place--) {
                    values[place] = values[place - 1];
                    tokens[place] = tokens[place - 1];
                }
                values[place] = x[i];
                tokens[place] = i;
            }
        }
    }
}

/* Writes `tokens` (rows,) and then the likeliest after each, until a row chooses `end` or `most` are chosen: at least one.
   step->tokens and step->lengths are `tokens` and `lengths` (rows,), which go on; words and chances are (rows, most). Tokens
   `never` are not chosen. Returns how many were. */
int write_on(const struct model *m, const struct step *s, int most, int64_t end, const int64_t *never, int nevers,
             int64_t *tokens, int64_t *lengths, int64_t *words, float *chances) {
    const int64_t columns = m->vocabulary;
    for (int count = 0; count < most; count++) {
        int ended = 0;
        decode_step(m, s);
        for (int64_t row = 0; row < s->rows; row++) {
            float *logits = s->logits + row * columns, sum, value;
            log_sums(logits, 1, columns, columns, &sum);
            for (int i = 0; i < nevers; i++) logits[never[i]] = -INFINITY;
            likeliest(logits, 1, columns, columns, 1, &value, &tokens[row]);
            words[row * most + count] = tokens[row];
            chances[row * most + count] = value - sum;
            lengths[row]++;
            ended |= tokens[row] == end;
        }
        if (ended) return count + 1;
    }
    return most;
}

/* In each of count arrays, row targets[i] becomes what row sources[i] was: `used` floats of each of `heads` parts.
   Returns 0, or 1 where there is no memory for the rows on their way. */
int move_rows(float *const *arrays, int count, const int64_t *targets, const int64_t *sources, int64_t moved, int64_t row, int heads,
              int64_t head, int64_t used) {
    int64_t size = used * sizeof(float);
    char *between = malloc(moved * heads * size);
    if (!between) return 1;
    for (int array = 0; array < count; array++) {
        char *to = between;
        for (int64_t i = 0; i < moved; i++)
            for (int h = 0; h < heads; h++, to += size) memcpy(to, arrays[array] + sources[i] * row + h * head, size);
        to = between;
        for (int64_t i = 0; i < moved; i++)
            for (int h = 0; h < heads; h++, to += size) memcpy(arrays[array] + targets[i] * row + h * head, to, size);
    }
    free(between);
    return 0;
}
