/* Signals and standard descriptors of the process. */
#include "base/inherited.h"

#include "base/base.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static const int write_signals[] = { SIGPIPE, SIGXFSZ };

static void set_all(void (*what)(int number))
{
    for (size_t i = 0; i < COUNT_OF(write_signals); i++)
        (void)signal(write_signals[i], what);
}

void inherited_guard(void)
{
    set_all(SIG_IGN);
    (void)signal(SIGCHLD, SIG_DFL); /* ignored, it would hide how children end */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
            continue;
        /* The lowest free number is this one. It is opened for the wrong direction. */
        if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            _exit(1); /* no way is left to report why */
    }
}

void inherited_unguard(void)
{
    set_all(SIG_DFL);
}
