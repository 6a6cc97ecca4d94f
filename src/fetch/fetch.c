/* Gets a file in as many tries as it takes, within bounds, and checks it. */
#include "fetch/fetch.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/team.h"
#include "base/time.h"
#include "fetch/peers.h"
#include "fetch/transfer.h"
#include "fetch/stop.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES_MAX = 5, TURNS_MAX = 100, URL_BYTES_MAX = 2000 };
static const int64_t PROGRESS_BYTES = 1 << 20; /* a try that brought less counts as failed */
static const int64_t PAUSE_NS = 250 * TIME_NS_PER_MS, PAUSE_NS_MAX = 8 * TIME_NS_PER_S;
static const int64_t LOCK_NS = 100 * TIME_NS_PER_MS;

struct job {
    struct fetch_file *out;
    const struct fetch_options *options;
    char sha256[FETCH_SHA256_TEXT], part[PATH_MAX], host[128];
    struct fault *fault;
    enum status status;
};

/* ---- Options. ---- */

static bool is_of_peers(const char *url)
{
    return strncasecmp(url, "peer://", 7) == 0;
}

bool fetch_is_url(const char *path)
{
    return strncasecmp(path, "http://", 7) == 0 || strncasecmp(path, "https://", 8) == 0 ||
           is_of_peers(path);
}

/* Returns the host and port of an address, for messages: the rest may have secrets. */
static struct view host_of(const char *url)
{
    const char *at = strstr(url, "://");
    at = at != NULL ? at + 3 : url;
    return view_of(at, strcspn(at, "/?#"));
}

enum status fetch_check(const struct fetch_options *o, struct fault *fault)
{
    struct view host = host_of(o->url);
    if (!fetch_is_url(o->url) || strlen(o->url) > URL_BYTES_MAX || host.n == 0 || host.n > 100)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "the address of a model's file is http://HOST/..., https://HOST/... or "
                         "peer://NAME, of %d bytes at most",
                         URL_BYTES_MAX);
    if (memchr(host.at, '@', host.n) != NULL)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "the address of a model's file may not have a name or password (@)");
    if (o->sha256 == NULL)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "the file is fetched from %.*s, so sha256 is needed: what it has to be",
                         (int)host.n, host.at);
    if (is_of_peers(o->url) && (o->peers == NULL || o->peers->n == 0))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "model_peers is empty: list the nodes that may have the file");
    if (!fetch_digest_is_text(o->sha256))
        return fault_set(fault, STATUS_BAD_INPUT, "sha256 has to be 64 hexadecimal digits");
    if (o->folder == NULL)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "model_cache is missing: name the folder for files that are fetched");
    if (strlen(o->folder) > PATH_MAX - 80)
        return fault_set(fault, STATUS_BAD_INPUT, "model_cache: the path is too long");
    return STATUS_OK;
}

static void lower(const char *sha256, char out[FETCH_SHA256_TEXT])
{
    for (int i = 0; i < FETCH_SHA256_TEXT; i++)
        out[i] = (char)tolower((unsigned char)sha256[i]);
}

/* ---- A file that is there. ---- */

/* Takes the file into use, if it is there. */
static bool take(struct fetch_file *out)
{
    struct stat info;
    out->fd = open(out->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (out->fd < 0)
        return false;
    if (flock(out->fd, LOCK_SH) == 0 && fstat(out->fd, &info) == 0 && info.st_nlink > 0 &&
        S_ISREG(info.st_mode)) {
        (void)futimens(out->fd, NULL); /* it was used now */
        return true;
    }
    close(out->fd); /* it was evicted in the meantime */
    out->fd = -1;
    return false;
}

enum status fetch_find(struct fetch_file *out, const struct fetch_options *o, struct fault *fault)
{
    char sha256[FETCH_SHA256_TEXT];
    *out = (struct fetch_file){ .fd = -1 };
    enum status status = fetch_check(o, fault);
    if (status != STATUS_OK)
        return status;
    lower(o->sha256, sha256);
    snprintf(out->path, sizeof out->path, "%.4015s/%s", o->folder, sha256);
    return take(out) ? STATUS_OK : STATUS_NOT_FOUND;
}

void fetch_release(struct fetch_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

/* ---- A part. ---- */

static enum status say_stopped(struct fault *fault)
{
    return fault_set(fault, STATUS_CANCELLED, "the process ends");
}

/* Returns false when fetches are stopped. */
static bool wait_for_lock(const struct job *job, int fd)
{
    log_line(LOG_INFO, "fetch", "%.16s...: another process fetches it", job->sha256);
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (fetch_is_stopped())
            return false;
        fetch_sleep_ns(LOCK_NS);
    }
    return true;
}

/* Opens the part and waits for its lock. Returns -1 when the file is there by then. */
static int open_part(struct job *job)
{
    for (;;) {
        struct stat opened, named;
        int fd = open(job->part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0) {
            job->status = fault_set(job->fault, STATUS_IO, "%.150s can't be opened: %s", job->part,
                                    strerror(errno));
            return -1;
        }
        if (flock(fd, LOCK_EX | LOCK_NB) != 0 && !wait_for_lock(job, fd)) {
            close(fd);
            job->status = say_stopped(job->fault);
            return -1;
        }
        /* The process that had the lock may have renamed or removed the part. */
        bool is_part = fstat(fd, &opened) == 0 && stat(job->part, &named) == 0 &&
                       opened.st_ino == named.st_ino && S_ISREG(opened.st_mode);
        if (!is_part)
            close(fd);
        if (take(job->out)) {
            if (is_part) {
                (void)unlink(job->part);
                close(fd);
            }
            return -1;
        }
        if (is_part)
            return fd;
    }
}

/* Checks a whole part. Returns false when it is another file. */
static bool is_right(const struct job *job, struct fetch_transfer *t)
{
    char text[FETCH_SHA256_TEXT];
    fetch_digest_end(&t->digest, text);
    if (strcmp(text, job->sha256) == 0)
        return true;
    t->fault.text[0] = '\0';
    fault_set(&t->fault, STATUS_BAD_INPUT,
              "it sent another file: the SHA-256 is %.16s..., and %.16s... is configured", text,
              job->sha256);
    t->is_wrong = true;
    return false;
}

/* An earlier source may have announced a longer file: what is reserved behind the end is freed. */
static enum status finish(const struct job *job, int fd)
{
    struct stat info;
    int folder = open(job->options->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_done = fstat(fd, &info) == 0 && ftruncate(fd, info.st_size) == 0 && fsync(fd) == 0 &&
                   fchmod(fd, 0644) == 0 && rename(job->part, job->out->path) == 0;
    int why = errno;
    if (is_done && folder >= 0)
        (void)fsync(folder); /* the name is there after a loss of power, too */
    if (folder >= 0)
        close(folder);
    return is_done ? STATUS_OK
                   : fault_set(job->fault, STATUS_IO, "%.150s can't become a file: %s", job->part,
                               strerror(why));
}

/* Tries until the file is there. A part that an earlier process left may be of another file, so a
 * wrong hash is final only for what came whole in this call. */
static enum status run_tries(struct job *job, struct fetch_transfer *t)
{
    bool was_resumed = t->n_there > 0;
    int64_t pause_ns = PAUSE_NS;
    for (int n_failed = 0, turn = 0; n_failed < TRIES_MAX && turn < TURNS_MAX; turn++) {
        int64_t before = t->n_there;
        if (turn > 0) {
            log_line(LOG_WARN, "fetch", "%.16s... from %s: %s: again after %lld of %lld bytes",
                     job->sha256, job->host, t->fault.text, (long long)t->n_there,
                     (long long)max_i64(t->n_whole, 0));
            fetch_sleep_ns(pause_ns);
            pause_ns = min_i64(2 * pause_ns, PAUSE_NS_MAX);
        }
        enum status status = fetch_transfer_run(t);
        bool is_whole = status == STATUS_OK || (t->n_whole == -2 && was_resumed);
        if (is_whole && is_right(job, t))
            return STATUS_OK;
        if (t->is_final || (is_whole && !was_resumed))
            break;
        bool has_moved = t->n_there - before >= PROGRESS_BYTES;
        n_failed += !has_moved;
        pause_ns = has_moved ? PAUSE_NS : pause_ns;
        if (is_whole || t->n_whole == -2) {
            fetch_peers_restart(t);
            was_resumed = false;
        }
    }
    if (fetch_is_stopped())
        return say_stopped(job->fault);
    if (t->is_wrong)
        fetch_peers_restart(t); /* a wrong part is of no use */
    return fault_set(job->fault, STATUS_IO, "the file could not be fetched from %.60s: %.150s",
                     job->host, t->fault.text);
}

/* Asks the peers, then the store. */
static enum status run_sources(struct job *job, struct fetch_transfer *t)
{
    if (fetch_peers_run(t, job->sha256))
        return STATUS_OK;
    if (fetch_is_stopped())
        return say_stopped(job->fault);
    if (!is_of_peers(job->options->url) && !t->is_final)
        return run_tries(job, t);
    return fault_set(job->fault, STATUS_IO, "the file could not be fetched from %s: %.150s",
                     is_of_peers(job->options->url) ? "any of model_peers" : job->host,
                     t->fault.text);
}

static void fetch(void *arg)
{
    struct job *job = arg;
    struct stat info;
    thread_give_way();
    int fd = open_part(job);
    if (fd < 0)
        return;
    struct fetch_transfer t = { .options = job->options, .fd = fd, .n_whole = -1 };
    fetch_digest_open(&t.digest);
    if (fstat(fd, &info) == 0)
        t.n_there = info.st_size;
    if (!fetch_digest_add_file(&t.digest, fd, t.n_there) && !fetch_is_stopped())
        fetch_peers_restart(&t);
    log_line(LOG_INFO, "fetch", "%.16s... from %s: begins at byte %lld", job->sha256, job->host,
             (long long)t.n_there);
    int64_t begin_ns = time_now_ns(), n_before = t.n_there;
    job->status = run_sources(job, &t);
    if (job->status == STATUS_OK)
        job->status = finish(job, fd);
    if (job->status == STATUS_OK) {
        double s = (double)max_i64(time_now_ns() - begin_ns, 1) / 1e9;
        log_line(LOG_INFO, "fetch", "%.16s... from %s: %lld bytes are there, %.1f MiB/s",
                 job->sha256, job->host, (long long)t.n_there,
                 (double)(t.n_there - n_before) / s * 0x1p-20);
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        (void)flock(fd, LOCK_SH);
        job->out->fd = fd;
    } else {
        /* Bytes that were reserved and did not come are the disk's again. */
        if (t.n_whole > t.n_there)
            (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, t.n_there,
                            t.n_whole - t.n_there);
        if (t.n_there == 0)
            (void)unlink(job->part);
        close(fd);
    }
    fetch_digest_close(&t.digest);
}

enum status fetch_get(struct fetch_file *out, const struct fetch_options *o, struct fault *fault)
{
    enum status status = fetch_find(out, o, fault);
    if (status != STATUS_NOT_FOUND)
        return status;
    if (mkdir(o->folder, 0755) != 0 && errno != EEXIST)
        return fault_set(fault, STATUS_IO, "model_cache %.150s can't be made: %s", o->folder,
                         strerror(errno));
    struct job *job = mem_take(sizeof *job);
    struct view host = host_of(o->url);
    *job = (struct job){ .out = out, .options = o, .fault = fault, .status = STATUS_OK };
    lower(o->sha256, job->sha256);
    snprintf(job->part, sizeof job->part, "%.4015s/%s.part", o->folder, job->sha256);
    snprintf(job->host, sizeof job->host, "%.*s", (int)host.n, host.at);
    utf8_tame(job->host);
    thread_join(thread_start("fetch", fetch, job));
    status = job->status;
    mem_give(job);
    return status;
}
