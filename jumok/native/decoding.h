/* What decoding.c, encoding.c, packed.c, products.c, ranking.c and searching.c share: a decoder, a step of its hypotheses, and each other's functions. */

#include "vectors.h"

#define INTERNAL __attribute__((visibility("hidden"))) /* for the other files of this library only */

/* sgemm in Fortran's convention, as torch brings it along */
typedef void (*product)(const char *, const char *, const int *, const int *, const int *, const float *, const float *,
                        const int *, const float *, const int *, const float *, float *, const int *);

/* How the matrices of a decoder are stored: row by row, or packed (packed.c), which takes numbers twice as fast. */
enum { PLAIN, PACKED, PACKED_NARROW };

enum { KEYS, VALUES, MEMORY_KEYS, MEMORY_VALUES, REMEMBERED };

/* A layer's arrays, in the order of native_step.py. */
enum {
    SELF_NORM, SELF_SHIFT, SELF_IN, SELF_IN_BIAS, SELF_OUT, SELF_OUT_BIAS,
    CROSS_NORM, CROSS_SHIFT, CROSS_IN, CROSS_IN_BIAS, CROSS_OUT, CROSS_OUT_BIAS,
    FEEDFORWARD_NORM, FEEDFORWARD_SHIFT, FEEDFORWARD_IN, FEEDFORWARD_IN_BIAS, FEEDFORWARD_OUT, FEEDFORWARD_OUT_BIAS,
    WEIGHTS
};

struct decoder {
    product multiply;
    int layers, width, heads, features, vocabulary, activation, pre;
    int crosses;  /* whether layers attend to a memory: else they are those of a stack that only looks at itself */
    int packing;  /* PLAIN, PACKED or PACKED_NARROW, of all matrices but the table */
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

INTERNAL void feed_forward(const struct decoder *d, const float *const *w, float *x, int rows, float *normed, float *inner, void *room);
int64_t work_space(const struct decoder *d, int hypotheses, int64_t longest);

#define PORTION 512 /* columns of a product at once: they are still in the cache for whatever is done with them next */

/* One query of one head over count positions, which are `place` floats apart; scores has room for seven more. */
INTERNAL void attend(const float *query, const float *keys, const float *values, int64_t count, int64_t place, int width, float scale,
                     float *scores, float *restrict out);
INTERNAL void normalise(const float *x, int rows, int width, const float *scale, const float *shift, float epsilon, float *out);

/* out (rows, outside) = [out +] x (rows, inside) · weight (outside, inside)ᵀ + bias; room is for prepared rows */
INTERNAL void linear(const struct decoder *d, const float *x, int rows, int inside, const float *weight, const float *bias, int outside,
                     float *out, int add, void *room);
/* out (rows, count) = x · the projection's columns from `first` on, a multiple of PORTION, count ≤ PORTION; x is prepared */
INTERNAL void portion(const struct decoder *d, const void *x, int rows, int first, int count, float *out);

/* packed.c; kind is that of the weights, and x is prepared for it */
const void *prepared(int kind, const float *x, int rows, int inside, void *room);
void multiply_packed(int kind, const void *x, int rows, int inside, const void *weight, const float *bias, int outside, float *out,
                              int add);

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
