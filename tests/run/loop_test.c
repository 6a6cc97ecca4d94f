/* A loop of tools: each prompt is the prompt before it, its answer and a tool's result. With two
 * classes of rows an answer's blocks are not found by the next prompt, which computes the answer
 * anew. With one class (arithmetic: strict, and CPUs) all of it is found. The answers are those of
 * requests that find nothing, in both modes.
 *
 * The test prints what each mode finds.
 *
 * A second test counts what a hundred decode steps allocate, and how often the host waits for the
 * GPU. */
#include "late.h"
#include "passes.h"
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "cpu/cpu.h"
#ifdef TEST_CUDA
#include "cuda/cuda.h"
#ifndef TEST_GPU
#include "emulate/control.h"
#endif
#endif
#include "engine/engine.h"
#include "run/executor.h"
#include <poll.h>
#include <stdatomic.h>

#if defined(TEST_CUDA) && !defined(TEST_GPU)
#define IS_EMULATED 1
#endif

enum { N_FIRST = 40, N_RESULT = 26, N_ANSWER = 43, N_TURNS_MAX = 20 };
enum { N_TOKENS_MAX = N_FIRST + N_TURNS_MAX * (N_RESULT + N_ANSWER), N_ROWS = 64 };
static int n_turns = N_TURNS_MAX;

/* Counts what mem.h takes from the system, in all threads. */
static _Atomic int64_t n_taken;
int __real_posix_memalign(void **p, size_t align, size_t n_bytes);
int __wrap_posix_memalign(void **p, size_t align, size_t n_bytes);
int __wrap_posix_memalign(void **p, size_t align, size_t n_bytes)
{
    atomic_fetch_add(&n_taken, 1);
    return __real_posix_memalign(p, align, n_bytes);
}

#ifdef IS_EMULATED
/* Counts at two moments of an answer: when from_steps decode steps were replayed since the GPU was
 * opened, and when N_STEPS more were. */
enum { N_WARM = 24, N_STEPS = 100 };
static struct counted {
    int64_t n_taken;
    struct emulate_counts gpu;
} counted[2];
static int n_counted = 2;
static uint64_t count_at;

static void look(void)
{
    struct emulate_counts now = emulate_count();
    if (n_counted == 2 || now.n_replays < count_at)
        return;
    counted[n_counted++] = (struct counted){ atomic_load(&n_taken), now };
    count_at = now.n_replays + N_STEPS;
}
#else
static void look(void)
{
}
#endif

struct loop {
    struct compute_device *device;
    struct run_model model;
    struct run_executor *executor;
    struct engine *engine;
    struct service_spec service;
    struct kv_layout layout;
    int32_t tokens[N_TOKENS_MAX]; /* of the conversation */
    int32_t n_tokens, n_cached, n_answer;
    uint64_t n_asked;
    bool is_over;
};
struct found { /* tokens of all prompts */
    int64_t n_prompt, n_cached;
};

static bool emit(void *self, const struct service_event *event, const void *payload)
{
    struct loop *loop = self;
    if (event->what == SERVICE_TOKENS) {
        memcpy(loop->tokens + loop->n_tokens, payload, sizeof(int32_t) * (size_t)event->n_tokens);
        loop->n_tokens += event->n_tokens;
        return true;
    }
    assert_int_equal(event->what, SERVICE_ENDED);
    assert_int_equal(event->why, SERVICE_LENGTH);
    loop->n_cached = event->n_cached;
    loop->is_over = true;
    return true;
}

static void open_engine(struct loop *loop, int64_t unit)
{
    static const struct perf perf = { .floor_ps = 1000000,
                                      .k1_ps = 1000000,
                                      .c3_ps = { 1000000, 1000000 },
                                      .b_switch = 64,
                                      .prefill_scale = 1,
                                      .decode_scale = 1 };
    struct schedule_config config;
    struct engine_room room;
    schedule_config_init(&config);
    config.n_batch_tokens_max = N_ROWS;
    const struct engine_options options = { .memory_bytes = 8 << 20,
                                            .body_bytes = 1 << 20,
                                            .n_requests_max = 4,
                                            .n_tokens_max = N_TOKENS_MAX,
                                            .n_lanes = 1,
                                            .n_services = 1,
                                            .services = &loop->service,
                                            .layouts = &loop->layout,
                                            .kv_kind = KV_MERGED,
                                            .kv_unit_bytes = unit,
                                            .kv_bytes_max = 4 << 20,
                                            .has_prefix_cache = true,
                                            .policy = schedule_find("fcfs"),
                                            .config = &config,
                                            .exec = run_executor_exec(loop->executor),
                                            .emit = emit,
                                            .emit_self = loop };
    loop->engine = engine_open(&options);
    assert_true(engine_make_room(loop->engine, 0, 1000, 1000, time_now_ns(), &room));
    assert_int_equal(run_executor_put_model(loop->executor, 0, &loop->model, NULL), STATUS_OK);
    engine_open_service(loop->engine, 0, &perf, time_now_ns());
}

static void open_loop(struct loop *loop, struct compute_device *device)
{
    struct weights *weights;
    struct fault fault;
    double waste;
    memset(loop, 0, sizeof *loop);
    loop->n_answer = N_ANSWER;
    loop->device = device;
    assert_int_equal(weights_open(&weights, SOURCE_ROOT "/tests/golden/data/llama3_bf16", &fault),
                     STATUS_OK);
    const struct run_model_options load = { .device = device, .kv_dtype = DTYPE_F16 };
    assert_int_equal(run_model_open(&loop->model, weights, &load, &fault), STATUS_OK);
    const struct model_spec *spec = weights_spec(weights);
    const struct kv_shape shape = { model_spec_kv_bytes_per_token(spec, DTYPE_F16),
                                    spec->n_layers * spec->n_kv_heads };
    snprintf(loop->service.name, sizeof loop->service.name, "tools");
    loop->service.n_context_max = N_TOKENS_MAX;
    int64_t unit = kv_choose(KV_MERGED, 1, &shape, 1 << 13, &loop->layout, &waste);
    const struct run_lane_options executor = { device, N_ROWS, 4 };
    loop->executor = run_executor_open(&executor);
    open_engine(loop, unit);
}

static void close_loop(struct loop *loop)
{
    engine_close(loop->engine);
    run_executor_close(loop->executor);
    run_model_close(&loop->model);
    loop->device->close(loop->device->self);
}

/* Appends the answer to the conversation. */
static void answer(struct loop *loop, uint32_t flags)
{
    struct engine_exec exec = run_executor_exec(loop->executor);
    uint32_t n = (uint32_t)loop->n_tokens;
    struct request_body *body = mem_take(request_body_bytes(n, 0, 0));
    body->n_bytes = (uint32_t)request_body_bytes(n, 0, 0);
    body->n_tokens = n;
    body->sampling.n_top_logprobs = -1;
    memcpy(request_body_tokens(body), loop->tokens, sizeof(int32_t) * n);
    const struct request request = { .id = ++loop->n_asked,
                                     .n_prompt = loop->n_tokens,
                                     .n_tokens = loop->n_tokens,
                                     .n_tokens_max = loop->n_tokens + loop->n_answer,
                                     .flags = flags,
                                     .deadline_ns = TIME_NEVER };
    loop->is_over = false;
    (void)engine_submit(loop->engine, &request, body, time_now_ns());
    while (!loop->is_over) {
        struct pollfd fd = { .fd = exec.wait_fd(exec.self), .events = POLLIN };
        if (engine_step(loop->engine, time_now_ns()) > time_now_ns())
            poll(&fd, 1, 1);
        look();
    }
    mem_give(body);
}

/* Runs the loop, each turn with what was kept and without it, and compares. */
static struct found run_loop(struct compute_device *device, const char *name, bool is_strict)
{
    struct loop loop;
    struct rng rng;
    struct found found = { 0, 0 };
    int32_t want[N_ANSWER], n_kept = 0;
    open_loop(&loop, device);
    rng_init(&rng, test_seed(91), 0);
    for (int turn = 0; turn < n_turns; turn++) {
        for (int i = 0; i < (turn == 0 ? N_FIRST : N_RESULT); i++)
            loop.tokens[loop.n_tokens++] = (int32_t)rng_below(&rng, 256);
        int32_t n_prompt = loop.n_tokens;
        answer(&loop, 0);
        assert_int_equal(loop.n_tokens, n_prompt + N_ANSWER);
        if (is_strict) /* all whole blocks of the turn before */
            assert_true(loop.n_cached >= n_kept);
        found.n_prompt += n_prompt;
        found.n_cached += loop.n_cached;
        memcpy(want, loop.tokens + n_prompt, sizeof want);
        loop.n_tokens = n_prompt;
        answer(&loop, REQUEST_NO_PREFIX_HIT); /* behind the other one, which must not find it */
        assert_int_equal(loop.n_cached, 0);
        assert_memory_equal(loop.tokens + n_prompt, want, sizeof want);
        n_kept = (loop.n_tokens - 1) / loop.layout.block_tokens * loop.layout.block_tokens;
    }
    printf("%s: %d turns, %lld tokens of prompts, %lld found, %lld computed\n", name, n_turns,
           (long long)found.n_prompt, (long long)found.n_cached,
           (long long)(found.n_prompt - found.n_cached));
    close_loop(&loop);
    return found;
}

static struct compute_device *open_device(bool is_strict)
{
#ifdef TEST_CUDA
    const struct cuda_options options = { .index = 0, .n_lanes = 1, .is_strict = is_strict };
    struct compute_device *device;
    assert_int_equal(cuda_open(&options, &device, NULL), STATUS_OK);
#else
    static const struct device_spec spec = { .kind = DEVICE_CPU, .n_cores = 1, .cores = { 0 } };
    struct compute_device *device = cpu_open(&spec, cpu_isa_best());
    if (!is_strict) {
        device = late_open(device, 9);
        late_tell_classes_apart(device);
    }
#endif
    assert_int_equal(device->has_row_classes, !is_strict);
    return device;
}

static void answers_are_found_in_one_class(void **state)
{
    (void)state;
    struct found two = run_loop(open_device(false), "two classes", false);
    struct found one = run_loop(open_device(true), "one class", true);
    assert_int_equal(one.n_prompt, two.n_prompt);
    assert_true(two.n_cached > 0 && two.n_cached < one.n_cached);
}

#ifdef IS_EMULATED
/* Behind the first steps, whose kernels are recorded as a graph, 100 more take no memory of the
 * host or the GPU and pin none. The host waits once for each. */
static void a_step_allocates_nothing(void **state)
{
    struct loop loop;
    (void)state;
    open_loop(&loop, open_device(true));
    for (; loop.n_tokens < N_FIRST; loop.n_tokens++)
        loop.tokens[loop.n_tokens] = loop.n_tokens;
    loop.n_answer = N_WARM + N_STEPS + 40;
    n_counted = 0;
    count_at = emulate_count().n_replays + N_WARM;
    answer(&loop, 0);
    assert_int_equal(n_counted, 2);
    const struct emulate_counts from = counted[0].gpu, to = counted[1].gpu;
    printf("%d steps: %d waits, %d captures, %d maps, %d pins, %d opens, %d takes\n",
           (int)(to.n_replays - from.n_replays), (int)(to.n_waits - from.n_waits),
           (int)(to.n_captures - from.n_captures), (int)(to.n_maps - from.n_maps),
           (int)(to.n_pins - from.n_pins), (int)(to.n_opens - from.n_opens),
           (int)(counted[1].n_taken - counted[0].n_taken));
    assert_true(counted[0].n_taken > 0 && from.n_maps > 0 && from.n_pins > 0 && from.n_opens > 0);
    assert_int_equal(counted[1].n_taken, counted[0].n_taken);
    assert_int_equal(to.n_maps, from.n_maps);
    assert_int_equal(to.n_pins, from.n_pins);
    assert_int_equal(to.n_opens, from.n_opens);
    assert_int_equal(to.n_captures, from.n_captures);
    /* Steps are in flight at both ends. */
    uint64_t n_steps = to.n_replays - from.n_replays;
    assert_in_range(to.n_waits - from.n_waits, n_steps - 2, n_steps + 2);
    close_loop(&loop);
}
#endif

int main(void)
{
#ifdef IS_EMULATED
    n_turns = getenv("TEST_LONG") != NULL ? N_TURNS_MAX : 3;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_found_in_one_class),
#ifdef IS_EMULATED
        cmocka_unit_test(a_step_allocates_nothing),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
