/* Links: within a session each message counts once and in order, or the session ends. Whatever the
 * bus loses, no request is lost and none is answered twice. */
#include "gateway_world.h"

#include "base/log.h"
#include "cluster/link.h"
#include <string.h>

/* ---- Two ends and a channel that loses, repeats and delays. ---- */

enum { CHANNEL_MAX = 64, N_SENT = 3000 };

struct channel { /* both ways of one pair of ends */
    struct message_head waiting[2][CHANNEL_MAX];
    int n_waiting[2];
    struct rng rng;
    double lost, twice;
    bool can_drop; /* its ends send again what vanished */
};

static bool put(void *self, uint16_t to, const void *part1, size_t n1, const void *part2, size_t n2)
{
    struct channel *c = self;
    (void)part2;
    assert_true(n1 == sizeof(struct message_head) && n2 == 0);
    if (c->n_waiting[to] + 2 > CHANNEL_MAX)
        return false;
    if (rng_unit(&c->rng) < c->lost)
        return true;
    int n = rng_unit(&c->rng) < c->twice ? 2 : 1;
    for (int i = 0; i < n; i++)
        memcpy(&c->waiting[to][c->n_waiting[to]++], part1, n1);
    return true;
}

/* The next message to an end; sometimes a later one overtakes it. */
static bool get(struct channel *c, int to, struct message_head *head)
{
    int n = c->n_waiting[to], at = 0;
    if (n == 0)
        return false;
    if (n > 1 && rng_unit(&c->rng) < c->twice)
        at = 1;
    *head = c->waiting[to][at];
    memmove(&c->waiting[to][at], &c->waiting[to][at + 1], sizeof *head * (size_t)(n - at - 1));
    c->n_waiting[to]--;
    return true;
}

static struct cluster_link end_of(struct channel *c, uint16_t address)
{
    return (struct cluster_link){
        .port = { .self = c,
                  .address = address,
                  .can_lose = true,
                  .can_drop = c->can_drop,
                  .send = put },
        .peer = (uint16_t)(1 - address),
    };
}

struct tally {
    uint64_t session, next; /* of the open session: the next number that counts */
    int n_counted, n_sessions;
};

/* Takes all mail of the second end. The messages of a session that count are numbered 0, 1, 2,
 * ... */
static void take_all(struct channel *c, struct cluster_link *link, struct tally *tally,
                     int64_t now_ns)
{
    struct message_head head;
    while (get(c, 1, &head)) {
        if (head.kind == MESSAGE_OPEN && head.session > link->session) {
            cluster_link_begin(link, head.session, now_ns);
            tally->session = head.session;
            tally->next = 0;
            tally->n_sessions++;
        }
        enum cluster_link_verdict verdict = cluster_link_take(link, &head);
        if (verdict == CLUSTER_LINK_MISSING)
            cluster_link_end(link);
        if (verdict != CLUSTER_LINK_COUNTS)
            continue;
        if (head.kind == MESSAGE_CLOSED) {
            cluster_link_end(link);
            continue;
        }
        assert_int_equal(head.session, tally->session);
        if (head.kind == MESSAGE_CANCEL) {
            assert_int_equal(head.id, tally->next);
            tally->next++;
            tally->n_counted++;
        }
    }
}

static void run_pair(uint64_t seed, double lost, double twice, bool can_drop)
{
    struct channel c = {
        .rng = { seed, 0, 0 }, .lost = lost, .twice = twice, .can_drop = can_drop
    };
    struct cluster_link a = end_of(&c, 0), b = end_of(&c, 1);
    struct tally tally = { 0 };
    struct message_head head;
    uint64_t n_sessions = 0, next = 0;
    int64_t wake_ns, now_ns = 0;
    for (int i = 0; i < N_SENT; i++, now_ns += 10 * TIME_NS_PER_MS) {
        while (get(&c, 0, &head)) {
            enum cluster_link_verdict verdict = cluster_link_take(&a, &head);
            if (verdict == CLUSTER_LINK_MISSING ||
                (verdict == CLUSTER_LINK_COUNTS && head.kind == MESSAGE_CLOSED))
                cluster_link_end(&a);
        }
        if (!cluster_link_step(&a, now_ns, &wake_ns))
            cluster_link_end(&a);
        if (a.session == 0) {
            struct message_head open = cluster_message_head(MESSAGE_OPEN, 0, sizeof open);
            cluster_link_begin(&a, ++n_sessions, now_ns);
            (void)cluster_link_send(&a, &open, sizeof open, NULL, 0);
            next = 0;
        }
        struct message_head cancel = cluster_message_head(MESSAGE_CANCEL, 0, sizeof cancel);
        cancel.id = next;
        next += cluster_link_send(&a, &cancel, sizeof cancel, NULL, 0);
        take_all(&c, &b, &tally, now_ns);
        if (!cluster_link_step(&b, now_ns, &wake_ns))
            cluster_link_end(&b);
    }
    if (lost == 0)
        assert_true(tally.n_sessions == 1 && tally.n_counted == N_SENT);
    else if (can_drop) /* an OPEN may be lost, and the last ones were not asked for yet */
        assert_true(tally.n_sessions <= 2 && tally.n_counted > N_SENT - 200);
    else
        assert_true(tally.n_sessions > 5 && tally.n_counted > N_SENT / 20);
    cluster_link_free(&a);
    cluster_link_free(&b);
}

static void test_each_counts_once_and_in_order(void **state)
{
    (void)state;
    run_pair(1, 0, 0, false);
    for (uint64_t seed = 1; seed <= 8; seed++) {
        run_pair(seed, 0.01 * (double)seed, 0.02, false);
        run_pair(seed, 0.01 * (double)seed, 0.02, true);
    }
}

/* A copy that is gone ends the session, and so does a number that was never sent. */
static void test_what_is_gone_ends_the_session(void **state)
{
    (void)state;
    static const uint64_t numbers[] = { 0, 100, 699, 700, UINT32_MAX, UINT64_MAX };
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        struct channel c = { .rng = { 1, 0, 0 }, .lost = 1, .can_drop = true };
        struct cluster_link link = end_of(&c, 0);
        struct message_head head = cluster_message_head(MESSAGE_CANCEL, 0, sizeof head);
        cluster_link_begin(&link, 7, 0);
        for (int k = 0; k < 700; k++)
            assert_true(cluster_link_send(&link, &head, sizeof head, NULL, 0));
        head = cluster_message_head(MESSAGE_RESEND, 1, sizeof head);
        head.session = 7;
        head.id = numbers[i];
        bool is_kept = head.id <= 700 && 700 - head.id <= CLUSTER_LINK_COPIES;
        assert_int_equal(cluster_link_take(&link, &head),
                         is_kept ? CLUSTER_LINK_PAST : CLUSTER_LINK_MISSING);
        cluster_link_end(&link);
        assert_null(link.copies);
    }
}

static void test_silence_ends_a_session(void **state)
{
    (void)state;
    struct channel c = { .rng = { 1, 0, 0 } };
    struct cluster_link link = end_of(&c, 0);
    int64_t now_ns = 0, wake_ns = TIME_NEVER;
    cluster_link_begin(&link, 7, now_ns);
    for (int i = 0; i < 3; i++) { /* it says BEAT once a second meanwhile */
        assert_true(cluster_link_step(&link, now_ns, &wake_ns));
        assert_int_equal(c.n_waiting[1], i);
        assert_in_range(wake_ns, now_ns + 1, now_ns + TIME_NS_PER_S);
        now_ns = wake_ns;
        wake_ns = TIME_NEVER;
    }
    assert_int_equal(now_ns, 3 * TIME_NS_PER_S);
    assert_false(cluster_link_step(&link, now_ns, &wake_ns));
}

/* An end that was stopped for a minute has heard nothing for that long, which says nothing about
 * the other end. */
static void test_a_stopped_end_does_not_blame_the_other(void **state)
{
    (void)state;
    struct channel c = { .rng = { 1, 0, 0 } };
    struct cluster_link link = end_of(&c, 0);
    int64_t wake_ns = TIME_NEVER;
    cluster_link_begin(&link, 7, 0);
    assert_true(cluster_link_step(&link, 60 * TIME_NS_PER_S, &wake_ns));
    assert_true(link.session == 7);
}

/* ---- The whole: gateway and node over a bus that loses messages. ---- */

static void run_storm(uint64_t seed, double lost, double twice, int64_t hole_every, bool is_cut)
{
    struct world *w = mem_take(sizeof *w);
    struct rng rng;
    int n_submitted = 0, n_over = 0;
    w->faults.can_lose = true;
    open_world(w, seed, 1 << 20);
    w->faults.lost = lost;
    w->faults.twice = twice;
    for (int e = 0; e < N_ENGINES; e++)
        w->engines[e].hole_every = hole_every;
    rng_init(&rng, seed, 9);
    struct service door = cluster_gateway_service(w->gateway);
    for (int i = 0; i < 400000 && n_over < N_REQUESTS; i++) {
        while (n_submitted < N_REQUESTS && rng_below(&rng, 2) == 0 &&
               submit(w, n_submitted, (int)rng_below(&rng, N_SERVICES),
                      1 + (int32_t)rng_below(&rng, 40), TIME_NEVER))
            n_submitted++;
        if (n_submitted > 0 && rng_below(&rng, 20) == 0) {
            int victim = (int)rng_below(&rng, (uint32_t)n_submitted);
            w->requests[victim].is_cancelled |= !w->requests[victim].is_over;
            door.cancel(door.self, (uint64_t)victim + 1, 0);
        }
        if (is_cut && rng_below(&rng, 200) == 0) /* half of the cuts are short */
            w->faults.cut_until_ns =
                w->now_ns + (int64_t)(1 + rng_below(&rng, 8000)) * TIME_NS_PER_MS;
        step(w);
        n_over = 0;
        for (int k = 0; k < n_submitted; k++)
            n_over += w->requests[k].is_over;
    }
    assert_int_equal(n_over, N_REQUESTS);
    for (int k = 0; k < N_REQUESTS; k++) {
        if (w->requests[k].why == SERVICE_CANCELLED)
            assert_true(w->requests[k].is_cancelled);
        else
            assert_int_equal(w->requests[k].n_tokens, w->requests[k].n_tokens_max);
    }
    assert_int_equal(cluster_gateway_n_requests(w->gateway), 0);
    printf("seed %llu: %lld messages lost, %lld repeated, %lld holes in answers\n",
           (unsigned long long)seed, (long long)w->faults.n_lost, (long long)w->faults.n_twice,
           (long long)(w->engines[0].n_holes + w->engines[1].n_holes));
    assert_true((w->faults.n_lost > 50) == (lost > 0 || is_cut));
    assert_true((w->engines[0].n_holes > 50) == (hole_every > 0));
    close_world(w);
    mem_give(w);
}

static void test_no_request_is_lost_with_messages(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++)
        run_storm(seed, 0.003, 0.01, 0, false);
    run_storm(4, 0, 0, 0, true);
}

/* An engine that loses a part of an answer: the end that follows it must not count. */
static void test_an_answer_with_a_hole_is_sent_again(void **state)
{
    (void)state;
    run_storm(5, 0, 0, 50, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_counts_once_and_in_order),
        cmocka_unit_test(test_what_is_gone_ends_the_session),
        cmocka_unit_test(test_silence_ends_a_session),
        cmocka_unit_test(test_a_stopped_end_does_not_blame_the_other),
        cmocka_unit_test(test_no_request_is_lost_with_messages),
        cmocka_unit_test(test_an_answer_with_a_hole_is_sent_again),
    };
    log_set(LOG_ERROR, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
