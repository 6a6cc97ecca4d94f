/* The store's keys as members and wishes; damaged values are none. */
#include "cluster/members.h"

#include "cluster/message.h"
#include "test.h"

static struct store_entry entry_of(const char *key, const char *value)
{
    return (struct store_entry){ .key = key, .value = view_text(value) };
}

static void put(struct cluster_members *m, const char *key, const char *value)
{
    const struct store_entry entry = entry_of(key, value);
    const struct store_news news = { .kind = STORE_NEWS_PUT, .entries = &entry, .n_entries = 1 };
    cluster_members_take(m, &news);
}

static void delete_key(struct cluster_members *m, const char *key)
{
    const struct store_entry entry = entry_of(key, "");
    const struct store_news news = { .kind = STORE_NEWS_DELETED,
                                     .entries = &entry,
                                     .n_entries = 1 };
    cluster_members_take(m, &news);
}

static void test_nodes(void **state)
{
    struct cluster_members m;
    struct str value;
    (void)state;
    cluster_members_open(&m, "/s/");
    str_init(&value);
    cluster_members_write_node(&value, 3, "1.2", NULL, 0);
    put(&m, "/s/members/node/a:1", value.at);
    assert_int_equal(cluster_members_find(&m, "a:1"), 0);
    assert_int_equal(m.nodes[0].n_engines, 3);
    put(&m, "/s/members/node/b:1", value.at);
    const char *const bad[] = { "",
                                "{}",
                                "[]",
                                "{\"engines\":0,\"bus\":%d}",
                                "\xff",
                                "{\"engines\":99,\"bus\":%d}",
                                "{\"engines\":2,\"bus\":1}",
                                "{\"engines\":\"2\",\"bus\":%d}" };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct str text;
        str_init(&text);
        str_add_text(&text, "");
        for (const char *at = bad[i]; *at != '\0'; at++) {
            if (at[0] == '%')
                str_printf(&text, "%d", MESSAGE_VERSION);
            else if (at == bad[i] || at[-1] != '%')
                str_add_char(&text, *at);
        }
        put(&m, "/s/members/node/c:1", text.at);
        str_free(&text);
    }
    assert_int_equal(m.n_nodes, 2);
    put(&m, "/s/members/node/f:1", value.at);
    put(&m, "/s/members/node/f:1", "{}"); /* it was started again as another version */
    assert_int_equal(m.n_nodes, 2);
    delete_key(&m, "/s/members/node/a:1");
    delete_key(&m, "/s/members/node/x:1");
    assert_int_equal(m.n_nodes, 1);
    assert_int_equal(cluster_members_find(&m, "b:1"), 0);
    put(&m, "/t/members/node/d:1", value.at); /* of another cluster */
    assert_int_equal(m.n_nodes, 1);
    const struct store_entry only = entry_of("/s/members/node/e:1", value.at);
    const struct store_news listed = { .kind = STORE_NEWS_LISTED,
                                       .entries = &only,
                                       .n_entries = 1 };
    cluster_members_take(&m, &listed);
    assert_true(m.n_nodes == 1 && cluster_members_find(&m, "e:1") == 0 && m.is_live);
    cluster_members_take(&m, &(struct store_news){ .kind = STORE_NEWS_SILENT });
    assert_true(m.n_nodes == 1 && !m.is_live); /* what was known still counts */
    str_free(&value);
    cluster_members_close(&m);
}

/* Members come in any number, and each keeps what it said while others come and go. */
static void test_many_nodes(void **state)
{
    struct cluster_members m;
    char key[64], value[64];
    (void)state;
    cluster_members_open(&m, "/s/");
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 70; i++) {
            snprintf(key, sizeof key, "/s/members/node/%d:1", i);
            snprintf(value, sizeof value, "{\"engines\":%d,\"bus\":%d}", i % 7 + 1,
                     (int)MESSAGE_VERSION);
            put(&m, key, value);
        }
        assert_int_equal(m.n_nodes, 70);
        for (int i = 0; i < 70; i++) {
            snprintf(key, sizeof key, "%d:1", i);
            assert_int_equal(m.nodes[cluster_members_find(&m, key)].n_engines, i % 7 + 1);
        }
        for (int i = 0; i < 20 * round; i++) {
            snprintf(key, sizeof key, "/s/members/node/%d:1", 3 * i % 70);
            delete_key(&m, key);
        }
    }
    cluster_members_close(&m);
}

static void test_wishes(void **state)
{
    struct cluster_members m;
    char key[STORE_KEY_BYTES], longest[200];
    (void)state;
    cluster_members_open(&m, "/s/");
    put(&m, "/s/desired/nodes/a:1", "cordon");
    put(&m, "/s/desired/nodes/b:1", "drain");
    put(&m, "/s/desired/nodes/c:1", "dance");
    assert_int_equal(cluster_members_wish(&m, "a:1"), CLUSTER_WISH_CORDON);
    assert_int_equal(cluster_members_wish(&m, "b:1"), CLUSTER_WISH_DRAIN);
    assert_int_equal(cluster_members_wish(&m, "c:1"), CLUSTER_WISH_NONE);
    assert_int_equal(cluster_members_wish(&m, "d:1"), CLUSTER_WISH_NONE);
    delete_key(&m, "/s/desired/nodes/a:1");
    assert_int_equal(cluster_members_wish(&m, "a:1"), CLUSTER_WISH_NONE);
    put(&m, "/s/desired/models/x", "2");
    put(&m, "/s/desired/models/x", "-1");
    put(&m, "/s/desired/models/y", "many");
    put(&m, "/s/desired/models/z", "999999999999999999999999");
    assert_int_equal(m.n_model_wishes, 1); /* the others can't be read */
    assert_int_equal(cluster_members_model(&m, "x").n_copies, -1);
    assert_int_equal(cluster_members_model(&m, "y").n_copies, 0);
    memset(longest, 'm', sizeof longest);
    snprintf(key, sizeof key, "/s/desired/models/%.190s", longest);
    put(&m, key, "1"); /* no model has so long a name */
    assert_int_equal(m.n_model_wishes, 1);
    delete_key(&m, "/s/desired/models/x");
    assert_int_equal(m.n_model_wishes, 0);
    cluster_members_close(&m);
}

/* The placement's lines of models that no engine could load; other lines say nothing here. */
static void test_broken(void **state)
{
    static const struct cluster_members_refused rows[] = {
        { "a model", STATUS_TOO_LARGE, "needs 5 MiB\nand more" }, { "b", STATUS_IO, "" }
    };
    struct cluster_members m;
    struct str value;
    (void)state;
    cluster_members_open(&m, "/s/");
    str_init(&value);
    str_printf(&value, "epoch 3\nmodel b\n");
    cluster_members_write_broken(&value, &rows[0]);
    str_printf(&value, "broken\nbroken 4\nbroken 4 x\nbroken x y\tz\nbroken 99 y\tz\n"
                       "broken 4 \tz\nbroken -1 y\tz\nbroken 44444444444444444444 y\tz\n"
                       "a:1 0 broken 4 y\tz\n");
    str_printf(&value, "broken 4 %0200d\tz\n", 0); /* no model has so long a name */
    cluster_members_write_broken(&value, &rows[1]);
    put(&m, "/s/placement", value.at);
    assert_int_equal(m.n_broken, 2);
    assert_string_equal(m.broken[0].name, "a model");
    assert_int_equal(m.broken[0].cause, STATUS_TOO_LARGE);
    assert_string_equal(m.broken[0].why, "needs 5 MiB and more");
    assert_true(m.broken[1].cause == STATUS_IO && m.broken[1].why[0] == '\0');
    put(&m, "/s/placements", "broken 4 x\ty\n");
    put(&m, "/s/placement", "broken 4 x\ty"); /* cut short */
    assert_int_equal(m.n_broken, 1);
    delete_key(&m, "/s/placement");
    assert_int_equal(m.n_broken, 0);
    str_free(&value);
    cluster_members_close(&m);
}

/* A model is refused when every node refuses it. */
static void test_refused(void **state)
{
    static const struct cluster_members_refused both[] = { { .name = "x", .why = "no \"file\"" },
                                                           { .name = "y", .why = "no room" } };
    struct cluster_members m;
    struct str value;
    (void)state;
    cluster_members_open(&m, "/s/");
    str_init(&value);
    assert_null(cluster_members_why_refused(&m, "x"));
    cluster_members_write_node(&value, 1, "1", both, 2);
    put(&m, "/s/members/node/a:1", value.at);
    assert_string_equal(cluster_members_why_refused(&m, "x"), "no \"file\"");
    str_clear(&value);
    cluster_members_write_node(&value, 1, "1", both + 1, 1);
    put(&m, "/s/members/node/b:1", value.at);
    assert_null(cluster_members_why_refused(&m, "x"));
    assert_string_equal(cluster_members_why_refused(&m, "y"), "no room");
    str_clear(&value);
    str_printf(&value,
               "{\"engines\":1,\"bus\":%d,\"refused\":{\"1\":3,\"2\":\"\",\"3\":\"\",\"4\":"
               "\"\",\"5\":\"\",\"6\":\"\"}}",
               (int)MESSAGE_VERSION);
    put(&m, "/s/members/node/a:1", value.at);
    assert_int_equal(m.nodes[0].n_refused, CLUSTER_MEMBER_REFUSED_MAX);
    assert_int_equal(m.nodes[0].n_engines, 1);
    str_free(&value);
    cluster_members_close(&m);
}

/* Each key of a model is a wish of its own: to end one leaves the others. */
static void test_paused_and_pinned(void **state)
{
    static const char *const bad[] = { "a:1 -1", "a:1 x", "a:1 0 0", "a:1 99999",
                                       " 99999999999999999999" };
    struct cluster_members m;
    char longest[400];
    (void)state;
    cluster_members_open(&m, "/s/");
    put(&m, "/s/desired/models/x", "2");
    put(&m, "/s/desired/paused/x", "yes");
    put(&m, "/s/desired/pins/x", "[::1]:7601 3");
    struct cluster_members_model_wish wish = cluster_members_model(&m, "x");
    assert_int_equal(m.n_model_wishes, 1);
    assert_true(wish.n_copies == 2 && wish.is_paused && wish.pin_engine == 3);
    assert_string_equal(wish.pin, "[::1]:7601");
    put(&m, "/s/desired/pins/x", "a:1");
    delete_key(&m, "/s/desired/models/x");
    wish = cluster_members_model(&m, "x");
    assert_true(wish.n_copies == 0 && wish.is_paused && wish.pin_engine == -1);
    assert_string_equal(wish.pin, "a:1");
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        put(&m, "/s/desired/pins/x", bad[i]);
        assert_string_equal(cluster_members_model(&m, "x").pin, "");
    }
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    put(&m, "/s/desired/pins/x", longest);
    assert_string_equal(cluster_members_model(&m, "x").pin, "");
    put(&m, "/s/desired/paused/x", "no");
    assert_int_equal(m.n_model_wishes, 0);
    delete_key(&m, "/s/desired/paused/y");
    assert_int_equal(m.n_model_wishes, 0);
    cluster_members_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes),   cmocka_unit_test(test_many_nodes),
        cmocka_unit_test(test_wishes),  cmocka_unit_test(test_broken),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_paused_and_pinned)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
