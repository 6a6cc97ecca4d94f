/* Returns how much memory this process may have, where a limit below the machine's is set, and how
 * much of it is left. */
#pragma once
#include <stdint.h>

/* Returns the least of the limits of its control groups (versions 1 and 2) and of half of
 * RLIMIT_AS; INT64_MAX without a limit. Half, because stacks, malloc's arenas and mapped files take
 * addresses without being memory. */
int64_t memory_limit_bytes(void);
int64_t memory_limit_addresses(void); /* RLIMIT_AS alone */
/* Returns the limit of the control groups under another root than "", for tests. */
int64_t memory_limit_of_groups(const char *root);

/* Returns the bytes that this process may still take: the least of what the machine has free and of
 * what those limits leave. */
int64_t memory_limit_left(void);
/* Returns what the machine has free, under another root than "" for tests; INT64_MAX when the
 * machine does not report it. */
int64_t memory_limit_free(const char *root);
