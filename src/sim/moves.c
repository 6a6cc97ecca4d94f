/* Models that move from engine to engine. */
#include "sim/moves.h"

#include "sim/state.h"

#include "base/mem.h"
#include "base/time.h"

/* ---- Slots. ---- */

static int32_t for_each_slot(const struct place_problem *problem, struct sim_slot *slots)
{
    int32_t count = 0;
    for (int32_t i = 0; i < problem->n_nodes; i++) {
        const struct place_node *node = &problem->nodes[i];
        for (int32_t n = PLACE_GROUP_MAX; n > 0; n /= 2)
            for (int32_t at = 0; at + n <= node->n_devices; at += n, count++)
                if (slots != NULL)
                    slots[count] = (struct sim_slot){ .node = i,
                                                      .first_device = node->first_device + at,
                                                      .n_devices = n,
                                                      .ready_ns = TIME_NEVER };
    }
    return count;
}

int32_t sim_moves_n_slots(const struct place_problem *problem)
{
    return for_each_slot(problem, NULL);
}

void sim_moves_slots(const struct place_problem *problem, struct sim_slot *slots)
{
    (void)for_each_slot(problem, slots);
}

const struct place_group *sim_moves_group(const struct place_plan *plan,
                                          const struct sim_slot *slot)
{
    for (int32_t g = 0; g < plan->n_groups; g++)
        if (plan->groups[g].first_device == slot->first_device &&
            plan->groups[g].n_devices == slot->n_devices)
            return &plan->groups[g];
    return NULL;
}

struct set sim_moves_services(const struct place_plan *plan, const struct sim_slot *slot)
{
    const struct place_group *group = sim_moves_group(plan, slot);
    struct set services = { { 0 } };
    for (int32_t m = 0; group != NULL && m < group->n_members; m++)
        set_add(&services, group->members[m].service);
    return services;
}

/* ---- What takes requests. ---- */

static void count_there(struct sim_moves *moves, struct sim *sim, const struct set *services,
                        int32_t change)
{
    for (int s = 0; (s = set_next(services, s, sim->options->n_services)) >= 0; s++) {
        moves->n_there[s] += change;
        if (moves->n_there[s] == 0) {
            moves->gone_ns[s] = sim->clock_ns;
        } else if (moves->gone_ns[s] != TIME_NEVER) {
            sim->report->replace.unavailable_ns += sim->clock_ns - moves->gone_ns[s];
            moves->gone_ns[s] = TIME_NEVER;
        }
    }
}

void sim_moves_open(struct sim_moves *moves, struct sim *sim, const struct place_problem *problem,
                    const struct place_plan *plan)
{
    size_t n_services = (size_t)sim->options->n_services;
    *moves = (struct sim_moves){ .problem = problem,
                                 .n = sim_moves_n_slots(problem),
                                 .wake_ns = TIME_NEVER,
                                 .n_devices = place_plan_devices(plan),
                                 .n_engines = plan->n_groups };
    CHECK(moves->n == sim->options->n_engines);
    moves->slots = mem_take((size_t)moves->n * sizeof(*moves->slots));
    moves->gone_ns = mem_take(n_services * sizeof(*moves->gone_ns));
    moves->n_there = mem_take(n_services * sizeof(*moves->n_there));
    sim_moves_slots(problem, moves->slots);
    for (int32_t i = 0; i < moves->n; i++) {
        moves->slots[i].there = sim_moves_services(plan, &moves->slots[i]);
        CHECK(set_equals(&moves->slots[i].there, &sim->options->engines[i].services));
        for (size_t s = 0; s < n_services; s++)
            moves->n_there[s] += set_has(&moves->slots[i].there, (int)s);
    }
    for (size_t s = 0; s < n_services; s++) {
        CHECK(moves->n_there[s] > 0);
        moves->gone_ns[s] = TIME_NEVER;
    }
}

void sim_moves_close(struct sim_moves *moves)
{
    mem_give(moves->slots);
    mem_give(moves->gone_ns);
    mem_give(moves->n_there);
}

/* ---- A move. ---- */

static void count_devices(struct sim_moves *moves, struct sim *sim)
{
    int64_t ns = sim->clock_ns - moves->devices_since_ns;
    sim->report->device_ns += ns * moves->n_devices;
    sim->report->engine_ns += ns * moves->n_engines;
    moves->devices_since_ns = sim->clock_ns;
}

static int64_t load_ns(const struct sim_moves *moves, const struct sim *sim,
                       const struct sim_slot *slot)
{
    struct replace_move move = { .is_prefetched = true };
    for (int s = 0; (s = set_next(&slot->booked, s, sim->options->n_services)) >= 0; s++)
        move.weights_bytes += sim->options->services[s].size.weights_bytes / slot->n_devices;
    sim->report->replace.loaded_bytes += move.weights_bytes * slot->n_devices;
    return replace_away_ns(moves->config, moves->links, &move);
}

static void set_wake(struct sim_moves *moves)
{
    moves->wake_ns = TIME_NEVER;
    for (int32_t i = 0; i < moves->n && moves->n_coming > 0; i++)
        moves->wake_ns = min_i64(moves->wake_ns, moves->slots[i].ready_ns);
    moves->is_moving = moves->n_going + moves->n_coming > 0;
}

/* Books the arriving models, as far as there is room; the engine's next step may make more. When
 * all are booked, it loads. */
static void book(struct sim_moves *moves, struct sim *sim, int32_t index)
{
    struct sim_slot *slot = &moves->slots[index];
    for (int s = 0; (s = set_next(&slot->coming, s, sim->options->n_services)) >= 0; s++) {
        const struct sim_service *service = &sim->options->services[s];
        struct engine_room room;
        if (!engine_make_room(sim->engines[index].engine, s, service->size.weights_bytes,
                              service->size.activation_bytes, sim->clock_ns, &room)) {
            CHECK(!room.never); /* place_check has seen to it */
            return;
        }
        set_remove(&slot->coming, s);
        set_add(&slot->booked, s);
    }
    slot->ready_ns = sim->clock_ns + load_ns(moves, sim, slot);
}

/* Books the arriving models, because all leaving ones have left. */
static void book_all(struct sim_moves *moves, struct sim *sim)
{
    for (int32_t i = 0; i < moves->n && moves->n_going == 0; i++) {
        if (set_is_empty(&moves->slots[i].coming))
            continue;
        book(moves, sim, i);
        sim_wakes_set(&sim->wakes, (uint32_t)i, sim->clock_ns); /* its pool may shrink */
    }
    set_wake(moves);
}

/* Returns true when the last of them has left, which is at once or after the running step. */
static bool close_more(struct sim *sim, struct sim_slot *slot, int32_t index)
{
    for (int s = 0; (s = set_next(&slot->going, s, sim->options->n_services)) >= 0; s++)
        if (engine_close_service(sim->engines[index].engine, s, sim->clock_ns))
            set_remove(&slot->going, s);
    return set_is_empty(&slot->going);
}

void sim_moves_begin(struct sim_moves *moves, struct sim *sim, const struct place_plan *plan)
{
    CHECK(!moves->is_moving);
    count_devices(moves, sim);
    moves->n_devices = place_plan_devices(plan);
    moves->n_engines = plan->n_groups;
    for (int32_t i = 0; i < moves->n; i++) { /* first, so that no request is sent to these */
        struct sim_slot *slot = &moves->slots[i];
        const struct set next = sim_moves_services(plan, slot);
        slot->going = set_without(&slot->there, &next);
        slot->coming = set_without(&next, &slot->there);
        slot->since_ns = sim->clock_ns;
        moves->n_coming += !set_is_empty(&slot->coming);
        if (set_is_empty(&slot->going))
            continue;
        moves->n_going++;
        slot->there = set_without(&slot->there, &slot->going);
        count_there(moves, sim, &slot->going, -1);
        sim_engines_show(sim, i, &slot->there);
    }
    for (int32_t i = 0; i < moves->n; i++) {
        if (set_is_empty(&moves->slots[i].going))
            continue;
        moves->n_going -= close_more(sim, &moves->slots[i], i);
        sim_wakes_set(&sim->wakes, (uint32_t)i, sim->clock_ns); /* its hold is cut */
    }
    book_all(moves, sim);
    sim_door_send(sim);
}

void sim_moves_stepped(struct sim_moves *moves, struct sim *sim, int32_t index)
{
    struct sim_slot *slot = &moves->slots[index];
    if (!set_is_empty(&slot->going) && close_more(sim, slot, index) && --moves->n_going == 0)
        book_all(moves, sim);
    else if (!set_is_empty(&slot->coming) && moves->n_going == 0)
        book(moves, sim, index);
    set_wake(moves);
}

void sim_moves_tick(struct sim_moves *moves, struct sim *sim)
{
    for (int32_t i = 0; i < moves->n; i++) {
        struct sim_slot *slot = &moves->slots[i];
        if (set_is_empty(&slot->booked) || slot->ready_ns > sim->clock_ns)
            continue;
        for (int s = 0; (s = set_next(&slot->booked, s, sim->options->n_services)) >= 0; s++)
            sim_engines_ready(sim, i, s);
        sim->report->replace.away_ns += (sim->clock_ns - slot->since_ns) * slot->n_devices;
        set_add_all(&slot->there, &slot->booked);
        count_there(moves, sim, &slot->booked, 1);
        slot->booked = (struct set){ { 0 } };
        slot->ready_ns = TIME_NEVER;
        moves->n_coming--;
        sim_engines_show(sim, i, &slot->there);
    }
    set_wake(moves);
    sim_door_send(sim);
}

void sim_moves_end(struct sim_moves *moves, struct sim *sim)
{
    count_devices(moves, sim);
    for (int32_t i = 0; i < moves->n; i++)
        if (!set_is_empty(&moves->slots[i].coming) || !set_is_empty(&moves->slots[i].booked))
            sim->report->replace.away_ns +=
                (sim->clock_ns - moves->slots[i].since_ns) * moves->slots[i].n_devices;
    for (int32_t s = 0; s < sim->options->n_services; s++)
        if (moves->gone_ns[s] != TIME_NEVER)
            sim->report->replace.unavailable_ns += sim->clock_ns - moves->gone_ns[s];
}
