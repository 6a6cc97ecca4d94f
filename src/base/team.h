/* A team of threads that runs one function together. Rank 0 is the caller; the others spin a
 * little, then sleep.
 *
 * team_run(team, f, arg) calls f(arg, rank, n) on every member and returns when all are done.
 * Inside f, team_barrier waits for all. Members may be pinned to cores. Only one team_run may be
 * active at a time. */
#pragma once
#include "base/base.h"

struct team;
/* cores: n core numbers to pin members to (rank 0 pins only while it runs when pin_caller), or NULL
 * for no pinning. */
struct team *team_open(int n, const int *cores, bool pin_caller);
/* Lets a later run use one member alone (f gets n = 1) while other work keeps the cores from the
 * team. Then each barrier waits for the slowest member, so that one alone finishes sooner. Only for
 * an f whose result does not depend on n. */
void team_let_shrink(struct team *team);
void team_close(struct team *team);
int team_size(const struct team *team);
void team_run(struct team *team, void (*f)(void *arg, int rank, int n), void *arg);
void team_barrier(struct team *team, int rank);

/* Threads and locks for the rest of the program (servers, loaders): */
struct thread;
struct thread *thread_start(const char *name, void (*f)(void *arg),
                            void *arg);  /* name: up to 15 characters */
void thread_join(struct thread *thread); /* waits, then frees */
/* Lowers the priority of the calling thread, and of the threads that it starts from now on. When
 * another thread wants the same core, such a thread gets about a third of what that one gets. */
void thread_give_way(void);
struct lock; /* first come, first served */
struct lock *lock_open(void);
void lock_close(struct lock *lock);
void lock_take(struct lock *lock);
void lock_put(struct lock *lock);
