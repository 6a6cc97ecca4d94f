/* Drafts of a batch, on views by hand: seats, blocks, and which requests have some. */
#include "scene.h"
#include "schedule/drafts.h"
#include "test.h"

enum { N = 4, BLOCK_TOKENS = 4 };

/* N decodes of 4 known tokens, in a block each; a unit is a block. */
static void draw(struct scene *s, uint8_t n_drafts[SCENE_SLOTS], int64_t n_units_free)
{
    scene_draw(s, 1);
    memset(n_drafts, 0, SCENE_SLOTS);
    s->view.n_drafts = n_drafts;
    s->kv.n_units_free = s->kv.n_units_open = n_units_free;
    s->kv.services[0] = (struct kv_budget_service){ .block_tokens = BLOCK_TOKENS,
                                                    .blocks_per_unit = 1,
                                                    .n_units_max = INT64_MAX };
    s->services[0] = (struct schedule_service){
        .is_open = true, .first_waiting = SCHEDULE_NONE, .n_running = N, .running = s->slots
    };
    for (uint32_t i = 0; i < N; i++) {
        s->requests[i] = (struct request){ .n_prompt = 2,
                                           .n_tokens = BLOCK_TOKENS,
                                           .n_computed = BLOCK_TOKENS - 1,
                                           .n_tokens_max = 100,
                                           .state = REQUEST_RUNNING };
        s->n_table_blocks[i] = 1;
        n_drafts[i] = 3;
    }
}

static void fill(struct scene *s)
{
    const struct schedule_order order = { .is_before = scene_by_slot };
    schedule_fill_begin(&s->fill, &s->view, &s->config, &order, &s->plan);
    assert_int_equal(schedule_fill_serve(&s->fill, 0, FILL_DECODES, SCHEDULE_NONE), FILLED_BATCH);
    assert_null(schedule_check(&s->view, &s->plan));
}

static void assert_drafts(const struct scene *s, const int32_t expected[N])
{
    assert_int_equal(s->batches[0].n_items, N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(s->items[i].n_draft, expected[i]);
        assert_int_equal(s->items[i].n_tokens, 1 + expected[i]);
    }
}

static void drafts_take_the_seats_that_are_left(void **state)
{
    struct scene s;
    uint8_t n_drafts[SCENE_SLOTS];
    (void)state;
    draw(&s, n_drafts, 100);
    n_drafts[1] = 0;
    fill(&s);
    assert_drafts(&s, (const int32_t[N]){ 3, 0, 3, 3 });
    s.config.n_seqs_max = N + 5;
    fill(&s);
    assert_drafts(&s, (const int32_t[N]){ 3, 0, 2, 0 });
    s.config.n_seqs_max = N;
    fill(&s);
    assert_drafts(&s, (const int32_t[N]){ 0, 0, 0, 0 });
}

static void drafts_take_only_idle_blocks(void **state)
{
    struct scene s;
    uint8_t n_drafts[SCENE_SLOTS];
    (void)state;
    draw(&s, n_drafts, 2);
    fill(&s);
    assert_drafts(&s, (const int32_t[N]){ 3, 3, 0, 0 });
    s.kv.n_units_cached = 1; /* of the two */
    fill(&s);
    assert_drafts(&s, (const int32_t[N]){ 3, 0, 0, 0 });
    s.n_table_blocks[2] = 2; /* it has one more already */
    fill(&s);
    assert_drafts(&s, (const int32_t[N]){ 3, 0, 3, 0 });
}

/* Others would be refused by schedule_check. */
static void only_running_decodes_have_drafts(void **state)
{
    struct scene s;
    uint8_t n_drafts[SCENE_SLOTS];
    const struct schedule_order order = { .is_before = scene_by_slot };
    (void)state;
    draw(&s, n_drafts, 100);
    s.requests[1].n_computed = 1;
    schedule_fill_begin(&s.fill, &s.view, &s.config, &order, &s.plan);
    assert_int_equal(schedule_fill_serve(&s.fill, 0, FILL_RUNNING, SCHEDULE_NONE), FILLED_BATCH);
    assert_null(schedule_check(&s.view, &s.plan));
    for (int32_t i = 0; i < s.batches[0].n_items; i++)
        assert_int_equal(s.items[i].n_draft, s.items[i].slot == 1 ? 0 : 3);
    s.items[0].n_draft = 2;
    assert_string_equal(schedule_check(&s.view, &s.plan), "drafts that the request does not have");
    s.items[0].n_draft = 4;
    s.items[0].n_tokens = 5;
    assert_string_equal(schedule_check(&s.view, &s.plan), "drafts that the request does not have");
    s.items[0].n_draft = 3;
    s.items[0].n_tokens = 4;
    s.view.n_drafts = NULL;
    assert_string_equal(schedule_check(&s.view, &s.plan), "drafts that the request does not have");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drafts_take_the_seats_that_are_left),
        cmocka_unit_test(drafts_take_only_idle_blocks),
        cmocka_unit_test(only_running_decodes_have_drafts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
