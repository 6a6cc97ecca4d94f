/* See handover_scene.h. */
#include "handover_scene.h"

#include "../test.h"
#include "base/mem.h"
#include "base/time.h"
#include "greedy.h"
#include <string.h>

static const int64_t STEP_NS = 500000;

struct handover_scene handover;

bool handover_happens(uint32_t one_in)
{
    return one_in > 0 && rng_below(&handover.rng, one_in) == 0;
}

enum exchange_said handover_pass(void *self, struct exchange_stamp *stamp, void *bytes, int64_t n)
{
    (void)self;
    handover.n_blocks++;
    if (handover_happens(handover.lose_one))
        return EXCHANGE_GONE;
    if (handover_happens(handover.delay_one))
        return EXCHANGE_LATER;
    if (!handover_happens(handover.spoil_one))
        return EXCHANGE_BLOCK;
    int word = handover.spoil_word >= 0 ? handover.spoil_word
                                        : (int)rng_below(&handover.rng, HANDOVER_STAMP_WORDS + 1);
    handover.n_spoiled++;
    if (word < HANDOVER_STAMP_WORDS)
        ((uint32_t *)(void *)stamp)[word] ^= 1u << rng_below(&handover.rng, 32);
    else
        ((unsigned char *)bytes)[rng_below(&handover.rng, (uint32_t)n)] ^= 1;
    return EXCHANGE_BLOCK;
}

static bool hear(void *self, const struct service_event *event, const void *payload)
{
    struct handover_part *part = self;
    struct handover_client *c = &handover.clients[event->id - 1];
    if (handover_happens(17))
        return false; /* there is no room for it now */
    if (c->engine != part - handover.parts || event->epoch != c->request.epoch)
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
        c->kept_engine = (int32_t)(part - handover.parts);
    }
    c->is_over |= c->is_cancelled || c->n_got == c->n_expected;
    return true;
}

static void wake(void *self)
{
    if (!handover.is_real) /* else another thread calls, and engines are stepped often */
        ((struct handover_part *)self)->wake_ns = handover.clock_ns;
}

static void open_part(struct handover_part *part)
{
    const int64_t bytes_per_token = 16;
    struct service_spec spec = { .name = "model" };
    struct kv_layout layout;
    double waste;
    int64_t step_ns = handover.step_ns > 0 ? handover.step_ns : TIME_NS_PER_MS;
    fake_init(&part->fake, &handover.clock_ns, step_ns);
    int64_t unit_bytes = kv_choose_layout(1, &bytes_per_token, 4096, &layout, &waste);
    part->engine = engine_open(&(struct engine_options){
        .id = (uint16_t)(part - handover.parts),
        .memory_bytes = 1 << 16,
        .body_bytes = 1 << 18,
        .swap_bytes = handover.swap_bytes,
        .exchange = part->exchange,
        .wake = wake,
        .wake_self = part,
        .n_requests_max = 32,
        .n_tokens_max = 256,
        .n_lanes = 1,
        .n_services = 1,
        .services = &spec,
        .layouts = &layout,
        .kv_unit_bytes = unit_bytes,
        .has_prefix_cache = handover.has_prefix_cache,
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
    engine_open_service(part->engine, 0, &perf, handover.clock_ns);
    part->wake_ns = handover.clock_ns;
}

/* Gives the part its exchange. */
static void open_way(int i)
{
    struct handover_part *part = &handover.parts[i];
    if (handover.open_way != NULL)
        handover.open_way(i);
    else if (i > 0)
        part->exchange = handover.parts[0].exchange;
    else
        part->exchange = exchange_open(&(struct exchange_options){
            .seed = handover.seed, .n_offers_max = 24, .pass = handover_pass });
}

static void close_way(int i)
{
    if (handover.close_way != NULL)
        handover.close_way(i);
    else if (i == 0)
        exchange_close(handover.parts[i].exchange);
}

void handover_open(uint64_t seed)
{
    rng_init(&handover.rng, seed, 0);
    handover.seed = seed;
    handover.clock_ns = handover.is_real ? time_now_ns() : 0;
    for (int i = 0; i < HANDOVER_ENGINES; i++) {
        open_way(i);
        open_part(&handover.parts[i]);
    }
    for (int i = 0; i < HANDOVER_CLIENTS; i++) {
        struct handover_client *c = &handover.clients[i];
        int32_t n_prompt = 1 + (int32_t)rng_below(&handover.rng, 100);
        int32_t n_new = 1 + (int32_t)rng_below(&handover.rng, 60);
        size_t n_bytes = request_body_bytes(256, 0, 0);
        c->body = mem_take(n_bytes);
        *c->body = (struct request_body){ .n_tokens = (uint32_t)n_prompt, .seed = (uint64_t)i };
        for (int32_t k = 0; k < n_prompt; k++)
            c->got[k] = request_body_tokens(c->body)[k] =
                (int32_t)rng_below(&handover.rng, FAKE_VOCABULARY);
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

void handover_send(struct handover_client *c, int engine, int32_t n_lease)
{
    struct handover_part *part = &handover.parts[engine];
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
    part->wake_ns = handover.clock_ns;
    if (handover.learn != NULL && c->ticket != 0)
        handover.learn(engine, c->ticket, c->kept_engine);
    if (!engine_submit(part->engine, &c->request, c->body, handover.clock_ns)) {
        c->engine = -1;
        c->request.epoch--;
    }
}

static void count(struct handover_part *part)
{
    static struct engine_report report;
    engine_report(part->engine, &report, handover.clock_ns);
    part->n_kept += report.services[0].n_kept;
    part->n_handed += report.services[0].n_handed;
    part->n_lost += report.services[0].n_handed_lost;
}

void handover_kill(int i)
{
    count(&handover.parts[i]);
    for (int k = 0; k < HANDOVER_CLIENTS; k++)
        if (handover.clients[k].engine == i)
            handover.clients[k].engine = -1;
    engine_close(handover.parts[i].engine);
    fake_free(&handover.parts[i].fake);
    if (handover.open_way != NULL) { /* its process ends, and another one begins */
        close_way(i);
        open_way(i);
    }
    open_part(&handover.parts[i]);
}

void handover_step(void)
{
    int next = 0;
    for (int i = 1; i < HANDOVER_ENGINES; i++)
        if (handover.parts[i].wake_ns < handover.parts[next].wake_ns)
            next = i;
    int64_t most_ns = handover.clock_ns + STEP_NS;
    int64_t to_ns = min_i64(handover.parts[next].wake_ns, most_ns);
    if (handover.is_real && to_ns > handover.clock_ns)
        time_sleep_ns(to_ns - handover.clock_ns);
    handover.clock_ns = handover.is_real ? time_now_ns() : max_i64(handover.clock_ns, to_ns);
    if (handover.parts[next].wake_ns > handover.clock_ns)
        return;
    handover.parts[next].wake_ns = INT64_MAX;
    int64_t wake_ns = engine_step(handover.parts[next].engine, handover.clock_ns);
    handover.parts[next].wake_ns = min_i64(
        handover.parts[next].wake_ns, min_i64(wake_ns, handover.clock_ns + 10 * TIME_NS_PER_MS));
    assert_true(engine_is_sound(handover.parts[next].engine));
}

static bool is_idle(bool with_offers)
{
    bool is_idle = true;
    for (int i = 0; i < HANDOVER_ENGINES; i++)
        is_idle = is_idle && engine_is_idle(handover.parts[i].engine) &&
                  (with_offers || !engine_keeps_kv(handover.parts[i].engine));
    return is_idle;
}

void handover_close(void)
{
    int64_t end_ns = handover.clock_ns + 11 * TIME_NS_PER_S;
    while (handover.clock_ns < end_ns && !(handover.is_real && is_idle(handover.leaves_offers)))
        handover_step();
    assert_true(is_idle(handover.leaves_offers));
    for (int i = 0; i < HANDOVER_ENGINES; i++) {
        struct handover_part *part = &handover.parts[i];
        assert_true(engine_is_sound(part->engine)); /* its pool and host tier are empty */
        count(part);
        engine_close(part->engine);
        fake_free(&part->fake);
    }
    for (int i = HANDOVER_ENGINES; i-- > 0;)
        close_way(i); /* with no offer */
    for (int i = 0; i < HANDOVER_CLIENTS; i++)
        mem_give(handover.clients[i].body);
}

int handover_n_open(void)
{
    int n = 0;
    for (int i = 0; i < HANDOVER_CLIENTS; i++)
        n += !handover.clients[i].is_over;
    return n;
}

void handover_send_all(bool anywhere, int32_t n_lease)
{
    for (int i = 0; i < HANDOVER_CLIENTS; i++) {
        struct handover_client *c = &handover.clients[i];
        if (c->is_over || c->engine >= 0)
            continue;
        bool is_new = c->n_got == c->request.n_prompt;
        if (anywhere)
            handover_send(c, (int)rng_below(&handover.rng, HANDOVER_ENGINES),
                          (int32_t)rng_below(&handover.rng, 9));
        else
            handover_send(c, is_new ? 0 : 1 + i % 2, is_new ? 1 : n_lease);
    }
}

void handover_run(int32_t n_lease)
{
    for (int n = 0; handover_n_open() > 0; n++) {
        assert_true(n < 1000000);
        if (handover_happens(20)) /* seldom, since what is full is asked again at once */
            handover_send_all(false, n_lease);
        handover_step();
    }
    handover_close();
}

/* Its model leaves, and comes back. */
static void leave_and_return(struct handover_part *part)
{
    struct engine_room room;
    const struct perf perf = { .c1_ps = 400000000,
                               .c3_ps = { 900000000 },
                               .b_switch = INT32_MAX,
                               .prefill_scale = 1,
                               .decode_scale = 1 };
    (void)engine_empty_service(part->engine, 0, handover.clock_ns);
    for (int k = 0; !engine_close_service(part->engine, 0, handover.clock_ns); k++) {
        assert_true(k < 100000);
        handover_step();
    }
    while (!engine_make_room(part->engine, 0, 0, 0, handover.clock_ns, &room))
        handover_step();
    engine_open_service(part->engine, 0, &perf, handover.clock_ns);
}

static void cancel(struct handover_client *c)
{
    c->is_cancelled = true;
    if (c->engine >= 0)
        engine_cancel(handover.parts[c->engine].engine, c->request.id, c->request.epoch,
                      handover.clock_ns);
    else
        c->is_over = true;
}

void handover_run_chaos(bool anywhere)
{
    for (int n = 0; handover_n_open() > 0; n++) {
        assert_true(n < 1000000);
        if (handover_happens(20))
            handover_send_all(anywhere, 6);
        handover_step();
        if (n < 3000 && handover_happens(300))
            handover_kill((int)rng_below(&handover.rng, HANDOVER_ENGINES));
        if (n < 3000 && handover_happens(100))
            cancel(&handover.clients[rng_below(&handover.rng, HANDOVER_CLIENTS)]);
        if (n < 3000 && handover_happens(200))
            leave_and_return(&handover.parts[rng_below(&handover.rng, HANDOVER_ENGINES)]);
    }
    handover_close();
}
