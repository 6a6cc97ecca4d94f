/* Another program, from start to end. */
#include "roofline/child.h"

#include "base/inherited.h"
#include "base/time.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUT, ERRORS, PIPES };

/* In the child: never returns. */
static void become(const char *const *argv, int out, int errors)
{
    inherited_unguard();
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(out, 1) < 0 || dup2(errors, 2) < 0)
        _exit(126);
    union {
        const char *const *from;
        char *const *to;
    } words = { .from = argv }; /* execvp changes nothing; its type predates const */
    execvp(argv[0], words.to);
    _exit(errno == ENOENT || errno == ENOTDIR ? 127 : 126);
}

/* Reads what is available. Returns false at the end. */
static bool read_some(int fd, struct str *out)
{
    char buffer[4096];
    ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n > 0)
        str_add(out, buffer, (size_t)n);
    return n > 0 || (n < 0 && errno == EINTR);
}

/* Reads until both are closed. Returns false after the deadline. */
static bool read_all(const int fds[PIPES], int64_t deadline_ns, struct str *const texts[PIPES])
{
    struct pollfd waits[PIPES] = { { .fd = fds[OUT], .events = POLLIN },
                                   { .fd = fds[ERRORS], .events = POLLIN } };
    while (waits[OUT].fd >= 0 || waits[ERRORS].fd >= 0) {
        int64_t left_ms = (deadline_ns - time_now_ns()) / TIME_NS_PER_MS;
        if (left_ms <= 0)
            return false;
        if (poll(waits, PIPES, (int)min_i64(left_ms, 1000)) <= 0)
            continue;
        for (int i = 0; i < PIPES; i++)
            if (waits[i].fd >= 0 && waits[i].revents != 0 && !read_some(waits[i].fd, texts[i]))
                waits[i].fd = -1;
    }
    return true;
}

/* The last line that is not empty. */
static struct view last_line(const struct str *text)
{
    size_t end = text->n;
    while (end > 0 && (text->at[end - 1] == '\n' || text->at[end - 1] == ' '))
        end--;
    size_t begin = end;
    while (begin > 0 && text->at[begin - 1] != '\n')
        begin--;
    return view_of(text->at + begin, end - begin < 160 ? end - begin : 160);
}

/* Judges its exit, after the pipes ended or were abandoned. */
static enum status judge(pid_t pid, const char *name, bool is_over, int64_t timeout_ns,
                         const struct str *errors, struct fault *fault)
{
    int code = 0;
    if (!is_over)
        kill(pid, SIGKILL);
    while (waitpid(pid, &code, 0) < 0 && errno == EINTR)
        continue;
    if (!is_over)
        return fault_set(fault, STATUS_CANCELLED, "%s took longer than %.1f s", name,
                         (double)timeout_ns * 1e-9);
    if (WIFEXITED(code) && WEXITSTATUS(code) == 0)
        return STATUS_OK;
    if (WIFEXITED(code) && WEXITSTATUS(code) == 127 && errors->n == 0)
        return fault_set(fault, STATUS_IO, "%s: there is no such program", name);
    if (WIFEXITED(code) && WEXITSTATUS(code) == 126 && errors->n == 0)
        return fault_set(fault, STATUS_IO, "%s can't be started, expected a program", name);
    struct view line = errors->n > 0 ? last_line(errors) : view_text("it said nothing");
    return fault_set(fault, STATUS_IO, "%s failed: %.*s", name, (int)line.n, line.at);
}

enum status roofline_child_run(const char *const *argv, int64_t timeout_ns, struct str *out,
                               struct str *errors, struct fault *fault)
{
    int ends[PIPES][2];
    struct str said;
    for (int i = 0; i < PIPES; i++) {
        if (pipe2(ends[i], O_CLOEXEC) == 0)
            continue;
        enum status why = fault_set(fault, STATUS_IO, "can't make a pipe: %s", strerror(errno));
        while (i-- > 0) {
            close(ends[i][0]);
            close(ends[i][1]);
        }
        return why;
    }
    str_init(&said);
    pid_t pid = fork();
    if (pid == 0)
        become(argv, ends[OUT][1], ends[ERRORS][1]);
    enum status status = STATUS_OK;
    close(ends[OUT][1]);
    close(ends[ERRORS][1]);
    if (pid < 0)
        status = fault_set(fault, STATUS_IO, "can't start %s: %s", argv[0], strerror(errno));
    if (pid > 0) {
        struct str *const texts[PIPES] = { out, &said };
        bool is_over = read_all((const int[]){ ends[OUT][0], ends[ERRORS][0] },
                                time_now_ns() + timeout_ns, texts);
        status = judge(pid, argv[0], is_over, timeout_ns, &said, fault);
    }
    close(ends[OUT][0]);
    close(ends[ERRORS][0]);
    if (errors != NULL)
        str_add(errors, said.at, said.n);
    str_free(&said);
    return status;
}
