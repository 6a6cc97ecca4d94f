/* The engine's tests' world: see world.h. */
#include "world.h"

#include "../test.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "greedy.h"
#include <time.h>

bool world_is_in_engine;

void world_options_init(struct world_options *o)
{
    *o = (struct world_options){
        .policy = &greedy_policy,
        .n_services = 1,
        .n_lanes = 1,
        .n_requests = 64,
        .n_requests_max = 64,
        .n_tokens_max = 256,
        .pool_bytes = 1 << 20,
        .body_bytes = 1 << 20,
        .chunk_tokens = 64,
        .n_seqs_max = 32,
        .n_rounds_max = 4096,
        .has_prefix_cache = true,
        .bytes_per_token = { 16, 24, 40, 64 },
    };
}

/* ---- The engine's events. ---- */

static void hear_tokens(struct world *w, struct world_request *q, const struct service_event *event,
                        const void *payload)
{
    const int32_t *ids = payload;
    assert_int_equal(event->position, q->n_got);
    assert_true(event->n_tokens > 0 && q->n_got + event->n_tokens <= q->n_expected);
    for (int32_t k = 0; k < event->n_tokens; k++) {
        assert_int_equal(ids[k], q->expected[q->n_got]);
        q->got[q->n_got++] = ids[k];
    }
    if (event->n_bytes > event->n_tokens * 4) {
        const struct token_logprobs *logprobs = (const void *)(ids + event->n_tokens);
        for (int32_t k = 0; k < event->n_tokens; k++)
            assert_true(logprobs[k].logprob == fake_logprob(ids[k]));
        q->n_logprobs += event->n_tokens;
    }
    w->hash ^= hash_fast(ids, (size_t)event->n_tokens * 4, (uint64_t)event->position).low;
}

static bool hear(void *self, const struct service_event *event, const void *payload)
{
    struct world *w = self;
    w->n_emits++;
    if (w->is_deaf || (w->deaf_one > 0 && w->n_emits % w->deaf_one == 0))
        return false;
    assert_true(event->id >= 1 && event->id <= w->options.n_requests);
    struct world_request *q = &w->requests[event->id - 1];
    assert_true(q->is_submitted && !q->is_over);
    assert_int_equal(event->epoch, q->request.epoch);
    q->what = event->what;
    q->why = event->why;
    q->n_events++;
    if (event->what == SERVICE_TOKENS) {
        hear_tokens(w, q, event, payload);
        return true;
    }
    assert_int_equal(event->position, q->n_got);
    if (event->n_bytes > 0)
        snprintf(q->text, sizeof(q->text), "%.*s", event->n_bytes, (const char *)payload);
    q->n_cached = event->n_cached;
    q->n_preempted += event->n_preempted;
    q->n_batches = event->n_batches;
    q->n_batch_rows = event->n_batch_rows;
    q->served_ns = event->served_ns;
    w->n_preempted += event->n_preempted;
    w->n_hits += event->n_cached > 0;
    w->n_hit_tokens += event->n_cached;
    q->ended_ns = w->clock_ns;
    uint64_t facts[4] = { event->id, event->what, event->why, (uint64_t)w->clock_ns };
    w->hash ^= hash_fast(facts, sizeof(facts), 7).low;
    if (event->what == SERVICE_RETURNED) {
        w->n_returned[event->why]++;
        q->is_submitted = false;
        return true;
    }
    q->is_over = true;
    if (event->why == SERVICE_STOPPED || event->why == SERVICE_LENGTH)
        assert_int_equal(q->n_got, q->n_expected);
    return true;
}

/* ---- Opening and closing. ---- */

void world_open(struct world *w, const struct world_options *o)
{
    struct service_spec specs[WORLD_SERVICES_MAX] = { 0 };
    struct kv_layout layouts[WORLD_SERVICES_MAX];
    struct schedule_config config;
    double waste;
    memset(w, 0, sizeof(*w));
    w->options = *o;
    w->wake_ns = TIME_NEVER;
    fake_init(&w->fake, &w->clock_ns, 1000000);
    schedule_config_init(&config);
    config.chunk_tokens = o->chunk_tokens;
    config.n_seqs_max = o->n_seqs_max;
    config.n_batch_tokens_max = 512;
    config.n_rounds_max = o->n_rounds_max;
    int64_t unit_bytes = kv_choose_layout(o->n_services, o->bytes_per_token, 4096, layouts, &waste);
    for (int i = 0; i < o->n_services; i++) {
        snprintf(specs[i].name, sizeof(specs[i].name), "model-%d", i);
        specs[i].speculation = o->speculation;
    }
    w->engine = engine_open(&(struct engine_options){
        .memory_bytes = o->pool_bytes,
        .body_bytes = o->body_bytes,
        .swap_bytes = o->swap_bytes,
        .n_requests_max = o->n_requests_max,
        .n_tokens_max = o->n_tokens_max,
        .n_lanes = o->n_lanes,
        .n_services = o->n_services,
        .n_services_max = o->n_services_max,
        .kv_bounds = o->n_services_max > 0 ? kv_cut_bounds_any(KV_MERGED, layouts, o->n_services)
                                           : (struct kv_bounds){ 0 },
        .services = specs,
        .layouts = layouts,
        .kv_unit_bytes = unit_bytes,
        .has_prefix_cache = o->has_prefix_cache,
        .policy = o->policy,
        .config = &config,
        .exec = fake_exec(&w->fake),
        .log = o->log,
        .kv_disk = o->kv_disk,
        .kv_disk_bytes = o->kv_disk_bytes,
        .emit = hear,
        .emit_self = w,
    });
    const struct perf perf = { .c1_ps = 400000000,
                               .k1_ps = 1000000,
                               .c3_ps = { 900000000 },
                               .c2_ps = { 1000000 },
                               .k2_ps = { 1000 },
                               .b_switch = INT32_MAX,
                               .prefill_scale = 1,
                               .decode_scale = 1 };
    for (int i = 0; i < o->n_services && !o->stays_closed; i++)
        engine_open_service(w->engine, i, &perf, 0);
    w->requests = mem_take(o->n_requests * sizeof(*w->requests));
}

void world_close(struct world *w)
{
    assert_true(engine_is_idle(w->engine));
    assert_true(engine_is_sound(w->engine));
    engine_close(w->engine);
    fake_free(&w->fake);
    for (uint32_t i = 0; i < w->options.n_requests; i++) {
        mem_give(w->requests[i].body);
        mem_give(w->requests[i].expected);
        mem_give(w->requests[i].got);
    }
    mem_give(w->requests);
}

/* ---- Asking. ---- */

static void make_body(struct world_request *q, const struct world_ask *ask)
{
    size_t n_bytes = request_body_bytes((uint32_t)ask->n_prompt, (uint32_t)ask->n_stops, 0);
    struct request_body *body = mem_take(n_bytes);
    body->n_bytes = (uint32_t)n_bytes;
    body->n_tokens = (uint32_t)ask->n_prompt;
    body->n_stop_ids = (uint32_t)ask->n_stops;
    body->seed = ask->index * 77 + 5;
    body->sampling.n_tokens_min = ask->n_tokens_min;
    for (int32_t i = 0; i < ask->n_prompt; i++) {
        uint64_t seed = i < ask->n_shared ? ask->prompt_seed : ask->index + 1000000u;
        request_body_tokens(body)[i] = (int32_t)(rng_at(seed, 0, (uint64_t)i) % FAKE_VOCABULARY);
    }
    for (int32_t i = 0; i < ask->n_stops; i++)
        request_body_stop_ids(body)[i] = i;
    q->body = body;
}

bool world_submit(struct world *w, const struct world_ask *ask)
{
    struct world_request *q = &w->requests[ask->index];
    q->request = (struct request){
        .id = ask->index + 1,
        .service = ask->service,
        .priority = ask->priority,
        .n_prompt = ask->n_prompt,
        .n_tokens = ask->n_prompt,
        .n_tokens_max = ask->n_prompt + ask->n_new,
        .n_lease = ask->n_lease,
        .n_predicted = ask->n_predicted,
        .arrived_ns = w->clock_ns,
        .deadline_ns = ask->deadline_ns > 0 ? ask->deadline_ns : TIME_NEVER,
        .flags = ask->flags,
    };
    make_body(q, ask);
    size_t n = (size_t)max_i32(q->request.n_tokens_max, 1);
    q->expected = mem_take(n * sizeof(*q->expected));
    q->got = mem_take(n * sizeof(*q->got));
    if (ask->n_new > 0 && ask->n_prompt > 0)
        q->n_expected = fake_expect(q->body, ask->n_prompt, q->request.n_tokens_max, q->expected);
    memcpy(q->got, q->expected, (size_t)ask->n_prompt * sizeof(*q->got));
    q->n_got = ask->n_prompt;
    q->is_submitted = true;
    w->wake_ns = w->clock_ns;
    world_is_in_engine = true;
    bool is_taken = engine_submit(w->engine, &q->request, q->body, w->clock_ns);
    world_is_in_engine = false;
    return is_taken;
}

bool world_submit_again(struct world *w, uint32_t index)
{
    struct world_request *q = &w->requests[index];
    size_t n_bytes = request_body_bytes((uint32_t)q->n_got, q->body->n_stop_ids, 0);
    struct request_body *body = mem_take(n_bytes);
    *body = *q->body;
    body->n_bytes = (uint32_t)n_bytes;
    body->n_tokens = (uint32_t)q->n_got;
    memcpy(request_body_tokens(body), q->got, (size_t)q->n_got * 4);
    memcpy(request_body_stop_ids(body), request_body_stop_ids(q->body), 4 * q->body->n_stop_ids);
    q->request.n_tokens = q->n_got;
    q->request.epoch++;
    q->is_submitted = true;
    w->wake_ns = w->clock_ns;
    bool is_taken = engine_submit(w->engine, &q->request, body, w->clock_ns);
    if (!is_taken) {
        q->request.epoch--;
        q->is_submitted = false;
    }
    mem_give(body);
    return is_taken;
}

void world_cancel(struct world *w, uint32_t index)
{
    w->requests[index].is_cancelled = true;
    w->wake_ns = w->clock_ns;
    world_is_in_engine = true;
    engine_cancel(w->engine, index + 1, w->requests[index].request.epoch, w->clock_ns);
    world_is_in_engine = false;
}

/* ---- Time. ---- */

void world_step(struct world *w)
{
    world_is_in_engine = true;
    w->wake_ns = engine_step(w->engine, w->clock_ns);
    while (w->options.kv_disk != NULL && !w->options.is_disk_slow && engine_lends_host(w->engine)) {
        (void)nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
        w->wake_ns = min_i64(w->wake_ns, engine_step(w->engine, w->clock_ns));
    }
    world_is_in_engine = false;
    w->n_steps++;
    if (w->deaf_one > 0 || w->is_deaf) /* a host looks again for room */
        w->wake_ns = min_i64(w->wake_ns, w->clock_ns + 100000);
    assert_true(engine_is_sound(w->engine));
}

void world_run(struct world *w, int64_t until_ns)
{
    while (w->wake_ns <= until_ns) {
        w->clock_ns = max_i64(w->clock_ns, w->wake_ns);
        world_step(w);
    }
    w->clock_ns = max_i64(w->clock_ns, until_ns);
}

void world_finish(struct world *w)
{
    for (int64_t n = 0; !engine_is_idle(w->engine); n++) {
        assert_true(w->wake_ns != TIME_NEVER && n < 1000000);
        world_run(w, max_i64(w->wake_ns, w->clock_ns));
    }
}
