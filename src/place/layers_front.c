/* The least step for each number of devices: classes of equal devices, states, and the way back. */
#include "place/layers_front.h"

#include "base/mem.h"
#include <string.h>

enum { CLASSES_MAX = 64, KEY_BITS = 64, NO_START = -1 };

struct class
{                     /* devices that may be exchanged */
    int32_t n, first; /* its devices: ids[first .. first + n) */
    int64_t layer_ps, inner_ps;
    int32_t n_layers_max;
    int shift, n_bits; /* its count's place in a key */
    int orbit;         /* the first of the exchangeable classes, which are next to each other */
};
struct state { /* a set of devices and the class of its last one, with the least path */
    uint64_t key;
    int64_t path_ps;
    int32_t from;    /* the previous state; -1: the first device */
    int16_t n;       /* devices */
    int8_t last;     /* class, by its place in the ordered counts */
    int8_t position; /* that the last device was added to, in the order of `from` */
    int8_t start;    /* class of the first device; NO_START: links do not return */
};
struct front {
    const struct layers_problem *problem;
    bool is_fewest;
    int n_classes;
    struct class classes[CLASSES_MAX];
    int by_speed[CLASSES_MAX]; /* classes, the fastest first */
    int32_t ids[LAYERS_DEVICES_MAX];
    int64_t *link_ps;  /* (n_classes, n_classes) */
    int64_t *fill_ps;  /* (n_layers + 1): time of this many layers on the fastest devices of all */
    int64_t *cost_ps;  /* the face's */
    int64_t *bound_ps; /* (n_max + 1): least of cost_ps up to this number */
    int32_t *best_state; /* (n_max + 1) */
    struct state *states;
    int32_t n_states, states_max;
    int32_t *table; /* (n_table): state + 1; 0 is free */
    uint32_t n_table;
    int start;
};

/* ---- Classes. ---- */

static bool may_swap(const struct layers_problem *p, int32_t a, int32_t b)
{
    const int64_t *link = p->link_ps;
    int32_t n = p->n_devices;
    if (p->devices[a].layer_ps != p->devices[b].layer_ps ||
        min_i32(p->devices[a].n_layers_max, p->n_layers) !=
            min_i32(p->devices[b].n_layers_max, p->n_layers) ||
        link[a * n + b] != link[b * n + a])
        return false;
    for (int32_t c = 0; c < n; c++)
        if (c != a && c != b &&
            (link[a * n + c] != link[b * n + c] || link[c * n + a] != link[c * n + b]))
            return false;
    return true;
}

/* Puts every device that has room into its class. Returns false for more than CLASSES_MAX. */
static bool classify(struct front *f)
{
    const struct layers_problem *p = f->problem;
    int32_t class_of[LAYERS_DEVICES_MAX], n_ids = 0;
    int32_t rep[CLASSES_MAX];
    for (int32_t d = 0; d < p->n_devices; d++) {
        int c = 0;
        class_of[d] = -1;
        if (p->devices[d].n_layers_max == 0)
            continue;
        while (c < f->n_classes && !may_swap(p, rep[c], d))
            c++;
        if (c == CLASSES_MAX)
            return false;
        if (c == f->n_classes) {
            rep[f->n_classes++] = d;
            f->classes[c] = (struct class){
                .layer_ps = p->devices[d].layer_ps,
                .n_layers_max = min_i32(p->devices[d].n_layers_max, p->n_layers),
            };
        } else if (f->classes[c].n == 1) {
            f->classes[c].inner_ps = p->link_ps[rep[c] * p->n_devices + d];
        }
        f->classes[c].n++;
        class_of[d] = c;
    }
    for (int c = 0; c < f->n_classes; c++) {
        f->classes[c].first = n_ids;
        for (int32_t d = 0; d < p->n_devices; d++)
            if (class_of[d] == c)
                f->ids[n_ids++] = d;
    }
    return true;
}

static int64_t link_of(const struct front *f, int from, int to)
{
    const struct layers_problem *p = f->problem;
    int32_t a = f->ids[f->classes[from].first], b = f->ids[f->classes[to].first];
    return p->link_ps[a * p->n_devices + b];
}

static bool may_swap_classes(const struct front *f, int a, int b)
{
    const struct class *x = &f->classes[a], *y = &f->classes[b];
    if (x->n != y->n || x->layer_ps != y->layer_ps || x->n_layers_max != y->n_layers_max ||
        x->inner_ps != y->inner_ps || link_of(f, a, b) != link_of(f, b, a))
        return false;
    for (int c = 0; c < f->n_classes; c++)
        if (c != a && c != b &&
            (link_of(f, a, c) != link_of(f, b, c) || link_of(f, c, a) != link_of(f, c, b)))
            return false;
    return true;
}

/* Puts exchangeable classes next to each other. */
static void order_orbits(struct front *f)
{
    struct class ordered[CLASSES_MAX];
    bool is_placed[CLASSES_MAX] = { false };
    int n = 0;
    for (int c = 0; c < f->n_classes; c++) {
        int orbit = n;
        if (is_placed[c])
            continue;
        for (int k = c; k < f->n_classes; k++) {
            if (is_placed[k] || (k != c && !may_swap_classes(f, c, k)))
                continue;
            ordered[n] = f->classes[k];
            ordered[n++].orbit = orbit;
            is_placed[k] = true;
        }
    }
    memcpy(f->classes, ordered, (size_t)n * sizeof(ordered[0]));
}

/* Gives each class its bits in the key. Returns false when there are too many. */
static bool lay_out_keys(struct front *f)
{
    int shift = 0;
    for (int c = 0; c < f->n_classes; c++) {
        int n_bits = 1;
        while (f->classes[c].n >> n_bits != 0)
            n_bits++;
        f->classes[c].shift = shift;
        f->classes[c].n_bits = n_bits;
        shift += n_bits;
    }
    return shift <= KEY_BITS;
}

static void order_by_speed(struct front *f)
{
    for (int c = 0; c < f->n_classes; c++) {
        int at = c;
        while (at > 0 && f->classes[f->by_speed[at - 1]].layer_ps > f->classes[c].layer_ps) {
            f->by_speed[at] = f->by_speed[at - 1];
            at--;
        }
        f->by_speed[at] = c;
    }
    int64_t ps = 0;
    int32_t n = 0;
    for (int i = 0; i < f->n_classes; i++) {
        const struct class *class = &f->classes[f->by_speed[i]];
        int64_t room = (int64_t) class->n * class->n_layers_max;
        for (int64_t k = 0; k < room && n < f->problem->n_layers; k++) {
            ps += class->layer_ps;
            f->fill_ps[++n] = ps;
        }
    }
    CHECK(n == f->problem->n_layers);
}

/* ---- States. ---- */

static uint32_t slot_of(const struct front *f, uint64_t key, int last)
{
    uint64_t h = (key ^ (uint64_t)last << 58 ^ (uint64_t)last) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 32) & (f->n_table - 1);
}

static void grow_table(struct front *f, int32_t first_state)
{
    uint32_t n = f->n_table == 0 ? 1024 : f->n_table * 2;
    mem_give(f->table);
    f->table = mem_take((size_t)n * sizeof(f->table[0]));
    f->n_table = n;
    for (int32_t i = first_state; i < f->n_states; i++) {
        uint32_t at = slot_of(f, f->states[i].key, f->states[i].last);
        while (f->table[at] != 0)
            at = (at + 1) & (n - 1);
        f->table[at] = i + 1;
    }
}

/* Keeps the path if it is the least to this set and last device. Returns false with too many
 * states. */
static bool relax(struct front *f, const struct state *state, int32_t first_state)
{
    if ((uint32_t)(f->n_states - first_state + 1) * 2 > f->n_table)
        grow_table(f, first_state);
    uint32_t at = slot_of(f, state->key, state->last);
    for (; f->table[at] != 0; at = (at + 1) & (f->n_table - 1)) {
        struct state *old = &f->states[f->table[at] - 1];
        if (old->key != state->key || old->last != state->last)
            continue;
        if (state->path_ps < old->path_ps)
            *old = *state;
        return true;
    }
    if (f->n_states == LAYERS_FRONT_STATES_MAX)
        return false;
    if (f->n_states == f->states_max) {
        int32_t n = f->states_max == 0 ? 1024 : f->states_max * 2;
        f->states = mem_grow(f->states, (size_t)f->states_max * sizeof(f->states[0]),
                             (size_t)n * sizeof(f->states[0]));
        f->states_max = n;
    }
    f->states[f->n_states++] = *state;
    f->table[at] = f->n_states;
    return true;
}

static void read_key(const struct front *f, uint64_t key, int32_t *counts)
{
    for (int c = 0; c < f->n_classes; c++)
        counts[c] =
            (int32_t)(key >> f->classes[c].shift & ((UINT64_C(1) << f->classes[c].n_bits) - 1));
}

/* Returns the first class that is kept in order with this one. The class of the first device is
 * not, since the way back leads there. */
static int order_begin(const struct front *f, int start, int c)
{
    int begin = f->classes[c].orbit;
    return c == start ? c : begin <= start && start < c ? start + 1 : begin;
}

/* Adds one device of class p. Returns its new place among the ordered counts, which are sorted
 * again. Among equal counts the last device's class comes first. */
static int lift(const struct front *f, int start, int32_t *counts, int p)
{
    int32_t n = counts[p] + 1;
    int q = order_begin(f, start, p);
    while (q < p && counts[q] > n)
        q++;
    memmove(&counts[q + 1], &counts[q], (size_t)(p - q) * sizeof(counts[0]));
    counts[q] = n;
    return q;
}

static uint64_t write_key(const struct front *f, const int32_t *counts)
{
    uint64_t key = 0;
    for (int c = 0; c < f->n_classes; c++)
        key |= (uint64_t)counts[c] << f->classes[c].shift;
    return key;
}

/* ---- The search. ---- */

/* Returns what a set costs with its path: one layer each, the others on the fastest. INT64_MAX when
 * it holds too few. */
static int64_t close_ps(const struct front *f, const struct state *state, const int32_t *counts)
{
    int64_t ps = state->path_ps, n_left = f->problem->n_layers - state->n;
    for (int i = 0; i < f->n_classes; i++) {
        const struct class *class = &f->classes[f->by_speed[i]];
        int64_t n_used = counts[f->by_speed[i]];
        int64_t n = min_i64(n_left, n_used * (class->n_layers_max - 1));
        ps += (n_used + n) * class->layer_ps;
        n_left -= n;
    }
    if (state->start != NO_START && state->n > 1)
        ps += state->last == state->start ? f->classes[state->start].inner_ps
                                          : f->link_ps[state->last * f->n_classes + state->start];
    return n_left > 0 ? INT64_MAX : ps;
}

static void keep_best(struct front *f, int32_t index, int64_t cost_ps, int32_t n_max)
{
    int32_t n = f->states[index].n;
    if (cost_ps >= f->cost_ps[n])
        return;
    f->cost_ps[n] = cost_ps;
    f->best_state[n] = index;
    for (int32_t k = n; k <= n_max; k++)
        f->bound_ps[k] = min_i64(f->bound_ps[k], cost_ps);
}

/* Makes the states with one device more. Returns false with too many. */
static bool expand(struct front *f, int32_t index, int32_t n_max, int32_t first_state)
{
    const struct state s = f->states[index];
    int32_t counts[CLASSES_MAX];
    int64_t used_ps = 0;
    read_key(f, s.key, counts);
    keep_best(f, index, close_ps(f, &s, counts), n_max);
    if (s.n == n_max || (f->is_fewest && f->bound_ps[s.n] < INT64_MAX))
        return true;
    for (int c = 0; c < f->n_classes; c++)
        used_ps += counts[c] * f->classes[c].layer_ps;
    for (int p = max_i32(0, f->start); p < f->n_classes; p++) {
        const struct class *class = &f->classes[p];
        bool is_repeat = p > order_begin(f, f->start, p) && counts[p] == counts[p - 1] &&
                         p != s.last && p - 1 != s.last;
        if (counts[p] == class->n || is_repeat)
            continue;
        int64_t path_ps =
            s.path_ps + (p == s.last ? class->inner_ps : f->link_ps[s.last * f->n_classes + p]);
        int64_t least_ps =
            path_ps + used_ps + class->layer_ps + f->fill_ps[f->problem->n_layers - s.n - 1];
        if (least_ps >= f->bound_ps[s.n + 1])
            continue;
        int32_t more[CLASSES_MAX];
        memcpy(more, counts, sizeof(more));
        int q = lift(f, f->start, more, p);
        const struct state next = { .key = write_key(f, more),
                                    .path_ps = path_ps,
                                    .from = index,
                                    .n = (int16_t)(s.n + 1),
                                    .last = (int8_t)q,
                                    .position = (int8_t)p,
                                    .start = (int8_t)f->start };
        if (!relax(f, &next, first_state))
            return false;
    }
    return true;
}

/* Searches all sets whose path begins in `start`, or, with NO_START, anywhere. */
static bool search(struct front *f, int start, int32_t n_max)
{
    int32_t first_state = f->n_states;
    f->start = start;
    if (f->table != NULL)
        memset(f->table, 0, (size_t)f->n_table * sizeof(f->table[0]));
    for (int c = 0; c < f->n_classes; c++) {
        if (start == NO_START ? f->classes[c].orbit != c : c != start)
            continue;
        const struct state first = { .key = UINT64_C(1) << f->classes[c].shift,
                                     .from = -1,
                                     .n = 1,
                                     .last = (int8_t)c,
                                     .position = (int8_t)c,
                                     .start = (int8_t)start };
        if (!relax(f, &first, first_state))
            return false;
    }
    for (int32_t i = first_state; i < f->n_states; i++) /* in order of their number of devices */
        if (!expand(f, i, n_max, first_state))
            return false;
    return true;
}

enum status layers_front_open(struct layers_front *front, const struct layers_problem *problem,
                              bool is_fewest, struct fault *fault)
{
    struct front *f = mem_take(sizeof(*f));
    int32_t n_max = min_i32(problem->n_devices, problem->n_layers);
    size_t n = (size_t)n_max + 1;
    *front = (struct layers_front){ .n_max = n_max, .private = f };
    *f = (struct front){ .problem = problem, .is_fewest = is_fewest };
    if (!classify(f))
        return fault_set(fault, STATUS_UNSUPPORTED, "more than %d kinds of unlike devices",
                         CLASSES_MAX);
    order_orbits(f);
    if (!lay_out_keys(f))
        return fault_set(fault, STATUS_UNSUPPORTED, "%d kinds of unlike devices are too many",
                         f->n_classes);
    front->cost_ps = f->cost_ps = mem_take(n * sizeof(int64_t));
    f->bound_ps = mem_take(n * sizeof(int64_t));
    f->best_state = mem_take(n * sizeof(int32_t));
    f->fill_ps = mem_take(((size_t)problem->n_layers + 1) * sizeof(int64_t));
    f->link_ps = mem_take((size_t)f->n_classes * (size_t)f->n_classes * sizeof(int64_t));
    for (int32_t i = 0; i <= n_max; i++)
        f->cost_ps[i] = f->bound_ps[i] = INT64_MAX;
    for (int a = 0; a < f->n_classes; a++)
        for (int b = 0; b < f->n_classes; b++)
            f->link_ps[a * f->n_classes + b] = a == b ? 0 : link_of(f, a, b);
    order_by_speed(f);
    bool is_done = true;
    for (int c = problem->returns ? 0 : NO_START; is_done && c < f->n_classes; c++) {
        if (c == NO_START || f->classes[c].orbit == c)
            is_done = search(f, c, n_max);
        if (c == NO_START)
            break;
    }
    if (!is_done)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "%d devices in %d kinds have more than %d sets to try", problem->n_devices,
                         f->n_classes, LAYERS_FRONT_STATES_MAX);
    for (int32_t i = 1; i <= n_max; i++)
        if (f->bound_ps[i - 1] <= f->cost_ps[i])
            f->cost_ps[i] = INT64_MAX;
    return STATUS_OK;
}

/* ---- The way back. ---- */

/* Sets the layers of each part: one each, and the rest on the fastest with room. */
static void fill(const struct layers_problem *problem, struct layers_plan *plan)
{
    int32_t n_left = problem->n_layers - plan->n_parts;
    for (int32_t i = 0; i < plan->n_parts; i++)
        plan->parts[i].n_layers = 1;
    while (n_left > 0) {
        int32_t best = -1;
        for (int32_t i = 0; i < plan->n_parts; i++) {
            const struct layers_device *device = &problem->devices[plan->parts[i].device];
            if (plan->parts[i].n_layers < device->n_layers_max &&
                (best < 0 ||
                 device->layer_ps < problem->devices[plan->parts[best].device].layer_ps))
                best = i;
        }
        CHECK(best >= 0);
        struct layers_part *part = &plan->parts[best];
        int32_t n = min_i32(n_left, problem->devices[part->device].n_layers_max - part->n_layers);
        part->n_layers += n;
        n_left -= n;
    }
}

void layers_front_plan(const struct layers_front *front, int32_t n, struct layers_plan *plan)
{
    const struct front *f = front->private;
    int32_t at = f->best_state[n], counts[CLASSES_MAX] = { 0 }, n_used[CLASSES_MAX] = { 0 };
    int map[CLASSES_MAX]; /* the class at each place of the ordered counts */
    int8_t positions[LAYERS_DEVICES_MAX];
    int start = f->states[at].start;
    CHECK(n >= 1 && n <= front->n_max && front->cost_ps[n] < INT64_MAX);
    for (int32_t i = n; i-- > 0; at = f->states[at].from)
        positions[i] = f->states[at].position;
    for (int c = 0; c < f->n_classes; c++)
        map[c] = c;
    for (int32_t i = 0; i < n; i++) {
        int p = positions[i], class = map[p], q = lift(f, start, counts, p);
        memmove(&map[q + 1], &map[q], (size_t)(p - q) * sizeof(map[0]));
        map[q] = class;
        plan->parts[i].device = f->ids[f->classes[class].first + n_used[class]++];
    }
    plan->n_parts = n;
    plan->n_states = f->n_states;
    fill(f->problem, plan);
    plan->step_ps = layers_step_ps(f->problem, plan->parts, n);
    CHECK(plan->step_ps == front->cost_ps[n]);
}

void layers_front_close(struct layers_front *front)
{
    struct front *f = front->private;
    mem_give(f->cost_ps);
    mem_give(f->bound_ps);
    mem_give(f->best_state);
    mem_give(f->fill_ps);
    mem_give(f->link_ps);
    mem_give(f->states);
    mem_give(f->table);
    mem_give(f);
}
