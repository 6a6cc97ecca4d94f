/* An entry in the store: it comes, stays, and comes again after every fault of the store. */
#include "cluster/member.h"

#include "cluster/members.h"
#include "test.h"

#include "base/time.h"
#include "store/model.h"

struct world {
    struct store_model *model;
    struct store *store, *other;
    struct cluster_member member;
    struct cluster_members members; /* as the other client sees them */
    int64_t now_ns;
};

static void open_world(struct world *w, double loss)
{
    const struct store_model_options options = { test_seed(1), 5 * TIME_NS_PER_MS, loss };
    *w = (struct world){ .model = store_model_open(&options), .now_ns = TIME_NS_PER_S };
    w->store = store_model_client(w->model);
    w->other = store_model_client(w->model);
    struct str value;
    str_init(&value);
    cluster_members_write_node(&value, 2, "x", NULL, 0);
    cluster_member_open(&w->member, w->store, "/s/members/node/a:1", value.at, 5, 3);
    str_free(&value);
    cluster_members_open(&w->members, "/s/");
    w->store->watch(w->store->self, "/s/");
    w->other->watch(w->other->self, "/s/");
}

static void run(struct world *w, int64_t ns)
{
    struct store_news news;
    for (int64_t end_ns = w->now_ns + ns; w->now_ns < end_ns; w->now_ns += 10 * TIME_NS_PER_MS) {
        (void)store_model_step(w->model, w->now_ns);
        while (w->store->poll(w->store->self, &news))
            (void)cluster_member_take(&w->member, &news, w->now_ns);
        while (w->other->poll(w->other->self, &news))
            cluster_members_take(&w->members, &news);
        (void)cluster_member_step(&w->member, w->now_ns);
    }
}

static bool is_there(const struct world *w)
{
    return cluster_members_find(&w->members, "a:1") >= 0;
}

static void close_world(struct world *w)
{
    cluster_member_close(&w->member);
    cluster_members_close(&w->members);
    w->store->close(w->store->self);
    w->other->close(w->other->self);
    store_model_close(w->model);
}

/* A process changes what its entry says, also while the store loses calls. */
static void test_its_value_changes(void **state)
{
    static const struct cluster_members_refused refused = { .name = "x", .why = "no file" };
    struct world w;
    (void)state;
    for (int i = 0; i < 10; i++) {
        struct str value;
        str_init(&value);
        open_world(&w, i == 0 ? 0 : 0.3);
        run(&w, i * TIME_NS_PER_S / 2);
        assert_null(cluster_members_why_refused(&w.members, "x"));
        cluster_members_write_node(&value, 3, "x", &refused, 1);
        cluster_member_set(&w.member, value.at);
        run(&w, 10 * TIME_NS_PER_S);
        assert_true(is_there(&w) && w.members.nodes[0].n_engines == 3);
        assert_string_equal(cluster_members_why_refused(&w.members, "x"), "no file");
        str_clear(&value);
        cluster_members_write_node(&value, 2, "x", NULL, 0);
        cluster_member_set(&w.member, value.at);
        run(&w, 10 * TIME_NS_PER_S);
        assert_true(is_there(&w) && w.members.nodes[0].n_engines == 2);
        assert_null(cluster_members_why_refused(&w.members, "x"));
        str_free(&value);
        close_world(&w);
    }
}

static void test_it_stays(void **state)
{
    struct world w;
    (void)state;
    open_world(&w, 0);
    run(&w, TIME_NS_PER_S);
    for (int i = 0; i < 60; i++) {
        assert_true(is_there(&w));
        assert_int_equal(w.members.nodes[0].n_engines, 2);
        run(&w, TIME_NS_PER_S);
    }
    store_model_cut(w.store, true); /* it is silent for longer than its lease */
    run(&w, 7 * TIME_NS_PER_S);
    assert_false(is_there(&w));
    store_model_cut(w.store, false);
    run(&w, 3 * TIME_NS_PER_S);
    assert_true(is_there(&w));
    store_model_wipe(w.model);
    run(&w, 3 * TIME_NS_PER_S);
    assert_true(is_there(&w));
    store_model_stop(w.model);
    run(&w, 20 * TIME_NS_PER_S);
    store_model_start(w.model);
    run(&w, 8 * TIME_NS_PER_S);
    assert_true(is_there(&w));
    close_world(&w);
}

/* Many answers are lost, half of them of calls that were made. */
static void test_it_comes_through_losses(void **state)
{
    struct world w;
    int n_there = 0;
    (void)state;
    open_world(&w, 0.3);
    for (int i = 0; i < 200; i++) {
        run(&w, TIME_NS_PER_S);
        n_there += is_there(&w);
    }
    assert_true(n_there > 150);
    store_model_lose(w.model, 0);
    run(&w, 10 * TIME_NS_PER_S);
    assert_true(is_there(&w));
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_stays),
        cmocka_unit_test(test_its_value_changes),
        cmocka_unit_test(test_it_comes_through_losses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
