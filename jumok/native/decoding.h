/* What decoding.c, products.c, ranking.c and searching.c share: a decoder, a step of its hypotheses, and each other's functions. */

#include "vectors.h"

#define INTERNAL __attribute__((visibility("hidden"))) /* for the other files of this library only */

/* sgemm in Fortran's convention, as torch brings it along */
typedef void (*product)(const char *, const char *, const int *, const int *, const int *, const float *, const float *,
                        const int *, const float *, const int *, const float *, float *, const int *);

enum { KEYS, VALUES, MEMORY_KEYS, MEMORY_VALUES, REMEMBERED };

struct decoder {
    product multiply;
    int layers, width, heads, features, vocabulary, activation, pre;
    int crosses;  /* whether layers attend to a memory: else they are those of a stack that only looks at itself */
    int64_t tokens, places;  /* rows of the table and of the positions */
    float scale, epsilon, embedding_scale;
    const float *table, *positions;  /* positions may be null */
    const float *final_norm, *final_shift, *project, *project_bias;  /* the final norm may be null */
    const float *const *weights;  /* WEIGHTS for each layer */
};

struct step {
    int hypotheses, group;  /* group neighbouring hypotheses share a sentence */
    float *const *remembered;  /* REMEMBERED for each layer */
    int64_t row, head;  /* key-value cache: floats from a hypothesis to the next and from a head to the next */
    int64_t longest;  /* tokens that a hypothesis may have, those of this step included: the key-value cache has room for them */
    int64_t memory_row, memory_head, memory_place;  /* memory of the sources: from a sentence, a head, a position to the next */
    int64_t sentences, source_longest;  /* rows of memory, and positions of each */
    const int64_t *next, *length;  /* of each hypothesis: the token to read, how many tokens are in the key-value cache */
    const float *embedded;  /* (hypotheses, width) where tokens come embedded; else null, and next is read */
    const int64_t *source_length;  /* of each row of memory */
    const int64_t *sentence;  /* of each group: its row of memory */
    float *space;  /* work_space() floats */
    float *logits;  /* (hypotheses, vocabulary) */
};

/* Runs the layers for one new token of every hypothesis; returns the features (hypotheses, width), which are in step->space, or
   null where a token, a length or a sentence is out of range. */
INTERNAL const float *decode_layers(const struct decoder *d, const struct step *s);

#define PORTION 512 /* columns of a product at once: they are still in the cache for whatever is done with them next */

/* out (rows, outside) = [out +] x (rows, inside) · weight (outside, inside)ᵀ + bias */
INTERNAL void linear(product multiply, const float *x, int rows, int inside, const float *weight, const float *bias, int outside,
                     float *out, int add);
/* out (rows, outside) = x · weightᵀ, outside ≤ PORTION */
INTERNAL void portion(product multiply, const float *x, int rows, int inside, const float *weight, int outside, float *out);

/* The largest few and the log-sum of a row of logits that comes in portions. */
struct ranking {
    float *values;  /* the largest few, best first; of equal ones the first */
    int64_t *columns;
    int found;
    float top, sum;  /* Σ exp(x − top) */
};
INTERNAL void rank_nothing(struct ranking *r);
INTERNAL void rank(struct ranking *r, int count, float *x, int64_t first, int columns, const float *bias, const int64_t *never,
                   int never_count);
INTERNAL float log_sum(const struct ranking *r);
