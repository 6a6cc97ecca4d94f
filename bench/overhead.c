/* What a step costs beside its kernels: requests that decode on a real engine (its thread, its
 * executor's, their rings), loaded through a unit as a node loads it.
 *
 * Passes are timed by the device, the sampler's draws where they are called. A step lasts from the
 * begin of one pass to the begin of the next; kernels is the pass, drawing the sampler, and what is
 * left is the engine's: commit, events, plan, reserving, handing over, waking. Passes of prompts
 * are left out. Medians over the steps; shares are of the step.
 *
 * bench_overhead MODEL.gguf [tokens of each answer [this batch alone]] */
#include "base/mem.h"
#include "base/time.h"
#include "compute/sampler.h"
#include "cpu/cpu.h"
#include "run/unit.h"
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 4096, BATCH_MAX = 32, N_PROMPT = 16, WARM_STEPS = 8 };

struct way { /* of drawing */
    const char *name;
    struct sampling sampling;
};
#define OFF .repetition_penalty = 1, .n_top_logprobs = -1
static const struct way ways[] = {
    { "greedy", { .top_p = 1, OFF } },
    { "T 1", { .temperature = 1, .top_p = 1, OFF } },
    { "T 0.8 top-p 0.95", { .temperature = 0.8F, .top_p = 0.95F, OFF } },
    { "T 0.8 top-k 40 top-p 0.9", { .temperature = 0.8F, .top_p = 0.9F, .top_k = 40, OFF } },
};

struct step {
    int32_t n_rows;
    int64_t begin_ns, kernels_ns;
};
static struct step steps[STEPS_MAX]; /* written by the engine's thread */
static int64_t drawn_ns[STEPS_MAX];
static int n_steps;
static _Atomic int64_t first_ns, last_ns; /* of the pass under way: its first draw, its last */
static void (*begin_inside)(void *, struct compute_lane *, struct compute_work *);
static enum compute_state (*poll_inside)(void *, struct compute_work *);

static void begin_timed(void *self, struct compute_lane *lane, struct compute_work *work)
{
    atomic_store(&first_ns, 0);
    begin_inside(self, lane, work);
}

static enum compute_state poll_timed(void *self, struct compute_work *work)
{
    enum compute_state state = poll_inside(self, work);
    const struct compute_pass *pass = (const struct compute_pass *)(const void *)work;
    if (state != COMPUTE_DONE || n_steps == STEPS_MAX || atomic_load(&first_ns) == 0)
        return state;
    drawn_ns[n_steps] = atomic_load(&last_ns);
    steps[n_steps++] =
        (struct step){ pass->n_rows, work->begin_ns, atomic_load(&first_ns) - work->begin_ns };
    return state;
}

int32_t __real_compute_sampler_draw(struct compute_sampler *sampler,
                                    const struct compute_sampler_row *row, float *logits, int32_t n,
                                    struct token_logprobs *logprobs);
int32_t __wrap_compute_sampler_draw(struct compute_sampler *sampler,
                                    const struct compute_sampler_row *row, float *logits, int32_t n,
                                    struct token_logprobs *logprobs);
int32_t __wrap_compute_sampler_draw(struct compute_sampler *sampler,
                                    const struct compute_sampler_row *row, float *logits, int32_t n,
                                    struct token_logprobs *logprobs)
{
    int64_t none = 0;
    atomic_compare_exchange_strong(&first_ns, &none, time_now_ns());
    int32_t id = __real_compute_sampler_draw(sampler, row, logits, n, logprobs);
    atomic_store(&last_ns, time_now_ns()); /* by several members at once: the last one counts */
    return id;
}

struct bench {
    struct compute_device *device;
    struct run_unit *unit;
    struct service_spec service;
    struct kv_layout layout;
    struct schedule_config schedule;
    const char *path;
};

static bool open_bench(struct bench *b, const char *path)
{
    static const struct device_spec device = { .kind = DEVICE_CPU,
                                               .n_cores = 2,
                                               .cores = { 0, 1 } };
    struct weights *weights;
    struct fault fault;
    double waste;
    if (weights_open(&weights, path, &fault) != STATUS_OK)
        return fprintf(stderr, "%s\n", fault.text), false;
    int64_t bytes_per_token = model_spec_kv_bytes_per_token(weights_spec(weights), DTYPE_F16);
    weights_close(weights);
    b->device = cpu_open(&device, cpu_isa_best());
    begin_inside = b->device->begin;
    poll_inside = b->device->poll;
    b->device->begin = begin_timed;
    b->device->poll = poll_timed;
    snprintf(b->service.name, sizeof(b->service.name), "m");
    b->service.n_context_max = 2048;
    b->path = path;
    schedule_config_init(&b->schedule);
    b->unit = run_unit_open(&(struct run_unit_options){
        .host = { .engine = { .memory_bytes = INT64_C(4) << 30,
                              .body_bytes = 16 << 20,
                              .n_requests_max = 64,
                              .n_tokens_max = 2048,
                              .n_lanes = 1,
                              .n_services = 1,
                              .services = &b->service,
                              .layouts = &b->layout,
                              .kv_unit_bytes = kv_choose_layout(1, &bytes_per_token, 4 << 20,
                                                                &b->layout, &waste),
                              .kv_bytes_max = INT64_C(512) << 20,
                              .policy = schedule_find("db-share"),
                              .config = &b->schedule } },
        .device = b->device,
        .paths = &b->path,
        .n_rows_max = 512,
        .n_logit_rows_max = 64,
        .kv_dtypes = &(const enum dtype){ DTYPE_F16 },
        .profile_ns = 200 * TIME_NS_PER_MS });
    run_unit_load(b->unit, 0);
    return true;
}

/* As a node does it: woken by news. */
static void turn(struct bench *b)
{
    struct service service = run_unit_service(b->unit);
    struct pollfd fds[2] = { { .fd = service.wait_fd(service.self), .events = POLLIN },
                             { .fd = run_unit_load_fd(b->unit), .events = POLLIN } };
    (void)run_unit_step(b->unit, time_now_ns());
    (void)poll(fds, 2, 100);
}

static void wait_until_loaded(struct bench *b)
{
    struct service_change change = { 0 };
    while (change.status != SERVICE_LOADED) {
        if (!run_unit_next_change(b->unit, &change)) {
            turn(b);
            continue;
        }
        if (change.status == SERVICE_BROKEN) {
            fprintf(stderr, "%s\n", change.fault.text);
            exit(1);
        }
    }
}

static void submit(struct bench *b, uint64_t id, const struct sampling *sampling, int32_t n_answer)
{
    struct service service = run_unit_service(b->unit);
    struct {
        struct request_body body;
        int32_t ids[N_PROMPT];
    } r = { { .n_bytes = (uint32_t)request_body_bytes(N_PROMPT, 0, 0),
              .n_tokens = N_PROMPT,
              .seed = id,
              .sampling = *sampling },
            { 0 } };
    for (int i = 0; i < N_PROMPT; i++)
        r.ids[i] = (int32_t)(id * 31 + (uint64_t)i * 7) % 1000 + 10;
    const struct request request = { .id = id,
                                     .n_prompt = N_PROMPT,
                                     .n_tokens = N_PROMPT,
                                     .n_tokens_max = N_PROMPT + n_answer,
                                     .flags = REQUEST_IGNORE_EOS,
                                     .arrived_ns = time_now_ns(),
                                     .deadline_ns = TIME_NEVER };
    while (!service.submit(service.self, &request, &r.body))
        turn(b);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(values[0]), by_value);
    return n > 0 ? values[n / 2] : 0;
}

static void measure(struct bench *b, const struct way *way, int32_t batch, int32_t n_answer)
{
    static double whole[STEPS_MAX], kernels[STEPS_MAX], drawing[STEPS_MAX], rest[STEPS_MAX];
    static uint64_t next_id = 1;
    struct service service = run_unit_service(b->unit);
    struct service_event event;
    const void *payload;
    n_steps = 0;
    for (int32_t i = 0; i < batch; i++)
        submit(b, next_id++, &way->sampling, n_answer);
    for (int32_t n_left = batch; n_left > 0;) {
        turn(b);
        while (service.next(service.self, &event, &payload))
            n_left -= event.what != SERVICE_TOKENS;
    }
    int n = 0;
    for (int i = 0, warm = 0; i + 1 < n_steps; i++) {
        const struct step *s = &steps[i];
        if (s->n_rows != batch || steps[i + 1].n_rows != batch || warm++ < WARM_STEPS)
            continue;
        whole[n] = (double)(s[1].begin_ns - s->begin_ns) * 1e-6;
        kernels[n] = (double)s->kernels_ns * 1e-6;
        drawing[n] = (double)(drawn_ns[i] - s->begin_ns - s->kernels_ns) * 1e-6;
        rest[n] = whole[n] - kernels[n] - drawing[n];
        n++;
    }
    double all = median(whole, n), d = median(drawing, n), r = median(rest, n);
    printf("%5d  %-25s %9.3f %9.3f %9.3f %9.3f   %5.2f%% %5.2f%% %6.2f%%  %d\n", batch, way->name,
           all, median(kernels, n), d, r, 100 * d / all, 100 * r / all, 100 * (d + r) / all, n);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct bench b;
    static const int32_t batches[] = { 1, 8, 32 };
    if (argc < 2)
        return fprintf(stderr, "usage: %s MODEL.gguf [tokens of each answer [batch]]\n", argv[0]),
               2;
    int32_t n_answer = argc > 2 ? min_i32(max_i32(atoi(argv[2]), 2 * WARM_STEPS), 1024) : 64;
    if (!open_bench(&b, argv[1]))
        return 1;
    wait_until_loaded(&b);
    printf("%s, 2 cores, %s: ms of a step\n", argv[1], b.device->name);
    printf("batch  %-25s %9s %9s %9s %9s   %6s %6s %7s  steps\n", "", "step", "kernels", "drawing",
           "rest", "drawing", "rest", "both");
    for (size_t i = 0; i < COUNT_OF(batches); i++)
        for (size_t k = 0; k < COUNT_OF(ways); k++)
            if (argc <= 3 || batches[i] == atoi(argv[3]))
                measure(&b, &ways[k], batches[i], n_answer);
    run_unit_close(b.unit);
    b.device->close(b.device->self);
    return 0;
}
