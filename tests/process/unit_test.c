/* Tests of the parent's side of an engine's process. This program is started again, and plays the
 * engine: a real one, or one that writes anything into the shared memory. */
#include "test.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "cpu/cpu.h"
#include "process/channel.h"
#include "process/child.h"
#include "process/loader.h"
#include "process/record.h"
#include "process/unit.h"
#include <poll.h>
#include <sys/epoll.h>

enum { N_PROMPT = 4, N_TOKENS = 60 };
static const char *const paths[] = { SOURCE_ROOT "/tests/golden/data/llama3" };

/* ---- The child's part. ---- */

static enum status open_device(const struct process_device *of, struct compute_device **out,
                               struct fault *fault)
{
    (void)fault;
    *out = cpu_open(&of->spec, cpu_isa_best());
    return STATUS_OK;
}

static void put_anything(struct process_channel *c, struct rng *rng)
{
    unsigned char bytes[4096];
    struct process_record head = { .kind = PROCESS_READY + rng_below(rng, 6),
                                   .service = (int32_t)rng_below(rng, 3) };
    struct service_event event = { .id = 1 + rng_below(rng, 4),
                                   .epoch = rng_below(rng, 2),
                                   .what = (uint8_t)rng_below(rng, 4),
                                   .position = (int32_t)rng_below(rng, 2 * N_PROMPT),
                                   .n_tokens = (int32_t)rng_below(rng, 3),
                                   .n_bytes = (int32_t)rng_below(rng, 13) };
    size_t n = rng_below(rng, 2) == 0 ? rng_below(rng, 64) : rng_below(rng, sizeof bytes);
    for (size_t i = 0; i < n; i++)
        bytes[i] = rng_below(rng, 3) == 0 ? (unsigned char)rng_below(rng, 256) : 0;
    if (rng_below(rng, 2) == 0)
        (void)!ring_put_within(c->up, c->up_bytes, &head, sizeof head, bytes, n);
    else
        (void)!ring_put_within(c->events, c->events_bytes, &event, sizeof event, bytes,
                               (size_t)event.n_bytes);
}

/* Writes records that look right, then bytes anywhere in the memory, and ends somehow. */
static int play_hostile(uint64_t seed)
{
    struct process_channel channel, *c = &channel;
    struct fault fault;
    struct rng rng;
    const struct process_record ready = { .kind = PROCESS_READY };
    if (process_channel_join(c, PROCESS_CHILD_FDS, &fault) != STATUS_OK)
        return 8;
    rng_init(&rng, seed, 0);
    (void)!ring_put(c->up, &ready, sizeof ready, NULL, 0);
    wake_up(&c->up_wake);
    time_sleep_ns(3 * TIME_NS_PER_MS);
    for (int i = 0; i < 200; i++) {
        atomic_fetch_add(&c->head->beat, 1);
        if (seed % 3 > 0 || i < 50)
            put_anything(c, &rng);
        else
            ((unsigned char *)
                 c->head)[rng_below(&rng, 4) == 0 ? rng_below(&rng, (uint32_t)c->n_bytes)
                                                  : rng_below(&rng, 512)] =
                (unsigned char)rng_below(&rng, 256);
        wake_up(&c->up_wake);
    }
    if (seed % 2 == 0)
        abort();
    return 0;
}

static int play(int argc, char **argv)
{
    const char *seed = getenv("PROCESS_TEST_SEED");
    if (!process_child_begin(argc, argv))
        return 9;
    if (seed != NULL)
        return play_hostile(strtoull(seed, NULL, 10));
    return strcmp(argv[2], "loader") == 0 ? process_loader_run(open_device)
                                          : process_engine_run(open_device, NULL);
}

/* ---- The parent's part. ---- */

struct scene {
    int epoll_fd;
    struct process_weights *weights;
    struct process_unit *unit;
    struct service service;
    struct service_spec spec;
    struct kv_layout layout;
    struct schedule_config schedule;
    int32_t tokens[N_PROMPT + N_TOKENS]; /* of request 1 */
    int32_t n_tokens;
    int n_ended, n_returned;
};

static void open_scene(struct scene *s)
{
    static const struct schedule_lane lane = { .share = 1 };
    const struct process_device device = { .spec = { .kind = DEVICE_CPU, .n_cores = 1 },
                                           .n_lanes = 1 };
    const int64_t bytes_per_token = 256;
    double waste;
    *s = (struct scene){ .epoll_fd = epoll_create1(EPOLL_CLOEXEC) };
    snprintf(s->spec.name, sizeof s->spec.name, "model");
    s->spec.n_context_max = 128;
    schedule_config_init(&s->schedule);
    const struct run_unit_options unit = {
        .host = { .engine = { .memory_bytes = 64 << 20,
                              .body_bytes = 1 << 20,
                              .n_requests_max = 16,
                              .n_tokens_max = 128,
                              .n_lanes = 1,
                              .lanes = &lane,
                              .n_services = 1,
                              .n_services_max = 2,
                              .services = &s->spec,
                              .layouts = &s->layout,
                              .kv_unit_bytes = kv_choose_layout(1, &bytes_per_token, 1 << 16,
                                                                &s->layout, &waste),
                              .policy = schedule_find("db-share"),
                              .config = &s->schedule } },
        .paths = paths,
        .specs = (const struct model_spec *[]){ NULL },
        .perfs = (const struct perf[1]){ { .floor_ps = 0 } },
        .n_rows_max = 72,
        .n_logit_rows_max = 8,
        .kv_dtypes = (const enum dtype[]){ DTYPE_F16 },
        .profile_ns = 20 * TIME_NS_PER_MS,
    };
    s->weights = process_weights_open(&device, s->epoll_fd);
    const struct process_unit_options options = {
        .unit = &unit, .device = device, .weights = s->weights, .epoll_fd = s->epoll_fd
    };
    s->unit = process_unit_open(&options);
    s->service = process_unit_service(s->unit);
}

static void close_scene(struct scene *s)
{
    process_unit_close(s->unit);
    process_weights_close(s->weights);
    close(s->epoll_fd);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no process is left */
}

static void take_event(struct scene *s, const struct service_event *event, const void *payload)
{
    if (event->what == SERVICE_TOKENS && event->id == 1) {
        assert_int_equal(event->position, s->n_tokens);
        assert_true(s->n_tokens + event->n_tokens <= N_PROMPT + N_TOKENS);
        memcpy(s->tokens + s->n_tokens, payload, sizeof(int32_t) * (size_t)event->n_tokens);
        s->n_tokens += event->n_tokens;
    }
    s->n_ended += event->what == SERVICE_ENDED;
    s->n_returned += event->what == SERVICE_RETURNED;
}

static void step(struct scene *s)
{
    struct epoll_event ready;
    struct service_event event;
    const void *payload;
    (void)epoll_wait(s->epoll_fd, &ready, 1, 2);
    (void)process_unit_step(s->unit, time_now_ns());
    while (s->service.next(s->service.self, &event, &payload))
        take_event(s, &event, payload);
    assert_true(process_unit_report(s->unit)->n_services >= 1);
}

static void wait_status(struct scene *s, enum service_status status)
{
    struct service_change change = { .status = UINT8_MAX };
    int64_t end_ns = time_now_ns() + 30 * TIME_NS_PER_S;
    while (change.status != status) {
        assert_true(time_now_ns() < end_ns);
        if (!process_unit_next_change(s->unit, &change))
            step(s);
    }
}

/* Submits request `id` with the tokens that are known of request 1. */
static bool submit(struct scene *s, uint64_t id, uint32_t epoch)
{
    static unsigned char room[sizeof(struct request_body) + 4 * (N_PROMPT + N_TOKENS)];
    struct request_body *body = (void *)room;
    const struct request request = { .id = id,
                                     .epoch = epoch,
                                     .n_prompt = N_PROMPT,
                                     .n_tokens = s->n_tokens,
                                     .n_tokens_max = N_PROMPT + N_TOKENS,
                                     .flags = REQUEST_IGNORE_EOS,
                                     .arrived_ns = time_now_ns(),
                                     .served_ns = time_now_ns(),
                                     .deadline_ns = TIME_NEVER };
    *body =
        (struct request_body){ .n_bytes = (uint32_t)request_body_bytes((uint32_t)s->n_tokens, 0, 0),
                               .n_tokens = (uint32_t)s->n_tokens,
                               .seed = 7,
                               .sampling = { .temperature = 0.8F,
                                             .top_p = 1,
                                             .repetition_penalty = 1,
                                             .n_top_logprobs = -1 } };
    memcpy(request_body_tokens(body), s->tokens, sizeof(int32_t) * (size_t)s->n_tokens);
    return s->service.submit(s->service.self, &request, body);
}

static int pid_of_child(void)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    (void)!fgets(text, sizeof text, f);
    fclose(f);
    return atoi(text);
}

/* Runs request 1 to its end, with this many kills under way. */
static void run_request(struct scene *s, int n_kills)
{
    uint32_t epoch = 1;
    int n_seen = 0, n_returned = s->n_returned;
    s->n_tokens = N_PROMPT;
    s->n_ended = 0;
    for (int i = 0; i < N_PROMPT; i++)
        s->tokens[i] = i + 1;
    wait_status(s, SERVICE_LOADED);
    while (!submit(s, 1, epoch))
        step(s);
    while (s->n_ended == 0) {
        step(s);
        if (n_kills > 0 && s->n_tokens > N_PROMPT + 5 * n_seen) {
            kill(pid_of_child(), n_kills % 2 == 0 ? SIGKILL : SIGSEGV);
            n_kills--;
            n_seen++;
        }
        if (s->n_returned > n_returned) {
            n_returned = s->n_returned;
            wait_status(s, SERVICE_LOADED);
            while (!submit(s, 1, ++epoch))
                step(s);
        }
    }
    assert_int_equal(s->n_tokens, N_PROMPT + N_TOKENS);
}

static void test_a_request_survives_its_engines(void **state)
{
    (void)state;
    static struct scene s;
    int32_t undisturbed[N_PROMPT + N_TOKENS];
    open_scene(&s);
    process_unit_load(s.unit, 0);
    run_request(&s, 0);
    memcpy(undisturbed, s.tokens, sizeof undisturbed);
    /* An engine may have written its whole answer when the first kill comes. */
    for (int i = 0; i < 50 && process_unit_report(s.unit)->n_restarts == 0; i++) {
        process_unit_unload(s.unit, 0, false);
        wait_status(&s, SERVICE_UNLOADED);
        process_unit_load(s.unit, 0);
        run_request(&s, 3);
        assert_memory_equal(s.tokens, undisturbed, sizeof undisturbed);
    }
    assert_true(process_unit_report(s.unit)->n_restarts >= 1);
    close_scene(&s);
}

/* Whatever the child writes, each request ends once, and the parent starts another child. */
static void test_a_hostile_engine(void **state)
{
    (void)state;
    static struct scene s;
    const char *n_text = getenv("PROCESS_TEST_SEEDS");
    int n_seeds = n_text != NULL ? atoi(n_text) : 60;
    for (int seed = 0; seed < n_seeds; seed++) {
        char text[16];
        snprintf(text, sizeof text, "%d", seed);
        setenv("PROCESS_TEST_SEED", text, 1);
        open_scene(&s);
        s.n_tokens = N_PROMPT;
        int64_t end_ns = time_now_ns() + 20 * TIME_NS_PER_S;
        int n = 0;
        while (process_unit_report(s.unit)->n_restarts == 0) {
            for (uint64_t id = 1; id < 4 && n < 3; id++) {
                struct scene keep = s;
                s.n_tokens = N_PROMPT;
                n += submit(&s, id, 0);
                s = keep;
            }
            step(&s);
            assert_true(time_now_ns() < end_ns);
        }
        assert_int_equal(s.n_ended + s.n_returned, n);
        close_scene(&s);
    }
    unsetenv("PROCESS_TEST_SEED");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request_survives_its_engines),
        cmocka_unit_test(test_a_hostile_engine),
    };
    if (argc > 1 && strcmp(argv[1], PROCESS_CHILD_VERB) == 0)
        return play(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
