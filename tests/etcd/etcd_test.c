/* The client of etcd keeps the contract of a store, with a real etcd on the loopback. */
#include "etcd/etcd.h"

#include "etcd/server.h"
#include "store/contract.h"
#include "test.h"

#include "base/time.h"
#include "store/leader.h"
#include <netinet/in.h>
#include <sys/socket.h>

struct world {
    struct etcd_server server;
};

static void pass(void *self, int64_t ns)
{
    (void)self;
    time_sleep_ns(ns);
}

static void stop(void *self)
{
    etcd_server_stop(&((struct world *)self)->server);
}

static void start(void *self)
{
    etcd_server_start(&((struct world *)self)->server);
}

static void wipe(void *self)
{
    etcd_server_wipe(&((struct world *)self)->server);
    start(self);
}

static struct store *client_of(const char *const *endpoints, int n)
{
    struct fault fault = { "" };
    const struct etcd_options options = { .endpoints = endpoints,
                                          .n_endpoints = n,
                                          .silence_ns = TIME_NS_PER_S };
    struct store *store = etcd_open(&options, &fault);
    if (store == NULL)
        fail_msg("%s", fault.text);
    return store;
}

static void test_contract(void **state)
{
    void (*const tests[])(const struct contract *c) = { contract_conditions, contract_leases,
                                                        contract_watch, contract_forgets,
                                                        contract_outages };
    struct world w;
    (void)state;
    if (!etcd_server_open(&w.server, NULL, NULL, NULL))
        TEST_SKIP("etcd (Debian: etcd-server) is not installed");
    etcd_server_start(&w.server);
    for (size_t i = 0; i < COUNT_OF(tests); i++) {
        const char *endpoint = w.server.client;
        struct contract c = {
            &w, client_of(&endpoint, 1), client_of(&endpoint, 1), pass, stop, start, wipe
        };
        tests[i](&c);
        c.a->close(c.a->self);
        c.b->close(c.b->self);
    }
    etcd_server_close(&w.server);
}

/* A port that takes connections and never answers, as a stopped server does. */
static int open_mute(char *endpoint, size_t n_bytes)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&at, n) == 0 && listen(fd, 16) == 0 &&
                getsockname(fd, (struct sockaddr *)&at, &n) == 0);
    snprintf(endpoint, n_bytes, "http://127.0.0.1:%d", ntohs(at.sin_port));
    return fd;
}

static void until_ended(struct store *store, const struct store_call *call)
{
    struct store_news news;
    for (int i = 0; i < 1000 && call->end == STORE_IN_FLIGHT; i++) {
        while (store->poll(store->self, &news)) {}
        time_sleep_ns(10 * TIME_NS_PER_MS);
    }
    assert_int_not_equal(call->end, STORE_IN_FLIGHT);
}

/* One endpoint refuses, one is mute, and the third is well. Reads find it; a change that may have
 * arrived at the mute one ends UNSURE and is not made twice. */
static void test_endpoints(void **state)
{
    struct world w;
    char mute[64];
    struct store_call call = { .kind = STORE_LIST, .prefix = "/x/", .timeout_ns = TIME_NS_PER_S };
    (void)state;
    if (!etcd_server_open(&w.server, NULL, NULL, NULL))
        TEST_SKIP("etcd (Debian: etcd-server) is not installed");
    etcd_server_start(&w.server);
    int fd = open_mute(mute, sizeof mute);
    const char *endpoints[] = { "http://127.0.0.1:1", mute, w.server.client };
    struct store *store = client_of(endpoints, 3);
    store->begin(store->self, &call);
    until_ended(store, &call);
    assert_true(call.end == STORE_DONE || call.end == STORE_UNREACHED);
    struct store_call again = call;
    store->begin(store->self, &again);
    until_ended(store, &again);
    assert_int_equal(again.end, STORE_DONE);
    store->close(store->self);
    store = client_of(endpoints + 1, 2);
    struct store_call put = { .kind = STORE_CHANGE, .timeout_ns = TIME_NS_PER_S, .n_changes = 1 };
    put.changes[0] = (struct store_change){ "/x/a", view_text("1"), 0, false };
    store->begin(store->self, &put);
    until_ended(store, &put);
    assert_int_equal(put.end, STORE_UNSURE);
    store->begin(store->self, &again);
    until_ended(store, &again);
    assert_int_equal(again.end, STORE_DONE);
    assert_int_equal(again.n_entries, 0);
    store->close(store->self);
    close(fd);
    etcd_server_close(&w.server);
}

/* Two candidates: one leads, and the other one after its death. */
static void test_election(void **state)
{
    struct world w;
    struct store *stores[2];
    struct store_leader *leaders[2];
    struct store_news news;
    int first = -1, second = -1;
    (void)state;
    if (!etcd_server_open(&w.server, NULL, NULL, NULL))
        TEST_SKIP("etcd (Debian: etcd-server) is not installed");
    etcd_server_start(&w.server);
    const char *endpoint = w.server.client;
    for (int i = 0; i < 2; i++) {
        const struct store_leader_options options = { .store = stores[i] = client_of(&endpoint, 1),
                                                      .prefix = "/shoal/t/",
                                                      .name = i == 0 ? "one" : "two",
                                                      .id = { 7, (uint64_t)i + 1 },
                                                      .ttl_s = 2,
                                                      .seed = (uint64_t)i };
        leaders[i] = store_leader_open(&options);
        stores[i]->watch(stores[i]->self, "/shoal/t/");
    }
    for (int k = 0; k < 1500 && second < 0; k++) {
        int64_t now_ns = time_boot_ns();
        for (int i = 0; i < 2; i++) {
            if (i == first)
                continue; /* it is dead */
            while (stores[i]->poll(stores[i]->self, &news))
                (void)store_leader_take(leaders[i], &news, now_ns);
            (void)store_leader_step(leaders[i], now_ns);
            if (store_leader_may_act(leaders[i], now_ns))
                *(first < 0 ? &first : &second) = i;
        }
        time_sleep_ns(10 * TIME_NS_PER_MS);
    }
    assert_true(first >= 0 && second >= 0 && first != second);
    assert_int_equal(store_leader_stamp(leaders[second]).epoch, 2);
    for (int i = 0; i < 2; i++) {
        store_leader_close(leaders[i]);
        stores[i]->close(stores[i]->self);
    }
    etcd_server_close(&w.server);
}

/* Makes an authority, and a certificate that it signed for this machine's loopback. */
static void make_certificates(const char *folder, const char *name)
{
    char command[1024];
    snprintf(command, sizeof command,
             "cd %s && "
             "K='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes' && "
             "openssl req -x509 $K -subj /CN=%s -days 2 -keyout %s-ca.key -out %s-ca.pem && "
             "openssl req $K -subj /CN=%s -keyout %s.key -out %s.csr && "
             "echo subjectAltName=IP:127.0.0.1 > %s.ext && "
             "openssl x509 -req -in %s.csr -CA %s-ca.pem -CAkey %s-ca.key -CAcreateserial -days 2 "
             "-extfile %s.ext -out %s.pem",
             folder, name, name, name, name, name, name, name, name, name, name, name, name);
    strcat(command, " 2>/dev/null");
    assert_int_equal(system(command), 0);
}

static enum store_end list_with(const struct world *w, const char *folder, const char *name,
                                const char *authority)
{
    char files[3][128];
    const char *endpoint = w->server.client;
    struct fault fault;
    snprintf(files[0], sizeof files[0], "%s/%s.pem", folder, name);
    snprintf(files[1], sizeof files[1], "%s/%s.key", folder, name);
    snprintf(files[2], sizeof files[2], "%s/%s-ca.pem", folder, authority);
    const struct etcd_options options = {
        .endpoints = &endpoint, .n_endpoints = 1, .cert = files[0], .key = files[1], .ca = files[2]
    };
    struct store *store = etcd_open(&options, &fault);
    assert_non_null(store);
    struct store_call call = { .kind = STORE_LIST,
                               .prefix = "/x/",
                               .timeout_ns = 3 * TIME_NS_PER_S };
    store->begin(store->self, &call);
    until_ended(store, &call);
    store->close(store->self);
    return call.end;
}

/* Server and client show certificates of one authority; another client, or another server's
 * authority, gets nothing. */
static void test_certificates(void **state)
{
    struct world w;
    char folder[] = "/tmp/shoal-certs-XXXXXX", files[3][64], command[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    make_certificates(folder, "ours");
    make_certificates(folder, "rogue");
    snprintf(files[0], sizeof files[0], "%s/ours.pem", folder);
    snprintf(files[1], sizeof files[1], "%s/ours.key", folder);
    snprintf(files[2], sizeof files[2], "%s/ours-ca.pem", folder);
    bool is_there = etcd_server_open(&w.server, files[0], files[1], files[2]);
    if (is_there) {
        etcd_server_start(&w.server);
        time_sleep_ns(TIME_NS_PER_S / 2);
        assert_int_equal(list_with(&w, folder, "ours", "ours"), STORE_DONE);
        assert_int_equal(list_with(&w, folder, "rogue", "ours"), STORE_UNREACHED);
        assert_int_equal(list_with(&w, folder, "ours", "rogue"), STORE_UNREACHED);
        etcd_server_close(&w.server);
    }
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    if (!is_there)
        TEST_SKIP("etcd (Debian: etcd-server) is not installed");
}

static void test_settings(void **state)
{
    const char *const bad[] = { "127.0.0.1:2379", "http://127.0.0.1", "http://:2379",
                                "ftp://a:1",      "http://a:2379/x",  "http://a:0",
                                "http://u@a:1",   "https://a:2379",   "http://a:99999" };
    struct fault fault;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        const struct etcd_options options = { .endpoints = &bad[i], .n_endpoints = 1 };
        assert_null(etcd_open(&options, &fault));
        assert_non_null(strstr(fault.text, "http"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings),     cmocka_unit_test(test_contract),
        cmocka_unit_test(test_endpoints),    cmocka_unit_test(test_election),
        cmocka_unit_test(test_certificates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
