/* A queue of questions about files, and the thread that reads. */
#include "bulk/files.h"

#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include "base/wake.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ASKS_MAX = 64 };
static const int64_t SLICE_NS = 50 * TIME_NS_PER_MS;

struct shared {
    char *path;
    char sha256[65];
};
struct bulk_files {
    char *folder;
    struct shared *shared; /* (n_shared) */
    int n_shared;
    int64_t n_bytes_per_s;
    struct thread *thread;
    struct wake asked, answered;
    struct lock *lock; /* of all below */
    bool is_over;
    struct bulk_files_ask asks[ASKS_MAX]; /* a ring */
    struct bulk_files_answer answers[ASKS_MAX];
    uint32_t first_ask, n_asks, n_answers;
};

/* ---- The thread. ---- */

static void name_of(const uint8_t sha256[32], char out[65])
{
    for (int i = 0; i < 32; i++)
        snprintf(out + 2 * i, 3, "%02x", sha256[i]);
}

/* Returns -1 when there is no such file. */
static int open_file(const struct bulk_files *f, const uint8_t sha256[32])
{
    char name[65], path[PATH_MAX];
    int fd = -1;
    name_of(sha256, name);
    for (int i = 0; i < f->n_shared && fd < 0; i++)
        if (strcasecmp(f->shared[i].sha256, name) == 0)
            fd = open(f->shared[i].path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 || f->folder == NULL)
        return fd;
    int n = snprintf(path, sizeof path, "%s/%s", f->folder, name);
    return n < (int)sizeof path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
}

static void read_part(const struct bulk_files *f, struct bulk_files_answer *answer)
{
    struct stat info;
    int fd = open_file(f, answer->ask.sha256);
    if (fd < 0)
        return;
    bool is_file = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    int64_t n = is_file ? min_i64(info.st_size - answer->ask.offset, answer->ask.n) : -1;
    if (n > 0)
        answer->bytes = mem_try((size_t)n);
    bool is_read = n > 0 && answer->bytes != NULL &&
                   pread(fd, answer->bytes, (size_t)n, answer->ask.offset) == n;
    answer->is_there = is_file && (n <= 0 || is_read);
    answer->n_whole = is_file ? info.st_size : 0;
    answer->n = is_read ? n : 0;
    close(fd);
}

/* Returns false when the door closes. */
static bool next(struct bulk_files *f, struct bulk_files_answer *answer)
{
    for (;;) {
        lock_take(f->lock);
        bool is_over = f->is_over, has_ask = f->n_asks > 0;
        wake_clear(&f->asked);
        if (has_ask)
            *answer = (struct bulk_files_answer){ .ask = f->asks[f->first_ask] };
        lock_put(f->lock);
        if (is_over || has_ask)
            return !is_over;
        (void)wake_wait(&f->asked, -1);
    }
}

/* Sleeps, in slices, so that a low rate does not hold the closing up. */
static void sleep_until(struct bulk_files *f, int64_t until_ns)
{
    int64_t left_ns;
    for (bool is_over = false; !is_over && (left_ns = until_ns - time_now_ns()) > 0;) {
        time_sleep_ns(min_i64(left_ns, SLICE_NS));
        lock_take(f->lock);
        is_over = f->is_over;
        lock_put(f->lock);
    }
}

static void run(void *arg)
{
    struct bulk_files *f = arg;
    struct bulk_files_answer answer;
    thread_give_way();
    while (next(f, &answer)) {
        int64_t begin_ns = time_now_ns();
        read_part(f, &answer);
        lock_take(f->lock);
        f->first_ask = (f->first_ask + 1) % ASKS_MAX;
        f->n_asks--;
        f->answers[f->n_answers++] = answer; /* one for each ask at most */
        lock_put(f->lock);
        wake_up(&f->answered);
        if (f->n_bytes_per_s > 0) {
            double due_ns = (double)answer.n / (double)f->n_bytes_per_s * (double)TIME_NS_PER_S;
            sleep_until(f, begin_ns + (int64_t)due_ns);
        }
    }
}

/* ---- The door's side. ---- */

struct bulk_files *bulk_files_open(const struct bulk_files_options *options)
{
    struct bulk_files *f = mem_take(sizeof *f);
    f->folder = options->folder != NULL ? mem_copy_text(options->folder) : NULL;
    f->n_bytes_per_s = options->n_bytes_per_s;
    f->shared = mem_take(sizeof *f->shared * (size_t)options->n_files);
    for (int i = 0; i < options->n_files; i++) {
        f->shared[i].path = mem_copy_text(options->files[i].path);
        snprintf(f->shared[i].sha256, sizeof f->shared[i].sha256, "%s", options->files[i].sha256);
    }
    f->n_shared = options->n_files;
    f->lock = lock_open();
    wake_open(&f->asked);
    wake_open(&f->answered);
    f->thread = thread_start("bulk-files", run, f);
    return f;
}

void bulk_files_close(struct bulk_files *f)
{
    if (f == NULL)
        return;
    lock_take(f->lock);
    f->is_over = true;
    lock_put(f->lock);
    wake_up(&f->asked);
    thread_join(f->thread);
    for (uint32_t i = 0; i < f->n_answers; i++)
        mem_give(f->answers[i].bytes);
    for (int i = 0; i < f->n_shared; i++)
        mem_give(f->shared[i].path);
    wake_close(&f->asked);
    wake_close(&f->answered);
    lock_close(f->lock);
    mem_give(f->shared);
    mem_give(f->folder);
    mem_give(f);
}

bool bulk_files_put(struct bulk_files *f, const struct bulk_files_ask *ask)
{
    lock_take(f->lock);
    bool has_room = f->n_asks + f->n_answers < ASKS_MAX;
    if (has_room)
        f->asks[(f->first_ask + f->n_asks++) % ASKS_MAX] = *ask;
    lock_put(f->lock);
    if (has_room)
        wake_up(&f->asked);
    return has_room;
}

int bulk_files_wake_fd(const struct bulk_files *f)
{
    return f->answered.fd;
}

bool bulk_files_take(struct bulk_files *f, struct bulk_files_answer *answer)
{
    lock_take(f->lock);
    wake_clear(&f->answered);
    bool is_there = f->n_answers > 0;
    if (is_there)
        *answer = f->answers[--f->n_answers];
    lock_put(f->lock);
    return is_there;
}
