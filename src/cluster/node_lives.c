/* A node's requests by id. */
#include "cluster/node_lives.h"

#include "base/mem.h"

void node_lives_init(struct node_lives *lives, uint32_t n_max)
{
    *lives = (struct node_lives){ .n_max = n_max };
    map_init(&lives->by_id, n_max);
    lives->of = mem_take(sizeof *lives->of * n_max);
}

void node_lives_free(struct node_lives *lives)
{
    map_free(&lives->by_id);
    mem_give(lives->of);
}

struct node_life *node_lives_find(const struct node_lives *lives, uint64_t id)
{
    uint32_t at = map_find(&lives->by_id, id);
    return at != MAP_NONE ? &lives->of[at] : NULL;
}

bool node_lives_add(struct node_lives *lives, const struct node_life *life)
{
    if (lives->n == lives->n_max)
        return false;
    lives->of[lives->n] = *life;
    CHECK(map_put(&lives->by_id, life->id, lives->n));
    lives->n++;
    return true;
}

void node_lives_remove(struct node_lives *lives, struct node_life *life)
{
    struct node_life *last = &lives->of[--lives->n];
    map_remove(&lives->by_id, life->id);
    if (life == last)
        return;
    CHECK(map_put(&lives->by_id, last->id, (uint32_t)(life - lives->of)));
    *life = *last;
}
