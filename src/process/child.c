/* Starts, watches and ends child processes. */
#include "process/child.h"

#include "base/inherited.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/memory_limit.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- Starting. ---- */

static void watch(int epoll_fd, int fd)
{
    struct epoll_event event = { .events = EPOLLIN };
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        base_refuse("the system watches no more descriptors: %s", strerror(errno));
}

/* The child's copies get numbers from PROCESS_CHILD_FDS on. They are above all of these first, so
 * that no copy overwrites one that is still to be copied. */
static int spawn(struct process_child *child, const struct process_child_options *o, int errors)
{
    char pid[24], verb[] = PROCESS_CHILD_VERB, program[] = "shoal", role[16], name[32];
    char *words[] = { program, verb, role, name, pid, NULL };
    posix_spawn_file_actions_t actions;
    int high[PROCESS_CHILD_FDS_MAX], n_high = 0, error = 0;
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    snprintf(role, sizeof role, "%s", o->role);
    snprintf(name, sizeof name, "%s", o->name);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return ENOMEM;
    for (; n_high < o->n_fds && error == 0; n_high++) {
        high[n_high] = fcntl(o->fds[n_high], F_DUPFD_CLOEXEC, 16);
        error = high[n_high] < 0 ? errno : 0;
        if (error == 0)
            error = posix_spawn_file_actions_adddup2(&actions, high[n_high],
                                                     PROCESS_CHILD_FDS + n_high);
    }
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    if (error == 0)
        error = posix_spawn_file_actions_addclosefrom_np(&actions, PROCESS_CHILD_FDS + o->n_fds);
    if (error == 0)
        error = posix_spawn(&child->pid, "/proc/self/exe", &actions, NULL, words, environ);
    for (int i = 0; i < n_high; i++)
        if (high[i] >= 0)
            close(high[i]);
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

enum status process_child_start(struct process_child *child, const struct process_child_options *o,
                                struct fault *fault)
{
    int pipe_fds[2];
    CHECK(o->n_fds <= PROCESS_CHILD_FDS_MAX);
    *child = (struct process_child){ .pidfd = -1, .log_fd = -1, .epoll_fd = o->epoll_fd };
    snprintf(child->name, sizeof child->name, "%s", o->name);
    if (pipe2(pipe_fds, O_CLOEXEC) != 0)
        return fault_set(fault, STATUS_IO, "can't make a pipe: %s", strerror(errno));
    int error = spawn(child, o, pipe_fds[1]);
    close(pipe_fds[1]);
    if (error == 0) {
        child->pidfd = pidfd_open(child->pid, 0);
        error = child->pidfd < 0 ? errno : 0;
    }
    if (error != 0) {
        close(pipe_fds[0]);
        process_child_end(child);
        return fault_set(fault, STATUS_IO, "can't start process %s: %s", o->name, strerror(error));
    }
    child->log_fd = pipe_fds[0];
    (void)fcntl(child->log_fd, F_SETFL, O_NONBLOCK); /* no other process has this end */
    watch(o->epoll_fd, child->pidfd);
    watch(o->epoll_fd, child->log_fd);
    return STATUS_OK;
}

/* ---- Its log. ---- */

/* A line of the child's own log begins with its level, as <6>; anything else is a last word. */
static void say_line(struct process_child *child)
{
    static const enum log_level levels[] = {
        ['3'] = LOG_ERROR, ['4'] = LOG_WARN, ['6'] = LOG_INFO, ['7'] = LOG_DEBUG
    };
    const char *line = child->line;
    child->line[child->n_line] = '\0';
    child->n_line = 0;
    bool is_log = line[0] == '<' && line[1] >= '3' && line[1] <= '7' && line[2] == '>';
    if (is_log)
        log_line(levels[(unsigned char)line[1]], child->name, "%s", line + 3);
    else if (line[0] != '\0')
        log_line(LOG_WARN, child->name, "%s", line);
    if (!is_log && line[0] != '\0')
        snprintf(child->last, sizeof child->last, "%.150s", line);
}

void process_child_say(struct process_child *child)
{
    char bytes[4096];
    ssize_t n;
    while (child->log_fd >= 0 && (n = read(child->log_fd, bytes, sizeof bytes)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return;
        for (ssize_t i = 0; i < n; i++) {
            if (bytes[i] != '\n')
                child->line[child->n_line++] = bytes[i];
            if (bytes[i] == '\n' || child->n_line == sizeof child->line - 1)
                say_line(child);
        }
    }
    if (child->log_fd < 0)
        return;
    (void)epoll_ctl(child->epoll_fd, EPOLL_CTL_DEL, child->log_fd, NULL); /* its end */
    close(child->log_fd);
    child->log_fd = -1;
}

/* ---- Its end. ---- */

void process_child_kill(struct process_child *child)
{
    if (child->pid > 0)
        (void)kill(child->pid, SIGKILL);
}

bool process_child_is_over(struct process_child *child, char *why, size_t n_bytes)
{
    int code;
    if (child->pid <= 0 || waitpid(child->pid, &code, WNOHANG) != child->pid)
        return false;
    child->pid = 0;
    child->ended_by = WIFSIGNALED(code) ? WTERMSIG(code) : 0;
    process_child_say(child);
    int n = WIFSIGNALED(code) ? snprintf(why, n_bytes, "was ended by signal %d (%s)",
                                         WTERMSIG(code), strsignal(WTERMSIG(code)))
                              : snprintf(why, n_bytes, "ended with code %d", WEXITSTATUS(code));
    if (n > 0 && (size_t)n < n_bytes && child->last[0] != '\0')
        snprintf(why + n, n_bytes - (size_t)n, " after \"%s\"", child->last);
    return true;
}

void process_child_end(struct process_child *child)
{
    process_child_kill(child);
    while (child->pid > 0 && waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    child->pid = 0;
    int *const fds[] = { &child->pidfd, &child->log_fd };
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        if (*fds[i] < 0)
            continue;
        (void)epoll_ctl(child->epoll_fd, EPOLL_CTL_DEL, *fds[i], NULL);
        close(*fds[i]);
        *fds[i] = -1;
    }
}

/* ---- The child's part. ---- */

/* Makes the system choose this process before the parent when memory is short. */
static void offer_to_killer(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, "300", 3) < 0)
        errno = 0; /* without it the system chooses by size, and an engine is the largest */
    if (fd >= 0)
        close(fd);
}

bool process_child_begin(int argc, char **argv)
{
    static const int parents[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
    sigset_t none;
    if (argc != 5 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != (pid_t)atol(argv[4]))
        return false;
    for (size_t i = 0; i < COUNT_OF(parents); i++)
        (void)signal(parents[i], SIG_IGN);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    offer_to_killer();
    (void)prctl(PR_SET_NAME, argv[3]);
    (void)setenv("JOURNAL_STREAM", "1", 1); /* the log's form with a level: see say_line */
    log_set(LOG_DEBUG, false);              /* the parent leaves out what is below its level */
    if (memory_limit_addresses() < INT64_MAX)
        mem_share_arena();
    return true;
}
