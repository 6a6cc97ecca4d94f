/* What is booked, kept by events, is what a count of all running requests finds. */
#include "test.h"
#include "base/mem.h"
#include "base/rng.h"
#include "schedule/booked.h"

enum { N_SERVICES = 2, N_SLOTS = 24, BLOCK = 8 };

struct world {
    struct schedule_booked booked;
    struct schedule_config config;
    struct schedule_service services[N_SERVICES];
    struct request requests[N_SLOTS];
    uint32_t running[N_SERVICES][N_SLOTS];
    int32_t n_table_blocks[N_SLOTS];
    struct kv_budget kv;
    struct schedule_view view;
    struct rng rng;
    struct batch_item items[N_SERVICES][N_SLOTS];
    struct batch batches[N_SERVICES]; /* in flight; no items: none */
};

static void world_open(struct world *w, uint64_t seed)
{
    struct schedule_limits limits = { N_SERVICES, N_SLOTS, 1 };
    memset(w, 0, sizeof(*w));
    schedule_config_init(&w->config);
    w->kv.n_services = N_SERVICES;
    for (int i = 0; i < N_SERVICES; i++) {
        w->kv.services[i].block_tokens = BLOCK;
        w->services[i].running = w->running[i];
        w->batches[i] = (struct batch){ .service = (uint16_t)i, .items = w->items[i] };
    }
    w->view = (struct schedule_view){ .n_services = N_SERVICES,
                                      .n_lanes = 1,
                                      .services = w->services,
                                      .requests = w->requests,
                                      .n_table_blocks = w->n_table_blocks,
                                      .kv = &w->kv };
    schedule_booked_open(&w->booked, &limits, mem_take(schedule_booked_bytes(&limits)));
    rng_init(&w->rng, seed, 1);
}

static void tell(struct world *w, enum schedule_what what, const struct batch *batch, uint32_t slot)
{
    const struct schedule_event event = { .what = what, .batch = batch, .slot = slot };
    schedule_booked_saw(&w->booked, &w->view, &w->config, &event);
}

/* Some that run and some new ones go into a batch. */
static void begin(struct world *w, int service)
{
    struct schedule_service *s = &w->services[service];
    struct batch *batch = &w->batches[service];
    for (uint32_t slot = 0; slot < N_SLOTS; slot++) {
        struct request *r = &w->requests[slot];
        if (rng_below(&w->rng, 3) != 0 ||
            (r->state == REQUEST_RUNNING && r->service != (uint16_t)service))
            continue;
        if (r->state != REQUEST_RUNNING) {
            *r = (struct request){ .state = REQUEST_RUNNING, .service = (uint16_t)service };
            r->n_tokens = 1 + (int32_t)rng_below(&w->rng, 60);
            s->n_running++;
            w->running[service][s->n_running - 1] = slot;
        }
        int32_t n_blocks = (r->n_tokens + BLOCK - 1) / BLOCK + (int32_t)rng_below(&w->rng, 2);
        w->n_table_blocks[slot] = max_i32(w->n_table_blocks[slot], n_blocks);
        r->batch = 1 + (uint32_t)service;
        batch->items[batch->n_items++] = (struct batch_item){ slot, 1, 0 };
    }
    tell(w, SCHEDULE_STARTED, batch, 0);
}

static void end(struct world *w, int service)
{
    struct batch *batch = &w->batches[service];
    for (int32_t i = 0; i < batch->n_items; i++) {
        struct request *r = &w->requests[batch->items[i].slot];
        r->n_tokens += (int32_t)rng_below(&w->rng, 20);
        r->batch = 0;
    }
    tell(w, SCHEDULE_DONE, batch, 0);
    batch->n_items = 0;
}

static void leave(struct world *w, int service)
{
    struct schedule_service *s = &w->services[service];
    for (uint32_t i = 0; i < s->n_running; i++) {
        uint32_t slot = w->running[service][i];
        if (w->requests[slot].batch != 0 || rng_below(&w->rng, 4) != 0)
            continue;
        s->n_running--;
        memmove(&w->running[service][i], &w->running[service][i + 1],
                (s->n_running - i) * sizeof(uint32_t));
        w->requests[slot].state = REQUEST_WAITING;
        w->n_table_blocks[slot] = 0;
        tell(w, rng_below(&w->rng, 2) == 0 ? SCHEDULE_GONE : SCHEDULE_PREEMPTED, NULL, slot);
    }
}

static void the_count_is_kept(void **state)
{
    struct world w;
    int64_t sum = 0;
    (void)state;
    world_open(&w, test_seed(5));
    for (int i = 0; i < 3000; i++) {
        int service = (int)rng_below(&w.rng, N_SERVICES);
        if (w.batches[service].n_items > 0)
            end(&w, service);
        else if (w.batches[0].n_items + w.batches[1].n_items == 0)
            begin(&w, service);
        leave(&w, service);
        if (w.batches[0].n_items + w.batches[1].n_items > 0)
            continue; /* nobody plans now */
        for (int k = 0; k < N_SERVICES; k++) {
            assert_int_equal(w.booked.n_blocks[k], schedule_booked_count(&w.view, &w.config, k));
            sum += w.booked.n_blocks[k];
        }
    }
    assert_true(sum > 1000);
    mem_give(w.booked.by_slot);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_count_is_kept) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
