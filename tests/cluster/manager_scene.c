/* A manager, and a node that is played by hand. */
#include "test.h"

#include "base/mem.h"
#include "base/time.h"
#include "manager_scene.h"

void scene_open(struct scene *s, int64_t memory_bytes)
{
    static const int64_t need[N_SERVICES] = { 400, 400, 400 };
    s->now_ns = TIME_NS_PER_S;
    for (int i = 0; i < N_SERVICES; i++)
        snprintf(s->services[i].name, LIMIT_NAME_BYTES, "model-%d", i);
    for (int e = 0; e < N_ENGINES; e++)
        s->reports[e] = (struct engine_report){ .engine = (uint16_t)e,
                                                .is_healthy = true,
                                                .memory_bytes = memory_bytes,
                                                .n_services = N_SERVICES,
                                                .listed = set_of_first(N_SERVICES) };
    cluster_roster_init(&s->roster);
    for (int i = 0; i < N_SERVICES; i++)
        cluster_roster_add(&s->roster, i, &s->services[i]);
    s->bus = cluster_local_bus_open(PORTS, 1 << 20);
    s->node = cluster_local_bus_port(s->bus, PORT_NODE);
    const struct cluster_node_at own = { PORT_NODE, N_ENGINES };
    const struct cluster_manager_options options = { .port = cluster_local_bus_port(s->bus,
                                                                                    PORT_MANAGER),
                                                     .gateway = PORT_GATEWAY,
                                                     .nodes = &own,
                                                     .n_nodes = 1,
                                                     .n_services = N_SERVICES,
                                                     .services = s->services,
                                                     .need_bytes = need,
                                                     .kept_bytes = KEPT };
    s->manager = cluster_manager_open(&options);
}

void scene_close(struct scene *s)
{
    cluster_manager_close(s->manager);
    cluster_roster_free(&s->roster);
    cluster_local_bus_close(s->bus);
    mem_give(s);
}

void scene_say(struct scene *s, int engine, int service, enum service_status status,
               enum status cause)
{
    const struct service_change change = { .engine = (uint16_t)engine,
                                           .service = (uint16_t)service,
                                           .status = (uint8_t)status,
                                           .cause = (uint8_t)cause };
    const struct message_change message =
        cluster_message_change(PORT_NODE, cluster_roster_name(&s->services[service]), &change);
    assert_true(s->node.send(s->node.self, PORT_MANAGER, &message, sizeof message, NULL, 0));
    s->reports[engine].services[service].status = (uint8_t)status;
    s->reports[engine].services[service].weights_bytes = status == SERVICE_LOADED ? 400 : 0;
}

void scene_want(struct scene *s, int service)
{
    struct message_head head = cluster_message_head(MESSAGE_WANT, PORT_GATEWAY, sizeof head);
    head.service = cluster_roster_name(&s->services[service]);
    assert_true(s->node.send(s->node.self, PORT_MANAGER, &head, sizeof head, NULL, 0));
}

void scene_ask(struct scene *s, uint64_t id, enum control_kind kind, int service)
{
    struct message_ask message = { .kind = (uint8_t)kind };
    message.head = cluster_message_head(MESSAGE_ASK, PORT_GATEWAY, sizeof message);
    message.head.id = id;
    message.head.service = cluster_roster_name(&s->services[service]);
    assert_true(s->node.send(s->node.self, PORT_MANAGER, &message, sizeof message, NULL, 0));
}

static void say_loaded(struct scene *s)
{
    for (int e = 0; e < N_ENGINES; e++)
        for (int i = 0; i < N_SERVICES; i++) {
            if (s->due_ns[e][i] == 0 || s->due_ns[e][i] > s->now_ns)
                continue;
            bool is_broken = s->n_broken-- > 0;
            s->due_ns[e][i] = 0;
            scene_say(s, e, i, is_broken ? SERVICE_BROKEN : SERVICE_LOADED,
                      is_broken ? STATUS_IO : STATUS_OK);
        }
}

void scene_step(struct scene *s, int64_t span_ns)
{
    const void *record;
    size_t n_record;
    s->now_ns += span_ns;
    say_loaded(s);
    for (int e = 0; e < N_ENGINES; e++) {
        s->reports[e].now_ns = s->now_ns;
        struct message_report message = { .head =
                                              cluster_message_head(MESSAGE_REPORT, PORT_NODE, 0) };
        message.head.engine = (uint16_t)e;
        size_t n_bytes =
            cluster_message_write_report(&s->reports[e], &s->roster, &message, s->now_ns);
        assert_true(s->node.send(s->node.self, PORT_MANAGER, &message, n_bytes, NULL, 0));
    }
    (void)cluster_manager_step(s->manager, s->now_ns);
    while (s->node.peek(s->node.self, PORT_NODE, &record, &n_record)) {
        const struct message_head *head = record;
        int service = max_i32(cluster_roster_find(&s->roster, head->service), 0);
        if (head->kind == MESSAGE_LOAD) {
            s->n_loads[head->engine][service]++;
            s->due_ns[head->engine][service] = s->now_ns + s->load_takes_ns;
            say_loaded(s);
        } else if (head->kind == MESSAGE_UNLOAD) {
            s->n_unloads[head->engine][service]++;
            bool is_busy = s->reports[head->engine].services[service].n_running > 0;
            if (!s->is_deaf)
                scene_say(s, head->engine, service, is_busy ? SERVICE_LOADED : SERVICE_UNLOADED,
                          is_busy ? STATUS_BUSY : STATUS_OK);
        } else if (head->kind == MESSAGE_OUST) {
            s->n_ousted[service]++;
            s->reports[head->engine].services[service].n_running = 0;
            scene_say(s, head->engine, service, SERVICE_UNLOADED, STATUS_OK);
        }
        s->node.pop(s->node.self, PORT_NODE);
    }
}
