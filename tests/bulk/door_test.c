/* Requests move with their KV between engines that only their doors connect: as nodes over TCP and
 * TLS, as processes of one node, and both; also through a cable that cuts, stalls and corrupts.
 * Whatever happens, an answer is the one of a single engine, and all memory comes back. */
#include "../cluster/certificates.h"
#include "../engine/handover_scene.h"
#include "../test.h"
#include "base/mem.h"
#include "base/time.h"
#include "bulk/door.h"
#include "bulk/pulls.h"
#include "cable.h"
#include <string.h>
#include <unistd.h>

static struct {
    struct bulk_pulls *pulls[HANDOVER_ENGINES];
    struct bulk_door *doors[HANDOVER_ENGINES];
    struct bulk_door *parents[2];
    struct cable *cable; /* between node 0 and the others; NULL: none */
    struct certificates certificates;
    const enum certificate *who; /* (HANDOVER_ENGINES) NULL: no TLS */
} way;

static struct bulk_door *open_door(const struct bulk_door_options *options)
{
    struct fault fault;
    struct bulk_door *door = bulk_door_open(options, &fault);
    if (door == NULL)
        print_message("%s\n", fault.text);
    assert_non_null(door);
    return door;
}

static void open_exchange(int i)
{
    way.pulls[i] = bulk_pulls_open();
    handover.parts[i].exchange =
        exchange_open(&(struct exchange_options){ .seed = rng_system(),
                                                  .n_offers_max = 24,
                                                  .pass = handover_pass,
                                                  .remote = bulk_pulls_remote(way.pulls[i]) });
}

static void close_part(int i)
{
    bulk_door_close(way.doors[i]);
    exchange_close(handover.parts[i].exchange);
    bulk_pulls_close(way.pulls[i]);
}

/* ---- Each engine is a node. ---- */

static void open_node(int i)
{
    static const char *const names[] = { "node.test" };
    struct cluster_tcp_tls tls = { .ca = way.certificates.ca, .names = names, .n_names = 1 };
    open_exchange(i);
    if (way.who != NULL) {
        tls.cert = way.certificates.of[way.who[i]].cert;
        tls.key = way.certificates.of[way.who[i]].key;
    }
    way.doors[i] = open_door(&(struct bulk_door_options){
        .exchange = handover.parts[i].exchange,
        .pulls = way.pulls[i],
        .parent_fd = -1,
        .listen_host = "127.0.0.1",
        .advertise_port = i == 0 && way.cable != NULL ? cable_port(way.cable) : 0,
        .tls = way.who != NULL ? &tls : NULL });
    if (i == 0 && way.cable != NULL)
        cable_lead_to(way.cable, bulk_door_port(way.doors[0]));
}

static void learn_node(int i, uint64_t ticket, int source)
{
    struct cluster_place place = bulk_door_place(way.doors[source]);
    bulk_door_learn(way.doors[i], ticket, &place);
}

/* ---- Engines are processes: of one node, or the first one of another node. ---- */

static struct bulk_door *parent_of(int i)
{
    return way.parents[1] != NULL && i > 0 ? way.parents[1] : way.parents[0];
}

static void open_child(int i)
{
    open_exchange(i);
    int fd = bulk_door_take_child(parent_of(i), i);
    assert_true(fd >= 0);
    way.doors[i] = open_door(&(struct bulk_door_options){
        .exchange = handover.parts[i].exchange, .pulls = way.pulls[i], .parent_fd = fd });
}

static void learn_child(int i, uint64_t ticket, int source)
{
    struct cluster_place place = bulk_door_place(parent_of(source));
    place.engine = (uint16_t)source;
    bulk_door_learn(parent_of(i), ticket, &place);
}

/* ---- Runs. ---- */

static void set_scene(bool are_nodes)
{
    handover = (struct handover_scene){ .swap_bytes = 1 << 20,
                                        .step_ns = 50000,
                                        .is_real = true,
                                        .open_way = are_nodes ? open_node : open_child,
                                        .close_way = close_part,
                                        .learn = are_nodes ? learn_node : learn_child };
}

static void open_parents(int n)
{
    for (int i = 0; i < n; i++)
        way.parents[i] = open_door(&(struct bulk_door_options){
            .parent_fd = -1, .listen_host = n > 1 ? "127.0.0.1" : NULL });
}

static void close_parents(void)
{
    for (int i = 0; i < 2; i++)
        bulk_door_close(way.parents[i]);
    memset(way.parents, 0, sizeof way.parents);
}

static int64_t n_handed(void)
{
    return handover.parts[0].n_handed + handover.parts[1].n_handed + handover.parts[2].n_handed;
}

static int64_t n_lost(void)
{
    return handover.parts[0].n_lost + handover.parts[1].n_lost + handover.parts[2].n_lost;
}

/* All that is kept arrives, and each acknowledgement, since nothing waits for ten seconds. */
static void expect_all_arrive(bool are_nodes)
{
    set_scene(are_nodes);
    handover_open(1);
    int64_t begin_ns = time_now_ns();
    handover_run(0);
    assert_true(handover.parts[0].n_kept > 0 && handover.n_blocks > 0);
    print_message("%d kept, %d handed over, %d lost\n", (int)handover.parts[0].n_kept,
                  (int)n_handed(), (int)n_lost());
    assert_int_equal(n_handed() + n_lost(), handover.parts[0].n_kept);
    assert_true(n_handed() > n_lost()); /* a busy machine may lose some by their time */
    assert_true(n_lost() > 0 || time_now_ns() - begin_ns < 10 * TIME_NS_PER_S);
}

/* Each word of the stamp, and the bytes. */
static void expect_none_that_is_spoilt(bool are_nodes)
{
    for (int word = are_nodes ? 0 : HANDOVER_STAMP_WORDS - 1; word <= HANDOVER_STAMP_WORDS;
         word++) {
        set_scene(are_nodes);
        for (int i = 12; i < HANDOVER_CLIENTS; i++)
            handover.clients[i].is_over = true;
        handover.spoil_one = 1;
        handover.spoil_word = word;
        handover_open(3);
        handover_run(0);
        assert_true(handover.n_spoiled > 0);
        assert_int_equal(n_handed(), 0);
        assert_int_equal(n_lost(), handover.parts[0].n_kept);
    }
}

static void expect_nothing_lost_in_chaos(bool are_nodes, int n_seeds)
{
    int64_t handed = 0, lost = 0;
    for (int seed = 0; seed < n_seeds; seed++) {
        set_scene(are_nodes);
        handover.leaves_offers = true;
        handover.swap_bytes = seed % 3 == 2 ? 3000 : 1 << 18;
        handover.spoil_one = handover.lose_one = 40;
        handover.delay_one = 6;
        handover.spoil_word = -1;
        handover.has_prefix_cache = seed % 2 == 0;
        handover_open((uint64_t)seed + 100);
        handover_run_chaos(seed % 3 > 0);
        handed += n_handed();
        lost += n_lost();
    }
    print_message("%d handed over, %d computed again\n", (int)handed, (int)lost);
    assert_true(handed > 10 && lost > 10);
}

static void nodes_hand_over(void **state)
{
    (void)state;
    expect_all_arrive(true);
    expect_none_that_is_spoilt(true);
    expect_nothing_lost_in_chaos(true, 3);
}

static void processes_hand_over(void **state)
{
    (void)state;
    open_parents(1);
    expect_all_arrive(false);
    expect_none_that_is_spoilt(false);
    expect_nothing_lost_in_chaos(false, 3);
    close_parents();
}

static void processes_of_two_nodes_hand_over(void **state)
{
    (void)state;
    open_parents(2);
    expect_all_arrive(false);
    expect_none_that_is_spoilt(false);
    expect_nothing_lost_in_chaos(false, 3);
    close_parents();
}

/* ---- Certificates. ---- */

static void certificates_are_asked_for(void **state)
{
    static const enum certificate nodes[] = { CERTIFICATE_NODE, CERTIFICATE_NODE,
                                              CERTIFICATE_NODE };
    /* the source has another name, or another authority */
    static const enum certificate others[] = { CERTIFICATE_OTHER, CERTIFICATE_NODE,
                                               CERTIFICATE_NODE };
    static const enum certificate strangers[] = { CERTIFICATE_STRANGER, CERTIFICATE_NODE,
                                                  CERTIFICATE_NODE };
    /* and so have the receivers */
    static const enum certificate rogues[] = { CERTIFICATE_NODE, CERTIFICATE_OTHER,
                                               CERTIFICATE_STRANGER };
    const enum certificate *const rows[] = { others, strangers, rogues };
    (void)state;
    certificates_make(&way.certificates);
    way.who = nodes;
    expect_all_arrive(true);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        way.who = rows[i];
        set_scene(true);
        handover.leaves_offers = true;
        for (int k = 4; k < HANDOVER_CLIENTS; k++)
            handover.clients[k].is_over = true;
        handover_open(5);
        handover_run(0);
        assert_int_equal(n_handed(), 0);
        assert_true(n_lost() > 0 && handover.n_blocks == 0);
    }
    way.who = NULL;
    certificates_remove(&way.certificates);
}

/* ---- The cable. ---- */

static void run_over(const struct cable_faults *faults, int n_clients)
{
    way.cable = cable_open(faults);
    set_scene(true);
    handover.leaves_offers = faults->cut_bytes + faults->stall_bytes + faults->corrupt_bytes > 0;
    for (int i = n_clients; i < HANDOVER_CLIENTS; i++)
        handover.clients[i].is_over = true;
    handover_open(7);
    handover_run(0);
    print_message("%d handed over, %d lost\n", (int)n_handed(), (int)n_lost());
    cable_close(way.cable);
    way.cable = NULL;
}

static void a_bad_cable_changes_no_token(void **state)
{
    (void)state;
    run_over(&(struct cable_faults){ .delay_ns = TIME_NS_PER_MS }, HANDOVER_CLIENTS);
    assert_true(n_handed() > 0 && n_lost() <= n_handed());
    run_over(&(struct cable_faults){ .corrupt_bytes = 5000 }, HANDOVER_CLIENTS);
    assert_true(n_lost() > 0);
    run_over(&(struct cable_faults){ .cut_bytes = 9000 }, HANDOVER_CLIENTS); /* amid a block */
    assert_true(n_lost() > 0);
    run_over(&(struct cable_faults){ .cut_bytes = 10 }, 6); /* amid a hello */
    assert_true(n_lost() > 0 && n_handed() == 0);
    int64_t begin_ns = time_now_ns();
    run_over(&(struct cable_faults){ .stall_bytes = 3000 },
             6); /* it takes no more, and says nothing */
    assert_true(n_lost() > 0 && time_now_ns() - begin_ns < 25 * TIME_NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_hand_over),
        cmocka_unit_test(processes_hand_over),
        cmocka_unit_test(processes_of_two_nodes_hand_over),
        cmocka_unit_test(certificates_are_asked_for),
        cmocka_unit_test(a_bad_cable_changes_no_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
