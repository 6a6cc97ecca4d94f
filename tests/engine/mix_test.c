/* The same tokens, whatever happened: random mixes over pools small enough to force everything.
 *
 * Every request's tokens are compared with those that it would have got alone (fake_expect), and
 * the engine checks itself after every step. At the end, the events that the test is about must
 * really have occurred: preemptions, chunked prefills, prefix hits, returns, cancels in flight. */
#include "../test.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "greedy.h"
#include "world.h"

struct tally {
    int64_t n_requests, n_preempted, n_chunks, n_hits, n_cancelled, n_crashed, n_lease, n_deadline;
    int64_t n_side_by_side, n_rounds_saved, n_cuts, n_full, n_copied, n_drafted, n_accepted;
};

static void make_options(struct rng *rng, const struct schedule_policy *policy,
                         struct world_options *o)
{
    world_options_init(o);
    o->policy = policy;
    o->n_services = 1 + (int32_t)rng_below(rng, 3);
    o->n_requests = 60 + rng_below(rng, 60);
    o->n_requests_max = rng_below(rng, 4) == 0 ? 16 : 48;
    o->n_tokens_max = 160;
    o->pool_bytes = 9000 + rng_below(rng, 9000);
    o->body_bytes = 60000;
    o->swap_bytes = rng_below(rng, 2) == 0 ? 0 : 2000 + rng_below(rng, 20000);
    o->chunk_tokens = 8 + (int32_t)rng_below(rng, 32);
    o->n_lanes = policy == &greedy_policy ? 1 + (int32_t)rng_below(rng, 2) : 1;
    if (policy == schedule_find("adbs") || policy == schedule_find("mux-rr"))
        o->n_lanes = 3; /* two parts beside the whole */
    o->n_rounds_max = rng_below(rng, 2) == 0 ? 1 : 4096;
    o->speculation = rng_below(rng, 4) > 0 ? SPECULATION_LOOKUP : SPECULATION_OFF;
}

static void ask_one(struct world *w, struct rng *rng, uint32_t index)
{
    struct world_ask ask = {
        .index = index,
        .service = (uint16_t)rng_below(rng, (uint32_t)w->options.n_services),
        .n_prompt = 1 + (int32_t)rng_below(rng, 80),
        .n_new = 1 + (int32_t)rng_below(rng, 60),
        .prompt_seed = rng_below(rng, 3),
        .n_shared = (int32_t)rng_below(rng, 64),
        .n_stops = rng_below(rng, 3) == 0 ? 4 : 0,
        .n_tokens_min = (int32_t)rng_below(rng, 6),
        .priority = (int16_t)((int32_t)rng_below(rng, 3) - 1),
        .flags = rng_below(rng, 5) == 0 ? REQUEST_WANTS_LOGPROBS : 0,
        .n_lease = rng_below(rng, 6) == 0 ? 1 + (int32_t)rng_below(rng, 20) : 0,
    };
    ask.n_shared = min_i32(ask.n_shared, ask.n_prompt);
    if (rng_below(rng, 12) == 0)
        ask.flags |= REQUEST_NO_PREFIX_HIT;
    if (rng_below(rng, 15) == 0)
        ask.deadline_ns = w->clock_ns + 1000000 * (1 + rng_below(rng, 60));
    while (!world_submit(w, &ask)) { /* the world was deaf to its refusal: it was not submitted */
        mem_give(w->requests[index].body);
        mem_give(w->requests[index].expected);
        mem_give(w->requests[index].got);
    }
}

static void disturb(struct world *w, struct rng *rng, uint32_t n_asked)
{
    if (rng_below(rng, 12) == 0 && n_asked > 0)
        world_cancel(w, rng_below(rng, n_asked));
    for (uint32_t i = 0; i < n_asked;
         i++) /* what came back goes in again, in an order of its own */
        if (!w->requests[i].is_submitted && !w->requests[i].is_over && rng_below(rng, 4) == 0) {
            struct world_request *q = &w->requests[i];
            if (q->is_cancelled)
                q->is_over = true; /* it was cancelled while it was at home */
            else
                (void)world_submit_again(w, i);
        }
}

static void run_mix(uint64_t seed, const struct schedule_policy *policy, struct tally *tally)
{
    struct world w;
    struct world_options o;
    struct rng rng;
    rng_init(&rng, seed, 0);
    make_options(&rng, policy, &o);
    world_open(&w, &o);
    w.deaf_one = rng_below(&rng, 2) == 0 ? 7 : 0;
    w.fake.fail_one = rng_below(&rng, 3) == 0 ? 97 : 0;
    uint32_t n_asked = 0, n_over = 0;
    for (int64_t n = 0; n_over < o.n_requests; n++) {
        assert_true(n < 200000);
        if (n_asked < o.n_requests)
            ask_one(&w, &rng, n_asked++);
        world_run(&w, w.clock_ns + rng_below(&rng, n_asked < o.n_requests ? 3000000 : 8000000));
        disturb(&w, &rng, n_asked);
        n_over = 0;
        for (uint32_t i = 0; i < n_asked; i++)
            n_over += w.requests[i].is_over;
    }
    for (uint32_t i = 0; i < o.n_requests; i++) {
        const struct world_request *q = &w.requests[i];
        tally->n_cancelled += q->why == SERVICE_CANCELLED;
        tally->n_deadline += q->why == SERVICE_DEADLINE;
        if (q->what == SERVICE_ENDED && (q->request.flags & REQUEST_WANTS_LOGPROBS) != 0)
            assert_int_equal(q->n_logprobs, q->n_got - q->request.n_prompt);
    }
    tally->n_requests += o.n_requests;
    tally->n_preempted += w.n_preempted;
    tally->n_chunks += w.fake.n_chunks;
    tally->n_hits += w.n_hits;
    tally->n_crashed += w.n_returned[SERVICE_CRASHED];
    tally->n_lease += w.n_returned[SERVICE_LEASE_OVER];
    tally->n_full += w.n_returned[SERVICE_FULL];
    tally->n_side_by_side += w.fake.n_side_by_side;
    tally->n_rounds_saved += w.fake.n_rounds_saved;
    tally->n_cuts += w.fake.n_cuts;
    tally->n_copied += w.fake.n_copied;
    tally->n_drafted += w.fake.n_drafted;
    tally->n_accepted += w.fake.n_accepted;
    world_close(&w);
}

static void print(const char *name, const struct tally *t)
{
    printf("%s: %lld requests, %lld preemptions, %lld chunks, %lld prefix hits, %lld cancelled, "
           "%lld deadlines, %lld crashes, %lld leases over, %lld full, %lld side by side, %lld "
           "rounds held, %lld cuts, %lld back from the host, %lld drafts, %lld accepted\n",
           name, (long long)t->n_requests, (long long)t->n_preempted, (long long)t->n_chunks,
           (long long)t->n_hits, (long long)t->n_cancelled, (long long)t->n_deadline,
           (long long)t->n_crashed, (long long)t->n_lease, (long long)t->n_full,
           (long long)t->n_side_by_side, (long long)t->n_rounds_saved, (long long)t->n_cuts,
           (long long)t->n_copied, (long long)t->n_drafted, (long long)t->n_accepted);
}

static void same_tokens_under_the_tests_policy(void **state)
{
    struct tally tally = { 0 };
    uint64_t seed = test_seed(1);
    (void)state;
    for (uint64_t i = 0; i < 24; i++)
        run_mix(seed + i, &greedy_policy, &tally);
    print("greedy", &tally);
    assert_true(tally.n_preempted >= 1000 && tally.n_chunks >= 1000 && tally.n_hits >= 1000);
    assert_true(tally.n_cancelled > 50 && tally.n_crashed > 50 && tally.n_lease > 50);
    assert_true(tally.n_deadline > 20 && tally.n_full > 20 && tally.n_copied > 200);
    assert_true(tally.n_side_by_side > 300 && tally.n_rounds_saved > 50 && tally.n_cuts > 10);
    assert_true(tally.n_accepted > 1000 && tally.n_drafted - tally.n_accepted > 500);
}

static void same_tokens_under_every_policy(void **state)
{
    int n_policies;
    const struct schedule_policy *const *policies = schedule_all(&n_policies);
    uint64_t seed = test_seed(1000);
    (void)state;
    int64_t n_preempted = 0, n_chunks = 0, n_accepted = 0; /* some policies do neither */
    assert_true(n_policies > 0);
    for (int p = 0; p < n_policies; p++) {
        struct tally tally = { 0 };
        for (uint64_t i = 0; i < 8; i++)
            run_mix(seed + i, policies[p], &tally);
        print(policies[p]->name, &tally);
        assert_true(tally.n_requests >= 500 && tally.n_hits >= 100);
        n_preempted += tally.n_preempted;
        n_chunks += tally.n_chunks;
        n_accepted += tally.n_accepted;
    }
    assert_true(n_preempted >= 20 * n_policies && n_chunks >= 150 * n_policies);
    assert_true(n_accepted >= 200 * n_policies);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_tokens_under_the_tests_policy),
        cmocka_unit_test(same_tokens_under_every_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
