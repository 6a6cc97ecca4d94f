/* Protects the process from what it inherits: signals and closed descriptors. */
#pragma once

/* Called once, before anything is opened. From now on a write into a closed pipe (SIGPIPE) or over
 * the limit of a file's size (SIGXFSZ) fails instead of ending the process. Closed standard
 * descriptors are opened so that their use fails. Otherwise a file or a socket could get the number
 * of stdout or stderr, and with it the output. */
void inherited_guard(void);
/* Restores signals in a child, before it becomes another program. */
void inherited_unguard(void);
