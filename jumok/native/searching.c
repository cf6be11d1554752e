/* A search inside C: steps of a decoder and the choices after them, until enough sentences are done.

   search_on      the beam search of decoding/beam.py; with a width of one, the greedy choice of decoding/sampling.py
   move_rows      rows of the key-value cache replace other rows

   The hypotheses of a sentence stand side by side, `width` of them. A sentence that is done leaves at once, and the last one
   takes its place. The structures are those of nn/model.py, field by field. */

#include "decoding.h"

struct search_request {
    int width, steps, until, never_count;  /* hypotheses of each sentence; steps at most; stop when so few sentences are left */
    int64_t end;
    const int64_t *never, *shortlist;  /* columns never chosen; the token of each column, or null: columns are tokens */
};

struct open_hypotheses {
    int sentences;
    int64_t room;  /* for tokens of a hypothesis */
    int64_t *sentence;  /* of each sentence: its place when the call began, which is its row of memory */
    int64_t *next, *length;  /* of each hypothesis: the token chosen last, which the decoder has not read; how many tokens */
    float *total;  /* log-probability of all tokens */
    int64_t *tokens;  /* (room) */
    float *log_probabilities;  /* (room) of each token */
    int64_t *longest, *ended;  /* of each sentence: most tokens; how many hypotheses have ended */
};

struct ended_hypotheses {
    int count;
    int64_t *sentence, *length;
    float *total;
    int64_t *tokens;
    float *log_probabilities;
};

struct candidate {
    int64_t row, token; /* the hypothesis that it continues, and by which token */
    float log_probability, total;
};

struct search {
    const struct decoder *decoder;
    struct step *step;
    const struct search_request *request;
    struct open_hypotheses *open;
    struct ended_hypotheses *ended;
    int ranked; /* likeliest tokens of each hypothesis that are looked at */
    struct ranking *rankings; /* of each hypothesis */
    float *logits; /* (hypotheses, PORTION) */
    int *next; /* (width) place in each ranking */
    int *waiting; /* (width) places in the beam of candidates without a place */
    struct candidate *candidates, *beam, *places; /* (2 · width), (width), (width) of one sentence */
};

static void copy_cache(const struct search *q, int64_t to, int64_t from, int64_t tokens) {
    const struct decoder *d = q->decoder;
    const struct step *s = q->step;
    const int64_t size = tokens * (d->width / d->heads) * sizeof(float);
    for (int layer = 0; layer < d->layers; layer++)
        for (int kind = KEYS; kind <= VALUES; kind++) {
            float *all = s->remembered[layer * REMEMBERED + kind];
            for (int h = 0; h < d->heads; h++)
                memcpy(all + to * s->row + h * s->head, all + from * s->row + h * s->head, size);
        }
}

static void copy_hypothesis(struct open_hypotheses *o, int64_t to, int64_t from) {
    o->length[to] = o->length[from];
    o->total[to] = o->total[from];
    o->next[to] = o->next[from];
    memcpy(o->tokens + to * o->room, o->tokens + from * o->room, o->length[from] * sizeof(int64_t));
    memcpy(o->log_probabilities + to * o->room, o->log_probabilities + from * o->room, o->length[from] * sizeof(float));
}

static void append(struct open_hypotheses *o, int64_t row, const struct candidate *chosen) {
    const int64_t at = row * o->room + o->length[row]++;
    o->tokens[at] = o->next[row] = chosen->token;
    o->log_probabilities[at] = chosen->log_probability;
    o->total[row] += chosen->log_probability;
}

static void end_hypothesis(const struct search *q, int64_t sentence, const struct candidate *chosen) {
    const struct open_hypotheses *o = q->open;
    struct ended_hypotheses *e = q->ended;
    const int64_t row = chosen->row, length = o->length[row], into = (int64_t)e->count * o->room;
    memcpy(e->tokens + into, o->tokens + row * o->room, length * sizeof(int64_t));
    memcpy(e->log_probabilities + into, o->log_probabilities + row * o->room, length * sizeof(float));
    e->tokens[into + length] = chosen->token;
    e->log_probabilities[into + length] = chosen->log_probability;
    e->sentence[e->count] = sentence;
    e->length[e->count] = length + 1;
    e->total[e->count++] = o->total[row] + chosen->log_probability;
}

/* Merges the sorted rankings of a sentence's hypotheses into q->candidates, best first; returns how many there are. */
static int likeliest_of(const struct search *q, int sentence) {
    const int width = q->request->width;
    const int64_t first = (int64_t)sentence * width;
    int count = 0;
    for (int row = 0; row < width; row++) q->next[row] = 0;
    for (; count < 2 * width; count++) {
        struct candidate best = {-1, 0, 0.0f, 0.0f};
        for (int row = 0; row < width; row++) {
            const struct ranking *r = q->rankings + first + row;
            if (q->next[row] == r->found) continue;
            const float log_probability = r->values[q->next[row]] - log_sum(r), total = q->open->total[first + row] + log_probability;
            if (best.row >= 0 && !(total > best.total)) continue;
            best = (struct candidate){first + row, r->columns[q->next[row]], log_probability, total};
        }
        if (best.row < 0) break;
        q->next[best.row - first]++;
        if (q->request->shortlist) best.token = q->request->shortlist[best.token];
        q->candidates[count] = best;
    }
    return count;
}

/* Puts each candidate of the beam in the place of its hypothesis if no better one is there, the others in free places: so no
   hypothesis is overwritten that another one continues. Places that none can fill repeat the first, as impossible ones. */
static void find_places(const struct search *q, int count, int64_t first) {
    const int width = q->request->width;
    const struct candidate *beam = q->beam;
    struct candidate *places = q->places;
    int left_over = 0;
    for (int p = 0; p < width; p++) places[p].row = -1;
    for (int i = 0; i < count; i++) {
        struct candidate *own = places + (beam[i].row - first);
        if (own->row < 0)
            *own = beam[i];
        else
            q->waiting[left_over++] = i;
    }
    for (int p = 0, next = 0; p < width; p++) {
        if (places[p].row >= 0) continue;
        places[p] = next < left_over ? beam[q->waiting[next]] : beam[0];
        if (next++ >= left_over) places[p].log_probability = -INFINITY;
    }
}

/* Takes one sentence's step; returns whether it goes on. */
static int go_on(const struct search *q, int sentence) {
    const int width = q->request->width;
    struct open_hypotheses *o = q->open;
    const int64_t first = (int64_t)sentence * width, place = o->sentence[sentence];
    const int last = o->length[first] + 1 >= o->longest[sentence], count = likeliest_of(q, sentence);
    int possible = 0, kept = 0;
    for (int i = 0; i < count; i++) {
        const struct candidate *found = q->candidates + i;
        if (found->total == -INFINITY) continue;
        if (found->token != q->request->end) {
            if (kept < width) q->beam[kept++] = *found;
        } else if (possible < width) {
            end_hypothesis(q, place, found);
            o->ended[sentence]++;
        }
        possible++;
    }
    const int full = o->ended[sentence] >= width;
    if (!kept && !o->ended[sentence]) end_hypothesis(q, place, q->candidates); /* never leave a sentence without any answer */
    if (last && !full)
        for (int i = 0; i < kept; i++) end_hypothesis(q, place, q->beam + i); /* as they are, unfinished */
    if (last || full || !kept) return 0;
    find_places(q, kept, first);
    for (int p = 0; p < width; p++) {
        const int64_t from = q->places[p].row;
        if (from == first + p) continue;
        copy_cache(q, first + p, from, o->length[from] + 1); /* the decoder has read one token more in this step */
        copy_hypothesis(o, first + p, from);
    }
    for (int p = 0; p < width; p++) append(o, first + p, q->places + p);
    return 1;
}

/* Lets the last sentence take the place of one that is done. */
static void leave(const struct search *q, int sentence) {
    struct open_hypotheses *o = q->open;
    const int last = --o->sentences, width = q->request->width;
    if (sentence == last) return;
    o->sentence[sentence] = o->sentence[last];
    o->longest[sentence] = o->longest[last];
    o->ended[sentence] = o->ended[last];
    for (int row = 0; row < width; row++) {
        const int64_t to = (int64_t)sentence * width + row, from = (int64_t)last * width + row;
        copy_cache(q, to, from, o->length[from]);
        copy_hypothesis(o, to, from);
    }
}

/* Projects features (hypotheses, width) onto the vocabulary and ranks the logits, portion by portion. */
static void rank_all(const struct search *q, const float *features) {
    const struct decoder *d = q->decoder;
    const int rows = q->step->hypotheses;
    const void *x = prepared(d->packing, features, rows, d->width, q->step->space + (int64_t)rows * d->width); /* behind the features */
    for (int row = 0; row < rows; row++) rank_nothing(q->rankings + row);
    for (int first = 0; first < d->vocabulary; first += PORTION) {
        const int here = d->vocabulary - first < PORTION ? d->vocabulary - first : PORTION;
        portion(d, x, rows, first, here, q->logits);
        for (int row = 0; row < rows; row++)
            rank(q->rankings + row, q->ranked, q->logits + (int64_t)row * here, first, here, d->project_bias + first, q->request->never,
                 q->request->never_count);
    }
}

/* Whether hypotheses stay within their room until they end: those of a sentence are equally long, and so they remain. */
static int have_room(const struct open_hypotheses *o, int width) {
    for (int64_t sentence = 0; sentence < o->sentences; sentence++) {
        const int64_t first = sentence * width, length = o->length[first];
        if (o->longest[sentence] > o->room || length < 0 || length >= o->room || o->ended[sentence] < 0) return 0;
        for (int row = 1; row < width; row++)
            if (o->length[first + row] != length) return 0;
    }
    return 1;
}

enum { NO_MEMORY = -1, OUT_OF_RANGE = -2 };

/* Takes steps until so few sentences are left or so many steps are taken as the request says. The step's next, length and sentence
   are those of the open hypotheses. Returns how many steps were taken, or what prevented them. */
int search_on(const struct decoder *d, struct step *s, const struct search_request *request, struct open_hypotheses *open,
              struct ended_hypotheses *ended) {
    const int width = request->width, rows = open->sentences * width;
    const int ranked = width == 1 ? 1 : 2 * width < d->vocabulary ? 2 * width : d->vocabulary;
    float *values = malloc((int64_t)rows * ranked * sizeof(float));
    int64_t *columns = malloc((int64_t)rows * ranked * sizeof(int64_t));
    struct search q = {.decoder = d, .step = s, .request = request, .open = open, .ended = ended, .ranked = ranked};
    q.rankings = malloc(rows * sizeof(struct ranking));
    q.logits = malloc((int64_t)rows * PORTION * sizeof(float));
    q.next = malloc(width * sizeof(int));
    q.waiting = malloc(width * sizeof(int));
    q.candidates = malloc((int64_t)4 * width * sizeof(struct candidate));
    int taken = NO_MEMORY;
    if (!have_room(open, width)) taken = OUT_OF_RANGE;
    else if (values && columns && q.rankings && q.logits && q.next && q.waiting && q.candidates) {
        q.beam = q.candidates + 2 * width;
        q.places = q.beam + width;
        for (int row = 0; row < rows; row++) {
            q.rankings[row].values = values + (int64_t)row * ranked;
            q.rankings[row].columns = columns + (int64_t)row * ranked;
        }
        for (taken = 0; taken < request->steps && open->sentences > request->until; taken++) {
            s->hypotheses = open->sentences * width;
            const float *features = decode_layers(d, s);
            if (!features) {
                taken = OUT_OF_RANGE;
                break;
            }
            rank_all(&q, features);
            /* From the last to the first: one that takes the place of another has had its step already. */
            for (int sentence = open->sentences - 1; sentence >= 0; sentence--)
                if (!go_on(&q, sentence)) leave(&q, sentence);
        }
    }
    free(values), free(columns), free(q.rankings), free(q.logits), free(q.next), free(q.waiting), free(q.candidates);
    return taken;
}

/* In each of count arrays, row targets[i] becomes what row sources[i] was: `used` floats of each of `heads` parts.
   Returns 0, or what prevented it. */
int move_rows(float *const *arrays, int count, const int64_t *targets, const int64_t *sources, int64_t moved, int64_t rows, int64_t row,
              int heads, int64_t head, int64_t used) {
    const int64_t size = used * sizeof(float);
    for (int64_t i = 0; i < moved; i++)
        if (targets[i] < 0 || targets[i] >= rows || sources[i] < 0 || sources[i] >= rows) return OUT_OF_RANGE;
    if (!moved || !size) return 0;
    char *between = malloc(moved * heads * size);
    if (!between) return NO_MEMORY;
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
