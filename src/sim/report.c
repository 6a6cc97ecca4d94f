/* Writes the simulator's report: sums while it runs, text in the end. */
#include "sim/state.h"

#include "base/hash.h"
#include "base/mem.h"
#include <string.h>

void sim_report_open(struct sim *sim)
{
    const struct sim_options *o = sim->options;
    *sim->report = (struct sim_report){
        .policy = o->policy->name,
        .router = o->router ? o->router->name : "least",
        .seed = o->workload->seed,
        .n_services = o->n_services,
    };
    sim->report->services = mem_take((size_t)o->n_services * sizeof(*sim->report->services));
}

void sim_report_free(struct sim_report *report)
{
    mem_give(report->services);
    report->services = NULL;
}

static const struct perf *perf_of(const struct sim *sim, const struct sim_client *client)
{
    const struct sim_options *o = sim->options;
    bool is_own = o->engines != NULL && client->engine != SIM_NO_ENGINE &&
                  o->engines[client->engine].perfs != NULL;
    return is_own ? &o->engines[client->engine].perfs[sim_request(sim, client)->service]
                  : &o->services[sim_request(sim, client)->service].perf;
}

/* Takes the record of a request from its client. */
static void take(struct sim *sim, const struct sim_client *client,
                 const struct service_event *event)
{
    const struct route_request *r = sim_request(sim, client);
    if (sim->options->take == NULL)
        return;
    int32_t n_wanted = r->n_tokens_max - r->n_prompt;
    static const struct sim_told nothing;
    const struct sim_told *told = sim->told != NULL ? sim_told(sim, client) : &nothing;
    struct record record = {
        .id = r->id >> SIM_LIVE_BITS,
        .arrived_ns = r->arrived_ns,
        .first_ns = r->first_ns,
        .end_ns = sim->clock_ns,
        .solo_ns = (perf_solo_ps(perf_of(sim, client), r->n_prompt, n_wanted) + 500) / 1000,
        .gap_ns_max = told->gap_ns_max,
        .n_prompt = r->n_prompt,
        .n_output = r->n_tokens - r->n_prompt,
        .n_wanted = n_wanted,
        .n_predicted = client->n_first_predicted,
        .n_cached = event->n_cached,
        .n_preempted = event->n_preempted,
        .n_pad = told->n_pad,
        .n_invalid = told->n_invalid,
        .n_slices = (int32_t)r->epoch + 1,
        .n_batches = told->n_batches,
        .n_batch_rows = told->n_batch_rows,
        .n_swapped = told->n_swapped,
        .n_early = told->n_early,
        .service = r->service,
        .engine = client->engine,
        .why = (uint8_t)metrics_record_why_of(event->why),
    };
    sim->options->take(sim->options->take_self, &record);
}

void sim_report_unfinished(struct sim *sim)
{
    const struct service_event unfinished = { .why = SERVICE_WHY_NONE };
    for (uint32_t i = 0; i < sim->n_clients_max && sim->options->take != NULL; i++)
        if (sim->clients[i].is_live)
            take(sim, &sim->clients[i], &unfinished);
}

/* One request is over. */
void sim_report_add(struct sim *sim, const struct sim_client *client,
                    const struct service_event *event)
{
    const struct route_request *r = sim_request(sim, client);
    struct sim_service_report *s = &sim->report->services[r->service];
    int32_t n_new = r->n_tokens - r->n_prompt;
    int64_t record[5] = { (int64_t)(r->id >> SIM_LIVE_BITS), event->why, r->first_ns, sim->clock_ns,
                          n_new };
    sim->report->hash = hash_fast(record, sizeof(record), sim->report->hash).low;
    take(sim, client, event);
    sim->report->n_requests++;
    sim->report->end_ns = sim->clock_ns;
    s->n_requests++;
    s->n_ended[event->why]++;
    s->n_prompt_tokens += r->n_prompt;
    s->n_tokens += n_new;
    s->n_preempted += event->n_preempted;
    if (event->why != SERVICE_LENGTH && event->why != SERVICE_STOPPED)
        return;
    int64_t e2e_ns = sim->clock_ns - r->arrived_ns, ttft_ns = r->first_ns - r->arrived_ns;
    int64_t solo_ps = perf_solo_ps(&sim->options->services[r->service].perf, r->n_prompt, n_new);
    s->e2e_s += (double)e2e_ns * 1e-9;
    s->ttft_s += (double)ttft_ns * 1e-9;
    s->solo_s += (double)solo_ps * 1e-12;
    if (n_new > 1)
        s->tpot_s += (double)(e2e_ns - ttft_ns) * 1e-9 / (n_new - 1);
    s->n_met += e2e_ns <= solo_ps / 200;
    hist_add(&s->e2e_ns, e2e_ns);
    hist_add(&s->ttft_ns, ttft_ns);
}

static void print_service(const struct sim_service_report *s, const char *name, struct str *out)
{
    double n = (double)(s->n_ended[SERVICE_LENGTH] + s->n_ended[SERVICE_STOPPED]);
    str_printf(out, "%s: %lld requests", name, (long long)s->n_requests);
    for (enum service_why why = SERVICE_STOPPED; why < SERVICE_WHY_N; why++)
        if (s->n_ended[why] > 0)
            str_printf(out, ", %lld %s", (long long)s->n_ended[why], service_why_name(why));
    str_printf(out, "; %lld prompt tokens, %lld tokens, %lld preemptions\n",
               (long long)s->n_prompt_tokens, (long long)s->n_tokens, (long long)s->n_preempted);
    if (n == 0)
        return;
    str_printf(out, "  end to end mean %.9g s, p50 %.9g, p99 %.9g, max %.9g\n", s->e2e_s / n,
               (double)hist_quantile(&s->e2e_ns, 0.5) * 1e-9,
               (double)hist_quantile(&s->e2e_ns, 0.99) * 1e-9, (double)s->e2e_ns.max * 1e-9);
    str_printf(out, "  first token mean %.9g s, p50 %.9g, p99 %.9g, max %.9g\n", s->ttft_s / n,
               (double)hist_quantile(&s->ttft_ns, 0.5) * 1e-9,
               (double)hist_quantile(&s->ttft_ns, 0.99) * 1e-9, (double)s->ttft_ns.max * 1e-9);
    str_printf(out, "  per token mean %.9g s; normalized latency %.9g; within 5x solo %.9g\n",
               s->tpot_s / n, s->e2e_s / s->solo_s, (double)s->n_met / n);
    if (s->lengths.n > 0)
        length_calibration_print(&s->lengths, "  predicted lengths", out);
}

void sim_report_print(const struct sim_report *report, const struct sim_options *options,
                      struct str *out)
{
    double end_s = (double)report->end_ns * 1e-9;
    str_printf(out, "policy %s, seed %llu: %llu requests over %.9g s\n", report->policy,
               (unsigned long long)report->seed, (unsigned long long)report->n_requests, end_s);
    if (report->wrong != NULL)
        str_printf(out, "WRONG: %s\n", report->wrong);
    str_printf(
        out, "%lld batches, engines busy %.9g; at most %lld held at the door; records %016llx\n",
        (long long)report->n_rounds, (double)report->busy_ns * 1e-9 / (end_s * options->n_engines),
        (long long)report->n_held_max, (unsigned long long)report->hash);
    if (report->n_started + report->n_stopped > 0)
        str_printf(out, "workers started %lld, stopped %lld; devices %.9g in the mean\n",
                   (long long)report->n_started, (long long)report->n_stopped,
                   (double)report->device_ns * 1e-9 / end_s);
    for (int32_t i = 0; i < report->n_services; i++)
        print_service(&report->services[i], options->services[i].name, out);
}
