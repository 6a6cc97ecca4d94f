/* Guides by slot: they follow the tokens of their requests. */
#include "run/guides.h"

#include "base/log.h"
#include "base/mem.h"
#include "text/tokenizer.h"
#include <string.h>

enum { MASKS_KEPT = 256 };

struct guide {
    uint64_t id; /* of the request; 0: none */
    uint32_t epoch;
    int32_t n_taken; /* tokens of the request, with its prompt */
    bool is_broken;
    const struct grammar *grammar;
    struct grammar_state *state;
};
struct run_guides {
    struct grammar_cache *cache;
    struct guide *guides; /* by slot */
    uint32_t n_guides;
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

static struct view piece_of(const void *tokenizer, int32_t id)
{
    return tokenizer_piece(tokenizer, id, false);
}

static const struct grammar_vocabulary *vocabulary_of(struct grammar_cache *cache,
                                                      const struct tokenizer *tokenizer, int32_t n)
{
    const struct grammar_pieces pieces = { tokenizer, n, piece_of };
    return grammar_cache_vocabulary(cache, &pieces);
}

static struct view text_of(const struct request_body *body)
{
    return view_of(request_body_grammar(body), body->n_grammar);
}

void run_guides_prepare(struct grammar_cache *cache, const struct tokenizer *tokenizer,
                        int32_t n_vocabulary, const struct request_body *body)
{
    const struct grammar *grammar;
    if (cache == NULL || tokenizer == NULL || body->grammar_kind == GRAMMAR_NONE)
        return;
    (void)vocabulary_of(cache, tokenizer, n_vocabulary);
    if (grammar_cache_take(cache, (enum grammar_kind)body->grammar_kind, text_of(body), &grammar,
                           NULL) == STATUS_OK)
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

/* Begins the guide of a request that has no tokens yet. */
static void begin(struct run_guides *g, struct guide *guide, const struct request *request,
                  const struct compute_ask *ask)
{
    struct fault fault = { "its model has no tokenizer here" };
    clear(g, guide);
    guide->id = request->id;
    guide->epoch = request->epoch;
    guide->n_taken = request->n_prompt;
    guide->is_broken = g->cache == NULL || g->services[request->service].tokenizer == NULL ||
                       grammar_cache_take(g->cache, (enum grammar_kind)ask->body->grammar_kind,
                                          text_of(ask->body), &guide->grammar, &fault) != STATUS_OK;
    if (!guide->is_broken)
        guide->state = grammar_state_open(guide->grammar);
    else
        log_line(LOG_WARN, "grammar", "a request fails, since its grammar can't be used here: %s",
                 g->cache != NULL ? fault.text : "this engine has none");
}

/* Takes the tokens that the guide does not know yet. Returns whether the text may go on. */
static bool follow(struct run_guides *g, struct guide *guide, const struct request *request,
                   const struct compute_ask *ask)
{
    const struct tokenizer *tokenizer = g->services[request->service].tokenizer;
    if (guide->id != request->id || guide->epoch != request->epoch ||
        guide->n_taken > ask->n_tokens)
        begin(g, guide, request, ask);
    for (; guide->n_taken < ask->n_tokens && !guide->is_broken; guide->n_taken++) {
        struct view piece = piece_of(tokenizer, ask->tokens[guide->n_taken]);
        guide->is_broken = grammar_state_add(guide->state, piece) < piece.n;
        if (guide->is_broken)
            log_line(LOG_WARN, "grammar", "a request fails, since its tokens leave its grammar");
    }
    return !guide->is_broken;
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
        log_line(LOG_WARN, "grammar", "a request fails, since its grammar is too ambiguous here");
    return is_whole;
}

bool run_guides_fill(struct run_guides *g, const struct request *requests, uint32_t slot,
                     const struct compute_ask *ask, uint32_t *mask)
{
    const struct request *request = &requests[slot];
    struct guide *guide = guide_of(g, slot);
    int32_t n_words = (g->services[request->service].n_vocabulary + 31) / 32;
    const int32_t *ids = request_body_stop_ids(ask->body);
    bool is_any = false;
    if (guide->id != request->id)
        clear_ended(g, requests);
    memset(mask, 0, 4 * (size_t)n_words);
    guide->is_broken = !follow(g, guide, request, ask) || !fill(g, guide, request->service, mask);
    for (uint32_t i = 0; i < ask->body->n_stop_ids && !guide->is_broken; i++)
        if (grammar_state_is_complete(guide->state))
            allow(mask, ids[i]);
    for (int32_t w = 0; w < n_words && !is_any; w++)
        is_any = mask[w] != 0;
    if (!is_any)
        allow(mask, 0);
    return is_any && !guide->is_broken;
}
