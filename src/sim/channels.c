/* The bus on virtual time. */
#include "sim/channels.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include <string.h>

#define CHANNELS_BYTES_MAX ((int64_t)64 << 20)

/* The workload has the streams below. */
enum { DICE_CHANCES = 64, DICE_LATE, DICE_AGAIN, DICE_DROP, DICE_BREAK, DICE_CUT };

struct item { /* then its bytes, to a multiple of 8 */
    int64_t due_ns;
    uint64_t number;
    size_t n_bytes;
};

/* Makes two chances from one draw, for the message that is sent now. */
static void draw(const struct sim_channels *channels, double chances[2])
{
    uint64_t bits = rng_at(channels->seed, DICE_CHANCES, channels->n_sent);
    chances[0] = (double)(bits >> 32) * 0x1p-32;
    chances[1] = (double)(bits & UINT32_MAX) * 0x1p-32;
}

static int64_t draw_ns(const struct sim_channels *channels, uint64_t stream, int64_t mean_ns)
{
    struct rng rng = { channels->seed, stream, channels->n_sent << 8 };
    return mean_ns > 0 ? (int64_t)(rng_exponential(&rng) * (double)mean_ns) : 0;
}

/* ---- One way. ---- */

static const struct item *first_of(const struct sim_channels_fifo *fifo)
{
    return fifo->first < fifo->end ? (const void *)(fifo->bytes + fifo->first) : NULL;
}

static size_t padded(size_t n_bytes)
{
    return sizeof(struct item) + ((n_bytes + 7) & ~(size_t)7);
}

static void make_room(struct sim_channels_fifo *fifo, size_t n_bytes)
{
    size_t n = fifo->end - fifo->first;
    if (fifo->end + n_bytes <= fifo->room)
        return;
    if (n > 0)
        memmove(fifo->bytes, fifo->bytes + fifo->first, n);
    fifo->first = 0;
    fifo->end = n;
    if (n + n_bytes > fifo->room) {
        size_t room = 2 * (n + n_bytes) + 4096;
        fifo->bytes = mem_grow(fifo->bytes, fifo->room, room);
        fifo->room = room;
    }
}

static void put(struct sim_channels_fifo *fifo, const struct item *item, const void *part1,
                size_t n1, const void *part2, size_t n2)
{
    size_t n_bytes = padded(n1 + n2);
    make_room(fifo, n_bytes);
    unsigned char *at = fifo->bytes + fifo->end;
    memcpy(at, item, sizeof(*item));
    memcpy(at + sizeof(*item), part1, n1);
    if (n2 > 0)
        memcpy(at + sizeof(*item) + n1, part2, n2);
    fifo->end += n_bytes;
}

/* Delays a message, since nothing passes during a cut. Cuts are drawn one after the other, for each
 * way separately. */
static int64_t after_cuts(const struct sim_channels *channels, struct sim_channels_fifo *fifo,
                          uint64_t way, int64_t due_ns)
{
    const struct sim_faults *f = &channels->faults;
    while (f->cut_ns > 0 && (fifo->n_cuts == 0 || fifo->cut_until_ns <= due_ns)) {
        struct rng rng = { channels->seed, DICE_CUT + way, fifo->n_cuts++ << 8 };
        fifo->cut_ns =
            fifo->cut_until_ns + (int64_t)(rng_exponential(&rng) * (double)f->cut_ns) + 1;
        fifo->cut_until_ns = fifo->cut_ns + f->cut_for_ns;
    }
    return f->cut_ns > 0 && fifo->cut_ns <= due_ns ? fifo->cut_until_ns : due_ns;
}

/* ---- The link. ---- */

static bool has_losses(const struct sim_faults *f)
{
    return f->drop > 0 || f->break_ns > 0;
}

static bool is_of_link(const struct sim_channels *channels, uint16_t from, uint16_t to)
{
    const uint16_t *link = channels->link;
    return link[0] != link[1] &&
           ((from == link[0] && to == link[1]) || (from == link[1] && to == link[0]));
}

static void lose_all(struct sim_channels *channels, struct sim_channels_fifo *fifo,
                     struct sim_channels_end *end)
{
    for (const struct item *item; (item = first_of(fifo)) != NULL;) {
        end->n_waiting -= padded(item->n_bytes);
        fifo->first += padded(item->n_bytes);
        channels->report->n_dropped++;
    }
    fifo->first = fifo->end = 0;
    end->is_stale = true;
}

/* Breaks that have begun until now lose the messages in flight, and the next break is drawn after
 * the last. Returns true during a break. */
static bool is_broken(struct sim_channels *channels)
{
    const struct sim_faults *f = &channels->faults;
    const uint16_t *link = channels->link;
    while (f->break_ns > 0 && channels->break_until_ns <= *channels->clock_ns) {
        struct rng rng = { channels->seed, DICE_BREAK, (uint64_t)channels->report->n_breaks << 8 };
        bool is_first = channels->break_until_ns == 0;
        channels->break_ns =
            channels->break_until_ns + 1 + (int64_t)(rng_exponential(&rng) * (double)f->break_ns);
        channels->break_until_ns = channels->break_ns + f->break_for_ns;
        channels->report->n_breaks += !is_first;
    }
    if (f->break_ns == 0 || channels->break_ns > *channels->clock_ns)
        return false;
    for (int i = 0; i < 2; i++) {
        struct sim_channels_end *end = &channels->ends[link[i]];
        lose_all(channels, &end->from[link[1 - i]], end);
        lose_all(channels, &end->again[link[1 - i]], end);
    }
    return true;
}

/* Is the message that is sent now lost? */
static bool loses(struct sim_channels *channels, uint16_t from, uint16_t to)
{
    const struct sim_faults *f = &channels->faults;
    if (!has_losses(f) || !is_of_link(channels, from, to))
        return false;
    uint64_t bits = rng_at(channels->seed, DICE_DROP, channels->n_sent);
    return is_broken(channels) || (double)(bits >> 32) * 0x1p-32 < f->drop;
}

/* ---- The port. ---- */

static bool send(void *self, uint16_t to, const void *part1, size_t n1, const void *part2,
                 size_t n2)
{
    struct sim_channels_end *end = self;
    struct sim_channels *channels = end->channels;
    const struct sim_faults *f = &channels->faults;
    struct sim_channels_end *target = &channels->ends[to];
    struct sim_channels_fifo *fifo = &target->from[end->address];
    uint64_t way = (uint64_t)end->address * SIM_CHANNELS_ENDS + to;
    double chances[2] = { 1, 1 };
    CHECK(to < SIM_CHANNELS_ENDS);
    if ((int64_t)(target->n_waiting + padded(n1 + n2)) > f->bus_bytes) {
        channels->report->n_refused++;
        return false;
    }
    if (loses(channels, end->address, to)) {
        channels->n_sent++;
        channels->report->n_messages++;
        channels->report->n_dropped++;
        return true;
    }
    struct item item = { *channels->clock_ns + f->latency_ns +
                             draw_ns(channels, DICE_LATE, f->late_ns),
                         channels->n_sent, n1 + n2 };
    if (f->lost > 0 || f->twice > 0)
        draw(channels, chances);
    if (chances[0] < f->lost) {
        item.due_ns += f->resend_ns;
        channels->report->n_lost++;
    }
    item.due_ns = max_i64(after_cuts(channels, fifo, way, item.due_ns), fifo->last_due_ns);
    fifo->last_due_ns = item.due_ns;
    put(fifo, &item, part1, n1, part2, n2);
    target->n_waiting += padded(n1 + n2);
    if (chances[1] < f->twice) {
        struct sim_channels_fifo *again = &target->again[end->address];
        item.due_ns =
            max_i64(item.due_ns + draw_ns(channels, DICE_AGAIN, f->resend_ns), again->last_due_ns);
        again->last_due_ns = item.due_ns;
        put(again, &item, part1, n1, part2, n2);
        target->n_waiting += padded(n1 + n2);
        channels->report->n_twice++;
    }
    target->is_stale = true;
    channels->n_sent++;
    channels->report->n_messages++;
    channels->report->n_bytes += (int64_t)(n1 + n2);
    return true;
}

/* Returns the way whose next message arrives first; NULL: no message is in flight. */
static struct sim_channels_fifo *first_way(struct sim_channels_end *end)
{
    struct sim_channels_fifo *first = NULL;
    if (!end->is_stale)
        return end->first;
    for (int i = 0; i < 2 * SIM_CHANNELS_ENDS; i++) {
        struct sim_channels_fifo *fifo =
            i < SIM_CHANNELS_ENDS ? &end->from[i] : &end->again[i - SIM_CHANNELS_ENDS];
        const struct item *item = first_of(fifo), *best = first != NULL ? first_of(first) : NULL;
        if (item != NULL && (best == NULL || item->due_ns < best->due_ns ||
                             (item->due_ns == best->due_ns && item->number < best->number)))
            first = fifo;
    }
    end->first = first;
    end->is_stale = false;
    return first;
}

static bool peek(void *self, uint16_t at, const void **message, size_t *n_bytes)
{
    struct sim_channels_end *end = self;
    (void)is_broken(end->channels);
    struct sim_channels_fifo *fifo = first_way(end);
    CHECK(at == end->address);
    if (fifo == NULL || first_of(fifo)->due_ns > *end->channels->clock_ns)
        return false;
    end->shown = fifo;
    *message = first_of(fifo) + 1;
    *n_bytes = first_of(fifo)->n_bytes;
    return true;
}

static void pop(void *self, uint16_t at)
{
    struct sim_channels_end *end = self;
    struct sim_channels_fifo *fifo = end->shown;
    CHECK(at == end->address && fifo != NULL);
    size_t n_bytes = padded(first_of(fifo)->n_bytes);
    end->n_waiting -= n_bytes;
    fifo->first += n_bytes;
    if (fifo->first == fifo->end)
        fifo->first = fifo->end = 0;
    end->shown = NULL;
    end->is_stale = true;
}

struct bus_port sim_channels_port(struct sim_channels *channels, uint16_t address)
{
    CHECK(address < SIM_CHANNELS_ENDS);
    return (struct bus_port){
        .self = &channels->ends[address],
        .address = address,
        .can_lose = has_losses(&channels->faults),
        .can_drop = channels->faults.drop > 0,
        .send = send,
        .peek = peek,
        .pop = pop,
    };
}

int64_t sim_channels_next_ns(struct sim_channels *channels, uint16_t address)
{
    const struct sim_channels_fifo *fifo = first_way(&channels->ends[address]);
    return fifo != NULL ? first_of(fifo)->due_ns : TIME_NEVER;
}

void sim_channels_open(struct sim_channels *channels, const struct sim_faults *faults,
                       uint64_t seed, const int64_t *clock_ns, struct sim_faults_report *report)
{
    *channels = (struct sim_channels){
        .faults = *faults, .clock_ns = clock_ns, .seed = seed, .report = report
    };
    struct sim_faults *f = &channels->faults;
    f->resend_ns = f->resend_ns > 0 ? f->resend_ns : 200 * TIME_NS_PER_MS;
    f->cut_for_ns = f->cut_for_ns > 0 ? f->cut_for_ns : 2 * TIME_NS_PER_S;
    f->break_for_ns = f->break_for_ns > 0 ? f->break_for_ns : 4 * TIME_NS_PER_S;
    f->bus_bytes = f->bus_bytes > 0 ? f->bus_bytes : CHANNELS_BYTES_MAX;
    for (uint16_t i = 0; i < SIM_CHANNELS_ENDS; i++) {
        channels->ends[i].channels = channels;
        channels->ends[i].address = i;
    }
}

void sim_channels_link(struct sim_channels *channels, uint16_t a, uint16_t b)
{
    channels->link[0] = a;
    channels->link[1] = b;
}

void sim_channels_close(struct sim_channels *channels)
{
    for (int i = 0; i < SIM_CHANNELS_ENDS; i++) {
        for (int from = 0; from < SIM_CHANNELS_ENDS; from++) {
            mem_give(channels->ends[i].from[from].bytes);
            mem_give(channels->ends[i].again[from].bytes);
        }
    }
}
