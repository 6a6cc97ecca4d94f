/* Requests move between engines with their KV. Whatever happens to a hand-over, an answer is the
 * one that a single engine gives, and both sides get all of their blocks back. The fake executor's
 * tokens depend on the content of every block (fake.h), so a wrong block shows. */
#include "../test.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "engine/engine.h"
#include "engine/exchange.h"
#include "fake.h"
#include "greedy.h"

enum { ENGINES = 3, CLIENTS = 48, STAMP_WORDS = sizeof(struct exchange_stamp) / 4 };

struct client {
    struct request request;
    struct request_body *body;
    int32_t expected[256], got[256];
    int32_t n_expected, n_got, engine; /* engine: -1, none */
    bool is_over, is_cancelled;
    uint64_t ticket;
    int32_t n_kept;
};
struct scene {
    int64_t clock_ns;
    struct exchange *exchange;
    struct rng rng;
    struct part {
        struct scene *scene;
        struct fake fake;
        struct engine *engine;
        int64_t wake_ns;
        int64_t n_kept, n_handed, n_lost; /* of engines that were killed */
    } parts[ENGINES];
    struct client clients[CLIENTS];
    int64_t swap_bytes;
    /* Faults: one block in this many; 0 = never. */
    uint32_t spoil_one, delay_one, lose_one;
    int spoil_word; /* of the stamp; STAMP_WORDS: of the bytes; negative: any */
    int n_spoiled, n_blocks;
    bool has_prefix_cache;
};
static struct scene s;

static bool happens(uint32_t one_in)
{
    return one_in > 0 && rng_below(&s.rng, one_in) == 0;
}

static enum exchange_said pass(void *self, struct exchange_stamp *stamp, void *bytes, int64_t n)
{
    (void)self;
    s.n_blocks++;
    if (happens(s.lose_one))
        return EXCHANGE_GONE;
    if (happens(s.delay_one))
        return EXCHANGE_LATER;
    if (!happens(s.spoil_one))
        return EXCHANGE_BLOCK;
    int word = s.spoil_word >= 0 ? s.spoil_word : (int)rng_below(&s.rng, STAMP_WORDS + 1);
    s.n_spoiled++;
    if (word < STAMP_WORDS)
        ((uint32_t *)(void *)stamp)[word] ^= 1u << rng_below(&s.rng, 32);
    else
        ((unsigned char *)bytes)[rng_below(&s.rng, (uint32_t)n)] ^= 1;
    return EXCHANGE_BLOCK;
}

static bool hear(void *self, const struct service_event *event, const void *payload)
{
    struct part *part = self;
    struct client *c = &s.clients[event->id - 1];
    if (happens(17))
        return false; /* there is no room for it now */
    if (c->engine != part - s.parts || event->epoch != c->request.epoch)
        return true; /* of a submission that was given up */
    assert_false(c->is_over);
    assert_int_equal(event->position, c->n_got);
    for (int32_t k = 0; k < event->n_tokens; k++) {
        assert_int_equal(((const int32_t *)payload)[k], c->expected[c->n_got]);
        c->got[c->n_got++] = ((const int32_t *)payload)[k];
    }
    if (event->what == SERVICE_TOKENS)
        return true;
    c->engine = -1;
    if (event->what == SERVICE_ENDED) {
        c->is_over = true;
        assert_true(event->why == SERVICE_CANCELLED || c->n_got == c->n_expected);
    } else if (event->why != SERVICE_FULL) {
        c->ticket = event->ticket;
        c->n_kept = event->n_kept;
    }
    c->is_over |= c->is_cancelled || c->n_got == c->n_expected;
    return true;
}

static void wake(void *self)
{
    ((struct part *)self)->wake_ns = s.clock_ns;
}

static void open_part(struct part *part)
{
    const int64_t bytes_per_token = 16;
    struct service_spec spec = { .name = "model" };
    struct kv_layout layout;
    double waste;
    part->scene = &s;
    fake_init(&part->fake, &s.clock_ns, 1000000);
    int64_t unit_bytes = kv_choose_layout(1, &bytes_per_token, 4096, &layout, &waste);
    part->engine = engine_open(&(struct engine_options){
        .id = (uint16_t)(part - s.parts),
        .memory_bytes = 1 << 16,
        .body_bytes = 1 << 18,
        .swap_bytes = s.swap_bytes,
        .exchange = s.exchange,
        .wake = wake,
        .wake_self = part,
        .n_requests_max = 32,
        .n_tokens_max = 256,
        .n_lanes = 1,
        .n_services = 1,
        .services = &spec,
        .layouts = &layout,
        .kv_unit_bytes = unit_bytes,
        .has_prefix_cache = s.has_prefix_cache,
        .policy = &greedy_policy,
        .exec = fake_exec(&part->fake),
        .emit = hear,
        .emit_self = part,
    });
    const struct perf perf = { .c1_ps = 400000000,
                               .k1_ps = 1000000,
                               .c3_ps = { 900000000 },
                               .c2_ps = { 1000000 },
                               .b_switch = INT32_MAX,
                               .prefill_scale = 1,
                               .decode_scale = 1 };
    engine_open_service(part->engine, 0, &perf, s.clock_ns);
    part->wake_ns = s.clock_ns;
}

static void open_scene(uint64_t seed)
{
    rng_init(&s.rng, seed, 0);
    s.exchange =
        exchange_open(&(struct exchange_options){ .seed = seed, .n_offers_max = 24, .pass = pass });
    for (int i = 0; i < ENGINES; i++)
        open_part(&s.parts[i]);
    for (int i = 0; i < CLIENTS; i++) {
        struct client *c = &s.clients[i];
        int32_t n_prompt = 1 + (int32_t)rng_below(&s.rng, 100);
        int32_t n_new = 1 + (int32_t)rng_below(&s.rng, 60);
        size_t n_bytes = request_body_bytes(256, 0, 0);
        c->body = mem_take(n_bytes);
        *c->body = (struct request_body){ .n_tokens = (uint32_t)n_prompt, .seed = (uint64_t)i };
        for (int32_t k = 0; k < n_prompt; k++)
            c->got[k] = request_body_tokens(c->body)[k] =
                (int32_t)rng_below(&s.rng, FAKE_VOCABULARY);
        c->body->n_bytes = (uint32_t)request_body_bytes((uint32_t)n_prompt, 0, 0);
        c->n_got = n_prompt;
        c->request = (struct request){ .id = (uint64_t)i + 1,
                                       .n_prompt = n_prompt,
                                       .n_tokens_max = n_prompt + n_new,
                                       .deadline_ns = TIME_NEVER };
        c->n_expected = fake_expect(c->body, n_prompt, n_prompt + n_new, c->expected);
        c->engine = -1;
    }
}

/* Sends it to the engine, which may be of any role here. */
static void send(struct client *c, int engine, int32_t n_lease)
{
    struct part *part = &s.parts[engine];
    size_t n = (size_t)c->n_got;
    c->body->n_tokens = (uint32_t)n;
    c->body->n_bytes = (uint32_t)request_body_bytes((uint32_t)n, 0, 0);
    memcpy(request_body_tokens(c->body), c->got, 4 * n);
    c->request.n_tokens = c->n_got;
    c->request.n_lease = n_lease;
    c->request.ticket = c->ticket;
    c->request.n_host = c->n_kept;
    c->request.epoch++;
    c->engine = engine;
    part->wake_ns = s.clock_ns;
    if (!engine_submit(part->engine, &c->request, c->body, s.clock_ns)) {
        c->engine = -1;
        c->request.epoch--;
    }
}

static void count(struct part *part)
{
    static struct engine_report report;
    engine_report(part->engine, &report, s.clock_ns);
    part->n_kept += report.services[0].n_kept;
    part->n_handed += report.services[0].n_handed;
    part->n_lost += report.services[0].n_handed_lost;
}

/* Ends an engine as it is. Its requests are taken back; their tickets may be stale then. */
static void kill_part(int i)
{
    count(&s.parts[i]);
    for (int k = 0; k < CLIENTS; k++)
        if (s.clients[k].engine == i)
            s.clients[k].engine = -1;
    engine_close(s.parts[i].engine);
    fake_free(&s.parts[i].fake);
    open_part(&s.parts[i]);
}

static void step_next(void)
{
    int next = 0;
    for (int i = 1; i < ENGINES; i++)
        if (s.parts[i].wake_ns < s.parts[next].wake_ns)
            next = i;
    s.clock_ns = max_i64(s.clock_ns, min_i64(s.parts[next].wake_ns, s.clock_ns + 500000));
    if (s.parts[next].wake_ns > s.clock_ns)
        return;
    s.parts[next].wake_ns = INT64_MAX;
    int64_t wake_ns = engine_step(s.parts[next].engine, s.clock_ns);
    s.parts[next].wake_ns =
        min_i64(s.parts[next].wake_ns, min_i64(wake_ns, s.clock_ns + 10 * TIME_NS_PER_MS));
    assert_true(engine_is_sound(s.parts[next].engine));
}

/* All are over; nothing is left, at the latest when the last offer has expired. */
static void close_scene(void)
{
    for (int64_t end_ns = s.clock_ns + 11 * TIME_NS_PER_S; s.clock_ns < end_ns;)
        step_next();
    for (int i = 0; i < ENGINES; i++) {
        assert_true(engine_is_idle(s.parts[i].engine) && !engine_keeps_kv(s.parts[i].engine));
        assert_true(engine_is_sound(s.parts[i].engine)); /* its pool and host tier are empty */
        count(&s.parts[i]);
        engine_close(s.parts[i].engine);
        fake_free(&s.parts[i].fake);
    }
    exchange_close(s.exchange); /* with no offer */
    for (int i = 0; i < CLIENTS; i++)
        mem_give(s.clients[i].body);
}

static int64_t sum(int64_t a, int64_t b, int64_t c)
{
    return a + b + c;
}

static int n_open(void)
{
    int n = 0;
    for (int i = 0; i < CLIENTS; i++)
        n += !s.clients[i].is_over;
    return n;
}

/* Prompts on engine 0, all else on the others, or anything anywhere. */
static void send_all(bool anywhere, int32_t n_lease)
{
    for (int i = 0; i < CLIENTS; i++) {
        struct client *c = &s.clients[i];
        if (c->is_over || c->engine >= 0)
            continue;
        bool is_new = c->n_got == c->request.n_prompt;
        if (anywhere)
            send(c, (int)rng_below(&s.rng, ENGINES), (int32_t)rng_below(&s.rng, 9));
        else
            send(c, is_new ? 0 : 1 + i % 2, is_new ? 1 : n_lease);
    }
}

static void run_split(int32_t n_lease)
{
    for (int n = 0; n_open() > 0; n++) {
        assert_true(n < 1000000);
        if (happens(20)) /* seldom, since what is full is asked again at once */
            send_all(false, n_lease);
        step_next();
    }
    close_scene();
}

static void a_request_continues_on_another_engine(void **state)
{
    (void)state;
    s = (struct scene){ .swap_bytes = 1 << 20 };
    open_scene(1);
    run_split(0);
    int64_t n_handed = sum(0, s.parts[1].n_handed, s.parts[2].n_handed);
    assert_true(s.parts[0].n_kept > 0 && n_handed == s.parts[0].n_kept && s.n_blocks > 0);
    assert_int_equal(s.parts[1].n_lost + s.parts[2].n_lost, 0);
    s = (struct scene){ .swap_bytes = 1 << 20, .has_prefix_cache = true };
    open_scene(2);
    run_split(5); /* slices */
    assert_true(s.parts[1].n_handed + s.parts[2].n_handed > s.parts[0].n_kept);
}

/* Any wrong word of the stamp, and any wrong byte, voids the hand-over. */
static void what_does_not_match_is_computed_again(void **state)
{
    (void)state;
    for (int word = 0; word <= STAMP_WORDS; word++) {
        s = (struct scene){ .swap_bytes = 1 << 20, .spoil_one = 1, .spoil_word = word };
        open_scene(3);
        run_split(0);
        assert_true(s.n_spoiled > 0 && s.parts[0].n_kept > 0);
        assert_int_equal(s.parts[1].n_handed + s.parts[2].n_handed, 0);
        assert_int_equal(s.parts[1].n_lost + s.parts[2].n_lost, s.parts[0].n_kept);
    }
}

/* Blocks are lost, late and spoiled, engines are killed and drained, clients leave. */
static void nothing_is_lost_in_chaos(void **state)
{
    int64_t n_handed = 0, n_lost = 0, n_kept = 0;
    (void)state;
    for (uint64_t seed = 100; seed < 160; seed++) {
        s = (struct scene){ .swap_bytes = seed % 4 == 0 ? 3000 : 1 << 18,
                            .spoil_one = 40,
                            .delay_one = 6,
                            .lose_one = 40,
                            .spoil_word = -1,
                            .has_prefix_cache = seed % 2 == 0 };
        open_scene(seed);
        for (int n = 0; n_open() > 0; n++) {
            assert_true(n < 1000000);
            if (happens(20))
                send_all(seed % 3 > 0, 6);
            step_next();
            if (n < 3000 && happens(300))
                kill_part((int)rng_below(&s.rng, ENGINES));
            if (n < 3000 && happens(100)) {
                struct client *c = &s.clients[rng_below(&s.rng, CLIENTS)];
                c->is_cancelled = true;
                if (c->engine >= 0)
                    engine_cancel(s.parts[c->engine].engine, c->request.id, c->request.epoch,
                                  s.clock_ns);
                else
                    c->is_over = true;
            }
            if (n < 3000 && happens(200)) { /* its model leaves, and comes back */
                struct part *part = &s.parts[rng_below(&s.rng, ENGINES)];
                (void)engine_empty_service(part->engine, 0, s.clock_ns);
                for (int k = 0; !engine_close_service(part->engine, 0, s.clock_ns); k++) {
                    assert_true(k < 100000);
                    step_next();
                }
                struct engine_room room;
                while (!engine_make_room(part->engine, 0, 0, 0, s.clock_ns, &room))
                    step_next();
                const struct perf perf = { .c1_ps = 400000000,
                                           .c3_ps = { 900000000 },
                                           .b_switch = INT32_MAX,
                                           .prefill_scale = 1,
                                           .decode_scale = 1 };
                engine_open_service(part->engine, 0, &perf, s.clock_ns);
            }
        }
        close_scene();
        for (int i = 0; i < ENGINES; i++) {
            n_kept += s.parts[i].n_kept;
            n_handed += s.parts[i].n_handed;
            n_lost += s.parts[i].n_lost;
        }
    }
    print_message("%lld kept, %lld handed over, %lld computed again\n", (long long)n_kept,
                  (long long)n_handed, (long long)n_lost);
    assert_true(n_handed > 1000 && n_lost > 100 && n_kept > n_handed);
}

/* Without an acknowledgement the source holds its blocks for ten seconds. */
static void an_offer_expires(void **state)
{
    (void)state;
    s = (struct scene){ .swap_bytes = 1 << 20 };
    open_scene(4);
    for (int i = 1; i < CLIENTS; i++)
        s.clients[i].is_over = true;
    s.clients[0].request.n_prompt = s.clients[0].n_got;
    send(&s.clients[0], 0, 1);
    while (s.clients[0].engine >= 0)
        step_next();
    s.clients[0].is_over = true;
    int64_t kept_ns = s.clock_ns;
    assert_true(engine_keeps_kv(s.parts[0].engine));
    while (engine_keeps_kv(s.parts[0].engine))
        step_next();
    assert_true(s.clock_ns - kept_ns > 9 * TIME_NS_PER_S &&
                s.clock_ns - kept_ns < 11 * TIME_NS_PER_S);
    close_scene();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_continues_on_another_engine),
        cmocka_unit_test(what_does_not_match_is_computed_again),
        cmocka_unit_test(nothing_is_lost_in_chaos),
        cmocka_unit_test(an_offer_expires),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
