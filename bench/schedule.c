/* The cost of one decision with 10,000 requests queued: plan, and what saw adds for a batch.
 *
 * Four services of the A100's 7B and 13B (ALGORITHMS appendix A), prompts and answers of chat and
 * code lengths, a pool that holds some hundreds of requests. Each step is planned (no holds); the
 * queue is kept at its length by an arrival for each request that ends. Prints microseconds, of
 * each step the least of some equal runs: what others do on the machine is not the policy's cost.
 *
 * usage: bench_schedule [POLICY] */
#include "schedule/policy.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/rng.h"
#include "base/time.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_SERVICES = 4, N_QUEUED = 10000, N_SLOTS = N_QUEUED + 2048, N_STEPS = 20000, N_RUNS = 5 };

struct bench {
    const struct schedule_policy *policy;
    void *state;
    struct kv *kv;
    struct schedule_view view;
    struct schedule_service services[N_SERVICES];
    uint32_t running[N_SERVICES][N_SLOTS], last[N_SERVICES];
    struct request requests[N_SLOTS];
    int32_t n_table_blocks[N_SLOTS];
    uint32_t free_slots[N_SLOTS], n_free;
    bool lane_is_busy[1];
    struct schedule_plan plan;
    int32_t n_new[LIMIT_BATCH_ITEMS], n_computed[LIMIT_BATCH_ITEMS];
    struct kv_need needs[LIMIT_BATCH_ITEMS];
    struct rng rng;
    uint64_t n_ids;
    int64_t n_items, n_preempts, plan_now_ns, saw_now_ns;
};

static void tell(struct bench *b, struct schedule_event event)
{
    int64_t before = time_now_ns();
    event.now_ns = b->view.now_ns;
    b->policy->saw(b->state, &b->view, &event);
    b->saw_now_ns += time_now_ns() - before;
}

static void wait_last(struct bench *b, uint32_t slot)
{
    struct request *r = &b->requests[slot];
    struct schedule_service *s = &b->services[r->service];
    r->next = SCHEDULE_NONE;
    r->prev = b->last[r->service];
    r->state = REQUEST_WAITING;
    if (r->prev == SCHEDULE_NONE)
        s->first_waiting = slot;
    else
        b->requests[r->prev].next = slot;
    b->last[r->service] = slot;
    s->n_waiting++;
}

static void wait_first(struct bench *b, uint32_t slot)
{
    struct request *r = &b->requests[slot];
    struct schedule_service *s = &b->services[r->service];
    r->prev = SCHEDULE_NONE;
    r->next = s->first_waiting;
    r->state = REQUEST_WAITING;
    if (r->next == SCHEDULE_NONE)
        b->last[r->service] = slot;
    else
        b->requests[r->next].prev = slot;
    s->first_waiting = slot;
    s->n_waiting++;
}

static int32_t length(struct bench *b, double log_mean)
{
    return 1 + (int32_t)min_i64(4000, (int64_t)num_exp(log_mean + 0.8 * rng_normal(&b->rng)));
}

static void arrive(struct bench *b)
{
    uint32_t slot = b->free_slots[--b->n_free];
    uint16_t service = (uint16_t)rng_below(&b->rng, N_SERVICES);
    int32_t n_prompt = length(b, service % 2 == 0 ? 5 : 4.3);
    b->requests[slot] =
        (struct request){ .id = ++b->n_ids,
                          .service = service,
                          .n_prompt = n_prompt,
                          .n_tokens = n_prompt,
                          .n_tokens_max = n_prompt + length(b, service % 2 == 0 ? 3.8 : 5.6),
                          .deadline_ns = TIME_NEVER,
                          .arrived_ns = b->view.now_ns,
                          .served_ns = b->view.now_ns };
    wait_last(b, slot);
    tell(b, (struct schedule_event){ .what = SCHEDULE_ARRIVED, .slot = slot });
}

static void start(struct bench *b, uint32_t slot)
{
    struct request *r = &b->requests[slot];
    struct schedule_service *s = &b->services[r->service];
    if (r->state == REQUEST_RUNNING)
        return;
    if (r->prev == SCHEDULE_NONE)
        s->first_waiting = r->next;
    else
        b->requests[r->prev].next = r->next;
    if (r->next == SCHEDULE_NONE)
        b->last[r->service] = r->prev;
    else
        b->requests[r->next].prev = r->prev;
    s->n_waiting--;
    r->state = REQUEST_RUNNING;
    b->running[r->service][s->n_running++] = slot;
}

static void stop(struct bench *b, uint32_t slot)
{
    uint16_t service = b->requests[slot].service;
    struct schedule_service *s = &b->services[service];
    uint32_t i = 0;
    while (b->running[service][i] != slot)
        i++;
    s->n_running--;
    memmove(&b->running[service][i], &b->running[service][i + 1],
            (s->n_running - i) * sizeof(uint32_t));
    kv_release(b->kv, slot);
    b->n_table_blocks[slot] = 0;
    b->requests[slot].n_computed = 0;
}

static void end(struct bench *b, uint32_t slot)
{
    tell(b, (struct schedule_event){ .what = SCHEDULE_GONE, .slot = slot });
    stop(b, slot);
    b->free_slots[b->n_free++] = slot;
}

static void run(struct bench *b, const struct batch *batch)
{
    int64_t n_new = 0, n_context = 0;
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct batch_item *item = &batch->items[i];
        b->needs[i] =
            (struct kv_need){ item->slot, b->requests[item->slot].n_computed + item->n_tokens, 0 };
    }
    CHECK(kv_reserve(b->kv, batch->service, b->needs, batch->n_items));
    for (int32_t i = 0; i < batch->n_items; i++)
        start(b, batch->items[i].slot);
    tell(b, (struct schedule_event){ .what = SCHEDULE_STARTED, .batch = batch });
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct batch_item *item = &batch->items[i];
        struct request *r = &b->requests[item->slot];
        n_new += item->n_tokens;
        n_context += r->n_tokens;
        (void)kv_table(b->kv, item->slot, &b->n_table_blocks[item->slot]);
        r->n_computed += b->n_computed[i] = item->n_tokens;
        b->n_new[i] = r->n_computed == r->n_tokens;
        r->n_tokens += b->n_new[i];
    }
    int64_t elapsed_ns = 11000000 + n_new * 70000 + n_context * 374;
    b->view.now_ns += elapsed_ns;
    for (int32_t i = 0; i < batch->n_items; i++)
        b->requests[batch->items[i].slot].served_ns = b->view.now_ns;
    tell(b, (struct schedule_event){ .what = SCHEDULE_DONE,
                                     .batch = batch,
                                     .n_steps = 1,
                                     .n_new = b->n_new,
                                     .n_computed = b->n_computed,
                                     .elapsed_ns = elapsed_ns });
    for (int32_t i = 0; i < batch->n_items; i++)
        if (b->requests[batch->items[i].slot].n_tokens >=
            b->requests[batch->items[i].slot].n_tokens_max)
            end(b, batch->items[i].slot);
    b->n_items += batch->n_items;
}

static void step(struct bench *b)
{
    struct schedule_plan *plan = &b->plan;
    b->plan_now_ns = b->saw_now_ns = 0;
    do {
        int64_t before = time_now_ns();
        b->policy->plan(b->state, &b->view, plan);
        b->plan_now_ns += time_now_ns() - before;
        for (int32_t k = 0; k < plan->n_preempts; k++) {
            stop(b, plan->preempts[k]);
            wait_first(b, plan->preempts[k]);
            tell(b,
                 (struct schedule_event){ .what = SCHEDULE_PREEMPTED, .slot = plan->preempts[k] });
        }
        b->n_preempts += plan->n_preempts;
    } while (plan->n_batches == 0 && plan->n_preempts > 0);
    for (int32_t k = 0; k < plan->n_batches; k++)
        run(b, &plan->batches[k]);
    while (N_SLOTS - b->n_free < N_QUEUED)
        arrive(b);
}

static struct kv *open_pool(void)
{
    struct kv_service_options services[N_SERVICES] = { 0 };
    struct kv_layout layouts[N_SERVICES];
    int64_t bytes[N_SERVICES] = { 524288, 819200, 524288, 819200 };
    double waste;
    int64_t unit = kv_choose_layout(N_SERVICES, bytes, 16 << 20, layouts, &waste);
    for (int i = 0; i < N_SERVICES; i++)
        services[i].layout = layouts[i];
    struct kv_options options = { .pool_bytes_max = INT64_C(160) << 30,
                                  .pool_bytes = INT64_C(160) << 30,
                                  .unit_bytes = unit,
                                  .n_services = N_SERVICES,
                                  .services = services,
                                  .n_requests_max = N_SLOTS,
                                  .n_tokens_max = 8192,
                                  .is_virtual = true };
    return kv_open(&options);
}

static void open_services(struct bench *b)
{
    for (int i = 0; i < N_SERVICES; i++) {
        b->last[i] = SCHEDULE_NONE;
        b->services[i] = (struct schedule_service){
            .is_open = true,
            .first_waiting = SCHEDULE_NONE,
            .running = b->running[i],
            .perf = { .floor_ps = 13900000000,
                      .c1_ps = 3400000000,
                      .k1_ps = 73800000,
                      .c3_ps = { 11440000000, 8580000000 },
                      .c2_ps = { 30000000, 75900000 },
                      .k2_ps = { 374000, 354000 },
                      .b_switch = 64,
                      .prefill_scale = 1,
                      .decode_scale = 1 },
            .rate_per_s = 1,
            .n_prompt_mean = 200,
            .n_output_mean = i % 2 == 0 ? 60 : 370,
            .solo_ns = (i % 2 == 0 ? 700 : 4300) * TIME_NS_PER_MS,
            .solo_deviation_ns = 300 * TIME_NS_PER_MS,
        };
    }
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

struct times {
    int64_t plan_ns[N_STEPS], saw_ns[N_STEPS], both_ns[N_STEPS];
    int64_t n_items, n_preempts;
};

static void keep_least(int64_t *least, int64_t now)
{
    *least = *least == 0 ? now : min_i64(*least, now);
}

static void measure_once(const struct schedule_policy *policy, int32_t chunk_tokens,
                         struct times *times)
{
    struct bench *b = mem_take(sizeof(*b));
    struct schedule_limits limits = { N_SERVICES, N_SLOTS, 1 };
    struct schedule_config config;
    schedule_config_init(&config);
    config.n_rounds_max = 1;
    config.chunk_tokens = chunk_tokens;
    b->policy = policy;
    b->state = mem_take(policy->state_bytes(&limits));
    policy->open(b->state, &limits, &config);
    b->kv = open_pool();
    open_services(b);
    rng_init(&b->rng, 1, 0);
    for (b->n_free = 0; b->n_free < N_SLOTS; b->n_free++)
        b->free_slots[b->n_free] = N_SLOTS - 1 - b->n_free;
    b->view = (struct schedule_view){ .n_services = N_SERVICES,
                                      .n_lanes = 1,
                                      .services = b->services,
                                      .requests = b->requests,
                                      .kv = kv_budget(b->kv),
                                      .n_table_blocks = b->n_table_blocks,
                                      .lane_is_busy = b->lane_is_busy };
    b->plan =
        (struct schedule_plan){ .batches = mem_take(LIMIT_BATCHES * sizeof(struct batch)),
                                .items = mem_take(LIMIT_BATCH_ITEMS * sizeof(struct batch_item)),
                                .n_items_max = LIMIT_BATCH_ITEMS,
                                .preempts = mem_take(LIMIT_BATCH_ITEMS * sizeof(uint32_t)),
                                .swaps = mem_take(LIMIT_BATCH_ITEMS * sizeof(bool)) };
    while (N_SLOTS - b->n_free < N_QUEUED)
        arrive(b);
    for (int i = 0; i < N_STEPS; i++) {
        step(b);
        keep_least(&times->plan_ns[i], b->plan_now_ns);
        keep_least(&times->saw_ns[i], b->saw_now_ns);
        keep_least(&times->both_ns[i], b->plan_now_ns + b->saw_now_ns);
    }
    times->n_items = b->n_items;
    times->n_preempts = b->n_preempts;
    kv_close(b->kv);
    mem_give(b->plan.batches);
    mem_give(b->plan.items);
    mem_give(b->plan.preempts);
    mem_give(b->plan.swaps);
    mem_give(b->state);
    mem_give(b);
}

static void measure(const struct schedule_policy *policy, int32_t chunk_tokens)
{
    struct times *times = mem_take(sizeof(*times));
    for (int i = 0; i < N_RUNS; i++)
        measure_once(policy, chunk_tokens, times);
    qsort(times->both_ns, N_STEPS, sizeof(int64_t), compare);
    qsort(times->plan_ns, N_STEPS, sizeof(int64_t), compare);
    qsort(times->saw_ns, N_STEPS, sizeof(int64_t), compare);
    const int64_t *columns[3] = { times->plan_ns, times->saw_ns, times->both_ns };
    printf("%-10s %5d", policy->name, chunk_tokens);
    for (int i = 0; i < 3; i++)
        printf(" %7.2f %7.2f", (double)columns[i][N_STEPS / 2] / 1e3,
               (double)columns[i][N_STEPS * 99 / 100] / 1e3);
    printf(" %7.0f %9lld\n", (double)times->n_items / N_STEPS, (long long)times->n_preempts);
    mem_give(times);
}

int main(int argc, char **argv)
{
    int n;
    const struct schedule_policy *const *all = schedule_all(&n);
    printf("%d queued, %d services, %d steps; microseconds of plan and of saw (all events of a "
           "step)\n",
           N_QUEUED, N_SERVICES, N_STEPS);
    printf("policy     chunk  plan50  plan99   saw50   saw99  both50  both99 items/b  preempts\n");
    for (int i = 0; i < n; i++) {
        if (argc > 1 && strcmp(argv[1], all[i]->name) != 0)
            continue;
        measure(all[i], 0);
        measure(all[i], 512);
    }
    return 0;
}
