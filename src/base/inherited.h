/* What a process inherits and must not die of. */
#pragma once

/* Called once, before anything is opened. A write into a closed pipe (SIGPIPE) or over the limit of
 * a file's size (SIGXFSZ) fails from now on, where it would end the process. Standard descriptors
 * that are closed are opened so that their use fails: otherwise a file or a socket would get the
 * number of stdout or stderr, and with it what is printed there. */
void inherited_guard(void);
/* In a child, before it becomes another program: signals are as they were. */
void inherited_unguard(void);
