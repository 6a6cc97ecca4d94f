/* A node's requests by id. */
#include "cluster/node_lives.h"

#include "base/mem.h"

void node_lives_init(struct node_lives *lives, uint32_t n_max)
{
    *lives = (struct node_lives){ .n_free = n_max, .n_max = n_max };
    map_init(&lives->by_id, n_max);
    lives->of = mem_take(sizeof *lives->of * n_max);
    lives->free = mem_take(sizeof *lives->free * n_max);
    for (uint32_t i = 0; i < n_max; i++)
        lives->free[i] = n_max - 1 - i;
}

void node_lives_free(struct node_lives *lives)
{
    map_free(&lives->by_id);
    mem_give(lives->of);
    mem_give(lives->free);
}

struct node_life *node_lives_find(const struct node_lives *lives, uint64_t id)
{
    uint32_t at = map_find(&lives->by_id, id);
    return at != MAP_NONE ? &lives->of[at] : NULL;
}

bool node_lives_add(struct node_lives *lives, const struct node_life *life)
{
    if (lives->n_free == 0)
        return false;
    uint32_t at = lives->free[--lives->n_free];
    lives->of[at] = *life;
    lives->of[at].is_there = true;
    CHECK(map_put(&lives->by_id, life->id, at));
    return true;
}

void node_lives_remove(struct node_lives *lives, struct node_life *life)
{
    map_remove(&lives->by_id, life->id);
    life->is_there = false;
    lives->free[lives->n_free++] = (uint32_t)(life - lives->of);
}
