/* The real executor: a thread per lane, that computes what the engine's thread hands over.
 *
 * Handing over: the engine's thread fills the lane's job and sets n_begun; the lane's thread
 * computes batch after batch and publishes each by raising n_done; poll reads results[n_polled]
 * once n_polled < n_done. Nothing else is shared, so two counters a lane are the whole protocol. */
#include "run/executor.h"

#include "base/mem.h"
#include "base/pace.h"
#include "base/team.h"
#include "base/time.h"
#include "base/wake.h"
#include <stdio.h>
#include <string.h>

struct job {
    struct batch batches[LIMIT_BATCHES];
    struct batch_item items[LIMIT_BATCHES][LIMIT_BATCH_ITEMS];
    int n_batches;
};
struct lane {
    struct run_executor *executor;
    struct run_lane work;
    struct run_lane_scratch scratch[LIMIT_MODELS]; /* as run_executor.models */
    struct job job;
    struct run_lane_result results[LIMIT_BATCHES];
    struct thread *thread;
    char name[16];
    struct wake job_wake;
    _Atomic uint64_t n_begun, n_done; /* batches handed over, batches finished, ever */
    uint64_t n_polled;
    int64_t begun_ns; /* when the job was handed over */
    struct pace pace; /* of the lane's thread */
};
struct run_executor {
    struct engine_exec_view view;
    const struct run_model
        *models[LIMIT_MODELS]; /* written by the engine's thread between batches of a service */
    struct perf steady[LIMIT_MODELS]; /* as models; all 0: batches take as long as they take */
    struct wake done_wake;
    struct pace engine_pace; /* of the engine's thread */
    _Atomic bool is_closing;
    int n_lanes;
    struct lane *lanes; /* (n_lanes) */
};

/* Looks at the clock until the time is over. A sleep would give the core away, and end late. */
static void hold_steady(const struct perf *steady, const struct perf_load *load,
                        struct engine_exec_done *done)
{
    int64_t end_ns = done->begin_ns + perf_step_ps(steady, load) / 1000;
    while (done->end_ns < end_ns)
        done->end_ns = time_now_ns();
}

static void lane_thread(void *arg)
{
    struct lane *lane = arg;
    struct run_executor *x = lane->executor;
    pace_begin(&lane->pace, lane->name);
    for (;;) {
        wake_wait(&lane->job_wake, -1);
        wake_clear(&lane->job_wake);
        if (atomic_load(&x->is_closing))
            return;
        uint64_t done = atomic_load(&lane->n_done), begun = atomic_load(&lane->n_begun);
        if (done < begun)
            (void)pace_due(&lane->pace, lane->begun_ns,
                           "woke for a batch later than it was handed over by");
        for (int i = 0; done < begun; i++, done++) {
            const struct batch *batch = &lane->job.batches[i];
            const struct perf *steady = &x->steady[batch->service];
            struct perf_load load = { 0 };
            if (steady->c3_ps[0] + steady->c2_ps[0] > 0 && batch->kind == BATCH_COMPUTE)
                load = engine_exec_load(batch, x->view.requests);
            run_lane_run(&lane->work, x->models[batch->service], &lane->scratch[batch->service],
                         batch, &lane->results[i]);
            if (load.n_new + load.n_decodes > 0 && !lane->results[i].done.is_failed)
                hold_steady(steady, &load, &lane->results[i].done);
            atomic_store(&lane->n_done, done + 1);
            wake_up(&x->done_wake);
        }
    }
}

/* ---- The contract, on the engine's thread. ---- */

static void attach(void *self, const struct engine_exec_view *view)
{
    ((struct run_executor *)self)->view = *view;
}

static void begin(void *self, const struct batch *batches, int n_batches, int n_rounds)
{
    struct run_executor *x = self;
    CHECK(batches[0].lane < x->n_lanes);
    struct lane *lane = &x->lanes[batches[0].lane];
    (void)n_rounds;
    CHECK(n_batches <= LIMIT_BATCHES && lane->n_polled == atomic_load(&lane->n_begun));
    lane->job.n_batches = n_batches;
    for (int i = 0; i < n_batches; i++) {
        CHECK(batches[i].n_items <= LIMIT_BATCH_ITEMS && batches[i].lane == batches[0].lane);
        CHECK(batches[i].kind != BATCH_COMPUTE ||
              batches[i].n_items <= lane->work.options.n_logit_rows_max);
        lane->job.batches[i] = batches[i];
        lane->job.batches[i].items = lane->job.items[i];
        memcpy(lane->job.items[i], batches[i].items,
               sizeof(struct batch_item) * (size_t)batches[i].n_items);
    }
    lane->begun_ns = time_now_ns();
    if (x->engine_pace.part[0] == '\0')
        pace_begin(&x->engine_pace, lane->name);
    atomic_store(&lane->n_begun, lane->n_polled + (uint64_t)n_batches);
    wake_up(&lane->job_wake);
}

static void cut(void *self, uint16_t lane)
{
    (void)self; /* one round at a time: there is nothing to cut short */
    (void)lane;
}

static bool poll(void *self, struct engine_exec_done *done)
{
    struct run_executor *x = self;
    wake_clear(&x->done_wake);
    for (int i = 0; i < x->n_lanes; i++) {
        struct lane *lane = &x->lanes[i];
        if (lane->n_polled == atomic_load(&lane->n_done))
            continue;
        uint64_t first = atomic_load(&lane->n_begun) - (uint64_t)lane->job.n_batches;
        *done = lane->results[lane->n_polled - first].done;
        (void)pace_due(&x->engine_pace, done->end_ns, "the engine heard of a batch's end later by");
        lane->n_polled++;
        return true;
    }
    return false;
}

static int wait_fd(void *self)
{
    return ((struct run_executor *)self)->done_wake.fd;
}

static int64_t next_ns(void *self)
{
    (void)self;
    return TIME_NEVER;
}

struct engine_exec run_executor_exec(struct run_executor *executor)
{
    return (struct engine_exec){ executor, attach, begin, cut, poll, wait_fd, next_ns };
}

static void open_lane(struct run_executor *x, int index, const struct run_lane_options *options)
{
    static const char *const formats[] = { "lane-%d", "lane-%d.%d" };
    struct lane *lane = &x->lanes[index];
    lane->executor = x;
    run_lane_open(&lane->work, options, index, &x->view);
    for (int i = 0; i < LIMIT_BATCHES; i++)
        lane->results[i].store =
            mem_take(sizeof(struct token_logprobs) * (size_t)options->n_logit_rows_max);
    wake_open(&lane->job_wake);
    snprintf(lane->name, sizeof lane->name, formats[index > 0], options->id % 1000, index % 100);
    lane->thread = thread_start(lane->name, lane_thread, lane);
}

struct run_executor *run_executor_open(const struct run_lane_options *options)
{
    struct run_executor *x = mem_take(sizeof *x);
    x->n_lanes = options->device->n_lanes;
    x->lanes = mem_take((size_t)x->n_lanes * sizeof *x->lanes);
    wake_open(&x->done_wake);
    for (int i = 0; i < x->n_lanes; i++)
        open_lane(x, i, options);
    return x;
}

void run_executor_close(struct run_executor *x)
{
    atomic_store(&x->is_closing, true);
    for (int i = 0; i < x->n_lanes; i++) {
        struct lane *lane = &x->lanes[i];
        wake_up(&lane->job_wake);
        thread_join(lane->thread);
        wake_close(&lane->job_wake);
        for (int k = 0; k < LIMIT_BATCHES; k++)
            mem_give(lane->results[k].store);
        run_lane_close(&lane->work);
        for (int k = 0; k < LIMIT_MODELS; k++)
            run_lane_scratch_close(&lane->scratch[k]);
    }
    wake_close(&x->done_wake);
    mem_give(x->lanes);
    mem_give(x);
}

void run_executor_put_model(struct run_executor *x, int service, const struct run_model *model)
{
    CHECK(!x->models[service]);
    for (int i = 0; i < x->n_lanes; i++)
        run_lane_scratch_open(&x->lanes[i].scratch[service], &x->lanes[i].work.options, i, model);
    x->models[service] = model;
}

void run_executor_hold_steady(struct run_executor *x, int service, const struct perf *perf)
{
    x->steady[service] = *perf;
}

void run_executor_remove_model(struct run_executor *x, int service)
{
    for (int i = 0; i < x->n_lanes; i++)
        run_lane_scratch_close(&x->lanes[i].scratch[service]);
    x->models[service] = NULL;
}

int64_t run_executor_pad_rows(const struct run_executor *x)
{
    int64_t n = 0;
    for (int i = 0; i < x->n_lanes; i++)
        n += x->lanes[i].work.n_pad_rows;
    return n;
}
