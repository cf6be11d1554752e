/* What writing.c, products.c, ranking.c and searching.c have in common: a decoder, its rows, and each other. */

#include "vectors.h"

#define AMONG_US __attribute__((visibility("hidden"))) /* for the other files of this library only */

typedef void (*product)(const char *, const char *, const int *, const int *, const int *, const float *, const float *,
                        const int *, const float *, const int *, const float *, float *, const int *);

enum { KEYS, VALUES, MEMORY_KEYS, MEMORY_VALUES, REMEMBERED };

struct model {
    product multiply;
    int layers, width, heads, features, vocabulary, activation, pre;
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
    const int64_t *place;  /* where the memory of each group is */
    float *space;  /* work_space() floats */
    float *logits;  /* (rows, vocabulary) */
};

/* The layers for one new token of every row: what logits are a product of, (rows, width), in step->space. */
AMONG_US const float *decode_layers(const struct model *m, const struct step *s);

#define PORTION 512 /* outputs of a product at once: they are still in the cache when something else is done with them */

/* out (rows, outside) = [out +] x (rows, inside) · weight (outside, inside)ᵀ + bias */
AMONG_US void linear(product multiply, const float *x, int rows, int inside, const float *weight, const float *bias, int outside,
                     float *out, int add);
/* out (rows, outside) = x · weightᵀ, outside ≤ PORTION */
AMONG_US void portion(product multiply, const float *x, int rows, int inside, const float *weight, int outside, float *out);

/* What is known of a row of logits that comes in portions. */
struct ranking {
    float *values;  /* the largest few, best first; of equal ones the first */
    int64_t *columns;
    int found;
    float top, sum;  /* Σ exp(x − top) */
};
AMONG_US void rank_nothing(struct ranking *r);
AMONG_US void rank(struct ranking *r, int count, float *x, int64_t first, int columns, const float *bias, const int64_t *never, int nevers);
AMONG_US float log_sum(const struct ranking *r);
