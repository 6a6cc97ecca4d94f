/* The life of an engine's process: start, heart, end, blame, backoff. */
#include "process/unit_state.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "bulk/door.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static const int64_t SILENT_NS_MAX = 3 * TIME_NS_PER_S, START_NS_MAX = 60 * TIME_NS_PER_S;
static const int64_t LOOK_NS_MAX = TIME_NS_PER_S; /* counts as silence between two looks */
static const int64_t SHORT_LIFE_NS = 60 * TIME_NS_PER_S;
static const int64_t BACKOFF_NS = 100 * TIME_NS_PER_MS, BACKOFF_NS_MAX = 10 * TIME_NS_PER_S;
static const int64_t BLAME_NS = 600 * TIME_NS_PER_S;
enum { RING_BYTES_LEAST = 4 << 20, UP_BYTES = 1 << 20 };

/* ---- Start. ---- */

/* The longest submission fits twice. */
static uint64_t down_bytes(const struct process_unit *u)
{
    uint64_t most =
        sizeof(struct process_submit) +
        request_body_bytes((uint32_t)u->flat->engine.n_tokens_max, LIMIT_STOP_IDS, LIMIT_BIASES) +
        LIMIT_GRAMMAR_BYTES;
    uint64_t n = RING_BYTES_LEAST;
    while (n < 2 * most)
        n *= 2;
    return n;
}

/* The options as they are now. A number whose service has left gets the entry of another one, which
 * is removed first of all. */
static void write_options(struct process_unit *u)
{
    struct process_options *out = u->channel.options;
    memcpy(out, u->flat, sizeof *out);
    for (int s = 0; s < u->flat->n_services; s++) {
        struct process_service *service = &out->services[s];
        *service = u->flat->services[s];
        if (u->services[s].presence != RUN_UNIT_THERE)
            continue;
        const struct service_report *row = &u->report.services[s];
        bool is_known = row->life == service->spec.life && coefficients_are_sane(&row->perf);
        if (is_known && row->perf.c3_ps[0] + row->perf.c2_ps[0] > 0)
            service->perf = row->perf; /* measured already */
    }
}

static enum status start_child(struct process_unit *u, struct fault *fault)
{
    const struct process_channel *c = &u->channel;
    int bulk_fd = u->options.door != NULL ? bulk_door_take_child(u->options.door, u->id) : -1;
    const struct process_child_options child = {
        .role = "engine",
        .name = u->name,
        .fds = { c->fd, c->down_wake.fd, c->up_wake.fd, c->child_socket, bulk_fd },
        .n_fds = PROCESS_CHANNEL_FDS + (u->options.door != NULL),
        .epoll_fd = u->options.epoll_fd,
    };
    if (u->options.door != NULL && bulk_fd < 0)
        return fault_set(fault, STATUS_IO, "the system has no descriptors for another process");
    enum status status = process_child_start(&u->child, &child, fault);
    if (bulk_fd >= 0)
        close(bulk_fd);
    return status;
}

void process_unit_life_start(struct process_unit *u, int64_t now_ns)
{
    struct fault fault;
    size_t options_bytes = process_options_bytes(u->flat->n_services);
    u->state = PROCESS_STARTING;
    u->is_distrusted = u->is_killed = u->is_stuck = false;
    u->beat = 0;
    u->started_ns = u->seen_ns = u->moved_ns = now_ns;
    u->silent_ns = u->n_steps = 0;
    u->n_cancels = 0;
    enum status status = process_channel_open(&u->channel, options_bytes, down_bytes(u), UP_BYTES,
                                              RING_BYTES_LEAST, &fault);
    if (status == STATUS_OK) {
        write_options(u);
        status = start_child(u, &fault);
    }
    if (status != STATUS_OK && !u->has_run)
        base_refuse("%s: %s", u->name, fault.text);
    if (status != STATUS_OK) { /* the system has none to spare now: the server goes on */
        log_line(LOG_ERROR, u->name, "%s: again in %d s", fault.text,
                 (int)(BACKOFF_NS_MAX / TIME_NS_PER_S));
        process_channel_close(&u->channel);
        u->state = PROCESS_DOWN;
        u->again_ns = now_ns + BACKOFF_NS_MAX;
        return;
    }
    struct epoll_event event = { .events = EPOLLIN };
    if (epoll_ctl(u->options.epoll_fd, EPOLL_CTL_ADD, u->channel.up_wake.fd, &event) != 0)
        base_refuse("the system watches no more descriptors");
    close(u->channel.child_socket); /* else it would not see the end of this one */
    u->channel.child_socket = -1;
    process_unit_mail_brief(u);
}

/* ---- Blame. ---- */

/* A fault of the process itself counts three times as much as what may have come from outside: a
 * SIGKILL (also of a system that is short of memory), and a process that was stopped. */
enum { BLAME_OWN = 3, BLAME_OUTSIDE = 1 };

static int blame_of(const struct process_unit *u)
{
    bool is_own =
        u->is_distrusted || u->is_stuck || (!u->is_killed && u->child.ended_by != SIGKILL);
    return is_own ? BLAME_OWN : BLAME_OUTSIDE;
}

/* Blames a service, and forgets what is older than BLAME_NS. Returns how much it has by now. */
static int note_crash(struct process_unit_service *s, int more, int64_t now_ns)
{
    int n = 0;
    for (int i = 0; i < s->n_blame; i++)
        if (s->blame_ns[i] + BLAME_NS > now_ns)
            s->blame_ns[n++] = s->blame_ns[i];
    for (; more > 0; more--) {
        if (n == PROCESS_UNIT_BLAME)
            memmove(s->blame_ns, s->blame_ns + 1, sizeof s->blame_ns[0] * (size_t)--n);
        s->blame_ns[n++] = now_ns;
    }
    s->n_blame = n;
    return n;
}

static void add_suspect(const struct process_unit *u, uint32_t mark, int *suspects, int *n)
{
    int service = (int)mark - 1;
    bool is_new = mark > 0 && mark <= LIMIT_MODELS;
    for (int i = 0; is_new && i < *n; i++)
        is_new = suspects[i] != service;
    if (is_new && u->services[service].presence == RUN_UNIT_THERE)
        suspects[(*n)++] = service;
}

/* Lists the services that the process was at work for, the likeliest first. The marks are the
 * child's, so they may be anything. */
static int list_suspects(const struct process_unit *u, int *suspects)
{
    const struct process_channel_head *head = u->channel.head;
    uint32_t loading = atomic_load(&head->loading);
    int n = 0;
    for (int lane = 0; lane < LIMIT_LANES; lane++)
        for (int i = 0; i < PROCESS_CHANNEL_MARKS; i++) {
            uint32_t mark = atomic_load(&head->marks[lane][i]);
            if (mark > 0 && mark <= LIMIT_MODELS && u->services[mark - 1].n_live > 0)
                add_suspect(u, mark, suspects, &n);
        }
    add_suspect(u, loading, suspects, &n);
    return n;
}

static void set_aside(struct process_unit *u, int service, bool is_by_tie, int64_t now_ns)
{
    struct process_unit_service *s = &u->services[service];
    s->aside_until_ns = now_ns + BLAME_NS;
    s->is_by_tie = is_by_tie;
    s->wants_loaded = false;
    (void)fault_set(&s->refusal, STATUS_BAD_INPUT,
                    "model %.80s is set aside for %d minutes, since it was at work whenever engine "
                    "%d ended lately",
                    u->flat->services[service].spec.name, (int)(BLAME_NS / (60 * TIME_NS_PER_S)),
                    u->id);
    log_line(LOG_ERROR, u->name, "%s", s->refusal.text);
}

/* At most one model is set aside for a crash. */
static void blame(struct process_unit *u, int64_t now_ns)
{
    int suspects[LIMIT_MODELS], worst = -1, n_worst = 0;
    int n = list_suspects(u, suspects);
    for (int s = 0; s < LIMIT_MODELS; s++)
        if (u->services[s].aside_until_ns > 0 && u->services[s].is_by_tie)
            u->services[s].aside_until_ns = 0; /* it crashed without it */
    for (int i = 0; i < n; i++) {
        if (note_crash(&u->services[suspects[i]], blame_of(u), now_ns) < PROCESS_UNIT_BLAME)
            continue;
        worst = worst < 0 ? suspects[i] : worst;
        n_worst++;
    }
    if (worst >= 0)
        set_aside(u, worst, n_worst > 1, now_ns);
}

/* ---- End. ---- */

void process_unit_life_kill(struct process_unit *u, const char *why)
{
    if (u->is_killed || u->state == PROCESS_OVER || u->state == PROCESS_DOWN)
        return;
    u->is_killed = true;
    snprintf(u->why, sizeof u->why, "%s", why);
    process_child_kill(&u->child);
}

/* Models that were there come again, except one that is set aside. */
static void tell_services(struct process_unit *u)
{
    for (int i = 0; i < u->n_services; i++) {
        struct process_unit_service *s = &u->services[i];
        s->want_bytes = 0;
        s->has_ask = false;
        if (s->presence != RUN_UNIT_THERE)
            continue;
        bool was_there = s->status != SERVICE_UNLOADED;
        if (s->wants_loaded)
            process_unit_mail_tell(u, i, SERVICE_LOADING, STATUS_OK, NULL);
        else if (was_there && s->aside_until_ns > 0)
            process_unit_mail_tell(u, i, SERVICE_BROKEN, STATUS_BAD_INPUT, &s->refusal);
        else if (was_there)
            process_unit_mail_tell(u, i, SERVICE_UNLOADED, STATUS_OK, NULL);
        if (!s->wants_loaded && u->options.weights != NULL)
            process_weights_release(u->options.weights, u->id, i);
    }
}

static void end(struct process_unit *u, const char *why, int64_t now_ns)
{
    process_unit_mail_take(u); /* it may have been ready */
    if (!u->has_run &&
        !u->is_distrusted) /* as without processes: a server whose engine can't start ends */
        base_refuse("%s %s", u->name, u->is_killed ? u->why : why);
    log_line(LOG_ERROR, u->name, "the engine's process %s; its requests go on in another one",
             u->is_killed ? u->why : why);
    u->state = PROCESS_OVER;
    u->over_ns = now_ns;
    u->report.is_down = true;
    blame(u, now_ns);
    tell_services(u);
}

void process_unit_life_down(struct process_unit *u, int64_t now_ns)
{
    bool was_short = u->over_ns - u->started_ns < SHORT_LIFE_NS;
    int64_t wait_ns = 0;
    u->n_fast = was_short ? u->n_fast + 1 : 0;
    if (u->n_fast > 1)
        wait_ns = min_i64(BACKOFF_NS << min_i32(u->n_fast - 2, 16), BACKOFF_NS_MAX);
    (void)epoll_ctl(u->options.epoll_fd, EPOLL_CTL_DEL, u->channel.up_wake.fd, NULL);
    process_child_end(&u->child);
    process_channel_close(&u->channel);
    u->state = PROCESS_DOWN;
    u->again_ns = now_ns + wait_ns;
}

/* ---- Heart. ---- */

static void watch_heart(struct process_unit *u, int64_t now_ns)
{
    uint64_t beat = atomic_load_explicit(&u->channel.head->beat, memory_order_relaxed);
    bool is_starting = u->state == PROCESS_STARTING;
    int64_t passed_ns = min_i64(max_i64(now_ns - u->seen_ns, 0), LOOK_NS_MAX);
    u->seen_ns = now_ns;
    u->silent_ns = beat != u->beat ? 0 : u->silent_ns + passed_ns;
    u->beat = beat;
    if (u->silent_ns >= (is_starting ? START_NS_MAX : SILENT_NS_MAX))
        process_unit_life_kill(u, is_starting ? "did not start within 60 s, and was killed"
                                              : "made no sign for 3 s, and was killed");
    if (u->report.n_steps != u->n_steps || u->report.n_requests == 0 || is_starting)
        u->moved_ns = now_ns;
    u->n_steps = u->report.n_steps;
    u->is_stuck = u->options.stall_ns > 0 && now_ns - u->moved_ns > 2 * u->options.stall_ns;
    if (u->is_stuck)
        process_unit_life_kill(u, "had requests and made no step, and was killed");
}

int64_t process_unit_life_step(struct process_unit *u, int64_t now_ns)
{
    char why[256];
    if (u->state == PROCESS_STARTING || u->state == PROCESS_RUNNING) {
        process_child_say(&u->child);
        if (process_child_is_over(&u->child, why, sizeof why))
            end(u, why, now_ns);
        else if (!u->is_killed)
            watch_heart(u, now_ns);
    }
    if (u->state == PROCESS_DOWN && now_ns >= u->again_ns) {
        u->report.n_restarts += u->report.n_restarts < INT32_MAX;
        process_unit_life_start(u, now_ns);
    }
    return u->state == PROCESS_DOWN   ? u->again_ns
           : u->state == PROCESS_OVER ? now_ns + TIME_NS_PER_MS
                                      : now_ns + SILENT_NS_MAX / 4;
}
