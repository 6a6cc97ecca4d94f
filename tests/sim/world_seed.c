/* One seed of a simulated cluster: what it consists of, its faults, and its end. */
#include "world.h"

#include "base/time.h"

/* After the last fault: until a manager leads, all nodes obey it, all models are loaded, and all
 * requests from before have ended. */
static const int64_t PROGRESS_NS = 40 * TIME_NS_PER_S;
static const int64_t LAST_ENDS_NS = 20 * TIME_NS_PER_S; /* of requests that came since */
/* Until what went silent is noticed (10 s), dialled again (5 s), and leases have ended. */
static const int64_t QUIET_NS = 17 * TIME_NS_PER_S;
static const int64_t LOOK_NS = 250 * TIME_NS_PER_MS;

static bool wait_for_progress(struct world *w, int64_t bound_ns)
{
    int64_t since_ns = w->now_ns;
    const char *missing = "";
    while (w->wrong[0] == '\0' && missing != NULL && w->now_ns < since_ns + bound_ns) {
        world_run(w, w->now_ns + LOOK_NS);
        missing = world_checks_progress(w, since_ns);
    }
    if (missing != NULL)
        world_wrong(w, "%lld s after the last fault: %s", (long long)(bound_ns / TIME_NS_PER_S),
                    missing);
    return w->wrong[0] == '\0';
}

bool world_seed(struct world *w)
{
    int64_t faults_ns = (10 + (int64_t)rng_below(&w->rng, 20)) * TIME_NS_PER_S;
    world_run(w, w->began_ns + faults_ns);
    if (w->wrong[0] != '\0')
        return false;
    world_faults_heal(w);
    int64_t healed_ns = w->now_ns;
    if (!wait_for_progress(w, PROGRESS_NS))
        return false;
    w->count.healed_ns = w->now_ns - healed_ns;
    w->asks_nothing = true;
    if (!wait_for_progress(w, LAST_ENDS_NS))
        return false;
    world_run(w, w->now_ns + QUIET_NS);
    if (w->wrong[0] == '\0')
        world_checks_leaks(w);
    return w->wrong[0] == '\0';
}
