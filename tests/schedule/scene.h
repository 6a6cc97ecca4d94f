/* A view by hand, for plans of a batch or two: slots in order, room for two services. */
#pragma once
#include "schedule/fill.h"
#include <string.h>

enum { SCENE_SLOTS = 120 };

struct scene {
    struct kv_budget kv;
    struct schedule_service services[2];
    struct request requests[SCENE_SLOTS];
    uint32_t slots[SCENE_SLOTS], preempts[LIMIT_BATCH_ITEMS];
    bool swaps[LIMIT_BATCH_ITEMS];
    int32_t n_table_blocks[SCENE_SLOTS];
    bool lane_is_busy[3];
    struct schedule_lane lanes[3];
    struct schedule_view view;
    struct schedule_config config;
    struct batch batches[LIMIT_BATCHES];
    struct batch_item items[LIMIT_BATCH_ITEMS];
    struct schedule_plan plan;
    struct schedule_fill fill;
};

/* Default thresholds, an empty plan, a view of the scene's arrays with one lane and no requests. */
static inline void scene_draw(struct scene *s, int32_t n_services)
{
    memset(s, 0, sizeof(*s));
    schedule_config_init(&s->config);
    s->kv.n_services = n_services;
    s->view = (struct schedule_view){ .n_services = n_services,
                                      .n_lanes = 1,
                                      .lanes = s->lanes,
                                      .services = s->services,
                                      .requests = s->requests,
                                      .kv = &s->kv,
                                      .n_table_blocks = s->n_table_blocks,
                                      .lane_is_busy = s->lane_is_busy };
    s->plan = (struct schedule_plan){ .batches = s->batches,
                                      .items = s->items,
                                      .n_items_max = LIMIT_BATCH_ITEMS,
                                      .preempts = s->preempts,
                                      .swaps = s->swaps };
    for (uint32_t slot = 0; slot < SCENE_SLOTS; slot++)
        s->slots[slot] = slot;
}

static inline bool scene_by_slot(const void *state, const struct schedule_view *view, uint32_t a,
                                 uint32_t b)
{
    (void)state;
    (void)view;
    return a < b;
}
