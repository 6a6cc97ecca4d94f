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

enum status device_parse(const char *text, int n_cores_max, struct device_spec *out,
                         struct fault *fault)
{
    CHECK(n_cores_max > 0);
    int n_max = min_i32(n_cores_max, DEVICE_CORES_MAX);
    bool chosen[DEVICE_CORES_MAX] = { false };
    *out = (struct device_spec){ .kind = DEVICE_CPU };
    if (strncmp(text, "cuda", 4) == 0)
        return gpu_parse(text, out, fault);
    if (strncmp(text, "cpu", 3) != 0 || (text[3] != '\0' && text[3] != ':'))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "device %.60s: expected cpu, cpu: and cores, as in cpu:0-1, or cuda:0",
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

void device_print(const struct device_spec *device, char *text, size_t n_bytes)
{
    if (n_bytes == 0)
        return;
    int n = snprintf(text, n_bytes, device->kind == DEVICE_CPU ? "cpu:" : "cuda:");
    for (int32_t i = 0; i < device->n_cores && n >= 0 && (size_t)n < n_bytes;) {
        int32_t first = i;
        while (++i < device->n_cores && device->cores[i] == device->cores[i - 1] + 1)
            ;
        const char *comma = first > 0 ? "," : "";
        if (i - first == 1)
            n += snprintf(text + n, n_bytes - (size_t)n, "%s%d", comma, device->cores[first]);
        else
            n += snprintf(text + n, n_bytes - (size_t)n, "%s%d-%d", comma, device->cores[first],
                          device->cores[i - 1]);
    }
}
