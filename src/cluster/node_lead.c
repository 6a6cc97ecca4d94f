/* Keeps a node's session with the leading manager. */
#include "cluster/node_lead.h"

#include "base/log.h"
#include <string.h>

enum { NO_PEER = UINT16_MAX, REFUSALS_PER_LINE = 64 };

void node_lead_init(struct node_lead *lead, const struct bus_port *port, struct store_fence *fence)
{
    *lead = (struct node_lead){ .fence = fence, .link = { .port = *port, .peer = NO_PEER } };
}

bool node_lead_is_for(const struct node_lead *lead, const struct message_head *head)
{
    return head->kind == MESSAGE_LEAD || head->from == lead->link.peer;
}

void node_lead_end(struct node_lead *lead)
{
    log_line(LOG_WARN, "node", "the session with the leading manager is over (epoch %llu)",
             (unsigned long long)lead->stamp.epoch);
    cluster_link_end(&lead->link);
    lead->link.peer = NO_PEER;
}

static void answer(const struct node_lead *lead, uint16_t to, enum store_verdict verdict)
{
    struct message_fence message = { .verdict = verdict, .kept = lead->fence->kept };
    message.head = cluster_message_head(MESSAGE_FENCE, lead->link.port.address, sizeof message);
    (void)lead->link.port.send(lead->link.port.self, to, &message, sizeof message, NULL,
                               0); /* if it is lost, the manager asks again */
}

static void refuse(struct node_lead *lead, const struct message_lead *message,
                   enum store_verdict verdict)
{
    answer(lead, message->head.from, verdict);
    if (lead->n_refused++ % REFUSALS_PER_LINE == 0)
        log_line(LOG_WARN, "node", "refused a manager of epoch %llu: %s (obeyed: epoch %llu)",
                 (unsigned long long)message->stamp.epoch, store_fence_verdict_name(verdict),
                 (unsigned long long)lead->fence->kept.epoch);
}

static void take_lead(struct node_lead *lead, const struct message_lead *message, int64_t now_ns)
{
    const struct message_head *head = &message->head;
    if (lead->fence == NULL || (head->session != 0 && lead->link.session == head->session))
        return;
    if (head->session == 0) { /* a candidate asks which manager was obeyed last */
        answer(lead, head->from, STORE_OLD_EPOCH);
        return;
    }
    enum store_verdict verdict = store_fence_check(lead->fence, &message->stamp);
    if (verdict != STORE_OBEY) {
        refuse(lead, message, verdict);
        return;
    }
    if (lead->link.session != 0)
        node_lead_end(lead);
    lead->stamp = message->stamp;
    lead->n_refused = 0;
    lead->link.peer = head->from;
    cluster_link_begin(&lead->link, head->session, now_ns);
    log_line(LOG_INFO, "node", "obeys the manager of epoch %llu",
             (unsigned long long)lead->stamp.epoch);
}

static bool is_order(const struct message_head *head)
{
    return head->kind == MESSAGE_LOAD || head->kind == MESSAGE_UNLOAD ||
           head->kind == MESSAGE_OUST || head->kind == MESSAGE_SLEEP || head->kind == MESSAGE_DRAIN;
}

bool node_lead_take(struct node_lead *lead, const struct message_head *head, int64_t now_ns)
{
    if (head->kind == MESSAGE_LEAD)
        take_lead(lead, (const void *)head, now_ns);
    if (lead->link.session == 0 || head->from != lead->link.peer)
        return false;
    enum cluster_link_verdict verdict = cluster_link_take(&lead->link, head);
    if (verdict == CLUSTER_LINK_PAST)
        return false;
    if (verdict == CLUSTER_LINK_MISSING || head->kind == MESSAGE_CLOSED) {
        node_lead_end(lead);
        return false;
    }
    return is_order(head) && head->epoch == (uint32_t)lead->stamp.epoch;
}

bool node_lead_send(struct node_lead *lead, void *message, size_t n_bytes)
{
    return lead->link.session == 0 || cluster_link_send(&lead->link, message, n_bytes, NULL, 0);
}

void node_lead_pass_on(struct node_lead *lead, const struct message_head *head, size_t n_bytes)
{
    union {
        struct message_head head;
        struct message_space space;
        struct message_demand demand;
    } copy;
    if (n_bytes > sizeof copy)
        return;
    memcpy(&copy, head, n_bytes);
    copy.head.from = lead->link.port.address;
    (void)node_lead_send(lead, &copy, n_bytes);
}

void node_lead_step(struct node_lead *lead, int64_t now_ns, int64_t *wake_ns)
{
    if (lead->link.session != 0 && !cluster_link_step(&lead->link, now_ns, wake_ns))
        node_lead_end(lead);
}
