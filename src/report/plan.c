/* Plans as text and JSON. */
#include "report/plan.h"

#include "base/json_out.h"
#include <stdio.h>
#include <string.h>

static double gib(int64_t bytes)
{
    return (double)bytes * 0x1p-30;
}

/* ---- The drawing: a line per node, a letter per engine. ---- */

char report_plan_letter(int32_t group)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    return letters[group % (int32_t)(sizeof(letters) - 1)];
}

/* In text only; a page has the picture. */
static void draw_node(const struct report_plan *report, int32_t node, struct str *out)
{
    const struct place_problem *p = &report->of->problem;
    const struct place_plan *plan = &report->options[0].plan;
    const struct place_node *n = &p->nodes[node];
    char cells[PLACE_DEVICES_MAX / 64];
    int32_t n_cells = min_i32(n->n_devices, (int32_t)sizeof(cells));
    memset(cells, '.', sizeof(cells));
    str_printf(out, "  node %-4d %-10s |", node, p->kinds[n->kind].name);
    for (int32_t g = 0; g < plan->n_groups; g++) {
        const struct place_group *group = &plan->groups[g];
        for (int32_t i = 0; i < group->n_devices && group->node == node; i++)
            cells[group->first_device - n->first_device + i] = report_plan_letter(g);
    }
    for (int32_t i = 0; i < n_cells; i++) {
        bool is_edge = i + 1 == n_cells || cells[i] != cells[i + 1] || cells[i] == '.';
        str_printf(out, "%c%c", cells[i], is_edge ? '|' : cells[i]);
    }
    str_add_char(out, '\n');
}

void report_plan_lanes(const struct place_group *group, struct str *out)
{
    const struct place_division *division = place_division_of(group->division);
    for (int32_t i = 0; i < division->n; i++)
        str_printf(out, "%s%d", i == 0 ? "; lanes " : ":", division->parts[i]);
}

static const struct doc_column engine_columns[] = {
    { "ENGINE", "engine", NULL, true },
    { "DEVICES", "devices", NULL, true },
    { "WEIGHTS GiB", "weights GiB", "memory of the models' weights", false },
    { "KV GiB", "KV GiB", "memory of keys and values, shared by the engine's models", false },
    { "SERVICES", "services",
      "the models on it, with their share of the engine where that is less "
      "than all of it",
      true },
};

static void print_engine(const struct report_plan *report, int32_t g, struct doc *out)
{
    const struct place_problem *p = &report->of->problem;
    const struct place_group *group = &report->options[0].plan.groups[g];
    int64_t kv = place_group_kv_bytes(p, group);
    int32_t first = group->first_device - p->nodes[group->node].first_device;
    struct str lanes;
    doc_cell(out, "%c", report_plan_letter(g));
    doc_part(out, "node %d: %d", group->node, first);
    if (group->n_devices > 1)
        doc_part(out, "-%d", first + group->n_devices - 1);
    doc_end(out);
    doc_cell(out, "%.1f", gib(place_group_memory(p, group) - kv));
    doc_cell(out, "%.1f", gib(kv));
    for (int32_t m = 0; m < group->n_members; m++) {
        const struct place_member *member = &group->members[m];
        const char *model = report->of->models[member->service];
        doc_part(out, "%s%s", m > 0 ? ", " : "", p->services[member->service].name);
        if (model != NULL && strstr(p->services[member->service].name, model) == NULL)
            doc_part(out, " (%s)", model);
        if (member->share_percent < 100)
            doc_part(out, " %d%%", member->share_percent);
        if (member->kv_bytes > 0)
            doc_part(out, " %.1f GiB KV", gib(member->kv_bytes));
    }
    str_init(&lanes);
    report_plan_lanes(group, &lanes);
    doc_cell(out, "%s", lanes.at != NULL ? lanes.at : "");
    str_free(&lanes);
}

/* ---- Services. ---- */

static const struct doc_column service_columns[] = {
    { "SERVICE", "service", NULL, true },
    { "RATE/S", "rate/s", "requests that arrive per second", false },
    { "SOLO S", "alone s", "mean latency of its requests alone on an engine", false },
    { "COPIES", "copies", "engines that have it", false },
    { "IN TIME", "in time", "the part of its requests that meet their target", false },
    { "NORM", "NL",
      "normalized latency: mean latency divided by the one alone. A dash: it has no "
      "engine",
      false },
    { "MEAN S", "latency s", "mean latency of the requests that were answered", false },
};

/* Writes a figure of latency, or a dash for a service that never ran. */
static void add_latency(double value, bool has_run, int n_digits, struct doc *out)
{
    if (has_run)
        doc_part(out, "%.*f", n_digits, value);
    else
        doc_part(out, "-");
}

static void latency_cell(double value, bool has_run, int n_digits, struct doc *out)
{
    add_latency(value, has_run, n_digits, out);
    doc_end(out);
}

static void latency_json(struct json_out *json, const char *key, double value, bool has_run)
{
    json_out_key(json, key);
    if (has_run)
        json_out_f64(json, value);
    else
        json_out_null(json);
}

static void print_service(const struct report_plan *report, int32_t s, struct doc *out)
{
    const struct place_problem *p = &report->of->problem;
    const struct plan_option *best = &report->options[0];
    const struct place_service_score *score = &best->planned.services[s];
    double n = (double)max_i64(score->n, 1);
    int32_t n_copies = place_plan_copies(&best->plan, s);
    doc_cell(out, "%s", p->services[s].name);
    doc_cell(out, "%.3g", p->services[s].rate_per_s);
    doc_cell(out, "%.3g", p->services[s].solo_s);
    doc_cell(out, "%d", n_copies);
    doc_cell(out, "%.1f%%", score->n > 0 ? 100 * (double)score->n_met / n : 100.0);
    latency_cell(score->normalized / n, n_copies > 0, 2, out);
    latency_cell(score->latency_s / (double)max_i64(score->n_done, 1), n_copies > 0, 2, out);
}

/* Ends the sentence that names the plan. */
static void end_score(const struct place_score *score, const struct place_problem *p,
                      struct doc *out)
{
    bool has_run = score->n_placed > 0;
    doc_part(out, "%.1f%% in time (%d of %d services reach %.0f%%), normalized latency ",
             100 * score->attainment, score->n_met, p->n_services, 100 * p->limits.attainment);
    add_latency(score->normalized, has_run, 2, out);
    doc_part(out, ", p99 ");
    add_latency(score->p99_s, has_run, 1, out);
    doc_part(out, " s, %d devices", score->n_devices);
    if (score->cost_per_hour > 0)
        doc_part(out, ", %.2f an hour", score->cost_per_hour);
    doc_end(out);
}

enum { WHY_BYTES = 120 };

/* Returns whether it is better than the reported plan on the window that was planned on, and writes
 * by what. */
static bool weigh(const struct report_plan *report, const struct plan_option *option,
                  char why[WHY_BYTES])
{
    const struct place_score *own = &option->planned, *best = &report->options[0].planned;
    bool is_better = place_judge_compare(own, best) > 0;
    place_judge_difference(is_better ? own : best, is_better ? best : own, why, WHY_BYTES);
    return is_better;
}

static void print_rivals(const struct report_plan *report, struct doc *out)
{
    char why[WHY_BYTES];
    if (report->n > 1) {
        const struct plan_option *next = &report->options[1];
        bool is_better = weigh(report, next, why);
        doc_part(out, "%s: %s; it %s by %s: ", is_better ? "better" : "runner-up", next->label,
                 is_better ? "wins" : "lost", why);
        end_score(&next->planned, &report->of->problem, out);
    }
    for (size_t i = 0; i < COUNT_OF(report->changes); i++) {
        if (!report->changes[i].is_known)
            continue;
        doc_part(out, "%s: ", report->changes[i].what);
        end_score(&report->changes[i].score, &report->of->problem, out);
    }
}

void report_plan_print(const struct report_plan *report, struct doc *out)
{
    const struct place_problem *p = &report->of->problem;
    const struct plan_option *best = &report->options[0];
    doc_say(out,
            "%d devices on %d nodes, %d services; planned by %s on %d requests of %.1f s, "
            "judged under %s",
            p->n_devices, p->n_nodes, p->n_services, best->label, p->window.n,
            (double)p->window.span_ns * 1e-9, report->preset);
    doc_gap(out);
    for (int32_t i = 0; i < p->n_nodes && out->text != NULL; i++)
        draw_node(report, i, out->text);
    if (out->html != NULL)
        report_plan_draw(report, out->html);
    doc_gap(out);
    doc_table(out, engine_columns, COUNT_OF(engine_columns));
    for (int32_t g = 0; g < best->plan.n_groups; g++)
        print_engine(report, g, out);
    doc_table_end(out);
    doc_gap(out);
    doc_table(out, service_columns, COUNT_OF(service_columns));
    for (int32_t s = 0; s < p->n_services; s++)
        print_service(report, s, out);
    doc_table_end(out);
    for (int32_t i = 0; i < best->plan.n_refused; i++)
        doc_say(out, "not placed: %s: %s", p->services[best->plan.refused[i].service].name,
                best->plan.refused[i].why);
    doc_gap(out);
    doc_part(out, "expected: ");
    end_score(&best->planned, p, out);
    if (report->of->after.n > 0) {
        doc_part(out, "afterwards: ");
        end_score(&best->after, p, out);
    }
    print_rivals(report, out);
}

static const struct doc_column planner_columns[] = {
    { "PLANNER", "planner", NULL, true },
    { "PLACED", "placed", "services that have an engine, of all", false },
    { "SERVICES", "services in time", "services whose part in time is as high as asked for",
      false },
    { "IN TIME", "in time", "the part of the requests that meet their target", false },
    { "NORM", "NL", "normalized latency: latency divided by the one alone, mean", false },
    { "P99 S", "p99 s", "the latency that 99% of the requests do not exceed", false },
    { "DEVICES", "devices", "devices that the plan uses", false },
    { "PLAN S", "planning s", "how long the planner took", false },
    { "IN TIME (planned on)", "in time (planned on)", "on the requests that the planner knew",
      false },
    { "NORM (planned on)", "NL (planned on)", "on the requests that the planner knew", false },
};

void report_plan_compare(const struct report_plan *report, struct doc *out)
{
    const struct place_problem *p = &report->of->problem;
    bool has_after = report->of->after.n > 0;
    doc_say(out, "%d devices, %d services; judged under %s on the %s (%d requests)", p->n_devices,
            p->n_services, report->preset,
            has_after ? "window after the one planned on" : "window planned on: no other came",
            has_after ? report->of->after.n : p->window.n);
    doc_gap(out);
    if (out->html != NULL)
        report_plan_draw(report, out->html);
    doc_table(out, planner_columns, COUNT_OF(planner_columns));
    for (int i = 0; i < report->n; i++) {
        const struct plan_option *o = &report->options[i];
        const struct place_score *score = has_after ? &o->after : &o->planned;
        bool has_run = score->n_placed > 0;
        doc_cell(out, "%s", o->label);
        doc_cell(out, "%d/%d", score->n_placed, p->n_services);
        doc_cell(out, "%d/%d", score->n_met, p->n_services);
        doc_cell(out, "%.2f%%", 100 * score->attainment);
        latency_cell(score->normalized, has_run, 3, out);
        latency_cell(score->p99_s, has_run, 2, out);
        doc_cell(out, "%d", score->n_devices);
        doc_cell(out, "%.2f", o->plan_s);
        doc_cell(out, "%.2f%%", 100 * o->planned.attainment);
        latency_cell(o->planned.normalized, has_run, 3, out);
    }
    doc_table_end(out);
}

/* ---- JSON. ---- */

static void write_score(struct json_out *json, const char *key, const struct place_score *score)
{
    json_out_key(json, key);
    json_out_open(json, '{');
    json_out_key_i64(json, "services_placed", score->n_placed);
    json_out_key_i64(json, "services_in_time", score->n_met);
    json_out_key_f64(json, "way_to_target", score->reached);
    json_out_key_f64(json, "slo_attainment", score->attainment);
    latency_json(json, "normalized_latency", score->normalized, score->n_placed > 0);
    latency_json(json, "latency_s", score->latency_s, score->n_placed > 0);
    latency_json(json, "latency_p99_s", score->p99_s, score->n_placed > 0);
    json_out_key_i64(json, "devices", score->n_devices);
    json_out_key_f64(json, "cost_per_hour", score->cost_per_hour);
    json_out_close(json, '}');
}

static void write_group(struct json_out *json, const struct place_problem *p,
                        const struct place_group *group)
{
    json_out_open(json, '{');
    json_out_key_i64(json, "node", group->node);
    json_out_key_text(json, "device", p->kinds[place_group_kind(p, group)].name);
    json_out_key_i64(json, "first_device", group->first_device);
    json_out_key_i64(json, "devices", group->n_devices);
    json_out_key_i64(json, "memory_bytes", place_group_memory(p, group));
    json_out_key_i64(json, "kv_bytes", place_group_kv_bytes(p, group));
    json_out_key(json, "lanes"); /* none: the policy divides engines */
    json_out_open(json, '[');
    for (int32_t i = 0; i < place_division_of(group->division)->n; i++)
        json_out_i64(json, place_division_of(group->division)->parts[i]);
    json_out_close(json, ']');
    json_out_key(json, "services");
    json_out_open(json, '[');
    for (int32_t m = 0; m < group->n_members; m++) {
        json_out_open(json, '{');
        json_out_key_text(json, "service", p->services[group->members[m].service].name);
        json_out_key_i64(json, "share_percent", group->members[m].share_percent);
        json_out_key_i64(json, "kv_bytes", group->members[m].kv_bytes);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
    json_out_close(json, '}');
}

static void write_service(struct json_out *json, const struct report_plan *report,
                          const struct plan_option *option, int32_t s)
{
    const struct place_service *service = &report->of->problem.services[s];
    const struct place_service_score *score = &option->planned.services[s];
    double n = (double)max_i64(score->n, 1);
    json_out_open(json, '{');
    json_out_key_text(json, "service", service->name);
    json_out_key_text(json, "model", report->of->models[s]);
    json_out_key_f64(json, "rate_per_s", service->rate_per_s);
    json_out_key_f64(json, "solo_s", service->solo_s);
    int32_t n_copies = place_plan_copies(&option->plan, s);
    json_out_key_i64(json, "copies", n_copies);
    json_out_key_f64(json, "slo_attainment", score->n > 0 ? (double)score->n_met / n : 1);
    latency_json(json, "normalized_latency", score->normalized / n, n_copies > 0);
    json_out_close(json, '}');
}

static void write_option(struct json_out *json, const struct report_plan *report,
                         const struct plan_option *option)
{
    const struct place_problem *p = &report->of->problem;
    json_out_open(json, '{');
    json_out_key_text(json, "planner", option->label);
    if (option != &report->options[0]) {
        char why[WHY_BYTES];
        bool is_better = weigh(report, option, why);
        json_out_key_text(json, is_better ? "wins_by" : "lost_by", why);
    }
    write_score(json, "planned_on", &option->planned);
    if (report->of->after.n > 0)
        write_score(json, "afterwards", &option->after);
    json_out_key(json, "engines");
    json_out_open(json, '[');
    for (int32_t g = 0; g < option->plan.n_groups; g++)
        write_group(json, p, &option->plan.groups[g]);
    json_out_close(json, ']');
    json_out_key(json, "services");
    json_out_open(json, '[');
    for (int32_t s = 0; s < p->n_services; s++)
        write_service(json, report, option, s);
    json_out_close(json, ']');
    json_out_key(json, "not_placed");
    json_out_open(json, '[');
    for (int32_t i = 0; i < option->plan.n_refused; i++) {
        json_out_open(json, '{');
        json_out_key_text(json, "service", p->services[option->plan.refused[i].service].name);
        json_out_key_text(json, "why", option->plan.refused[i].why);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
    json_out_close(json, '}');
}

void report_plan_json(const struct report_plan *report, struct str *out)
{
    const struct place_problem *p = &report->of->problem;
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key_i64(&json, "devices", p->n_devices);
    json_out_key_i64(&json, "nodes", p->n_nodes);
    json_out_key_i64(&json, "requests", p->window.n);
    json_out_key_f64(&json, "window_s", (double)p->window.span_ns * 1e-9);
    json_out_key_i64(&json, "requests_afterwards", report->of->after.n);
    json_out_key_text(&json, "preset", report->preset);
    json_out_key(&json, "plans");
    json_out_open(&json, '[');
    for (int i = 0; i < report->n; i++)
        write_option(&json, report, &report->options[i]);
    json_out_close(&json, ']');
    json_out_key(&json, "changes");
    json_out_open(&json, '{');
    for (size_t i = 0; i < COUNT_OF(report->changes); i++)
        if (report->changes[i].is_known)
            write_score(&json, report->changes[i].what, &report->changes[i].score);
    json_out_close(&json, '}');
    json_out_close(&json, '}');
    str_add_char(out, '\n');
}
