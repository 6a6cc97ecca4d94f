/* The legality check stands between every plan and the engine. A policy that breaks a rule is
 * stopped with the rule's sentence. The policy is fcfs; at its fifth plan it does one thing
 * wrong. */
#include "../test.h"
#include "base/time.h"
#include "sim/sim.h"
#include <sys/wait.h>
#include <unistd.h>

enum { N_LANES = 3, N_SLOTS = 64 };
typedef void (*mutate_fn)(const struct schedule_view *view, struct schedule_plan *plan);

static uint32_t free_slot(const struct schedule_view *view)
{
    uint32_t slot = 0;
    while (slot < N_SLOTS - 1 && view->requests[slot].state != REQUEST_FREE)
        slot++;
    return slot;
}

static void preempt(struct schedule_plan *plan, uint32_t slot)
{
    plan->swaps[plan->n_preempts] = false;
    plan->preempts[plan->n_preempts++] = slot;
}

/* Splits the last item into its own batch, on that lane. */
static void split(struct schedule_plan *plan, uint16_t lane)
{
    struct batch *first = &plan->batches[0], *second = &plan->batches[1];
    *second = *first;
    second->lane = lane;
    second->items = first->items + --first->n_items;
    second->n_items = 1;
    plan->n_batches = 2;
}

static void counts(const struct schedule_view *view, struct schedule_plan *plan)
{
    (void)view;
    plan->n_batches = LIMIT_BATCHES + 1;
}
static void rounds(const struct schedule_view *view, struct schedule_plan *plan)
{
    (void)view;
    plan->n_rounds = 0;
}
static void until(const struct schedule_view *view, struct schedule_plan *plan)
{
    plan->until = UNTIL_TIME;
    plan->until_ns = view->now_ns;
}
static void not_there(const struct schedule_view *view, struct schedule_plan *plan)
{
    plan->batches[0].items[0].slot = free_slot(view);
}
static void other_service(const struct schedule_view *view, struct schedule_plan *plan)
{
    (void)view;
    plan->batches[0].service ^= 1;
}
static void tokens(const struct schedule_view *view, struct schedule_plan *plan)
{
    (void)view;
    plan->batches[0].items[0].n_tokens = 100000;
}
static void no_tokens(const struct schedule_view *view, struct schedule_plan *plan)
{
    (void)view;
    plan->batches[0].items[0].n_tokens = 0;
}
static void drafts(const struct schedule_view *view, struct schedule_plan *plan)
{
    (void)view;
    plan->batches[0].items[0].n_draft = plan->batches[0].items[0].n_tokens;
}
static void run_and_preempted(const struct schedule_view *view, struct schedule_plan *plan)
{
    for (int32_t i = 0; i < plan->batches[0].n_items && plan->n_preempts == 0; i++)
        if (view->n_table_blocks[plan->batches[0].items[i].slot] > 0)
            preempt(plan, plan->batches[0].items[i].slot);
}
static void twice(const struct schedule_view *view, struct schedule_plan *plan)
{
    (void)view;
    plan->batches[0].items[1] = plan->batches[0].items[0];
}
static void two_batches(const struct schedule_view *view, struct schedule_plan *plan)
{
    (void)view;
    plan->n_batches = 2;
    plan->batches[1] = plan->batches[0];
}
static void no_lane(const struct schedule_view *view, struct schedule_plan *plan)
{
    (void)view;
    plan->batches[0].lane = N_LANES;
}
static void lanes_in_conflict(const struct schedule_view *view, struct schedule_plan *plan)
{
    (void)view;
    split(plan, 1);
}
static void negative_pad(const struct schedule_view *view, struct schedule_plan *plan)
{
    (void)view;
    plan->batches[0].pads.row_tokens = -1;
}
static void few_seats(const struct schedule_view *view, struct schedule_plan *plan)
{
    (void)view;
    plan->batches[0].pads.row_tokens = 100000;
    plan->batches[0].pads.n_rows = plan->batches[0].n_items - 1;
}
static void long_row(const struct schedule_view *view, struct schedule_plan *plan)
{
    (void)view;
    plan->batches[0].pads.row_tokens = 1;
    plan->batches[0].pads.n_rows = plan->batches[0].n_items;
}
static void not_open(const struct schedule_view *view, struct schedule_plan *plan)
{
    (void)view;
    plan->batches[0].service = 60000;
}
static void no_items(const struct schedule_view *view, struct schedule_plan *plan)
{
    (void)view;
    plan->batches[0].n_items = 0;
}
static void other_items(const struct schedule_view *view, struct schedule_plan *plan)
{
    (void)view;
    plan->n_items = plan->batches[0].n_items - 1;
}
static void no_blocks(const struct schedule_view *view, struct schedule_plan *plan)
{
    (void)view;
    plan->n_rounds = 100000;
}
static void preempt_nobody(const struct schedule_view *view, struct schedule_plan *plan)
{
    preempt(plan, free_slot(view));
}
static void preempt_empty(const struct schedule_view *view, struct schedule_plan *plan)
{
    for (int i = 0; i < 2 && plan->n_preempts == 0; i++) {
        uint32_t slot = view->services[i].first_waiting;
        if (slot != SCHEDULE_NONE && view->n_table_blocks[slot] == 0)
            preempt(plan, slot);
    }
}
static void preempt_twice(const struct schedule_view *view, struct schedule_plan *plan)
{
    run_and_preempted(view, plan);
    preempt(plan, plan->preempts[0]);
}
static void nothing(const struct schedule_view *view, struct schedule_plan *plan)
{
    (void)view;
    plan->n_batches = 0;
}

static const struct mistake {
    const char *sentence;
    mutate_fn mutate;
} mistakes[] = {
    { "counts out of range", counts },
    { "no round", rounds },
    { "a hold until a time that has passed", until },
    { "a request that is neither waiting nor running", not_there },
    { "a request of another service", other_service },
    { "tokens that the request does not lack", tokens },
    { "tokens that the request does not lack", no_tokens },
    { "drafts that the request does not have", drafts },
    { "a request both run and preempted", run_and_preempted },
    { "a request twice in a batch", twice },
    { "a request in two batches", two_batches },
    { "a batch on a lane that is busy, in conflict or not there", no_lane },
    { "batches on lanes in conflict", lanes_in_conflict },
    { "a negative padding", negative_pad },
    { "a padded batch of fewer rows than members", few_seats },
    { "a row longer than the batch's padding", long_row },
    { "a batch of a service that is not open", not_open },
    { "a batch with no or too many items", no_items },
    { "a batch whose items are not in the plan's", other_items },
    { "a batch whose blocks the pool does not have", no_blocks },
    { "preempts a request that is not there", preempt_nobody },
    { "preempts a request that holds nothing", preempt_empty },
    { "preempts a request twice", preempt_twice },
    { "an empty plan although requests run and none is in flight", nothing },
};

static const struct mistake *mistake; /* NULL: none is made */
static int n_plans;

/* Returns whether any mistake would show on this plan: it has at least two decodes, one of them
 * with blocks, and one request waits. */
static bool is_fit(const struct schedule_view *view, const struct schedule_plan *plan)
{
    uint32_t n_waiting = view->services[0].n_waiting + view->services[1].n_waiting;
    return plan->n_batches == 1 && plan->batches[0].n_items > 1 && plan->n_preempts == 0 &&
           n_waiting > 0 && view->n_in_flight == 0 &&
           view->n_table_blocks[plan->batches[0].items[0].slot] > 0;
}

static void plan_wrongly(const void *state, const struct schedule_view *view,
                         struct schedule_plan *plan)
{
    schedule_find("fcfs")->plan(state, view, plan);
    if (is_fit(view, plan) && ++n_plans == 5 && mistake != NULL)
        mistake->mutate(view, plan);
}

static int simulate(void)
{
    static const struct perf perf = { .c1_ps = 1000000000,
                                      .k1_ps = 20000000,
                                      .c3_ps = { 5000000000, 5000000000 },
                                      .prefill_scale = 1,
                                      .decode_scale = 1,
                                      .b_switch = 64 };
    static const struct schedule_lane lanes[N_LANES] = { { 1, 6, 0 },
                                                         { 0.5F, 1, 0 },
                                                         { 0.5F, 1, 0 } };
    const struct sim_service services[2] = {
        { .name = "a", .perf = perf, .size.kv_bytes_per_token = 1000 },
        { .name = "b", .perf = perf, .size.kv_bytes_per_token = 1000 },
    };
    struct workload workload = { .seed = 1, .n_requests = 200, .n_services = 2 };
    struct schedule_policy policy = *schedule_find("fcfs");
    struct schedule_config config;
    struct sim_report report;
    for (int i = 0; i < 2; i++)
        workload.services[i] =
            (struct workload_traffic){ 30, { 4, 0.5, 1, 200 }, { 3, 0.5, 5, 100 } };
    schedule_config_init(&config);
    config.n_seqs_max = 8;
    policy.plan = plan_wrongly;
    const struct sim_options options = { .n_engines = 1,
                                         .n_lanes = N_LANES,
                                         .lanes = lanes,
                                         .n_services = 2,
                                         .services = services,
                                         .memory_bytes =
                                             350000, /* running ones fit now, not later */
                                         .n_requests_max = N_SLOTS,
                                         .n_tokens_max = 2000,
                                         .policy = &policy,
                                         .config = &config,
                                         .workload = &workload };
    sim_run(&options, &report);
    bool is_right = report.wrong == NULL && n_plans >= 5;
    sim_report_free(&report);
    return is_right ? 0 : 1;
}

/* Runs it in a child, and reads its last output. Returns its status. */
static int run_child(char *said, size_t n_said)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        _exit(simulate());
    }
    close(ends[1]);
    size_t n = 0;
    for (ssize_t got; n + 1 < n_said && (got = read(ends[0], said + n, n_said - n - 1)) > 0;)
        n += (size_t)got;
    said[n] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void each_rule_stops_the_policy_that_breaks_it(void **state)
{
    char said[4096];
    (void)state;
    mistake = NULL;
    assert_int_equal(run_child(said, sizeof(said)), 0);
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        mistake = &mistakes[i];
        int status = run_child(said, sizeof(said));
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT ||
            strstr(said, mistake->sentence) == NULL)
            fail_msg("\"%s\" was not what stopped it: status %d, it said: %s", mistake->sentence,
                     status, said);
    }
}

int main(void)
{
    base_verify = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_stops_the_policy_that_breaks_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
