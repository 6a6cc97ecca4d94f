/* Places of nodes: each member gets one, and a place is given away only when its node is gone. */
#include "cluster/peers.h"

#include "test.h"

#include "base/mem.h"
#include "base/str.h"

enum { N_PLACES = 2, FIRST_ADDRESS = 16 };

struct world {
    struct cluster_members members;
    struct cluster_peers peers;
    bool is_up[N_PLACES];
    int n_aims[N_PLACES];
    int64_t revision;
};

static bool is_up(void *self, uint16_t address)
{
    return ((struct world *)self)->is_up[address - FIRST_ADDRESS];
}

static void aim(void *self, int place)
{
    ((struct world *)self)->n_aims[place]++;
}

static struct world *open_world(void)
{
    struct world *w = mem_take(sizeof *w);
    cluster_members_open(&w->members, "/shoal/t/");
    cluster_peers_open(&w->peers, N_PLACES);
    w->peers.is_up = is_up;
    w->peers.aim = aim;
    w->peers.self = w;
    for (int i = 0; i < N_PLACES; i++)
        w->peers.nodes[i] = (struct cluster_node_at){ (uint16_t)(FIRST_ADDRESS + i), 2 };
    return w;
}

static void close_world(struct world *w)
{
    cluster_members_close(&w->members);
    cluster_peers_close(&w->peers);
    mem_give(w);
}

static void tell(struct world *w, enum store_news_kind kind, const char *address, int n_engines)
{
    char key[64];
    struct str value;
    str_init(&value);
    snprintf(key, sizeof key, "/shoal/t/members/node/%s", address);
    cluster_members_write_node(&value, n_engines, "t", NULL, 0);
    const struct store_entry entry = { key, view_of(value.at, value.n), 1, ++w->revision };
    const struct store_news news = { .kind = kind, .n_entries = 1, .entries = &entry };
    cluster_members_take(&w->members, &news);
    str_free(&value);
    cluster_peers_follow(&w->peers, &w->members);
}

static void test_members_get_places(void **state)
{
    struct world *w = open_world();
    (void)state;
    tell(w, STORE_NEWS_PUT, "a:1", 2);
    tell(w, STORE_NEWS_PUT, "b:1", 1);
    assert_int_equal(cluster_peers_find(&w->peers, "a:1"), 0);
    assert_int_equal(cluster_peers_find(&w->peers, "b:1"), 1);
    assert_true(w->n_aims[0] == 1 && w->n_aims[1] == 1);
    tell(w, STORE_NEWS_PUT, "a:1", 2); /* it joined again, and is not connected */
    assert_int_equal(w->n_aims[0], 2);
    w->is_up[0] = true;
    tell(w, STORE_NEWS_PUT, "a:1", 2);
    assert_int_equal(w->n_aims[0], 2);
    close_world(w);
}

static void test_a_place_stays_while_its_node_is_there(void **state)
{
    struct world *w = open_world();
    (void)state;
    tell(w, STORE_NEWS_PUT, "a:1", 1);
    tell(w, STORE_NEWS_PUT, "b:1", 1);
    w->is_up[0] = w->is_up[1] = true;
    tell(w, STORE_NEWS_DELETED, "a:1", 1);
    assert_false(w->peers.of[0].is_member);
    assert_true(w->peers.of[1].is_member);
    tell(w, STORE_NEWS_PUT, "c:1", 1); /* a is still connected */
    assert_int_equal(cluster_peers_find(&w->peers, "c:1"), -1);
    w->is_up[0] = false; /* now it is not: the member that waits gets its place */
    cluster_peers_follow(&w->peers, &w->members);
    assert_int_equal(cluster_peers_find(&w->peers, "c:1"), 0);
    assert_int_equal(cluster_peers_find(&w->peers, "a:1"), -1);
    assert_true(w->peers.of[0].is_member);
    tell(w, STORE_NEWS_PUT, "d:1", 9); /* more engines than a place has */
    assert_int_equal(cluster_peers_find(&w->peers, "d:1"), -1);
    close_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_get_places),
        cmocka_unit_test(test_a_place_stays_while_its_node_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
