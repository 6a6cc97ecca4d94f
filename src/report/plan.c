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

static char letter_of(int32_t group)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    return letters[group % (int32_t)(sizeof(letters) - 1)];
}

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
            cells[group->first_device - n->first_device + i] = letter_of(g);
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

static void print_engine(const struct report_plan *report, int32_t g, struct str *out)
{
    const struct place_problem *p = &report->of->problem;
    const struct place_group *group = &report->options[0].plan.groups[g];
    int64_t kv = place_group_kv_bytes(p, group);
    int32_t first = group->first_device - p->nodes[group->node].first_device;
    char where[48];
    snprintf(where, sizeof(where), "node %d: %d-%d", group->node, first,
             first + group->n_devices - 1);
    if (group->n_devices == 1)
        snprintf(where, sizeof(where), "node %d: %d", group->node, first);
    str_printf(out, "  %c %-18s %9.1f %8.1f  ", letter_of(g), where,
               gib(place_group_memory(p, group) - kv), gib(kv));
    for (int32_t m = 0; m < group->n_members; m++) {
        const struct place_member *member = &group->members[m];
        const char *model = report->of->models[member->service];
        str_printf(out, "%s%s", m > 0 ? ", " : "", p->services[member->service].name);
        if (model != NULL && strstr(p->services[member->service].name, model) == NULL)
            str_printf(out, " (%s)", model);
        if (member->share_percent < 100)
            str_printf(out, " %d%%", member->share_percent);
        if (member->kv_bytes > 0)
            str_printf(out, " %.1f GiB KV", gib(member->kv_bytes));
    }
    report_plan_lanes(group, out);
    str_add_char(out, '\n');
}

/* ---- Services. ---- */

/* Prints a figure of latency, or a dash for a service that never ran. */
static void print_latency(double value, bool has_run, int width, int n_digits, struct str *out)
{
    if (has_run)
        str_printf(out, "%*.*f", width, n_digits, value);
    else
        str_printf(out, "%*s", width, "-");
}

static void latency_json(struct json_out *json, const char *key, double value, bool has_run)
{
    json_out_key(json, key);
    if (has_run)
        json_out_f64(json, value);
    else
        json_out_null(json);
}

static void print_service(const struct report_plan *report, int32_t s, struct str *out)
{
    const struct place_problem *p = &report->of->problem;
    const struct plan_option *best = &report->options[0];
    const struct place_service_score *score = &best->planned.services[s];
    double n = (double)max_i64(score->n, 1);
    int32_t n_copies = place_plan_copies(&best->plan, s);
    str_printf(out, "  %-28.28s %8.3g %7.3g %7d %8.1f%% ", p->services[s].name,
               p->services[s].rate_per_s, p->services[s].solo_s, n_copies,
               score->n > 0 ? 100 * (double)score->n_met / n : 100.0);
    print_latency(score->normalized / n, n_copies > 0, 8, 2, out);
    str_add_char(out, ' ');
    print_latency(score->latency_s / (double)max_i64(score->n_done, 1), n_copies > 0, 9, 2, out);
    str_add_char(out, '\n');
}

static void print_score(const struct place_score *score, const struct place_problem *p,
                        struct str *out)
{
    bool has_run = score->n_placed > 0;
    str_printf(out, "%.1f%% in time (%d of %d services reach %.0f%%), normalized latency ",
               100 * score->attainment, score->n_met, p->n_services, 100 * p->limits.attainment);
    print_latency(score->normalized, has_run, 0, 2, out);
    str_printf(out, ", p99 ");
    print_latency(score->p99_s, has_run, 0, 1, out);
    str_printf(out, " s, %d devices", score->n_devices);
    if (score->cost_per_hour > 0)
        str_printf(out, ", %.2f an hour", score->cost_per_hour);
    str_add_char(out, '\n');
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

static void print_rivals(const struct report_plan *report, struct str *out)
{
    char why[WHY_BYTES];
    if (report->n > 1) {
        const struct plan_option *next = &report->options[1];
        bool is_better = weigh(report, next, why);
        str_printf(out, "\n%s: %s; it %s by %s\n           ", is_better ? "better" : "runner-up",
                   next->label, is_better ? "wins" : "lost", why);
        print_score(&next->planned, &report->of->problem, out);
    }
    for (size_t i = 0; i < COUNT_OF(report->changes); i++) {
        if (!report->changes[i].is_known)
            continue;
        str_printf(out, "%s: ", report->changes[i].what);
        print_score(&report->changes[i].score, &report->of->problem, out);
    }
}

void report_plan_text(const struct report_plan *report, struct str *out)
{
    const struct place_problem *p = &report->of->problem;
    const struct plan_option *best = &report->options[0];
    str_printf(out,
               "%d devices on %d nodes, %d services; planned by %s on %d requests of %.1f s, "
               "judged under %s\n\n",
               p->n_devices, p->n_nodes, p->n_services, best->label, p->window.n,
               (double)p->window.span_ns * 1e-9, report->preset);
    for (int32_t i = 0; i < p->n_nodes; i++)
        draw_node(report, i, out);
    str_printf(out, "\n  ENGINE               WEIGHTS       KV  SERVICES            (GiB)\n");
    for (int32_t g = 0; g < best->plan.n_groups; g++)
        print_engine(report, g, out);
    str_printf(out, "\n  %-28s %8s %7s %7s %9s %8s %9s\n", "SERVICE", "RATE/S", "SOLO S", "COPIES",
               "IN TIME", "NORM", "MEAN S");
    for (int32_t s = 0; s < p->n_services; s++)
        print_service(report, s, out);
    for (int32_t i = 0; i < best->plan.n_refused; i++)
        str_printf(out, "not placed: %s: %s\n", p->services[best->plan.refused[i].service].name,
                   best->plan.refused[i].why);
    str_printf(out, "\nexpected:  ");
    print_score(&best->planned, p, out);
    if (report->of->after.n > 0) {
        str_printf(out, "afterwards: ");
        print_score(&best->after, p, out);
    }
    print_rivals(report, out);
}

void report_plan_compare(const struct report_plan *report, struct str *out)
{
    const struct place_problem *p = &report->of->problem;
    bool has_after = report->of->after.n > 0;
    str_printf(out, "%d devices, %d services; judged under %s on the %s (%d requests)\n\n",
               p->n_devices, p->n_services, report->preset,
               has_after ? "window after the one planned on" : "window planned on: no other came",
               has_after ? report->of->after.n : p->window.n);
    str_printf(out, "%-12s %7s %8s %9s %9s %9s %8s %7s | %9s %8s   (planned on)\n", "PLANNER",
               "PLACED", "SERVICES", "IN TIME", "NORM", "P99 S", "DEVICES", "PLAN S", "IN TIME",
               "NORM");
    for (int i = 0; i < report->n; i++) {
        const struct plan_option *o = &report->options[i];
        const struct place_score *score = has_after ? &o->after : &o->planned;
        bool has_run = score->n_placed > 0;
        str_printf(out, "%-12s %3d/%-3d %4d/%-3d %8.2f%% ", o->label, score->n_placed,
                   p->n_services, score->n_met, p->n_services, 100 * score->attainment);
        print_latency(score->normalized, has_run, 9, 3, out);
        str_add_char(out, ' ');
        print_latency(score->p99_s, has_run, 9, 2, out);
        str_printf(out, " %8d %7.2f | %8.2f%% ", score->n_devices, o->plan_s,
                   100 * o->planned.attainment);
        print_latency(o->planned.normalized, has_run, 8, 3, out);
        str_add_char(out, '\n');
    }
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
