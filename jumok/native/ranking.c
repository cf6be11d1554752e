/* Rows of logits: log Σ exp, and the largest few without sorting.

   rank           both, of a row that comes in portions, so that all logits are never in memory at once
   log_sums       of every row of a matrix
   likeliest      of every row of a matrix

   torch computes the same in decoding/logits.py, which they are tested against (tests/native). */

#include "decoding.h"

#define BLOCK 64 /* columns that are passed over at once where none is large enough */

void rank_nothing(struct ranking *r) {
    r->found = 0;
    r->top = -INFINITY;
    r->sum = 0.0f;
}

float log_sum(const struct ranking *r) { return r->sum > 0.0f ? r->top + logf(r->sum) : r->top; }

static inline void add_exponentials(struct ranking *r, const float *x, int count, float top) {
    float sum = 0.0f;
    if (!(top > -INFINITY)) return;
    if (top > r->top) {
        r->sum *= exponential(r->top - top);
        r->top = top;
    }
    top = r->top;
    #pragma omp simd reduction(+ : sum)
    for (int i = 0; i < count; i++) sum += exponential(x[i] - top);
    r->sum += sum;
}

static inline void keep_largest(struct ranking *r, int count, const float *x, int64_t first, int columns) {
    for (int i = 0; i < columns; i++) {
        if (r->found == count && !(x[i] > r->values[count - 1])) continue;
        int place = r->found < count ? r->found++ : count - 1;
        for (; place && x[i] > r->values[place - 1]; place--) {
            r->values[place] = r->values[place - 1];
            r->columns[place] = r->columns[place - 1];
        }
        r->values[place] = x[i];
        r->columns[place] = first + i;
    }
}

/* x (columns ≤ PORTION,) are columns first, first + 1, … of a row, to which bias is added. Columns `never` count in the sum
   and are not among the largest. */
void rank(struct ranking *r, int count, float *x, int64_t first, int columns, const float *bias, const int64_t *never, int never_count) {
    float tops[PORTION / BLOCK], top = -INFINITY;
    for (int at = 0, block = 0; at < columns; at += BLOCK, block++) {
        const int here = columns - at < BLOCK ? columns - at : BLOCK;
        #pragma omp simd
        for (int i = 0; i < here; i++) x[at + i] += bias[at + i];
        tops[block] = largest(x + at, here);
        top = tops[block] > top ? tops[block] : top;
    }
    add_exponentials(r, x, columns, top);
    for (int i = 0; i < never_count; i++)
        if (never[i] >= first && never[i] < first + columns) x[never[i] - first] = -INFINITY;
    for (int at = 0, block = 0; at < columns; at += BLOCK, block++)
        if (r->found < count || tops[block] > r->values[count - 1])
            keep_largest(r, count, x + at, first + at, columns - at < BLOCK ? columns - at : BLOCK);
}

void log_sums(const float *logits, int64_t rows, int64_t columns, int64_t stride, float *sums) {
    for (int64_t row = 0; row < rows; row++) {
        struct ranking r;
        rank_nothing(&r);
        for (int64_t first = 0; first < columns; first += PORTION) { /* as rank does, so that both round alike */
            const int here = columns - first < PORTION ? columns - first : PORTION;
            const float *x = logits + row * stride + first;
            add_exponentials(&r, x, here, largest(x, here));
        }
        sums[row] = log_sum(&r);
    }
}

/* values and tokens (rows, count), best first; of equal ones the first. count ≤ columns. */
void likeliest(const float *logits, int64_t rows, int64_t columns, int64_t stride, int count, float *values, int64_t *tokens) {
    for (int64_t row = 0; row < rows; row++) {
        const float *x = logits + row * stride;
        struct ranking r = {values + row * count, tokens + row * count, 0, 0.0f, 0.0f};
        for (int64_t first = 0; first < columns; first += BLOCK) {
            const int here = columns - first < BLOCK ? columns - first : BLOCK;
            if (r.found == count && !(largest(x + first, here) > r.values[count - 1])) continue;
            keep_largest(&r, count, x + first, first, here);
        }
    }
}
