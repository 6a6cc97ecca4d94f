/* One message of the bus: every field of a checked message can be read without harm.
 *
 * The input is the message. Its version, kind and length are corrected, since a wrong one is
 * refused at once. So any input reaches the checks of its kind. cluster_fuzz.c has whole actors
 * that meet such messages. */
#include "base/mem.h"
#include "cluster/message.h"
#include <string.h>

enum { N_ENGINES = 4, N_SERVICES = 64, MESSAGE_MAX = 1 << 16 };

/* Services with the names 1, 2 and so on, which inputs have. */
static const struct cluster_roster *roster(void)
{
    static struct cluster_roster roster;
    for (int s = 0; roster.n == 0 && s < N_SERVICES; s++) {
        if (s == 0)
            cluster_roster_init(&roster);
        set_add(&roster.there, s);
        roster.names[s] = (uint64_t)s + 1;
        CHECK(map_put(&roster.by_name, roster.names[s], (uint32_t)s));
    }
    roster.n = N_SERVICES;
    return &roster;
}

static int64_t sum; /* uses the bytes read; signed, so that a sum that wraps is found */

static void read_submit(const struct message_submit *m)
{
    const struct request_body *body = (const void *)(m + 1);
    struct request request = m->request;
    cluster_message_request_of_spans(&request, INT64_C(1) << 60);
    cluster_message_request_to_spans(&request, INT64_C(1) << 60);
    for (uint32_t i = 0; i < body->n_tokens; i++)
        sum += request_body_tokens(body)[i];
    for (uint32_t i = 0; i < body->n_stop_ids; i++)
        sum += request_body_stop_ids(body)[i];
    for (uint32_t i = 0; i < body->n_biases; i++)
        sum += request_body_biases(body)[i].id;
    CHECK(request.n_tokens < request.n_tokens_max);
}

static void read_event(const struct message_event *m)
{
    const unsigned char *payload = (const unsigned char *)(m + 1);
    const struct service_event *e = &m->event;
    for (int32_t i = 0; i < e->n_bytes; i++)
        sum += payload[i];
    for (int32_t i = 0; e->what == SERVICE_TOKENS && i < e->n_tokens; i++)
        sum += ((const int32_t *)(const void *)payload)[i];
}

static void read_report(const struct message_report *m)
{
    static struct engine_report mirror;
    static struct route_others others[N_SERVICES];
    int64_t n_requests = 0, n_bytes = 0, n_tokens = 0, ns = 0;
    mirror.n_services = N_SERVICES;
    cluster_message_read_report(m, roster(), &mirror, INT64_C(1) << 60);
    cluster_message_read_others(m, roster(), N_SERVICES, others);
    for (int s = 0; s < N_SERVICES; s++) { /* as a gateway adds them up */
        n_requests += others[s].n;
        n_tokens += others[s].n_prompt + others[s].n_new + others[s].n_waiting_tokens;
        ns += others[s].load;
    }
    for (int s = 0; s < N_SERVICES; s++) { /* sums that routers and metrics compute */
        const struct service_report *row = &mirror.services[s];
        n_requests += row->n_waiting + row->n_running;
        n_bytes += row->weights_bytes + row->activation_bytes + row->kv_used_bytes;
        n_tokens += row->n_prefix_queries + row->n_pad_tokens + row->n_invalid_tokens;
        ns += row->remaining_ns / N_SERVICES;
        CHECK(coefficients_are_sane(&row->perf));
    }
    sum += (n_requests ^ n_bytes ^ n_tokens ^ ns) & 0xffff;
}

static void read_change(const struct message_change *m)
{
    struct service_report row = { 0 };
    struct service_change change;
    if (cluster_message_read_change(m, roster(), &change))
        CHECK(change.service < N_SERVICES && change.engine < N_ENGINES);
    service_change_apply(&m->change, &row);
    sum += (int64_t)strlen(m->change.fault.text);
}

static void read_message(const struct message_head *head)
{
    CHECK(head->engine < N_ENGINES);
    if (head->kind == MESSAGE_SUBMIT)
        read_submit((const void *)head);
    else if (head->kind == MESSAGE_EVENT)
        read_event((const void *)head);
    else if (head->kind == MESSAGE_REPORT)
        read_report((const void *)head);
    else if (head->kind == MESSAGE_CHANGE)
        read_change((const void *)head);
    else if (head->kind == MESSAGE_ANSWER)
        sum += (int64_t)strlen(((const struct message_answer *)(const void *)head)->fault.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < sizeof(struct message_head) || size > MESSAGE_MAX)
        return 0;
    struct message_head *head = mem_take(size); /* no more, so that a read behind it is seen */
    memcpy(head, data, size);
    head->version = MESSAGE_VERSION;
    head->kind %= MESSAGE_N;
    head->n_bytes = (uint32_t)size;
    sum = 0;
    if (cluster_message_is_valid(head, size, N_ENGINES))
        read_message(head);
    mem_give(head);
    return 0;
}
