/* Two gateways with different lists of services use one node: each request runs on the service that
 * its own gateway meant, or on none. */
#include "fake_engine.h"
#include "test.h"

#include "base/mem.h"
#include "base/time.h"
#include "cluster/gateway.h"
#include "route/policy.h"

enum {
    PORT_NODE,
    PORT_MANAGER,
    PORT_FIRST,
    PORTS = PORT_FIRST + 2,
    N_GATEWAYS = 2,
    N_NODE = 3,  /* services of the node */
    N_LIST = 3,  /* of each gateway */
    N_EACH = 12, /* requests of each service in each list */
    N_PROMPT = 4,
    STEPS = 400,
};

/* What the node has: number 0 to 2. The gateways' lists name them in another order, and have ones
 * that the node does not have: another file under a name that the node has, too. */
enum { ALPHA = 1, BETA, GAMMA, OTHER_ALPHA, DELTA };
static const int of_node[N_NODE] = { ALPHA, BETA, GAMMA };
static const int of_gateways[N_GATEWAYS][N_LIST] = { { GAMMA, ALPHA, DELTA },
                                                     { BETA, OTHER_ALPHA, GAMMA } };

static struct service_spec spec_of(int file)
{
    static const char *const names[] = { "", "alpha", "beta", "gamma", "alpha", "delta" };
    struct service_spec spec = { .identity = (uint64_t)file,
                                 .keep_alive_ns = -1,
                                 .hold_ns_max = 100 * TIME_NS_PER_MS };
    (void)snprintf(spec.name, sizeof spec.name, "%s", names[file]);
    return spec;
}

struct scene {
    struct cluster_local_bus *bus;
    struct fake_engine engine;
    struct cluster_node *node;
    struct cluster_gateway *gateways[N_GATEWAYS];
    int64_t now_ns;
    int n_ended[N_GATEWAYS][N_LIST]; /* with a whole answer */
    int n_refused[N_GATEWAYS][N_LIST];
};

/* A request's id says whose it is. */
static uint64_t id_of(int gateway, int service, int i)
{
    return (uint64_t)((gateway * N_LIST + service) * N_EACH + i + 1);
}

static void open_gateway(struct scene *s, int g)
{
    static const struct route_policy *router;
    struct route_config config;
    struct service_spec specs[N_LIST];
    router = route_find("least");
    route_config_init(&config);
    for (int i = 0; i < N_LIST; i++)
        specs[i] = spec_of(of_gateways[g][i]);
    s->gateways[g] = cluster_gateway_open(&(struct cluster_gateway_options){
        .port = cluster_local_bus_port(s->bus, (uint16_t)(PORT_FIRST + g)),
        .node = PORT_NODE,
        .manager = PORT_MANAGER,
        .seed = (uint64_t)g + 1,
        .n_engines = 1,
        .n_services = N_LIST,
        .services = specs,
        .n_requests_max = N_LIST * N_EACH,
        .router = router,
        .router_config = &config });
}

static struct scene *open_scene(void)
{
    struct scene *s = mem_take(sizeof *s);
    struct service_spec specs[N_NODE];
    fake_engine_init(&s->engine, 0, N_NODE, test_seed(3));
    for (int i = 0; i < N_NODE; i++) {
        specs[i] = spec_of(of_node[i]);
        s->engine.status[i] = SERVICE_LOADED;
    }
    const struct cluster_engine face = fake_engine_face(&s->engine);
    s->now_ns = TIME_NS_PER_S;
    s->bus = cluster_local_bus_open(PORTS, 1 << 20);
    s->node = cluster_node_open(
        &(struct cluster_node_options){ .port = cluster_local_bus_port(s->bus, PORT_NODE),
                                        .manager = PORT_MANAGER,
                                        .n_requests_max = 128,
                                        .n_engines = 1,
                                        .n_services = N_NODE,
                                        .services = specs,
                                        .engines = &face,
                                        .report_ns = 10 * TIME_NS_PER_MS,
                                        .fits = route_find("least")->fits });
    for (int g = 0; g < N_GATEWAYS; g++)
        open_gateway(s, g);
    return s;
}

static void close_scene(struct scene *s)
{
    for (int g = 0; g < N_GATEWAYS; g++)
        cluster_gateway_close(s->gateways[g]);
    cluster_node_close(s->node);
    cluster_local_bus_close(s->bus);
    mem_give(s);
}

static void submit(struct scene *s, int g, int service, int i)
{
    unsigned char bytes[sizeof(struct request_body) + 4 * N_PROMPT] = { 0 };
    struct request_body *body = (void *)bytes;
    struct service door = cluster_gateway_service(s->gateways[g]);
    *body = (struct request_body){
        .n_bytes = sizeof bytes,
        .n_tokens = N_PROMPT,
        .seed = id_of(g, service, i),
        .sampling = { .repetition_penalty = 1.0F, .top_p = 1.0F, .n_top_logprobs = -1 }
    };
    const struct request request = { .id = id_of(g, service, i),
                                     .service = (uint16_t)service,
                                     .n_prompt = N_PROMPT,
                                     .n_tokens = N_PROMPT,
                                     .n_tokens_max = N_PROMPT + 6,
                                     .arrived_ns = s->now_ns,
                                     .deadline_ns = TIME_NEVER };
    assert_true(door.submit(door.self, &request, body));
}

/* Each request that an engine has runs on the service that its gateway's list has under that
 * number. */
static void check_engine(const struct scene *s)
{
    for (int i = 0; i < FAKE_REQUESTS_MAX; i++) {
        const struct fake_request *r = &s->engine.requests[i];
        if (!r->is_live)
            continue;
        int at = (int)(r->request.id - 1) / N_EACH;
        assert_int_equal(of_node[r->request.service], of_gateways[at / N_LIST][at % N_LIST]);
    }
}

static void hear(struct scene *s, int g)
{
    struct service door = cluster_gateway_service(s->gateways[g]);
    struct service_event event;
    const void *payload;
    while (door.next(door.self, &event, &payload)) {
        int at = (int)(event.id - 1) / N_EACH;
        assert_int_equal(at / N_LIST, g); /* never another gateway's */
        if (event.what != SERVICE_ENDED)
            continue;
        s->n_ended[g][at % N_LIST] += event.why == SERVICE_LENGTH;
        s->n_refused[g][at % N_LIST] += event.why == SERVICE_NOT_READY;
    }
}

static void step(struct scene *s)
{
    const struct bus_port manager = cluster_local_bus_port(s->bus, PORT_MANAGER);
    const void *message;
    size_t n_bytes;
    for (int g = 0; g < N_GATEWAYS; g++) {
        cluster_gateway_step(s->gateways[g], s->now_ns);
        hear(s, g);
        assert_true(cluster_gateway_is_sound(s->gateways[g]));
    }
    cluster_node_step(s->node, s->now_ns);
    check_engine(s);
    while (manager.peek(manager.self, PORT_MANAGER, &message, &n_bytes))
        manager.pop(manager.self, PORT_MANAGER);
    s->now_ns += TIME_NS_PER_MS;
}

static void test_each_request_runs_on_its_own_service(void **state)
{
    (void)state;
    struct scene *s = open_scene();
    for (int i = 0; i < N_EACH; i++)
        for (int g = 0; g < N_GATEWAYS; g++)
            for (int service = 0; service < N_LIST; service++)
                submit(s, g, service, i);
    for (int i = 0; i < STEPS; i++)
        step(s);
    for (int g = 0; g < N_GATEWAYS; g++) {
        for (int service = 0; service < N_LIST; service++) {
            bool is_there = of_gateways[g][service] <= GAMMA;
            assert_int_equal(s->n_ended[g][service], is_there ? N_EACH : 0);
            assert_int_equal(s->n_refused[g][service], is_there ? 0 : N_EACH);
        }
    }
    close_scene(s);
}

/* Each gateway's mirror shows the services under its own numbers. */
static void test_each_mirror_has_its_own_numbers(void **state)
{
    (void)state;
    struct scene *s = open_scene();
    s->engine.status[1] = SERVICE_UNLOADED; /* beta, the second gateway's 0 */
    for (int i = 0; i < 30; i++)
        step(s);
    for (int g = 0; g < N_GATEWAYS; g++) {
        int n_engines;
        const struct engine_report *report = cluster_gateway_reports(s->gateways[g], &n_engines);
        for (int service = 0; service < N_LIST; service++) {
            int file = of_gateways[g][service];
            assert_int_equal(set_has(&report->listed, service), file <= GAMMA);
            assert_int_equal(report->services[service].status == SERVICE_LOADED,
                             file == ALPHA || file == GAMMA);
        }
    }
    close_scene(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_request_runs_on_its_own_service),
        cmocka_unit_test(test_each_mirror_has_its_own_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
