/* A unit on a group of devices that loses a rank under requests: each request is returned exactly
 * once, the group is opened again, and then the same answers come. */
#include "test.h"

#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include "group/group.h"
#include "run/unit.h"
#include <poll.h>

enum { N_REQUESTS = 4, N_TOKENS = 64 };

struct scene {
    struct compute_device *device;
    struct run_unit *unit;
    struct service_spec service;
    struct kv_layout layout;
    struct schedule_config schedule;
};
struct answers {
    int32_t tokens[N_REQUESTS][N_TOKENS], n_tokens[N_REQUESTS];
    int n_ended[N_REQUESTS], n_returned[N_REQUESTS];
};

static enum status reopen(void *self, struct compute_device **out, struct fault *fault)
{
    static const struct device_spec ranks = {
        .kind = DEVICE_CPU, .n_cores = 2, .cores = { 0, 1 }, .n_ranks = 2, .rank_cores = { 1, 1 }
    };
    struct scene *s = self;
    enum status status = group_open_cpu(&ranks, &s->device, fault);
    *out = s->device;
    return status;
}

static void open_scene(struct scene *s)
{
    static const char *const path = SOURCE_ROOT "/tests/golden/data/qwen2";
    static const enum dtype kv_dtype = DTYPE_F16;
    const int64_t bytes_per_token = 256;
    double waste;
    assert_int_equal(reopen(s, &s->device, NULL), STATUS_OK);
    snprintf(s->service.name, LIMIT_NAME_BYTES, "model");
    s->service.n_context_max = 128;
    schedule_config_init(&s->schedule);
    s->schedule.n_seqs_max = 8;
    s->schedule.n_batch_tokens_max = 64;
    s->schedule.chunk_tokens = 32;
    const struct run_unit_options options = {
        .host = { .engine = { .memory_bytes = 64 << 20,
                              .body_bytes = 1 << 20,
                              .n_requests_max = 16,
                              .n_tokens_max = 128,
                              .n_lanes = 1,
                              .n_services = 1,
                              .n_services_max = 1,
                              .services = &s->service,
                              .layouts = &s->layout,
                              .kv_unit_bytes = kv_choose_layout(1, &bytes_per_token, 1 << 16,
                                                                &s->layout, &waste),
                              .has_prefix_cache = true,
                              .policy = schedule_find("db-share"),
                              .config = &s->schedule } },
        .device = s->device,
        .reopen = reopen,
        .reopen_self = s,
        .paths = &path,
        .n_rows_max = 72,
        .n_logit_rows_max = 8,
        .kv_dtypes = &kv_dtype,
        .perfs = NULL,
    };
    s->unit = run_unit_open(&options);
}

static void step(struct scene *s)
{
    struct service service = run_unit_service(s->unit);
    struct pollfd fds[2] = { { .fd = service.wait_fd(service.self), .events = POLLIN },
                             { .fd = run_unit_load_fd(s->unit), .events = POLLIN } };
    (void)run_unit_step(s->unit, time_now_ns());
    (void)poll(fds, 2, 2);
}

/* Steps until the model is in this state. */
static void await(struct scene *s, uint8_t status)
{
    int64_t end_ns = time_now_ns() + 60 * TIME_NS_PER_S;
    struct service_change change = { .status = UINT8_MAX };
    while (change.status != status) {
        assert_true(time_now_ns() < end_ns);
        if (!run_unit_next_change(s->unit, &change))
            step(s);
    }
}

static void submit(struct scene *s, int i)
{
    struct {
        struct request_body body;
        int32_t ids[4];
    } b = { { .n_bytes = (uint32_t)request_body_bytes(4, 0, 0),
              .n_tokens = 4,
              .seed = (uint64_t)i,
              .sampling = { .temperature = i % 2 == 0 ? 0 : 1.0F,
                            .top_p = 1.0F,
                            .repetition_penalty = 1.0F,
                            .n_top_logprobs = -1 } },
            { 1, 2, 3 + i, 4 } };
    const struct request request = { .id = (uint64_t)i + 1,
                                     .n_prompt = 4,
                                     .n_tokens = 4,
                                     .n_tokens_max = N_TOKENS,
                                     .arrived_ns = time_now_ns(),
                                     .deadline_ns = TIME_NEVER };
    struct service service = run_unit_service(s->unit);
    assert_true(service.submit(service.self, &request, &b.body));
}

static void take(struct answers *a, const struct service_event *event, const void *payload)
{
    int i = (int)event->id - 1;
    a->n_ended[i] += event->what == SERVICE_ENDED;
    a->n_returned[i] += event->what == SERVICE_RETURNED;
    if (event->what != SERVICE_TOKENS)
        return;
    memcpy(a->tokens[i] + a->n_tokens[i], payload, sizeof(int32_t) * (size_t)event->n_tokens);
    a->n_tokens[i] += event->n_tokens;
}

/* Asks for all answers, each of which has one end; waits a little for a second one. */
static void ask_all(struct scene *s, struct answers *a)
{
    struct service service = run_unit_service(s->unit);
    struct service_event event;
    const void *payload;
    int64_t end_ns = time_now_ns() + 60 * TIME_NS_PER_S, calm_ns = 20 * TIME_NS_PER_MS;
    memset(a, 0, sizeof *a);
    for (int i = 0; i < N_REQUESTS; i++)
        submit(s, i);
    for (int n_over = 0; n_over < N_REQUESTS || time_now_ns() < end_ns;) {
        assert_true(time_now_ns() < end_ns || n_over == N_REQUESTS);
        step(s);
        while (service.next(service.self, &event, &payload))
            take(a, &event, payload);
        int n_before = n_over;
        n_over = 0;
        for (int i = 0; i < N_REQUESTS; i++)
            n_over += a->n_ended[i] + a->n_returned[i];
        if (n_over == N_REQUESTS && n_before < n_over)
            end_ns = time_now_ns() + calm_ns;
    }
    for (int i = 0; i < N_REQUESTS; i++)
        assert_int_equal(a->n_ended[i] + a->n_returned[i], 1);
}

static void fail_soon(void *self)
{
    struct scene *s = self;
    time_sleep_ns(4 * TIME_NS_PER_MS);
    group_fail(s->device);
}

static void test_requests_are_returned_once(void **state)
{
    static struct answers before, after;
    struct scene s = { .unit = NULL };
    int n_returned = 0;
    (void)state;
    open_scene(&s);
    run_unit_load(s.unit, 0);
    await(&s, SERVICE_LOADED);
    ask_all(&s, &before);
    for (int i = 0; i < N_REQUESTS; i++)
        assert_int_equal(before.n_ended[i], 1);
    for (int round = 0; round < 6; round++) {
        struct thread *thread = round % 2 == 0 ? NULL : thread_start("fail", fail_soon, &s);
        if (thread == NULL)
            group_fail(s.device);
        ask_all(&s, &after);
        if (thread != NULL)
            thread_join(thread);
        int n = 0;
        for (int i = 0; i < N_REQUESTS; i++)
            n += after.n_returned[i];
        assert_true(thread != NULL || n == N_REQUESTS);
        if (n == 0) /* they were faster: the next ones meet the failure */
            ask_all(&s, &after);
        n_returned += n;
        await(&s, SERVICE_UNLOADED);
        run_unit_load(s.unit, 0);
        await(&s, SERVICE_LOADED);
        ask_all(&s, &after);
        assert_memory_equal(&before, &after, sizeof before);
    }
    printf("%d requests were returned\n", n_returned);
    struct compute_device *device = run_unit_close(s.unit);
    device->close(device->self);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_requests_are_returned_once) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
