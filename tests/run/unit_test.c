/* A unit loads and unloads models: states, sentences, cancelled loads, and a request through all of
 * it. */
#include "late.h"
#include "test.h"

#include "base/mem.h"
#include "base/time.h"
#include "cpu/cpu.h"
#include "run/profile.h"
#include "run/unit.h"
#include <malloc.h>
#include <poll.h>

enum { N_SERVICES = 3 };
static const char *const paths[N_SERVICES] = { SOURCE_ROOT "/tests/golden/data/llama3",
                                               SOURCE_ROOT "/tests/golden/data/qwen2",
                                               SOURCE_ROOT "/tests/golden/data/nothing-here" };

struct scene {
    struct compute_device *device;
    bool is_late; /* its device is the late one */
    int64_t sleep_bytes;
    int n_reopens_bad; /* tries to open it again that will fail */
    struct run_unit *unit;
    struct service_spec services[N_SERVICES];
    struct kv_layout layouts[N_SERVICES];
    struct schedule_config schedule;
    const struct model_spec *specs[N_SERVICES]; /* kept by open_scene */
};

static int64_t context_bytes; /* of the next scene's device */

static struct compute_device *open_device(const struct scene *s)
{
    static const struct device_spec device = { .kind = DEVICE_CPU, .n_cores = 1, .cores = { 0 } };
    struct compute_device *cpu = cpu_open(&device, cpu_isa_best());
    return s->is_late ? late_open(cpu, 3) : late_or_plain(cpu);
}

static enum status reopen(void *self, struct compute_device **out, struct fault *fault)
{
    struct scene *s = self;
    if (s->n_reopens_bad-- > 0)
        return fault_set(fault, STATUS_IO, "it is still away");
    *out = s->device = open_device(s);
    return STATUS_OK;
}

static void open_scene(struct scene *s, int64_t memory_bytes)
{
    const int64_t bytes_per_token[N_SERVICES] = { 256, 256, 256 };
    double waste;
    s->device = open_device(s);
    s->device->context_bytes = context_bytes;
    for (int i = 0; i < N_SERVICES; i++) {
        snprintf(s->services[i].name, LIMIT_NAME_BYTES, "model-%d", i);
        s->services[i].n_context_max = 128;
    }
    schedule_config_init(&s->schedule);
    s->schedule.n_seqs_max = 8;
    s->schedule.n_batch_tokens_max = 64;
    s->schedule.chunk_tokens = 32;
    const struct run_unit_options options = {
        .host = { .engine = { .memory_bytes = memory_bytes,
                              .body_bytes = 1 << 20,
                              .n_requests_max = 16,
                              .n_tokens_max = 128,
                              .n_lanes = 1,
                              .n_services = N_SERVICES,
                              .n_services_max = N_SERVICES + 1,
                              .services = s->services,
                              .layouts = s->layouts,
                              .kv_unit_bytes = kv_choose_layout(N_SERVICES, bytes_per_token,
                                                                1 << 16, s->layouts, &waste),
                              .has_prefix_cache = true,
                              .policy = schedule_find("db-share"),
                              .config = &s->schedule } },
        .device = s->device,
        .reopen = reopen,
        .reopen_self = s,
        .paths = paths,
        .specs = s->specs,
        .n_rows_max = 72,
        .n_logit_rows_max = 8,
        .kv_dtypes = (const enum dtype[]){ DTYPE_F16, DTYPE_F16, DTYPE_F16, DTYPE_F16 },
        .profile_ns = 20 * TIME_NS_PER_MS,
        .sleep_bytes = s->sleep_bytes,
    };
    s->unit = run_unit_open(&options);
}

static void close_scene(struct scene *s)
{
    struct compute_device *device = run_unit_close(s->unit);
    if (device != NULL)
        device->close(device->self);
}

static void step(struct scene *s)
{
    struct service service = run_unit_service(s->unit);
    struct pollfd fds[2] = { { .fd = service.wait_fd(service.self), .events = POLLIN },
                             { .fd = run_unit_load_fd(s->unit), .events = POLLIN } };
    (void)run_unit_step(s->unit, time_now_ns());
    (void)poll(fds, 2, 2);
}

/* Steps until the unit reports a change. */
static struct service_change any_change(struct scene *s)
{
    struct service_change change;
    int64_t end_ns = time_now_ns() + 20 * TIME_NS_PER_S;
    while (!run_unit_next_change(s->unit, &change)) {
        assert_true(time_now_ns() < end_ns);
        step(s);
    }
    return change;
}

/* Returns the end of a load or unload. Reports of progress are skipped. */
static struct service_change next_change(struct scene *s)
{
    for (;;) {
        struct service_change change = any_change(s);
        if (change.status != SERVICE_LOADING && change.status != SERVICE_DRAINING_OUT)
            return change;
    }
}

/* Every status of a service is reported in order, with its booked bytes. */
static void test_every_change_is_told(void **state)
{
    (void)state;
    static const struct {
        uint8_t status;
        bool has_weights;
    } expected[] = { { SERVICE_LOADING, false },
                     { SERVICE_LOADED, true },
                     { SERVICE_DRAINING_OUT, true },
                     { SERVICE_UNLOADED, false } };
    struct scene s = { 0 };
    open_scene(&s, 64 << 20);
    for (int round = 0; round < 10; round++) {
        run_unit_load(s.unit, 0);
        for (size_t i = 0; i < COUNT_OF(expected); i++) {
            struct service_change change = any_change(&s);
            assert_int_equal(change.status, expected[i].status);
            assert_int_equal(change.weights_bytes > 0, expected[i].has_weights);
            assert_int_equal(change.activation_bytes > 0, expected[i].has_weights);
            if (change.status == SERVICE_LOADED)
                run_unit_unload(s.unit, 0, false);
        }
    }
    close_scene(&s);
}

static void test_in_and_out(void **state)
{
    (void)state;
    struct scene s = { 0 };
    open_scene(&s, 64 << 20);
    run_unit_load(s.unit, 0);
    run_unit_load(s.unit, 1);
    run_unit_load(s.unit, 1); /* a second call changes nothing */
    for (int i = 0; i < 2; i++) {
        struct service_change change = next_change(&s);
        assert_int_equal(change.status, SERVICE_LOADED);
        assert_int_equal(change.service, i);
    }
    while (run_unit_report(s.unit)->services[1].weights_bytes == 0)
        step(&s);
    const struct engine_report *report = run_unit_report(s.unit);
    assert_int_equal(report->services[0].status, SERVICE_LOADED);
    assert_int_equal(report->services[2].status, SERVICE_UNLOADED);
    assert_true(report->services[0].activation_bytes > 0 && report->kv_pool_bytes > 0);
    assert_true(report->kv_pool_bytes + 2 * report->services[0].weights_bytes <=
                report->memory_bytes);
    run_unit_unload(s.unit, 0, false);
    struct service_change change = next_change(&s);
    assert_int_equal(change.status, SERVICE_UNLOADED);
    assert_int_equal(change.service, 0);
    run_unit_load(s.unit, 0); /* and load it again */
    assert_int_equal(next_change(&s).status, SERVICE_LOADED);
    close_scene(&s);
}

static void test_what_can_not_be_loaded_is_told(void **state)
{
    (void)state;
    struct scene s = { 0 };
    open_scene(&s, 64 << 20);
    run_unit_load(s.unit, 2);
    struct service_change change = next_change(&s);
    assert_int_equal(change.status, SERVICE_BROKEN);
    assert_non_null(strstr(change.fault.text, "nothing-here"));
    run_unit_load(s.unit, 0); /* the unit goes on */
    assert_int_equal(next_change(&s).status, SERVICE_LOADED);
    close_scene(&s);
}

/* The file was replaced since the engine was built for it. */
static void test_another_model_in_the_file_is_refused(void **state)
{
    (void)state;
    struct scene s = { 0 };
    struct weights *weights;
    struct fault fault;
    assert_int_equal(weights_open(&weights, paths[0], &fault), STATUS_OK);
    struct model_spec as_it_is = *weights_spec(weights), as_it_was = as_it_is;
    weights_close(weights);
    s.specs[0] = &as_it_was;
    open_scene(&s, 64 << 20);
    for (int i = 0; i < 4; i++) {
        as_it_was = as_it_is;
        as_it_was.n_vocabulary += i == 0;
        as_it_was.width -= i == 1;                     /* vectors have fewer floats */
        as_it_was.kv_groups[0].has_keys_only = i == 2; /* blocks have half of the bytes */
        as_it_was.is_encoder = i == 3;                 /* no logits, and KV of another type */
        run_unit_load(s.unit, 0);
        struct service_change change = next_change(&s);
        assert_int_equal(change.status, SERVICE_BROKEN);
        assert_non_null(strstr(change.fault.text, "another model"));
    }
    as_it_was = as_it_is;
    run_unit_load(s.unit, 0); /* and restored */
    assert_int_equal(next_change(&s).status, SERVICE_LOADED);
    close_scene(&s);
}

static void test_too_large_gives_the_arithmetic(void **state)
{
    (void)state;
    struct scene s = { 0 };
    open_scene(&s, 200 << 10);
    run_unit_load(s.unit, 0);
    struct service_change change = next_change(&s);
    assert_int_equal(change.status, SERVICE_BROKEN);
    assert_int_equal(change.cause, STATUS_TOO_LARGE);
    assert_non_null(strstr(change.fault.text, "model-0 needs"));
    close_scene(&s);
}

/* A client that repeats a load as soon as it has failed is answered again. */
static void test_a_failed_load_may_be_asked_for_at_once(void **state)
{
    (void)state;
    struct scene s = { 0 };
    open_scene(&s, 200 << 10);
    for (int i = 0; i < 5; i++) {
        run_unit_load(s.unit, 0);
        struct service_change change = next_change(&s);
        assert_true(change.status == SERVICE_BROKEN && change.cause == STATUS_TOO_LARGE);
        assert_int_equal(run_unit_report(s.unit)->services[0].status, SERVICE_UNLOADED);
    }
    close_scene(&s);
}

static void test_a_load_can_be_cancelled(void **state)
{
    (void)state;
    struct scene s = { 0 };
    open_scene(&s, 64 << 20);
    for (int i = 0; i < 20; i++) {
        run_unit_load(s.unit, 0);
        for (int k = 0; k < i; k++)
            step(&s);
        run_unit_unload(s.unit, 0, false);
        int n_in = 0;
        for (uint8_t status = SERVICE_LOADED; status != SERVICE_UNLOADED; n_in++) {
            status = next_change(&s).status;
            assert_true(n_in < 2); /* at most: loaded, unloaded */
        }
        assert_int_equal(run_unit_report(s.unit)->services[0].status, SERVICE_UNLOADED);
    }
    close_scene(&s);
}

static void submit(struct scene *s, int32_t n_tokens_max)
{
    struct {
        struct request_body body;
        int32_t ids[4];
    } b = { { .n_bytes = (uint32_t)request_body_bytes(4, 0, 0),
              .n_tokens = 4,
              .seed = 1,
              .sampling = { .top_p = 1.0F, .repetition_penalty = 1.0F, .n_top_logprobs = -1 } },
            { 1, 2, 3, 4 } };
    const struct request request = { .id = 9,
                                     .service = 1,
                                     .n_prompt = 4,
                                     .n_tokens = 4,
                                     .n_tokens_max = n_tokens_max,
                                     .arrived_ns = time_now_ns(),
                                     .deadline_ns = TIME_NEVER };
    struct service service = run_unit_service(s->unit);
    assert_true(service.submit(service.self, &request, &b.body));
}

/* Runs until the request has ended. Returns how many tokens came. */
static int32_t finish(struct scene *s)
{
    struct service service = run_unit_service(s->unit);
    struct service_event event = { 0 };
    const void *payload;
    int32_t n_tokens = 0;
    while (event.what != SERVICE_ENDED) {
        step(s);
        while (service.next(service.self, &event, &payload))
            n_tokens += event.n_tokens;
    }
    assert_int_equal(event.why, SERVICE_LENGTH);
    return n_tokens;
}

static void test_a_request_through_it_all(void **state)
{
    (void)state;
    struct scene s = { 0 };
    open_scene(&s, 64 << 20);
    run_unit_load(s.unit, 1);
    assert_int_equal(next_change(&s).status, SERVICE_LOADED);
    submit(&s, 124);
    run_unit_unload(s.unit, 1, false); /* it has a request, so it stays, and this is reported */
    struct service_change change = next_change(&s);
    assert_true((change.status == SERVICE_LOADED && change.cause == STATUS_BUSY) ||
                change.status == SERVICE_UNLOADED); /* the request was over already */
    assert_int_equal(finish(&s), 120);
    close_scene(&s);
}

/* A model has to leave while it has a request: the request is returned with its tokens. */
static void test_a_request_comes_home(void **state)
{
    (void)state;
    struct scene s = { 0 };
    struct service_event event = { 0 };
    const void *payload;
    open_scene(&s, 64 << 20);
    run_unit_load(s.unit, 1);
    assert_int_equal(next_change(&s).status, SERVICE_LOADED);
    struct service service = run_unit_service(s.unit);
    submit(&s, 124);
    run_unit_unload(s.unit, 1, true);
    assert_int_equal(next_change(&s).status, SERVICE_UNLOADED);
    while (event.what != SERVICE_RETURNED && event.what != SERVICE_ENDED) {
        step(&s);
        (void)service.next(service.self, &event, &payload);
    }
    assert_true(event.what == SERVICE_ENDED || event.why == SERVICE_DRAINING);
    close_scene(&s);
}

/* Steps until the model is loaded, whatever is reported on the way. */
static void load(struct scene *s, int service)
{
    run_unit_load(s->unit, service);
    while (next_change(s).status != SERVICE_LOADED)
        continue;
}

/* Asks for the same answer again. */
static void answer(struct scene *s, int32_t *tokens, enum service_what *what)
{
    struct service service = run_unit_service(s->unit);
    struct service_event event = { 0 };
    const void *payload;
    int32_t n = 0;
    submit(s, 64);
    while (event.what != SERVICE_ENDED && event.what != SERVICE_RETURNED) {
        step(s);
        while (service.next(service.self, &event, &payload)) {
            if (event.what == SERVICE_TOKENS)
                memcpy(tokens + n, payload, sizeof(*tokens) * (size_t)event.n_tokens);
            n += event.what == SERVICE_TOKENS ? event.n_tokens : 0;
        }
    }
    *what = (enum service_what)event.what;
}

/* The device is lost under a request. It is opened again, at the second try, and gives the same
 * answers. Loads that were asked for meanwhile wait for it. */
static void test_a_lost_device_is_opened_again(void **state)
{
    (void)state;
    int32_t before[64] = { 0 }, after[64] = { 0 };
    enum service_what what;
    struct scene s = { .is_late = true };
    open_scene(&s, 64 << 20);
    load(&s, 1);
    load(&s, 0);
    answer(&s, before, &what);
    assert_int_equal(what, SERVICE_ENDED);
    for (int round = 0; round < 2; round++) {
        int64_t begin_ns = time_now_ns();
        s.n_reopens_bad = 1 - round;
        late_lose(s.device, 5);
        answer(&s, after, &what);
        assert_int_equal(what, SERVICE_RETURNED);
        run_unit_load(s.unit, 2); /* a file that is not there: it fails when the device is back */
        for (int n_unloaded = 0; n_unloaded < 2;)
            n_unloaded += next_change(&s).status == SERVICE_UNLOADED;
        run_unit_load(s.unit, 1);
        while (next_change(&s).status != SERVICE_LOADED)
            continue;
        assert_true(round == 1 || time_now_ns() - begin_ns >= TIME_NS_PER_S); /* it was patient */
        memset(after, 0, sizeof after);
        answer(&s, after, &what);
        assert_int_equal(what, SERVICE_ENDED);
        assert_memory_equal(before, after, sizeof before);
        load(&s, 0);
    }
    late_lose(s.device, 0);
    s.n_reopens_bad = 1000;
    answer(&s, after, &what);
    assert_int_equal(what, SERVICE_RETURNED);
    close_scene(&s); /* while it is lost */
}

/* Steps until the engine's own report shows what the model has, or that it has nothing. */
static const struct engine_report *settled(struct scene *s, int service, bool is_there)
{
    while ((run_unit_report(s->unit)->services[service].weights_bytes > 0) != is_there)
        step(s);
    return run_unit_report(s->unit);
}

/* All of the engine's bytes are free while it sleeps, and its answers stay the same. On a device
 * with memory of its own the weights are copied. */
static void sleep_and_wake(bool is_late)
{
    int32_t before[64] = { 0 };
    enum service_what what;
    struct scene s = { .is_late = is_late, .sleep_bytes = 8 << 20 };
    open_scene(&s, 64 << 20);
    const int64_t free_bytes = run_unit_report(s.unit)->kv_pool_bytes;
    load(&s, 1);
    answer(&s, before, &what);
    const int64_t weights_bytes = settled(&s, 1, true)->services[1].weights_bytes;
    for (int round = 1; round <= 3; round++) {
        int32_t after[64] = { 0 };
        run_unit_sleep(s.unit, 1);
        struct service_change change = next_change(&s);
        assert_int_equal(change.status, SERVICE_UNLOADED);
        assert_int_equal(change.sleep_bytes, weights_bytes);
        const struct service_report *row = &settled(&s, 1, false)->services[1];
        assert_int_equal(row->sleep_bytes, weights_bytes);
        assert_int_equal(row->activation_bytes + row->kv_used_bytes + row->kv_cached_bytes, 0);
        while (run_unit_report(s.unit)->kv_pool_bytes < free_bytes)
            step(&s);
        load(&s, 1);
        row = &settled(&s, 1, true)->services[1];
        assert_int_equal(row->sleep_bytes, 0);
        assert_int_equal(row->n_wakes, round);
        answer(&s, after, &what);
        assert_int_equal(what, SERVICE_ENDED);
        assert_memory_equal(before, after, sizeof before);
    }
    close_scene(&s);
}

static void test_a_model_sleeps_and_wakes(void **state)
{
    (void)state;
    sleep_and_wake(false);
    sleep_and_wake(true);
}

/* A sleeping model is unloaded; a wake is cancelled at any point, by a sleep or by an unload; and
 * two models sleep one after the other, while a third load waits for their bytes. */
static void test_sleepers_obey(void **state)
{
    (void)state;
    struct scene s = { .is_late = true, .sleep_bytes = 8 << 20 };
    open_scene(&s, 64 << 20);
    load(&s, 1);
    run_unit_sleep(s.unit, 1);
    assert_true(next_change(&s).sleep_bytes > 0);
    for (int i = 0; i < 20; i++) {
        bool is_unload = i % 4 == 3;
        run_unit_load(s.unit, 1);
        for (int k = 0; k < i; k++)
            step(&s);
        if (is_unload)
            run_unit_unload(s.unit, 1, false);
        else
            run_unit_sleep(s.unit, 1);
        struct service_change change = { .status = SERVICE_LOADED };
        while (change.status != SERVICE_UNLOADED)
            change = next_change(&s);
        assert_int_equal(run_unit_report(s.unit)->services[1].sleep_bytes > 0, !is_unload);
        if (is_unload) {
            load(&s, 1);
            run_unit_sleep(s.unit, 1);
            assert_true(next_change(&s).sleep_bytes > 0);
        }
    }
    run_unit_unload(s.unit, 1, false);
    assert_int_equal(next_change(&s).sleep_bytes, 0);
    assert_int_equal(run_unit_report(s.unit)->services[1].sleep_bytes, 0);
    load(&s, 0);
    load(&s, 1);
    run_unit_sleep(s.unit, 0);
    run_unit_sleep(s.unit, 1);
    for (int n = 0; n < 2; n++)
        assert_true(next_change(&s).sleep_bytes > 0);
    assert_true(run_unit_remove_service(s.unit, 0)); /* with its memory */
    while (run_unit_presence(s.unit, 0) != RUN_UNIT_NONE)
        step(&s);
    close_scene(&s); /* while one sleeps */
}

/* Host memory of a lost device is gone with it: the model loads from its file. */
static void test_a_lost_device_wakes_no_model(void **state)
{
    (void)state;
    int32_t before[64] = { 0 }, after[64] = { 0 };
    enum service_what what;
    struct scene s = { .is_late = true, .sleep_bytes = 8 << 20 };
    open_scene(&s, 64 << 20);
    load(&s, 1);
    answer(&s, before, &what);
    load(&s, 0);
    run_unit_sleep(s.unit, 0);
    assert_true(next_change(&s).sleep_bytes > 0);
    late_lose(s.device, 5);
    answer(&s, after, &what);
    assert_int_equal(what, SERVICE_RETURNED);
    for (int n_unloaded = 0; n_unloaded < 2;)
        n_unloaded += next_change(&s).status == SERVICE_UNLOADED;
    assert_int_equal(run_unit_report(s.unit)->services[0].sleep_bytes, 0);
    load(&s, 0);
    load(&s, 1);
    assert_int_equal(run_unit_report(s.unit)->services[0].n_wakes, 0);
    answer(&s, after, &what);
    assert_memory_equal(before, after, sizeof before);
    close_scene(&s);
}

/* Bytes that a device's driver always holds are not available for models. */
static void test_the_drivers_bytes_are_booked(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        struct scene s = { 0 };
        context_bytes = round * ((INT64_C(64) << 20) - (INT64_C(400) << 10));
        open_scene(&s, 64 << 20);
        context_bytes = 0;
        run_unit_load(s.unit, 1);
        struct service_change change = next_change(&s);
        assert_int_equal(change.status, round == 0 ? SERVICE_LOADED : SERVICE_BROKEN);
        assert_true(round == 0 || strstr(change.fault.text, "this device has") != NULL);
        close_scene(&s);
    }
}

/* Steps until the number's service has this presence. */
static void step_until(struct scene *s, int service, enum run_unit_presence presence)
{
    int64_t end_ns = time_now_ns() + 20 * TIME_NS_PER_S;
    while (run_unit_presence(s->unit, service) != presence) {
        assert_true(time_now_ns() < end_ns);
        step(s);
    }
}

/* One number is used while the others stay. A service that does not fit is refused, and a model
 * that is loaded or loading does not leave. */
static void test_services_join_and_leave(void **state)
{
    (void)state;
    struct scene s = { 0 };
    open_scene(&s, 64 << 20);
    run_unit_load(s.unit, 0);
    assert_int_equal(next_change(&s).status, SERVICE_LOADED);
    for (uint16_t life = 0; life < 20; life++) {
        struct service_spec spec = { .life = life, .n_context_max = 128 };
        struct kv_layout layout = s.layouts[0];
        snprintf(spec.name, sizeof spec.name, "joined-%d", (int)life);
        struct run_unit_joins joins = {
            .service = &spec, .layout = &layout, .path = paths[life % 2], .kv_dtype = DTYPE_F16
        };
        layout.block_bytes = INT64_C(1) << 40;
        run_unit_add_service(s.unit, N_SERVICES, &joins);
        step_until(&s, N_SERVICES, RUN_UNIT_REFUSED);
        assert_non_null(run_unit_refusal(s.unit, N_SERVICES));
        assert_true(run_unit_remove_service(s.unit, N_SERVICES));
        layout = s.layouts[0];
        run_unit_add_service(s.unit, N_SERVICES, &joins);
        run_unit_load(s.unit, N_SERVICES); /* too early: it is not visible */
        step_until(&s, N_SERVICES, RUN_UNIT_READY);
        assert_false(set_has(&run_unit_report(s.unit)->listed, N_SERVICES));
        run_unit_admit_service(s.unit, N_SERVICES);
        assert_true(set_has(&run_unit_report(s.unit)->listed, N_SERVICES));
        run_unit_load(s.unit, N_SERVICES);
        assert_false(run_unit_remove_service(s.unit, N_SERVICES));
        struct service_change change = next_change(&s);
        assert_true(change.status == SERVICE_LOADED && change.life == life);
        assert_int_equal(run_unit_report(s.unit)->services[N_SERVICES].life, life);
        assert_false(run_unit_remove_service(s.unit, N_SERVICES));
        run_unit_unload(s.unit, N_SERVICES, false);
        change = next_change(&s);
        assert_true(change.status == SERVICE_UNLOADED && change.life == life);
        assert_true(run_unit_remove_service(s.unit, N_SERVICES));
        step_until(&s, N_SERVICES, RUN_UNIT_NONE);
        assert_false(set_has(&run_unit_report(s.unit)->listed, N_SERVICES));
    }
    close_scene(&s);
}

static int64_t heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();
    return (int64_t)(info.uordblks + info.hblkhd);
}

/* A model's weights and the workspaces of its batches are freed with it, and were no more than was
 * booked. */
static void test_memory_leaves_with_the_model(void **state)
{
    enum { HEADER_BYTES = 256 << 10 };
    struct scene s = { 0 };
    int64_t before = 0, taken = 0, booked = 0;
    (void)state;
    if (heap_bytes() == 0 || late_is_wanted())
        TEST_SKIP("the heap does not tell what a model takes");
    open_scene(&s, 32 << 20);
    for (int round = 0; round < 2; round++) { /* the first includes memory that all models share */
        before = heap_bytes();
        run_unit_load(s.unit, 1);
        struct service_change change = next_change(&s);
        assert_int_equal(change.status, SERVICE_LOADED);
        submit(&s, 24);
        (void)finish(&s);
        taken = heap_bytes() - before;
        booked = change.weights_bytes + change.activation_bytes;
        run_unit_unload(s.unit, 1, false);
        assert_int_equal(next_change(&s).status, SERVICE_UNLOADED);
    }
    int64_t left = heap_bytes() - before;
    print_message("%lld bytes were booked, %lld taken, %lld left\n", (long long)booked,
                  (long long)taken, (long long)left);
    assert_true(taken > booked && taken < booked + HEADER_BYTES);
    assert_true(left < 16 << 10);
    close_scene(&s);
}

/* The micro-profile yields a usable model whatever its budget. Its accuracy depends on other load
 * on the machine, so no two measured times are compared. */
static void test_profile(void **state)
{
    (void)state;
    static const struct device_spec device_spec = { .kind = DEVICE_CPU,
                                                    .n_cores = 1,
                                                    .cores = { 0 } };
    struct compute_device *device;
    struct run_model model;
    struct weights *weights;
    struct fault fault;
    struct perf perf;
    device = late_or_plain(cpu_open(&device_spec, cpu_isa_best()));
    assert_int_equal(weights_open(&weights, paths[0], &fault), STATUS_OK);
    const struct run_model_options load = { .device = device, .kv_dtype = DTYPE_F16 };
    assert_int_equal(run_model_open(&model, weights, &load, &fault), STATUS_OK);
    for (int64_t budget = 0; budget <= 200 * TIME_NS_PER_MS; budget += 100 * TIME_NS_PER_MS) {
        const struct run_profile_options options = { budget, 128, 16 };
        run_profile(&model, &options, &perf);
        const struct perf_load one = { .n_decodes = 1, .n_decode_context = 32 };
        const struct perf_load prompt = { .n_new = 100, .n_new_squared = 10000 };
        assert_true(perf_step_ps(&perf, &one) > 0);
        assert_true(perf_step_ps(&perf, &prompt) > 0);
        assert_true(perf_solo_ps(&perf, 64, 64) >= perf_solo_ps(&perf, 64, 8));
    }
    run_model_close(&model);
    device->close(device->self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_and_out),
        cmocka_unit_test(test_every_change_is_told),
        cmocka_unit_test(test_what_can_not_be_loaded_is_told),
        cmocka_unit_test(test_another_model_in_the_file_is_refused),
        cmocka_unit_test(test_too_large_gives_the_arithmetic),
        cmocka_unit_test(test_a_failed_load_may_be_asked_for_at_once),
        cmocka_unit_test(test_a_load_can_be_cancelled),
        cmocka_unit_test(test_services_join_and_leave),
        cmocka_unit_test(test_a_request_through_it_all),
        cmocka_unit_test(test_a_request_comes_home),
        cmocka_unit_test(test_a_lost_device_is_opened_again),
        cmocka_unit_test(test_a_model_sleeps_and_wakes),
        cmocka_unit_test(test_sleepers_obey),
        cmocka_unit_test(test_a_lost_device_wakes_no_model),
        cmocka_unit_test(test_the_drivers_bytes_are_booked),
        cmocka_unit_test(test_memory_leaves_with_the_model),
        cmocka_unit_test(test_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
