/* Chooses drafts and measures how good they are. See draft.h. */
#include "engine/draft.h"
#include "engine/lookup.h"
#include "engine/state.h"
#include "engine/stats.h"

enum {
    TRIALS_MAX = 32,          /* of a request; then half of them are forgotten */
    SERVICE_TRIALS_MAX = 256, /* the same, of a service */
    PRIOR = 2,                /* trials that the service's chance counts for */
};
static const double margin = 1.1; /* what a draft must gain, over its cost */

void engine_draft_open(struct engine *e)
{
    uint32_t n = e->options.n_requests_max;
    if (e->bodies == NULL || e->options.is_virtual)
        return;
    e->drafts = mem_take(n * sizeof(*e->drafts));
    e->n_drafts = mem_take(n * sizeof(*e->n_drafts));
}

void engine_draft_close(struct engine *e)
{
    mem_give(e->drafts);
    mem_give(e->n_drafts);
}

void engine_draft_forget(struct engine *e, uint32_t slot)
{
    if (e->drafts == NULL)
        return;
    e->drafts[slot] = (struct engine_draft){ 0 };
    e->n_drafts[slot] = 0;
}

static bool decodes(const struct request *r)
{
    return r->batch == 0 && r->kind == REQUEST_GENERATE && r->n_tokens - r->n_computed == 1;
}

/* Returns how many drafts the request may have beside the token that is drawn anyway. */
static int32_t most_of(const struct engine *e, const struct request *r)
{
    int32_t n = min_i32(ENGINE_DRAFTS_MAX, r->n_tokens_max - r->n_tokens - 1);
    if ((r->flags & REQUEST_GUIDED) != 0 || e->drafts[r - e->requests].from == 0)
        return 0;
    if (r->n_lease > 0)
        n = min_i32(n, r->n_lease - 1);
    if ((r->flags & REQUEST_WANTS_LOGPROBS) != 0)
        n = min_i32(n, ENGINE_LOGPROBS_MAX - 1);
    return n;
}

/* Returns the chance that a draft of the request is accepted when those before it are. */
static double chance_of(const struct engine *e, const struct request *r)
{
    const struct engine_stats *stats = &e->stats[r->service];
    const struct engine_draft *draft = &e->drafts[r - e->requests];
    double prior = ((double)stats->n_draft_hits + 1) / ((double)stats->n_draft_trials + 2);
    return ((double)draft->n_hits + PRIOR * prior) / ((double)draft->n_trials + PRIOR);
}

static void look_up(struct engine *e, uint32_t slot)
{
    const struct request *r = &e->requests[slot];
    struct engine_draft *draft = &e->drafts[slot];
    if (draft->at != r->n_tokens) {
        draft->from = engine_lookup(engine_bodies_at(e->bodies, r->body).tokens, r->n_tokens);
        draft->at = r->n_tokens;
    }
    draft->chance = 1;
}

struct choice {             /* for the batch of one service */
    double step_ps, row_ps; /* its time without drafts; of one more row */
    double n_tokens;        /* that it is expected to give */
    int32_t n_rows_left;
};

/* Shows one draft more of each request for which it pays. Returns whether there was one. */
static bool choose_next(struct engine *e, const struct schedule_service *s, struct choice *choice)
{
    bool is_any = false;
    for (uint32_t i = 0; i < s->n_running && choice->n_rows_left > 0; i++) {
        uint32_t slot = s->running[i];
        const struct request *r = &e->requests[slot];
        struct engine_draft *draft = &e->drafts[slot];
        if (!decodes(r) || draft->chance <= 0)
            continue;
        double chance = draft->chance * chance_of(e, r);
        if (e->n_drafts[slot] == most_of(e, r) ||
            chance * choice->step_ps <= margin * choice->row_ps * choice->n_tokens) {
            draft->chance = 0; /* later ones pay even less */
            continue;
        }
        draft->chance = (float)chance;
        e->n_drafts[slot]++;
        choice->n_rows_left--;
        choice->n_tokens += chance;
        choice->step_ps += choice->row_ps;
        is_any = true;
    }
    return is_any;
}

static void choose(struct engine *e, int service)
{
    const struct schedule_service *s = &e->services[service];
    struct perf_load load = { 0 };
    for (uint32_t i = 0; i < s->n_running; i++) {
        const struct request *r = &e->requests[s->running[i]];
        e->n_drafts[s->running[i]] = 0;
        load.n_decodes += decodes(r);
        load.n_decode_context += decodes(r) ? r->n_tokens : 0;
    }
    if (load.n_decodes == 0)
        return;
    struct perf_load more = { .n_decodes = load.n_decodes + ENGINE_DRAFTS_MAX,
                              .n_decode_context =
                                  load.n_decode_context +
                                  ENGINE_DRAFTS_MAX * (load.n_decode_context / load.n_decodes) };
    struct choice choice = { .step_ps = (double)perf_step_ps(&s->perf, &load),
                             .n_tokens = load.n_decodes,
                             .n_rows_left = min_i32(e->config.n_seqs_max, LIMIT_BATCH_ITEMS) -
                                            load.n_decodes };
    double more_ps = (double)perf_step_ps(&s->perf, &more) - choice.step_ps;
    choice.row_ps = more_ps > 0 ? more_ps / ENGINE_DRAFTS_MAX : 0;
    if (choice.step_ps <= margin * choice.row_ps * choice.n_tokens)
        return; /* even a draft that is accepted for sure does not pay */
    for (uint32_t i = 0; i < s->n_running; i++)
        if (decodes(&e->requests[s->running[i]]))
            look_up(e, s->running[i]);
    while (choose_next(e, s, &choice))
        ;
}

void engine_draft_plan(struct engine *e)
{
    e->view.n_drafts = NULL;
    for (int32_t i = 0; i < e->view.n_busy; i++) {
        int service = e->busy[i];
        if (e->specs[service].speculation == SPECULATION_OFF || e->specs[service].is_encoder ||
            e->services[service].n_running == 0)
            continue;
        choose(e, service);
        e->view.n_drafts = e->n_drafts;
    }
}

/* The drafts may run into themselves, as in a text that repeats a few tokens. */
void engine_draft_write(struct engine *e, uint32_t slot, int32_t n)
{
    const struct request *r = &e->requests[slot];
    int32_t *tokens = engine_bodies_at(e->bodies, r->body).tokens;
    const struct engine_draft *draft = &e->drafts[slot];
    CHECK(n <= e->n_drafts[slot] && draft->at == r->n_tokens && draft->from > 0);
    for (int32_t k = 0; k < n; k++)
        tokens[r->n_tokens + k] = tokens[draft->from + k];
}

void engine_draft_learn(struct engine *e, uint32_t slot, int32_t n_before, int32_t n_new)
{
    struct engine_draft *draft = &e->drafts[slot];
    struct engine_stats *stats = &e->stats[e->requests[slot].service];
    const int32_t *tokens = engine_bodies_at(e->bodies, e->requests[slot].body).tokens;
    bool is_hit = draft->at == n_before && draft->from > 0;
    for (int32_t k = 0; k < n_new && is_hit; k++) {
        is_hit = tokens[draft->from + k] == tokens[n_before + k];
        draft->n_trials++;
        draft->n_hits += is_hit;
        stats->n_draft_trials++;
        stats->n_draft_hits += is_hit;
        if (draft->n_trials == TRIALS_MAX) {
            draft->n_trials /= 2;
            draft->n_hits /= 2;
        }
        if (stats->n_draft_trials == SERVICE_TRIALS_MAX) {
            stats->n_draft_trials /= 2;
            stats->n_draft_hits /= 2;
        }
    }
    draft->at = is_hit ? n_before + n_new : 0;
    draft->from = is_hit ? draft->from + n_new : 0;
}
