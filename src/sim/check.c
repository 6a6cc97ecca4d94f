/* Invariants of every simulation: no request is lost or answered twice, no token is missing, no
 * block is left behind. */
#include "sim/state.h"

static void wrong(struct sim *sim, const char *what)
{
    if (sim->report->wrong == NULL)
        sim->report->wrong = what;
}

void sim_check_event(struct sim *sim, const struct sim_client *client,
                     const struct service_event *event, int64_t now_ns)
{
    const struct route_request *r = sim_request(sim, client);
    if (!client->is_live || r->id != event->id)
        wrong(sim, "an event of a request that is over");
    else if (r->epoch != event->epoch)
        wrong(sim, "an event of an earlier life");
    else if (event->position != r->n_tokens)
        wrong(sim, "tokens that do not follow those before");
    else if (event->what == SERVICE_TOKENS &&
             (event->n_tokens <= 0 || r->n_tokens + event->n_tokens > r->n_tokens_max))
        wrong(sim, "more tokens than the request may have");
    else if (event->what == SERVICE_ENDED && event->why == SERVICE_LENGTH &&
             r->n_tokens != r->n_tokens_max)
        wrong(sim, "an end before the last token");
    else if (event->what == SERVICE_ENDED && event->why == SERVICE_CANCELLED &&
             !client->is_cancelled)
        wrong(sim, "a cancel that was not asked for");
    else if (event->what == SERVICE_ENDED && event->why == SERVICE_DEADLINE &&
             r->deadline_ns > now_ns)
        wrong(sim, "a deadline that has not passed");
}

void sim_check_step(struct sim *sim, const struct sim_engine *e)
{
    if (!engine_is_sound(e->engine))
        wrong(sim, "an engine that is not sound");
}

void sim_check_end(struct sim *sim)
{
    for (int32_t i = 0; i < sim->options->n_engines; i++) {
        if (!engine_is_idle(sim->engines[i].engine))
            wrong(sim, "an engine that holds requests after the last was over");
        sim_check_step(sim, &sim->engines[i]);
        if (sim_door_of(sim, (uint32_t)i)->engines[i].n_sent != 0)
            wrong(sim, "a request that was sent and never came back");
    }
    if (sim->n_over != sim->stream.next || sim_door_n_held(sim) != 0 ||
        sim->n_free_clients != sim->n_clients_max)
        wrong(sim, "a request that was lost");
}
