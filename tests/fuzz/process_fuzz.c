/* The records that a hostile engine's process writes for its parent.
 *
 * The input is a list of steps, each one byte and its operands. 0: a request is submitted. 1: n + 1
 * bytes become a record of the ring up. 2: the same in the ring of events, over an event that its
 * request could have. 3: eight bytes somewhere in the head of a ring. Others: the parent reads. At
 * the end the process is over. Each request must end or return once. */
#include "base/mem.h"
#include "process/unit.h"
#include "process/unit_state.h"
#include <string.h>
#include <unistd.h>

enum { N_REQUESTS = 8, RING_BYTES = 1 << 16 };

struct input {
    const uint8_t *at;
    size_t n;
};

static uint8_t byte_of(struct input *in)
{
    if (in->n == 0)
        return 0;
    in->n--;
    return *in->at++;
}

static struct process_unit *open_unit(void)
{
    static const struct schedule_lane lane = { .share = 1 };
    static const struct service_spec services[2];
    static const struct kv_layout layouts[2];
    static const char *const paths[2] = { "a", "b" };
    static const struct model_spec *const specs[2];
    static const enum dtype kv_dtypes[2];
    static const struct perf perfs[2];
    static struct schedule_config config;
    schedule_config_init(&config);
    const struct run_unit_options options = {
        .host = { .engine = { .memory_bytes = 1 << 20,
                              .n_requests_max = N_REQUESTS,
                              .n_tokens_max = 64,
                              .n_lanes = 1,
                              .lanes = &lane,
                              .n_services = 2,
                              .services = services,
                              .layouts = layouts,
                              .policy = schedule_find("fcfs"),
                              .config = &config } },
        .paths = paths,
        .specs = specs,
        .kv_dtypes = kv_dtypes,
        .perfs = perfs,
    };
    struct process_unit *u =
        process_unit_make(&(struct process_unit_options){ .unit = &options, .epoll_fd = -1 });
    struct fault fault;
    CHECK(process_channel_open(&u->channel, process_options_bytes(0), RING_BYTES, RING_BYTES,
                               RING_BYTES, &fault) == STATUS_OK);
    u->state = PROCESS_RUNNING;
    u->has_run = true;
    return u;
}

static int n_open, n_over;

static void read_all(struct process_unit *u)
{
    struct service service = process_unit_service(u);
    struct service_event event;
    struct service_change change;
    const void *payload;
    while (service.next(service.self, &event, &payload)) {
        const volatile unsigned char *bytes = payload;
        for (int32_t i = 0; i < event.n_bytes; i++)
            (void)bytes[i];
        n_over += event.what != SERVICE_TOKENS;
    }
    while (process_unit_next_change(u, &change))
        CHECK(change.service < 2 || u->n_services > 2);
    CHECK(process_unit_report(u)->n_services == u->n_services);
}

static void submit(struct process_unit *u, struct input *in)
{
    struct service service = process_unit_service(u);
    struct request_body body = { .n_bytes = sizeof body };
    uint8_t of = byte_of(in);
    const struct request request = { .id = of % N_REQUESTS,
                                     .n_prompt = 4,
                                     .n_tokens = 4,
                                     .n_tokens_max = 4 + of / 16,
                                     .flags = of % 2 ? REQUEST_WANTS_LOGPROBS : 0,
                                     .service = of % 2 };
    n_open += service.submit(service.self, &request, &body);
}

static void put(struct input *in, struct ring *ring, const void *head, size_t n_head)
{
    unsigned char bytes[512];
    size_t n = byte_of(in) + (size_t)1;
    for (size_t i = 0; i < n; i++)
        bytes[i] = byte_of(in);
    for (size_t i = 0; i < n && i < n_head; i++) /* differences, so that zeros leave it right */
        bytes[i] ^= ((const unsigned char *)head)[i];
    if (n < n_head)
        memcpy(bytes + n, (const unsigned char *)head + n, n_head - n);
    (void)!ring_put_within(ring, RING_BYTES, bytes, n > n_head ? n : n_head, NULL, 0);
}

static void step(struct process_unit *u, struct input *in)
{
    static const struct service_event event = { .what = SERVICE_TOKENS, .position = 4 };
    struct ring *const rings[] = { u->channel.up, u->channel.events, u->channel.down };
    uint8_t what = byte_of(in);
    switch (what) {
    case 0:
        submit(u, in);
        return;
    case 1:
        if (u->state == PROCESS_RUNNING)
            put(in, rings[0], "", 0);
        return;
    case 2:
        if (u->state == PROCESS_RUNNING)
            put(in, rings[1], &event, sizeof event);
        return;
    case 3: {
        uint64_t value = 0;
        uint8_t at = byte_of(in);
        for (int i = 0; i < 8; i++)
            value = value << 8 | byte_of(in);
        if (u->state == PROCESS_RUNNING)
            memcpy((unsigned char *)rings[at % 3] + at % 24 * 8, &value, sizeof value);
        return;
    }
    default:
        read_all(u);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = { data, size };
    struct process_unit *u = open_unit();
    n_open = n_over = 0;
    while (in.n > 0)
        step(u, &in);
    read_all(u);
    u->state = PROCESS_OVER;
    read_all(u);
    CHECK(u->state == PROCESS_DOWN && n_open == n_over);
    process_unit_close(u);
    return 0;
}
