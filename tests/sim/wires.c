/* The connections between the processes of a simulated cluster. */
#include "wires.h"

#include "base/mem.h"
#include "base/time.h"
#include <string.h>

static const int64_t SILENCE_NS = 10 * TIME_NS_PER_S;
static const int64_t STUCK_NS = 5 * TIME_NS_PER_S;
static const int64_t HELLO_NS = 5 * TIME_NS_PER_S;
static const int64_t BACKOFF_NS_MIN = 100 * TIME_NS_PER_MS, BACKOFF_NS_MAX = 5 * TIME_NS_PER_S;

enum item_kind {
    ITEM_MESSAGE,
    ITEM_BROKEN, /* the other end's word that it broke */
    ITEM_SILENT, /* look whether an end heard nothing for long */
    ITEM_STUCK,  /* look whether what it sends is held for long */
    ITEM_DIAL,
    ITEM_DIALLED, /* whether it worked turns out now */
    ITEM_WAKE,
};
struct item {
    int64_t due_ns;
    uint64_t number;
    enum item_kind kind;
    int process, place; /* that it is for */
    uint64_t serial;    /* of the place's connection or dial, or of the process's wake */
    struct item *next;  /* in an inbox, or held by a cut */
    size_t n_bytes;
    uint64_t bytes[];
};
struct list {
    struct item *first, *last;
    size_t n_bytes;
};
enum place_state { PLACE_FREE, PLACE_WAITING, PLACE_CONNECTING, PLACE_UP, PLACE_OVER };
struct place {
    enum place_state state;
    bool is_dialled;
    int target; /* -1: none */
    uint64_t serial;
    int64_t backoff_ns;
    /* While it is UP: */
    int peer, peer_place;
    uint64_t peer_serial, peer_life;
    int64_t heard_ns, last_due_ns, held_ns;
    struct list held;
};
struct process {
    struct wires *wires;
    int index, n_places, n_dialled;
    struct place *places;
    struct list inbox;
    bool is_alive, is_runnable;
    uint64_t life, wake_serial;
    int64_t paused_until_ns;
    struct item *shown;
    struct wires_count count;
};
struct wires {
    struct wires_options options;
    struct rng rng;
    int64_t now_ns;
    struct process *processes; /* (n_processes) */
    uint8_t *cuts;             /* (n_processes, n_processes) from, to */
    struct item **heap;
    uint32_t n_heap, n_heap_room;
    uint64_t n_items, n_serials;
    int *runnable; /* (n_processes) a ring */
    int first_runnable, n_runnable;
};

/* ---- The heap of what is due. ---- */

static bool is_before(const struct item *a, const struct item *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->number < b->number;
}

static void push(struct wires *w, struct item *item)
{
    if (w->n_heap == w->n_heap_room) {
        uint32_t room = w->n_heap_room > 0 ? 2 * w->n_heap_room : 256;
        w->heap =
            mem_grow(w->heap, w->n_heap_room * sizeof(struct item *), room * sizeof(struct item *));
        w->n_heap_room = room;
    }
    uint32_t at = w->n_heap++;
    item->number = w->n_items++;
    for (; at > 0 && is_before(item, w->heap[(at - 1) / 2]); at = (at - 1) / 2)
        w->heap[at] = w->heap[(at - 1) / 2];
    w->heap[at] = item;
}

static struct item *pop_first(struct wires *w)
{
    struct item *first = w->heap[0], *last = w->heap[--w->n_heap];
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < w->n_heap; at = child) {
        child += child + 1 < w->n_heap && is_before(w->heap[child + 1], w->heap[child]);
        if (!is_before(w->heap[child], last))
            break;
        w->heap[at] = w->heap[child];
    }
    w->heap[at] = last;
    return first;
}

static struct item *new_item(enum item_kind kind, size_t n_bytes)
{
    struct item *item = mem_take(sizeof *item + n_bytes);
    item->kind = kind;
    item->n_bytes = n_bytes;
    return item;
}

static void at_place(struct process *p, int place, enum item_kind kind, int64_t due_ns)
{
    struct item *item = new_item(kind, 0);
    item->process = p->index;
    item->place = place;
    item->serial = p->places[place].serial;
    item->due_ns = due_ns;
    push(p->wires, item);
}

static void append(struct list *list, struct item *item)
{
    item->next = NULL;
    if (list->last != NULL)
        list->last->next = item;
    else
        list->first = item;
    list->last = item;
    list->n_bytes += item->n_bytes;
}

static struct item *take_first(struct list *list)
{
    struct item *item = list->first;
    list->first = item->next;
    if (list->first == NULL)
        list->last = NULL;
    list->n_bytes -= item->n_bytes;
    return item;
}

static void clear(struct list *list)
{
    while (list->first != NULL)
        mem_give(take_first(list));
}

static int64_t delay(struct wires *w)
{
    return w->options.delay_ns / 2 +
           (int64_t)(rng_exponential(&w->rng) * (double)w->options.delay_ns / 2) + 1;
}

static bool is_cut(const struct wires *w, int from, int to)
{
    return w->cuts[from * w->options.n_processes + to] != 0;
}

void wires_make_runnable(struct wires *w, int process)
{
    struct process *p = &w->processes[process];
    if (p->is_runnable || !p->is_alive)
        return;
    p->is_runnable = true;
    w->runnable[(w->first_runnable + w->n_runnable++) % w->options.n_processes] = process;
}

int wires_take_runnable(struct wires *w)
{
    if (w->n_runnable == 0)
        return -1;
    int process = w->runnable[w->first_runnable];
    w->first_runnable = (w->first_runnable + 1) % w->options.n_processes;
    w->n_runnable--;
    w->processes[process].is_runnable = false;
    return process;
}

/* ---- Connections. ---- */

static void wait_again(struct process *p, int i)
{
    struct place *place = &p->places[i];
    place->serial = ++p->wires->n_serials;
    place->state = place->is_dialled && place->target >= 0 ? PLACE_WAITING : PLACE_FREE;
    if (place->state == PLACE_FREE)
        return;
    place->backoff_ns = min_i64(max_i64(2 * place->backoff_ns, BACKOFF_NS_MIN), BACKOFF_NS_MAX);
    int64_t early_ns = (int64_t)(rng_unit(&p->wires->rng) * (double)place->backoff_ns / 4);
    at_place(p, i, ITEM_DIAL, p->wires->now_ns + place->backoff_ns - early_ns);
}

/* Ends the connection at this end. The other hears of it, unless the way there is cut, or this
 * machine is gone. */
static void break_end(struct process *p, int i, bool is_silent)
{
    struct wires *w = p->wires;
    struct place *place = &p->places[i];
    struct process *peer = &w->processes[place->peer];
    if (place->state != PLACE_UP)
        return;
    place->state = PLACE_OVER;
    clear(&place->held);
    if (!is_silent && !is_cut(w, p->index, peer->index)) {
        struct item *word = new_item(ITEM_BROKEN, 0);
        word->process = place->peer;
        word->place = place->peer_place;
        word->serial = place->peer_serial;
        word->due_ns = max_i64(w->now_ns + delay(w), place->last_due_ns);
        push(w, word);
    }
    struct item *closed = new_item(ITEM_BROKEN, 0);
    closed->place = i;
    closed->serial = place->serial;
    append(&p->inbox, closed);
    wires_make_runnable(w, p->index);
}

static int free_accepted(const struct process *p)
{
    for (int i = p->n_dialled; i < p->n_places; i++)
        if (p->places[i].state == PLACE_FREE)
            return i;
    return -1;
}

static void come_up(struct process *p, int i, struct process *peer, int peer_place)
{
    struct place *place = &p->places[i];
    place->state = PLACE_UP;
    place->backoff_ns = 0;
    place->peer = peer->index;
    place->peer_place = peer_place;
    place->peer_life = peer->life;
    place->heard_ns = p->wires->now_ns;
    place->last_due_ns = place->held_ns = 0;
    at_place(p, i, ITEM_SILENT, p->wires->now_ns + SILENCE_NS);
    wires_make_runnable(p->wires, p->index);
}

static void dial(struct process *p, int i)
{
    struct wires *w = p->wires;
    struct place *place = &p->places[i];
    bool is_open = !is_cut(w, p->index, place->target) && !is_cut(w, place->target, p->index);
    place->state = PLACE_CONNECTING;
    at_place(p, i, ITEM_DIALLED, w->now_ns + (is_open ? delay(w) + delay(w) : HELLO_NS));
}

static void end_dial(struct process *p, int i)
{
    struct wires *w = p->wires;
    struct place *place = &p->places[i];
    struct process *peer = &w->processes[place->target];
    bool is_open = !is_cut(w, p->index, place->target) && !is_cut(w, place->target, p->index);
    int there = is_open && peer->is_alive ? free_accepted(peer) : -1;
    if (there < 0) {
        wait_again(p, i);
        return;
    }
    peer->places[there].serial = ++w->n_serials;
    place->peer_serial = peer->places[there].serial;
    peer->places[there].peer_serial = place->serial;
    come_up(p, i, peer, there);
    come_up(peer, there, p, i);
}

void wires_aim(struct wires *w, int process, int i, int target)
{
    struct process *p = &w->processes[process];
    struct place *place = &p->places[i];
    place->target = target;
    place->backoff_ns = 0;
    break_end(p, i, false);
    if (place->state == PLACE_OVER)
        return;
    place->serial = ++w->n_serials;
    place->state = PLACE_WAITING;
    at_place(p, i, ITEM_DIAL, w->now_ns);
}

/* ---- The port. ---- */

static struct place *place_of(struct process *p, uint16_t address)
{
    int i = address - WIRES_FIRST_ADDRESS;
    return i >= 0 && i < p->n_places ? &p->places[i] : NULL;
}

static void begin_flight(struct process *p, struct place *place, struct item *item)
{
    struct wires *w = p->wires;
    item->due_ns = max_i64(w->now_ns + delay(w), place->last_due_ns);
    place->last_due_ns = item->due_ns;
    push(w, item);
}

/* Returns how much of a message's first part is sent. */
static size_t n_sent_of(const struct wires *w, const struct message_head *head, size_t n)
{
    const struct message_report *report = (const void *)head;
    bool is_cut = w->options.hides_others && head->kind == MESSAGE_REPORT;
    return is_cut ? cluster_message_report_bytes(report->report.n_services) : n;
}

static bool send(void *self, uint16_t to, const void *part1, size_t n1, const void *part2,
                 size_t n2)
{
    struct process *p = self;
    struct wires *w = p->wires;
    struct place *place = place_of(p, to);
    if (place == NULL)
        return true; /* to the own process, which has no other part here */
    if (place->state == PLACE_OVER || (place->state == PLACE_FREE && !place->is_dialled))
        return true;
    if (place->state != PLACE_UP)
        return false;
    bool is_full = place->held.n_bytes > 0 && place->held.n_bytes + n1 + n2 > w->options.out_bytes;
    if (is_full && p->n_dialled > 0)
        return false;
    if (is_full) { /* a node does not wait for one gateway */
        break_end(p, (int)(place - p->places), false);
        return true;
    }
    n1 = n_sent_of(w, part1, n1);
    struct item *item = new_item(ITEM_MESSAGE, n1 + n2);
    memcpy(item->bytes, part1, n1);
    if (n2 > 0)
        memcpy((char *)item->bytes + n1, part2, n2);
    struct message_head *head = (void *)item->bytes;
    head->n_bytes = (uint32_t)(n1 + n2);
    p->count.n[head->kind]++;
    p->count.n_bytes[head->kind] += (int64_t)(n1 + n2);
    item->process = place->peer;
    item->place = place->peer_place;
    item->serial = place->peer_serial;
    if (w->options.loss > 0 && rng_unit(&w->rng) < w->options.loss) {
        mem_give(item);
        return true;
    }
    if (place->held.first == NULL && !is_cut(w, p->index, place->peer)) {
        begin_flight(p, place, item);
        return true;
    }
    if (place->held.first == NULL) {
        place->held_ns = w->now_ns;
        at_place(p, (int)(place - p->places), ITEM_STUCK, w->now_ns + STUCK_NS);
    }
    append(&place->held, item);
    return true;
}

/* Returns whether the item at the front is of a connection that goes on, or the word of its end. */
static bool counts(const struct process *p, const struct item *item)
{
    const struct place *place = &p->places[item->place];
    enum place_state state = item->kind == ITEM_MESSAGE ? PLACE_UP : PLACE_OVER;
    return place->serial == item->serial && place->state == state;
}

static void show(struct process *p, struct item *item)
{
    if (item->kind == ITEM_BROKEN) {
        struct item *closed = new_item(ITEM_BROKEN, sizeof(struct message_head));
        struct message_head head = cluster_message_head(MESSAGE_CLOSED, 0, sizeof head);
        memcpy(closed->bytes, &head, sizeof head);
        closed->place = item->place;
        mem_give(item);
        item = closed;
        wait_again(p, item->place);
    }
    ((struct message_head *)(void *)item->bytes)->from =
        (uint16_t)(WIRES_FIRST_ADDRESS + item->place);
    p->shown = item;
}

static bool peek(void *self, uint16_t at, const void **message, size_t *n_bytes)
{
    struct process *p = self;
    (void)at;
    while (p->shown == NULL && p->inbox.first != NULL) {
        struct item *item = take_first(&p->inbox);
        if (counts(p, item))
            show(p, item);
        else
            mem_give(item);
    }
    if (p->shown == NULL)
        return false;
    *message = p->shown->bytes;
    *n_bytes = p->shown->n_bytes;
    return true;
}

static void pop(void *self, uint16_t at)
{
    struct process *p = self;
    (void)at;
    mem_give(p->shown);
    p->shown = NULL;
}

struct bus_port wires_port(struct wires *w, int process)
{
    return (struct bus_port){ .self = &w->processes[process],
                              .address = 2,
                              .can_lose = true,
                              .can_drop = w->options.loss > 0,
                              .n_local = WIRES_FIRST_ADDRESS,
                              .send = send,
                              .peek = peek,
                              .pop = pop };
}

enum message_kind wires_shown(const struct wires *w, int process, int *from, uint64_t *life,
                              uint32_t *epoch)
{
    const struct process *p = &w->processes[process];
    if (p->shown == NULL || p->shown->kind != ITEM_MESSAGE)
        return MESSAGE_N;
    const struct place *place = &p->places[p->shown->place];
    const struct message_head *head = (const void *)p->shown->bytes;
    *from = place->peer;
    *life = place->peer_life;
    *epoch = head->epoch;
    return (enum message_kind)head->kind;
}

bool wires_is_up(const struct wires *w, int process, uint16_t address)
{
    const struct place *place = place_of(&w->processes[process], address);
    return place != NULL && place->state == PLACE_UP;
}

int wires_n_up(const struct wires *w, int process)
{
    const struct process *p = &w->processes[process];
    int n = 0;
    for (int i = 0; i < p->n_places; i++)
        n += p->places[i].state == PLACE_UP;
    return n;
}

/* ---- Time. ---- */

/* A timer of a paused process waits until the process runs again. */
static bool put_off(struct process *p, struct item *item)
{
    bool is_timer = item->kind != ITEM_MESSAGE && item->kind != ITEM_BROKEN;
    if (!is_timer || p->paused_until_ns <= p->wires->now_ns)
        return false;
    item->due_ns = p->paused_until_ns + 1;
    push(p->wires, item);
    return true;
}

static void look_for_silence(struct process *p, int i)
{
    const struct place *place = &p->places[i];
    int64_t until_ns = place->heard_ns + SILENCE_NS;
    for (const struct item *unread = p->inbox.first; unread != NULL; unread = unread->next)
        if (unread->kind == ITEM_MESSAGE &&
            unread->place == i) /* the actor is slow, not the peer */
            until_ns = p->wires->now_ns + SILENCE_NS;
    if (until_ns <= p->wires->now_ns)
        break_end(p, i, false);
    else
        at_place(p, i, ITEM_SILENT, until_ns);
}

/* Returns whether the item is kept. */
static bool happen(struct process *p, struct item *item)
{
    struct place *place = &p->places[item->place];
    if (item->kind == ITEM_WAKE) {
        if (item->serial == p->wake_serial)
            wires_make_runnable(p->wires, p->index);
        return false;
    }
    if (place->serial != item->serial)
        return false;
    switch (item->kind) {
    case ITEM_MESSAGE:
        if (place->state != PLACE_UP)
            return false;
        place->heard_ns = p->wires->now_ns;
        append(&p->inbox, item);
        wires_make_runnable(p->wires, p->index);
        return true;
    case ITEM_BROKEN:
        break_end(p, item->place, true);
        return false;
    case ITEM_SILENT:
        if (place->state == PLACE_UP)
            look_for_silence(p, item->place);
        return false;
    case ITEM_STUCK:
        if (place->state == PLACE_UP && place->held.first != NULL &&
            place->held_ns + STUCK_NS <= p->wires->now_ns)
            break_end(p, item->place, false);
        return false;
    case ITEM_DIAL:
        if (place->state == PLACE_WAITING)
            dial(p, item->place);
        return false;
    default:
        if (place->state == PLACE_CONNECTING)
            end_dial(p, item->place);
        return false;
    }
}

void wires_step(struct wires *w, int64_t now_ns)
{
    w->now_ns = now_ns;
    while (w->n_heap > 0 && w->heap[0]->due_ns <= now_ns) {
        struct item *item = pop_first(w);
        struct process *p = &w->processes[item->process];
        if (p->is_alive && put_off(p, item))
            continue;
        if (!p->is_alive || !happen(p, item))
            mem_give(item);
    }
}

int64_t wires_next_ns(const struct wires *w)
{
    return w->n_heap > 0 ? w->heap[0]->due_ns : TIME_NEVER;
}

void wires_wake(struct wires *w, int process, int64_t at_ns)
{
    struct process *p = &w->processes[process];
    struct item *item = new_item(ITEM_WAKE, 0);
    item->process = process;
    item->serial = ++p->wake_serial;
    item->due_ns = at_ns;
    push(w, item);
}

/* ---- Faults. ---- */

static void send_held(struct process *p)
{
    for (int i = 0; i < p->n_places; i++) {
        struct place *place = &p->places[i];
        if (place->state != PLACE_UP || is_cut(p->wires, p->index, place->peer))
            continue;
        if (place->held.first != NULL) /* it is sent again after a while */
            place->last_due_ns =
                max_i64(place->last_due_ns, p->wires->now_ns + (int64_t)(rng_unit(&p->wires->rng) *
                                                                         (double)TIME_NS_PER_S));
        while (place->held.first != NULL)
            begin_flight(p, place, take_first(&place->held));
    }
}

void wires_cut(struct wires *w, int from, int to, bool is_cut)
{
    w->cuts[from * w->options.n_processes + to] = is_cut;
    if (!is_cut)
        send_held(&w->processes[from]);
}

void wires_heal(struct wires *w)
{
    int n = w->options.n_processes;
    memset(w->cuts, 0, (size_t)n * (size_t)n);
    w->options.loss = 0;
    for (int i = 0; i < n; i++)
        send_held(&w->processes[i]);
}

void wires_lose(struct wires *w, double loss)
{
    w->options.loss = loss;
}

void wires_pause(struct wires *w, int process, int64_t until_ns)
{
    w->processes[process].paused_until_ns = until_ns;
}

const struct wires_count *wires_counts(const struct wires *w, int process)
{
    return &w->processes[process].count;
}

/* ---- Life. ---- */

void wires_start(struct wires *w, int process, int n_places, uint64_t life)
{
    struct process *p = &w->processes[process];
    CHECK(!p->is_alive);
    p->is_alive = true;
    p->life = life;
    p->paused_until_ns = 0;
    p->n_dialled = n_places;
    p->n_places = n_places > 0 ? n_places : WIRES_ACCEPTED_MAX;
    p->places = mem_take((size_t)p->n_places * sizeof(*p->places));
    for (int i = 0; i < p->n_places; i++)
        p->places[i] = (struct place){ .is_dialled = n_places > 0, .target = -1 };
    p->wake_serial++;
}

void wires_stop(struct wires *w, int process, bool is_silent)
{
    struct process *p = &w->processes[process];
    for (int i = 0; i < p->n_places; i++) {
        break_end(p, i, is_silent);
        clear(&p->places[i].held);
    }
    clear(&p->inbox);
    mem_give(p->shown);
    p->shown = NULL;
    mem_give(p->places);
    p->places = NULL;
    p->n_places = 0;
    p->is_alive = false;
}

struct wires *wires_open(const struct wires_options *options)
{
    struct wires *w = mem_take(sizeof *w);
    size_t n = (size_t)options->n_processes;
    w->options = *options;
    rng_init(&w->rng, options->seed, 21);
    w->processes = mem_take(n * sizeof(*w->processes));
    w->cuts = mem_take(n * n);
    w->runnable = mem_take(n * sizeof(*w->runnable));
    for (int i = 0; i < options->n_processes; i++) {
        w->processes[i].wires = w;
        w->processes[i].index = i;
    }
    return w;
}

void wires_close(struct wires *w)
{
    for (int i = 0; i < w->options.n_processes; i++)
        wires_stop(w, i, true);
    while (w->n_heap > 0)
        mem_give(pop_first(w));
    mem_give(w->heap);
    mem_give(w->processes);
    mem_give(w->cuts);
    mem_give(w->runnable);
    mem_give(w);
}
