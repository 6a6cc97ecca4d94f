/* Child processes of this program: the same program, started with a hidden verb.
 *
 *   (none) --start--> RUNNING --it ended, however--> OVER --end--> (none)
 *
 * A child inherits only the descriptors that it is given; they begin at PROCESS_CHILD_FDS. It ends
 * when its parent does (PR_SET_PDEATHSIG), ignores the signals that ask the parent to drain, and is
 * what the system ends first when memory is short. Its standard error becomes lines of the parent's
 * log, under the child's name. */
#pragma once
#include "base/status.h"
#include <sys/types.h>

enum { PROCESS_CHILD_FDS = 3, PROCESS_CHILD_FDS_MAX = 5, PROCESS_CHILD_LINE_BYTES = 1024 };
#define PROCESS_CHILD_VERB "process" /* argv: shoal process ROLE NAME PARENT'S-PID */

struct process_child {
    pid_t pid; /* 0: there is none */
    int pidfd; /* readable when it is over */
    int log_fd;
    int epoll_fd;  /* the caller's, which watches both */
    char name[32]; /* in the log: "engine-0" */
    char line[PROCESS_CHILD_LINE_BYTES];
    size_t n_line;
    int ended_by;   /* the signal that ended it; 0: none */
    char last[160]; /* the last line that was not a line of the log */
};
struct process_child_options {
    const char *role, *name;
    int fds[PROCESS_CHILD_FDS_MAX]; /* (n_fds) the caller's; the child gets copies */
    int n_fds;
    int epoll_fd;
};
enum status process_child_start(struct process_child *child,
                                const struct process_child_options *options,
                                struct fault *fault) MUST_USE;
/* Writes what the child said to the log. */
void process_child_say(struct process_child *child);
void process_child_kill(struct process_child *child);
/* Returns whether it is over, with the reason as words: "was ended by signal 9 (Killed)". It does
 * not wait. */
bool process_child_is_over(struct process_child *child, char *why, size_t n_bytes);
/* Frees what belongs to a child that is over. One that still runs is killed first. */
void process_child_end(struct process_child *child);

/* ---- For the child. ---- */

/* Prepares the process. Returns false when its parent is gone, or when no parent started it. */
bool process_child_begin(int argc, char **argv);
