/* Measures the present state of services with a ring of bins each. */
#include "place/monitor.h"

#include "base/num.h"

void monitor_init(struct monitor *monitor, struct monitor_service *services, int32_t n_services,
                  int64_t bin_ns, int64_t now_ns)
{
    CHECK(bin_ns > 0 && n_services >= 0);
    *monitor = (struct monitor){
        .bin_ns = bin_ns, .begin_ns = now_ns, .n_services = n_services, .services = services
    };
    for (int32_t i = 0; i < n_services; i++)
        services[i] = (struct monitor_service){ .perf = { 0 } };
}

/* Opens the bin of now, and clears those between. */
static void go_to(struct monitor *monitor, int64_t now_ns)
{
    int64_t bin = max_i64(0, now_ns - monitor->begin_ns) / monitor->bin_ns;
    int64_t n = min_i64(bin - monitor->bin, MONITOR_BINS);
    for (int64_t k = 0; k < n; k++)
        for (int32_t s = 0; s < monitor->n_services; s++)
            monitor->services[s].bins[(bin - k) % MONITOR_BINS] = (struct monitor_bin){ 0 };
    monitor->bin = max_i64(monitor->bin, bin);
}

static struct monitor_bin *open_bin(struct monitor *monitor, int32_t service, int64_t now_ns)
{
    CHECK(service >= 0 && service < monitor->n_services);
    go_to(monitor, now_ns);
    return &monitor->services[service].bins[monitor->bin % MONITOR_BINS];
}

static void add(struct monitor_sum *sum, double value)
{
    sum->n++;
    sum->sum += value;
    sum->squares += value * value;
}

void monitor_arrived(struct monitor *monitor, int32_t service, int64_t now_ns, int32_t n_prompt)
{
    struct monitor_bin *bin = open_bin(monitor, service, now_ns);
    bin->n_arrived++;
    add(&bin->prompt, n_prompt);
}

void monitor_ended(struct monitor *monitor, int32_t service, const struct monitor_end *end)
{
    struct monitor_bin *bin = open_bin(monitor, service, end->now_ns);
    double latency_s = (double)end->latency_ns * 1e-9;
    bin->n_failed += !end->is_done;
    bin->n_met += end->is_done && end->is_met;
    bin->n_done += end->is_done;
    if (!end->is_done)
        return; /* its latency and length are not those of an answer */
    add(&bin->output, end->n_output);
    add(&bin->ttft_s, (double)end->ttft_ns * 1e-9);
    add(&bin->latency_s, latency_s);
    bin->latency_s_max = latency_s > bin->latency_s_max ? latency_s : bin->latency_s_max;
    if (end->solo_ns > 0) {
        add(&bin->solo_s, (double)end->solo_ns * 1e-9);
        add(&bin->normalized, (double)end->latency_ns / (double)end->solo_ns);
    }
}

void monitor_profile(struct monitor *monitor, int32_t service, const struct perf *perf)
{
    CHECK(service >= 0 && service < monitor->n_services);
    monitor->services[service].perf = *perf;
}

static void merge(struct monitor_sum *into, const struct monitor_sum *from)
{
    into->n += from->n;
    into->sum += from->sum;
    into->squares += from->squares;
}

static struct monitor_mean mean_of(const struct monitor_sum *sum)
{
    if (sum->n == 0)
        return (struct monitor_mean){ 0 };
    double mean = sum->sum / (double)sum->n;
    double variance = sum->squares / (double)sum->n - mean * mean;
    return (struct monitor_mean){ sum->n, mean, variance > 0 ? num_sqrt(variance) : 0 };
}

void monitor_read(struct monitor *monitor, int32_t service, int64_t now_ns,
                  struct monitor_reading *out)
{
    struct monitor_bin all = { 0 };
    (void)open_bin(monitor, service, now_ns);
    const struct monitor_service *s = &monitor->services[service];
    for (int i = 0; i < MONITOR_BINS; i++) {
        const struct monitor_bin *bin = &s->bins[i];
        all.n_arrived += bin->n_arrived;
        all.n_done += bin->n_done;
        all.n_failed += bin->n_failed;
        all.n_met += bin->n_met;
        merge(&all.prompt, &bin->prompt);
        merge(&all.output, &bin->output);
        merge(&all.ttft_s, &bin->ttft_s);
        merge(&all.latency_s, &bin->latency_s);
        merge(&all.normalized, &bin->normalized);
        merge(&all.solo_s, &bin->solo_s);
        all.latency_s_max =
            bin->latency_s_max > all.latency_s_max ? bin->latency_s_max : all.latency_s_max;
    }
    int64_t since_ns =
        monitor->begin_ns + max_i64(0, monitor->bin - MONITOR_BINS + 1) * monitor->bin_ns;
    int64_t n_ended = all.n_done + all.n_failed;
    *out = (struct monitor_reading){
        .window_s = (double)(now_ns - since_ns) * 1e-9,
        .n_done = all.n_done,
        .n_failed = all.n_failed,
        .prompt = mean_of(&all.prompt),
        .output = mean_of(&all.output),
        .ttft_s = mean_of(&all.ttft_s),
        .latency_s = mean_of(&all.latency_s),
        .normalized = mean_of(&all.normalized),
        .solo_s = mean_of(&all.solo_s),
        .latency_s_max = all.latency_s_max,
        .attainment = n_ended > 0 ? (double)all.n_met / (double)n_ended : 1,
        .perf = s->perf,
    };
    out->rate = out->window_s > 0 ? (double)all.n_arrived / out->window_s : 0;
}
