/* Packs services onto engines. */
#include "scenario/pack.h"

#include "base/mem.h"

#define PART_OF_WEIGHTS 0.7 /* the rest is KV */
#define LOAD_MAX        0.5
enum { ENGINES_MAX = 65535 };

struct bin {
    double load;
    int64_t weights_bytes;
};
struct packing {
    struct scenario_pack *pack;
    struct bin *bins;
    int32_t n_copies[LIMIT_SERVICES];
};

static bool has_room(const struct packing *p, int32_t e, int32_t s)
{
    double limit = (double)p->pack->memory_bytes * PART_OF_WEIGHTS;
    return !set_has(&p->pack->sets[e], s) &&
           (double)(p->bins[e].weights_bytes + p->pack->weights_bytes[s]) <= limit;
}

static void put(struct packing *p, int32_t e, int32_t s, double load)
{
    set_add(&p->pack->sets[e], s);
    p->bins[e].weights_bytes += p->pack->weights_bytes[s];
    p->bins[e].load += load;
    p->n_copies[s]++;
}

/* Returns the next service in order of the larger value; ties by index; -1: all were taken. */
static int32_t next(const struct scenario_pack *pack, const struct set *taken, bool by_load)
{
    int32_t best = -1;
    for (int32_t s = 0; s < pack->n_services; s++) {
        if (set_has(taken, s))
            continue;
        if (best < 0 || (by_load ? pack->loads[s] > pack->loads[best]
                                 : pack->weights_bytes[s] > pack->weights_bytes[best]))
            best = s;
    }
    return best;
}

static void open_bins(struct packing *p, int32_t n)
{
    p->pack->sets = mem_take((size_t)n * sizeof(*p->pack->sets));
    p->bins = mem_take((size_t)n * sizeof(*p->bins));
}

static int32_t solve_fixed(struct packing *p)
{
    struct scenario_pack *pack = p->pack;
    struct set taken = { { 0 } };
    open_bins(p, pack->n_engines);
    for (int32_t s; (s = next(pack, &taken, true)) >= 0; set_add(&taken, s)) {
        int32_t best = -1;
        for (int32_t e = 0; e < pack->n_engines; e++)
            if (has_room(p, e, s) && (best < 0 || p->bins[e].load < p->bins[best].load))
                best = e;
        if (best < 0)
            return s;
        put(p, best, s, pack->loads[s]);
    }
    for (int32_t e = 0; e < pack->n_engines; e++) {
        int32_t best = -1;
        for (int32_t s = 0; s < pack->n_services && set_is_empty(&pack->sets[e]); s++)
            if (has_room(p, e, s) && (best < 0 || pack->loads[s] / p->n_copies[s] >
                                                      pack->loads[best] / p->n_copies[best]))
                best = s;
        if (best >= 0)
            put(p, e, best, pack->loads[best]);
    }
    return -1;
}

static int32_t solve_needed(struct packing *p)
{
    struct scenario_pack *pack = p->pack;
    struct set taken = { { 0 } };
    int64_t n_max = 0;
    for (int32_t s = 0; s < pack->n_services; s++)
        n_max += 1 + (int64_t)(pack->loads[s] / LOAD_MAX);
    open_bins(p, (int32_t)min_i64(n_max, ENGINES_MAX));
    for (int32_t s; (s = next(pack, &taken, false)) >= 0; set_add(&taken, s)) {
        int64_t n_copies = 1 + (int64_t)(pack->loads[s] / LOAD_MAX);
        double load = pack->loads[s] / (double)n_copies;
        for (int64_t copy = 0; copy < n_copies; copy++) {
            int32_t e = 0;
            while (e < pack->n_engines && (!has_room(p, e, s) || p->bins[e].load + load > LOAD_MAX))
                e++;
            if (e == min_i64(n_max, ENGINES_MAX) || !has_room(p, e, s))
                return s;
            pack->n_engines = max_i32(pack->n_engines, e + 1);
            put(p, e, s, load);
        }
    }
    return -1;
}

int32_t scenario_pack_solve(struct scenario_pack *pack)
{
    struct packing p = { .pack = pack };
    int64_t weights = 0;
    int32_t stuck = -1;
    for (int32_t s = 0; s < pack->n_services; s++)
        weights += pack->weights_bytes[s];
    if (pack->n_engines > 0 && (double)weights <= (double)pack->memory_bytes * PART_OF_WEIGHTS) {
        open_bins(&p, pack->n_engines);
        for (int32_t e = 0; e < pack->n_engines; e++)
            for (int32_t s = 0; s < pack->n_services; s++)
                put(&p, e, s, pack->loads[s]);
    } else {
        stuck = pack->n_engines > 0 ? solve_fixed(&p) : solve_needed(&p);
    }
    mem_give(p.bins);
    return stuck;
}

void scenario_pack_free(struct scenario_pack *pack)
{
    mem_give(pack->sets);
    pack->sets = NULL;
}
