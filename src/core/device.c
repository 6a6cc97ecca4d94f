/* Devices as people write them: "cpu", "cpu:0-1", "cpu:0,2,4-7", "cuda:0". */
#include "core/device.h"

#include "core/limits.h"
#include <stdio.h>
#include <string.h>

/* Reads a core's number and moves *text behind it. Returns -1 when there is no number below
 * n_cores_max. */
static int32_t core_read(const char **text, int n_cores_max)
{
    const char *p = *text;
    int64_t core = 0;
    if (*p < '0' || *p > '9')
        return -1;
    for (; *p >= '0' && *p <= '9' && core < n_cores_max; p++)
        core = core * 10 + (*p - '0');
    *text = p;
    return core < n_cores_max ? (int32_t)core : -1;
}

/* Marks the cores that "0,2,4-7" names. Returns false when the list is malformed or names a missing
 * core. */
static bool cores_read(const char *list, int n_cores_max, bool chosen[DEVICE_CORES_MAX])
{
    for (;; list++) {
        int32_t first = core_read(&list, n_cores_max), last = first;
        if (*list == '-') {
            list++;
            last = core_read(&list, n_cores_max);
        }
        if (first < 0 || last < first)
            return false;
        for (int32_t core = first; core <= last; core++)
            chosen[core] = true;
        if (*list != ',')
            return *list == '\0';
    }
}

static enum status gpu_parse(const char *text, struct device_spec *out, struct fault *fault)
{
    const char *rest = text + 5;
    out->kind = DEVICE_CUDA;
    out->n_cores = 1;
    out->cores[0] = text[4] == ':' ? core_read(&rest, LIMIT_DEVICES) : -1;
    if (out->cores[0] < 0 || *rest != '\0')
        return fault_set(fault, STATUS_BAD_INPUT,
                         "device %.60s: expected cuda: and a GPU from 0 to %d, as in cuda:0", text,
                         LIMIT_DEVICES - 1);
    return STATUS_OK;
}

static enum status cpu_parse(const char *text, int n_cores_max, struct device_spec *out,
                             struct fault *fault)
{
    int n_max = min_i32(n_cores_max, DEVICE_CORES_MAX);
    bool chosen[DEVICE_CORES_MAX] = { false };
    if (strncmp(text, "cpu", 3) != 0 || (text[3] != '\0' && text[3] != ':'))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "device %.60s: expected cpu, cpu: and cores, as in cpu:0-1, cuda:0, or a "
                         "group, as in group(cpu:0,cpu:1)",
                         text);
    if (text[3] == '\0')
        memset(chosen, true, (size_t)n_max);
    else if (!cores_read(text + 4, n_max, chosen))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "device %.60s: expected cores from 0 to %d, as in cpu:0-1 or cpu:0,2",
                         text, n_max - 1);
    for (int32_t core = 0; core < n_max; core++)
        if (chosen[core])
            out->cores[out->n_cores++] = core;
    return STATUS_OK;
}

/* Reads the number of layers behind a rank's "=", and cuts it off. Returns 0 if there is no "=",
 * and -1 if there is no number from 1 to LIMIT_LAYERS behind it. */
static int32_t layers_cut(char *text)
{
    char *p = strchr(text, '=');
    int32_t n = 0;
    if (p == NULL)
        return 0;
    *p++ = '\0';
    if (*p == '\0')
        return -1;
    for (; *p >= '0' && *p <= '9' && n <= LIMIT_LAYERS; p++)
        n = n * 10 + (*p - '0');
    return *p == '\0' && n >= 1 && n <= LIMIT_LAYERS ? n : -1;
}

/* Adds the cores of a rank, which no other rank has, and its layers. */
static enum status rank_add(char *text, int n_cores_max, struct device_spec *out,
                            struct fault *fault)
{
    int32_t n_layers = layers_cut(text);
    int32_t before = out->n_cores;
    bool is_taken[DEVICE_CORES_MAX] = { false };
    if (out->n_ranks == DEVICE_RANKS_MAX)
        return fault_set(fault, STATUS_BAD_INPUT, "a group has at most %d devices",
                         DEVICE_RANKS_MAX);
    for (int32_t i = 0; i < before; i++)
        is_taken[out->cores[i]] = true;
    if (n_layers < 0 || (out->n_ranks > 0 && (n_layers > 0) != (out->rank_layers[0] > 0)))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "group: %.60s: expected 1 to %d layers behind the = of each device, or "
                         "none behind any",
                         text, LIMIT_LAYERS);
    struct device_spec rank = { .kind = DEVICE_CPU };
    enum status status = cpu_parse(text, n_cores_max, &rank, fault);
    if (status != STATUS_OK)
        return status;
    for (int32_t i = 0; i < rank.n_cores; i++) {
        if (is_taken[rank.cores[i]])
            return fault_set(fault, STATUS_BAD_INPUT,
                             "group: core %d is in two of its devices: give each its own cores",
                             rank.cores[i]);
        out->cores[out->n_cores++] = rank.cores[i];
    }
    out->rank_layers[out->n_ranks] = n_layers;
    out->rank_cores[out->n_ranks++] = rank.n_cores;
    return STATUS_OK;
}

/* Parses "group(cpu:0,2,cpu:1,3)": a device begins where a name does, not at each comma. */
static enum status group_parse(const char *text, int n_cores_max, struct device_spec *out,
                               struct fault *fault)
{
    enum { TEXT_MAX = 6144 }; /* all cores, one by one */
    char rank[TEXT_MAX];
    enum status status = STATUS_OK;
    const char *p = text + strlen("group("), *end = strchr(p, ')');
    if (end == NULL || end[1] != '\0' || end - text >= TEXT_MAX)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "device %.60s: expected a group of CPU devices, as in group(cpu:0,cpu:1)",
                         text);
    while (status == STATUS_OK && p < end) {
        const char *next = strstr(p, ",cpu");
        if (next == NULL || next > end)
            next = end;
        memcpy(rank, p, (size_t)(next - p));
        rank[next - p] = '\0';
        status = strncmp(rank, "cuda", 4) == 0
                     ? fault_set(fault, STATUS_UNSUPPORTED,
                                 "device %.60s: groups of GPUs are not supported: name each GPU as "
                                 "a device of its own",
                                 text)
                     : rank_add(rank, n_cores_max, out, fault);
        p = next + (next < end);
    }
    if (status == STATUS_OK && out->n_ranks < 2)
        status = fault_set(fault, STATUS_BAD_INPUT, "device %.60s: a group has at least 2 devices",
                           text);
    return status;
}

enum status device_parse(const char *text, int n_cores_max, struct device_spec *out,
                         struct fault *fault)
{
    CHECK(n_cores_max > 0);
    *out = (struct device_spec){ .kind = DEVICE_CPU };
    if (strncmp(text, "cuda", 4) == 0)
        return gpu_parse(text, out, fault);
    if (strncmp(text, "group(", 6) == 0)
        return group_parse(text, n_cores_max, out, fault);
    return cpu_parse(text, n_cores_max, out, fault);
}

void device_rank(const struct device_spec *group, int32_t rank, struct device_spec *out)
{
    int32_t first = 0;
    CHECK(rank >= 0 && rank < group->n_ranks);
    for (int32_t i = 0; i < rank; i++)
        first += group->rank_cores[i];
    *out = *group;
    out->n_ranks = 0;
    memset(out->rank_layers, 0, sizeof(out->rank_layers));
    out->n_cores = group->rank_cores[rank];
    memmove(out->cores, group->cores + first, (size_t)out->n_cores * sizeof(*out->cores));
}

void device_divide(int32_t n_cores, const int32_t *shares, int n_shares, int32_t *parts)
{
    int64_t sum = 0, n_all = n_cores;
    int32_t n_left = n_cores - n_shares;
    for (int i = 0; i < n_shares; i++) {
        sum += shares[i];
        parts[i] = 1;
    }
    for (; n_left > 0; n_left--) { /* to the share that lacks most of its part */
        int best = 0;
        for (int i = 1; i < n_shares; i++)
            if (shares[i] * n_all - parts[i] * sum > shares[best] * n_all - parts[best] * sum)
                best = i;
        parts[best]++;
    }
}

/* Appends "cpu:0-1". Returns the characters in text so far, or more when it is too short. */
static size_t print_one(const struct device_spec *device, char *text, size_t n_bytes, size_t at)
{
    int n = at < n_bytes ? snprintf(text + at, n_bytes - at, "%s",
                                    device->kind == DEVICE_CPU ? "cpu:" : "cuda:")
                         : 0;
    at += (size_t)max_i32(n, 0);
    for (int32_t i = 0; i < device->n_cores && at < n_bytes;) {
        int32_t first = i;
        while (++i < device->n_cores && device->cores[i] == device->cores[i - 1] + 1)
            ;
        const char *comma = first > 0 ? "," : "";
        if (i - first == 1)
            n = snprintf(text + at, n_bytes - at, "%s%d", comma, device->cores[first]);
        else
            n = snprintf(text + at, n_bytes - at, "%s%d-%d", comma, device->cores[first],
                         device->cores[i - 1]);
        at += (size_t)max_i32(n, 0);
    }
    return at;
}

void device_print(const struct device_spec *device, char *text, size_t n_bytes)
{
    size_t at = 0;
    if (n_bytes == 0)
        return;
    if (device->n_ranks == 0) {
        (void)print_one(device, text, n_bytes, 0);
        return;
    }
    for (int32_t r = 0; r < device->n_ranks && at < n_bytes; r++) {
        struct device_spec rank;
        device_rank(device, r, &rank);
        at += (size_t)snprintf(text + at, n_bytes - at, "%s", r == 0 ? "group(" : ",");
        at = print_one(&rank, text, n_bytes, at);
        if (device->rank_layers[r] > 0 && at < n_bytes)
            at += (size_t)snprintf(text + at, n_bytes - at, "=%d", device->rank_layers[r]);
    }
    if (at < n_bytes)
        (void)snprintf(text + at, n_bytes - at, ")");
}
