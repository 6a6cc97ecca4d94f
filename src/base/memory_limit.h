/* How much memory this process may have where somebody has set a limit below the machine's, and how
 * much of it is left. */
#pragma once
#include <stdint.h>

/* The least of its control groups (versions 1 and 2) and of half of RLIMIT_AS, since stacks,
 * malloc's arenas and mapped files take addresses without being memory; INT64_MAX where there is
 * none. */
int64_t memory_limit_bytes(void);
int64_t memory_limit_addresses(void); /* RLIMIT_AS alone */
/* That of the control groups under another root than "", for tests. */
int64_t memory_limit_of_groups(const char *root);

/* What may be taken on top of what this process has: the least of what the machine has free and of
 * what those limits leave. */
int64_t memory_limit_left(void);
/* What the machine has free, under another root than "" for tests; INT64_MAX: it does not say. */
int64_t memory_limit_free(const char *root);
