/* A step of a recurrent cell and its gradient, while a model learns in bf16 (nn/narrow_cells.py).

   narrow_lstm_step, narrow_lstm_back   gates and their gradients in bf16, states and cells in float32
   narrow_gru_step, narrow_gru_back     the same of a GRU

   `given` are the gates (rows, 4 or 3 · width) of a step's inputs, `back` those of the state before, both biases included. What the
   gradient needs stays in `kept` (rows, 4 · width). torch computes the same in fp32 (nn/recurrent.py: lstm_step, gru_step). */

#include "narrow.h"
#include "vectors.h"

static inline float sigmoid(float x) { return 1.0f / (1.0f + exponential(-x)); }
static inline float tangent(float x) { return 2.0f * sigmoid(2.0f * x) - 1.0f; } /* the hyperbolic one */

/* kept: entry, keep, candidate, output. */
void narrow_lstm_step(const narrow *given, const narrow *back, const float *cell, int64_t rows, int64_t width,
                      narrow *kept, float *new_cell, float *state, narrow *half_state) {
    for (int64_t row = 0; row < rows; row++) {
        const narrow *restrict from = given + 4 * row * width, *restrict too = back + 4 * row * width;
        const float *restrict old = cell + row * width;
        narrow *restrict into = kept + 4 * row * width, *restrict half = half_state + row * width;
        float *restrict fresh = new_cell + row * width, *restrict out = state + row * width;
        #pragma omp simd
        for (int64_t i = 0; i < width; i++) {
            const float entry = sigmoid(widened(from[i]) + widened(too[i]));
            const float keep = sigmoid(widened(from[width + i]) + widened(too[width + i]));
            const float candidate = tangent(widened(from[2 * width + i]) + widened(too[2 * width + i]));
            const float output = sigmoid(widened(from[3 * width + i]) + widened(too[3 * width + i]));
            fresh[i] = keep * old[i] + entry * candidate;
            out[i] = output * tangent(fresh[i]);
            half[i] = narrowed(out[i]);
            into[i] = narrowed(entry);
            into[width + i] = narrowed(keep);
            into[2 * width + i] = narrowed(candidate);
            into[3 * width + i] = narrowed(output);
        }
    }
}

/* to_state is the gradient of the state as an output, later that through the next step (both may be null), to_cell that of the cell,
   which becomes that of the cell before. */
void narrow_lstm_back(const narrow *kept, const float *cell, const float *new_cell, const float *to_state, const narrow *later,
                      int64_t rows, int64_t width, float *to_cell, narrow *to_gates) {
    for (int64_t row = 0; row < rows; row++) {
        const narrow *restrict from = kept + 4 * row * width;
        const float *restrict old = cell + row * width, *restrict fresh = new_cell + row * width;
        const float *restrict outward = to_state ? to_state + row * width : NULL;
        const narrow *restrict onward = later ? later + row * width : NULL;
        float *restrict carried = to_cell + row * width;
        narrow *restrict into = to_gates + 4 * row * width;
        #pragma omp simd
        for (int64_t i = 0; i < width; i++) {
            const float entry = widened(from[i]), keep = widened(from[width + i]);
            const float candidate = widened(from[2 * width + i]), output = widened(from[3 * width + i]);
            const float total = (outward ? outward[i] : 0.0f) + (onward ? widened(onward[i]) : 0.0f);
            const float bent = tangent(fresh[i]), inner = carried[i] + total * output * (1.0f - bent * bent);
            into[i] = narrowed(inner * candidate * entry * (1.0f - entry));
            into[width + i] = narrowed(inner * old[i] * keep * (1.0f - keep));
            into[2 * width + i] = narrowed(inner * entry * (1.0f - candidate * candidate));
            into[3 * width + i] = narrowed(total * bent * output * (1.0f - output));
            carried[i] = inner * keep;
        }
    }
}

/* kept: reset, update, candidate, and what the state before gives the candidate. */
void narrow_gru_step(const narrow *given, const narrow *back, const float *state, int64_t rows, int64_t width,
                     narrow *kept, float *new_state, narrow *half_state) {
    for (int64_t row = 0; row < rows; row++) {
        const narrow *restrict from = given + 3 * row * width, *restrict too = back + 3 * row * width;
        const float *restrict old = state + row * width;
        narrow *restrict into = kept + 4 * row * width, *restrict half = half_state + row * width;
        float *restrict out = new_state + row * width;
        #pragma omp simd
        for (int64_t i = 0; i < width; i++) {
            const float reset = sigmoid(widened(from[i]) + widened(too[i]));
            const float update = sigmoid(widened(from[width + i]) + widened(too[width + i]));
            const float candidate = tangent(widened(from[2 * width + i]) + reset * widened(too[2 * width + i]));
            out[i] = candidate + update * (old[i] - candidate);
            half[i] = narrowed(out[i]);
            into[i] = narrowed(reset);
            into[width + i] = narrowed(update);
            into[2 * width + i] = narrowed(candidate);
            into[3 * width + i] = too[2 * width + i];
        }
    }
}

/* to_before is the gradient of the state that does not pass a product, which becomes that of the state before. */
void narrow_gru_back(const narrow *kept, const float *state, const float *to_state, const narrow *later, int64_t rows,
                     int64_t width, float *to_before, narrow *to_given, narrow *to_back) {
    for (int64_t row = 0; row < rows; row++) {
        const narrow *restrict from = kept + 4 * row * width;
        const float *restrict old = state + row * width;
        const float *restrict outward = to_state ? to_state + row * width : NULL;
        const narrow *restrict onward = later ? later + row * width : NULL;
        float *restrict carried = to_before + row * width;
        narrow *restrict into = to_given + 3 * row * width, *restrict through = to_back + 3 * row * width;
        #pragma omp simd
        for (int64_t i = 0; i < width; i++) {
            const float reset = widened(from[i]), update = widened(from[width + i]);
            const float candidate = widened(from[2 * width + i]), known = widened(from[3 * width + i]);
            const float total = carried[i] + (outward ? outward[i] : 0.0f) + (onward ? widened(onward[i]) : 0.0f);
            const float inner = total * (1.0f - update) * (1.0f - candidate * candidate);
            const narrow of_reset = narrowed(inner * known * reset * (1.0f - reset));
            const narrow of_update = narrowed(total * (old[i] - candidate) * update * (1.0f - update));
            into[i] = through[i] = of_reset;
            into[width + i] = through[width + i] = of_update;
            into[2 * width + i] = narrowed(inner);
            through[2 * width + i] = narrowed(inner * reset);
            carried[i] = total * update;
        }
    }
}
