/* Keeps the leading manager's sessions with its nodes. */
#include "cluster/lead.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "cluster/link.h"

static const int64_t AGAIN_NS = 100 * TIME_NS_PER_MS; /* without a connection */
static const int64_t REFUSED_AGAIN_NS = 2 * TIME_NS_PER_S;

struct cluster_lead {
    struct cluster_lead_options options;
    struct cluster_nodes nodes;
    struct lead_node {
        struct cluster_link link;
        bool is_lost, is_refused; /* not told to the caller yet */
        bool was_told;            /* a line of the log said that it refuses */
        struct store_stamp kept;
        int64_t again_ns;
    } * of; /* (nodes.n) */
    uint64_t n_sessions;
    int64_t now_ns;
};

static void end_session(struct cluster_lead *lead, int node)
{
    struct lead_node *of = &lead->of[node];
    if (of->link.session == 0)
        return;
    cluster_link_end(&of->link);
    of->is_lost = true;
}

static void take_fence(struct cluster_lead *lead, int node, const struct message_fence *message)
{
    struct lead_node *of = &lead->of[node];
    if (message->verdict == STORE_OLD_EPOCH && message->kept.epoch < lead->options.stamp.epoch)
        return; /* an answer to what this manager asked as a candidate, and no refusal */
    if (!of->was_told)
        log_line(LOG_WARN, "manager", "node %d does not obey: %s (it obeyed epoch %llu)", node,
                 store_fence_verdict_name((enum store_verdict)message->verdict),
                 (unsigned long long)message->kept.epoch);
    of->was_told = of->is_refused = true;
    of->kept = message->kept;
    of->again_ns = lead->now_ns + REFUSED_AGAIN_NS;
    end_session(lead, node);
}

/* ---- The manager's port. ---- */

static bool post(void *self, uint16_t to, const void *part1, size_t n1, const void *part2,
                 size_t n2)
{
    struct cluster_lead *lead = self;
    int node = cluster_nodes_find(&lead->nodes, to);
    union {
        struct message_head head;
        char bytes[sizeof(struct message_head)];
    } order;
    if (node < 0)
        return true; /* to a gateway */
    if (n1 != sizeof order || n2 != 0 || !lead->options.may_act(lead->options.self))
        return false;
    order.head = *(const struct message_head *)part1;
    order.head.epoch = (uint32_t)lead->options.stamp.epoch;
    (void)part2;
    return cluster_link_send(&lead->of[node].link, &order, sizeof order, NULL, 0);
}

/* Returns whether the message of the node is one for the manager. */
static bool is_for_manager(struct cluster_lead *lead, int node, const void *message, size_t n_bytes)
{
    const struct message_head *head = message;
    struct lead_node *of = &lead->of[node];
    if (!cluster_message_is_valid(message, n_bytes, lead->nodes.of[node].n_engines)) {
        log_line(LOG_WARN, "manager", "dropped a malformed message of %zu bytes", n_bytes);
        return false;
    }
    if (head->kind == MESSAGE_FENCE) {
        take_fence(lead, node, message);
        return false;
    }
    enum cluster_link_verdict verdict = cluster_link_take(&of->link, head);
    if (verdict == CLUSTER_LINK_MISSING ||
        (verdict == CLUSTER_LINK_COUNTS && head->kind == MESSAGE_CLOSED))
        end_session(lead, node);
    return verdict == CLUSTER_LINK_COUNTS &&
           (head->kind == MESSAGE_REPORT || head->kind == MESSAGE_CHANGE ||
            head->kind == MESSAGE_WANT || head->kind == MESSAGE_SPACE ||
            head->kind == MESSAGE_DEMAND);
}

static bool peek(void *self, uint16_t at, const void **message, size_t *n_bytes)
{
    struct cluster_lead *lead = self;
    const struct bus_port *port = &lead->options.port;
    (void)at;
    while (port->peek(port->self, port->address, message, n_bytes)) {
        const struct message_head *head = *message;
        int node = *n_bytes >= sizeof *head ? cluster_nodes_find(&lead->nodes, head->from) : -1;
        if (node >= 0 && is_for_manager(lead, node, *message, *n_bytes))
            return true;
        port->pop(port->self, port->address);
    }
    return false;
}

static void pop(void *self, uint16_t at)
{
    const struct bus_port *port = &((struct cluster_lead *)self)->options.port;
    (void)at;
    port->pop(port->self, port->address);
}

struct bus_port cluster_lead_port(struct cluster_lead *lead)
{
    return (struct bus_port){
        .self = lead, .address = lead->options.port.address, .send = post, .peek = peek, .pop = pop
    };
}

/* ---- Its step. ---- */

static void begin_session(struct cluster_lead *lead, int node, int64_t *wake_ns)
{
    struct lead_node *of = &lead->of[node];
    struct message_lead message = { .stamp = lead->options.stamp };
    message.head = cluster_message_head(MESSAGE_LEAD, lead->options.port.address, sizeof message);
    if (of->again_ns > lead->now_ns) {
        *wake_ns = min_i64(*wake_ns, of->again_ns);
        return;
    }
    cluster_link_begin(&of->link, rng_at(lead->options.seed, 1, lead->n_sessions) | 1,
                       lead->now_ns);
    if (cluster_link_send(&of->link, &message, sizeof message, NULL, 0)) {
        lead->n_sessions++;
    } else {
        of->link.session = 0; /* the node is not connected */
        of->again_ns = lead->now_ns + AGAIN_NS;
        *wake_ns = min_i64(*wake_ns, of->again_ns);
    }
}

int64_t cluster_lead_step(struct cluster_lead *lead, int64_t now_ns)
{
    int64_t wake_ns = TIME_NEVER;
    lead->now_ns = now_ns;
    for (int i = 0; i < lead->nodes.n; i++) {
        struct cluster_link *link = &lead->of[i].link;
        if (!cluster_link_step(link, now_ns, &wake_ns))
            end_session(lead, i);
        if (link->session == 0 && lead->options.may_act(lead->options.self))
            begin_session(lead, i, &wake_ns);
    }
    return wake_ns;
}

bool cluster_lead_has_session(const struct cluster_lead *lead, int node)
{
    return lead->of[node].link.session != 0;
}

int cluster_lead_next_lost(struct cluster_lead *lead)
{
    for (int i = 0; i < lead->nodes.n; i++) {
        if (!lead->of[i].is_lost)
            continue;
        lead->of[i].is_lost = false;
        return i;
    }
    return -1;
}

bool cluster_lead_next_refusal(struct cluster_lead *lead, struct store_stamp *kept)
{
    for (int i = 0; i < lead->nodes.n; i++) {
        if (!lead->of[i].is_refused)
            continue;
        lead->of[i].is_refused = false;
        *kept = lead->of[i].kept;
        return true;
    }
    return false;
}

void cluster_lead_ask(const struct bus_port *port, uint16_t node)
{
    struct message_lead message = { 0 };
    message.head = cluster_message_head(MESSAGE_LEAD, port->address, sizeof message);
    (void)port->send(port->self, node, &message, sizeof message, NULL, 0);
}

bool cluster_lead_read_answer(const void *message, size_t n_bytes, struct store_stamp *kept)
{
    const struct message_fence *answer = message;
    if (!cluster_message_is_valid(message, n_bytes, 1) || answer->head.kind != MESSAGE_FENCE)
        return false;
    *kept = answer->kept;
    return true;
}

struct cluster_lead *cluster_lead_open(const struct cluster_lead_options *options)
{
    struct cluster_lead *lead = mem_take(sizeof *lead);
    lead->options = *options;
    cluster_nodes_init(&lead->nodes, options->nodes, options->n_nodes);
    lead->options.nodes = lead->nodes.of;
    lead->of = mem_take(sizeof *lead->of * (size_t)lead->nodes.n);
    for (int i = 0; i < lead->nodes.n; i++)
        lead->of[i].link =
            (struct cluster_link){ .port = options->port, .peer = lead->nodes.of[i].address };
    return lead;
}

void cluster_lead_close(struct cluster_lead *lead)
{
    for (int i = 0; i < lead->nodes.n; i++)
        cluster_link_end(&lead->of[i].link);
    cluster_nodes_free(&lead->nodes);
    mem_give(lead->of);
    mem_give(lead);
}
