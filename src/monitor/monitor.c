/* Measures the present state of services with a ring of bins each. */
#include "monitor/monitor.h"

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

void monitor_bin_arrived(struct monitor_bin *bin, int32_t n_prompt)
{
    bin->n_arrived++;
    add(&bin->prompt, n_prompt);
}

void monitor_bin_ended(struct monitor_bin *bin, const struct monitor_end *end)
{
    double latency_s = (double)end->latency_ns * 1e-9;
    bin->n_failed += !end->is_done;
    bin->n_met += end->is_done && end->is_met;
    bin->n_done += end->is_done;
    if (!end->is_done)
        return; /* its latency and length are not those of an answer */
    add(&bin->output, end->n_output);
    add(&bin->ttft_s, (double)end->ttft_ns * 1e-9);
    if (end->n_output > 1)
        add(&bin->tpot_s, (double)(end->latency_ns - end->ttft_ns) * 1e-9 / (end->n_output - 1));
    add(&bin->latency_s, latency_s);
    bin->latency_s_max = latency_s > bin->latency_s_max ? latency_s : bin->latency_s_max;
    if (end->solo_ns > 0) {
        add(&bin->solo_s, (double)end->solo_ns * 1e-9);
        add(&bin->normalized, (double)end->latency_ns / (double)end->solo_ns);
    }
}

void monitor_arrived(struct monitor *monitor, int32_t service, int64_t now_ns, int32_t n_prompt)
{
    monitor_bin_arrived(open_bin(monitor, service, now_ns), n_prompt);
}

void monitor_ended(struct monitor *monitor, int32_t service, const struct monitor_end *end)
{
    monitor_bin_ended(open_bin(monitor, service, end->now_ns), end);
}

void monitor_add(struct monitor *monitor, int32_t service, int64_t now_ns,
                 const struct monitor_bin *bin)
{
    monitor_bin_merge(open_bin(monitor, service, now_ns), bin);
}

void monitor_profile(struct monitor *monitor, int32_t service, const struct perf *perf)
{
    CHECK(service >= 0 && service < monitor->n_services);
    monitor->services[service].perf = *perf;
}

/* The sums of a bin. */
static const size_t sums[] = {
    offsetof(struct monitor_bin, prompt),     offsetof(struct monitor_bin, output),
    offsetof(struct monitor_bin, ttft_s),     offsetof(struct monitor_bin, tpot_s),
    offsetof(struct monitor_bin, latency_s),  offsetof(struct monitor_bin, solo_s),
    offsetof(struct monitor_bin, normalized),
};

static const struct monitor_sum *sum_of(const struct monitor_bin *bin, size_t i)
{
    return (const void *)((const char *)bin + sums[i]);
}

/* Adds `part` times the other bin: 1, or -1 to take it away. */
static void combine(struct monitor_bin *into, const struct monitor_bin *from, int part)
{
    into->n_arrived += part * from->n_arrived;
    into->n_done += part * from->n_done;
    into->n_failed += part * from->n_failed;
    into->n_met += part * from->n_met;
    for (size_t i = 0; i < COUNT_OF(sums); i++) {
        struct monitor_sum *sum = (void *)((char *)into + sums[i]);
        const struct monitor_sum *other = sum_of(from, i);
        sum->n += part * other->n;
        sum->sum += part * other->sum;
        sum->squares += part * other->squares;
    }
}

void monitor_bin_merge(struct monitor_bin *into, const struct monitor_bin *from)
{
    combine(into, from, 1);
    if (from->latency_s_max > into->latency_s_max)
        into->latency_s_max = from->latency_s_max;
}

/* Sums of seconds may come out a little below zero, since each is rounded. */
static void round_up(struct monitor_bin *bin)
{
    for (size_t i = 0; i < COUNT_OF(sums); i++) {
        struct monitor_sum *sum = (void *)((char *)bin + sums[i]);
        if (sum->n == 0 || sum->sum < 0)
            sum->sum = 0;
        if (sum->n == 0 || sum->squares < 0)
            sum->squares = 0;
    }
}

bool monitor_bin_since(const struct monitor_bin *now, const struct monitor_bin *before,
                       struct monitor_bin *out)
{
    *out = *now;
    combine(out, before, -1);
    round_up(out);
    return monitor_bin_is_valid(out);
}

bool monitor_bin_is_valid(const struct monitor_bin *bin)
{
    const int64_t n_max = INT64_C(1) << 50;
    const double most = 1e30;
    bool is_valid = bin->n_arrived >= 0 && bin->n_arrived <= n_max && bin->n_done >= 0 &&
                    bin->n_done <= n_max && bin->n_failed >= 0 && bin->n_failed <= n_max &&
                    bin->n_met >= 0 && bin->n_met <= bin->n_done && bin->latency_s_max >= 0 &&
                    bin->latency_s_max <= most;
    for (size_t i = 0; i < COUNT_OF(sums); i++) {
        const struct monitor_sum *sum = sum_of(bin, i);
        is_valid = is_valid && sum->n >= 0 && sum->n <= n_max && sum->sum >= 0 &&
                   sum->sum <= most && sum->squares >= 0 && sum->squares <= most;
    }
    return is_valid;
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
    for (int i = 0; i < MONITOR_BINS; i++)
        monitor_bin_merge(&all, &s->bins[i]);
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
        .tpot_s = mean_of(&all.tpot_s),
        .latency_s = mean_of(&all.latency_s),
        .normalized = mean_of(&all.normalized),
        .solo_s = mean_of(&all.solo_s),
        .latency_s_max = all.latency_s_max,
        .attainment = n_ended > 0 ? (double)all.n_met / (double)n_ended : 1,
        .perf = s->perf,
    };
    out->rate = out->window_s > 0 ? (double)all.n_arrived / out->window_s : 0;
}
