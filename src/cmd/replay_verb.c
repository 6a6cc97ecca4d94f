/* shoal replay: the engine of a log plans again, and every plan is compared. */
#include "base/file.h"
#include "base/json_out.h"
#include "base/str.h"
#include "cmd/verbs.h"
#include "config/options.h"
#include "engine/replay.h"
#include "schedule/policy.h"
#include <stdio.h>

static void print_json(const struct engine_replay *r)
{
    struct str out;
    struct json_out json;
    str_init(&out);
    json_out_init(&json, &out);
    json_out_open(&json, '{');
    json_out_key_text(&json, "policy", r->policy);
    const struct {
        const char *key;
        int64_t value;
    } counts[] = { { "records", r->n_records },
                   { "mails", r->n_mails },
                   { "steps", r->n_steps },
                   { "plans", r->n_plans } };
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        json_out_key_i64(&json, counts[i].key, counts[i].value);
    json_out_key_bool(&json, "cut", r->is_cut);
    json_out_key_bool(&json, "equal", !r->differs);
    if (r->differs) {
        json_out_key_i64(&json, "step", r->step);
        json_out_key_i64(&json, "plan", r->plan);
        json_out_key_text(&json, "now", r->was);
    }
    json_out_close(&json, '}');
    printf("%s\n", out.at);
    str_free(&out);
}

static void print_text(const struct engine_replay *r)
{
    const char *ends = r->is_cut ? " (the log ends early)" : "";
    if (r->differs)
        printf("policy %s: %lld steps, %lld plans; plan %lld of step %lld, at %.6f s, differs%s\n"
               "now planned: %s\n",
               r->policy, (long long)r->n_steps, (long long)r->n_plans, (long long)r->plan,
               (long long)r->step, (double)r->now_ns * 1e-9, ends, r->was);
    else
        printf("policy %s: %lld mails, %lld steps, %lld plans, all equal%s\n", r->policy,
               (long long)r->n_mails, (long long)r->n_steps, (long long)r->n_plans, ends);
}

/* A row a batch. */
static void put_batch(void *self, const struct engine_replay_batch *b)
{
    str_printf(self, "%d,%d,%s,%d,%d,%d,%lld,%d,%lld,%lld,%lld,%lld,%lld,%lld\n", b->service,
               b->lane,
               b->is_copy     ? "copy"
               : b->is_padded ? "padded"
                              : "compute",
               b->n_items, b->n_steps, b->load.n_decodes, (long long)b->load.n_decode_context,
               b->load.n_new, (long long)b->load.n_new_squared, (long long)b->load.n_new_context,
               (long long)b->planned_ns, (long long)b->begin_ns, (long long)b->end_ns,
               (long long)b->heard_ns);
}

int verbs_replay(int argc, char **argv)
{
    const char *path, *policy = NULL, *steps = NULL;
    int n_plain;
    bool is_json = false;
    const struct options_extra extras[] = {
        { "policy", "plan with another scheduler than the log's", &policy, true },
        { "steps", "write every batch to this CSV: what it computed, when", &steps, true },
    };
    const struct options_verb verb = {
        .doc = "Feeds an engine's log (shoal serve --log-engine FILE) to a real engine again and "
               "compares every plan. Exit code 0: all are equal; 1: one differs, or the log is "
               "not one.",
        .arguments = "LOG",
        .is_json = &is_json,
        .n_min = 1,
        .n_max = 1,
        .extras = extras,
        .n_extras = COUNT_OF(extras),
    };
    if (!config_options_parse(&verb, argc, argv, NULL, &path, &n_plain))
        return 2;
    struct engine_replay_options options = { .policy = NULL };
    if (policy != NULL && (options.policy = schedule_find(policy)) == NULL) {
        fprintf(stderr, "shoal: there is no policy \"%s\"; see shoal serve --help\n", policy);
        return 2;
    }
    struct file_map map;
    struct engine_replay result;
    struct fault fault;
    struct str rows;
    str_init(&rows);
    if (steps != NULL) {
        str_add_text(&rows, "service,lane,kind,items,steps,decodes,decode_context,new,new_squared,"
                            "new_context,planned_ns,begin_ns,end_ns,heard_ns\n");
        options.saw = put_batch;
        options.saw_self = &rows;
    }
    enum status status = file_map_open(&map, path, &fault);
    if (status == STATUS_OK) {
        status = engine_replay_run(map.at, map.n_bytes, &options, &result, &fault);
        file_map_close(&map);
    }
    if (status == STATUS_OK && steps != NULL)
        status = file_write(steps, rows.at, rows.n, &fault);
    str_free(&rows);
    if (status != STATUS_OK) {
        fprintf(stderr, "shoal: %s\n", fault.text);
        return 1;
    }
    if (is_json)
        print_json(&result);
    else
        print_text(&result);
    return result.differs ? 1 : 0;
}
