/* Services join and leave gateway, manager and node while requests run: none is lost, and no
 * message about a service counts for the one that has its number later. */
#include "gateway_world.h"

#include "cluster/roster.h"
#include "core/control.h"
#include <malloc.h>
#include <string.h>

enum { NEED_BYTES = 400, STEPS_MAX = 4000 };

static void leave(struct world *w, int service)
{
    int n_steps = 0;
    for (; cluster_gateway_n_requests_of(w->gateway, service) > 0; n_steps++) {
        assert_false(cluster_gateway_remove_service(w->gateway, service));
        assert_true(n_steps < STEPS_MAX);
        step(w);
    }
    cluster_manager_dismiss_service(w->manager, service);
    for (; !cluster_manager_remove_service(w->manager, service); n_steps++) {
        assert_true(n_steps < STEPS_MAX);
        step(w);
    }
    assert_true(cluster_gateway_remove_service(w->gateway, service));
    cluster_node_remove_service(w->node, service);
    for (int e = 0; e < N_ENGINES; e++) {
        assert_int_equal(w->engines[e].status[service], SERVICE_UNLOADED);
        set_add(&w->engines[e].gone, service);
    }
    assert_true(cluster_gateway_is_sound(w->gateway));
}

static void join(struct world *w, int service)
{
    struct service_spec *spec = &w->services[service];
    spec->life++;
    snprintf(spec->name, sizeof spec->name, "model-%d-%d", service, (int)spec->life);
    for (int e = 0; e < N_ENGINES; e++) {
        w->engines[e].lives[service] = spec->life;
        w->engines[e].n_arrived[service] = 0;
        set_remove(&w->engines[e].gone, service);
    }
    cluster_node_add_service(w->node, service, spec);
    cluster_gateway_add_service(w->gateway, service, spec);
    cluster_manager_add_service(w->manager, service, spec, NEED_BYTES);
}

static bool are_over(const struct world *w, int n)
{
    for (int i = 0; i < n; i++)
        if (!w->requests[i].is_over)
            return false;
    return true;
}

static int64_t heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();
    return (int64_t)(info.uordblks + info.hblkhd);
}

/* A thousand times a service leaves and another one joins under its number, while one stays. Each
 * request gets all of its tokens, though engines return and repeat. */
static void a_thousand_join_and_leave(void **state)
{
    (void)state;
    struct world *w = mem_take(sizeof *w);
    int64_t before = 0;
    int n = 0;
    open_world(w, 21, 1 << 20);
    for (int round = 0; round < 1000; round++) {
        int service = 1 + round % (N_SERVICES - 1);
        if (round == 20)
            before = heap_bytes();
        if (round % 3 == 0 && n + 2 <= N_REQUESTS) {
            n += submit(w, n, 0, 8, TIME_NEVER);
            n += submit(w, n, service, 8, TIME_NEVER);
        }
        step(w);
        leave(w, service);
        assert_true(set_has(&w->engines[0].gone, service));
        step(w);
        join(w, service);
    }
    for (int i = 0; i < STEPS_MAX && !are_over(w, n); i++)
        step(w);
    for (int i = 0; i < n; i++) {
        assert_true(w->requests[i].is_over);
        assert_int_equal(w->requests[i].why, SERVICE_LENGTH);
        assert_int_equal(w->requests[i].n_tokens, w->requests[i].n_tokens_max);
    }
    if (before > 0) /* a sanitizer's heap does not tell */
        assert_true(heap_bytes() <= before + (64 << 10));
    assert_true(n > 600 && cluster_gateway_is_sound(w->gateway));
    close_world(w);
    mem_give(w);
}

static void send_to(struct world *w, uint16_t from, uint16_t to, const void *message, size_t n)
{
    const struct bus_port port = cluster_local_bus_port(w->bus, from);
    assert_true(port.send(port.self, to, message, n, NULL, 0));
}

static struct message_head order_of(enum message_kind kind, uint16_t from, uint64_t name)
{
    struct message_head head = cluster_message_head(kind, from, sizeof head);
    head.service = name;
    return head;
}

/* Messages of a service's first life come when its number is in the second one. */
static void what_is_late_counts_no_more(void **state)
{
    (void)state;
    struct world *w = mem_take(sizeof *w);
    struct service_change change = { .service = 2, .status = SERVICE_BROKEN, .cause = STATUS_IO };
    open_world(w, 5, 1 << 20);
    uint64_t first = cluster_roster_name(&w->services[2]);
    step(w);
    leave(w, 2);
    join(w, 2);
    step(w);
    struct message_head want = order_of(MESSAGE_WANT, PORT_GATEWAY, first);
    struct message_head load = order_of(MESSAGE_LOAD, PORT_MANAGER, first);
    struct message_ask ask = { .head = cluster_message_head(MESSAGE_ASK, PORT_GATEWAY, sizeof ask),
                               .kind = CONTROL_LOAD };
    ask.head.service = first;
    for (int i = 0; i < 50; i++) { /* no engine loads it */
        send_to(w, PORT_GATEWAY, PORT_MANAGER, &want, sizeof want);
        send_to(w, PORT_GATEWAY, PORT_MANAGER, &ask, sizeof ask);
        send_to(w, PORT_MANAGER, PORT_NODE, &load, sizeof load);
        step(w);
    }
    assert_int_equal(w->engines[0].status[2], SERVICE_UNLOADED);
    assert_int_equal(w->engines[1].status[2], SERVICE_UNLOADED);
    /* A load that failed for the first one ends no request of the second. */
    assert_true(submit(w, 0, 2, 8, TIME_NEVER));
    for (int i = 0; i < 200 && !w->requests[0].is_over; i++) {
        const struct message_change message = cluster_message_change(PORT_MANAGER, first, &change);
        send_to(w, PORT_MANAGER, PORT_GATEWAY, &message, sizeof message);
        send_to(w, PORT_NODE, PORT_MANAGER, &message, sizeof message);
        step(w);
    }
    assert_int_equal(w->requests[0].why, SERVICE_LENGTH);
    close_world(w);
    mem_give(w);
}

/* A request to load a model that leaves for good is refused, and a pinned model leaves too. */
static void a_leaving_model_is_not_loaded(void **state)
{
    (void)state;
    struct world *w = mem_take(sizeof *w);
    struct control_answer answer;
    int n_refused = 0, n_done = 0;
    world_keep_alive_ns = -1; /* pinned */
    open_world(w, 6, 1 << 20);
    world_keep_alive_ns = 3600 * TIME_NS_PER_S;
    struct control control = cluster_gateway_control(w->gateway);
    assert_true(control.ask(control.self, &(struct control_ask){ 1, CONTROL_LOAD, 1 }));
    for (int i = 0; i < 100; i++)
        step(w);
    assert_true(w->engines[0].status[1] == SERVICE_LOADED ||
                w->engines[1].status[1] == SERVICE_LOADED);
    assert_true(control.ask(control.self, &(struct control_ask){ 2, CONTROL_LOAD, 3 }));
    step(w);
    cluster_manager_dismiss_service(w->manager, 3); /* while it loads */
    assert_true(control.ask(control.self, &(struct control_ask){ 3, CONTROL_LOAD, 3 }));
    for (int i = 0; i < 100; i++)
        step(w);
    while (control.next(control.self, &answer)) {
        n_done += answer.status == STATUS_OK;
        n_refused += answer.status == STATUS_CANCELLED;
        if (answer.status == STATUS_CANCELLED)
            assert_non_null(strstr(answer.fault.text, "leaving this server"));
    }
    assert_true(n_done == 1 && n_refused == 2);
    leave(w, 3);
    leave(w, 1);
    close_world(w);
    mem_give(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_thousand_join_and_leave),
                                        cmocka_unit_test(what_is_late_counts_no_more),
                                        cmocka_unit_test(a_leaving_model_is_not_loaded) };
    return cmocka_run_group_tests_name("roster", tests, NULL, NULL);
}
