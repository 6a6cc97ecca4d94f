/* Starvation: the bound on how long a request of a ranking policy waits for tokens.
 *
 * The rule. A request starves when it was not served for theta = max(starve_ns_min, starve_factor *
 * L-hat): by default max(3 s, 2.5 L-hat). It then goes before all others, and the request that
 * starves longest goes first. A request with a deadline also starves from the last time to begin.
 *
 * Residence. Once a starved request is served it is in its residence until it has starve_tokens
 * (16) more tokens. In its residence it starves again at once while its prompt is computed, and
 * then after each theta / starve_tokens, so that it gets all these tokens within theta. It gives
 * its blocks up only when no other request can, and then to one that starved earlier. Without a
 * residence one token would end its claim: a preferred request would take its blocks at once, so
 * that it would get one token every theta.
 *
 * Bound. Once a request starves, only the batch in flight and requests that starved earlier run
 * before it, each until it has a token, since it starves anew later than that. When the request
 * lacks blocks no other starts, and those that run go on in their order. A request that has worked
 * for two usual ones since it started is preempted for it, unless it is in its residence. So the
 * wait for blocks ends too. (If all were preempted at once, an overload would throw out every
 * request after its residence, and the device would compute prompts again and again.)
 *
 * The policy ranks requests (ranks.h), and calls schedule_starve_note after each event of a
 * service. When it plans, it first serves starved requests (schedule_starve_serve). */
#pragma once
#include "schedule/ranks.h"

struct schedule_due { /* the next requests of a service to starve; the key is since when */
    struct schedule_first running, waiting;
};
struct schedule_starve {
    struct schedule_due *dues; /* (n_services_max) */
};
size_t schedule_starve_bytes(const struct schedule_limits *limits);
void schedule_starve_open(struct schedule_starve *starve, unsigned char **at,
                          const struct schedule_limits *limits);

/* Returns theta: a request of the service starves when it was not served for this long. */
int64_t schedule_starve_theta_ns(const struct schedule_config *config,
                                 const struct schedule_service *service);
/* Notes that a running request got n_new tokens in a batch that began at begun_ns. If it starved
 * before that, its residence begins. */
static inline void schedule_starve_served(struct schedule_ranks *ranks, uint32_t slot,
                                          const struct request *r, int32_t n_new, int64_t begun_ns,
                                          int64_t theta_ns)
{
    struct schedule_rank *own = &ranks->slots[slot];
    int64_t *served_ns = &ranks->served_ns[slot];
    if (own->resides_until == 0 && *served_ns < begun_ns - theta_ns)
        own->resides_until = r->n_tokens - n_new + ranks->config.starve_tokens;
    if (r->n_tokens >= own->resides_until) {
        own->resides_until = 0;
        *served_ns = r->served_ns;
    } else if (schedule_lacking(r) == 1) {
        *served_ns = r->served_ns - theta_ns + theta_ns / ranks->config.starve_tokens;
    }
}
/* Finds the requests of the service that starve next. Call it after each event of the service. */
void schedule_starve_note(struct schedule_starve *starve, const struct schedule_ranks *ranks,
                          const struct schedule_view *view, int service);

/* The policy's own settings when a starved request is served. */
struct schedule_starve_ways {
    bool is_by_phase; /* waiting requests and running ones are never in one batch */
    /* Returns how many requests of the service may run together at most, by this state; NULL:
     * n_seqs_max. */
    int32_t (*seats)(const void *state, const struct schedule_view *view, int service);
    const void *state;
};
/* Serves the request that starves longest, by a batch of its service or by preempting for it. When
 * it waits for blocks, *parts becomes what may run meanwhile. FILLED_NOTHING: none starves, or it
 * waits for blocks, or one batch holds all requests anyway. The state of fill->order is the ranks.
 */
enum schedule_filled schedule_starve_serve(struct schedule_fill *fill,
                                           const struct schedule_starve *starve, unsigned *parts,
                                           const struct schedule_starve_ways *ways);

/* ---- Members of struct schedule_order; state is the ranks. ---- */
int64_t schedule_starve_resides_since(const void *state, const struct schedule_view *view,
                                      uint32_t slot);
int schedule_starve_find_who_may(const void *state, const struct schedule_view *view, int service,
                                 schedule_may_go may_go, uint32_t slots[FILL_KNOWN_MAX]);
