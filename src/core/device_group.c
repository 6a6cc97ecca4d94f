/* Groups of devices as people write them. */
#include "core/device_group.h"

#include "core/limits.h"
#include <stdio.h>
#include <string.h>

static const char opening[] = "group(";

/* Returns the length of the rank's text: up to the comma before the next rank, or to the end. */
static size_t rank_length(const char *text, const char *end)
{
    for (const char *p = text; p < end; p++)
        if (*p == ',' && p + 1 < end && ((p[1] >= 'a' && p[1] <= 'z') || p[1] == ','))
            return (size_t)(p - text);
    return (size_t)(end - text);
}

/* Reads the number of layers behind a rank's "=", which it cuts off. Returns 0 when there is none,
 * and -1 when it is no number from 1 to LIMIT_LAYERS. */
static int32_t layers_cut(char *rank)
{
    char *at = strchr(rank, '=');
    int32_t n = 0;
    if (at == NULL)
        return 0;
    *at++ = '\0';
    do {
        if (*at < '0' || *at > '9')
            return -1;
        n = n * 10 + (*at++ - '0');
    } while (*at != '\0' && n <= LIMIT_LAYERS);
    return n >= 1 && n <= LIMIT_LAYERS ? n : -1;
}

static bool have_common_core(const struct device_spec *a, const struct device_spec *b)
{
    for (int32_t i = 0; i < a->n_cores; i++)
        for (int32_t j = 0; j < b->n_cores; j++)
            if (a->cores[i] == b->cores[j])
                return true;
    return false;
}

static enum status add_rank(const char *text, size_t n, int n_cores_max, struct device_group *out,
                            struct fault *fault)
{
    char rank[DEVICE_GROUP_BYTES];
    if (out->n_ranks == DEVICE_RANKS_MAX)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "a group has more than %d devices: expected 2 to %d", DEVICE_RANKS_MAX,
                         DEVICE_RANKS_MAX);
    snprintf(rank, sizeof(rank), "%.*s", (int)n, text);
    int32_t n_layers = layers_cut(rank), index = out->n_ranks;
    struct device_spec *own = &out->ranks[index];
    if (n_layers < 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "device %.60s of a group: expected 1 to %d layers behind the =", rank,
                         LIMIT_LAYERS);
    enum status status = device_parse(rank, n_cores_max, own, fault);
    if (status != STATUS_OK)
        return status;
    if (own->kind != out->ranks[0].kind)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "device %.60s of a group: expected devices of one kind, because they have "
                         "to compute the same bits",
                         rank);
    if (index > 0 && (n_layers > 0) != (out->n_layers[0] > 0))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "device %.60s of a group: expected a number of layers for all of its "
                         "devices or for none",
                         rank);
    for (int32_t r = 0; r < index; r++)
        if (have_common_core(own, &out->ranks[r]))
            return fault_set(fault, STATUS_BAD_INPUT,
                             "device %.60s of a group: expected cores or GPUs that no other device "
                             "of the group has",
                             rank);
    out->n_layers[out->n_ranks++] = n_layers;
    return STATUS_OK;
}

enum status device_group_parse(const char *text, int n_cores_max, struct device_group *out,
                               struct fault *fault)
{
    size_t n = strlen(text), n_opening = sizeof(opening) - 1;
    out->n_ranks = 0;
    memset(out->n_layers, 0, sizeof(out->n_layers));
    if (strncmp(text, "group", 5) != 0) {
        out->n_ranks = 1;
        return device_parse(text, n_cores_max, &out->ranks[0], fault);
    }
    if (n >= DEVICE_GROUP_BYTES)
        return fault_set(fault, STATUS_BAD_INPUT, "device %.60s...: expected at most %d bytes",
                         text, DEVICE_GROUP_BYTES - 1);
    if (strncmp(text, opening, n_opening) != 0 || text[n - 1] != ')')
        return fault_set(fault, STATUS_BAD_INPUT,
                         "device %.60s: expected devices in parentheses, as in group(cpu:0,cpu:1)",
                         text);
    const char *at = text + n_opening, *end = text + n - 1;
    for (bool has_more = true; has_more;) {
        size_t n_rank = rank_length(at, end);
        enum status status = add_rank(at, n_rank, n_cores_max, out, fault);
        if (status != STATUS_OK)
            return status;
        has_more = at + n_rank < end;
        at += n_rank + 1;
    }
    if (out->n_ranks < 2)
        return fault_set(
            fault, STATUS_BAD_INPUT,
            "device %.60s: expected 2 to %d devices; a device alone is written without "
            "group()",
            text, DEVICE_RANKS_MAX);
    return STATUS_OK;
}

int32_t device_group_layers(const struct device_group *group)
{
    int32_t n = 0;
    for (int32_t r = 0; r < group->n_ranks; r++)
        n += group->n_layers[r];
    return n;
}

void device_group_print(const struct device_group *group, char *text, size_t n_bytes)
{
    char rank[DEVICE_GROUP_BYTES];
    if (group->n_ranks == 1) {
        device_print(&group->ranks[0], text, n_bytes);
        return;
    }
    int n = snprintf(text, n_bytes, "%s", opening);
    for (int32_t r = 0; r < group->n_ranks && n >= 0 && (size_t)n < n_bytes; r++) {
        const char *after = r + 1 < group->n_ranks ? "," : ")";
        device_print(&group->ranks[r], rank, sizeof(rank));
        if (device_group_is_pipeline(group))
            n +=
                snprintf(text + n, n_bytes - (size_t)n, "%s=%d%s", rank, group->n_layers[r], after);
        else
            n += snprintf(text + n, n_bytes - (size_t)n, "%s%s", rank, after);
    }
}
