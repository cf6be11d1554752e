/* Products with weights that are packed: what a row of outputs needs stands side by side, so that each is read once, in order.

   weight (outside, inside) → panels of sixteen outputs, four panels side by side, as fp32 or as pairs of bf16
   packed_size      bytes that a weight takes
   pack             packs one
   prepared         rows as a product takes them: bf16 where the weights are
   multiply_packed  rows · weightᵀ + bias, sums in fp32

   A row's sums are added up in the same order however many rows there are: no answer depends on its neighbours. Needs AVX-512,
   and for bf16 its products of pairs (VDPBF16PS); elsewhere nothing is packed. */

#include "decoding.h"
#include "narrow.h"

#define PANEL 16  /* outputs in a vector */
#define PANELS 4  /* side by side */
#define GROUP (PANEL * PANELS)
#define ROWS 6    /* whose sums for all panels stay in registers, beside the weights and a number of x */

#if HAS_AVX512

typedef float sixteen __attribute__((vector_size(64)));
typedef int32_t pairs __attribute__((vector_size(64)));

/* The kinds of packed weights that this processor multiplies. */
int packings(void) { return 1 << PACKED | HAS_NARROW_PRODUCTS << PACKED_NARROW; }

static inline int64_t even(int64_t count) { return count + (count & 1); }
static inline int64_t in_panels(int64_t outside) { return (outside + PANEL - 1) / PANEL * PANEL; }

int64_t packed_size(int kind, int64_t outside, int64_t inside) {
    return in_panels(outside) * (kind == PACKED ? inside * sizeof(float) : even(inside) * sizeof(narrow));
}

void pack(int kind, const float *weight, int64_t outside, int64_t inside, void *packed) {
    const int each = kind == PACKED ? 1 : 2; /* numbers of an output that stand side by side */
    float *wide = packed;
    narrow *halves = packed;
    for (int64_t first = 0; first < outside; first += GROUP) {
        const int64_t rest = in_panels(outside - first), columns = rest < GROUP ? rest : GROUP;
        for (int64_t i = 0; i < inside; i += each)
            for (int64_t o = first; o < first + columns; o++)
                for (int j = 0; j < each; j++) {
                    const float number = o < outside && i + j < inside ? weight[o * inside + i + j] : 0.0f;
                    if (kind == PACKED) *wide++ = number;
                    else *halves++ = narrowed(number);
                }
    }
}

const void *prepared(int kind, const float *x, int rows, int inside, void *room) {
    if (kind != PACKED_NARROW) return x;
    narrow *out = room;
    const int64_t stride = even(inside);
    for (int64_t row = 0; row < rows; row++) {
        narrow_row(x + row * inside, inside, out + row * stride);
        if (stride > inside) out[row * stride + inside] = 0;
    }
    return room;
}

/* sums (rows, panels · PANEL) of rows of x, which are `stride` apart, times panels, of which `side` stand side by side; those of the next
   group are `further` away. Always inlined: rows and panels are known then. */
static inline __attribute__((always_inline)) void sum_wide(const int rows, const int panels, const float *x, int64_t stride, int64_t inside,
                                                           const float *weight, const int side, int64_t further, float *out) {
    sixteen sums[ROWS][2 * PANELS] = {0};
    for (int64_t i = 0; i < inside; i++) {
        sixteen weights[2 * PANELS];
        #pragma GCC unroll 8
        for (int p = 0; p < panels; p++) {
            memcpy(weights + p, weight + p / PANELS * further + (i * side + p % PANELS) * PANEL, sizeof *weights);
            __asm__("" : "+v"(weights[p])); /* kept in its register */
        }
        #pragma GCC unroll 6
        for (int row = 0; row < rows; row++) {
            sixteen number = (sixteen){0} + x[row * stride + i];
            __asm__("" : "+v"(number));
            #pragma GCC unroll 8
            for (int p = 0; p < panels; p++) sums[row][p] += weights[p] * number;
        }
    }
    #pragma GCC unroll 6
    for (int row = 0; row < rows; row++)
        #pragma GCC unroll 8
        for (int p = 0; p < panels; p++) memcpy(out + (row * panels + p) * PANEL, &sums[row][p], sizeof(sixteen));
}

#if HAS_NARROW_PRODUCTS
static inline __attribute__((always_inline)) void sum_narrow(const int rows, const int panels, const narrow *x, int64_t stride, int64_t inside,
                                                             const narrow *weight, const int side, int64_t further, float *out) {
    sixteen sums[ROWS][2 * PANELS] = {0};
    for (int64_t i = 0; i < inside; i += 2) {
        pairs weights[2 * PANELS];
        #pragma GCC unroll 8
        for (int p = 0; p < panels; p++)
            memcpy(weights + p, weight + p / PANELS * further + (i * side + p % PANELS * 2) * PANEL, sizeof *weights);
        #pragma GCC unroll 6
        for (int row = 0; row < rows; row++) {
            int32_t two;
            memcpy(&two, x + row * stride + i, sizeof two);
            pairs numbers = (pairs){0} + two;
            #pragma GCC unroll 8
            for (int p = 0; p < panels; p++) __asm__("vdpbf16ps %2, %1, %0" : "+v"(sums[row][p]) : "v"(weights[p]), "v"(numbers));
        }
    }
    #pragma GCC unroll 6
    for (int row = 0; row < rows; row++)
        #pragma GCC unroll 8
        for (int p = 0; p < panels; p++) memcpy(out + (row * panels + p) * PANEL, &sums[row][p], sizeof(sixteen));
}
#endif

struct product_of { /* what stays the same in all blocks of a product */
    int kind, inside, outside, add;
    const void *x, *weight;
    const float *bias;
    float *out;
};

/* Adds what belongs to the sums (rows, columns) of rows from `row` and columns from `first` on. */
static __attribute__((noinline)) void write_sums(const struct product_of *q, const float *sums, int rows, int columns, int64_t row, int64_t first) {
    const int64_t count = q->outside - first < columns ? q->outside - first : columns;
    for (int r = 0; r < rows; r++, sums += columns) {
        float *restrict into = q->out + (row + r) * q->outside + first;
        const float *bias = q->bias ? q->bias + first : NULL;
        if (q->add && bias) {
            #pragma omp simd
            for (int64_t i = 0; i < count; i++) into[i] += sums[i] + bias[i];
        } else if (q->add) {
            #pragma omp simd
            for (int64_t i = 0; i < count; i++) into[i] += sums[i];
        } else if (bias) {
            #pragma omp simd
            for (int64_t i = 0; i < count; i++) into[i] = sums[i] + bias[i];
        } else
            memcpy(into, sums, count * sizeof(float));
    }
}

/* Rows from `row` on times panels from column `first` on, `side` of which stand side by side. */
static inline __attribute__((always_inline)) void block(const struct product_of *q, const int rows, const int panels, const int side, int64_t row,
                                                        int64_t first) {
    float sums[ROWS * GROUP] __attribute__((aligned(64)));
    const int64_t start = first / GROUP * GROUP;
    if (q->kind == PACKED) {
        const int64_t inside = q->inside;
        sum_wide(rows, panels, (const float *)q->x + row * inside, inside, inside, (const float *)q->weight + start * inside + first - start,
                 side, GROUP * inside, sums);
    }
#if HAS_NARROW_PRODUCTS
    else {
        const int64_t inside = even(q->inside);
        sum_narrow(rows, panels, (const narrow *)q->x + row * inside, inside, inside,
                   (const narrow *)q->weight + start * inside + 2 * (first - start), side, GROUP * inside, sums);
    }
#endif
    write_sums(q, sums, rows, panels * PANEL, row, first);
}

#define BLOCK_OF(count) \
    case count: block(q, count, PANELS, PANELS, row, first); break

static void blocks(const struct product_of *q, int rows, int64_t row, int64_t first) {
    switch (rows) {
        BLOCK_OF(1);
        BLOCK_OF(2);
        BLOCK_OF(3);
        BLOCK_OF(4);
        BLOCK_OF(5);
        BLOCK_OF(6);
    }
}

/* A panel of a group that has fewer than four, for one row. */
static void panel_of_rest(const struct product_of *q, int side, int64_t row, int64_t first) { block(q, 1, 1, side, row, first); }

static void two_groups(const struct product_of *q, int64_t first) { block(q, 1, 2 * PANELS, PANELS, 0, first); }

void multiply_packed(int kind, const void *x, int rows, int inside, const void *weight, const float *bias, int outside, float *out, int add) {
    const struct product_of q = {kind, inside, outside, add, x, weight, bias, out};
    const int turns = (rows + ROWS - 1) / ROWS, each = turns ? (rows + turns - 1) / turns : 1;
    const int64_t whole = outside / GROUP * GROUP;
    int64_t first = 0;
    if (rows == 1) /* eight sums at once hide how long each addition takes */
        for (; first + 2 * GROUP <= whole; first += 2 * GROUP) two_groups(&q, first);
    for (; first < whole; first += GROUP)
        for (int row = 0; row < rows; row += each) blocks(&q, rows - row < each ? rows - row : each, row, first);
    const int side = (int)(in_panels(outside - whole) / PANEL);
    for (; first < outside; first += PANEL)
        for (int row = 0; row < rows; row++) panel_of_rest(&q, side, row, first);
}

#else

int packings(void) { return 0; }

int64_t packed_size(int kind, int64_t outside, int64_t inside) {
    (void)kind, (void)outside, (void)inside;
    return 0;
}

void pack(int kind, const float *weight, int64_t outside, int64_t inside, void *packed) {
    (void)kind, (void)weight, (void)outside, (void)inside, (void)packed;
}

const void *prepared(int kind, const float *x, int rows, int inside, void *room) {
    (void)kind, (void)rows, (void)inside, (void)room;
    return x;
}

void multiply_packed(int kind, const void *x, int rows, int inside, const void *weight, const float *bias, int outside, float *out, int add) {
    (void)kind, (void)x, (void)rows, (void)inside, (void)weight, (void)bias, (void)outside, (void)out, (void)add; /* nothing is packed */
}

#endif
