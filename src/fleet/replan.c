/* Plans a live cluster in a child process, and moves models where that pays. */
#include "fleet/replan.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "cluster/manager_move.h"
#include "cluster/manager_plan.h"
#include "config/chosen.h"
#include "core/report.h"
#include "fleet/models.h"
#include "fleet/monitor.h"
#include "live/plan.h"
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

static const int64_t PLAN_NS = 60 * TIME_NS_PER_S; /* then the child is killed */
static const int64_t WANT_NS = TIME_NS_PER_S;
static const int64_t STALL_NS = 120 * TIME_NS_PER_S; /* of a move, and as long as a slow load */
/* Until a request that a copy returned is at another one; the copy that comes serves at once. */
static const int64_t SETTLE_NS = 100 * TIME_NS_PER_MS;
static const double SLOW_BYTES_PER_S = 1e8;
static const double DISK_BYTES_PER_S = 1e9, HOST_BYTES_PER_S = 24e9; /* when nothing was loaded */
static const double EFFORT = 0.5;

/* ---- Life. ---- */

bool fleet_replan_mode_find(const char *word, enum fleet_replan_mode *mode)
{
    static const char *const words[] = { "off", "advise", "on" };
    for (int i = 0; i < 3; i++) {
        if (strcmp(word, words[i]) != 0)
            continue;
        *mode = (enum fleet_replan_mode)i;
        return true;
    }
    return false;
}

void fleet_replan_open(struct fleet_replan *r, const struct config *config,
                       const struct fleet_models *models, struct fleet_monitor *monitor)
{
    *r = (struct fleet_replan){ .config = config,
                                .models = models,
                                .monitor = monitor,
                                .epoll_fd = epoll_create1(EPOLL_CLOEXEC),
                                .job_fd = -1 };
    r->child.pidfd = r->child.log_fd = -1;
    CHECK(fleet_replan_mode_find(config->replacement, &r->mode));
    if (r->epoll_fd < 0)
        base_refuse("the system watches no more descriptors");
    r->last = mem_take(sizeof *r->last);
    r->given = mem_take(sizeof *r->given);
    replace_config_init(&r->replace);
    r->replace.settle_ns = SETTLE_NS;
    r->replace.first_ns = config->replan_ns;
    r->replace.least_ns = min_i64(r->replace.least_ns, config->replan_ns);
    r->replace.most_ns = max_i64(r->replace.most_ns, config->replan_ns);
}

static void drop_job(struct fleet_replan *r)
{
    process_child_end(&r->child);
    if (r->job != NULL)
        (void)munmap(r->job, sizeof *r->job);
    if (r->job_fd >= 0)
        close(r->job_fd);
    r->job = NULL;
    r->job_fd = -1;
    r->is_planning = false;
}

void fleet_replan_close(struct fleet_replan *r)
{
    if (r->last == NULL)
        return; /* it was never opened */
    drop_job(r);
    mem_give(r->last);
    mem_give(r->given);
    r->last = NULL;
    close(r->epoll_fd);
}

static void forget_want(struct fleet_replan *r, int service)
{
    scale_init(&r->scales[service]);
    r->wants[service] = (struct live_want){ .n_wanted = -1 };
    r->arrived[service] = 0;
}

void fleet_replan_begin(struct fleet_replan *r, int64_t now_ns)
{
    r->interval_ns = r->replace.first_ns;
    r->next_ns = now_ns + r->interval_ns;
    r->has_foretold = r->is_moving = false;
    r->last->n_services = 0;
    r->said[0] = r->moved[0] = '\0';
    for (int s = 0; s < LIMIT_MODELS; s++)
        forget_want(r, s);
}

void fleet_replan_forget(struct fleet_replan *r, int service)
{
    if (r->is_planning)
        drop_job(r);
    forget_want(r, service);
}

void fleet_replan_end(struct fleet_replan *r)
{
    drop_job(r);
}

/* ---- The job. ---- */

static bool has_profile(const struct perf *perf)
{
    return perf->c1_ps + perf->k1_ps > 0;
}

static struct service_size size_of(const struct fleet_replan *r,
                                   const struct engine_report *reports, int n_engines, int s)
{
    struct service_size size = { .weights_bytes = r->models->need_bytes[s],
                                 .kv_bytes_per_token = r->models->offers[s].shape.bytes_per_token,
                                 .n_heads = r->models->offers[s].shape.n_heads };
    for (int e = 0; e < n_engines; e++) {
        const struct service_report *row = &reports[e].services[s];
        if (reports[e].now_ns == 0 || !set_has(&reports[e].listed, s) || row->weights_bytes <= 0)
            continue;
        size.weights_bytes = row->weights_bytes;
        size.activation_bytes = row->activation_bytes;
        if (row->kv_bytes_per_token > 0)
            size.kv_bytes_per_token = row->kv_bytes_per_token;
    }
    return size;
}

/* Adds the services with traffic and a profile: only these can be simulated. */
static void add_services(struct fleet_replan *r, const struct cluster_manager *manager,
                         const struct engine_report *reports, int n_engines, int64_t now_ns)
{
    struct live_job *job = r->job;
    struct monitor *window = &r->monitor->gather.window;
    struct monitor_reading reading;
    int64_t from = 0, to = 0;
    for (int s = 0; s < r->models->n; s++) {
        monitor_read(window, s, now_ns, &reading);
        from = max_i64(0, window->bin - MONITOR_BINS + 1);
        to = max_i64(window->bin, from + 1); /* bins that are over */
        if (!fleet_models_is_there(r->models, s) || reading.prompt.n == 0 ||
            !has_profile(&reading.perf) || cluster_manager_move_is_fixed(manager, s))
            continue;
        r->services[job->n_services] = s;
        struct live_service *service = &job->services[job->n_services++];
        *service = (struct live_service){ .size = size_of(r, reports, n_engines, s),
                                          .slo = r->models->services[s].slo,
                                          .perf = reading.perf,
                                          .prompt = reading.prompt,
                                          .output = reading.output };
        snprintf(service->name, sizeof service->name, "%s", r->models->services[s].name);
        for (int64_t bin = from; bin < to; bin++)
            service->n_arrived[bin - from] = window->services[s].bins[bin % MONITOR_BINS].n_arrived;
    }
    job->bin_ns = window->bin_ns;
    job->n_bins = (int32_t)(to - from);
}

/* Returns the bytes of a model that stays on the engine although no plan is made for it. */
static int64_t fixed_bytes(const struct fleet_replan *r, const struct cluster_manager *manager,
                           const struct engine_report *report, int s)
{
    const struct service_report *row = &report->services[s];
    int64_t n_bytes = row->weights_bytes + row->activation_bytes;
    if (cluster_manager_move_may_leave(manager, s))
        return 0;
    return n_bytes > 0 ? n_bytes : r->models->need_bytes[s];
}

static void add_engine(struct fleet_replan *r, const struct cluster_manager *manager,
                       const struct engine_report *report, int e)
{
    struct live_job *job = r->job;
    struct cluster_manager_engine seen;
    struct replace_links *links = &job->settings.links;
    cluster_manager_move_see(manager, e, &seen);
    if (seen.load_bytes_per_s > 0 && seen.load_bytes_per_s < links->disk_bytes_per_s)
        links->disk_bytes_per_s = seen.load_bytes_per_s;
    if (!seen.is_planned)
        return;
    r->engines[job->n_engines] = e;
    struct live_engine *engine = &job->engines[job->n_engines++];
    engine->memory_bytes = seen.memory_bytes;
    for (int k = 0; k < job->n_services; k++) {
        if (!set_has(&seen.there, r->services[k]))
            continue;
        set_add(&engine->there, k);
        set_remove(&seen.there, r->services[k]);
        engine->n_running[k] = report->services[r->services[k]].n_running;
    }
    for (int s = 0; (s = set_next(&seen.there, s, r->models->n)) >= 0; s++)
        engine->memory_bytes -= fixed_bytes(r, manager, report, s);
    engine->memory_bytes = max_i64(engine->memory_bytes, 0);
}

static void add_settings(struct fleet_replan *r)
{
    struct live_settings *settings = &r->job->settings;
    struct chosen chosen;
    chosen_of(r->config, &chosen);
    *settings = (struct live_settings){
        .schedule = chosen.schedule,
        .route = chosen.route,
        .kv_kind = (int32_t)chosen.kv_kind,
        .n_requests_max = (uint32_t)min_i64(r->config->n_requests_max, 1024),
        .effort = EFFORT,
        .seed = 1,
        .replace = r->replace,
        .links = { .host_bytes_per_s = HOST_BYTES_PER_S, .disk_bytes_per_s = DISK_BYTES_PER_S },
        .interval_ns = r->interval_ns,
    };
    snprintf(settings->planner, sizeof settings->planner, "%s",
             r->config->planner != NULL ? r->config->planner : "default");
    snprintf(settings->policy, sizeof settings->policy, "%s", chosen.policy->name);
    snprintf(settings->router, sizeof settings->router, "%s", chosen.router->name);
}

/* Fills in the job. Returns false, with a sentence in `said`, when there is nothing to plan. */
static bool fill_job(struct fleet_replan *r, const struct cluster_manager *manager, int64_t now_ns)
{
    int n_engines;
    const struct engine_report *reports = cluster_manager_plan_reports(manager, &n_engines);
    add_settings(r);
    add_services(r, manager, reports, n_engines, now_ns);
    for (int e = 0; e < n_engines && r->job->n_engines < LIVE_ENGINES_MAX; e++)
        if (reports[e].now_ns > 0)
            add_engine(r, manager, &reports[e], e);
    int64_t largest = 0;
    for (int k = 0; k < r->job->n_services; k++)
        largest = max_i64(largest, r->job->services[k].size.weights_bytes);
    r->stall_ns = STALL_NS + (int64_t)(1e9 * (double)largest / SLOW_BYTES_PER_S);
    if (r->job->n_services == 0)
        snprintf(r->said, sizeof r->said,
                 "nothing to plan: no model with a profile had a request in the window");
    else if (r->job->n_engines == 0)
        snprintf(r->said, sizeof r->said, "nothing to plan: no engine may be planned for");
    else if (r->job->n_engines == LIVE_ENGINES_MAX)
        snprintf(r->said, sizeof r->said, "live plans are for fewer than %d engines",
                 LIVE_ENGINES_MAX);
    else
        return true;
    return false;
}

/* ---- Planning. ---- */

static bool open_job(struct fleet_replan *r)
{
    r->job_fd = memfd_create("shoal-planner", MFD_CLOEXEC);
    if (r->job_fd < 0 || ftruncate(r->job_fd, (off_t)sizeof *r->job) != 0)
        return false;
    void *job = mmap(NULL, sizeof *r->job, PROT_READ | PROT_WRITE, MAP_SHARED, r->job_fd, 0);
    r->job = job != MAP_FAILED ? job : NULL;
    return r->job != NULL;
}

static void start(struct fleet_replan *r, const struct cluster_manager *manager, int64_t now_ns)
{
    struct fault fault = { "can't share memory with a process" };
    r->next_ns = now_ns + r->interval_ns;
    if (!open_job(r)) {
        snprintf(r->said, sizeof r->said, "%s", fault.text);
        drop_job(r);
        return;
    }
    if (!fill_job(r, manager, now_ns)) {
        drop_job(r);
        return;
    }
    memcpy(r->given, r->job, sizeof *r->given);
    const struct process_child_options options = { .role = "planner",
                                                   .name = "planner",
                                                   .fds = { r->job_fd },
                                                   .n_fds = 1,
                                                   .epoll_fd = r->epoll_fd };
    r->is_planning = process_child_start(&r->child, &options, &fault) == STATUS_OK;
    r->deadline_ns = now_ns + PLAN_NS;
    if (r->is_planning)
        return;
    snprintf(r->said, sizeof r->said, "%s", fault.text);
    drop_job(r);
}

/* Returns the manager's numbers of the job's services. */
static struct set services_of(const struct fleet_replan *r, const struct live_job *job)
{
    struct set services = { { 0 } };
    for (int k = 0; k < job->n_services; k++)
        set_add(&services, r->services[k]);
    return services;
}

static void begin_move(struct fleet_replan *r, struct cluster_manager *manager)
{
    const struct live_job *job = r->last;
    struct cluster_manager_target *targets = mem_take(sizeof *targets * (size_t)job->n_engines);
    const struct set services = services_of(r, job);
    for (int32_t i = 0; i < job->n_engines; i++) {
        targets[i].engine = r->engines[i];
        for (int k = 0; (k = set_next(&job->result.next[i], k, job->n_services)) >= 0; k++)
            set_add(&targets[i].services, r->services[k]);
    }
    cluster_manager_move_begin(manager, targets, job->n_engines, &services, r->stall_ns);
    mem_give(targets);
    r->is_moving = true;
}

/* Takes the result of a child that ended well. It may have been written by a process gone wrong, so
 * it is copied and checked first. */
static void take_result(struct fleet_replan *r, struct cluster_manager *manager, int64_t now_ns)
{
    struct live_job *last = r->last;
    memcpy(last, r->given, sizeof *last);
    last->result = r->job->result;
    memcpy(r->last_engines, r->engines, sizeof r->last_engines);
    struct live_result *result = &last->result;
    r->last_ns = now_ns;
    if (!live_plan_is_sane(last, result)) {
        snprintf(r->said, sizeof r->said, "the planner gave no sane result");
    } else if (result->status != STATUS_OK) {
        snprintf(r->said, sizeof r->said, "%s", result->fault.text);
    } else {
        snprintf(r->said, sizeof r->said, "%s", result->why);
        log_line(LOG_INFO, "replan", "%s%s", result->why,
                 result->verdict == REPLACE_INSTALL && r->mode != FLEET_REPLAN_ON
                     ? " (advice only: replacement is not on)"
                     : "");
        r->n_verdicts[result->verdict]++;
        bool installs = result->verdict == REPLACE_INSTALL && r->mode == FLEET_REPLAN_ON;
        const struct live_score *score = installs ? &result->planned : &result->kept;
        r->foretold = (struct replace_score){ score->normalized_latency, score->attainment };
        const struct set services = services_of(r, last);
        r->has_foretold = true;
        cluster_manager_move_planned(manager, &services);
        if (installs)
            begin_move(r, manager);
        return;
    }
    r->n_failed++;
    last->n_services = 0;
}

static void watch_child(struct fleet_replan *r, struct cluster_manager *manager, int64_t now_ns)
{
    static const char fine[] = "ended with code 0";
    char why[200];
    process_child_say(&r->child);
    if (process_child_is_over(&r->child, why, sizeof why)) {
        if (strncmp(why, fine, sizeof fine - 1) == 0) {
            take_result(r, manager, now_ns);
        } else {
            r->n_failed++;
            snprintf(r->said, sizeof r->said, "the planner %s", why);
            log_line(LOG_WARN, "replan", "%s", r->said);
        }
        drop_job(r);
    } else if (r->deadline_ns <= now_ns) {
        r->n_failed++;
        snprintf(r->said, sizeof r->said, "the planner was killed, since it took more than %d s",
                 (int)(PLAN_NS / TIME_NS_PER_S));
        log_line(LOG_WARN, "replan", "%s", r->said);
        drop_job(r);
    }
}

/* Reads what really happened since the last plan. Returns false when no request ended. */
static bool read_score(struct fleet_replan *r, int64_t now_ns, struct replace_score *out)
{
    struct monitor_reading reading;
    double normalized = 0, met = 0;
    int64_t n = 0, n_ended = 0;
    for (int s = 0; s < r->models->n; s++) {
        monitor_read(&r->monitor->gather.window, s, now_ns, &reading);
        n += reading.normalized.n;
        n_ended += reading.n_done + reading.n_failed;
        normalized += reading.normalized.mean * (double)reading.normalized.n;
        met += reading.attainment * (double)(reading.n_done + reading.n_failed);
    }
    if (n == 0 || n_ended == 0)
        return false;
    *out = (struct replace_score){ normalized / (double)n, met / (double)n_ended };
    return true;
}

static void watch_move(struct fleet_replan *r, const struct cluster_manager *manager)
{
    const char *why;
    enum cluster_manager_move_state state = cluster_manager_move_state(manager, &why);
    if (!r->is_moving || state == CLUSTER_MOVE_MOVING)
        return;
    r->is_moving = false;
    r->n_moves_done += state == CLUSTER_MOVE_DONE;
    r->n_moves_abandoned += state == CLUSTER_MOVE_ABANDONED;
    snprintf(r->moved, sizeof r->moved, "%s: %s", state == CLUSTER_MOVE_DONE ? "done" : "abandoned",
             why);
}

/* ---- Engines wanted. ---- */

static void count_wants(struct fleet_replan *r, const struct cluster_manager *manager,
                        int64_t now_ns)
{
    int n_engines;
    const struct engine_report *reports = cluster_manager_plan_reports(manager, &n_engines);
    struct monitor_gather *gather = &r->monitor->gather;
    int64_t memory_bytes = 0;
    double load_bytes_per_s = DISK_BYTES_PER_S;
    memset(r->copies, 0, sizeof r->copies);
    for (int e = 0; e < n_engines; e++) {
        struct cluster_manager_engine seen;
        cluster_manager_move_see(manager, e, &seen);
        if (!seen.is_planned)
            continue;
        memory_bytes = max_i64(memory_bytes, seen.memory_bytes);
        if (seen.load_bytes_per_s > 0 && seen.load_bytes_per_s < load_bytes_per_s)
            load_bytes_per_s = seen.load_bytes_per_s;
        for (int s = 0; (s = set_next(&seen.there, s, r->models->n)) >= 0; s++)
            r->copies[s]++;
    }
    for (int s = 0; s < r->models->n; s++) {
        struct monitor_reading reading;
        if (!fleet_models_is_there(r->models, s))
            continue;
        monitor_read(&gather->window, s, now_ns, &reading);
        struct live_want_ask ask = { .reading = &reading,
                                     .size = size_of(r, reports, n_engines, s),
                                     .tpot_ns = r->models->services[s].slo.tpot_ns,
                                     .memory_bytes = memory_bytes,
                                     .n_arrived = gather->n_arrived[s] - r->arrived[s],
                                     /* As if the advice had been followed. */
                                     .n_copies = r->wants[s].n_wanted >= 0 ? r->wants[s].n_wanted
                                                                           : r->copies[s] };
        ask.cold_start_ns = r->replace.settle_ns +
                            (int64_t)(1e9 * (double)ask.size.weights_bytes / load_bytes_per_s);
        r->arrived[s] = gather->n_arrived[s];
        live_want_tick(&r->scales[s], &ask, now_ns, &r->wants[s]);
    }
}

/* ---- Its step. ---- */

void fleet_replan_step(struct fleet_replan *r, struct cluster_manager *manager, bool is_still,
                       int64_t now_ns)
{
    struct replace_score real;
    if (is_still)
        cluster_manager_move_abandon(manager, "the manager may change nothing now");
    watch_move(r, manager);
    if (r->want_ns + WANT_NS <= now_ns) {
        r->want_ns = now_ns;
        count_wants(r, manager, now_ns);
    }
    if (r->is_planning)
        watch_child(r, manager, now_ns);
    if (r->mode == FLEET_REPLAN_OFF || r->is_planning || r->is_moving || is_still ||
        r->next_ns > now_ns)
        return;
    if (r->has_foretold && read_score(r, now_ns, &real))
        r->interval_ns = replace_interval_ns(&r->replace, r->interval_ns,
                                             replace_deviation(&real, &r->foretold));
    start(r, manager, now_ns);
}
