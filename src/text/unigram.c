/* Viterbi's algorithm over the ends of pieces, one letter after another.
 *
 * In single precision, a sum beyond 100,000 is subtracted from all ends that are still open, as in
 * sentencepiece, since small differences would otherwise be lost. */
#include "text/unigram.h"
#include "base/mem.h"

enum { PIECE_BYTES_MAX = 256 }; /* bounds the time for a letter; real pieces have up to 64 */
#define UNKNOWN_PENALTY   10.0
#define USER_BONUS        0.1 /* for each byte of a user-defined piece but the first */
#define SINGLE_SCORES_MAX 100000.0f

/* The best piece that ends at a byte. */
struct unigram_end {
    double score;  /* of the best way to this end */
    int64_t start; /* -1: no piece ends here */
    int32_t id;
};

enum status unigram_open(struct unigram *unigram, const struct unigram_options *options,
                         struct fault *fault)
{
    size_t n = (size_t)options->n_tokens;
    *unigram =
        (struct unigram){ .unknown_id = options->unknown_id, .is_single = options->is_single };
    unigram->score_unknown = options->score_min - UNKNOWN_PENALTY;
    if (options->is_single)
        unigram->score_unknown = (double)((float)options->score_min - (float)UNKNOWN_PENALTY);
    struct view *texts = mem_take(n * sizeof(*texts));
    int32_t *ids = mem_take(n * sizeof(*ids)), n_pieces = 0;
    enum status status = STATUS_OK;
    unigram->scores = mem_take(n * sizeof(*unigram->scores));
    unigram->roles = mem_take(n);
    for (int32_t id = 0; id < options->n_tokens && status == STATUS_OK; id++) {
        unigram->scores[id] = options->scores[id];
        unigram->roles[id] = options->roles[id];
        if (options->roles[id] == UNIGRAM_NO_PIECE)
            continue;
        if (options->texts[id].n > PIECE_BYTES_MAX)
            status = fault_set(fault, STATUS_UNSUPPORTED,
                               "tokenizer: piece %d of a unigram model has %zu bytes, at most %d "
                               "are supported",
                               id, options->texts[id].n, PIECE_BYTES_MAX);
        texts[n_pieces] = options->texts[id];
        ids[n_pieces++] = id;
    }
    text_prefixes_open(&unigram->pieces, texts, ids, n_pieces, false);
    mem_give(texts);
    mem_give(ids);
    return status;
}

void unigram_close(struct unigram *unigram)
{
    text_prefixes_close(&unigram->pieces);
    mem_give(unigram->scores);
    mem_give(unigram->roles);
    *unigram = (struct unigram){ 0 };
}

void unigram_work_free(struct unigram_work *work)
{
    mem_give(work->pieces);
    mem_give(work->ends);
    *work = (struct unigram_work){ 0 };
}

/* Returns the score of a piece of n bytes. A user-defined one has a score so high that it is always
 * taken. */
static double score_of(const struct unigram *unigram, int32_t id, size_t n)
{
    if (unigram->roles[id] != UNIGRAM_USER_DEFINED)
        return unigram->scores[id];
    return USER_BONUS * (double)(n - 1);
}

static void offer(struct unigram_end *end, double score, int64_t start, int32_t id)
{
    if (end->start < 0 || score > end->score)
        *end = (struct unigram_end){ score, start, id };
}

static double add_scores(const struct unigram *unigram, double piece, double before)
{
    return unigram->is_single ? (double)((float)piece + (float)before) : piece + before;
}

/* Subtracts a large sum from all ends from `at` on. */
static void lower_scores(const struct unigram *unigram, struct unigram_end *ends, size_t at,
                         size_t last)
{
    float offset = (float)ends[at].score;
    if (!unigram->is_single || (offset >= -SINGLE_SCORES_MAX && offset <= SINGLE_SCORES_MAX))
        return;
    for (size_t i = at; i <= last; i++)
        if (i == at || ends[i].start >= 0)
            ends[i].score = (double)((float)ends[i].score - offset);
}

static size_t letter_bytes(const char *at, size_t n)
{
    unsigned char c = (unsigned char)*at;
    size_t wanted = c < 0xC0 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    return wanted < n ? wanted : n;
}

/* Offers all pieces that begin at `at`. Returns the last end of any. */
static size_t offer_pieces(const struct unigram *unigram, struct unigram_end *ends,
                           struct view text, size_t at)
{
    struct text_prefixes_walk walk;
    struct view rest = view_of(text.at + at, text.n - at);
    size_t letter = letter_bytes(rest.at, rest.n), last = 0;
    bool has_letter = false;
    double before = ends[at].score;
    text_prefixes_begin(&walk, &unigram->pieces, rest);
    for (int32_t i; (i = text_prefixes_next(&walk)) >= 0;) {
        int32_t id = unigram->pieces.ids[i];
        size_t n = unigram->pieces.texts[i].n;
        last = at + n;
        has_letter = has_letter || n == letter;
        double score = add_scores(unigram, score_of(unigram, id, n), before);
        offer(&ends[last], score, (int64_t)at, id);
    }
    if (has_letter)
        return last;
    offer(&ends[at + letter], add_scores(unigram, unigram->score_unknown, before), (int64_t)at,
          unigram->unknown_id);
    return at + letter > last ? at + letter : last;
}

static void read_back(struct unigram_work *work, const struct unigram_end *ends, size_t n)
{
    work->n = 0;
    for (size_t at = n; at > 0; at = (size_t)ends[at].start)
        work->n++;
    if (work->n > work->capacity) {
        mem_give(work->pieces);
        work->capacity = work->n;
        work->pieces = mem_take(work->n * sizeof(*work->pieces));
    }
    size_t i = work->n;
    for (size_t at = n; at > 0; at = (size_t)ends[at].start) {
        size_t start = (size_t)ends[at].start;
        work->pieces[--i] = (struct unigram_piece){ start, at - start, ends[at].id };
    }
}

void unigram_divide(const struct unigram *unigram, struct unigram_work *work, struct view text)
{
    size_t last = 0;
    if (text.n + 1 > work->n_ends) {
        mem_give(work->ends);
        work->n_ends = text.n + 1;
        work->ends = mem_take(work->n_ends * sizeof(*work->ends));
    }
    struct unigram_end *ends = work->ends;
    for (size_t i = 0; i <= text.n; i++)
        ends[i] = (struct unigram_end){ .start = -1, .id = unigram->unknown_id };
    for (size_t at = 0; at < text.n; at += letter_bytes(text.at + at, text.n - at)) {
        lower_scores(unigram, ends, at, last);
        size_t end = offer_pieces(unigram, ends, text, at);
        last = end > last ? end : last;
    }
    read_back(work, ends, text.n);
}
