/* Tells what re-placement would do, and why. */
#include "base/json_out.h"
#include "base/time.h"
#include "fleet/models.h"
#include "fleet/monitor.h"
#include "fleet/replan.h"
#include "live/plan.h"
#include "metrics/print.h"

static const char *const modes[] = { "off", "advise", "on" };

static void tell_score(struct json_out *json, const char *key, const struct live_score *score)
{
    json_out_key(json, key);
    json_out_open(json, '{');
    json_out_key_f64(json, "normalized_latency", score->normalized_latency);
    json_out_key_f64(json, "attainment", score->attainment);
    json_out_key_i64(json, "models_placed", score->n_placed);
    json_out_close(json, '}');
}

static void tell_names(const struct live_job *job, const struct set *services, const char *key,
                       struct json_out *json)
{
    json_out_key(json, key);
    json_out_open(json, '[');
    for (int k = 0; (k = set_next(services, k, job->n_services)) >= 0; k++)
        json_out_text(json, job->services[k].name);
    json_out_close(json, ']');
}

static void tell_plan(const struct fleet_replan *r, int64_t now_ns, struct json_out *json)
{
    const struct live_job *job = r->last;
    const struct monitor_names names = fleet_monitor_names(r->monitor);
    json_out_open(json, '{');
    json_out_key_text(json, "verdict", live_plan_verdict_name(job->result.verdict));
    json_out_key_f64(json, "age_s", (double)(now_ns - r->last_ns) * 1e-9);
    json_out_key_i64(json, "requests", job->result.n_requests);
    tell_score(json, "kept", &job->result.kept);
    tell_score(json, "planned", &job->result.planned);
    json_out_key_text(json, "refused",
                      job->result.fault.text[0] != '\0' ? job->result.fault.text : NULL);
    json_out_key(json, "moves");
    json_out_open(json, '[');
    for (int32_t i = 0; i < job->n_engines; i++) {
        const struct set *was = &job->engines[i].there, *is = &job->result.next[i];
        const struct set in = set_without(is, was), out = set_without(was, is);
        if (set_equals(was, is))
            continue;
        json_out_open(json, '{');
        json_out_key_text(json, "engine", names.engine(names.self, r->last_engines[i]));
        tell_names(job, &in, "loads", json);
        tell_names(job, &out, "unloads", json);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
    json_out_close(json, '}');
}

void fleet_replan_tell(const struct fleet_replan *r, int64_t now_ns, struct json_out *json)
{
    const char *state = r->is_planning ? "planning" : r->is_moving ? "moving" : "waiting";
    json_out_key_text(json, "replacement", modes[r->mode]);
    json_out_key_text(json, "state", r->mode == FLEET_REPLAN_OFF ? "off" : state);
    json_out_key_f64(json, "interval_s", (double)r->interval_ns * 1e-9);
    json_out_key_f64(json, "next_s", (double)max_i64(r->next_ns - now_ns, 0) * 1e-9);
    json_out_key_text(json, "said", r->said[0] != '\0' ? r->said : "no plan was made yet");
    json_out_key_text(json, "last_move", r->moved[0] != '\0' ? r->moved : NULL);
    json_out_key(json, "plan");
    if (r->last->n_services > 0)
        tell_plan(r, now_ns, json);
    else
        json_out_null(json);
    json_out_key(json, "wanted");
    json_out_open(json, '[');
    for (int s = 0; s < r->models->n; s++) {
        const struct live_want *want = &r->wants[s];
        if (!fleet_models_is_there(r->models, s))
            continue;
        json_out_open(json, '{');
        json_out_key_text(json, "model", r->models->services[s].name);
        json_out_key_i64(json, "copies", r->copies[s]);
        json_out_key(json, "engines_wanted");
        if (want->n_wanted >= 0)
            json_out_i64(json, want->n_wanted);
        else
            json_out_null(json);
        json_out_key_f64(json, "rate_per_s", want->rate);
        json_out_key_f64(json, "rate_of_one_engine", want->rate_of_one);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
}

void fleet_replan_metrics(const struct fleet_replan *r, struct str *out)
{
    str_printf(out, "# HELP shoal_replan_plans_total Live plans by verdict.\n"
                    "# TYPE shoal_replan_plans_total counter\n");
    for (int32_t v = 0; v < 4; v++)
        str_printf(out, "shoal_replan_plans_total{verdict=\"%s\"} %lld\n",
                   live_plan_verdict_name(v), (long long)r->n_verdicts[v]);
    str_printf(out, "shoal_replan_plans_total{verdict=\"failed\"} %lld\n", (long long)r->n_failed);
    str_printf(out,
               "# HELP shoal_replan_moves_total Moves that ended, by how.\n"
               "# TYPE shoal_replan_moves_total counter\n"
               "shoal_replan_moves_total{end=\"done\"} %lld\n"
               "shoal_replan_moves_total{end=\"abandoned\"} %lld\n"
               "# HELP shoal_replan_moving Whether a move is under way.\n"
               "# TYPE shoal_replan_moving gauge\nshoal_replan_moving %d\n"
               "# HELP shoal_replan_interval_seconds Time between plans (SeaLLM, Equation 8).\n"
               "# TYPE shoal_replan_interval_seconds gauge\nshoal_replan_interval_seconds %.3f\n",
               (long long)r->n_moves_done, (long long)r->n_moves_abandoned, r->is_moving,
               (double)r->interval_ns * 1e-9);
    if (r->last->n_services > 0)
        str_printf(out,
                   "# HELP shoal_replan_normalized_latency Simulated on the last window.\n"
                   "# TYPE shoal_replan_normalized_latency gauge\n"
                   "shoal_replan_normalized_latency{placement=\"present\"} %.6g\n"
                   "shoal_replan_normalized_latency{placement=\"planned\"} %.6g\n",
                   r->last->result.kept.normalized_latency,
                   r->last->result.planned.normalized_latency);
    metrics_print_name(out, "shoal_engines_wanted",
                       "Engines that the model wants (Aladdin, Equation 7).", "gauge");
    for (int s = 0; s < r->models->n; s++) {
        if (r->wants[s].n_wanted < 0 || !fleet_models_is_there(r->models, s))
            continue;
        str_add_text(out, "shoal_engines_wanted");
        metrics_print_label(out, '{', "model", r->models->services[s].name);
        str_printf(out, "} %d\n", r->wants[s].n_wanted);
    }
}
