/* Drafts: how many are shown by load, kind of request and lease, what a refused one leaves behind,
 * and that hits are measured although no plan takes them. */
#include "../test.h"
#include "base/time.h"
#include "engine/draft.h"
#include "engine/state.h"
#include "engine/stats.h"
#include "greedy.h"
#include "world.h"

enum { N_NEW = 100 };

static struct world *open_world(uint8_t speculation)
{
    static struct world w;
    struct world_options o;
    world_options_init(&o);
    o.speculation = speculation;
    o.policy = schedule_find("fcfs");
    o.n_rounds_max = 1;
    world_open(&w, &o);
    return &w;
}

/* Odd requests repeat themselves (fake.c). */
static void ask(struct world *w, uint32_t index, uint32_t flags, int32_t n_lease)
{
    const struct world_ask ask = {
        .index = index, .n_prompt = 20, .n_new = N_NEW, .flags = flags, .n_lease = n_lease
    };
    assert_true(world_submit(w, &ask));
}

static uint8_t most_shown(struct world *w, uint32_t id)
{
    uint8_t most = 0;
    for (int i = 0; i < 2000 && !w->requests[id - 1].is_over; i++) {
        world_run(w, w->clock_ns + 1000000);
        for (uint32_t slot = 0; slot < w->options.n_requests_max; slot++)
            if (w->engine->requests[slot].id == id &&
                w->engine->requests[slot].state == REQUEST_RUNNING)
                most = w->engine->n_drafts[slot] > most ? w->engine->n_drafts[slot] : most;
    }
    return most;
}

/* Returns the steps until the first n requests are over. */
static int64_t n_batches(struct world *w)
{
    world_finish(w);
    return w->fake.n_begun;
}

static void a_text_that_repeats_itself_takes_fewer_batches(void **state)
{
    int64_t n[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct world *w = open_world(i == 0 ? SPECULATION_OFF : SPECULATION_LOOKUP);
        ask(w, 1, 0, 0);
        n[i] = n_batches(w);
        assert_int_equal(w->requests[1].n_got, 20 + N_NEW);
        struct engine_stats *stats = &w->engine->stats[0];
        assert_int_equal(stats->n_accepted, w->fake.n_accepted);
        assert_int_equal(stats->n_drafted, w->fake.n_drafted);
        assert_int_equal(stats->n_accepted, n[0] - n[i]);
        world_close(w);
    }
    printf("%lld batches without drafts, %lld with\n", (long long)n[0], (long long)n[1]);
    assert_true(n[1] * 10 < n[0] * 8);
}

static void the_kind_of_a_request_bounds_its_drafts(void **state)
{
    static const struct {
        uint32_t flags;
        int32_t n_lease;
        uint8_t least, most;
    } rows[] = { { 0, 0, 4, ENGINE_DRAFTS_MAX },
                 { REQUEST_WANTS_LOGPROBS, 0, ENGINE_LOGPROBS_MAX - 1, ENGINE_LOGPROBS_MAX - 1 },
                 { REQUEST_GUIDED, 0, 0, 0 },
                 { 0, 1, 0, 0 } };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct world *w = open_world(SPECULATION_LOOKUP);
        ask(w, 1, rows[i].flags, rows[i].n_lease);
        uint8_t most = most_shown(w, 2);
        assert_in_range(most, rows[i].least, rows[i].most);
        world_finish(w);
        world_close(w);
    }
}

/* A row that costs as much as a token gains nothing, however good its draft is. */
static void a_batch_that_fills_the_machine_gets_none(void **state)
{
    const struct perf full = { .c3_ps = { 10000000 }, /* a tenth of a row */
                               .c2_ps = { 100000000 },
                               .b_switch = INT32_MAX,
                               .prefill_scale = 1,
                               .decode_scale = 1 };
    (void)state;
    for (int is_full = 0; is_full < 2; is_full++) {
        struct world *w = open_world(SPECULATION_LOOKUP);
        w->engine->services[0].perf = full;
        if (!is_full)
            w->engine->services[0].perf.c3_ps[0] = INT64_C(4000000000);
        for (uint32_t i = 0; i < 20; i++)
            ask(w, 2 * i + 1, 0, 0);
        world_finish(w);
        assert_true(is_full ? w->fake.n_drafted == 0 : w->fake.n_accepted > 100);
        world_close(w);
    }
}

/* One request alone would gain, but some requests share the batch: as many drafts as pay. */
static void drafts_become_fewer_with_load(void **state)
{
    double each[3];
    static const uint32_t n[] = { 1, 4, 16 };
    (void)state;
    for (size_t k = 0; k < COUNT_OF(n); k++) {
        struct world *w = open_world(SPECULATION_LOOKUP);
        w->engine->services[0].perf = (struct perf){ .c3_ps = { 900000000 },
                                                     .c2_ps = { 150000000 },
                                                     .b_switch = INT32_MAX,
                                                     .prefill_scale = 1,
                                                     .decode_scale = 1 };
        for (uint32_t i = 0; i < n[k]; i++)
            ask(w, 2 * i + 1, 0, 0);
        world_finish(w);
        each[k] = (double)w->fake.n_drafted / n[k];
        world_close(w);
    }
    printf("%.1f drafts a request alone, %.1f of 4, %.1f of 16\n", each[0], each[1], each[2]);
    assert_true(each[0] > 1.5 * each[1] && each[1] > 1.5 * each[2]);
}

/* Returns the rows of the slot's item in flight; 0: it is in none. */
static int32_t rows_of(const struct engine *e, uint32_t slot)
{
    for (int i = 0; i < LIMIT_BATCHES; i++)
        for (int32_t k = 0; k < e->flights[i].batch.n_items; k++)
            if (e->flights[i].batch.items[k].slot == slot)
                return e->flights[i].batch.items[k].n_tokens;
    return 0;
}

/* A request's table covers what is computed and in flight, and no more. */
static void refused_drafts_leave_no_blocks(void **state)
{
    struct world *w = open_world(SPECULATION_LOOKUP);
    const int32_t block_tokens = kv_layout(w->engine->kv, 0)->block_tokens;
    int64_t n_looks = 0;
    (void)state;
    for (uint32_t i = 0; i < 8; i++)
        ask(w, 2 * i + 1, 0, 0);
    for (int i = 0; i < 400; i++) {
        world_step(w);
        for (uint32_t slot = 0; slot < 8; slot++) {
            const struct request *r = &w->engine->requests[slot];
            int32_t n_rows = rows_of(w->engine, slot);
            if (r->state != REQUEST_RUNNING || n_rows == 0)
                continue;
            assert_int_equal(w->engine->n_table_blocks[slot],
                             kv_blocks_for(r->n_computed + n_rows, block_tokens));
            n_looks++;
        }
        w->clock_ns += 500000;
    }
    world_finish(w);
    assert_true(w->fake.n_drafted - w->fake.n_accepted > 50 && n_looks > 200);
    world_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_that_repeats_itself_takes_fewer_batches),
        cmocka_unit_test(the_kind_of_a_request_bounds_its_drafts),
        cmocka_unit_test(a_batch_that_fills_the_machine_gets_none),
        cmocka_unit_test(drafts_become_fewer_with_load),
        cmocka_unit_test(refused_drafts_leave_no_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
