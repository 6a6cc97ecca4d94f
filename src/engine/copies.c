/* Batches that copy blocks between the pool and the host tier. */
#include "engine/copies.h"

int32_t engine_copies_lane(const struct engine *e)
{
    for (int32_t lane = e->options.n_lanes; lane-- > 0;)
        if (schedule_lane_is_free(&e->view, lane))
            return lane;
    return -1;
}

void engine_copies_start_at(struct engine *e, struct engine_flight *flight, uint8_t kind,
                            uint16_t service, uint16_t lane, uint8_t place)
{
    struct batch_item *items = flight->items;
    *flight = (struct engine_flight){ .n_rounds = 1, .items = items };
    flight->batch = (struct batch){ .id = e->next_batch,
                                    .service = service,
                                    .lane = lane,
                                    .kind = kind,
                                    .place = place,
                                    .items = items };
    e->next_batch = e->next_batch == UINT32_MAX ? 1 : e->next_batch + 1;
    e->n_flights++;
}

void engine_copies_start(struct engine *e, struct engine_flight *flight, uint8_t kind,
                         uint16_t service, uint16_t lane)
{
    engine_copies_start_at(e, flight, kind, service, lane, engine_step_place(e, lane));
}

void engine_copies_begin(struct engine *e, const struct batch *batches, int n)
{
    e->lanes[batch_place(&batches[0], e->options.n_deep)] =
        (struct engine_lane){ .n_flights = n, .until_ns = TIME_NEVER };
    engine_step_show_lane(e, batches[0].lane);
    e->options.exec.begin(e->options.exec.self, batches, n, 1);
}
