/* The host: an engine on its own thread, driven through the rings. */
#include "../test.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "base/wake.h"
#include "engine/bodies.h"
#include "engine/host.h"
#include "greedy.h"
#include <poll.h>
#include <stdatomic.h>

enum { N_REQUESTS = 400, PROMPT = 12, ANSWER = 20, N_TOKENS_MAX = 3000 };

/* An executor that answers at once, on the engine's thread: token = position + id. */
struct instant {
    struct engine_exec_view view;
    struct batch batches[LIMIT_BATCHES];
    struct batch_item items[LIMIT_BATCHES][LIMIT_BATCH_ITEMS];
    int n_batches, n_polled;
    int32_t n_new[LIMIT_BATCH_ITEMS];
    struct wake wake;
    int64_t delay_ns;
};

static void attach(void *self, const struct engine_exec_view *view)
{
    ((struct instant *)self)->view = *view;
}
static void begin(void *self, const struct batch *batches, int n_batches, int n_rounds)
{
    struct instant *x = self;
    (void)n_rounds;
    x->n_batches = n_batches;
    x->n_polled = 0;
    for (int i = 0; i < n_batches; i++) {
        x->batches[i] = batches[i];
        x->batches[i].items = x->items[i];
        memcpy(x->items[i], batches[i].items,
               (size_t)batches[i].n_items * sizeof(*batches[i].items));
    }
    if (x->delay_ns > 0)
        time_sleep_ns(x->delay_ns);
    wake_up(&x->wake);
}
static void cut(void *self, uint16_t lane)
{
    (void)self;
    (void)lane;
}
static bool poll_done(void *self, struct engine_exec_done *done)
{
    struct instant *x = self;
    if (x->n_polled == x->n_batches) {
        wake_clear(&x->wake);
        return false;
    }
    const struct batch *batch = &x->batches[x->n_polled++];
    *done = (struct engine_exec_done){ .batch = batch->id, .n_steps = 1, .n_new = x->n_new };
    done->begin_ns = time_now_ns();
    done->end_ns = done->begin_ns + 1000;
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct request *r = &x->view.requests[batch->items[i].slot];
        struct engine_body body = engine_bodies_at(x->view.bodies, r->body);
        struct engine_progress progress = engine_exec_progress(r, batch->items[i].n_tokens, 1);
        x->n_new[i] = progress.n_new;
        if (progress.n_new > 0)
            body.tokens[r->n_tokens] = r->n_tokens + (int32_t)r->id;
    }
    return true;
}
static int wait_fd(void *self)
{
    return ((struct instant *)self)->wake.fd;
}
static int64_t next_ns(void *self)
{
    (void)self;
    return TIME_NEVER;
}

static struct engine_host *open_host(struct instant *x, uint32_t outbox_bytes, int64_t delay_ns)
{
    static const int64_t bytes_per_token[2] = { 32, 48 };
    struct kv_layout layouts[2];
    struct service_spec specs[2] = { { .name = "a" }, { .name = "b" } };
    double waste;
    memset(x, 0, sizeof(*x));
    wake_open(&x->wake);
    x->delay_ns = delay_ns;
    int64_t unit_bytes = kv_choose_layout(2, bytes_per_token, 8192, layouts, &waste);
    return engine_host_open(&(struct engine_host_options){
        .engine = { .id = 3,
                    .memory_bytes = 100000,
                    .body_bytes = 100000,
                    .n_requests_max = 64,
                    .n_tokens_max = N_TOKENS_MAX,
                    .n_lanes = 1,
                    .n_services = 2,
                    .services = specs,
                    .layouts = layouts,
                    .kv_unit_bytes = unit_bytes,
                    .has_prefix_cache = true,
                    .policy = &greedy_policy,
                    .exec = { x, attach, begin, cut, poll_done, wait_fd, next_ns } },
        .outbox_bytes = outbox_bytes,
        .inbox_bytes = 16384,
        .report_ns = 2 * TIME_NS_PER_MS,
    });
}

static const struct perf perf = { .c1_ps = 1000000,
                                  .c3_ps = { 1000000 },
                                  .prefill_scale = 1,
                                  .decode_scale = 1,
                                  .b_switch = INT32_MAX };

static void wait_news(struct engine_host *host)
{
    struct pollfd fd = { .fd = engine_host_wait_fd(host), .events = POLLIN };
    assert_true(poll(&fd, 1, 10000) == 1);
}

static struct engine_host_answer wait_answer(struct engine_host *host)
{
    struct engine_host_answer a;
    struct service_event event;
    const void *payload;
    while (!engine_host_answer(host, &a)) {
        (void)engine_host_report(host);
        if (!engine_host_next(host, &event, &payload))
            wait_news(host);
    }
    return a;
}

static void open_services(struct engine_host *host)
{
    for (int service = 0; service < 2; service++) {
        assert_true(engine_host_make_room(host, service, 20000, 1000));
        struct engine_host_answer a = wait_answer(host);
        assert_true(a.what == ENGINE_HOST_ROOM && a.is_done && a.service == service);
        assert_true(engine_host_open_service(host, service, &perf));
        a = wait_answer(host);
        assert_true(a.what == ENGINE_HOST_OPENED && a.service == service);
    }
}

struct asked {
    int32_t n_got;
    uint32_t epoch;
    bool is_home, is_over;
    uint8_t why;
};

static bool submit(struct engine_host *host, struct asked *asked, uint32_t i)
{
    size_t n_bytes = request_body_bytes((uint32_t)asked->n_got, 0, 0);
    struct request_body *body = mem_take(n_bytes);
    body->n_bytes = (uint32_t)n_bytes;
    body->n_tokens = (uint32_t)asked->n_got;
    body->sampling.repetition_penalty = 1;
    for (int32_t k = 0; k < asked->n_got; k++)
        request_body_tokens(body)[k] = k < PROMPT ? k : k + (int32_t)i + 1;
    struct request r = { .id = i + 1,
                         .service = (uint16_t)(i % 2),
                         .n_prompt = PROMPT,
                         .n_tokens = asked->n_got,
                         .n_tokens_max = PROMPT + ANSWER,
                         .arrived_ns = time_now_ns(),
                         .deadline_ns = TIME_NEVER,
                         .epoch = asked->epoch };
    struct service service = engine_host_service(host);
    bool is_taken = service.submit(service.self, &r, body);
    mem_give(body);
    return is_taken;
}

static void hear(struct asked *all, const struct service_event *event, const void *payload)
{
    struct asked *asked = &all[event->id - 1];
    assert_true(event->engine == 3 && event->epoch == asked->epoch && !asked->is_over);
    assert_int_equal(event->position, asked->n_got);
    if (event->what == SERVICE_TOKENS) {
        for (int32_t k = 0; k < event->n_tokens; k++, asked->n_got++)
            assert_int_equal(((const int32_t *)payload)[k], asked->n_got + (int32_t)event->id);
    } else if (event->what == SERVICE_RETURNED) {
        asked->is_home = true;
        asked->epoch++;
    } else {
        asked->is_over = true;
        asked->why = event->why;
        assert_true(event->why == SERVICE_CANCELLED || asked->n_got == PROMPT + ANSWER);
    }
}

/* Everything is answered, whatever is full, cancelled or returned. */
static void run_all(uint32_t outbox_bytes, int64_t delay_ns)
{
    static struct asked all[N_REQUESTS];
    static struct instant x;
    struct engine_host *host = open_host(&x, outbox_bytes, delay_ns);
    struct rng rng;
    uint32_t n_asked = 0, n_over = 0, n_cancelled = 0, n_returned = 0;
    rng_init(&rng, 5, 0);
    memset(all, 0, sizeof(all));
    open_services(host);
    for (uint32_t i = 0; i < N_REQUESTS; i++)
        all[i] = (struct asked){ .n_got = PROMPT, .is_home = true };
    while (n_over < N_REQUESTS) {
        struct service_event event;
        const void *payload;
        n_asked += n_asked < N_REQUESTS;
        for (uint32_t i = 0; i < n_asked; i++)
            if (all[i].is_home && rng_below(&rng, 4) == 0 && submit(host, &all[i], i))
                all[i].is_home = false;
        uint32_t i = rng_below(&rng, n_asked);
        if (rng_below(&rng, 20) == 0 && !all[i].is_over && !all[i].is_home)
            engine_host_cancel(host, i + 1, 0);
        int n = 0;
        for (; n < 3 && engine_host_next(host, &event, &payload); n++) {
            hear(all, &event, payload);
            n_over += event.what == SERVICE_ENDED;
            n_cancelled += event.why == SERVICE_CANCELLED;
            n_returned += event.what == SERVICE_RETURNED;
        }
        if (n == 0)
            time_sleep_ns(20000); /* the engine's thread may need this core */
    }
    assert_true(engine_host_drain(host));
    assert_int_equal(wait_answer(host).what, ENGINE_HOST_DRAINED);
    while (!engine_host_report(host)->is_draining)
        time_sleep_ns(TIME_NS_PER_MS);
    const struct engine_report *report = engine_host_report(host);
    assert_true(report->engine == 3 && report->n_requests == 0 && report->n_steps > 0 &&
                report->host_ns > 0 && report->services[1].status == SERVICE_LOADED);
    printf("%u cancelled, %u returned, %lld steps\n", n_cancelled, n_returned,
           (long long)report->n_steps);
    engine_host_close(host);
    wake_close(&x.wake);
}

static void answers_everything(void **state)
{
    (void)state;
    run_all(0, 0);
}

static void loses_nothing_when_the_reader_is_slow(void **state)
{
    (void)state;
    run_all(1024, 100000);
}

static void services_come_and_go(void **state)
{
    static struct instant x;
    struct engine_host *host = open_host(&x, 0, 100000);
    (void)state;
    assert_true(engine_host_make_room(host, 0, 200000, 0));
    struct engine_host_answer a = wait_answer(host);
    assert_true(a.what == ENGINE_HOST_ROOM && !a.is_done && a.room.never);
    assert_true(a.room.need_bytes == 200000 && a.room.have_bytes < 100000);
    open_services(host);
    struct asked asked = { .n_got = PROMPT };
    assert_true(submit(host, &asked, 0));
    assert_true(engine_host_empty_service(host, 0, false));
    a = wait_answer(host); /* it has a request, so it stays */
    assert_true(a.what == ENGINE_HOST_EMPTIED && !a.is_done && a.service == 0);
    assert_true(engine_host_empty_service(host, 0, true));
    a = wait_answer(host); /* its request goes home */
    assert_true(a.what == ENGINE_HOST_EMPTIED && a.is_done && a.service == 0);
    assert_true(engine_host_close_service(host, 0));
    a = wait_answer(host);
    assert_true(a.what == ENGINE_HOST_CLOSED && a.is_done);
    assert_true(engine_host_make_room(host, 0, 10000, 0));
    assert_true(wait_answer(host).is_done);
    engine_host_close(host);
    wake_close(&x.wake);
}

/* The host tells its user that a model is empty, and its bytes go to another model only when the
 * user has closed it. */
static void bytes_stay_until_closed(void **state)
{
    static struct instant x;
    struct engine_host *host = open_host(&x, 0, 0);
    (void)state;
    assert_true(engine_host_make_room(host, 0, 60000, 0));
    assert_true(wait_answer(host).is_done);
    assert_true(engine_host_open_service(host, 0, &perf));
    assert_true(wait_answer(host).is_done);
    assert_true(engine_host_empty_service(host, 0, false));
    struct engine_host_answer a = wait_answer(host);
    assert_true(a.what == ENGINE_HOST_EMPTIED && a.is_done && a.service == 0);
    assert_int_equal(engine_host_report(host)->services[0].weights_bytes, 60000);
    assert_true(engine_host_make_room(host, 1, 60000, 0)); /* waits for them */
    time_sleep_ns(20 * TIME_NS_PER_MS);
    assert_false(engine_host_answer(host, &a));
    assert_true(engine_host_close_service(host, 0));
    a = wait_answer(host);
    assert_true(a.what == ENGINE_HOST_CLOSED && a.is_done && a.service == 0);
    a = wait_answer(host);
    assert_true(a.what == ENGINE_HOST_ROOM && a.is_done && a.service == 1);
    engine_host_close(host);
    wake_close(&x.wake);
}

/* Asks that come before the answer to the previous one: each is answered once, in its turn. */
static void asks_may_come_early(void **state)
{
    static struct instant x;
    struct engine_host *host = open_host(&x, 0, 5 * TIME_NS_PER_MS);
    struct asked asked = { .n_got = PROMPT };
    int n_closed = 0;
    (void)state;
    open_services(host);
    assert_true(submit(host, &asked, 0));
    time_sleep_ns(8 * TIME_NS_PER_MS); /* a batch is in flight nearly always */
    for (int i = 0; i < 2; i++)
        assert_true(engine_host_close_service(host, 0));
    assert_true(engine_host_make_room(host, 0, 10000, 0));
    for (int i = 0; i < 3; i++) {
        struct engine_host_answer a = wait_answer(host);
        n_closed += a.what == ENGINE_HOST_CLOSED;
        assert_true(a.is_done && a.service == 0);
        assert_true(n_closed == 2 || a.what == ENGINE_HOST_CLOSED);
    }
    engine_host_close(host);
    wake_close(&x.wake);
}

/* A body from outside is checked before it is used. */
static void malformed_body_gets_a_sentence(void **state)
{
    static struct instant x;
    struct engine_host *host = open_host(&x, 0, 0);
    struct request_body body = { .n_bytes = sizeof(body),
                                 .n_tokens = 12 }; /* claims what it lacks */
    struct request r = { .id = 1, .n_prompt = 12, .n_tokens = 12, .n_tokens_max = 20 };
    struct service_event event;
    const void *payload;
    (void)state;
    open_services(host);
    assert_true(engine_host_submit(host, &r, &body));
    while (!engine_host_next(host, &event, &payload)) {
        (void)engine_host_report(host);
        wait_news(host);
    }
    assert_true(event.what == SERVICE_ENDED && event.why == SERVICE_FAILED && event.n_bytes > 10);
    engine_host_close(host);
    wake_close(&x.wake);
}

/* The longest prompt passes through the inbox, wherever in it the last one ended. */
static void the_longest_prompt_fits(void **state)
{
    static struct instant x;
    struct engine_host *host = open_host(&x, 0, 0);
    struct service_event event = { 0 };
    const void *payload;
    (void)state;
    open_services(host);
    for (uint32_t i = 0; i < 8; i++) {
        int64_t end_ns = time_now_ns() + 10 * TIME_NS_PER_S;
        int32_t n_tokens = N_TOKENS_MAX - 1 - (int32_t)(7 - i) * 100; /* each a little longer */
        while (!submit(host, &(struct asked){ .n_got = n_tokens }, i))
            assert_true(time_now_ns() < end_ns);
        while (!engine_host_next(host, &event, &payload))
            wait_news(host);
        assert_true(event.id == i + 1 && event.what == SERVICE_ENDED);
    }
    engine_host_close(host);
    wake_close(&x.wake);
}

/* Closing during work waits only for the batch in flight. */
static void closes_in_the_middle(void **state)
{
    static struct instant x;
    struct engine_host *host = open_host(&x, 0, 1000000);
    (void)state;
    open_services(host);
    for (uint32_t i = 0; i < 20; i++)
        assert_true(submit(host, &(struct asked){ .n_got = PROMPT }, i));
    time_sleep_ns(3000000);
    engine_host_close(host);
    wake_close(&x.wake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_everything),
        cmocka_unit_test(loses_nothing_when_the_reader_is_slow),
        cmocka_unit_test(services_come_and_go),
        cmocka_unit_test(bytes_stay_until_closed),
        cmocka_unit_test(asks_may_come_early),
        cmocka_unit_test(malformed_body_gets_a_sentence),
        cmocka_unit_test(the_longest_prompt_fits),
        cmocka_unit_test(closes_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
