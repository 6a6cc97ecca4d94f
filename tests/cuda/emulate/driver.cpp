/* The emulated GPU behind cuda/driver.h.
 *
 * Nothing runs until a thread waits for an event. Then operations are taken from streams in a
 * seeded order, until the event is over, and no longer. So a copy reads and writes late, and
 * streams overtake each other wherever events allow it. The host's access to device memory faults,
 * except while a thread waits, and after three of four waits. */
#include "emulate/fiber.h"

#define _Noreturn [[noreturn]]
extern "C" {
#include "cuda/driver.h"
}
#include "emulate/control.h"
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <signal.h>
#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

using namespace emulate;

enum op_kind { OP_LAUNCH, OP_COPY, OP_FILL, OP_RECORD, OP_FOLLOW };
struct op {
    op_kind kind;
    std::shared_ptr<const emulate::call> call;
    void *to;
    const void *from;
    size_t n_bytes;
    unsigned char byte;
    cuda_event *event;
    uint64_t ticket; /* which recording of the event */
};
struct cuda_graph {
    std::vector<op> ops;
};
struct cuda_stream {
    std::deque<op> ops;
    cuda_graph *capture;
    cuda_partition *partition;
};
struct cuda_event {
    uint64_t n_recorded, n_over;
};
struct cuda_partition {
    uint64_t units; /* a bit each */
};
struct cuda_driver {
    cuda_driver_info info;
    int n_events, n_graphs, n_partitions;
    uint64_t units; /* of open partitions */
};

enum : size_t { GRANULE = 64 << 10, RANGES_AT = (size_t)1 << 30 };
enum { GARBAGE = 0x3A, NODE_BYTES = 4096 }; /* the memory that an operation of a graph takes */

namespace
{
struct extent {
    unsigned char *at;
    size_t n_bytes;
};
struct gpu {
    std::mutex mutex;
    std::condition_variable is_free;
    bool is_busy; /* a thread runs an operation */
    int n_waiting;
    bool is_open;          /* the host can touch device memory */
    unsigned n_last_waits; /* of a thread after which none waits */
    std::vector<cuda_stream *> streams;
    std::vector<extent> ranges, mapped, runs, pinned; /* runs: mapped ones, joined */
    size_t mapped_bytes, bytes_max = (size_t)3 << 30;
    int n_open; /* of this process, as often as it was opened */
    std::thread::id capturer;
    bool is_lost;
    int64_t n_until_lost = -1, n_until_refused = -1;
    uint64_t random_state = 1;
};
gpu g;
using guard = std::unique_lock<std::mutex>;
} // namespace

/* ---- Memory. ---- */

static bool has(const std::vector<extent> &all, const void *p, size_t n_bytes)
{
    for (const extent &e : all)
        if ((const unsigned char *)p >= e.at &&
            (const unsigned char *)p + n_bytes <= e.at + e.n_bytes)
            return true;
    return false;
}

static bool is_device(const void *p)
{
    return (size_t)((const unsigned char *)p - arena()) < ARENA_BYTES;
}

static void protect(const extent &e, int access)
{
    if (mprotect(e.at, e.n_bytes, access) != 0) {
        perror("emulate: mprotect");
        abort();
    }
}

static void join_mapped()
{
    std::sort(g.mapped.begin(), g.mapped.end(),
              [](const extent &a, const extent &b) { return a.at < b.at; });
    g.runs.clear();
    for (const extent &e : g.mapped) {
        if (!g.runs.empty() && g.runs.back().at + g.runs.back().n_bytes == e.at)
            g.runs.back().n_bytes += e.n_bytes;
        else
            g.runs.push_back(e);
    }
}

static void open_memory(bool is_open)
{
    if (g.is_open == is_open)
        return;
    g.is_open = is_open;
    for (const extent &e : g.runs)
        protect(e, is_open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

/* A wait is over. Memory is closed after every fourth one alone, since that takes its time. */
static void close_memory()
{
    if (--g.n_waiting == 0 && g.n_last_waits++ % 4 == 0)
        open_memory(false);
}

static void complain(const std::string &what)
{
    report("driver: " + what);
}

/* Most calls are forbidden to a thread that captures. */
static void check_capture(const char *name)
{
    if (g.capturer == std::this_thread::get_id())
        complain(std::string(name) + " was called during a capture");
}

unsigned char *cuda_driver_reserve(struct cuda_driver *, int64_t n_bytes)
{
    guard lock(g.mutex);
    check_capture("reserve");
    if (n_bytes <= 0 || n_bytes % (int64_t)GRANULE != 0)
        complain("reserve: the size is no multiple of the granule");
    unsigned char *at = arena() + RANGES_AT;
    std::sort(g.ranges.begin(), g.ranges.end(),
              [](const extent &a, const extent &b) { return a.at < b.at; });
    for (const extent &e : g.ranges) /* first fit; a granule lies between neighbours */
        if ((size_t)(e.at - at) < (size_t)n_bytes + GRANULE)
            at = e.at + e.n_bytes + GRANULE;
    const size_t left = (size_t)(arena() + ARENA_BYTES - at);
    if (left < GRANULE || (size_t)n_bytes > left - GRANULE || g.is_lost)
        return nullptr;
    g.ranges.push_back({ at, (size_t)n_bytes });
    return at;
}

static bool take_out(std::vector<extent> *all, const void *at, size_t n_bytes)
{
    for (size_t i = 0; i < all->size(); i++)
        if ((*all)[i].at == at && (n_bytes == 0 || (*all)[i].n_bytes == n_bytes)) {
            all->erase(all->begin() + (ptrdiff_t)i);
            return true;
        }
    return false;
}

void cuda_driver_release(struct cuda_driver *, unsigned char *base, int64_t n_bytes)
{
    guard lock(g.mutex);
    if (base == nullptr)
        return;
    for (const extent &e : g.mapped)
        if (e.at >= base && e.at < base + n_bytes)
            complain("release: memory is still mapped in the range");
    if (!take_out(&g.ranges, base, (size_t)n_bytes))
        complain("release: this is no reserved range");
}

bool cuda_driver_map(struct cuda_driver *, unsigned char *at, int64_t n_bytes)
{
    guard lock(g.mutex);
    const extent e = { at, (size_t)n_bytes };
    check_capture("map");
    counts.n_maps++;
    if (n_bytes <= 0 || n_bytes % (int64_t)GRANULE != 0 || (uintptr_t)at % GRANULE != 0 ||
        !has(g.ranges, at, e.n_bytes))
        complain("map: not granules of a reserved range");
    for (const extent &m : g.mapped)
        if (at < m.at + m.n_bytes && m.at < at + n_bytes)
            complain("map: there is memory already");
    if (g.is_lost || e.n_bytes > g.bytes_max - g.mapped_bytes)
        return false;
    protect(e, PROT_READ | PROT_WRITE);
    memset(at, 0xFF, e.n_bytes);
    if (g.n_waiting == 0) {
        open_memory(false);
        protect(e, PROT_NONE);
    }
    g.mapped.push_back(e);
    g.mapped_bytes += e.n_bytes;
    join_mapped();
    return true;
}

void cuda_driver_unmap(struct cuda_driver *, unsigned char *at, int64_t n_bytes)
{
    guard lock(g.mutex);
    check_capture("unmap");
    if (!take_out(&g.mapped, at, (size_t)n_bytes)) {
        complain("unmap: not what one call of map put there");
        return;
    }
    g.mapped_bytes -= (size_t)n_bytes;
    join_mapped();
    madvise(at, (size_t)n_bytes, MADV_DONTNEED);
    protect({ at, (size_t)n_bytes }, PROT_NONE);
}

bool cuda_driver_pin(struct cuda_driver *, void *p, int64_t n_bytes)
{
    guard lock(g.mutex);
    check_capture("pin");
    counts.n_pins++;
    if (p == nullptr || n_bytes <= 0)
        complain("pin: no memory");
    if (g.is_lost)
        return false;
    g.pinned.push_back({ (unsigned char *)p, (size_t)n_bytes });
    return true;
}

void cuda_driver_unpin(struct cuda_driver *, void *p)
{
    guard lock(g.mutex);
    if (!take_out(&g.pinned, p, 0))
        complain("unpin: this is no pinned memory");
}

/* ---- Operations. ---- */

/* Empty, or what is wrong with this end of a copy. */
static std::string trouble_with(const void *p, size_t n_bytes)
{
    if (is_device(p) && !has(g.runs, p, n_bytes) &&
        (size_t)((const unsigned char *)p - arena()) >= RANGES_AT)
        return "a copy from or to device memory that is not mapped";
    if (!is_device(p) && !has(g.pinned, p, n_bytes))
        return "a copy from or to host memory that is not pinned";
    return "";
}

static void execute(const op &o)
{
    switch (o.kind) {
    case OP_LAUNCH:
        run(*o.call);
        break;
    case OP_COPY:
        memcpy(o.to, o.from, o.n_bytes);
        break;
    case OP_FILL:
        memset(o.to, o.byte, o.n_bytes);
        break;
    case OP_RECORD:
        o.event->n_over = std::max(o.event->n_over, o.ticket);
        break;
    case OP_FOLLOW:
        break;
    }
}

static std::string trouble_of(const op &o)
{
    std::string trouble;
    if (o.kind == OP_COPY)
        trouble = trouble_with(o.from, o.n_bytes);
    if ((o.kind == OP_COPY || o.kind == OP_FILL) && trouble.empty())
        trouble = trouble_with(o.to, o.n_bytes);
    return trouble;
}

static bool is_ready(const cuda_stream *s)
{
    if (s->ops.empty())
        return false;
    const op &o = s->ops.front();
    return o.kind != OP_FOLLOW || o.event->n_over >= o.ticket;
}

static uint64_t roll(uint64_t n)
{
    g.random_state = g.random_state * 6364136223846793005u + 1442695040888963407u;
    return (g.random_state >> 33) % n;
}

static void lose()
{
    g.is_lost = true;
    for (cuda_stream *s : g.streams)
        s->ops.clear();
}

/* Runs one operation of any stream. False: there is none that can run. */
static bool step(guard &lock)
{
    std::vector<cuda_stream *> ready;
    for (cuda_stream *s : g.streams)
        if (is_ready(s))
            ready.push_back(s);
    if (ready.empty())
        return false;
    cuda_stream *s = ready[roll(ready.size())];
    const op o = s->ops.front();
    s->ops.pop_front();
    if (g.n_until_lost == 0) {
        lose();
        return true;
    }
    if (g.n_until_lost > 0)
        g.n_until_lost--;
    const std::string trouble = trouble_of(o);
    if (!trouble.empty()) {
        complain(trouble);
        return true;
    }
    g.is_busy = true;
    lock.unlock();
    execute(o);
    lock.lock();
    g.is_busy = false;
    g.is_free.notify_all();
    return true;
}

/* Runs operations until is_over() says so. */
template <class F> static bool run_until(F is_over)
{
    guard lock(g.mutex);
    check_capture("wait");
    if (g.n_waiting++ == 0)
        open_memory(true);
    while (!g.is_lost && !is_over()) {
        if (g.is_busy)
            g.is_free.wait(lock);
        else if (!step(lock)) {
            complain("a wait for an event that no stream will reach");
            break;
        }
    }
    close_memory();
    return !g.is_lost;
}

static bool enqueue(cuda_stream *s, op o)
{
    guard lock(g.mutex);
    if (g.is_lost)
        return false;
    const std::string trouble = trouble_of(o);
    if (!trouble.empty()) {
        complain(trouble);
        return false;
    }
    if (s->capture != nullptr) {
        if (o.kind == OP_RECORD || o.kind == OP_FOLLOW)
            complain("events in a capture are not emulated");
        s->capture->ops.push_back(std::move(o));
        return true;
    }
    if (o.kind == OP_COPY && !is_device(o.to))
        memset(o.to, GARBAGE, o.n_bytes); /* what it holds until the copy is over */
    s->ops.push_back(std::move(o));
    return true;
}

bool emulate::submit(cuda_stream *stream, const emulate::call *c)
{
    const std::shared_ptr<const emulate::call> owner(c);
    const std::string refusal = refusal_of(c->shape);
    {
        guard lock(g.mutex);
        if (g.n_until_refused >= 0 && g.n_until_refused-- == 0)
            return false;
    }
    if (!refusal.empty()) {
        report(refusal);
        return false;
    }
    if (stream != nullptr)
        return enqueue(stream, { OP_LAUNCH, owner, nullptr, nullptr, 0, 0, nullptr, 0 });
    guard lock(g.mutex);
    while (g.is_busy)
        g.is_free.wait(lock);
    if (g.n_waiting++ == 0)
        open_memory(true);
    bool is_well = run(*c);
    close_memory();
    return is_well;
}

bool cuda_driver_copy(struct cuda_driver *, struct cuda_stream *stream, void *to, const void *from,
                      int64_t n_bytes)
{
    if (n_bytes == 0)
        return true;
    return enqueue(stream, { OP_COPY, nullptr, to, from, (size_t)n_bytes, 0, nullptr, 0 });
}

bool cuda_driver_fill(struct cuda_driver *, struct cuda_stream *stream, void *to,
                      unsigned char byte, int64_t n_bytes)
{
    if (n_bytes == 0)
        return true;
    if (!is_device(to))
        complain("fill: this is no device memory");
    return enqueue(stream, { OP_FILL, nullptr, to, nullptr, (size_t)n_bytes, byte, nullptr, 0 });
}

/* ---- Streams, events, graphs. ---- */

struct cuda_partition *cuda_driver_partition_open(struct cuda_driver *driver, int32_t first_unit,
                                                  int32_t n_units)
{
    guard lock(g.mutex);
    check_capture("partition_open");
    if (first_unit < 0 || n_units < 1 || first_unit + n_units > driver->info.n_units) {
        complain("partition_open: the GPU has no such units");
        return nullptr;
    }
    const uint64_t units = ((1ull << n_units) - 1) << first_unit;
    if (driver->units & units) {
        complain("partition_open: partitions overlap");
        return nullptr;
    }
    if (g.is_lost)
        return nullptr;
    driver->units |= units;
    driver->n_partitions++;
    return new cuda_partition{ units };
}

void cuda_driver_partition_close(struct cuda_driver *driver, struct cuda_partition *partition)
{
    guard lock(g.mutex);
    if (partition == nullptr)
        return;
    for (const cuda_stream *s : g.streams)
        if (s->partition == partition)
            complain("partition_close: a stream is still open");
    driver->units &= ~partition->units;
    driver->n_partitions--;
    delete partition;
}

struct cuda_stream *cuda_driver_stream_open(struct cuda_driver *, struct cuda_partition *partition)
{
    guard lock(g.mutex);
    counts.n_opens++;
    check_capture("stream_open");
    if (g.is_lost)
        return nullptr;
    cuda_stream *s = new cuda_stream();
    s->partition = partition;
    g.streams.push_back(s);
    return s;
}

void cuda_driver_stream_close(struct cuda_driver *, struct cuda_stream *stream)
{
    if (stream == nullptr)
        return;
    run_until([&] { return stream->ops.empty(); });
    guard lock(g.mutex);
    g.streams.erase(std::find(g.streams.begin(), g.streams.end(), stream));
    delete stream;
}

struct cuda_event *cuda_driver_event_open(struct cuda_driver *driver)
{
    guard lock(g.mutex);
    check_capture("event_open");
    counts.n_opens++;
    if (g.is_lost)
        return nullptr;
    driver->n_events++;
    return new cuda_event();
}

void cuda_driver_event_close(struct cuda_driver *driver, struct cuda_event *event)
{
    guard lock(g.mutex);
    if (event == nullptr)
        return;
    if (event->n_over < event->n_recorded && !g.is_lost)
        complain("event_close: the event is not over");
    driver->n_events--;
    delete event;
}

bool cuda_driver_record(struct cuda_driver *, struct cuda_event *event, struct cuda_stream *stream)
{
    return enqueue(stream,
                   { OP_RECORD, nullptr, nullptr, nullptr, 0, 0, event, ++event->n_recorded });
}

bool cuda_driver_follow(struct cuda_driver *, struct cuda_stream *stream, struct cuda_event *event)
{
    return enqueue(stream,
                   { OP_FOLLOW, nullptr, nullptr, nullptr, 0, 0, event, event->n_recorded });
}

bool cuda_driver_wait(struct cuda_driver *, struct cuda_event *event)
{
    const uint64_t ticket = event->n_recorded;
    {
        guard lock(g.mutex);
        counts.n_waits++;
    }
    return run_until([&] { return event->n_over >= ticket; });
}

bool cuda_driver_capture(struct cuda_driver *driver, struct cuda_stream *stream)
{
    guard lock(g.mutex);
    check_capture("capture");
    if (g.is_lost)
        return false;
    stream->capture = new cuda_graph();
    g.capturer = std::this_thread::get_id();
    driver->n_graphs++;
    return true;
}

struct cuda_graph *cuda_driver_captured(struct cuda_driver *, struct cuda_stream *stream)
{
    guard lock(g.mutex);
    cuda_graph *graph = stream->capture;
    if (graph == nullptr)
        complain("captured: the stream captures nothing");
    stream->capture = nullptr;
    g.capturer = std::thread::id();
    counts.n_captures++;
    g.mapped_bytes += graph != nullptr ? graph->ops.size() * NODE_BYTES : 0;
    return graph;
}

bool cuda_driver_replay(struct cuda_driver *, struct cuda_graph *graph, struct cuda_stream *stream)
{
    bool is_well = true;
    counts.n_replays++;
    for (const op &o : graph->ops)
        is_well = enqueue(stream, o) && is_well;
    return is_well;
}

void cuda_driver_graph_close(struct cuda_driver *driver, struct cuda_graph *graph)
{
    guard lock(g.mutex);
    if (graph == nullptr)
        return;
    driver->n_graphs--;
    g.mapped_bytes -= graph->ops.size() * NODE_BYTES;
    delete graph;
}

/* ---- The GPU. ---- */

/* The sentence of an access to GPU memory that is not mapped, or that is not the host's; then the
 * process ends as it would without it. */
static void say_where(int, siginfo_t *info, void *)
{
    static const char sentence[] = "emulate: an access to GPU memory that is not mapped, or that "
                                   "the host may not touch\n";
    if (is_device(info->si_addr) && write(2, sentence, sizeof sentence - 1) < 0)
        abort();
    signal(SIGSEGV, SIG_DFL);
}

static void watch_accesses()
{
    struct sigaction now = {}, wanted = {};
    if (sigaction(SIGSEGV, nullptr, &now) != 0 || now.sa_handler != SIG_DFL)
        return; /* a sanitizer's own */
    wanted.sa_sigaction = say_where;
    wanted.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &wanted, nullptr);
}

/* The emulated GPU, as it is before it is opened. EMULATED_GPUS=0: the machine has none. */
int32_t cuda_driver_count(struct fault *fault)
{
    const char *n = getenv("EMULATED_GPUS");
    if (n == nullptr || strcmp(n, "0") != 0)
        return 1;
    (void)fault_set(fault, STATUS_UNSUPPORTED, "this machine has no GPU");
    return 0;
}

bool cuda_driver_look(int32_t index, struct cuda_driver_info *info)
{
    *info = cuda_driver_info();
    snprintf(info->name, sizeof info->name, "emulated GPU");
    snprintf(info->bus, sizeof info->bus, "0000:3B:00.0");
    info->major = 8;
    info->n_processors = 13; /* the last fills no unit */
    info->memory_bytes = (int64_t)g.bytes_max;
    return index == 0;
}

enum status cuda_driver_open(int32_t index, struct cuda_driver **out, struct fault *fault)
{
    guard lock(g.mutex);
    if (index != 0)
        return fault_set(fault, STATUS_UNSUPPORTED, "there is no GPU %d, only 1 is there",
                         (int)index);
    watch_accesses();
    if (g.n_open++ == 0) {
        g.is_lost = false;
        g.n_until_lost = -1;
    }
    *out = new cuda_driver();
    cuda_driver_info *info = &(*out)->info;
    (void)cuda_driver_look(index, info);
    info->n_units = 6;
    info->unit_processors = 2;
    info->context_bytes = 1 << 20;
    info->granule_bytes = GRANULE;
    return STATUS_OK;
}

/* All that was opened must have been closed. */
void cuda_driver_close(struct cuda_driver *driver)
{
    guard lock(g.mutex);
    if (--g.n_open > 0) {
        delete driver;
        return;
    }
    if (!g.mapped.empty() || !g.ranges.empty() || !g.pinned.empty() || !g.streams.empty() ||
        driver->n_events != 0 || driver->n_graphs != 0 || driver->n_partitions != 0)
        complain("close: " + std::to_string(g.mapped.size()) + " pieces of memory, " +
                 std::to_string(g.ranges.size()) + " ranges, " + std::to_string(g.pinned.size()) +
                 " pinned pieces, " + std::to_string(g.streams.size()) + " streams, " +
                 std::to_string(driver->n_events) + " events, " +
                 std::to_string(driver->n_partitions) + " partitions and " +
                 std::to_string(driver->n_graphs) + " graphs are still open");
    delete driver;
}

const struct cuda_driver_info *cuda_driver_describe(const struct cuda_driver *driver)
{
    return &driver->info;
}

void cuda_driver_enter(struct cuda_driver *)
{
}

static const char *library_path;

void emulate_library(const char *path)
{
    library_path = path;
}

void *cuda_driver_open_library(struct cuda_driver *, const char *)
{
    return library_path != nullptr ? dlopen(library_path, RTLD_NOW | RTLD_LOCAL) : nullptr;
}

bool cuda_driver_is_lost(struct cuda_driver *)
{
    guard lock(g.mutex);
    return g.is_lost;
}

void emulate_seed_streams(uint64_t seed)
{
    guard lock(g.mutex);
    g.random_state = seed;
}

void emulate_lose(int64_t n_ops)
{
    guard lock(g.mutex);
    g.n_until_lost = n_ops;
}

void emulate_refuse_launch(int64_t n_launches)
{
    guard lock(g.mutex);
    g.n_until_refused = n_launches;
}

void emulate_limit_memory(size_t n_bytes)
{
    guard lock(g.mutex);
    g.bytes_max = n_bytes;
}

size_t emulate_mapped_bytes(void)
{
    guard lock(g.mutex);
    return g.mapped_bytes;
}
