/* The cost of one decision with 10,000 requests queued, in the real engine.
 *
 * What is measured: an engine on virtual time (the same code as in serve, with an executor that
 * only says how long a batch takes) is stepped, and of every step all calls of plan and all calls
 * of saw are timed, whatever the events (arrived, started, refused, preempted, exceeded, done,
 * gone). The view needs no call: it is a window onto lists that the engine keeps. What keeping
 * them costs (queues, running arrays, ends, arrivals) is in the column `view`, less the calls of
 * plan and saw made meanwhile; `decision` is plan + saw + view. `step` is all of engine_step and
 * engine_submit: also blocks, the batch in flight, the commit, what is said to clients.
 *
 * The load: busy services are the A100's 7B and 13B in turn (docs/ALGORITHMS.md, appendix A),
 * prompts and answers of chat and code lengths, a pool that holds some hundreds of requests, so
 * that requests wait, start, give way and end all the time. For each request that ends another
 * arrives: 10,000 wait or run. Each step is planned (no holds). Idle services are loaded and were
 * never asked. Caches are as the engine leaves them: nothing is touched between steps; --cold walks
 * over 8 MB before each step, as an executor on the same core would.
 *
 * Prints microseconds: p50, p99 and the longest of N_STEPS steps, after N_WARM that fill the pool;
 * of each step the least of N_RUNS equal runs, since what others do on the machine is not the
 * policy's cost. `default` is value with the thresholds of the preset and targets per token and
 * deadlines on half of the services. The last table is the mean decision of 4 and of 128 busy
 * services among idle ones, relative to no idle ones.
 *
 * usage: bench_schedule [--cold] [--singly] [--quick] [POLICY] */
#include "base/mem.h"
#include "base/num.h"
#include "base/rng.h"
#include "base/time.h"
#include "engine/engine.h"
#include "engine/state.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_QUEUED = 10000, N_SLOTS = N_QUEUED + 16, N_WARM = 2000, N_STEPS = 8000, N_RUNS = 3 };
enum { N_BUSY = 4, COHORT = 8, COLD_BYTES = 8 << 20 };

enum part { PLAN, SAW, VIEW, DECISION, STEP, N_PARTS };
static const char *const part_names[N_PARTS] = { "plan", "saw", "view", "decision", "step" };

struct setting {
    const char *name;
    const struct schedule_policy *policy;
    int32_t chunk_tokens;
    bool is_default;
    int n_busy, n_idle;
};
struct bench {
    const struct setting *setting;
    struct engine *engine;
    struct rng rng;
    uint64_t n_ids;
    int64_t now_ns;
    uint32_t n_alive;
    /* The executor: one batch on lane 0, or one per lane. */
    const struct request *requests;
    struct flight {
        struct batch batch;
        int64_t begin_ns, end_ns;
    } flights[LIMIT_LANES];
    int32_t n_new[LIMIT_BATCH_ITEMS];
    /* Of this step. */
    int64_t ns[N_PARTS], aside_ns;
    int64_t n_items, n_preempts;
    uint64_t plans; /* a hash of them all */
};
struct times {
    int64_t ns[N_PARTS][N_STEPS];
    int64_t n_items, n_preempts;
    uint64_t plans;
};

/* One bench at a time: the functions below stand between the engine and the policy, and have no
 * place for a pointer. */
static struct bench *b;
static volatile unsigned char *cold;
static int n_runs = N_RUNS; /* --quick: one, for the plans' hash */
static bool is_singly; /* records of requests that only decode are kept one by one, as in serve */

/* ---- Between the engine and its policy, its queues: what is timed. ---- */

static void note(uint64_t value)
{
    b->plans = (b->plans ^ value) * UINT64_C(1099511628211);
    b->plans ^= b->plans >> 32;
}

static void note_plan(const struct schedule_plan *plan)
{
    b->n_preempts += plan->n_preempts;
    note((uint64_t)plan->n_batches << 32 | (uint64_t)plan->n_preempts);
    for (int32_t i = 0; i < plan->n_preempts; i++)
        note(plan->preempts[i]);
    for (int32_t i = 0; i < plan->n_batches; i++) {
        const struct batch *batch = &plan->batches[i];
        b->n_items += batch->n_items;
        note((uint64_t)batch->lane << 16 | batch->service);
        for (int32_t k = 0; k < batch->n_items; k++)
            note((uint64_t)batch->items[k].n_tokens << 32 | batch->items[k].slot);
    }
}

static void timed_plan(const void *state, const struct schedule_view *view,
                       struct schedule_plan *plan)
{
    int64_t before = time_now_ns();
    b->setting->policy->plan(state, view, plan);
    b->ns[PLAN] += time_now_ns() - before;
    note_plan(plan);
}

static void timed_saw(void *state, const struct schedule_view *view,
                      const struct schedule_event *event)
{
    int64_t before = time_now_ns();
    b->setting->policy->saw(state, view, event);
    b->ns[SAW] += time_now_ns() - before;
}

/* The linker puts these in the place of the engine's own calls (--wrap). */
void __real_engine_queue_wait(struct engine *e, uint32_t slot);
void __wrap_engine_queue_wait(struct engine *e, uint32_t slot);
void __real_engine_queue_start(struct engine *e, uint32_t slot);
void __wrap_engine_queue_start(struct engine *e, uint32_t slot);
void __real_engine_queue_preempt(struct engine *e, uint32_t slot);
void __wrap_engine_queue_preempt(struct engine *e, uint32_t slot);
void __real_engine_queue_end(struct engine *e, uint32_t slot, enum service_what what,
                             enum service_why why);
void __wrap_engine_queue_end(struct engine *e, uint32_t slot, enum service_what what,
                             enum service_why why);

void __real_kv_release(struct kv *kv, uint32_t slot);
void __wrap_kv_release(struct kv *kv, uint32_t slot);
void __real_engine_say(struct engine *e, uint32_t slot);
void __wrap_engine_say(struct engine *e, uint32_t slot);

struct watch {
    int64_t before, aside;
};
static struct watch watch_begin(void)
{
    return (struct watch){ time_now_ns(), b->ns[SAW] + b->aside_ns };
}
static void watch_end(struct watch watch)
{
    b->ns[VIEW] += time_now_ns() - watch.before - (b->ns[SAW] + b->aside_ns - watch.aside);
}

/* Blocks that come back and what is said on the way are none of the view's. */
void __wrap_kv_release(struct kv *kv, uint32_t slot)
{
    int64_t before = time_now_ns();
    __real_kv_release(kv, slot);
    b->aside_ns += time_now_ns() - before;
}
void __wrap_engine_say(struct engine *e, uint32_t slot)
{
    int64_t before = time_now_ns();
    __real_engine_say(e, slot);
    b->aside_ns += time_now_ns() - before;
}

void __wrap_engine_queue_wait(struct engine *e, uint32_t slot)
{
    struct watch watch = watch_begin();
    __real_engine_queue_wait(e, slot);
    watch_end(watch);
}
void __wrap_engine_queue_start(struct engine *e, uint32_t slot)
{
    struct watch watch = watch_begin();
    __real_engine_queue_start(e, slot);
    watch_end(watch);
}
void __wrap_engine_queue_preempt(struct engine *e, uint32_t slot)
{
    struct watch watch = watch_begin();
    __real_engine_queue_preempt(e, slot);
    watch_end(watch);
}
void __wrap_engine_queue_end(struct engine *e, uint32_t slot, enum service_what what,
                             enum service_why why)
{
    struct watch watch = watch_begin();
    __real_engine_queue_end(e, slot, what, why);
    watch_end(watch);
}

/* ---- An executor that computes nothing. ---- */

static void exec_attach(void *self, const struct engine_exec_view *view)
{
    (void)self;
    b->requests = view->requests;
}

static void exec_begin(void *self, const struct batch *batches, int n_batches, int n_rounds)
{
    (void)self;
    (void)n_rounds;
    struct flight *flight = &b->flights[batches->lane];
    CHECK(n_batches == 1 && n_rounds >= 1 && flight->end_ns == 0);
    *flight = (struct flight){ batches[0], b->now_ns, b->now_ns };
    int64_t ns = 11000000;
    for (int32_t i = 0; i < flight->batch.n_items; i++) {
        const struct batch_item *item = &flight->batch.items[i];
        ns += item->n_tokens * INT64_C(70000) + b->requests[item->slot].n_tokens * INT64_C(374);
    }
    flight->end_ns += ns;
}

static void exec_cut(void *self, uint16_t lane)
{
    (void)self;
    (void)lane;
}

static bool exec_poll(void *self, struct engine_exec_done *done)
{
    (void)self;
    for (int lane = 0; lane < LIMIT_LANES; lane++) {
        struct flight *flight = &b->flights[lane];
        if (flight->end_ns == 0 || flight->end_ns > b->now_ns)
            continue;
        for (int32_t i = 0; i < flight->batch.n_items; i++) {
            const struct batch_item *item = &flight->batch.items[i];
            b->n_new[i] = engine_exec_progress(&b->requests[item->slot], item->n_tokens, 1).n_new;
        }
        *done = (struct engine_exec_done){ .batch = flight->batch.id,
                                           .n_steps = 1,
                                           .begin_ns = flight->begin_ns,
                                           .end_ns = flight->end_ns,
                                           .n_new = b->n_new };
        flight->end_ns = 0;
        return true;
    }
    return false;
}

static int exec_wait_fd(void *self)
{
    (void)self;
    return -1;
}

static int64_t exec_next_ns(void *self)
{
    int64_t next = TIME_NEVER;
    (void)self;
    for (int lane = 0; lane < LIMIT_LANES; lane++)
        if (b->flights[lane].end_ns != 0)
            next = min_i64(next, b->flights[lane].end_ns);
    return next;
}

static bool see_plan(void *self, const struct schedule_plan *plan)
{
    (void)self;
    (void)plan;
    return true;
}

/* ---- The load. ---- */

static bool emit(void *self, const struct service_event *event, const void *payload)
{
    (void)self;
    (void)payload;
    b->n_alive -= event->what == SERVICE_ENDED;
    return true;
}

static int32_t length(double log_mean)
{
    return 1 + (int32_t)min_i64(4000, (int64_t)num_exp(log_mean + 0.8 * rng_normal(&b->rng)));
}

static void arrive(void)
{
    const struct setting *setting = b->setting;
    uint64_t id = ++b->n_ids;
    uint16_t service = (uint16_t)rng_below(&b->rng, (uint32_t)setting->n_busy);
    if (strcmp(setting->policy->name, "cohort") == 0)
        service = (uint16_t)(rng_at(2, 0, id / COHORT) % (uint64_t)setting->n_busy);
    int32_t n_prompt = length(service % 2 == 0 ? 5 : 4.3);
    struct request r = { .id = id,
                         .service = service,
                         .n_prompt = n_prompt,
                         .n_tokens = n_prompt,
                         .n_tokens_max = n_prompt + length(service % 2 == 0 ? 3.8 : 5.6),
                         .deadline_ns = TIME_NEVER,
                         .arrived_ns = b->now_ns };
    if (setting->is_default && service % 2 == 1)
        r.deadline_ns = b->now_ns + 36000 * TIME_NS_PER_S;
    if (strcmp(setting->policy->name, "cohort") == 0) {
        r.cohort = (uint32_t)(1 + id / COHORT);
        r.n_cohort = COHORT;
    }
    CHECK(engine_submit(b->engine, &r, NULL, b->now_ns));
    b->n_alive++;
}

static struct perf perf_of(int service)
{
    return (struct perf){ .floor_ps = 13900000000,
                          .c1_ps = service % 2 == 0 ? 3400000000 : 6100000000,
                          .k1_ps = service % 2 == 0 ? 73800000 : 138000000,
                          .c3_ps = { 11440000000, 8580000000 },
                          .c2_ps = { 30000000, 75900000 },
                          .k2_ps = { 374000, 354000 },
                          .b_switch = 64,
                          .prefill_scale = 1,
                          .decode_scale = 1 };
}

static void open_engine(const struct schedule_policy *timed, const struct schedule_config *config)
{
    const struct setting *setting = b->setting;
    int n = setting->n_busy + setting->n_idle;
    struct kv_layout layouts[KV_SERVICES_MAX];
    struct service_spec *specs = mem_take((size_t)n * sizeof(*specs));
    int64_t bytes[KV_SERVICES_MAX], unit;
    double waste;
    for (int i = 0; i < n; i++) {
        bytes[i] = i % 2 == 0 ? 524288 : 819200;
        if (setting->is_default && i % 2 == 0)
            specs[i].slo.tpot_ns = 200 * TIME_NS_PER_MS;
    }
    unit = kv_choose_layout(n, bytes, 16 << 20, layouts, &waste);
    struct engine_options options = {
        .memory_bytes = INT64_C(160) << 30,
        .n_requests_max = N_SLOTS,
        .n_tokens_max = 8192,
        .n_lanes = 1,
        .n_services = n,
        .services = specs,
        .layouts = layouts,
        .kv_unit_bytes = unit,
        .is_virtual = true,
        .policy = timed,
        .config = config,
        .exec = { b, exec_attach, exec_begin, exec_cut, exec_poll, exec_wait_fd, exec_next_ns },
        .says_little = true,
        .planned = is_singly ? see_plan : NULL,
        .emit = emit,
        .emit_self = b,
    };
    b->engine = engine_open(&options);
    for (int i = 0; i < n; i++) {
        struct engine_room room;
        struct perf perf = perf_of(i);
        CHECK(engine_make_room(b->engine, i, 0, 0, 0, &room));
        engine_open_service(b->engine, i, &perf, 0);
    }
    mem_give(specs);
}

/* ---- Measuring. ---- */

static void step(void)
{
    for (int p = 0; p < N_PARTS; p++)
        b->ns[p] = 0;
    for (size_t i = 0; cold != NULL && i < COLD_BYTES; i += 64)
        cold[i]++;
    int64_t before = time_now_ns();
    int64_t next = engine_step(b->engine, b->now_ns);
    while (b->n_alive < N_QUEUED)
        arrive();
    b->ns[STEP] = time_now_ns() - before;
    b->ns[DECISION] = b->ns[PLAN] + b->ns[SAW] + b->ns[VIEW];
    CHECK(next != TIME_NEVER);
    b->now_ns = max_i64(next, b->now_ns);
}

static struct schedule_config config_of(const struct setting *setting)
{
    static const char *const preset[] = { "promotes_slack=1", "guards_tpot=1", "chunk_tokens=2048",
                                          "starve_factor=60" };
    struct schedule_config config;
    schedule_config_init(&config);
    for (size_t i = 0; i < COUNT_OF(preset) && setting->is_default; i++)
        CHECK(schedule_config_set(&config, preset[i], NULL) == STATUS_OK);
    if (setting->chunk_tokens > 0)
        config.chunk_tokens = setting->chunk_tokens;
    config.n_rounds_max = 1;
    return config;
}

static void run_once(const struct setting *setting, struct times *times)
{
    struct schedule_policy timed = *setting->policy;
    struct schedule_config config = config_of(setting);
    timed.plan = timed_plan;
    timed.saw = timed_saw;
    b = mem_take(sizeof(*b));
    b->setting = setting;
    rng_init(&b->rng, 1, 0);
    open_engine(&timed, &config);
    while (b->n_alive < N_QUEUED)
        arrive();
    for (int i = 0; i < N_WARM; i++)
        step();
    b->n_items = b->n_preempts = 0;
    for (int i = 0; i < N_STEPS; i++) {
        step();
        for (int p = 0; p < N_PARTS; p++)
            times->ns[p][i] = times->ns[p][i] == 0 ? b->ns[p] : min_i64(times->ns[p][i], b->ns[p]);
    }
    times->n_items = b->n_items;
    times->n_preempts = b->n_preempts;
    times->plans = b->plans;
    engine_close(b->engine);
    mem_give(b);
}

static int compare(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, c = *(const int64_t *)y;
    return (a > c) - (a < c);
}

static double mean_us(const struct times *times)
{
    double sum = 0;
    for (int i = 0; i < N_STEPS; i++)
        sum += (double)times->ns[DECISION][i];
    return sum / N_STEPS / 1e3;
}

static void measure(const struct setting *setting)
{
    struct times *times = mem_take(sizeof(*times));
    for (int i = 0; i < n_runs; i++)
        run_once(setting, times);
    printf("%-11s %5d %8d", setting->name, setting->chunk_tokens, setting->n_busy);
    for (int p = 0; p < N_PARTS; p++) {
        qsort(times->ns[p], N_STEPS, sizeof(int64_t), compare);
        if (p >= DECISION)
            printf(" | %5.1f %5.1f %6.1f", (double)times->ns[p][N_STEPS / 2] / 1e3,
                   (double)times->ns[p][N_STEPS * 99 / 100] / 1e3,
                   (double)times->ns[p][N_STEPS - 1] / 1e3);
        else
            printf(" | %5.1f %5.1f", (double)times->ns[p][N_STEPS / 2] / 1e3,
                   (double)times->ns[p][N_STEPS * 99 / 100] / 1e3);
    }
    printf(" | %7.0f %8lld %08x\n", (double)times->n_items / N_STEPS, (long long)times->n_preempts,
           (unsigned)times->plans);
    fflush(stdout);
    mem_give(times);
}

static void print_head(void)
{
    printf("%d queued, %d steps, us: p50 p99 (and longest) of plan, saw, upkeep of the view, these "
           "three, a whole step\n",
           N_QUEUED, N_STEPS);
    printf("policy      chunk services");
    for (int p = 0; p < N_PARTS; p++)
        printf(" | %-*s", p >= DECISION ? 18 : 11, part_names[p]);
    printf(" | items/b preempts plans\n");
}

/* The runs of a row take turns, so that what else the machine does falls on all alike. */
static void measure_idle(const struct setting *all, int n)
{
    static const struct {
        int n_busy, n_idle;
    } columns[] = { { N_BUSY, 0 }, { N_BUSY, 60 }, { N_BUSY, 1000 }, { 128, 0 }, { 128, 896 } };
    struct times *times = mem_take(COUNT_OF(columns) * sizeof(*times));
    printf("\nmean decision, us, of busy services among idle ones, and its ratio to none\n");
    printf("policy     ");
    for (size_t k = 0; k < COUNT_OF(columns); k++)
        printf(" | %4d + %4d ratio", columns[k].n_busy, columns[k].n_idle);
    for (int i = 0; i < n; i++) {
        double none = 0;
        memset(times, 0, COUNT_OF(columns) * sizeof(*times));
        for (int run = 0; run < n_runs; run++)
            for (size_t k = 0; k < COUNT_OF(columns); k++) {
                struct setting setting = all[i];
                setting.n_busy = columns[k].n_busy;
                setting.n_idle = columns[k].n_idle;
                run_once(&setting, &times[k]);
            }
        printf("\n%-11s", all[i].name);
        for (size_t k = 0; k < COUNT_OF(columns); k++) {
            double mean = mean_us(&times[k]);
            none = columns[k].n_idle == 0 ? mean : none;
            printf(" | %11.2f %5.3f", mean, mean / none);
        }
        fflush(stdout);
    }
    printf("\n");
    mem_give(times);
}

int main(int argc, char **argv)
{
    int n, n_settings = 0;
    const struct schedule_policy *const *all = schedule_all(&n);
    struct setting settings[64];
    for (; argc > 1 && strncmp(argv[1], "--", 2) == 0; argc--, argv++) {
        if (strcmp(argv[1], "--cold") == 0)
            cold = mem_take(COLD_BYTES);
        if (strcmp(argv[1], "--quick") == 0)
            n_runs = 1;
        is_singly |= strcmp(argv[1], "--singly") == 0;
    }
    for (int i = 0; i < n && n_settings < (int)COUNT_OF(settings) - 1; i++) {
        if (argc > 1 && strcmp(argv[1], all[i]->name) != 0)
            continue;
        settings[n_settings++] = (struct setting){ all[i]->name, all[i], 0, false, N_BUSY, 0 };
    }
    if (argc <= 1 || strcmp(argv[1], "default") == 0)
        settings[n_settings++] =
            (struct setting){ "default", schedule_find("value"), 0, true, N_BUSY, 0 };
    print_head();
    for (int i = 0; i < n_settings; i++) {
        static const int n_busy[] = { N_BUSY, 64, 128 };
        for (size_t k = 0; k < COUNT_OF(n_busy); k++) {
            struct setting setting = settings[i];
            setting.n_busy = n_busy[k];
            measure(&setting);
            setting.chunk_tokens = 512;
            measure(&setting);
        }
    }
    if (n_runs > 1)
        measure_idle(settings, n_settings);
    return 0;
}
