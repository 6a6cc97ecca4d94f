/* The engine's bodies: a buddy allocator over one block of memory.
 *
 * Memory is cut into grains of 256 bytes. A body gets the smallest power of two of grains that
 * holds it. A block of order k starts at a multiple of 2^k grains, and its buddy differs in bit k.
 * Layout of a body: struct kept, then the record without its tokens (struct request_body with
 * n_tokens = 0, stop ids, biases, grammar), then int32_t tokens[n_tokens_max], then scores, then
 * the vector. A handle is the first grain + 1.
 *
 * engine_bodies_at reads nothing but the body itself, so the executor's thread may call it for
 * requests in flight while the engine takes and puts others.
 * After Knowlton, A fast storage allocator, 1965. */
#include "engine/bodies.h"

#include "base/mem.h"
#include "engine/scores.h"
#include "engine/vector.h"
#include <string.h>

#define GRAIN_BYTES ((int64_t)256)
#define N_ORDERS    24 /* up to 2 GiB a body */
#define NO_GRAIN    UINT32_MAX

struct kept {
    uint32_t tokens_at; /* bytes from the start of the block */
    uint32_t scores_at; /* 0: none */
    uint32_t vector_at; /* 0: none */
    uint32_t unused;    /* what follows is aligned to 8 bytes */
};
struct engine_bodies {
    unsigned char *memory;
    uint32_t n_grains, n, n_max;
    uint8_t *order;        /* by grain: order + 1 of the block that starts here, 0 inside of one */
    bool *is_free;         /* by grain, of blocks that start here */
    uint32_t *next, *prev; /* the free lists, by first grain */
    uint32_t first[N_ORDERS];
};

static void list_add(struct engine_bodies *b, uint32_t grain, int order)
{
    b->order[grain] = (uint8_t)(order + 1);
    b->is_free[grain] = true;
    b->prev[grain] = NO_GRAIN;
    b->next[grain] = b->first[order];
    if (b->first[order] != NO_GRAIN)
        b->prev[b->first[order]] = grain;
    b->first[order] = grain;
}

static void list_remove(struct engine_bodies *b, uint32_t grain, int order)
{
    if (b->prev[grain] != NO_GRAIN)
        b->next[b->prev[grain]] = b->next[grain];
    else
        b->first[order] = b->next[grain];
    if (b->next[grain] != NO_GRAIN)
        b->prev[b->next[grain]] = b->prev[grain];
    b->is_free[grain] = false;
    b->order[grain] = 0;
}

struct engine_bodies *engine_bodies_open(uint32_t n_max, int64_t n_bytes)
{
    struct engine_bodies *b = mem_take(sizeof(*b));
    CHECK(n_bytes >= GRAIN_BYTES && n_bytes / GRAIN_BYTES < NO_GRAIN);
    b->n_max = n_max;
    b->n_grains = (uint32_t)(n_bytes / GRAIN_BYTES);
    b->memory = mem_take((size_t)b->n_grains * GRAIN_BYTES);
    b->order = mem_take(b->n_grains);
    b->is_free = mem_take(b->n_grains * sizeof(*b->is_free));
    b->next = mem_take(b->n_grains * sizeof(*b->next));
    b->prev = mem_take(b->n_grains * sizeof(*b->prev));
    for (int order = 0; order < N_ORDERS; order++)
        b->first[order] = NO_GRAIN;
    for (uint32_t grain = 0; grain < b->n_grains;) { /* the largest aligned blocks that fit */
        int order = N_ORDERS - 1;
        while (grain % (1u << order) != 0 || b->n_grains - grain < 1u << order)
            order--;
        list_add(b, grain, order);
        grain += 1u << order;
    }
    return b;
}

void engine_bodies_close(struct engine_bodies *b)
{
    if (b == NULL)
        return;
    mem_give(b->memory);
    mem_give(b->order);
    mem_give(b->is_free);
    mem_give(b->next);
    mem_give(b->prev);
    mem_give(b);
}

/* Returns the grains of a block of this order, or NO_GRAIN. It splits the smallest free block that
 * holds it. */
static uint32_t take_block(struct engine_bodies *b, int order)
{
    int from = order;
    while (from < N_ORDERS && b->first[from] == NO_GRAIN)
        from++;
    if (from == N_ORDERS)
        return NO_GRAIN;
    uint32_t grain = b->first[from];
    list_remove(b, grain, from);
    while (from > order) {
        from--;
        list_add(b, grain + (1u << from), from);
    }
    b->order[grain] = (uint8_t)(order + 1);
    return grain;
}

static size_t head_bytes_of(const struct request_body *body)
{
    return request_body_whole_bytes(body) - 4 * (size_t)body->n_tokens;
}

static size_t tokens_at_of(const struct request_body *body)
{
    return align_up_u64(sizeof(struct kept) + head_bytes_of(body), 8);
}

static size_t scores_at_of(const struct request_body *body, struct engine_bodies_room room)
{
    return align_up_u64(tokens_at_of(body) + 4 * (size_t)room.n_tokens_max, 8);
}

static size_t vector_at_of(const struct request_body *body, struct engine_bodies_room room)
{
    int64_t n_bytes = engine_scores_bytes(room.n_scored, body->sampling.n_top_scores);
    return align_up_u64(scores_at_of(body, room) + (uint64_t)n_bytes, 8);
}

int64_t engine_bodies_bytes(const struct request_body *body, struct engine_bodies_room room)
{
    return (int64_t)vector_at_of(body, room) + engine_vector_bytes(room.n_vector);
}

int64_t engine_bodies_bytes_max(const struct engine_bodies *b)
{
    int64_t n_grains = 1;
    while (2 * n_grains <= b->n_grains && 2 * n_grains <= INT64_C(1) << (N_ORDERS - 1))
        n_grains *= 2;
    return n_grains * GRAIN_BYTES;
}

uint32_t engine_bodies_take(struct engine_bodies *b, const struct request_body *body,
                            struct engine_bodies_room room)
{
    size_t head_bytes = head_bytes_of(body), tokens_at = tokens_at_of(body);
    int64_t n_grains = div_up_i64(engine_bodies_bytes(body, room), GRAIN_BYTES);
    int order = 0;
    CHECK((int64_t)body->n_tokens <= room.n_tokens_max);
    while (order < N_ORDERS && INT64_C(1) << order < n_grains)
        order++;
    uint32_t grain = order < N_ORDERS && b->n < b->n_max ? take_block(b, order) : NO_GRAIN;
    if (grain == NO_GRAIN)
        return 0;
    b->n++;
    unsigned char *at = b->memory + grain * GRAIN_BYTES;
    struct kept kept = { .tokens_at = (uint32_t)tokens_at };
    if (room.n_scored > 0) {
        kept.scores_at = (uint32_t)scores_at_of(body, room);
        size_t n = (size_t)engine_scores_bytes(room.n_scored, body->sampling.n_top_scores);
        memset(at + kept.scores_at, 0, n); /* a replay writes none, and reads them */
        engine_scores_init((void *)(at + kept.scores_at), body->sampling.n_top_scores);
    }
    if (room.n_vector > 0) {
        kept.vector_at = (uint32_t)vector_at_of(body, room);
        memset(at + kept.vector_at, 0, (size_t)engine_vector_bytes(room.n_vector));
        ((struct engine_vector *)(void *)(at + kept.vector_at))->n = room.n_vector;
    }
    struct request_body head = *body;
    head.n_tokens = 0;
    head.n_bytes = (uint32_t)head_bytes;
    memcpy(at, &kept, sizeof(kept));
    memcpy(at + sizeof(kept), &head, sizeof(head));
    memcpy(at + sizeof(kept) + sizeof(head), request_body_stop_ids(body),
           head_bytes - sizeof(head));
    memcpy(at + tokens_at, request_body_tokens(body), 4 * (size_t)body->n_tokens);
    return grain + 1;
}

void engine_bodies_put(struct engine_bodies *b, uint32_t handle)
{
    uint32_t grain = handle - 1;
    CHECK(handle > 0 && grain < b->n_grains && b->order[grain] > 0 && !b->is_free[grain]);
    int order = b->order[grain] - 1;
    b->order[grain] = 0;
    b->n--;
    while (order + 1 < N_ORDERS) {
        uint32_t buddy = grain ^ (1u << order);
        if (buddy >= b->n_grains || !b->is_free[buddy] || b->order[buddy] != order + 1)
            break;
        list_remove(b, buddy, order);
        grain = grain < buddy ? grain : buddy;
        order++;
    }
    list_add(b, grain, order);
}

struct engine_body engine_bodies_at(const struct engine_bodies *b, uint32_t handle)
{
    unsigned char *at = b->memory + (int64_t)(handle - 1) * GRAIN_BYTES;
    const struct kept *kept = (const void *)at;
    return (struct engine_body){
        .head = (const void *)(at + sizeof(*kept)),
        .tokens = (void *)(at + kept->tokens_at),
        .scores = kept->scores_at > 0 ? (void *)(at + kept->scores_at) : NULL,
        .vector = kept->vector_at > 0 ? (void *)(at + kept->vector_at) : NULL,
    };
}
