/* The two threads of a lane: see lane.h. */
#include "cuda/lane.h"

#include "base/mem.h"
#include "base/time.h"
#include "cuda/pass.h"
#include <stdio.h>

enum { RESULT_BYTES = 64 << 10 }; /* has each flight from the start; logits take more */

static int64_t n_flying(struct cuda_lane *lane)
{
    return atomic_load(&lane->n_begun) - atomic_load(&lane->n_ended);
}

/* ---- The thread that submits. ---- */

/* The next work; NULL: there is none, or it has to wait. Work with a least time has the lane to
 * itself. */
static struct compute_work *take_first(struct cuda_lane *lane, bool was_alone)
{
    struct compute_work *work = NULL;
    lock_take(lane->lock);
    int64_t n = n_flying(lane);
    bool is_alone = lane->first != NULL && (was_alone || lane->first->ns_least > 0);
    if (lane->first != NULL && n < (is_alone ? 1 : CUDA_LANE_FLIGHTS)) {
        work = lane->first;
        lane->first = work->next;
    }
    lock_put(lane->lock);
    return work;
}

static bool submit_copy(struct cuda_lane *lane, const struct compute_copy *copy)
{
    for (int32_t i = 0; i < copy->n_parts; i++) {
        const struct copy_part *part = &copy->parts[i];
        if (!cuda_object_copy(lane->driver, lane->stream,
                              (struct cuda_object_part){ copy->to, part->to },
                              (struct cuda_object_part){ copy->from, part->from }, part->n_bytes))
            return false;
    }
    return true;
}

/* Waits until late masks have come. */
static void wait_for_masks(struct cuda_lane *lane, const struct compute_pass *pass)
{
    while (pass->has_late_masks && !atomic_load(&pass->has_masks)) {
        (void)wake_wait(&lane->has_work, -1);
        wake_clear(&lane->has_work);
    }
}

static bool submit_pass(struct cuda_lane *lane, struct cuda_flight *flight,
                        const struct compute_pass *pass)
{
    if (!compute_shapes_are_plain(&pass->shapes,
                                  (struct compute_shapes_known){ .has_experts = false }) ||
        !cuda_pass_submit(lane, flight, pass))
        return false;
    if (pass->asks == NULL)
        return cuda_pass_collect(lane, flight, pass);
    wait_for_masks(lane, pass);
    return cuda_pass_draw(lane, flight, pass) && cuda_pass_collect(lane, flight, pass);
}

static void submit(struct cuda_lane *lane, struct compute_work *work)
{
    struct cuda_flight *flight = &lane->flights[lane->n_begun % CUDA_LANE_FLIGHTS];
    bool is_well;
    flight->work = work;
    flight->inputs.n_bytes = flight->inputs.n_sent = 0;
    flight->inputs.is_full = false;
    flight->asks = NULL;
    work->begin_ns = time_now_ns();
    if (work->kind == COMPUTE_WORK_PASS)
        is_well = submit_pass(lane, flight, (const struct compute_pass *)(const void *)work);
    else
        is_well = submit_copy(lane, (const struct compute_copy *)(const void *)work);
    /* Also of work that failed half-way: its buffers are free only behind it. */
    flight->state = is_well ? COMPUTE_DONE : COMPUTE_FAILED;
    if (!cuda_driver_record(lane->driver, flight->event, lane->stream))
        flight->state = COMPUTE_LOST;
    atomic_fetch_add(&lane->n_begun, 1);
    wake_up(&lane->has_flight);
}

static void submits(void *arg)
{
    struct cuda_lane *lane = arg;
    bool was_alone = false;
    cuda_driver_enter(lane->driver);
    while (!atomic_load(&lane->is_closing)) {
        struct compute_work *work = take_first(lane, was_alone);
        if (work != NULL) {
            was_alone = work->ns_least > 0;
            submit(lane, work);
            continue;
        }
        (void)wake_wait(&lane->has_work, -1);
        wake_clear(&lane->has_work);
    }
}

/* ---- The thread that ends. ---- */

static void end(struct cuda_lane *lane, struct cuda_flight *flight)
{
    struct compute_work *work = flight->work;
    void (*notify)(void *arg) = work->notify;
    void *arg = work->notify_arg;
    enum compute_state state = flight->state;
    if (!cuda_driver_wait(lane->driver, flight->event) || cuda_driver_is_lost(lane->driver))
        state = COMPUTE_LOST;
    if (state == COMPUTE_DONE && work->kind == COMPUTE_WORK_PASS)
        cuda_pass_end(flight, (const struct compute_pass *)(const void *)work);
    work->begin_ns = max_i64(work->begin_ns, lane->last_end_ns);
    do
        work->end_ns = time_now_ns();
    while (work->end_ns - work->begin_ns < work->ns_least);
    lane->last_end_ns = work->end_ns;
    atomic_fetch_add(&lane->n_ended, 1);
    wake_up(&lane->has_work);
    atomic_store(&work->state, state); /* from here on it is the caller's */
    if (notify != NULL)
        notify(arg);
}

static void ends(void *arg)
{
    struct cuda_lane *lane = arg;
    cuda_driver_enter(lane->driver);
    while (!atomic_load(&lane->is_closing)) {
        if (n_flying(lane) > 0) {
            end(lane, &lane->flights[lane->n_ended % CUDA_LANE_FLIGHTS]);
            continue;
        }
        (void)wake_wait(&lane->has_flight, -1);
        wake_clear(&lane->has_flight);
    }
}

/* ---- The face. ---- */

void cuda_lane_begin(struct cuda_lane *lane, struct compute_work *work)
{
    work->next = NULL;
    if (work->kind == COMPUTE_WORK_PASS)
        atomic_store(&((struct compute_pass *)(void *)work)->has_masks, false);
    atomic_store(&work->state, COMPUTE_BEGUN);
    lock_take(lane->lock);
    if (lane->first == NULL)
        lane->first = work;
    else
        lane->last->next = work;
    lane->last = work;
    lock_put(lane->lock);
    wake_up(&lane->has_work);
}

static enum status open_flight(struct cuda_lane *lane, struct cuda_flight *flight,
                               struct fault *fault)
{
    const struct compute_memory_options results = { .n_bytes = CUDA_PASS_RESULT_BYTES_MAX,
                                                    .is_host = true,
                                                    .is_reserved = true };
    enum status status = cuda_inputs_open(&flight->inputs, lane->driver, lane->inputs, fault);
    if (status == STATUS_OK)
        status = cuda_object_open(lane->driver, &results, &flight->results, fault);
    if (status == STATUS_OK && !cuda_object_back(lane->driver, flight->results, 0, RESULT_BYTES))
        status = fault_set(fault, STATUS_TOO_LARGE, "the GPU has no pinned memory for results");
    flight->event = cuda_driver_event_open(lane->driver);
    if (status == STATUS_OK && flight->event == NULL)
        status = fault_set(fault, STATUS_UNSUPPORTED, "the GPU opens no event");
    return status;
}

static void close_buffers(struct cuda_lane *lane)
{
    for (int i = 0; i < CUDA_LANE_FLIGHTS; i++) {
        cuda_driver_event_close(lane->driver, lane->flights[i].event);
        cuda_object_close(lane->driver, lane->flights[i].results);
        cuda_inputs_close(&lane->flights[i].inputs);
    }
    cuda_driver_stream_close(lane->driver, lane->stream);
    cuda_driver_partition_close(lane->driver, lane->partition);
    cuda_object_close(lane->driver, lane->inputs);
}

/* Opens the stream, on the lane's own processors where it has some. */
static enum status open_stream(struct cuda_lane *lane, const struct cuda_lane_options *options,
                               struct fault *fault)
{
    const struct cuda_driver_info *info = cuda_driver_describe(lane->driver);
    lane->face = (struct compute_lane){ info->n_processors, CUDA_LANE_FLIGHTS };
    if (options->n_units > 0) {
        lane->face.n_members = options->n_units * info->unit_processors;
        lane->partition =
            cuda_driver_partition_open(lane->driver, options->first_unit, options->n_units);
        if (lane->partition == NULL)
            return fault_set(fault, STATUS_UNSUPPORTED, "the GPU sets no %d processors aside",
                             lane->face.n_members);
    }
    lane->stream = cuda_driver_stream_open(lane->driver, lane->partition);
    return lane->stream != NULL ? STATUS_OK
                                : fault_set(fault, STATUS_UNSUPPORTED, "the GPU opens no stream");
}

enum status cuda_lane_open(struct cuda_lane *lane, const struct cuda_lane_options *options,
                           struct fault *fault)
{
    char name[16];
    struct cuda_driver *driver = options->driver;
    *lane = (struct cuda_lane){ .driver = driver,
                                .load = options->load,
                                .has_graphs = options->has_graphs,
                                .is_strict = options->is_strict };
    enum status status = cuda_inputs_open_device(driver, &lane->inputs, fault);
    for (int i = 0; i < CUDA_LANE_FLIGHTS; i++) {
        lane->flights[i].inputs.driver = driver;
        if (status == STATUS_OK)
            status = open_flight(lane, &lane->flights[i], fault);
    }
    if (status == STATUS_OK)
        status = open_stream(lane, options, fault);
    if (status != STATUS_OK) {
        close_buffers(lane);
        return status;
    }
    lane->lock = lock_open();
    wake_open(&lane->has_work);
    wake_open(&lane->has_flight);
    snprintf(name, sizeof name, "gpu-%d", options->index % 1000);
    lane->submits = thread_start(name, submits, lane);
    snprintf(name, sizeof name, "gpu-%d-end", options->index % 1000);
    lane->ends = thread_start(name, ends, lane);
    return STATUS_OK;
}

void cuda_lane_close(struct cuda_lane *lane)
{
    atomic_store(&lane->is_closing, true);
    wake_up(&lane->has_work);
    wake_up(&lane->has_flight);
    thread_join(lane->submits);
    thread_join(lane->ends);
    wake_close(&lane->has_work);
    wake_close(&lane->has_flight);
    lock_close(lane->lock);
    close_buffers(lane);
}
