/* The store of packed weights, and the loader that fills it. */
#include "process/weights.h"

#include "base/log.h"
#include "base/mem.h"
#include "process/child.h"
#include "process/loader.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum phase { NONE, WAITS, PACKING, READY, FAILED };

struct entry {
    enum phase phase;
    uint16_t life;
    struct set users; /* engines */
    char path[PATH_MAX];
    int64_t n_bytes;
    int fd;
    uint64_t file_hash;
    enum status status;
    struct fault fault;
};
struct process_weights {
    struct process_device device;
    int epoll_fd;
    struct entry entries[LIMIT_MODELS]; /* by service */
    int packing;                        /* the entry of the loader; -1: there is none */
    struct process_child loader;
    struct process_loader_job *job;
    int job_fd;
};

struct process_weights *process_weights_open(const struct process_device *device, int epoll_fd)
{
    struct process_weights *w = mem_take(sizeof *w);
    w->device = *device;
    w->epoll_fd = epoll_fd;
    w->packing = w->job_fd = -1;
    w->loader.pidfd = w->loader.log_fd = -1;
    for (int s = 0; s < LIMIT_MODELS; s++)
        w->entries[s].fd = -1;
    return w;
}

bool process_weights_are_shared(const struct device_spec *one, const struct device_spec *other)
{
    return one->kind == DEVICE_CPU && other->kind == DEVICE_CPU &&
           one->n_ranks == other->n_ranks &&
           memcmp(one->rank_layers, other->rank_layers, sizeof one->rank_layers) == 0;
}

/* ---- The loader. ---- */

static void end_loader(struct process_weights *w)
{
    if (w->packing < 0)
        return;
    process_child_end(&w->loader);
    if (w->job != NULL)
        CHECK(munmap(w->job, sizeof *w->job) == 0);
    if (w->job_fd >= 0)
        close(w->job_fd);
    w->job = NULL;
    w->job_fd = -1;
    w->packing = -1;
}

static void drop(struct process_weights *w, int s)
{
    struct entry *entry = &w->entries[s];
    if (w->packing == s)
        end_loader(w);
    if (entry->fd >= 0)
        close(entry->fd);
    *entry = (struct entry){ .fd = -1 };
}

static void fail(struct process_weights *w, int s, enum status status, const struct fault *fault)
{
    struct entry *entry = &w->entries[s];
    end_loader(w);
    if (entry->fd >= 0)
        close(entry->fd);
    entry->fd = -1;
    entry->phase = FAILED;
    entry->status = status;
    entry->fault = *fault;
}

/* Makes memory of a fixed size. Its size can't change any more. */
static int make_memory(const char *name, int64_t n_bytes)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && (ftruncate(fd, (off_t)n_bytes) != 0 ||
                    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static void start_loader(struct process_weights *w, int s)
{
    struct entry *entry = &w->entries[s];
    struct fault fault;
    void *job = MAP_FAILED;
    w->packing = s;
    entry->phase = PACKING;
    entry->fd = make_memory("shoal-weights", entry->n_bytes);
    w->job_fd = make_memory("shoal-loader", sizeof *w->job);
    if (entry->fd >= 0 && w->job_fd >= 0)
        job = mmap(NULL, sizeof *w->job, PROT_READ | PROT_WRITE, MAP_SHARED, w->job_fd, 0);
    if (job == MAP_FAILED) {
        fault_set(&fault, STATUS_IO, "can't share memory with a process: %s", strerror(errno));
        fail(w, s, STATUS_IO, &fault);
        return;
    }
    w->job = job;
    memcpy(w->job->path, entry->path, sizeof w->job->path);
    w->job->device = w->device;
    w->job->n_bytes = entry->n_bytes;
    const struct process_child_options options = { .role = "loader",
                                                   .name = "loader",
                                                   .fds = { w->job_fd, entry->fd },
                                                   .n_fds = 2,
                                                   .epoll_fd = w->epoll_fd };
    enum status status = process_child_start(&w->loader, &options, &fault);
    if (status != STATUS_OK)
        fail(w, s, status, &fault);
}

/* The loader may have met a hostile file, so that its result is checked like one. */
static void take_result(struct process_weights *w, const char *why)
{
    int s = w->packing;
    struct entry *entry = &w->entries[s];
    const struct process_loader_job result = *w->job;
    struct fault fault = result.fault;
    enum status status = (enum status)result.status;
    bool is_sane =
        result.status >= STATUS_OK && result.status <= STATUS_IO && fault_is_text(&fault);
    static const char fine[] = "ended with code 0"; /* its last words may follow */
    if (strncmp(why, fine, sizeof fine - 1) != 0 || !is_sane)
        status = fault_set(&fault, STATUS_BAD_INPUT,
                           "%.80s is not loaded, since the process that read it %.140s",
                           entry->path, is_sane ? why : "gave no sane result");
    else if (status == STATUS_OK && fcntl(entry->fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL) != 0)
        status =
            fault_set(&fault, STATUS_IO, "packed weights can't be sealed: %s", strerror(errno));
    if (status != STATUS_OK) {
        fail(w, s, status, &fault);
        return;
    }
    entry->file_hash = result.file_hash;
    entry->phase = READY;
    end_loader(w);
}

void process_weights_step(struct process_weights *w)
{
    char why[256];
    if (w->packing >= 0) {
        process_child_say(&w->loader);
        if (process_child_is_over(&w->loader, why, sizeof why))
            take_result(w, why);
    }
    for (int s = 0; s < LIMIT_MODELS && w->packing < 0; s++)
        if (w->entries[s].phase == WAITS)
            start_loader(w, s);
}

/* ---- Use. ---- */

void process_weights_use(struct process_weights *w, const struct process_weights_want *want,
                         struct process_weights_answer *answer)
{
    struct entry *entry = &w->entries[want->service];
    bool is_same = entry->life == want->life && strcmp(entry->path, want->path) == 0;
    bool is_under_way = entry->phase == WAITS || entry->phase == PACKING;
    if (is_same && is_under_way && entry->n_bytes != want->n_bytes) {
        answer->state = PROCESS_WEIGHTS_FAILED;
        answer->status = fault_set(&answer->fault, STATUS_IO, "the file changed while it was read");
        return;
    }
    if (entry->phase != NONE && (!is_same || entry->n_bytes != want->n_bytes))
        drop(w, want->service); /* of an earlier service, or of a file that has changed */
    if (entry->phase == NONE) {
        entry->phase = WAITS;
        entry->life = want->life;
        entry->n_bytes = want->n_bytes;
        snprintf(entry->path, sizeof entry->path, "%s", want->path);
    }
    set_add(&entry->users, want->engine);
    answer->state = PROCESS_WEIGHTS_WAITS;
    if (entry->phase == READY) {
        answer->state = PROCESS_WEIGHTS_READY;
        answer->lent = (struct run_unit_lent){ entry->fd, entry->file_hash };
    } else if (entry->phase == FAILED) {
        answer->state = PROCESS_WEIGHTS_FAILED;
        answer->status = entry->status;
        answer->fault = entry->fault;
        process_weights_release(w, want->engine, want->service);
    }
}

void process_weights_release(struct process_weights *w, int engine, int service)
{
    struct entry *entry = &w->entries[service];
    if (entry->phase == NONE || !set_has(&entry->users, engine))
        return;
    set_remove(&entry->users, engine);
    if (set_is_empty(&entry->users))
        drop(w, service);
}

int process_weights_percent(const struct process_weights *w, int service)
{
    if (w->packing != service || w->job == NULL)
        return 0;
    int percent = atomic_load_explicit(&w->job->progress.percent, memory_order_relaxed);
    return percent >= 0 && percent <= 100 ? percent : 0;
}

void process_weights_close(struct process_weights *w)
{
    if (w == NULL)
        return;
    for (int s = 0; s < LIMIT_MODELS; s++)
        drop(w, s);
    mem_give(w);
}
