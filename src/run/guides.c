/* Guides by slot: they follow the tokens of their requests. */
#include "run/guides.h"

#include "base/log.h"
#include "base/mem.h"
#include "text/tokenizer.h"
#include <string.h>

enum { MASKS_KEPT = 256, MARK_BYTES_MAX = 64, MARK_IDS_MAX = 64, FORCED_BYTES_MAX = 128 };

/* START --(opening mark)--> THINKING --(closing mark)--> ANSWER
 *   \-----(other text)-------------------------------------^    */
enum phase { START, THINKING, ANSWER };

struct guide {
    uint64_t id; /* of the request; 0: none */
    uint32_t epoch;
    int32_t n_taken;               /* tokens of the request, with its prompt */
    bool is_broken;                /* its grammar can't be used here */
    bool jumps;                    /* what the grammar forces is spelled as the tokenizer would */
    bool is_dead;                  /* the text left its grammar */
    const struct grammar *grammar; /* of the answer; NULL: it is free */
    struct grammar_state *state;
    enum phase phase;
    int32_t n_thought, n_thought_max; /* tokens of reasoning; -1: no bound */
    char open[MARK_BYTES_MAX], close[MARK_BYTES_MAX];
    size_t n_open, n_close;
    char tail[2 * MARK_BYTES_MAX]; /* what a mark may begin with */
    size_t n_tail;
    int32_t n_close_ids, close_ids[MARK_IDS_MAX]; /* the closing mark as tokens */
    int32_t open_id;                              /* the opening mark, if it is one token; -1 */
};
struct run_guides {
    struct grammar_cache *cache;
    struct guide *guides; /* by slot */
    uint32_t n_guides;
    struct str piece; /* of a token */
    struct {
        const struct tokenizer *tokenizer;
        int32_t n_vocabulary;
        struct grammar_masks *masks; /* made at the first request with a grammar */
    } services[LIMIT_MODELS];
};

struct run_guides *run_guides_open(struct grammar_cache *cache)
{
    struct run_guides *g = mem_take(sizeof(*g));
    g->cache = cache;
    str_init(&g->piece);
    return g;
}

static void clear(struct run_guides *g, struct guide *guide)
{
    grammar_state_close(guide->state);
    grammar_cache_put(g->cache, guide->grammar);
    *guide = (struct guide){ 0 };
}

void run_guides_close(struct run_guides *g)
{
    for (uint32_t i = 0; i < g->n_guides; i++)
        clear(g, &g->guides[i]);
    for (int i = 0; i < LIMIT_MODELS; i++)
        run_guides_remove(g, i);
    str_free(&g->piece);
    mem_give(g->guides);
    mem_give(g);
}

void run_guides_put(struct run_guides *g, int service, const struct tokenizer *tokenizer,
                    int32_t n_vocabulary)
{
    run_guides_remove(g, service);
    g->services[service].tokenizer = tokenizer;
    g->services[service].n_vocabulary = n_vocabulary;
}

void run_guides_remove(struct run_guides *g, int service)
{
    grammar_masks_close(g->services[service].masks);
    g->services[service].masks = NULL;
    g->services[service].tokenizer = NULL;
}

static const struct grammar_vocabulary *vocabulary_of(struct grammar_cache *cache,
                                                      const struct tokenizer *tokenizer, int32_t n)
{
    const struct grammar_pieces pieces = { tokenizer, n, tokenizer_add_piece };
    return grammar_cache_vocabulary(cache, &pieces);
}

/* Reads a body's grammar, and what comes ahead of it. Returns false for a text that is broken. */
static bool read_body(const struct request_body *body, struct grammar_thought *out)
{
    struct view text = view_of(request_body_grammar(body), body->n_grammar);
    *out = (struct grammar_thought){ .n_max = -1,
                                     .kind = (enum grammar_kind)body->grammar_kind,
                                     .text = text };
    return body->grammar_kind != GRAMMAR_THOUGHT || grammar_thought_read(text, out);
}

void run_guides_prepare_vocabulary(struct grammar_cache *cache, const struct tokenizer *tokenizer,
                                   int32_t n_vocabulary)
{
    (void)vocabulary_of(cache, tokenizer, n_vocabulary);
}

void run_guides_prepare(struct grammar_cache *cache, const struct tokenizer *tokenizer,
                        int32_t n_vocabulary, const struct request_body *body)
{
    const struct grammar *grammar;
    struct grammar_thought thought;
    if (cache == NULL || tokenizer == NULL || !read_body(body, &thought) ||
        thought.kind == GRAMMAR_NONE)
        return;
    (void)vocabulary_of(cache, tokenizer, n_vocabulary);
    if (grammar_cache_take(cache, thought.kind, thought.text, &grammar, NULL) == STATUS_OK)
        grammar_cache_put(cache, grammar);
}

/* Makes room for a slot. */
static struct guide *guide_of(struct run_guides *g, uint32_t slot)
{
    if (slot >= g->n_guides) {
        uint32_t n = slot * 2 + 16;
        g->guides = mem_grow(g->guides, sizeof(*g->guides) * g->n_guides, sizeof(*g->guides) * n);
        g->n_guides = n;
    }
    return &g->guides[slot];
}

/* Ended requests need no grammar, and the cache can't drop one that is in use. */
static void clear_ended(struct run_guides *g, const struct request *requests)
{
    for (uint32_t i = 0; i < g->n_guides; i++)
        if (g->guides[i].id != 0 &&
            (g->guides[i].id != requests[i].id || requests[i].state == REQUEST_FREE))
            clear(g, &g->guides[i]);
}

/* Sets the marks of reasoning. Returns false when the closing one has no tokens. */
static bool set_marks(struct guide *guide, const struct grammar_thought *thought,
                      const struct tokenizer *tokenizer)
{
    int32_t ids[2];
    guide->n_thought_max = thought->n_max;
    guide->n_open = thought->open.n;
    guide->n_close = thought->close.n;
    guide->open_id = -1;
    guide->phase = thought->close.n == 0 ? ANSWER : thought->open.n == 0 ? THINKING : START;
    if (guide->phase == ANSWER)
        return true;
    CHECK(guide->n_open < MARK_BYTES_MAX && guide->n_close < MARK_BYTES_MAX);
    memcpy(guide->open, thought->open.at, guide->n_open);
    memcpy(guide->close, thought->close.at, guide->n_close);
    guide->n_close_ids = tokenizer_encode(tokenizer, thought->close, TOKENIZER_PARSE_SPECIAL,
                                          guide->close_ids, MARK_IDS_MAX);
    if (tokenizer_encode(tokenizer, thought->open, TOKENIZER_PARSE_SPECIAL, ids, 2) == 1)
        guide->open_id = ids[0];
    return guide->n_close_ids > 0;
}

/* Begins the guide of a request that has no tokens yet. */
static void begin(struct run_guides *g, struct guide *guide, const struct request *request,
                  const struct compute_ask *ask)
{
    const struct tokenizer *tokenizer = g->services[request->service].tokenizer;
    struct grammar_thought thought;
    struct fault fault = { "its model has no tokenizer here" };
    clear(g, guide);
    guide->id = request->id;
    guide->epoch = request->epoch;
    guide->n_taken = request->n_prompt;
    guide->is_broken =
        g->cache == NULL || tokenizer == NULL || !read_body(ask->body, &thought) ||
        !set_marks(guide, &thought, tokenizer) ||
        (thought.kind != GRAMMAR_NONE && grammar_cache_take(g->cache, thought.kind, thought.text,
                                                            &guide->grammar, &fault) != STATUS_OK);
    if (guide->grammar != NULL)
        guide->state = grammar_state_open(guide->grammar);
    guide->jumps = !guide->is_broken && thought.jumps && guide->grammar != NULL;
    if (guide->is_broken)
        log_line(LOG_WARN, "grammar", "a request fails, since its grammar can't be used here: %s",
                 g->cache != NULL ? fault.text : "this engine has none");
}

/* Adds bytes of the answer. */
static void add_answer(struct guide *guide, struct view bytes)
{
    if (guide->grammar != NULL && !guide->is_dead)
        guide->is_dead = grammar_state_add(guide->state, bytes) < bytes.n;
}

static bool is_white(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The answer begins, with bytes that come behind the closing mark. */
static void begin_answer(struct guide *guide, struct view rest)
{
    guide->phase = ANSWER;
    guide->is_dead = false;
    if (guide->grammar != NULL)
        grammar_state_reset(guide->state, guide->grammar);
    while (rest.n > 0 && is_white(rest.at[0]))
        rest = view_of(rest.at + 1, rest.n - 1);
    add_answer(guide, rest);
}

/* Adds bytes of reasoning, and looks for its end. */
static void add_thought(struct guide *guide, struct view bytes)
{
    for (size_t i = 0; i < bytes.n; i++) {
        guide->tail[guide->n_tail++] = bytes.at[i];
        if (guide->n_tail < guide->n_close)
            continue;
        const char *end = guide->tail + guide->n_tail - guide->n_close;
        if (memcmp(end, guide->close, guide->n_close) == 0) {
            begin_answer(guide, view_of(bytes.at + i + 1, bytes.n - i - 1));
            return;
        }
        guide->n_tail = guide->n_close - 1;
        memmove(guide->tail, end + 1, guide->n_tail);
    }
}

/* Adds bytes of an answer that may begin with reasoning, behind white space. */
static void add_start(struct guide *guide, struct view bytes)
{
    for (size_t i = 0; i < bytes.n; i++) {
        if (guide->n_tail == 0 && is_white(bytes.at[i]))
            continue;
        if (bytes.at[i] != guide->open[guide->n_tail]) {
            guide->phase = ANSWER;
            return;
        }
        if (++guide->n_tail < guide->n_open)
            continue;
        guide->phase = THINKING;
        guide->n_tail = 0;
        add_thought(guide, view_of(bytes.at + i + 1, bytes.n - i - 1));
        return;
    }
}

/* Takes a token: of reasoning, or of the answer. */
static void take(struct run_guides *g, struct guide *guide, const struct tokenizer *tokenizer,
                 int32_t id)
{
    str_clear(&g->piece);
    tokenizer_add_piece(tokenizer, id, &g->piece);
    struct view piece = view_of(g->piece.at, g->piece.n), shown = piece;
    if (shown.n > 0 && shown.at[0] == '\xFF' && !tokenizer_shows(tokenizer, id, false))
        shown = view_of(shown.at + 1, shown.n - 1);
    if (guide->phase != THINKING) {
        add_answer(guide, piece);
        if (guide->phase == START)
            add_start(guide, shown);
        return;
    }
    guide->n_thought++;
    add_thought(guide, shown);
    bool is_forced = guide->phase == THINKING && guide->n_thought_max >= 0 &&
                     guide->n_thought - guide->n_thought_max >= guide->n_close_ids;
    if (is_forced)
        begin_answer(guide, view_of("", 0));
}

/* Takes the tokens that the guide does not know yet. */
static void follow(struct run_guides *g, struct guide *guide, const struct request *request,
                   const struct compute_ask *ask)
{
    bool was_dead = guide->is_dead;
    if (guide->id != request->id || guide->epoch != request->epoch ||
        guide->n_taken > ask->n_tokens)
        begin(g, guide, request, ask);
    for (; guide->n_taken < ask->n_tokens && !guide->is_broken; guide->n_taken++)
        take(g, guide, g->services[request->service].tokenizer, ask->tokens[guide->n_taken]);
    if (guide->is_dead && !was_dead && guide->phase == ANSWER)
        log_line(LOG_WARN, "grammar", "the tokens of a request leave its grammar");
}

static void allow(uint32_t *mask, int32_t id)
{
    mask[id / 32] |= UINT32_C(1) << id % 32;
}

/* Fills the mask of a text that goes on. Returns false when the grammar has no answer. */
static bool fill(struct run_guides *g, struct guide *guide, int service, uint32_t *mask)
{
    struct grammar_masks **masks = &g->services[service].masks;
    int32_t n = g->services[service].n_vocabulary;
    if (*masks == NULL)
        *masks = grammar_masks_open(vocabulary_of(g->cache, g->services[service].tokenizer, n),
                                    MASKS_KEPT);
    bool is_whole = grammar_masks_fill(*masks, guide->state, mask);
    if (!is_whole)
        log_line(LOG_WARN, "grammar", "the grammar of a request is too ambiguous here");
    return is_whole;
}

/* Fills the mask of an answer. Returns false when it can't go on by its grammar. */
static bool fill_answer(struct run_guides *g, struct guide *guide, const struct request *request,
                        const struct compute_ask *ask, uint32_t *mask)
{
    int32_t n_words = (g->services[request->service].n_vocabulary + 31) / 32;
    const int32_t *ids = request_body_stop_ids(ask->body);
    bool is_any = false;
    memset(mask, 0, 4 * (size_t)n_words);
    if (guide->is_dead || !fill(g, guide, request->service, mask))
        return false;
    for (uint32_t i = 0; i < ask->body->n_stop_ids; i++)
        if (grammar_state_is_complete(guide->state))
            allow(mask, ids[i]);
    if (guide->phase == START && guide->open_id >= 0 && ask->n_tokens == ask->n_prompt)
        allow(mask, guide->open_id);
    for (int32_t w = 0; w < n_words && !is_any; w++)
        is_any = mask[w] != 0;
    return is_any;
}

/* Encodes forced bytes behind a text. Returns their first token if the text keeps its own tokens,
 * and if another token follows: the last one may yet become a longer one. Otherwise -1. */
static int32_t first_behind(const struct tokenizer *tokenizer, struct view before,
                            struct view forced)
{
    int32_t ids[MARK_BYTES_MAX + 2 * FORCED_BYTES_MAX], own[2 * MARK_BYTES_MAX];
    char text[MARK_BYTES_MAX + FORCED_BYTES_MAX];
    if (before.n == 0 || before.n > MARK_BYTES_MAX)
        return -1;
    memcpy(text, before.at, before.n);
    memcpy(text + before.n, forced.at, forced.n);
    int32_t n_own = tokenizer_encode(tokenizer, before, 0, own, COUNT_OF(own));
    int32_t n =
        tokenizer_encode(tokenizer, view_of(text, before.n + forced.n), 0, ids, COUNT_OF(ids));
    if (n_own < 1 || n < n_own + 2 || memcmp(ids, own, sizeof(*ids) * (size_t)n_own) != 0)
        return -1;
    return ids[n_own];
}

/* Returns the token with which the tokenizer would go on where the grammar forces bytes; -1: there
 * is none. It depends on the tokens alone. */
static int32_t spell(struct run_guides *g, struct guide *guide, const struct request *request,
                     const struct compute_ask *ask)
{
    const struct tokenizer *tokenizer = g->services[request->service].tokenizer;
    char forced[FORCED_BYTES_MAX];
    if (!guide->jumps || guide->is_broken || guide->is_dead || guide->phase != ANSWER)
        return -1;
    size_t n = grammar_state_forced(guide->state, forced, sizeof(forced));
    if (n < 2)
        return -1;
    struct view last = tokenizer_piece(tokenizer, ask->tokens[ask->n_tokens - 1], false);
    int32_t id = first_behind(tokenizer, last, view_of(forced, n));
    if (id < 0)
        id = first_behind(tokenizer, view_text("\n"), view_of(forced, n));
    if (id < 0 || id >= g->services[request->service].n_vocabulary)
        return -1;
    struct view piece = tokenizer_piece(tokenizer, id, false);
    return piece.n > 0 && piece.n <= n && memcmp(piece.at, forced, piece.n) == 0 ? id : -1;
}

int32_t run_guides_jump(struct run_guides *g, const struct request *requests, uint32_t slot,
                        const struct compute_ask *ask, int32_t *tokens, int32_t n_max)
{
    const struct request *request = &requests[slot];
    struct guide *guide = guide_of(g, slot);
    struct compute_ask at = *ask;
    int32_t n = 0;
    if (guide->id != request->id || guide->epoch != request->epoch || !guide->jumps)
        return 0;
    for (; n < n_max; n++) {
        follow(g, guide, request, &at);
        int32_t id = spell(g, guide, request, &at);
        if (id < 0)
            break;
        tokens[at.n_tokens++] = id;
    }
    return n;
}

bool run_guides_fill(struct run_guides *g, const struct request *requests, uint32_t slot,
                     const struct compute_ask *ask, uint32_t *mask)
{
    const struct request *request = &requests[slot];
    struct guide *guide = guide_of(g, slot);
    int32_t n_words = (g->services[request->service].n_vocabulary + 31) / 32;
    if (guide->id != request->id)
        clear_ended(g, requests);
    follow(g, guide, request, ask);
    bool is_over = guide->phase == THINKING && guide->n_thought_max >= 0 &&
                   guide->n_thought >= guide->n_thought_max;
    if (!guide->is_broken && is_over) {
        memset(mask, 0, 4 * (size_t)n_words);
        allow(mask, guide->close_ids[guide->n_thought - guide->n_thought_max]);
        return true;
    }
    int32_t forced = spell(g, guide, request, ask);
    if (forced >= 0) {
        memset(mask, 0, 4 * (size_t)n_words);
        allow(mask, forced);
        return true;
    }
    bool is_free = !guide->is_broken && (guide->phase == THINKING || guide->grammar == NULL);
    if (!is_free && !guide->is_broken && fill_answer(g, guide, request, ask, mask))
        return true;
    /* Calls that are only offered do not fail an answer, which goes on as free text. */
    is_free = is_free || (!guide->is_broken && grammar_is_offer(guide->grammar));
    memset(mask, is_free ? 0xFF : 0, 4 * (size_t)n_words);
    if (!is_free)
        allow(mask, 0);
    return is_free;
}
