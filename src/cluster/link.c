/* Sessions, numbers and heartbeats of one end of a link. */
#include "cluster/link.h"

#include "base/mem.h"
#include "base/time.h"
#include <string.h>

static const int64_t BEAT_NS = TIME_NS_PER_S;
static const int64_t SILENCE_NS_MAX = 3 * TIME_NS_PER_S;

/* RESEND is said again after this long, since it may be lost, too. */
static const int64_t ASK_NS = 20 * TIME_NS_PER_MS;

void cluster_link_free(struct cluster_link *link)
{
    for (int i = 0; link->copies != NULL && i < CLUSTER_LINK_COPIES; i++)
        mem_give(link->copies[i].bytes);
    mem_give(link->copies);
    link->copies = NULL;
}

/* Keeps a copy of the message that was sent as n_sent. */
static void keep(struct cluster_link *link, const void *message, size_t n_bytes, const void *part2,
                 size_t n2)
{
    if (link->copies == NULL)
        link->copies = mem_take(sizeof *link->copies * CLUSTER_LINK_COPIES);
    struct cluster_link_copy *copy = &link->copies[link->n_sent % CLUSTER_LINK_COPIES];
    mem_give(copy->bytes);
    *copy = (struct cluster_link_copy){ n_bytes + n2, mem_take(n_bytes + n2) };
    memcpy(copy->bytes, message, n_bytes);
    if (n2 > 0)
        memcpy((char *)copy->bytes + n_bytes, part2, n2);
}

/* Sends everything from this number on again. Returns false when a copy is gone. */
static bool resend(struct cluster_link *link, uint64_t number)
{
    if (link->copies == NULL || number > link->n_sent ||
        link->n_sent - number > CLUSTER_LINK_COPIES)
        return false;
    for (uint32_t i = (uint32_t)number; i != link->n_sent; i++) {
        const struct cluster_link_copy *copy = &link->copies[i % CLUSTER_LINK_COPIES];
        if (!link->port.send(link->port.self, link->peer, copy->bytes, copy->n_bytes, NULL, 0))
            return true; /* it is asked for the rest again */
    }
    return true;
}

static void ask_again(struct cluster_link *link)
{
    struct message_head head =
        cluster_message_head(MESSAGE_RESEND, link->port.address, sizeof head);
    if (link->now_ns < link->asked_ns + ASK_NS)
        return;
    head.session = link->session;
    head.id = link->n_taken;
    link->asked_ns = link->now_ns;
    (void)link->port.send(link->port.self, link->peer, &head, sizeof head, NULL, 0);
}

void cluster_link_begin(struct cluster_link *link, uint64_t session, int64_t now_ns)
{
    CHECK(session != 0);
    link->session = session;
    link->n_sent = link->n_taken = 0;
    link->now_ns = link->said_ns = now_ns;
    link->silent_ns = 0;
    link->asked_ns = now_ns - ASK_NS;
    cluster_link_free(link);
}

static void say_closed(const struct cluster_link *link, uint64_t session)
{
    struct message_head head =
        cluster_message_head(MESSAGE_CLOSED, link->port.address, sizeof head);
    head.session = session;
    (void)link->port.send(link->port.self, link->peer, &head, sizeof head, NULL,
                          0); /* if it is lost, the next message of the session is answered again */
}

void cluster_link_end(struct cluster_link *link)
{
    if (link->session == 0)
        return;
    say_closed(link, link->session);
    link->session = 0;
    cluster_link_free(link);
}

bool cluster_link_send(struct cluster_link *link, void *message, size_t n_bytes, const void *part2,
                       size_t n2)
{
    struct message_head *head = message;
    if (link->session == 0)
        return false;
    head->session = link->session;
    head->number = link->n_sent;
    if (!link->port.send(link->port.self, link->peer, message, n_bytes, part2, n2))
        return false;
    if (link->port.can_drop)
        keep(link, message, n_bytes, part2, n2);
    link->n_sent++;
    link->said_ns = link->now_ns;
    return true;
}

enum cluster_link_verdict cluster_link_take(struct cluster_link *link,
                                            const struct message_head *head)
{
    bool is_cut = head->kind == MESSAGE_CLOSED && head->session == 0;
    if (link->session == 0 || (head->session != link->session && !is_cut)) {
        if (head->kind != MESSAGE_CLOSED)
            say_closed(link, head->session);
        return CLUSTER_LINK_PAST;
    }
    if (head->kind == MESSAGE_CLOSED)
        return CLUSTER_LINK_COUNTS;
    if (head->kind == MESSAGE_RESEND) {
        link->silent_ns = 0;
        return resend(link, head->id) ? CLUSTER_LINK_PAST : CLUSTER_LINK_MISSING;
    }
    int32_t ahead = (int32_t)(head->number - link->n_taken);
    if (ahead > 0 && link->port.can_drop) {
        link->silent_ns = 0;
        ask_again(link);
        return CLUSTER_LINK_PAST;
    }
    if (ahead != 0)
        return ahead < 0 ? CLUSTER_LINK_PAST : CLUSTER_LINK_MISSING;
    link->n_taken++;
    link->silent_ns = 0;
    return CLUSTER_LINK_COUNTS;
}

void cluster_link_untake(struct cluster_link *link)
{
    link->n_taken--;
}

static bool can_lose(const struct cluster_link *link)
{
    return link->port.can_lose && link->peer >= link->port.n_local;
}

bool cluster_link_step(struct cluster_link *link, int64_t now_ns, int64_t *wake_ns)
{
    if (link->session == 0 || !can_lose(link))
        return true;
    link->silent_ns += min_i64(max_i64(now_ns - link->now_ns, 0), BEAT_NS);
    link->now_ns = now_ns;
    if (link->silent_ns >= SILENCE_NS_MAX)
        return false;
    if (link->said_ns + BEAT_NS <= now_ns) {
        struct message_head beat =
            cluster_message_head(MESSAGE_BEAT, link->port.address, sizeof beat);
        (void)cluster_link_send(link, &beat, sizeof beat, NULL, 0);
        link->said_ns = now_ns; /* if the bus is full, the peer has unread messages anyway */
    }
    *wake_ns = min_i64(*wake_ns,
                       min_i64(link->said_ns + BEAT_NS, now_ns + SILENCE_NS_MAX - link->silent_ns));
    return true;
}
