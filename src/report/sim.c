/* Prints simulations. */
#include "report/sim.h"

#include "metrics/interval.h"
#include "metrics/score_print.h"
#include "place/watch.h"
#include "report/kv.h"
#include "report/lengths.h"
#include "report/peak.h"
#include <string.h>

enum { SEEDS_MAX = 1000 };

static double busy_of(const struct scenario_case *c)
{
    double span_s = (double)c->report.end_ns * 1e-9;
    if (c->world.is_placed) /* engines of many sizes that come and go */
        span_s = (double)c->report.engine_ns * 1e-9 / (double)max_i32(c->world.n_engines, 1);
    double engines_s = span_s * c->world.n_engines;
    return engines_s > 0 ? (double)c->report.busy_ns * 1e-9 / engines_s : 0;
}

/* Returns the devices that were on, as a mean over the run. */
static double devices_of(const struct scenario_case *c)
{
    return c->report.end_ns > 0 ? (double)c->report.device_ns / (double)c->report.end_ns : 0;
}

struct work { /* over all services, from counters, since records lack it */
    double batch_size, static_size, static_early; /* requests of a batch; part of static ones */
    int64_t n_swapped, n_forced;
    struct report_peak peak;
};

static struct work work_of(const struct scenario_case *c)
{
    const struct sim_report *r = &c->report;
    int64_t n_batches = 0, n_rows = 0;
    struct work work = { .batch_size = 0 };
    for (int32_t s = 0; s < r->n_services; s++) {
        n_batches += r->services[s].n_batches;
        n_rows += r->services[s].n_batch_rows;
        work.n_swapped += r->services[s].n_swapped;
        work.n_forced += r->services[s].n_forced;
    }
    if (n_batches > 0)
        work.batch_size = (double)n_rows / (double)n_batches;
    if (r->n_static_batches > 0) {
        work.static_size = (double)r->n_static_seats / (double)r->n_static_batches;
        work.static_early = (double)r->n_static_early / (double)r->n_static_batches;
    }
    report_peak_of(&c->world, &c->set, r, c->scores[c->set.n_services].makespan_s, &work.peak);
    return work;
}

/* Gains are of a move, in the mean. */
static double per_move(double sum, int64_t n)
{
    return n > 0 ? sum / (double)n : 0;
}

static void print_moves(const struct sim_replan_report *r, struct doc *out)
{
    if (r->n_plans == 0)
        return;
    doc_say(out,
            "planned anew %lld times: %lld moves, %lld the same plan, %lld without gain, %lld "
            "that would cost more than they gain, %lld with less room; every %.4g s in the end",
            (long long)r->n_plans, (long long)r->n_moves, (long long)r->n_verdicts[REPLACE_SAME],
            (long long)r->n_verdicts[REPLACE_NO_GAIN], (long long)r->n_verdicts[REPLACE_NOT_WORTH],
            (long long)r->n_worse, (double)r->interval_ns * 1e-9);
    if (r->n_moves == 0)
        return;
    doc_say(out,
            "moves: %.4g GB loaded, %.4g GB of them fetched from disks before; %lld requests "
            "sent back; devices away %.4g s, services nowhere %.4g s in all",
            (double)r->loaded_bytes * 1e-9, (double)r->fetched_bytes * 1e-9,
            (long long)r->n_returned, (double)r->away_ns * 1e-9, (double)r->unavailable_ns * 1e-9);
    doc_say(out,
            "a move's gain in the mean: promised %.2f%% of normalized latency, %.2f points of "
            "attainment; got %.2f%%, %.2f (of %lld moves)",
            100 * per_move(r->promised_latency, r->n_moves),
            100 * per_move(r->promised_attainment, r->n_moves),
            100 * per_move(r->got_latency, r->n_judged),
            100 * per_move(r->got_attainment, r->n_judged), (long long)r->n_judged);
}

static void print_chains(const struct sim_chains_report *r, struct doc *out)
{
    const int64_t *n = r->n_reruns;
    if (n[WATCH_LEFT] + n[WATCH_JOINED] + n[WATCH_KV] == 0)
        return;
    doc_say(out,
            "maps of layers: a device left %lld times, one joined %lld times, KV was short %lld "
            "times, weighed again %lld times; %lld other maps, %lld the same, %lld not worth "
            "the move, %lld without any",
            (long long)n[WATCH_LEFT], (long long)n[WATCH_JOINED], (long long)n[WATCH_KV],
            (long long)n[WATCH_NOTHING], (long long)r->n_maps, (long long)r->n_same,
            (long long)r->n_kept, (long long)r->n_none);
    doc_say(out,
            "chains: %.4g GB loaded, %lld requests sent back, %.4g s in which one served "
            "nothing",
            (double)r->loaded_bytes * 1e-9, (long long)r->n_returned, (double)r->away_ns * 1e-9);
    if (r->n_crashes > 0)
        doc_say(out, "devices of a map that crashed: %lld, with %lld requests on their way",
                (long long)r->n_crashes, (long long)r->n_crashed);
}

static void print_work(const struct scenario_case *c, struct doc *out)
{
    const struct work work = work_of(c);
    doc_say(out,
            "devices %lld, busy %.2f%% of the time; %lld batches of %.4g requests, each gave "
            "%.4g tokens in the mean; at most %lld held at the door",
            (long long)c->world.n_devices, 100 * busy_of(c), (long long)c->report.n_rounds,
            work.batch_size,
            c->report.n_rounds > 0
                ? (double)c->scores[c->set.n_services].n_tokens / (double)c->report.n_rounds
                : 0,
            (long long)c->report.n_held_max);
    if (c->report.n_started + c->report.n_stopped > 0)
        doc_say(out, "workers started %lld, stopped %lld; devices %.4g in the mean",
                (long long)c->report.n_started, (long long)c->report.n_stopped, devices_of(c));
    print_moves(&c->report.replace, out);
    print_chains(&c->report.chains, out);
    if (c->report.n_handed > 0)
        doc_say(out, "handed over to decode engines: %lld requests with %.4g GB of KV",
                (long long)c->report.n_handed, (double)c->report.handed_bytes * 1e-9);
    if (work.n_forced + c->report.n_forced > 0)
        doc_say(out,
                "forced: %lld batches for requests that starved, %lld requests sent to engines "
                "that will miss a target",
                (long long)work.n_forced, (long long)c->report.n_forced);
    if (c->report.n_static_batches > 0)
        doc_say(out, "static batches %lld of %.4g requests, %.2f%% came back early",
                (long long)c->report.n_static_batches, work.static_size, 100 * work.static_early);
    const struct sim_faults_report *bus = &c->report.bus;
    if (bus->n_messages > 0)
        doc_say(out,
                "bus: %lld messages, %.4g MB; %lld sent again, %lld arrived twice, %lld found "
                "it full; %lld crashes, %lld requests came back from them",
                (long long)bus->n_messages, (double)bus->n_bytes * 1e-6, (long long)bus->n_lost,
                (long long)bus->n_twice, (long long)bus->n_refused, (long long)bus->n_crashes,
                (long long)bus->n_crashed);
    if (bus->n_dropped + bus->n_holes > 0)
        doc_say(out,
                "lost for good: %lld messages in %lld breaks and between, %lld pieces of "
                "answers",
                (long long)bus->n_dropped, (long long)bus->n_breaks, (long long)bus->n_holes);
    if (work.peak.is_known)
        doc_say(out,
                "achieved of the devices' peak: %.3f%% of arithmetic, %.3f%% of memory "
                "bandwidth",
                100 * work.peak.compute, 100 * work.peak.memory);
}

/* Returns whether the service has first predictions that may be wrong. */
static bool has_lengths(const struct scenario_case *c, int32_t service)
{
    return c->report.services[service].lengths.n > 0 && strcmp(c->predictor, "oracle") != 0;
}

static void print_lengths(const struct scenario_case *c, struct doc *out)
{
    struct str line;
    str_init(&line);
    for (int32_t s = 0; s < c->report.n_services; s++) {
        if (!has_lengths(c, s))
            continue;
        str_clear(&line);
        length_calibration_print(&c->report.services[s].lengths, c->set.names[s], &line);
        doc_say(out, "lengths predicted, %.*s", (int)strcspn(line.at, "\n"), line.at);
    }
    str_free(&line);
}

void report_sim_one(const struct scenario_case *c, struct doc *out)
{
    const struct score_options options = { .services = c->world.scores, .rule = c->rule };
    const struct score_sheet sheet = { &c->set, &options, c->scores, NULL };
    scenario_world_print(&c->world, out);
    doc_say(out, "%s: policy %s, router %s, predictor %s, seed %llu", c->label, c->report.policy,
            c->report.router, c->predictor, (unsigned long long)c->report.seed);
    metrics_score_print_table(&sheet, out);
    metrics_score_print_attainment(&sheet, out);
    print_work(c, out);
    print_lengths(c, out);
    report_kv_print(c, out);
    doc_say(out, "records %016llx", (unsigned long long)c->hash);
}

static void work_json(const struct scenario_case *c, struct json_out *json)
{
    const struct work work = work_of(c);
    const struct {
        const char *key;
        double value;
        bool is_there;
    } figures[] = {
        { "busy_share", busy_of(c), true },
        { "devices_mean", devices_of(c), true },
        { "workers_started", (double)c->report.n_started, true },
        { "workers_stopped", (double)c->report.n_stopped, true },
        { "batch_size", work.batch_size, true },
        { "static_batch_size", work.static_size, c->report.n_static_batches > 0 },
        { "static_early_returns", work.static_early, c->report.n_static_batches > 0 },
        { "achieved_compute_share", work.peak.compute, work.peak.is_known },
        { "achieved_memory_share", work.peak.memory, work.peak.is_known },
    };
    for (size_t i = 0; i < COUNT_OF(figures); i++) {
        if (!figures[i].is_there)
            continue;
        json_out_key_f64(json, figures[i].key, figures[i].value);
    }
    json_out_key_i64(json, "batches", c->report.n_rounds);
    json_out_key_i64(json, "handed_requests", c->report.n_handed);
    json_out_key_i64(json, "handed_bytes", c->report.handed_bytes);
    json_out_key_i64(json, "forced_batches", work.n_forced);
    json_out_key_i64(json, "forced_requests", c->report.n_forced);
    json_out_key_i64(json, "static_batches", c->report.n_static_batches);
}

static void moves_json(const struct sim_replan_report *r, struct json_out *json)
{
    const struct {
        const char *key;
        double value;
    } figures[] = {
        { "plans", (double)r->n_plans },
        { "moves", (double)r->n_moves },
        { "plans_same", (double)r->n_verdicts[REPLACE_SAME] },
        { "plans_without_gain", (double)r->n_verdicts[REPLACE_NO_GAIN] },
        { "plans_not_worth", (double)r->n_verdicts[REPLACE_NOT_WORTH] },
        { "plans_with_less_room", (double)r->n_worse },
        { "plans_asked_by_kv", (double)r->n_alarms },
        { "loaded_bytes", (double)r->loaded_bytes },
        { "fetched_bytes", (double)r->fetched_bytes },
        { "returned_requests", (double)r->n_returned },
        { "away_device_s", (double)r->away_ns * 1e-9 },
        { "unavailable_s", (double)r->unavailable_ns * 1e-9 },
        { "promised_latency", per_move(r->promised_latency, r->n_moves) },
        { "promised_attainment", per_move(r->promised_attainment, r->n_moves) },
        { "got_latency", per_move(r->got_latency, r->n_judged) },
        { "got_attainment", per_move(r->got_attainment, r->n_judged) },
    };
    for (size_t i = 0; i < COUNT_OF(figures) && r->n_plans > 0; i++)
        json_out_key_f64(json, figures[i].key, figures[i].value);
}

static void chains_json(const struct sim_chains_report *r, struct json_out *json)
{
    const struct {
        const char *key;
        double value;
    } figures[] = {
        { "layer_plans_left", (double)r->n_reruns[WATCH_LEFT] },
        { "layer_plans_joined", (double)r->n_reruns[WATCH_JOINED] },
        { "layer_plans_kv", (double)r->n_reruns[WATCH_KV] },
        { "layer_plans_again", (double)r->n_reruns[WATCH_NOTHING] },
        { "layer_maps", (double)r->n_maps },
        { "layer_maps_kept", (double)r->n_kept },
        { "layer_maps_same", (double)r->n_same },
        { "layer_maps_none", (double)r->n_none },
        { "chain_loaded_bytes", (double)r->loaded_bytes },
        { "chain_returned_requests", (double)r->n_returned },
        { "chain_away_s", (double)r->away_ns * 1e-9 },
        { "chain_crashes", (double)r->n_crashes },
        { "chain_crashed_requests", (double)r->n_crashed },
    };
    for (size_t i = 0;
         i < COUNT_OF(figures) && figures[0].value + figures[1].value + figures[2].value > 0; i++)
        json_out_key_f64(json, figures[i].key, figures[i].value);
}

static void bus_json(const struct sim_faults_report *bus, struct json_out *json)
{
    const struct {
        const char *key;
        int64_t value;
    } counts[] = {
        { "bus_messages", bus->n_messages }, { "bus_bytes", bus->n_bytes },
        { "bus_lost", bus->n_lost },         { "bus_twice", bus->n_twice },
        { "bus_refused", bus->n_refused },   { "bus_dropped", bus->n_dropped },
        { "bus_breaks", bus->n_breaks },     { "bus_holes", bus->n_holes },
        { "crashes", bus->n_crashes },       { "crashed_requests", bus->n_crashed },
    };
    for (size_t i = 0; i < COUNT_OF(counts) && bus->n_messages > 0; i++)
        json_out_key_i64(json, counts[i].key, counts[i].value);
}

static void lengths_json(const struct scenario_case *c, struct json_out *json)
{
    json_out_key(json, "predicted_lengths");
    json_out_open(json, '[');
    for (int32_t s = 0; s < c->report.n_services; s++) {
        if (!has_lengths(c, s))
            continue;
        json_out_open(json, '{');
        json_out_key_text(json, "name", c->set.names[s]);
        report_lengths_json(&c->report.services[s].lengths, json);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
}

static void facts_json(const struct scenario_case *c, struct json_out *json)
{
    struct str hash;
    str_init(&hash);
    str_printf(&hash, "%016llx", (unsigned long long)c->hash);
    json_out_key_text(json, "label", c->label);
    json_out_key_text(json, "policy", c->report.policy);
    json_out_key_text(json, "router", c->report.router);
    json_out_key_i64(json, "seed", (int64_t)c->report.seed);
    json_out_key_f64(json, "rate_scale", c->rate_scale);
    json_out_key_i64(json, "engines", c->world.n_engines);
    json_out_key_i64(json, "devices", c->world.n_devices);
    work_json(c, json);
    moves_json(&c->report.replace, json);
    chains_json(&c->report.chains, json);
    bus_json(&c->report.bus, json);
    lengths_json(c, json);
    report_kv_json(c, json);
    json_out_key_i64(json, "held_max", c->report.n_held_max);
    json_out_key_text(json, "records_hash", hash.at);
    str_free(&hash);
}

void report_sim_one_json(const struct scenario_case *c, struct str *out)
{
    const struct score_options options = { .services = c->world.scores, .rule = c->rule };
    const struct score_sheet sheet = { &c->set, &options, c->scores, NULL };
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    facts_json(c, &json);
    metrics_score_print_json(&sheet, &json);
    json_out_close(&json, '}');
    str_add_char(out, '\n');
}

/* ---- Many. ---- */

enum figure { NL, LATENCY, TTFT_P99, MET, SERVED, N_FIGURES };
static const struct {
    const char *key;
    bool is_relative; /* differences are relative to the first label's value */
} figures[N_FIGURES] = {
    [NL] = { "normalized_latency", true },   [LATENCY] = { "mean_e2el_s", true },
    [TTFT_P99] = { "p99_ttft_s", true },     [MET] = { "slo_attainment", false },
    [SERVED] = { "served_fraction", false },
};

static double value_of(const struct scenario_case *c, enum figure figure)
{
    const struct score *all = &c->scores[c->set.n_services];
    switch (figure) {
    case NL:
        return all->normalized.mean;
    case LATENCY:
        return all->latency_s.mean;
    case TTFT_P99:
        return all->ttft_s.p99;
    case MET:
        return all->met;
    default:
        return all->served_fraction;
    }
}

static const struct scenario_case *cell(const struct report_sim_grid *grid, int rate, int label,
                                        int seed)
{
    return &grid->cases[(rate * grid->n_labels + label) * grid->n_seeds + seed];
}

static struct interval level(const struct report_sim_grid *grid, int rate, int label,
                             enum figure figure)
{
    double values[SEEDS_MAX];
    for (int s = 0; s < grid->n_seeds; s++)
        values[s] = value_of(cell(grid, rate, label, s), figure);
    return metrics_interval_of(values, grid->n_seeds);
}

/* Returns the difference of the label to the first one, seed by seed. */
static struct interval difference(const struct report_sim_grid *grid, int rate, int label,
                                  enum figure figure)
{
    double values[SEEDS_MAX];
    for (int s = 0; s < grid->n_seeds; s++) {
        double first = value_of(cell(grid, rate, 0, s), figure);
        values[s] = value_of(cell(grid, rate, label, s), figure) - first;
        if (figures[figure].is_relative && first > 0)
            values[s] /= first;
    }
    return metrics_interval_of(values, grid->n_seeds);
}

static uint64_t hash_of(const struct report_sim_grid *grid, int rate, int label)
{
    uint64_t hash = 0;
    for (int s = 0; s < grid->n_seeds; s++)
        hash = hash * UINT64_C(0x9e3779b97f4a7c15) + cell(grid, rate, label, s)->hash;
    return hash;
}

static const struct doc_column grid_columns[] = {
    { "POLICY", "policy", NULL, true },
    { "RATE", "rate", "the rate of arrivals, as a multiple of the workload's", false },
    { "NL", "NL",
      "normalized latency: latency divided by the mean latency that the service's "
      "requests have alone on the engine, mean over requests",
      false },
    { "LATENCY s", "latency s", "seconds from arrival to the last token, mean", false },
    { "P99 TTFT s", "TTFT p99 s", "the time to first token that 99% do not exceed", false },
    { "MET", "MET", "SLO attainment: the part of the requests that meet the rule of the run",
      false },
    { "SERVED", "served",
      "requests done, per second, as a part of the rate at which they arrived; "
      "of the service that has the least",
      false },
    { "RECORDS", "records", "a hash of all records: equal runs have equal ones", true },
};

/* A figure's cell: its mean, and the interval if there are seeds for one. */
static void level_cell(struct interval i, bool is_part, int n_seeds, struct doc *out)
{
    doc_part(out, is_part ? "%.1f%%" : "%.4g", is_part ? 100 * i.mean : i.mean);
    if (n_seeds > 1 && is_part)
        doc_part(out, " -/+ %.1f", 100 * (i.high - i.mean));
    else if (n_seeds > 1)
        doc_part(out, " -/+ %.2g", i.high - i.mean);
    doc_end(out);
}

static void difference_cell(struct interval i, int n_seeds, struct doc *out)
{
    if (n_seeds > 1)
        doc_cell(out, "[%+.2f%%, %+.2f%%]", 100 * i.low, 100 * i.high);
    else
        doc_cell(out, "%+.2f%%", 100 * i.mean);
}

static void print_rate(const struct report_sim_grid *grid, int r, struct doc *out)
{
    for (int l = 0; l < grid->n_labels; l++) {
        doc_cell(out, "%s", grid->labels[l]);
        doc_cell(out, "%.4g", grid->rates[r]);
        for (int f = 0; f < N_FIGURES; f++)
            level_cell(level(grid, r, l, (enum figure)f), !figures[f].is_relative, grid->n_seeds,
                       out);
        doc_cell(out, "%016llx", (unsigned long long)hash_of(grid, r, l));
    }
    for (int l = 1; l < grid->n_labels; l++) {
        doc_cell(out, "%s less %s", grid->labels[l], grid->labels[0]);
        doc_cell(out, "%s", "");
        for (int f = 0; f < N_FIGURES; f++)
            difference_cell(difference(grid, r, l, (enum figure)f), grid->n_seeds, out);
        doc_cell(out, "%s", "");
    }
}

void report_sim_grid(const struct report_sim_grid *grid, struct doc *out)
{
    scenario_world_print(&grid->cases[0].world, out);
    if (grid->n_seeds > 1)
        doc_say(out,
                "%d seeds; -/+ and [low, high]: Student's 95%% intervals over seeds; differences "
                "are paired by seed with %s",
                grid->n_seeds, grid->labels[0]);
    else
        doc_say(out, "1 seed, so that no interval is known");
    if (grid->n_labels > 1)
        doc_say(out, "differences are in percent of %s, and of MET and SERVED in percentage points",
                grid->labels[0]);
    doc_gap(out);
    doc_table(out, grid_columns, COUNT_OF(grid_columns));
    for (int r = 0; r < grid->n_rates; r++)
        print_rate(grid, r, out);
    doc_table_end(out);
}

static void bounds_json(struct json_out *json, struct interval i)
{
    json_out_key_f64(json, "mean", i.mean);
    json_out_key_f64(json, "low", i.low);
    json_out_key_f64(json, "high", i.high);
}

static void level_json(const struct report_sim_grid *grid, struct json_out *json, int rate,
                       int label, enum figure figure)
{
    json_out_key(json, figures[figure].key);
    json_out_open(json, '{');
    bounds_json(json, level(grid, rate, label, figure));
    json_out_key(json, "by_seed");
    json_out_open(json, '[');
    for (int s = 0; s < grid->n_seeds; s++)
        json_out_f64(json, value_of(cell(grid, rate, label, s), figure));
    json_out_close(json, ']');
    json_out_close(json, '}');
}

static void difference_json(const struct report_sim_grid *grid, struct json_out *json, int rate,
                            int label, enum figure figure)
{
    json_out_key(json, figures[figure].key);
    json_out_open(json, '{');
    bounds_json(json, difference(grid, rate, label, figure));
    json_out_close(json, '}');
}

void report_sim_grid_json(const struct report_sim_grid *grid, struct str *out)
{
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key(&json, "points");
    json_out_open(&json, '[');
    for (int i = 0; i < grid->n_rates * grid->n_labels; i++) {
        int rate = i / grid->n_labels, label = i % grid->n_labels;
        json_out_open(&json, '{');
        facts_json(cell(grid, rate, label, 0), &json);
        json_out_key_i64(&json, "seeds", grid->n_seeds);
        for (int f = 0; f < N_FIGURES; f++)
            level_json(grid, &json, rate, label, (enum figure)f);
        json_out_key(&json, "less_first");
        json_out_open(&json, '{');
        for (int f = 0; f < N_FIGURES; f++)
            difference_json(grid, &json, rate, label, (enum figure)f);
        json_out_close(&json, '}');
        json_out_close(&json, '}');
    }
    json_out_close(&json, ']');
    json_out_close(&json, '}');
    str_add_char(out, '\n');
}
