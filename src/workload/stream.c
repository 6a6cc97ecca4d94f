/* The stream of requests: a heap of sources, the earliest first. Each source is the clock of a draw
 * or a position in a trace. Every purpose has its own random numbers. */
#include "workload/workload.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/time.h"
#include "workload/draw.h"
#include "workload/trace.h"

struct workload_source {
    const struct workload_traffic *traffic; /* or */
    const struct workload_replay *replay;
    struct workload_draw_clock clock;
    uint64_t n_arrivals, n_lengths; /* so far */
    int64_t arrives_ns;             /* time of its next request, unless it is out of the heap */
    size_t row, row_begin, row_end; /* of the replay: the next row, and those of its window */
    uint32_t repeat;
    int64_t period_ns;
    uint32_t index;
    uint16_t service;
};

/* ---- One source. ---- */

static int64_t to_ns(double s)
{
    return s < WORKLOAD_S_MAX ? (int64_t)(s * 1e9) : TIME_NEVER;
}

static size_t first_row_from(const struct workload_trace *trace, int64_t at_ns)
{
    size_t low = 0, high = trace->n_rows;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (trace->rows[middle].arrived_ns < at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void begin_replay(struct workload_source *source)
{
    const struct workload_replay *r = source->replay;
    const struct workload_trace *trace = r->trace;
    int64_t to = r->to_ns > 0 ? r->to_ns : TIME_NEVER;
    source->row = source->row_begin = first_row_from(trace, r->from_ns);
    source->row_end = first_row_from(trace, to);
    size_t n = source->row_end - source->row_begin;
    if (n == 0)
        return;
    /* Repeats follow each other as if the gap between them were an average one; a second if there
     * is no gap. */
    int64_t last_ns = trace->rows[source->row_end - 1].arrived_ns - r->from_ns;
    source->period_ns = to != TIME_NEVER       ? to - r->from_ns
                        : n > 1 && last_ns > 0 ? last_ns + last_ns / (int64_t)(n - 1)
                                               : last_ns + TIME_NS_PER_S;
}

static int64_t replay_ns(const struct workload_source *source)
{
    const struct workload_replay *r = source->replay;
    int64_t ns = r->trace->rows[source->row].arrived_ns - r->from_ns;
    if (source->repeat > 0 && source->period_ns > (TIME_NEVER - ns) / source->repeat)
        return TIME_NEVER;
    ns += source->period_ns * source->repeat;
    return r->speed > 0 && r->speed != 1 ? to_ns((double)ns / r->speed * 1e-9) : ns;
}

/* Sets the time of the source's next request. Returns false when there is none. */
static bool advance(struct workload_source *source)
{
    const struct workload_traffic *t = source->traffic;
    if (source->replay != NULL) {
        if (source->row == source->row_end) {
            if (source->row_begin == source->row_end ||
                source->repeat + 1 >= source->replay->n_repeats)
                return false;
            source->row = source->row_begin;
            source->repeat++;
        }
        source->arrives_ns = replay_ns(source);
        return source->arrives_ns != TIME_NEVER;
    }
    if (t->n_requests > 0 && source->n_arrivals == t->n_requests)
        return false;
    if (t->times_ns != NULL) {
        if (source->n_arrivals == t->n_times)
            return false;
        int64_t ns = t->times_ns[source->n_arrivals];
        source->arrives_ns = t->times_speed > 0 ? to_ns((double)ns / t->times_speed * 1e-9) : ns;
    } else {
        source->arrives_ns = to_ns(workload_draw_arrival(&source->clock));
    }
    source->n_arrivals++;
    return source->arrives_ns != TIME_NEVER;
}

static bool asks_nothing(const struct workload_traffic *t)
{
    if (t->times_ns != NULL)
        return t->n_times == 0;
    return t->arrivals == WORKLOAD_ONCE ? t->n_requests == 0 : !(t->rate_per_s > 0);
}

/* ---- The heap: among equal times the source with the lower index comes first. ---- */

static bool is_before(const struct workload_stream *stream, uint32_t a, uint32_t b)
{
    int64_t x = stream->sources[a].arrives_ns, y = stream->sources[b].arrives_ns;
    return x != y ? x < y : a < b;
}

static void sift_down(struct workload_stream *stream, uint32_t at)
{
    uint32_t source = stream->heap[at];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= stream->n_heap)
            break;
        if (child + 1 < stream->n_heap &&
            is_before(stream, stream->heap[child + 1], stream->heap[child]))
            child++;
        if (!is_before(stream, stream->heap[child], source))
            break;
        stream->heap[at] = stream->heap[child];
        at = child;
    }
    stream->heap[at] = source;
}

/* Advances the first source after its request, and moves it in the heap to where its next one
 * belongs. */
static void advance_first(struct workload_stream *stream)
{
    if (!advance(&stream->sources[stream->heap[0]]))
        stream->heap[0] = stream->heap[--stream->n_heap];
    if (stream->n_heap > 1)
        sift_down(stream, 0);
}

/* ---- The stream. ---- */

/* A source's number selects its random numbers. Services come first, then further sources and
 * replays, then services beyond FURTHER. So the numbers of the others do not depend on the possible
 * number of services. */
enum { FURTHER = 64, BEYOND = 1 << 24 };

static void add_drawn(struct workload_stream *stream, const struct workload_traffic *traffic,
                      uint16_t service, uint32_t index)
{
    const struct workload *w = stream->workload;
    struct workload_source *source = &stream->sources[stream->n_sources];
    if (asks_nothing(traffic))
        return;
    *source = (struct workload_source){ .traffic = traffic, .index = index, .service = service };
    if (traffic->times_ns == NULL)
        workload_draw_begin(&source->clock, traffic, w->seed, index);
    double before = stream->n_sources > 0 ? stream->shares[stream->n_sources - 1] : 0;
    stream->shares[stream->n_sources] = before + traffic->rate_per_s;
    if (advance(source))
        stream->heap[stream->n_heap++] = stream->n_sources++;
}

static void add_replay(struct workload_stream *stream, const struct workload_replay *replay,
                       uint32_t index)
{
    struct workload_source *source = &stream->sources[stream->n_sources];
    *source = (struct workload_source){ .replay = replay, .index = index };
    begin_replay(source);
    if (source->row_begin < source->row_end && advance(source))
        stream->heap[stream->n_heap++] = stream->n_sources++;
}

void workload_begin(struct workload_stream *stream, const struct workload *workload)
{
    uint32_t n_services = (uint32_t)workload->n_services;
    uint32_t n_max = n_services + workload->n_more + workload->n_replays;
    CHECK(workload->run_length <= 1 || workload->n_replays == 0);
    *stream = (struct workload_stream){
        .workload = workload,
        .sources = mem_take(n_max * sizeof(*stream->sources)),
        .heap = mem_take(n_max * sizeof(*stream->heap)),
        .shares = mem_take(n_max * sizeof(*stream->shares)),
    };
    for (uint32_t i = 0; i < n_services; i++)
        add_drawn(stream, &workload->services[i], (uint16_t)i, i < FURTHER ? i : BEYOND + i);
    for (uint32_t i = 0; i < workload->n_more; i++)
        add_drawn(stream, &workload->more[i], workload->more[i].service, FURTHER + i);
    for (uint32_t i = 0; i < workload->n_replays; i++)
        add_replay(stream, &workload->replays[i], FURTHER + workload->n_more + i);
    for (uint32_t i = stream->n_heap / 2; i-- > 0;)
        sift_down(stream, i);
}

void workload_end(struct workload_stream *stream)
{
    mem_give(stream->sources);
    mem_give(stream->heap);
    mem_give(stream->shares);
    *stream = (struct workload_stream){ 0 };
}

/* ---- One request. ---- */

static double dice(const struct workload *w, const struct workload_source *source, uint32_t purpose,
                   uint64_t number)
{
    return rng_unit_of(rng_at(w->seed, workload_dice(source->index, purpose), number));
}

static double normal_dice(const struct workload *w, const struct workload_source *source,
                          uint32_t purpose, uint64_t number)
{
    return workload_draw_normal(dice(w, source, purpose, number) + 0x1p-54);
}

static int32_t draw_noisy_output(const struct workload *w, const struct workload_source *source,
                                 uint64_t number, int32_t n_output)
{
    for (uint64_t i = 0; i < 64; i++) {
        double noise = normal_dice(w, source, WORKLOAD_DICE_OUTPUT, number * 64 + i);
        double n = num_floor(n_output * (1 + w->output_noise * noise) + 0.5);
        if (n >= 1)
            return n < LIMIT_CONTEXT ? (int32_t)n : LIMIT_CONTEXT;
    }
    return 1;
}

/* Draws what every request needs, whether its lengths are drawn or read. */
static void finish(const struct workload *w, const struct workload_source *source, uint64_t number,
                   struct workload_ask *ask)
{
    if (w->prediction_noise >= 0 && ask->n_predicted == 0) {
        double off = w->prediction_noise > 0
                         ? num_exp(w->prediction_noise *
                                   normal_dice(w, source, WORKLOAD_DICE_PREDICTION, number))
                         : 1;
        double n = (double)ask->n_output * off;
        ask->n_predicted = n < LIMIT_CONTEXT ? max_i32((int32_t)n, 1) : LIMIT_CONTEXT;
    }
    if (w->output_noise > 0)
        ask->n_output = draw_noisy_output(w, source, number, ask->n_output);
    if (w->cancelled > 0 && dice(w, source, WORKLOAD_DICE_CANCEL, 2 * number) < w->cancelled)
        ask->cancel_ns =
            ask->arrived_ns +
            (int64_t)(-num_log(1 - dice(w, source, WORKLOAD_DICE_CANCEL, 2 * number + 1)) *
                      (double)w->cancel_ns_mean);
    if (w->with_deadline > 0 && dice(w, source, WORKLOAD_DICE_DEADLINE, number) < w->with_deadline)
        ask->deadline_ns = ask->arrived_ns + w->deadline_ns;
}

static void take_row(const struct workload_source *source, struct workload_ask *ask)
{
    const struct workload_replay *r = source->replay;
    const struct workload_trace_row *row = &r->trace->rows[source->row];
    struct workload_pair pair =
        workload_draw_cut(&r->filter, (struct workload_pair){ row->n_prompt, row->n_output });
    ask->service = r->service_of[row->model];
    ask->tenant = row->tenant;
    ask->priority = row->priority;
    ask->n_prompt = pair.n_prompt;
    ask->n_output = pair.n_output;
    ask->n_predicted = row->n_predicted;
    if (row->deadline_ns != TIME_NEVER)
        ask->deadline_ns = ask->arrived_ns + row->deadline_ns;
    if (row->cancel_ns != TIME_NEVER)
        ask->cancel_ns = ask->arrived_ns + row->cancel_ns;
    if (row->n_prefix > 0) {
        ask->prefix = &r->trace->blocks[row->prefix_at];
        ask->n_prefix = row->n_prefix;
        ask->prefix_tokens = r->trace->prefix_tokens;
    }
}

/* Returns the source of the next run of requests, drawn by its share of the rate. */
static uint32_t source_of_run(struct workload_stream *stream)
{
    const struct workload *w = stream->workload;
    if (stream->run_left == 0) {
        double x = rng_unit_of(rng_at(w->seed, WORKLOAD_DICE_RUNS, stream->n_runs++)) *
                   stream->shares[stream->n_sources - 1];
        uint32_t i = 0;
        while (i + 1 < stream->n_sources && x >= stream->shares[i])
            i++;
        stream->run_source = i;
        stream->run_left = w->run_length;
    }
    stream->run_left--;
    return stream->run_source;
}

bool workload_next(struct workload_stream *stream, struct workload_ask *ask)
{
    const struct workload *w = stream->workload;
    if (stream->n_heap == 0 || stream->next == w->n_requests)
        return false;
    struct workload_source *first = &stream->sources[stream->heap[0]], *source = first;
    if (w->until_ns > 0 && first->arrives_ns >= w->until_ns)
        return false;
    if (w->run_length > 1)
        source = &stream->sources[source_of_run(stream)];
    *ask = (struct workload_ask){
        .number = stream->next++,
        .arrived_ns = first->arrives_ns,
        .cancel_ns = TIME_NEVER,
        .deadline_ns = TIME_NEVER,
    };
    uint64_t number = source->n_lengths++;
    if (source->replay != NULL) {
        take_row(source, ask);
        source->row++;
    } else {
        const struct workload_traffic *t = source->traffic;
        struct workload_pair pair = workload_draw_lengths(t, w->seed, source->index, number);
        ask->service = source->service;
        ask->tenant = t->tenant;
        ask->priority = t->priority;
        ask->n_prompt = pair.n_prompt;
        ask->n_output = pair.n_output;
    }
    finish(w, source, number, ask);
    advance_first(stream);
    return true;
}

/* ---- The whole. ---- */

void workload_tokens(const struct workload *workload, const struct workload_ask *ask, int32_t from,
                     int32_t n, int32_t *tokens)
{
    uint32_t n_named = ask->n_prefix * (uint32_t)ask->prefix_tokens;
    uint64_t bits = 0, drawn = UINT64_MAX;
    for (int32_t i = 0; i < n; i++) {
        uint32_t at = (uint32_t)(from + i);
        if (at < n_named) {
            bits = rng_at(ask->prefix[at / (uint32_t)ask->prefix_tokens],
                          WORKLOAD_DICE_NAMED_TOKENS, at % (uint32_t)ask->prefix_tokens);
            tokens[i] = (int32_t)(bits & 32767);
            continue;
        }
        if (drawn != at / 4) { /* four of one draw */
            drawn = at / 4;
            bits = rng_at(workload->seed, ask->number << 8 | WORKLOAD_DICE_TOKENS, drawn);
        }
        tokens[i] = (int32_t)(bits >> at % 4 * 16 & 32767);
    }
}

static void scale(struct workload_traffic *traffic, double factor)
{
    traffic->rate_per_s *= factor;
    if (traffic->times_ns != NULL)
        traffic->times_speed = (traffic->times_speed > 0 ? traffic->times_speed : 1) * factor;
}

void workload_scale(struct workload *workload, double factor)
{
    CHECK(factor > 0);
    for (int32_t i = 0; i < workload->n_services; i++)
        scale(&workload->services[i], factor);
    for (uint32_t i = 0; i < workload->n_more; i++)
        scale(&workload->more[i], factor);
    for (uint32_t i = 0; i < workload->n_replays; i++) {
        struct workload_replay *r = &workload->replays[i];
        r->speed = (r->speed > 0 ? r->speed : 1) * factor;
    }
}
