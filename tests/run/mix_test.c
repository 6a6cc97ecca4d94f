/* The same tokens under all conditions, on the real executor: two real models share a pool (of
 * merged blocks or head-wise) too small for their requests. Meanwhile prompts are chunked, requests
 * are preempted, resumed and cancelled, and prefixes are shared.
 *
 * Every answer must be, token for token, the model's answer when it runs alone, with the same
 * seed. */
#include "asked.h"
#include "duress.h"
#include "generous.h"
#include "late.h"
#include "pairs.h"
#include "passes.h"
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "cpu/cpu.h"
#ifdef TEST_CUDA
#include "cuda/cuda.h"
#endif
#include "engine/engine.h"
#include "metrics/trace.h"
#include "run/executor.h"
#include "compute/sampler.h"
#include <poll.h>
#include <unistd.h>

/* The least number of events in a run. Lots: pads, and tokens that are thrown away. */
struct needs {
    int64_t n_plenty, n_preempted, n_swapped, n_hits, n_lots, n_side_by_side;
};
/* Prompts have prompt_least tokens and less than prompt_most more. Up to share_most times their
 * length, cut to it, is a common beginning. Answers have N_NEW_LEAST tokens and less than new_most
 * more. */
struct load {
    int32_t prompt_least, prompt_most, share_most, chunk_tokens, new_most;
};
#if defined(TEST_CUDA) && !defined(TEST_GPU) /* on an emulated GPU: few, or more with TEST_LONG */
enum { N_REQUESTS = 40, N_NEW_LEAST = 8, N_POLICIES = 1, CANCEL_ONE_OF = 8000, N_ROUNDS_MAX = 6 };
static struct needs least = { 50, 50, 10, 10, 100, 20 };
static const struct load load = { 12, 20, 3, 8, 100 };
static int64_t pool_bytes_usual = 64 << 10;
#define IS_CUDA 1
#elif defined(TEST_GPU) /* whose time is scarce */
enum { N_REQUESTS = 250, N_NEW_LEAST = 10, N_POLICIES = 5, CANCEL_ONE_OF = 100, N_ROUNDS_MAX = 3 };
static struct needs least = { 50, 25, 12, 12, 250, 25 };
static const struct load load = { 1, 70, 1, 24, 60 };
static int64_t pool_bytes_usual = 56 << 10;
#define IS_CUDA 1
#else
enum { N_REQUESTS = 1000, N_NEW_LEAST = 10, N_POLICIES = 5, CANCEL_ONE_OF = 100, N_ROUNDS_MAX = 3 };
static struct needs least = { 1000, 100, 50, 50, 1000, 100 };
static const struct load load = { 1, 70, 1, 24, 60 };
static int64_t pool_bytes_usual = 56 << 10;
#define IS_CUDA 0
#endif
static int n_requests = N_REQUESTS;
enum { N_MODELS = 2, N_TOKENS_MAX = ASKED_TOKENS_MAX, N_LIVE_MAX = 60, N_SEQS = 24, N_ROWS = 96 };
/* On a GPU the types that it is used with: their kernels differ most between the two classes. */
#if IS_CUDA
static const char *const paths[N_MODELS] = { "llama3_bf16", "gguf/qwen3.gguf" };
#else
static const char *const paths[N_MODELS] = { "llama3", "qwen3_moe" };
#endif
static const enum dtype kv_dtypes[N_MODELS] = { DTYPE_F16, DTYPE_Q8_0 };

struct mix {
    struct passes alone[N_MODELS];
    struct compute_device *device;
    struct run_model models[N_MODELS];
    struct run_executor *executor;
    struct engine *engine;
    struct service_spec services[N_MODELS];
    struct kv_layout layouts[N_MODELS];
    struct schedule_config schedule;
    struct asked *asked;
    int n_over, n_crashed, last_over;
    struct metrics_trace *trace;
    char trace_path[64];
};
static uint32_t fail_one_of; /* passes and copies; 0: none fails */
static bool has_stops;       /* answers have stop ids */
static bool is_generous;     /* a planted fault: a refused draft is accepted */
static bool mixes_classes;   /* a planted fault: the prefix index does not tell classes apart */
struct tally {
    int64_t n_preempted, n_chunked, n_hits, n_swapped, n_pads, n_invalid, n_side_by_side, n_crashed;
    int64_t n_chained, n_stopped, n_quotes, n_wrong, n_scored, n_scored_again, n_drafted,
        n_accepted;
};

static void model_path(int i, char *path, size_t n)
{
    snprintf(path, n, "%s/tests/golden/data/%s", SOURCE_ROOT, paths[i]);
}

static bool emit(void *self, const struct service_event *event, const void *payload)
{
    struct mix *mix = self;
    struct asked *asked = &mix->asked[event->id - 1];
    assert_false(asked->is_over);
    if (event->what == SERVICE_SCORES) {
        asked_take_scores(asked, event, payload);
    } else if (event->what == SERVICE_TOKENS) {
        assert_int_equal(event->position, asked->n_tokens);
        memcpy(asked->tokens + asked->n_tokens, payload, sizeof(int32_t) * (size_t)event->n_tokens);
        asked->n_tokens += event->n_tokens;
    } else if (event->what == SERVICE_RETURNED) {
        assert_true(event->why == SERVICE_CRASHED || event->why == SERVICE_DRAINING);
        asked->is_home = true;
        mix->n_crashed++;
    } else {
        assert_int_equal(event->what, SERVICE_ENDED);
        asked->is_stopped = event->why == SERVICE_STOPPED;
        if (event->why != SERVICE_LENGTH && event->why != SERVICE_CANCELLED && !asked->is_stopped)
            fail_msg("request %llu ended: %s: %.*s", (unsigned long long)event->id,
                     service_why_name(event->why), event->n_bytes, (const char *)payload);
        asked->is_over = true;
        mix->last_over = (int)event->id - 1;
        asked->n_preempted = event->n_preempted;
        asked->n_cached = event->n_cached;
        mix->n_over++;
    }
    return true;
}

/* Gives each model half of the cores, beside the lane that has all of them. A GPU has its lanes. */
static void add_lanes(struct compute_device *device)
{
    if (device->n_lanes > 1)
        return;
    for (int core = 0; core < N_MODELS; core++) {
        const struct device_spec part = { .kind = DEVICE_CPU, .n_cores = 1, .cores = { core } };
        cpu_add_lane(device, &part);
    }
}

static const struct perf any_perf = { .floor_ps = 1000000,
                                      .k1_ps = 1000000,
                                      .c3_ps = { 1000000, 1000000 },
                                      .b_switch = 64,
                                      .prefill_scale = 1,
                                      .decode_scale = 1 };

static void open_trace(struct mix *mix)
{
    struct fault fault;
    snprintf(mix->trace_path, sizeof mix->trace_path, "/tmp/shoal-mix-test-%d.json", (int)getpid());
    assert_int_equal(metrics_trace_open(&mix->trace, mix->trace_path, 1 << 28, &fault), STATUS_OK);
}

static void open_device(struct mix *mix, struct compute_device *device, bool has_lanes)
{
    if (has_lanes) {
        add_lanes(device);
        open_trace(mix);
    }
    if (fail_one_of > 0)
        mix->device = late_open(device, 5);
    else
        mix->device = late_is(device) ? device : late_or_plain(device);
    if (fail_one_of > 0)
        late_fail(mix->device, fail_one_of);
}

static void describe(struct service_spec *service, const char *path)
{
    service->n_context_max = N_TOKENS_MAX;
    service->speculation = SPECULATION_LOOKUP;
    snprintf(service->name, sizeof service->name, "%s", path);
}

static void open_mix(struct mix *mix, const struct schedule_policy *policy, enum kv_kind kind,
                     int64_t pool_bytes, struct compute_device *(*backend)(void))
{
    static const struct schedule_lane lanes[] = { { 1, 6 }, { 0.5F, 1 }, { 0.5F, 1 } };
    bool has_lanes = policy == &duress_policy;
    struct kv_shape shapes[N_MODELS];
    double waste;
    memset(mix, 0, sizeof *mix);
    mix->asked = mem_take(sizeof *mix->asked * N_REQUESTS);
    open_device(mix, backend(), has_lanes);
    for (int i = 0; i < N_MODELS; i++) {
        char path[512];
        struct weights *weights;
        struct fault fault;
        model_path(i, path, sizeof path);
        assert_int_equal(
            passes_open(&mix->alone[i], path, backend(), kv_dtypes[i], N_TOKENS_MAX, &fault),
            STATUS_OK);
        assert_int_equal(weights_open(&weights, path, &fault), STATUS_OK);
        const struct run_model_options model = { .device = mix->device, .kv_dtype = kv_dtypes[i] };
        assert_int_equal(run_model_open(&mix->models[i], weights, &model, &fault), STATUS_OK);
        const struct model_spec *spec = weights_spec(weights);
        shapes[i] = (struct kv_shape){ model_spec_kv_bytes_per_token(spec, kv_dtypes[i]),
                                       spec->n_layers * spec->n_kv_heads };
        describe(&mix->services[i], paths[i]);
    }
    int64_t unit = kv_choose(kind, N_MODELS, shapes, 1 << 13, mix->layouts, &waste);
    const struct run_lane_options executor = { mix->device, N_ROWS + N_SEQS, N_SEQS };
    mix->executor = run_executor_open(&executor);
    schedule_config_init(&mix->schedule);
    mix->schedule.n_seqs_max = N_SEQS;
    mix->schedule.n_batch_tokens_max = N_ROWS;
    mix->schedule.chunk_tokens = load.chunk_tokens;
    struct engine_exec exec = run_executor_exec(mix->executor);
    exec.has_row_classes &= !mixes_classes;
    if (is_generous)
        exec = generous_exec(exec);
    const struct engine_options options = {
        .memory_bytes = 64 << 20,
        .body_bytes = 8 << 20,
        .n_requests_max = 64,
        .n_tokens_max = N_TOKENS_MAX,
        .n_lanes = has_lanes ? (int)COUNT_OF(lanes) : 1,
        .lanes = has_lanes ? lanes : NULL,
        .pad_tokens = has_lanes ? 64 : 0,
        .swap_bytes = has_lanes ? 20 << 10 : 0,
        .trace = mix->trace,
        .n_services = N_MODELS,
        .services = mix->services,
        .layouts = mix->layouts,
        .kv_kind = kind,
        .kv_unit_bytes = unit,
        .kv_bytes_max = pool_bytes,
        .has_prefix_cache = true,
        .policy = policy,
        .config = &mix->schedule,
        .exec = exec,
        .emit = emit,
        .emit_self = mix,
    };
    mix->engine = engine_open(&options);
    for (int i = 0; i < N_MODELS; i++) {
        struct engine_room room;
        assert_true(engine_make_room(mix->engine, i, 1000, 1000, time_now_ns(), &room));
        assert_int_equal(run_executor_put_model(mix->executor, i, &mix->models[i], NULL),
                         STATUS_OK);
        engine_open_service(mix->engine, i, &any_perf, time_now_ns());
    }
}

static void close_mix(struct mix *mix)
{
    assert_true(engine_is_idle(mix->engine));
    engine_close(mix->engine);
    run_executor_close(mix->executor);
    for (int i = 0; i < N_MODELS; i++) {
        passes_close(&mix->alone[i]);
        run_model_close(&mix->models[i]);
    }
    mix->device->close(mix->device->self);
    for (int i = 0; i < N_REQUESTS; i++)
        mem_give(mix->asked[i].body);
    mem_give(mix->asked);
}

/* Fills in a prompt with one of a few common beginnings. */
static void write_prompt(struct mix *mix, struct rng *rng, struct asked *asked, int32_t n_prompt)
{
    uint64_t beginning = rng_below(rng, 2);
    int32_t n_shared = (int32_t)rng_below(rng, (uint32_t)(n_prompt * load.share_most) + 1);
    int32_t n_vocabulary = passes_n_vocabulary(&mix->alone[asked->request.service]);
    for (int32_t i = 0; i < n_prompt; i++)
        asked->tokens[i] =
            (int32_t)((i < n_shared ? rng_at(beginning, 3, (uint64_t)i) : rng_u64(rng)) %
                      (uint64_t)n_vocabulary);
    asked->n_tokens = n_prompt;
}

/* Sometimes the prompt quotes the last answer with its prompt, as the next message of a chat
 * does. */
static bool write_quote(struct mix *mix, struct rng *rng, struct asked *asked)
{
    enum { N_QUOTED_MAX = 80 };
    const struct asked *quoted = &mix->asked[mix->last_over];
    if (!quoted->is_over || rng_below(rng, 3) > 0)
        return false;
    asked->request.service = quoted->request.service;
    asked->n_tokens = min_i32(quoted->n_tokens, N_QUOTED_MAX);
    memcpy(asked->tokens, quoted->tokens, sizeof(int32_t) * (size_t)asked->n_tokens);
    asked->tokens[asked->n_tokens++] = 1;
    return true;
}

static void submit(struct mix *mix, struct asked *asked)
{
    asked->request.n_tokens = asked->n_tokens;
    (void)engine_submit(mix->engine, &asked->request, asked->body, time_now_ns());
}

/* Its prompt is scored, sometimes without an answer. */
static void score(struct rng *rng, struct request *request)
{
    request->flags |= REQUEST_WANTS_SCORES | REQUEST_NO_PREFIX_HIT;
    if (rng_below(rng, 3) > 0)
        return;
    request->kind = REQUEST_SCORE;
    request->n_tokens_max = request->n_prompt + 1;
}

/* Makes a request: greedy or drawn. */
static bool ask(struct mix *mix, struct rng *rng, int index)
{
    enum { N_STOP_IDS = 4 };
    struct asked *asked = &mix->asked[index];
    int64_t now = time_now_ns();
    asked->request.service = (uint16_t)rng_below(rng, N_MODELS);
    int32_t n_new = N_NEW_LEAST + (int32_t)rng_below(rng, (uint32_t)load.new_most);
    bool quotes = write_quote(mix, rng, asked);
    if (!quotes)
        write_prompt(mix, rng, asked,
                     load.prompt_least + (int32_t)rng_below(rng, (uint32_t)load.prompt_most));
    bool repeats = rng_below(rng, 3) == 0; /* itself, so that many drafts are accepted */
    const struct request_body body = { .n_stop_ids = has_stops ? N_STOP_IDS : 0,
                                       .seed = rng_u64(rng),
                                       .sampling = { .temperature =
                                                         rng_below(rng, 2) == 0 ? 0.0F : 0.9F,
                                                     .top_p = 0.95F,
                                                     .repetition_penalty = repeats ? 0.7F : 1.1F,
                                                     .frequency_penalty = repeats ? -0.3F : 0.2F,
                                                     .n_tokens_min = has_stops ? 2 : 0,
                                                     .n_top_logprobs = -1,
                                                     .n_top_scores = (int32_t)rng_below(rng, 4) } };
    asked->body = asked_body(asked, &body);
    for (uint32_t i = 0; i < body.n_stop_ids; i++)
        request_body_stop_ids(asked->body)[i] = (int32_t)rng_below(
            rng, (uint32_t)passes_n_vocabulary(&mix->alone[asked->request.service]));
    asked->request =
        (struct request){ .id = (uint64_t)index + 1,
                          .service = asked->request.service,
                          .n_prompt = asked->n_tokens,
                          .n_tokens_max = min_i32(asked->n_tokens + n_new, N_TOKENS_MAX),
                          .priority = (int16_t)((int32_t)rng_below(rng, 3) - 1),
                          .arrived_ns = now,
                          .served_ns = now,
                          .deadline_ns = TIME_NEVER };
    if (rng_below(rng, 6) == 0)
        score(rng, &asked->request);
    submit(mix, asked);
    return quotes;
}

/* Submits a returned request again, with its tokens so far. */
static void submit_again(struct mix *mix, struct asked *asked)
{
    struct request_body *before = asked->body;
    asked->body = asked_body(asked, before);
    memcpy(request_body_stop_ids(asked->body), request_body_stop_ids(before),
           sizeof(int32_t) * before->n_stop_ids);
    mem_give(before);
    asked->request.epoch++;
    asked->is_home = false;
    submit(mix, asked);
}

static void submit_all_again(struct mix *mix, int n_asked)
{
    for (int i = 0; i < n_asked; i++) {
        struct asked *asked = &mix->asked[i];
        if (asked->is_home && asked->is_cancelled) {
            asked->is_home = false;
            asked->is_over = true;
            mix->n_over++;
        } else if (asked->is_home) {
            submit_again(mix, asked);
        }
    }
}

static void drive(struct mix *mix, struct engine_exec *exec)
{
    int64_t wake = engine_step(mix->engine, time_now_ns());
    assert_true(engine_is_sound(mix->engine));
    if (wake <= time_now_ns())
        return;
    struct pollfd fd = { .fd = exec->wait_fd(exec->self), .events = POLLIN };
    poll(&fd, 1, 1);
}

/* Fails, or returns false when classes are mixed, unless the answer is the model's answer alone. */
static bool is_as_alone(struct mix *mix, const struct asked *asked, struct compute_sampler *sampler,
                        bool is_replayed)
{
    struct passes *alone = &mix->alone[asked->request.service];
    int32_t n = asked_differs(asked, alone, sampler, is_replayed);
    if (n >= 0 && !mixes_classes && !is_generous)
        fail_msg("request %llu differs at position %d (prompt %d, %d preemptions, %d cached)",
                 (unsigned long long)asked->request.id, n, asked->request.n_prompt,
                 asked->n_preempted, asked->n_cached);
    return n < 0;
}

static void look_at_reports(struct mix *mix, struct tally *tally)
{
    struct engine_report *report = mem_take(sizeof *report);
    engine_report(mix->engine, report, time_now_ns());
    int64_t n_thrown = 0;
    for (int i = 0; i < N_MODELS; i++) {
        tally->n_swapped += report->services[i].n_swapped;
        tally->n_drafted += report->services[i].n_drafted;
        tally->n_accepted += report->services[i].n_accepted;
        tally->n_pads += report->services[i].n_pad_tokens;
        tally->n_invalid += report->services[i].n_invalid_tokens;
        n_thrown += report->services[i].n_pad_tokens + report->services[i].n_invalid_tokens;
    }
    /* The rows that the engine reports as thrown away were really computed. */
    if (tally->n_crashed == 0) /* whose rows count for nothing */
        assert_int_equal(n_thrown, run_executor_pad_rows(mix->executor));
    mem_give(report);
}

static void run_mix(const struct schedule_policy *policy, enum kv_kind kind, uint64_t seed,
                    int64_t pool_bytes, struct compute_device *(*backend)(void),
                    struct tally *tally)
{
    struct mix *mix = mem_take(sizeof *mix);
    struct compute_sampler sampler;
    struct rng rng;
    int n_asked = 0, n_cancelled = 0;
    open_mix(mix, policy, kind, pool_bytes, backend);
    struct engine_exec exec = run_executor_exec(mix->executor);
    rng_init(&rng, seed, 0);
    while (mix->n_over < n_requests) {
        while (n_asked < n_requests && n_asked - mix->n_over < N_LIVE_MAX)
            tally->n_quotes += ask(mix, &rng, n_asked++);
        if (rng_below(&rng, CANCEL_ONE_OF) == 0) {
            int victim = (int)rng_below(&rng, (uint32_t)n_asked);
            mix->asked[victim].is_cancelled = true;
            engine_cancel(mix->engine, (uint64_t)victim + 1, mix->asked[victim].request.epoch,
                          time_now_ns());
        }
        drive(mix, &exec);
        submit_all_again(mix, n_asked);
    }
    tally->n_crashed += mix->n_crashed;
    compute_sampler_init(&sampler, &compute_draw_plain, 1024);
    for (int i = 0; i < n_requests; i++) {
        const struct asked *asked = &mix->asked[i];
        n_cancelled += asked->is_cancelled;
        tally->n_stopped += asked->is_stopped;
        bool is_scored = (asked->request.flags & REQUEST_WANTS_SCORES) != 0;
        tally->n_scored += is_scored;
        tally->n_scored_again += is_scored && asked->n_preempted > 0;
        if (is_scored && !mixes_classes)
            asked_check_scores(asked, &mix->alone[asked->request.service], &sampler);
        if (asked->request.kind == REQUEST_SCORE)
            assert_int_equal(asked->n_tokens, asked->request.n_prompt);
        else if (!asked->is_cancelled && !asked->is_stopped)
            assert_int_equal(asked->n_tokens, asked->request.n_tokens_max);
        tally->n_wrong += !is_as_alone(mix, asked, &sampler, IS_CUDA && i % 8 > 0);
        tally->n_preempted += asked->n_preempted;
        tally->n_chunked += asked->request.n_prompt - asked->n_cached > load.chunk_tokens;
        tally->n_hits += asked->n_cached > 0;
    }
    compute_sampler_free(&sampler);
    printf("%s, %s: %d requests, %d cancelled; %lld scored so far, %lld of them preempted\n",
           policy->name, kv_kind_name(kind), n_requests, n_cancelled, (long long)tally->n_scored,
           (long long)tally->n_scored_again);
    assert_true(tally->n_scored >= n_requests / 12);
    look_at_reports(mix, tally);
    printf("%lld drafts so far, %lld accepted\n", (long long)tally->n_drafted,
           (long long)tally->n_accepted);
    tally->n_chained += run_executor_chained(mix->executor);
    metrics_trace_close(mix->trace);
    if (mix->trace != NULL) {
        tally->n_side_by_side += pairs_count(mix->trace_path);
        unlink(mix->trace_path);
    }
    close_mix(mix);
    mem_give(mix);
}

#ifdef TEST_CUDA
static struct compute_device *open_usual(void)
{
    static const int32_t shares[N_MODELS] = { 1, 1 };
    const struct cuda_options options = { .index = 0, .n_lanes = 1 + N_MODELS, .shares = shares };
    struct compute_device *device;
    assert_int_equal(cuda_open(&options, &device, NULL), STATUS_OK);
    return device;
}
#else
static struct compute_device *open_usual(void)
{
    static const struct device_spec device = { .kind = DEVICE_CPU,
                                               .n_cores = 2,
                                               .cores = { 0, 1 } };
    return cpu_open(&device, cpu_isa_best());
}
#endif

static bool is_plenty(const struct tally *tally)
{
    return tally->n_preempted >= least.n_plenty && tally->n_chunked >= least.n_plenty &&
           tally->n_hits >= least.n_plenty;
}

/* Preemptions and prefix hits depend on the clock. More rounds are run until each has happened
 * often. */
static void test_same_tokens(void **state)
{
    static const char *const policies[] = { "fcfs", "rr", "db-literal", "db-turn", "db-share" };
    static const enum kv_kind kinds[] = { KV_MERGED, KV_HEADS, KV_MERGED, KV_PRIVATE, KV_HEADS };
    struct tally t = { 0 };
    uint64_t seed = test_seed(21);
    size_t n = late_is_wanted() ? 1 : N_POLICIES, n_kinds = IS_CUDA ? COUNT_OF(kinds) : n;
    (void)state;
    for (size_t i = 0; i < n || (i < N_ROUNDS_MAX * n && !is_plenty(&t) && !late_is_wanted()); i++)
        run_mix(IS_CUDA ? &rounds_policy : schedule_find(policies[i % n]), kinds[i % n_kinds],
                seed + i, pool_bytes_usual * (kinds[i % n_kinds] == KV_PRIVATE ? 2 : 1), open_usual,
                &t);
    printf("%lld preemptions, %lld chunked prompts, %lld prefix hits, %lld passes in chains\n",
           (long long)t.n_preempted, (long long)t.n_chunked, (long long)t.n_hits,
           (long long)t.n_chained);
    assert_true(t.n_chained >= least.n_plenty || !IS_CUDA);
    assert_true(is_plenty(&t) || late_is_wanted());
    assert_true((t.n_accepted >= least.n_plenty && t.n_drafted - t.n_accepted >= least.n_plenty) ||
                IS_CUDA);
}

static bool is_duress_enough(const struct tally *t)
{
    return t->n_preempted >= least.n_preempted && t->n_swapped >= least.n_swapped &&
           t->n_hits >= least.n_hits && t->n_pads >= least.n_lots && t->n_invalid >= least.n_lots &&
           (t->n_side_by_side >= least.n_side_by_side ||
            late_is_wanted()); /* which does one thing at a time */
}

/* Lanes side by side, pads, ended members, swapping: the same tokens. */
static void check_duress(enum kv_kind kind)
{
    struct tally t = { 0 };
    uint64_t seed = test_seed(41);
    for (uint64_t i = 0; i < N_ROUNDS_MAX && !is_duress_enough(&t); i++)
        run_mix(&duress_policy, kind, seed + i, pool_bytes_usual, open_usual, &t);
    printf("%lld preemptions, %lld of them to the host, %lld prefix hits, %lld pads, %lld invalid "
           "tokens, %lld pairs of a prefill and another model's decode at once\n",
           (long long)t.n_preempted, (long long)t.n_swapped, (long long)t.n_hits,
           (long long)t.n_pads, (long long)t.n_invalid, (long long)t.n_side_by_side);
    assert_true(is_duress_enough(&t));
}

static void test_same_tokens_under_duress(void **state)
{
    (void)state;
    check_duress(KV_MERGED);
}

static void test_same_tokens_by_head_under_duress(void **state)
{
    (void)state;
    check_duress(KV_HEADS);
}

#ifndef TEST_CUDA
static void print_rounds(const struct tally *t)
{
    printf("%lld passes in chains, %lld stops, %lld quotes, %lld prefix hits, %lld preemptions, "
           "%lld wrong answers\n",
           (long long)t->n_chained, (long long)t->n_stopped, (long long)t->n_quotes,
           (long long)t->n_hits, (long long)t->n_preempted, (long long)t->n_wrong);
}

/* Rounds are begun before the tokens of the rounds before are known. Stop ids and cancels come too
 * late for a round, and its rows are discarded. */
static void test_same_tokens_in_chains(void **state)
{
    struct tally t = { 0 };
    (void)state;
    has_stops = true;
    run_mix(&rounds_policy, KV_MERGED, test_seed(71), 56 << 10, open_usual, &t);
    has_stops = false;
    print_rounds(&t);
    assert_true(t.n_chained >= 1000 && t.n_stopped >= 100);
    assert_true(t.n_preempted >= 100 && t.n_hits >= 100);
}

static struct compute_device *open_two_classes(void)
{
    struct compute_device *device = late_open(open_usual(), 9);
    late_tell_classes_apart(device);
    return device;
}

/* Generated rows have other bits than prompt rows. Prompts that quote answers, and requests that
 * are preempted, still get the tokens that the model gives alone. */
static void test_same_tokens_of_two_classes(void **state)
{
    struct tally t = { 0 };
    (void)state;
    run_mix(&rounds_policy, KV_HEADS, test_seed(81), 56 << 10, open_two_classes, &t);
    print_rounds(&t);
    assert_true(t.n_chained >= 500 && t.n_quotes >= 100);
    assert_true(t.n_preempted >= 100 && t.n_hits >= 100);
}

/* The same with an index that does not tell the classes apart: the test above would notice. */
static void test_mixed_classes_are_noticed(void **state)
{
    struct tally t = { 0 };
    (void)state;
    mixes_classes = true;
    run_mix(schedule_find("fcfs"), KV_MERGED, test_seed(81), 56 << 10, open_two_classes, &t);
    mixes_classes = false;
    print_rounds(&t);
    assert_true(t.n_wrong >= 10);
}

/* The tests above would notice a draft that is accepted although it differs. */
static void test_a_wrong_draft_is_noticed(void **state)
{
    struct tally t = { 0 };
    (void)state;
    is_generous = true;
    run_mix(schedule_find("fcfs"), KV_MERGED, test_seed(91), 56 << 10, open_usual, &t);
    is_generous = false;
    print_rounds(&t);
    assert_true(t.n_wrong >= 10);
}

/* One of 29 passes and copies fails (tests/ops/device_test.c has a GPU that fails). Their requests
 * are returned, are submitted again and give the same tokens. */
static void test_same_tokens_when_passes_fail(void **state)
{
    struct tally t = { 0 };
    (void)state;
    fail_one_of = 29;
    run_mix(&duress_policy, KV_MERGED, test_seed(51), 56 << 10, open_usual, &t);
    fail_one_of = 0;
    printf("%lld came home\n", (long long)t.n_crashed);
    assert_true(t.n_crashed >= 100 && t.n_swapped >= 50);
}

/* The device is lost in the middle: every request is returned, and no more are accepted. */
static void test_a_lost_device_sends_all_home(void **state)
{
    enum { N = 40 };
    struct mix *mix = mem_take(sizeof *mix);
    struct rng rng;
    (void)state;
    fail_one_of = UINT32_MAX;
    open_mix(mix, &duress_policy, KV_MERGED, 56 << 10, open_usual);
    fail_one_of = 0;
    struct engine_exec exec = run_executor_exec(mix->executor);
    rng_init(&rng, test_seed(61), 0);
    for (int i = 0; i < N; i++)
        ask(mix, &rng, i);
    while (mix->n_over == 0)
        drive(mix, &exec);
    assert_true(mix->n_over < N && mix->n_crashed == 0);
    late_lose(mix->device, 0);
    while (mix->n_over + mix->n_crashed < N)
        drive(mix, &exec);
    assert_true(mix->n_crashed > 0);
    for (int i = 0; i < N; i++)
        assert_true(mix->asked[i].is_over != mix->asked[i].is_home);
    ask(mix, &rng, N);
    while (!mix->asked[N].is_home)
        drive(mix, &exec);
    struct engine_report *report = mem_take(sizeof *report);
    engine_report(mix->engine, report, time_now_ns());
    assert_true(!report->is_healthy && report->is_draining);
    mem_give(report);
    metrics_trace_close(mix->trace);
    unlink(mix->trace_path);
    close_mix(mix);
    mem_give(mix);
}

#endif

int main(void)
{
    if (getenv("TEST_FILTER") != NULL) /* one of them by hand */
        cmocka_set_test_filter(getenv("TEST_FILTER"));
#if defined(TEST_CUDA) && !defined(TEST_GPU) /* duress takes minutes: ./dev check cuda */
    bool is_long = getenv("TEST_LONG") != NULL;
    if (!is_long) {
        cmocka_set_test_filter("test_same_tokens");
        least.n_plenty = 3;
    }
    n_requests = is_long ? N_REQUESTS : 14;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_tokens),
        cmocka_unit_test(test_same_tokens_under_duress),
        cmocka_unit_test(test_same_tokens_by_head_under_duress),
#ifndef TEST_CUDA
        cmocka_unit_test(test_same_tokens_in_chains),
        cmocka_unit_test(test_same_tokens_of_two_classes),
        cmocka_unit_test(test_mixed_classes_are_noticed),
        cmocka_unit_test(test_a_wrong_draft_is_noticed),
        cmocka_unit_test(test_same_tokens_when_passes_fail),
        cmocka_unit_test(test_a_lost_device_sends_all_home),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
