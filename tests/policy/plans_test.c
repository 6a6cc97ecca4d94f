/* Policies that differ only in order, on hand-drawn views: the waiting and running requests, and
 * the plan that must result. (Lanes, quotas, leases, reservations, static batches and value have
 * their tests in tests/schedule.)
 *
 * Two services with units of two blocks of 16 tokens; L-hat is 1 s for the first and 4 s for the
 * second unless a view says otherwise. Requests are drawn in order of arrival. */
#include "test.h"
#include "base/mem.h"
#include "base/time.h"
#include "schedule/policy.h"

enum { N_SERVICES = 2, N_SLOTS = 16, NOW_S = 100 };

struct drawn { /* a request as the view shows it */
    int service;
    int32_t n_prompt, n_tokens, n_computed; /* n_computed > 0 means that it runs */
    double age_s;                           /* since it arrived and was last served */
    int16_t priority;
};
struct canvas {
    struct drawn drawn[N_SLOTS];
    int64_t n_units_free;
    int32_t chunk_tokens, n_seqs_max;
    int64_t n_units_max_0; /* quota of the first service, 0 = none */
};
struct world {
    void *state;
    struct schedule_config config;
    struct kv_budget kv;
    struct schedule_service services[N_SERVICES];
    struct request requests[N_SLOTS];
    uint32_t running[N_SERVICES][N_SLOTS];
    int32_t n_table_blocks[N_SLOTS];
    bool lane_is_busy[1];
    struct schedule_view view;
    struct batch batches[LIMIT_BATCHES];
    struct batch_item items[LIMIT_BATCH_ITEMS];
    uint32_t preempts[LIMIT_BATCH_ITEMS];
    bool swaps[LIMIT_BATCH_ITEMS];
    struct schedule_plan plan;
};

static void open_services(struct world *w, const struct canvas *canvas)
{
    w->kv = (struct kv_budget){ .n_services = N_SERVICES,
                                .n_units_free = canvas->n_units_free,
                                .n_units_open = canvas->n_units_free };
    for (int i = 0; i < N_SERVICES; i++) {
        w->kv.services[i] = (struct kv_budget_service){ 16, 2, 0, 0, 0, 0, INT32_MAX };
        w->services[i] = (struct schedule_service){
            .is_open = true,
            .first_waiting = SCHEDULE_NONE,
            .running = w->running[i],
            .perf = { .c1_ps = 10000000000,
                      .c3_ps = { 10000000000, 10000000000 },
                      .b_switch = INT32_MAX,
                      .prefill_scale = 1,
                      .decode_scale = 1 },
            .solo_ns = (i == 0 ? 1 : 4) * TIME_NS_PER_S,
        };
    }
    if (canvas->n_units_max_0 > 0)
        w->kv.services[0].n_units_max = canvas->n_units_max_0;
    w->view = (struct schedule_view){ .now_ns = NOW_S * TIME_NS_PER_S,
                                      .n_services = N_SERVICES,
                                      .n_lanes = 1,
                                      .services = w->services,
                                      .requests = w->requests,
                                      .kv = &w->kv,
                                      .n_table_blocks = w->n_table_blocks,
                                      .lane_is_busy = w->lane_is_busy };
}

static void start(struct world *w, const struct schedule_policy *policy, uint32_t slot)
{
    struct request *r = &w->requests[slot];
    struct kv_budget_service *s = &w->kv.services[r->service];
    r->state = REQUEST_RUNNING;
    w->running[r->service][w->services[r->service].n_running++] = slot;
    struct batch_item item = { slot, 1, 0 };
    struct batch batch = { .service = r->service, .n_items = 1, .items = &item };
    struct schedule_event event = { .what = SCHEDULE_STARTED,
                                    .now_ns = w->view.now_ns,
                                    .batch = &batch };
    policy->saw(w->state, &w->view, &event);
    w->n_table_blocks[slot] = (int32_t)kv_blocks_for(r->n_computed, 16);
    int64_t n_units = div_up_i64(w->n_table_blocks[slot], 2);
    s->n_units += n_units;
    s->n_blocks_free += n_units * 2 - w->n_table_blocks[slot];
    w->kv.n_units_open += n_units;
    const int32_t none = 0; /* the batch is over; the canvas already shows the result */
    event.what = SCHEDULE_DONE;
    event.n_new = event.n_computed = &none;
    policy->saw(w->state, &w->view, &event);
}

static void draw(struct world *w, const struct schedule_policy *policy, const struct canvas *canvas)
{
    struct schedule_limits limits = { N_SERVICES, N_SLOTS, 1 };
    memset(w, 0, sizeof(*w));
    schedule_config_init(&w->config);
    w->config.chunk_tokens = canvas->chunk_tokens;
    if (canvas->n_seqs_max > 0)
        w->config.n_seqs_max = canvas->n_seqs_max;
    w->state = mem_take(policy->state_bytes(&limits));
    policy->open(w->state, &limits, &w->config);
    open_services(w, canvas);
    uint32_t last[N_SERVICES] = { SCHEDULE_NONE, SCHEDULE_NONE };
    for (uint32_t slot = 0; slot < N_SLOTS && canvas->drawn[slot].n_prompt > 0; slot++) {
        const struct drawn *d = &canvas->drawn[slot];
        int64_t at_ns = w->view.now_ns - (int64_t)(d->age_s * 1e9);
        w->requests[slot] = (struct request){
            .id = slot,
            .service = (uint16_t)d->service,
            .priority = d->priority,
            .state = REQUEST_WAITING,
            .n_prompt = d->n_prompt,
            .n_tokens = d->n_tokens > 0 ? d->n_tokens : d->n_prompt,
            .n_computed = d->n_computed,
            .n_tokens_max = 4000,
            .arrived_ns = at_ns,
            .served_ns = at_ns,
            .next = SCHEDULE_NONE,
        };
        struct schedule_event event = { .what = SCHEDULE_ARRIVED,
                                        .now_ns = w->view.now_ns,
                                        .slot = slot };
        policy->saw(w->state, &w->view, &event);
        if (d->n_computed > 0) {
            start(w, policy, slot);
            continue;
        }
        if (last[d->service] == SCHEDULE_NONE)
            w->services[d->service].first_waiting = slot;
        else
            w->requests[last[d->service]].next = slot;
        last[d->service] = slot;
        w->services[d->service].n_waiting++;
    }
    w->plan = (struct schedule_plan){ .batches = w->batches,
                                      .items = w->items,
                                      .n_items_max = LIMIT_BATCH_ITEMS,
                                      .preempts = w->preempts,
                                      .swaps = w->swaps };
}

/* Prints the plan in one line. "0: 3x100 4x1" is a batch of service 0 with 100 tokens of slot 3 and
 * one of slot 4. "-2" preempts slot 2; "hold 7" plans 7 rounds; "" waits. */
static void print(const struct schedule_plan *plan, char *text, size_t n_bytes)
{
    size_t n = 0;
    text[0] = 0;
    for (int32_t i = 0; i < plan->n_preempts && n < n_bytes; i++)
        n += (size_t)snprintf(text + n, n_bytes - n, "%s-%u", n > 0 ? " " : "", plan->preempts[i]);
    for (int32_t i = 0; i < plan->n_batches && n < n_bytes; i++) {
        n += (size_t)snprintf(text + n, n_bytes - n, "%d:", plan->batches[i].service);
        for (int32_t k = 0; k < plan->batches[i].n_items && n < n_bytes; k++)
            n += (size_t)snprintf(text + n, n_bytes - n, " %ux%d", plan->batches[i].items[k].slot,
                                  plan->batches[i].items[k].n_tokens);
    }
    if (plan->n_rounds > 1 && n < n_bytes)
        (void)snprintf(text + n, n_bytes - n, " hold %d", plan->n_rounds);
}

static const char *const names[] = { "fcfs",     "rr",       "db-literal", "db-turn",
                                     "db-share", "db-exact", "temporal",   "mlfq" };

/* wanted: a plan per policy; NULL = the same as for the policy before. */
static void expect(const struct canvas *canvas, const char *const wanted[COUNT_OF(names)])
{
    const char *want = NULL;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        static struct world w;
        char got[512], again[512];
        const struct schedule_policy *policy = schedule_find(names[i]);
        want = wanted[i] != NULL ? wanted[i] : want;
        draw(&w, policy, canvas);
        policy->plan(w.state, &w.view, &w.plan);
        print(&w.plan, got, sizeof(got));
        const char *wrong = schedule_check(&w.view, &w.plan);
        policy->plan(w.state, &w.view, &w.plan);
        print(&w.plan, again, sizeof(again));
        assert_string_equal(got, again);
        if (wrong != NULL || strcmp(got, want) != 0)
            fail_msg("%s: \"%s\", wanted \"%s\"; %s", names[i], got, want,
                     wrong != NULL ? wrong : "legal");
        w.lane_is_busy[0] = true;
        policy->plan(w.state, &w.view, &w.plan);
        assert_int_equal(w.plan.n_batches + w.plan.n_preempts, 0);
        mem_give(w.state);
    }
}

#define DRAW(...)                                                                                  \
    {                                                                                              \
        .drawn = { __VA_ARGS__ }, .n_units_free = 1000                                             \
    }

static void nothing_to_do(void **state)
{
    (void)state;
    struct canvas canvas = { .n_units_free = 10 };
    expect(&canvas, (const char *const[COUNT_OF(names)]){ "" });
}

/* One prompt of each service. The order is by age, by turn, or by Q L-hat (1 * 1 against 4 * 4). In
 * mlfq it is by age in level 0, whose quantum both prompts fit. */
static void which_service_goes_first(void **state)
{
    (void)state;
    struct canvas canvas = DRAW({ 1, 100, 0, 0, 2, 0 }, { 0, 50, 0, 0, 1, 0 });
    expect(&canvas, (const char *const[COUNT_OF(names)]){ "1: 0x100", "0: 1x50", NULL, NULL, NULL,
                                                          NULL, "1: 0x100" });
}

/* A new prompt beside running requests of its service. All policies take it first, except the
 * literal form, and mlfq, where the running one is of the same level and older. */
static void prompts_before_decodes(void **state)
{
    (void)state;
    struct canvas canvas = DRAW({ 0, 100, 120, 119, 1, 0 }, { 0, 50, 0, 0, 0.5, 0 });
    expect(&canvas, (const char *const[COUNT_OF(names)]){ "0: 1x50", NULL, "0: 0x1", "0: 1x50",
                                                          NULL, NULL, NULL, "0: 0x1" });
}

/* temporal mixes nothing: it computes the rest of the prompt that was begun, and the other one
 * whole. */
static void chunks_run_beside_decodes(void **state)
{
    (void)state;
    struct canvas canvas =
        DRAW({ 1, 100, 120, 119, 1, 0 }, { 1, 700, 0, 0, 0.5, 0 }, { 1, 900, 0, 256, 0.6, 0 });
    canvas.chunk_tokens = 256;
    expect(&canvas, (const char *const[COUNT_OF(names)]){ "1: 0x1 2x256", NULL, NULL, NULL, NULL,
                                                          NULL, "1: 2x644 1x700", "1: 0x1 2x256" });
}

static void prompts_fill_a_batch_in_order(void **state)
{
    (void)state;
    struct canvas canvas = DRAW({ 0, 1000, 0, 0, 2, 0 }, { 0, 900, 0, 0, 1.5, 0 },
                                { 0, 200, 0, 0, 1, 0 }, { 0, 10, 0, 0, 0.5, 0 });
    expect(&canvas, (const char *const[COUNT_OF(names)]){ "0: 0x1000 1x900" });
    canvas.n_seqs_max = 1;
    expect(&canvas, (const char *const[COUNT_OF(names)]){ "0: 0x1000" });
}

static void priority_comes_first(void **state)
{
    (void)state;
    struct canvas canvas = DRAW({ 1, 70, 0, 0, 1, -5 }, { 0, 50, 0, 0, 2, 0 });
    expect(&canvas, (const char *const[COUNT_OF(names)]){ "1: 0x70", "0: 1x50", "1: 0x70" });
}

/* Four units are free: 8 blocks. The first prompt needs 9, so no request of its service overtakes
 * it. */
static void who_does_not_fit_is_not_overtaken(void **state)
{
    (void)state;
    struct canvas canvas =
        DRAW({ 0, 140, 0, 0, 1, 0 }, { 0, 10, 0, 0, 0.5, 0 }, { 0, 20, 30, 29, 0.1, 0 });
    canvas.n_units_free = 4;
    expect(&canvas, (const char *const[COUNT_OF(names)]){ "0: 2x1" });
}

/* Both running requests stand at the end of a block and no block is left. */
static void out_of_blocks_the_last_gives_way(void **state)
{
    (void)state;
    struct canvas canvas = DRAW({ 0, 32, 33, 32, 2, 0 }, { 0, 32, 33, 32, 1, 0 });
    canvas.n_units_free = 0;
    expect(&canvas, (const char *const[COUNT_OF(names)]){ "-1" });
    canvas.drawn[1].service = 1; /* another service's, longer: every policy preempts it */
    expect(&canvas, (const char *const[COUNT_OF(names)]){ "-1" });
}

/* At its own quota a service gains nothing from another's blocks. */
static void a_quota_takes_from_its_own(void **state)
{
    (void)state;
    struct canvas canvas =
        DRAW({ 0, 32, 33, 32, 3, 0 }, { 0, 32, 33, 32, 2, 0 }, { 1, 32, 40, 39, 1, 0 });
    canvas.n_units_free = 5;
    canvas.n_units_max_0 = 2;
    expect(&canvas, (const char *const[COUNT_OF(names)]){ "-1" });
}

/* A starved request of the long service goes before the short ones (theta = 10 s there). mlfq goes
 * by level alone, in the order in which they joined it. */
static void the_starved_go_first(void **state)
{
    (void)state;
    struct canvas canvas = DRAW({ 0, 50, 0, 0, 1, 0 }, { 1, 70, 0, 0, 9, 0 });
    expect(&canvas, (const char *const[COUNT_OF(names)]){ "1: 1x70", "0: 0x50", NULL, NULL, NULL,
                                                          NULL, "1: 1x70", "0: 0x50" });
    canvas.drawn[1].age_s = 11;
    expect(&canvas, (const char *const[COUNT_OF(names)]){ "1: 1x70", "0: 0x50", "1: 1x70", NULL,
                                                          NULL, NULL, NULL, "0: 0x50" });
    canvas.drawn[0].age_s = 4.5; /* starved for 1.5 s (theta = 3 s), the other for 1 s */
    expect(&canvas, (const char *const[COUNT_OF(names)]){ "1: 1x70", "0: 0x50", NULL, NULL, NULL,
                                                          NULL, "1: 1x70", "0: 0x50" });
}

/* Nothing but decodes of one service: rounds until the first would end. */
static void decodes_alone_are_held(void **state)
{
    (void)state;
    struct canvas canvas = DRAW({ 0, 32, 3990, 3989, 1, 0 }, { 0, 32, 100, 99, 1, 0 });
    expect(&canvas, (const char *const[COUNT_OF(names)]){ "0: 0x1 1x1 hold 10" });
    /* One block is free, the odd one of the second's last unit. The first request takes it at
     * 3905 = 3899 + 6. The second would need the next one at 113 = 99 + 14. */
    canvas.n_units_free = 0;
    canvas.drawn[0].n_tokens = 3900;
    canvas.drawn[0].n_computed = 3899;
    expect(&canvas, (const char *const[COUNT_OF(names)]){ "0: 0x1 1x1 hold 13" });
    canvas.drawn[2] = (struct drawn){ 1, 32, 40, 39, 1, 0 };
    expect(&canvas, (const char *const[COUNT_OF(names)]){ "0: 0x1 1x1" });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_to_do),
        cmocka_unit_test(which_service_goes_first),
        cmocka_unit_test(prompts_before_decodes),
        cmocka_unit_test(chunks_run_beside_decodes),
        cmocka_unit_test(prompts_fill_a_batch_in_order),
        cmocka_unit_test(priority_comes_first),
        cmocka_unit_test(who_does_not_fit_is_not_overtaken),
        cmocka_unit_test(out_of_blocks_the_last_gives_way),
        cmocka_unit_test(a_quota_takes_from_its_own),
        cmocka_unit_test(the_starved_go_first),
        cmocka_unit_test(decodes_alone_are_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
