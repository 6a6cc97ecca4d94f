/* Elections over a store that fails in every legal way: at most one manager is obeyed at a time. */
#include "test.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "store/leader.h"
#include "store/model.h"

enum { N_MANAGERS = 3, N_NODES = 4, TTL_S = 5 };

/* A command on its way from a manager to a node. */
struct command {
    struct store_stamp stamp;
    int64_t at_ns;
    int node;
};
struct world {
    struct store_model *model;
    struct rng rng;
    int64_t now_ns;
    uint64_t n_ids;
    struct manager {
        struct store *store;
        struct store_leader *leader;
        struct store_id nonce; /* on its disk */
        int64_t asleep_until_ns;
    } managers[N_MANAGERS];
    struct node {
        struct store_fence fence;
        struct store_stamp obeyed;
        int64_t n_obeyed;
    } nodes[N_NODES];
    struct command commands[64];
    int n_commands;
    int64_t n_terms, n_refused;
};

static void start_manager(struct world *w, int i)
{
    struct manager *m = &w->managers[i];
    const struct store_leader_options options = { .store = m->store = store_model_client(w->model),
                                                  .prefix = "/shoal/test/",
                                                  .name = "m",
                                                  .id = { 0x1d, ++w->n_ids },
                                                  .nonce = m->nonce,
                                                  .ttl_s = TTL_S,
                                                  .seed = rng_u64(&w->rng) };
    m->leader = store_leader_open(&options);
    m->store->watch(m->store->self, "/shoal/test/");
}

static void stop_manager(struct world *w, int i)
{
    struct manager *m = &w->managers[i];
    m->nonce = store_leader_nonce(m->leader);
    store_leader_close(m->leader);
    m->store->close(m->store->self);
}

static struct world *open_world(uint64_t seed, double loss)
{
    struct world *w = mem_take(sizeof *w);
    const struct store_model_options options = { seed, 5 * TIME_NS_PER_MS, loss };
    w->model = store_model_open(&options);
    rng_init(&w->rng, seed, 1);
    w->now_ns = TIME_NS_PER_S;
    for (int i = 0; i < N_MANAGERS; i++)
        start_manager(w, i);
    for (int i = 0; i < N_NODES; i++)
        assert_int_equal(store_fence_open(&w->nodes[i].fence, NULL, NULL), STATUS_OK);
    return w;
}

static void close_world(struct world *w)
{
    for (int i = 0; i < N_MANAGERS; i++)
        stop_manager(w, i);
    store_model_close(w->model);
    mem_give(w);
}

static void step_manager(struct world *w, struct manager *m)
{
    struct store_news news;
    while (m->store->poll(m->store->self, &news))
        (void)store_leader_take(m->leader, &news, w->now_ns);
    (void)store_leader_step(m->leader, w->now_ns);
    if (!store_leader_may_act(m->leader, w->now_ns) || w->n_commands == (int)COUNT_OF(w->commands))
        return;
    /* Messages may come late: longer than a lease. */
    int64_t late_ns = rng_below(&w->rng, 50) == 0 ? 2 * TTL_S * TIME_NS_PER_S : TIME_NS_PER_S / 100;
    w->commands[w->n_commands++] =
        (struct command){ store_leader_stamp(m->leader),
                          w->now_ns + (int64_t)rng_below(&w->rng, 1000) * late_ns / 1000,
                          (int)rng_below(&w->rng, N_NODES) };
}

/* The manager hears from each node which epoch it has obeyed, whatever the answer. */
static void deliver(struct world *w, const struct command *command)
{
    struct node *node = &w->nodes[command->node];
    struct store_stamp before = node->fence.kept;
    enum store_verdict verdict = store_fence_check(&node->fence, &command->stamp);
    if (verdict == STORE_OBEY) {
        assert_true(before.epoch <= command->stamp.epoch ||
                    !store_id_equal(before.nonce, command->stamp.nonce));
        for (int i = 0; i < N_NODES; i++) { /* an epoch has one manager, wherever it is obeyed */
            const struct store_stamp *obeyed = &w->nodes[i].obeyed;
            if (obeyed->epoch == command->stamp.epoch &&
                store_id_equal(obeyed->nonce, command->stamp.nonce))
                assert_true(store_id_equal(obeyed->manager, command->stamp.manager));
        }
        w->n_terms += node->obeyed.epoch != command->stamp.epoch;
        node->obeyed = command->stamp;
        node->n_obeyed++;
    } else {
        w->n_refused++;
    }
    for (int i = 0; i < N_MANAGERS; i++)
        if (store_id_equal(store_leader_stamp(w->managers[i].leader).manager,
                           command->stamp.manager))
            store_leader_heard(w->managers[i].leader, &node->fence.kept);
}

static void check_one_acts(const struct world *w)
{
    int n = 0;
    for (int i = 0; i < N_MANAGERS; i++)
        n += store_leader_may_act(w->managers[i].leader, w->now_ns);
    assert_true(n <= 1);
}

static void run(struct world *w, int64_t ns, bool is_one_store)
{
    int64_t end_ns = w->now_ns + ns;
    while (w->now_ns < end_ns) {
        w->now_ns += 10 * TIME_NS_PER_MS;
        (void)store_model_step(w->model, w->now_ns);
        for (int i = 0; i < N_MANAGERS; i++)
            if (w->managers[i].asleep_until_ns <= w->now_ns)
                step_manager(w, &w->managers[i]);
        for (int i = 0; i < w->n_commands; i++)
            if (w->commands[i].at_ns <= w->now_ns) {
                struct command command = w->commands[i];
                w->commands[i--] = w->commands[--w->n_commands];
                deliver(w, &command);
            }
        if (is_one_store)
            check_one_acts(w);
    }
}

static int leader_of(const struct world *w)
{
    for (int i = 0; i < N_MANAGERS; i++)
        if (store_leader_may_act(w->managers[i].leader, w->now_ns))
            return i;
    return -1;
}

static void assert_all_obey(struct world *w)
{
    int64_t before[N_NODES];
    for (int i = 0; i < N_NODES; i++)
        before[i] = w->nodes[i].n_obeyed;
    run(w, 2 * TIME_NS_PER_S, true);
    for (int i = 0; i < N_NODES; i++)
        assert_true(w->nodes[i].n_obeyed > before[i]);
}

static void test_one_leads(void **state)
{
    struct world *w = open_world(test_seed(1), 0);
    (void)state;
    run(w, 2 * TIME_NS_PER_S, true);
    int first = leader_of(w);
    assert_true(first >= 0);
    run(w, 60 * TIME_NS_PER_S, true);
    assert_int_equal(leader_of(w), first); /* for as long as it lives */
    uint64_t epoch = store_leader_stamp(w->managers[first].leader).epoch;
    stop_manager(w, first);
    start_manager(w, first);
    run(w, (TTL_S + 2) * TIME_NS_PER_S, true);
    assert_true(leader_of(w) >= 0);
    assert_true(store_leader_stamp(w->managers[leader_of(w)].leader).epoch > epoch);
    assert_all_obey(w);
    close_world(w);
}

/* A manager that slept through its lease acts no more, also in the instant when it wakes. */
static void test_a_sleeper_wakes_deposed(void **state)
{
    struct world *w = open_world(test_seed(2), 0);
    (void)state;
    run(w, 2 * TIME_NS_PER_S, true);
    int first = leader_of(w);
    w->managers[first].asleep_until_ns = w->now_ns + 20 * TIME_NS_PER_S;
    run(w, 15 * TIME_NS_PER_S, true);
    assert_true(leader_of(w) >= 0 && leader_of(w) != first);
    assert_false(store_leader_may_act(w->managers[first].leader, w->now_ns));
    run(w, 30 * TIME_NS_PER_S, true);
    assert_all_obey(w);
    close_world(w);
}

/* Leases live anew when a store starts again; a leader that resigned meanwhile must not keep the
 * cluster without one. */
static void test_a_store_that_was_away(void **state)
{
    struct world *w = open_world(test_seed(3), 0);
    (void)state;
    run(w, 2 * TIME_NS_PER_S, true);
    uint64_t epoch = store_leader_stamp(w->managers[leader_of(w)].leader).epoch;
    store_model_stop(w->model);
    run(w, 20 * TIME_NS_PER_S, true);
    assert_int_equal(leader_of(w), -1);
    store_model_start(w->model);
    run(w, (TTL_S + 3) * TIME_NS_PER_S, true);
    assert_true(leader_of(w) >= 0);
    assert_true(store_leader_stamp(w->managers[leader_of(w)].leader).epoch > epoch);
    assert_all_obey(w);
    close_world(w);
}

/* A restored store brings back an old epoch and an old leader's key: no epoch is used again. */
static void test_a_store_that_was_rolled_back(void **state)
{
    struct world *w = open_world(test_seed(4), 0);
    (void)state;
    run(w, 2 * TIME_NS_PER_S, true);
    store_model_save(w->model);
    for (int i = 0; i < 3; i++) {
        int leader = leader_of(w);
        stop_manager(w, leader);
        start_manager(w, leader);
        run(w, (TTL_S + 3) * TIME_NS_PER_S, true);
    }
    uint64_t epoch = w->nodes[0].fence.kept.epoch;
    store_model_restore(w->model);
    run(w, (2 * TTL_S + 6) * TIME_NS_PER_S, false);
    assert_true(leader_of(w) >= 0);
    assert_true(store_leader_stamp(w->managers[leader_of(w)].leader).epoch > epoch);
    assert_all_obey(w);
    close_world(w);
}

/* An emptied store leads no one until an operator has said so, on managers and on nodes. */
static void test_an_empty_store_takes_over_nothing(void **state)
{
    struct world *w = open_world(test_seed(5), 0);
    (void)state;
    run(w, 2 * TIME_NS_PER_S, true);
    struct store_id life = w->nodes[0].fence.kept.nonce;
    store_model_wipe(w->model);
    run(w, 30 * TIME_NS_PER_S, true);
    assert_int_equal(leader_of(w), -1);
    stop_manager(w, 0);
    w->managers[0].nonce = (struct store_id){ 0 }; /* a new machine: it knows no life yet */
    start_manager(w, 0);
    run(w, 10 * TIME_NS_PER_S, true);
    assert_int_equal(leader_of(w), 0);
    for (int i = 1; i < N_MANAGERS; i++)
        assert_int_equal(store_leader_state(w->managers[i].leader), STORE_FOREIGN);
    for (int i = 0; i < N_NODES; i++)
        assert_true(store_id_equal(w->nodes[i].fence.kept.nonce, life));
    for (int i = 0; i < N_NODES; i++)
        assert_int_equal(
            store_fence_adopt(&w->nodes[i].fence, store_leader_nonce(w->managers[0].leader), NULL),
            STATUS_OK);
    for (int i = 1; i < N_MANAGERS; i++)
        (void)store_leader_adopt(w->managers[i].leader, store_leader_nonce(w->managers[0].leader));
    assert_all_obey(w);
    stop_manager(w, 0);
    start_manager(w, 0);
    run(w, (TTL_S + 3) * TIME_NS_PER_S, true);
    assert_all_obey(w);
    close_world(w);
}

static void do_harm(struct world *w, bool *is_stopped)
{
    int i = (int)rng_below(&w->rng, N_MANAGERS);
    switch (rng_below(&w->rng, 8)) {
    case 0:
        stop_manager(w, i);
        start_manager(w, i);
        break;
    case 1:
    case 2:
        store_model_cut(w->managers[i].store, true);
        break;
    case 3:
        store_model_cut(w->managers[i].store, false);
        break;
    case 4:
        w->managers[i].asleep_until_ns =
            w->now_ns + (int64_t)rng_below(&w->rng, 15) * TIME_NS_PER_S;
        break;
    case 5:
        *is_stopped = !*is_stopped;
        if (*is_stopped)
            store_model_stop(w->model);
        else
            store_model_start(w->model);
        break;
    case 6:
        if (rng_below(&w->rng, 3) == 0)
            store_model_save(w->model);
        break;
    case 7: /* what is restored has a nonce */
        if (rng_below(&w->rng, 6) == 0 && !*is_stopped) {
            store_model_restore(w->model);
            run(w, TIME_NS_PER_S, false);
        }
        break;
    }
}

static void heal(struct world *w, bool is_stopped)
{
    if (is_stopped)
        store_model_start(w->model);
    store_model_lose(w->model, 0);
    for (int i = 0; i < N_MANAGERS; i++) {
        store_model_cut(w->managers[i].store, false);
        w->managers[i].asleep_until_ns = 0;
    }
    run(w, (4 * TTL_S + 5) * TIME_NS_PER_S, false);
    assert_true(leader_of(w) >= 0);
    int64_t before[N_NODES];
    for (int i = 0; i < N_NODES; i++)
        before[i] = w->nodes[i].n_obeyed;
    run(w, 15 * TIME_NS_PER_S, false);
    for (int i = 0; i < N_NODES; i++)
        assert_true(w->nodes[i].n_obeyed > before[i]);
}

/* Two managers may both believe that they lead only after a store lost its history; even then a
 * node obeys one, and after healing all nodes obey the same. */
/* ---- A store by hand. ---- */

static struct store_call *begun;

static void note_call(void *self, struct store_call *call)
{
    (void)self;
    begun = call;
}

static void forget_call(void *self, struct store_call *call)
{
    (void)self, (void)call;
}

/* The call in flight, which has to be of this kind, ends with DONE. */
static void end_call(struct store_leader *leader, enum store_call_kind kind, int64_t revision)
{
    assert_non_null(begun);
    assert_int_equal(begun->kind, kind);
    const struct store_news news = { .kind = STORE_NEWS_CALL, .call = begun };
    begun->end = STORE_DONE;
    begun->revision = revision;
    begun = NULL;
    assert_true(store_leader_take(leader, &news, TIME_NS_PER_S));
}

static void tell(struct store_leader *leader, enum store_news_kind kind,
                 const struct store_entry *entry, int64_t revision)
{
    const struct store_news news = {
        .kind = kind, .n_entries = 1, .entries = entry, .revision = revision
    };
    (void)store_leader_take(leader, &news, TIME_NS_PER_S);
}

/* A candidate lost, and lists the store. The watch tells that the winner has left before the older
 * list arrives. No later news corrects a list that is taken for the present. */
static void test_a_list_is_older_than_the_watch(void **state)
{
    struct store store = { .begin = note_call, .forget = forget_call };
    const struct store_leader_options options = {
        .store = &store, .prefix = "/s/", .name = "m", .id = { 1, 2 }, .ttl_s = TTL_S
    };
    const struct store_id life = { 3, 4 };
    char nonce[STORE_ID_TEXT], winner[STORE_ID_TEXT + 16];
    int64_t now_ns = TIME_NS_PER_S;
    (void)state;
    store_id_write(life, nonce);
    store_id_write((struct store_id){ 5, 6 }, winner);
    strcat(winner, " 7 w");
    const struct store_entry entries[] = { { "/s/nonce", view_text(nonce), 1, 1 },
                                           { "/s/leader", view_text(winner), 9, 9 } };
    struct store_leader *leader = store_leader_open(&options);
    tell(leader, STORE_NEWS_LISTED, &entries[0], 5);
    (void)store_leader_step(leader, now_ns);
    end_call(leader, STORE_GRANT, 8);
    end_call(leader, STORE_CHANGE, 9); /* the conditions did not hold */
    assert_int_equal(begun->kind, STORE_LIST);
    begun->entries = entries;
    begun->n_entries = 2;
    tell(leader, STORE_NEWS_PUT, &entries[1], 9);
    tell(leader, STORE_NEWS_DELETED, &entries[1], 11);
    end_call(leader, STORE_LIST, 10);
    (void)store_leader_step(leader, now_ns += TTL_S * TIME_NS_PER_S);
    end_call(leader, STORE_REVOKE, 12);
    (void)store_leader_step(leader, now_ns += TTL_S * TIME_NS_PER_S);
    assert_non_null(begun);
    assert_int_equal(begun->kind, STORE_GRANT); /* it stands again */
    store_leader_close(leader);
}

static void test_random_faults(void **state)
{
    enum { N_SEEDS = 300, N_FAULTS = 12 };
    uint64_t seed = test_seed(1000);
    int64_t n_terms = 0, n_refused = 0;
    (void)state;
    for (int s = 0; s < N_SEEDS; s++) {
        struct world *w = open_world(seed + (uint64_t)s, s % 3 == 0 ? 0.2 : 0);
        bool is_stopped = false;
        run(w, 3 * TIME_NS_PER_S, true);
        store_model_save(w->model);
        for (int i = 0; i < N_FAULTS; i++) {
            do_harm(w, &is_stopped);
            run(w, (int64_t)rng_below(&w->rng, 8000) * TIME_NS_PER_MS, false);
        }
        heal(w, is_stopped);
        n_terms += w->n_terms;
        n_refused += w->n_refused;
        close_world(w);
    }
    printf("%lld terms as nodes saw them, %lld commands refused\n", (long long)n_terms,
           (long long)n_refused);
    assert_true(n_terms > 1000 && n_refused > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_leads),
        cmocka_unit_test(test_a_sleeper_wakes_deposed),
        cmocka_unit_test(test_a_store_that_was_away),
        cmocka_unit_test(test_a_store_that_was_rolled_back),
        cmocka_unit_test(test_an_empty_store_takes_over_nothing),
        cmocka_unit_test(test_a_list_is_older_than_the_watch),
        cmocka_unit_test(test_random_faults),
    };
    log_set(LOG_ERROR, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
