/* Linear layers of a few rows: most of a small decoder's step.

   A few rows are bound by reading the weights, and a call of sgemm costs more than it saves. Many rows go to the sgemm that torch
   brings along; it wants Fortran's order, in which a row-major (rows, width) is a column-major (width, rows). With AVX-512 they stay
   here: MKL's sgemm does not use it on AMD's processors, and takes twice as long (docs/log.md). */

#include "decoding.h"

#define FEW 16

/* Sums of four outputs for as many rows stay in registers, beside four weights and a row. */
#if EIGHTS == 32
#define TOGETHER 5
#else
#define TOGETHER 2
#endif

/* Four outputs of so many rows, (rows, 4), over the eights of a row: a weight is read once. */
static inline __attribute__((always_inline)) void four_outputs(const int rows, const float *x, int inside,
                                                               const float *const weights[4], float *sums) {
    eight parts[TOGETHER][4] = {0};
    for (int i = 0; i + 8 <= inside; i += 8) {
        eight a = load(weights[0] + i), b = load(weights[1] + i), c = load(weights[2] + i), d = load(weights[3] + i);
        KEEP(a);
        KEEP(b);
        KEEP(c);
        KEEP(d);
        #pragma GCC unroll 8
        for (int row = 0; row < rows; row++) {
            eight from = load(x + (int64_t)row * inside + i);
            KEEP(from);
            parts[row][0] += from * a;
            parts[row][1] += from * b;
            parts[row][2] += from * c;
            parts[row][3] += from * d;
        }
    }
    #pragma GCC unroll 8
    for (int row = 0; row < rows; row++)
        add_up(parts[row][0], parts[row][1], parts[row][2], parts[row][3], sums + 4 * row);
}

/* The rest of a row after its eights: a function of its own, since it is rare and five copies of it take long to compile. */
static __attribute__((noinline)) void add_rest(int rows, const float *x, int inside, const float *const weights[4], float *sums) {
    for (int row = 0; row < rows; row++)
        for (int i = inside - inside % 8; i < inside; i++)
            for (int k = 0; k < 4; k++) sums[4 * row + k] += x[(int64_t)row * inside + i] * weights[k][i];
}

static void few_rows(const float *x, int rows, int inside, const float *weight, const float *bias, int outside, float *out, int add) {
    const int groups = (rows + TOGETHER - 1) / TOGETHER, together = (rows + groups - 1) / groups;
    for (int o = 0; o < outside; o += 4) {
        const int count = outside - o < 4 ? outside - o : 4;
        const float *weights[4];
        for (int k = 0; k < 4; k++) weights[k] = weight + (int64_t)(o + (k < count ? k : 0)) * inside;
        for (int first = 0; first < rows; first += together) {
            const int here = rows - first < together ? rows - first : together;
            const float *from = x + (int64_t)first * inside;
            float sums[4 * TOGETHER] = {0};
            switch (here) {
            case 1: four_outputs(1, from, inside, weights, sums); break;
            case 2: four_outputs(2, from, inside, weights, sums); break;
#if TOGETHER > 2
            case 3: four_outputs(3, from, inside, weights, sums); break;
            case 4: four_outputs(4, from, inside, weights, sums); break;
            case 5: four_outputs(5, from, inside, weights, sums); break;
#endif
            }
            if (inside % 8) add_rest(here, from, inside, weights, sums);
            for (int row = 0; row < here; row++) {
                float *into = out + (int64_t)(first + row) * outside + o;
                for (int k = 0; k < count; k++)
                    into[k] = (add ? into[k] : 0.0f) + sums[4 * row + k] + (bias ? bias[o + k] : 0.0f);
            }
        }
    }
}

#if HAS_AVX512

typedef float sixteen __attribute__((vector_size(64)));

#define LANES 32    /* rows side by side in two vectors */
#define OUTPUTS 12  /* whose sums for all lanes stay in 24 of the 32 registers */
#define DEPTH 256   /* columns of x at once: with their lanes they fit into the first cache */

/* sums (OUTPUTS, LANES) of x, which is turned: (depth, LANES). Weights are read where they are, one number at a time for all lanes. */
static void sums_of_lanes(const float *turned, int depth, const float *const weights[OUTPUTS], float *sums) {
    sixteen parts[OUTPUTS][2] = {0};
    for (int i = 0; i < depth; i++) {
        sixteen low, high;
        memcpy(&low, turned + LANES * i, sizeof low);
        memcpy(&high, turned + LANES * i + 16, sizeof high);
        #pragma GCC unroll 12
        for (int k = 0; k < OUTPUTS; k++) {
            float weight = weights[k][i];
            parts[k][0] += low * weight;
            parts[k][1] += high * weight;
        }
    }
    memcpy(sums, parts, sizeof parts);
}

static void many_rows(const float *x, int rows, int inside, const float *weight, const float *bias, int outside, float *out, int add) {
    float turned[DEPTH * LANES] __attribute__((aligned(64))), sums[OUTPUTS * LANES] __attribute__((aligned(64)));
    for (int first = 0; first < rows; first += LANES) {
        const int lanes = rows - first < LANES ? rows - first : LANES;
        for (int begin = 0; begin < inside; begin += DEPTH) {
            const int depth = inside - begin < DEPTH ? inside - begin : DEPTH, adds = add || begin;
            for (int lane = 0; lane < LANES; lane++) {
                const float *from = x + (int64_t)(first + (lane < lanes ? lane : 0)) * inside + begin;
                for (int i = 0; i < depth; i++) turned[LANES * i + lane] = from[i];
            }
            for (int o = 0; o < outside; o += OUTPUTS) {
                const int count = outside - o < OUTPUTS ? outside - o : OUTPUTS;
                const float *weights[OUTPUTS];
                float shift[OUTPUTS];
                for (int k = 0; k < OUTPUTS; k++) {
                    weights[k] = weight + (int64_t)(o + (k < count ? k : 0)) * inside + begin;
                    shift[k] = bias && !begin && k < count ? bias[o + k] : 0.0f;
                }
                sums_of_lanes(turned, depth, weights, sums);
                for (int lane = 0; lane < lanes; lane++) {
                    float *into = out + (int64_t)(first + lane) * outside + o;
                    for (int k = 0; k < count; k++) into[k] = (adds ? into[k] : 0.0f) + sums[LANES * k + lane] + shift[k];
                }
            }
        }
    }
}

#endif

static void plain(product multiply, const float *x, int rows, int inside, const float *weight, const float *bias, int outside, float *out,
                  int add) {
    if (rows <= FEW) {
        few_rows(x, rows, inside, weight, bias, outside, out, add);
        return;
    }
#if HAS_AVX512
    (void)multiply;
    many_rows(x, rows, inside, weight, bias, outside, out, add);
#else
    const float one = 1.0f;
    for (int first = 0; first < outside; first += PORTION) {
        int count = outside - first < PORTION ? outside - first : PORTION;
        for (int64_t row = 0; row < rows; row++) {
            float *into = out + row * outside + first;
            for (int i = 0; i < count; i++) into[i] = (add ? into[i] : 0.0f) + (bias ? bias[first + i] : 0.0f);
        }
        multiply("T", "N", &count, &rows, &inside, &one, weight + (int64_t)first * inside, &inside, x, &inside, &one,
                 out + first, &outside);
    }
#endif
}

void portion(const struct decoder *d, const void *x, int rows, int first, int count, float *out) {
    const int64_t inside = d->packing == PACKED_NARROW ? d->width + (d->width & 1) : d->width;
    const char *weight = (const char *)d->project + first * inside * (d->packing == PACKED_NARROW ? sizeof(uint16_t) : sizeof(float));
    if (d->packing)
        multiply_packed(d->packing, x, rows, d->width, weight, NULL, count, out, 0);
    else
        plain(d->multiply, x, rows, d->width, (const float *)weight, NULL, count, out, 0);
}

void linear(const struct decoder *d, const float *x, int rows, int inside, const float *weight, const float *bias, int outside, float *out,
            int add, void *room) {
    if (d->packing)
        multiply_packed(d->packing, prepared(d->packing, x, rows, inside, room), rows, inside, weight, bias, outside, out, add);
    else
        plain(d->multiply, x, rows, inside, weight, bias, outside, out, add);
}
