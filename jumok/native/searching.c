/* A search by itself: steps of a decoder and the choices after them, until enough sentences have come to their end.

   search_on      the beam search of decoding/beam.py; with a width of one, the greedy one of decoding/sampling.py
   move_rows      rows of what is remembered take other rows' places

   Rows of a sentence stand side by side, `width` of them. A sentence that is done leaves at once, and the last one takes its
   place. Hypotheses that have ended are listed as done; Python makes answers of them. */

#include "writing.h"

struct search {
    int width, sentences, steps, least, nevers, room;  /* steps to take at most; sentences to stop at; tokens of a hypothesis */
    int64_t end;
    const int64_t *never, *shortlist;  /* columns never chosen; the token of each column, or none: columns are tokens */
    int64_t *sentence, *longest, *ended;  /* per sentence: where it stood at first, most tokens, hypotheses that have ended */
    int64_t *next, *length, *tokens;  /* per hypothesis: chosen last and not yet read, how many there are, all (room) */
    float *total, *log_probabilities;  /* per hypothesis: log-probability of all tokens, of each (room) */
    int done;  /* hypotheses that have ended; done_… are theirs */
    int64_t *done_sentence, *done_length, *done_tokens;
    float *done_total, *done_log_probabilities;
};

struct candidate {
    int64_t row, token;
    float log_probability, total;
};

static void copy_row(const struct model *m, const struct step *s, int64_t to, int64_t from, int64_t places) {
    const int64_t size = places * (m->width / m->heads) * sizeof(float);
    for (int layer = 0; layer < m->layers; layer++)
        for (int kind = KEYS; kind <= VALUES; kind++) {
            float *all = s->remembered[layer * REMEMBERED + kind];
            for (int h = 0; h < m->heads; h++)
                memcpy(all + to * s->row + h * s->head, all + from * s->row + h * s->head, size);
        }
}

static void copy_hypothesis(struct search *q, int64_t to, int64_t from) {
    q->length[to] = q->length[from];
    q->total[to] = q->total[from];
    q->next[to] = q->next[from];
    memcpy(q->tokens + to * q->room, q->tokens + from * q->room, q->length[from] * sizeof(int64_t));
    memcpy(q->log_probabilities + to * q->room, q->log_probabilities + from * q->room, q->length[from] * sizeof(float));
}

static void append(struct search *q, int64_t row, const struct candidate *chosen) {
    const int64_t at = row * q->room + q->length[row]++;
    q->tokens[at] = q->next[row] = chosen->token;
    q->log_probabilities[at] = chosen->log_probability;
    q->total[row] += chosen->log_probability;
}

static void end_hypothesis(struct search *q, int64_t place, const struct candidate *chosen) {
    const int64_t row = chosen->row, length = q->length[row], into = (int64_t)q->done * q->room;
    memcpy(q->done_tokens + into, q->tokens + row * q->room, length * sizeof(int64_t));
    memcpy(q->done_log_probabilities + into, q->log_probabilities + row * q->room, length * sizeof(float));
    q->done_tokens[into + length] = chosen->token;
    q->done_log_probabilities[into + length] = chosen->log_probability;
    q->done_sentence[q->done] = place;
    q->done_length[q->done] = length + 1;
    q->done_total[q->done++] = q->total[row] + chosen->log_probability;
}

/* The likeliest continuations of a sentence, best first, of rankings that are sorted already; returns how many. */
static int likeliest_of(const struct search *q, int sentence, const struct ranking *rankings, int most, int *next,
                        struct candidate *found) {
    const int64_t first = (int64_t)sentence * q->width;
    int count = 0;
    for (int row = 0; row < q->width; row++) next[row] = 0;
    for (; count < most; count++) {
        struct candidate best = {-1, 0, 0.0f, 0.0f};
        for (int row = 0; row < q->width; row++) {
            const struct ranking *r = rankings + first + row;
            if (next[row] == r->found) continue;
            const float log_probability = r->values[next[row]] - log_sum(r), total = q->total[first + row] + log_probability;
            if (best.row >= 0 && !(total > best.total)) continue;
            best = (struct candidate){first + row, r->columns[next[row]], log_probability, total};
        }
        if (best.row < 0) break;
        next[best.row - first]++;
        if (q->shortlist) best.token = q->shortlist[best.token];
        found[count] = best;
    }
    return count;
}

/* Each candidate stands where its row stood, if no better one does; those left over take free places. So no row that another comes
   from is ever overwritten. Places that none can fill repeat the first, as impossible rows. */
static void find_places(const struct candidate *beam, int count, int width, int64_t first, struct candidate *places) {
    int homeless = 0, taken[2 * width];
    for (int p = 0; p < width; p++) places[p].row = -1;
    for (int i = 0; i < count; i++) {
        struct candidate *home = places + (beam[i].row - first);
        if (home->row < 0)
            *home = beam[i];
        else
            taken[homeless++] = i;
    }
    for (int p = 0, next = 0; p < width; p++) {
        if (places[p].row >= 0) continue;
        places[p] = next < homeless ? beam[taken[next]] : beam[0];
        if (next++ >= homeless) places[p].log_probability = -INFINITY;
    }
}

/* One sentence's step; returns whether it goes on. */
static int go_on(const struct model *m, const struct step *s, struct search *q, int sentence, const struct ranking *rankings, int *next,
                 struct candidate *found) {
    const int width = q->width;
    const int64_t first = (int64_t)sentence * width, place = q->sentence[sentence];
    const int last = q->length[first] + 1 >= q->longest[sentence];
    struct candidate *beam = found + 2 * width, *places = beam + width;
    int count = likeliest_of(q, sentence, rankings, 2 * width, next, found), alive = 0, kept = 0;
    for (int i = 0; i < count; i++) {
        if (found[i].total == -INFINITY) continue;
        if (found[i].token != q->end) {
            if (kept < width) beam[kept++] = found[i];
        } else if (alive < width) {
            end_hypothesis(q, place, found + i);
            q->ended[sentence]++;
        }
        alive++;
    }
    const int full = q->ended[sentence] >= width;
    if (!kept && !q->ended[sentence]) end_hypothesis(q, place, found); /* never leave a sentence without any answer */
    if (last && !full)
        for (int i = 0; i < kept; i++) end_hypothesis(q, place, beam + i); /* as they are, unfinished */
    if (last || full || !kept) return 0;
    find_places(beam, kept, width, first, places);
    for (int p = 0; p < width; p++)
        if (places[p].row != first + p) {
            copy_row(m, s, first + p, places[p].row, s->lengths[places[p].row] + 1);
            copy_hypothesis(q, first + p, places[p].row);
        }
    for (int p = 0; p < width; p++) append(q, first + p, places + p);
    return 1;
}

/* The last sentence takes the place of one that leaves. */
static void leave(const struct model *m, const struct step *s, struct search *q, int sentence) {
    const int last = --q->sentences;
    if (sentence == last) return;
    q->sentence[sentence] = q->sentence[last];
    q->longest[sentence] = q->longest[last];
    q->ended[sentence] = q->ended[last];
    for (int row = 0; row < q->width; row++) {
        const int64_t to = (int64_t)sentence * q->width + row, from = (int64_t)last * q->width + row;
        copy_row(m, s, to, from, q->length[from]);
        copy_hypothesis(q, to, from);
    }
}

/* Projects features (rows, width) onto the vocabulary and ranks what comes, portion by portion. */
static void rank_rows(const struct model *m, const struct search *q, const float *features, int rows, int count,
                      struct ranking *rankings, float *logits) {
    for (int row = 0; row < rows; row++) rank_nothing(rankings + row);
    for (int first = 0; first < m->vocabulary; first += PORTION) {
        const int here = m->vocabulary - first < PORTION ? m->vocabulary - first : PORTION;
        portion(m->multiply, features, rows, m->width, m->project + (int64_t)first * m->width, here, logits);
        for (int row = 0; row < rows; row++)
            rank(rankings + row, count, logits + (int64_t)row * here, first, here, m->project_bias + first, q->never, q->nevers);
    }
}

/* Takes steps until `least` sentences are left or `steps` steps are taken. The step's tokens, lengths and place are the search's next,
   length and sentence.
   Returns how many steps were taken, or −1 where there is no memory. */
int search_on(const struct model *m, struct step *s, struct search *q) {
    const int width = q->width, rows = q->sentences * width;
    const int count = width == 1 ? 1 : 2 * width < m->vocabulary ? 2 * width : m->vocabulary;
    float *logits = malloc((int64_t)rows * PORTION * sizeof(float)), *values = malloc((int64_t)rows * count * sizeof(float));
    int64_t *columns = malloc((int64_t)rows * count * sizeof(int64_t));
    struct ranking *rankings = malloc(rows * sizeof(struct ranking));
    struct candidate *found = malloc(4 * width * sizeof(struct candidate));
    int *next = malloc(width * sizeof(int)), taken = -1;
    if (logits && values && columns && rankings && found && next) {
        for (int row = 0; row < rows; row++) {
            rankings[row].values = values + (int64_t)row * count;
            rankings[row].columns = columns + (int64_t)row * count;
        }
        for (taken = 0; taken < q->steps && q->sentences > q->least; taken++) {
            s->rows = q->sentences * width;
            rank_rows(m, q, decode_layers(m, s), s->rows, count, rankings, logits);
            /* From the last to the first: one that takes the place of another has had its step already. */
            for (int sentence = q->sentences - 1; sentence >= 0; sentence--)
                if (!go_on(m, s, q, sentence, rankings, next, found)) leave(m, s, q, sentence);
        }
    }
    free(logits), free(values), free(columns), free(rankings), free(found), free(next);
    return taken;
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
