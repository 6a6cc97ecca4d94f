/* Frames on their way: questions are answered from the exchange, or passed on; answers go back to
 * the asker. */
#include "bulk/state.h"

#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include "bulk/files.h"
#include "bulk/pulls.h"
#include "engine/exchange.h"
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <string.h>

static const int64_t ANSWER_NS_MAX = 5 * TIME_NS_PER_S;
static const int64_t OWED_BYTES_MAX = (int64_t)32 << 20;      /* to one connection */
static const int64_t OWED_ALL_BYTES_MAX = (int64_t)256 << 20; /* to all */
static const int64_t COST_BYTES_MIN = (int64_t)64 << 10;
static const int64_t CHATTER_BYTES_MAX = (int64_t)1 << 20; /* of answers without data, beyond */

/* ---- Bounds. ---- */

static int64_t owed(struct bulk_end *end)
{
    struct evbuffer *out = bulk_end_out(end);
    return out != NULL ? end->n_pending + (int64_t)evbuffer_get_length(out) : 0;
}

/* Small answers count for more than they have, which bounds their number. */
static int64_t cost(int64_t n_bytes)
{
    return max_i64(n_bytes, COST_BYTES_MIN);
}

/* Returns whether this end may be owed n bytes more. One answer may always be. */
static bool may_owe(struct bulk_end *end, int64_t n)
{
    int64_t all = 0, own = owed(end);
    for (int i = 0; i < BULK_ENDS; i++)
        all += owed(&end->door->ends[i]);
    return own < CHATTER_BYTES_MAX || (own + n <= OWED_BYTES_MAX && all + n <= OWED_ALL_BYTES_MAX);
}

/* ---- Answers. ---- */

static void say(struct bulk_end *end, const struct bulk_head *head)
{
    struct evbuffer *out = bulk_end_out(end);
    if (out == NULL)
        return;
    if (owed(end) > OWED_BYTES_MAX + 2 * CHATTER_BYTES_MAX + BULK_BLOCK_BYTES_MAX)
        bulk_end_break(end, "it asks and does not take the answers");
    else if (evbuffer_add(out, head, sizeof *head) != 0)
        bulk_end_break(end, "there is no memory for a frame");
}

static void say_without(struct bulk_end *end, const struct bulk_head *question, enum bulk_said said)
{
    const struct bulk_head head = { .kind = question->kind + 1,
                                    .serial = question->serial,
                                    .index = said };
    say(end, &head);
}

/* Answers a question from the exchange, into the connection's buffer. */
static void serve(struct bulk_end *end, const struct bulk_head *question)
{
    struct bulk_head head = { .kind = BULK_BLOCK, .serial = question->serial, .n = question->n };
    struct exchange_stamp stamp;
    struct evbuffer *out = bulk_end_out(end);
    struct evbuffer_iovec space;
    head.n_bytes = bulk_frame_block_bytes(head.n);
    size_t n = sizeof head + head.n_bytes;
    struct exchange *exchange = end->door->options.exchange;
    if (!exchange_has_here(exchange, question->ticket, question->index, head.n)) {
        say_without(end, question, BULK_GONE); /* and no memory is taken for it */
        return;
    }
    if (!may_owe(end, (int64_t)n)) {
        say_without(end, question, BULK_LATER);
        return;
    }
    if (evbuffer_reserve_space(out, (ev_ssize_t)n, &space, 1) != 1) {
        say_without(end, question, BULK_LATER);
        return;
    }
    unsigned char *to = space.iov_base;
    enum exchange_said said = exchange_pull_here(exchange, question->ticket, question->index,
                                                 &stamp, to + sizeof head + sizeof stamp, head.n);
    memcpy(to, &head, sizeof head);
    memcpy(to + sizeof head, &stamp, sizeof stamp);
    space.iov_len = said == EXCHANGE_BLOCK ? n : 0;
    if (evbuffer_commit_space(out, &space, 1) != 0)
        bulk_end_break(end, "there is no memory for a frame");
    else if (said != EXCHANGE_BLOCK)
        say_without(end, question, BULK_GONE);
}

/* ---- Relays. ---- */

/* Returns NULL when there are too many. */
static struct bulk_relay *add_relay(struct bulk_door *door)
{
    for (uint32_t k = 0; k < BULK_RELAYS; k++) {
        uint32_t i = (door->first_relay + k) % BULK_RELAYS;
        if (door->relays[i].serial != 0)
            continue;
        door->first_relay = i + 1;
        door->relays[i] = (struct bulk_relay){ .serial = ++door->n_serials * BULK_RELAYS + i };
        return &door->relays[i];
    }
    return NULL;
}

/* Tells the asker that there is no data, unless it has an answer. */
static void answer_without(struct bulk_door *door, struct bulk_relay *relay, enum bulk_said said)
{
    const struct bulk_head question = { .kind = relay->kind, .serial = relay->asked_serial };
    if (relay->is_dead)
        return;
    relay->is_dead = true;
    if (relay->from == BULK_SELF) {
        bulk_pulls_answer(door->options.pulls, relay->asked_serial, (enum exchange_said)said, NULL);
        return;
    }
    struct bulk_end *from = &door->ends[relay->from];
    from->n_pending -= cost(relay->n);
    say_without(from, &question, said);
}

void bulk_relay_lose(struct bulk_end *end)
{
    struct bulk_door *door = end->door;
    int number = (int)(end - door->ends);
    for (uint32_t i = 0; i < BULK_RELAYS; i++) {
        struct bulk_relay *relay = &door->relays[i];
        if (relay->serial == 0)
            continue;
        if (relay->from == number)
            relay->is_dead = true;
        if (relay->to != number)
            continue;
        answer_without(door, relay, BULK_GONE);
        relay->serial = 0;
    }
}

void bulk_relay_tick(struct bulk_door *door, int64_t now_ns)
{
    for (uint32_t i = 0; i < BULK_RELAYS; i++) {
        struct bulk_relay *relay = &door->relays[i];
        if (relay->serial == 0 || relay->due_ns > now_ns)
            continue;
        struct bulk_end *to = &door->ends[relay->to];
        if (to->kind == BULK_DIALS) /* its other questions are no better off */
            bulk_end_break(to, "it does not answer");
        else
            answer_without(door, relay, BULK_GONE);
    }
}

/* Asks another end in the name of `from`, an end or BULK_SELF. */
static void pass_on(struct bulk_door *door, int from, struct bulk_end *to,
                    const struct bulk_head *question)
{
    bool is_self = from == BULK_SELF;
    bool has_room = is_self || may_owe(&door->ends[from], cost(question->n));
    struct bulk_relay *relay = has_room ? add_relay(door) : NULL;
    struct bulk_head head = *question;
    if (relay == NULL) {
        if (is_self)
            bulk_pulls_answer(door->options.pulls, question->serial, EXCHANGE_LATER, NULL);
        else
            say_without(&door->ends[from], question, BULK_LATER);
        return;
    }
    relay->from = from;
    relay->to = (int)(to - door->ends);
    relay->kind = question->kind;
    relay->asked_serial = question->serial;
    relay->n = question->n;
    relay->due_ns = time_now_ns() + ANSWER_NS_MAX;
    if (!is_self)
        door->ends[from].n_pending += cost(question->n);
    head.serial = relay->serial;
    say(to, &head);
}

/* Returns the end that has the offer which this process or one of its children asks for, or is told
 * that it is not needed; NULL: there is none. Sets the engine. */
static struct bulk_end *find_source(struct bulk_door *door, uint64_t ticket, uint16_t *engine)
{
    struct cluster_place at = { .port = 0 };
    if (door->options.parent_fd >= 0)
        return door->ends[0].state != BULK_FREE ? &door->ends[0] : NULL;
    lock_take(door->lock);
    uint32_t i = map_find(&door->by_ticket, ticket);
    if (i != MAP_NONE)
        at = door->places[i].at;
    lock_put(door->lock);
    if (i == MAP_NONE)
        return NULL;
    *engine = at.engine;
    bool is_own = at.port == 0 || bulk_place_is_same(&at, &door->place);
    if (!is_own)
        return bulk_end_to(door, &at);
    bool has_child = door->options.exchange == NULL && at.engine < BULK_CHILDREN;
    struct bulk_end *child = has_child ? &door->ends[1 + at.engine] : NULL;
    return child != NULL && child->state != BULK_FREE ? child : NULL;
}

/* A question of an end. A stranger gets the offers of this node alone. */
static void route(struct bulk_end *end, const struct bulk_head *question)
{
    struct bulk_door *door = end->door;
    struct bulk_head head = *question;
    struct bulk_end *to = NULL;
    bool is_done = question->kind == BULK_DONE;
    if (door->options.exchange != NULL) {
        if (is_done)
            (void)exchange_acknowledge_here(door->options.exchange, question->ticket);
        else
            serve(end, question);
        return;
    }
    if (end->kind == BULK_CHILD)
        to = find_source(door, question->ticket, &head.engine);
    else if (question->engine < BULK_CHILDREN)
        to = &door->ends[1 + question->engine];
    if (to == NULL || to->state == BULK_FREE) {
        if (!is_done)
            say_without(end, question, BULK_GONE);
    } else if (is_done) {
        say(to, &head);
    } else {
        pass_on(door, (int)(end - door->ends), to, &head);
    }
}

/* ---- Frames. ---- */

/* Gives the data of an answer, which is whole, to the asker. */
static void hand_on(struct bulk_door *door, const struct bulk_relay *relay, struct evbuffer *in,
                    struct bulk_head head)
{
    if (relay->is_dead) {
        (void)evbuffer_drain(in, head.n_bytes);
        return;
    }
    if (relay->from == BULK_SELF) {
        size_t n_left = evbuffer_get_length(in) - head.n_bytes;
        bulk_pulls_answer(door->options.pulls, relay->asked_serial, EXCHANGE_BLOCK, in);
        (void)evbuffer_drain(in, evbuffer_get_length(in) - n_left); /* what was not wanted */
        return;
    }
    struct bulk_end *from = &door->ends[relay->from];
    struct evbuffer *out = bulk_end_out(from);
    from->n_pending -= cost(relay->n);
    head.serial = relay->asked_serial;
    if (evbuffer_add(out, &head, sizeof head) != 0 ||
        evbuffer_remove_buffer(in, out, head.n_bytes) != (int)head.n_bytes)
        bulk_end_break(from, "there is no memory for a frame");
}

/* An answer counts only from the end that was asked, and with as many bytes. */
static enum bulk_taken take_answer(struct bulk_end *end, const struct bulk_head *head)
{
    struct bulk_door *door = end->door;
    struct bulk_relay *relay = &door->relays[head->serial % BULK_RELAYS];
    struct evbuffer *in = bufferevent_get_input(end->events);
    bool has_data = head->index == BULK_HERE;
    if (head->serial == 0 || relay->serial != head->serial || relay->to != end - door->ends ||
        head->kind != relay->kind + 1u || (has_data && head->n != relay->n))
        return BULK_TAKE_BAD;
    if (evbuffer_get_length(in) < sizeof *head + head->n_bytes)
        return BULK_TAKE_MORE;
    (void)evbuffer_drain(in, sizeof *head);
    if (has_data)
        hand_on(door, relay, in, *head);
    else
        answer_without(door, relay, (enum bulk_said)head->index);
    relay->serial = 0;
    return BULK_TAKEN;
}

/* ---- Files. ---- */

/* One part at a time for each connection. */
static enum bulk_taken take_ask(struct bulk_end *end, const struct bulk_head *head)
{
    struct bulk_door *door = end->door;
    struct evbuffer *in = bufferevent_get_input(end->events);
    struct bulk_files_ask ask = { .end = (int)(end - door->ends),
                                  .life = end->life,
                                  .serial = head->serial,
                                  .offset = head->offset,
                                  .n = head->n };
    if (end->kind != BULK_ACCEPTS)
        return BULK_TAKE_BAD;
    if (evbuffer_get_length(in) < sizeof *head + sizeof ask.sha256)
        return BULK_TAKE_MORE;
    (void)evbuffer_drain(in, sizeof *head);
    (void)evbuffer_remove(in, ask.sha256, sizeof ask.sha256);
    if (door->options.files == NULL) {
        say_without(end, head, BULK_GONE);
    } else if (end->waits_for_part || !may_owe(end, cost(head->n)) ||
               !bulk_files_put(door->options.files, &ask)) {
        say_without(end, head, BULK_LATER);
    } else {
        end->waits_for_part = true;
        end->n_pending += cost(head->n);
    }
    return BULK_TAKEN;
}

static void send_part(struct bulk_door *door, const struct bulk_files_answer *answer)
{
    struct bulk_end *end = &door->ends[answer->ask.end];
    const struct bulk_head question = { .kind = BULK_ASK, .serial = answer->ask.serial };
    const struct bulk_head head = { .kind = BULK_PART,
                                    .serial = answer->ask.serial,
                                    .n_bytes = (uint32_t)answer->n,
                                    .n = answer->n,
                                    .offset = answer->n_whole };
    if (end->state != BULK_UP || end->life != answer->ask.life)
        return;
    end->waits_for_part = false;
    end->n_pending -= cost(answer->ask.n);
    if (!answer->is_there) {
        say_without(end, &question, BULK_GONE);
        return;
    }
    struct evbuffer *out = bulk_end_out(end);
    if (evbuffer_add(out, &head, sizeof head) != 0 ||
        evbuffer_add(out, answer->bytes, (size_t)answer->n) != 0)
        bulk_end_break(end, "there is no memory for a frame");
}

void bulk_relay_parts(struct bulk_door *door)
{
    struct bulk_files_answer answer;
    while (bulk_files_take(door->options.files, &answer)) {
        send_part(door, &answer);
        mem_give(answer.bytes);
    }
}

enum bulk_taken bulk_relay_take(struct bulk_end *end, const struct bulk_head *head)
{
    switch (head->kind) {
    case BULK_PULL:
    case BULK_DONE:
        if (end->kind == BULK_DIALS)
            return BULK_TAKE_BAD; /* a door asks over a connection of its own */
        (void)evbuffer_drain(bufferevent_get_input(end->events), sizeof *head);
        route(end, head);
        return BULK_TAKEN;
    case BULK_BLOCK:
        return take_answer(end, head);
    case BULK_ASK:
        return take_ask(end, head);
    default:
        return BULK_TAKE_BAD;
    }
}

void bulk_relay_wishes(struct bulk_door *door)
{
    struct bulk_pulls_wish wish;
    while (bulk_pulls_next(door->options.pulls, &wish)) {
        struct bulk_head head = { .kind = wish.serial != 0 ? BULK_PULL : BULK_DONE,
                                  .serial = wish.serial,
                                  .ticket = wish.ticket,
                                  .n = wish.serial != 0 ? wish.n_bytes : 0,
                                  .index = wish.index };
        bool is_sendable = head.n <= BULK_BLOCK_BYTES_MAX;
        struct bulk_end *to = is_sendable ? find_source(door, wish.ticket, &head.engine) : NULL;
        if (to == NULL && wish.serial != 0)
            bulk_pulls_answer(door->options.pulls, wish.serial, EXCHANGE_GONE, NULL);
        else if (to != NULL && wish.serial != 0)
            pass_on(door, BULK_SELF, to, &head);
        else if (to != NULL)
            say(to, &head);
    }
}
