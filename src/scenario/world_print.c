/* Prints the engines of a world. */
#include "predict/device.h"
#include "scenario/world.h"
#include <string.h>

static void add_service(const struct scenario_world *world, int32_t i, bool is_first,
                        struct doc *out)
{
    const char *name = world->services[i].name;
    const char *model = world->models[i] != NULL ? world->models[i]->name : "own numbers";
    doc_part(out, "%s%s", is_first ? "" : ", ", name);
    if (world->costs[i] != NULL)
        doc_part(out, " (tables)");
    else if (world->profile_hashes[i] != 0)
        doc_part(out, " (profile %016llx)", (unsigned long long)world->profile_hashes[i]);
    else if (strstr(name, model) == NULL)
        doc_part(out, " (%s)", model);
}

static const struct doc_column engine_columns[] = {
    { "ENGINES", "engines", NULL, true },
    { "GiB EACH", "GiB each", NULL, false },
    { "ROLE", "role", NULL, true },
    { "SERVICES", "services", NULL, true },
};

static bool are_alike(const struct sim_engine_spec *a, const struct sim_engine_spec *b)
{
    return set_equals(&a->services, &b->services) && a->perfs == b->perfs && a->role == b->role;
}

void scenario_world_print(const struct scenario_world *world, struct doc *out)
{
    static const char *const roles[] = { "mixed", "prefill", "decode" };
    doc_table(out, engine_columns, COUNT_OF(engine_columns));
    for (int32_t e = 0, n; e < world->n_engines; e += n) {
        const struct sim_engine_spec *engine = &world->engines[e];
        bool is_first = true;
        n = 1;
        if (set_is_empty(&engine->services)) /* a group that does not exist */
            continue;
        while (e + n < world->n_engines && are_alike(&world->engines[e + n], engine))
            n++;
        doc_part(out, "%d", e);
        if (n > 1)
            doc_part(out, " to %d", e + n - 1);
        doc_end(out);
        doc_cell(out, "%.1f", (double)engine->memory_bytes * 0x1p-30);
        doc_cell(out, "%s", roles[engine->role]);
        for (int32_t i = 0; i < world->workload.n_services; i++) {
            if (!set_has(&engine->services, i))
                continue;
            add_service(world, i, is_first, out);
            is_first = false;
        }
        doc_end(out);
    }
    doc_table_end(out);
    doc_gap(out);
}
