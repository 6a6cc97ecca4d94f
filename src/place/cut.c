/* Cuts groups as buddies: a hole is the largest aligned power of two of free devices around a
 * place. */
#include "place/cut.h"

#include <string.h>

void place_cut_init(struct place_cut *cut, const struct place_problem *problem, struct pile *pile)
{
    *cut = (struct place_cut){ problem, pile_take(pile, (size_t)problem->n_devices *
                                                            sizeof(*cut->is_taken)) };
}

static bool is_free(const struct place_cut *cut, const struct place_node *node, int32_t at,
                    int32_t n)
{
    if (at + n > node->n_devices)
        return false;
    for (int32_t i = 0; i < n; i++)
        if (cut->is_taken[node->first_device + at + i])
            return false;
    return true;
}

static int32_t hole_around(const struct place_cut *cut, const struct place_node *node, int32_t at,
                           int32_t n)
{
    while (n < PLACE_GROUP_MAX && is_free(cut, node, at / (2 * n) * (2 * n), 2 * n)) {
        n *= 2;
        at = at / n * n;
    }
    return n;
}

int32_t place_cut_take(struct place_cut *cut, int32_t n_devices, int32_t service)
{
    const struct place_problem *problem = cut->problem;
    int32_t best = -1, best_hole = INT32_MAX;
    for (int32_t i = 0; i < problem->n_nodes && best_hole > n_devices; i++) {
        const struct place_node *node = &problem->nodes[i];
        if (service >= 0 && !place_problem_holds(problem, service, node->kind, n_devices))
            continue;
        for (int32_t at = 0; at + n_devices <= node->n_devices; at += n_devices) {
            if (!is_free(cut, node, at, n_devices))
                continue;
            int32_t hole = hole_around(cut, node, at, n_devices);
            if (hole < best_hole) {
                best_hole = hole;
                best = node->first_device + at;
            }
        }
    }
    if (best >= 0)
        memset(cut->is_taken + best, true, (size_t)n_devices * sizeof(*cut->is_taken));
    return best;
}

void place_cut_put(struct place_cut *cut, int32_t first_device, int32_t n_devices)
{
    memset(cut->is_taken + first_device, false, (size_t)n_devices * sizeof(*cut->is_taken));
}
