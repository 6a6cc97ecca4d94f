/* A process that follows the definitions in the store, with news made by hand: models join, change,
 * are refused and leave, and no loss of history takes one away. */
#include "fleet/follow.h"

#include "cluster/member.h"

#include "base/mem.h"
#include "base/time.h"
#include "test.h"
#include <string.h>

#define S    TIME_NS_PER_S
#define A    "{\"life\":1,\"path\":\"https://x/a\",\"sha256\":\"" HASH "\"}"
#define B    "{\"life\":2,\"path\":\"https://x/a\",\"sha256\":\"" HASH "\"}"
#define HASH "26f0490d643f72b626f0490d643f72b626f0490d643f72b626f0490d643f72b6"

struct world {
    struct fleet_follow follow;
    struct config config;
    struct serve_offer offers[LIMIT_MODELS];
    int n_joins, joining, replaced, n_leaves; /* joining: -1: none */
    bool is_busy;
    int64_t now_ns;
};

static bool is_busy(void *self)
{
    const struct world *w = self;
    return w->is_busy || w->joining >= 0;
}

static enum status join(void *self, const struct config_model *model, uint16_t life, int replaced,
                        struct fault *fault)
{
    struct world *w = self;
    (void)fault;
    w->joining = w->n_joins++;
    w->replaced = replaced;
    struct serve_offer *offer = &w->offers[w->joining];
    memcpy(offer->model.name, model->name, sizeof offer->model.name);
    offer->service.life = life;
    offer->is_defined = true;
    offer->state = OFFER_OPENING;
    return STATUS_OK;
}

static void leave(void *self, int service)
{
    struct world *w = self;
    w->n_leaves++;
    w->offers[service].state = OFFER_LEAVING;
}

static struct world *open_world(void)
{
    struct world *w = mem_take(sizeof *w);
    w->joining = -1;
    w->now_ns = S;
    config_init(&w->config);
    fleet_follow_open(&w->follow, "/s/");
    return w;
}

static void close_world(struct world *w)
{
    fleet_follow_close(&w->follow);
    config_free(&w->config);
    mem_give(w);
}

static void step(struct world *w, int64_t span_ns)
{
    const struct fleet_follow_port port = { .self = w,
                                            .config = &w->config,
                                            .offers = w->offers,
                                            .leave_ns = 3 * S,
                                            .is_busy = is_busy,
                                            .join = join,
                                            .leave = leave };
    w->now_ns += span_ns;
    (void)fleet_follow_step(&w->follow, &port, w->now_ns);
}

static void end_join(struct world *w, enum status status)
{
    const struct fault fault = { "no such file" };
    assert_true(w->joining >= 0);
    w->offers[w->joining].state = status == STATUS_OK ? OFFER_THERE : OFFER_VACANT;
    if (status == STATUS_OK && w->replaced >= 0)
        w->offers[w->replaced].state = OFFER_LEAVING;
    w->joining = -1;
    fleet_follow_joined(&w->follow, status, &fault, w->now_ns);
    step(w, 0);
}

static void tell(struct world *w, enum store_news_kind kind, const char *key, const char *value)
{
    const struct store_entry entry = { .key = key, .value = view_text(value) };
    const struct store_news news = { .kind = kind, .n_entries = 1, .entries = &entry };
    fleet_follow_take(&w->follow, &news);
    step(w, 0);
}

/* A list of the nonce and, if it has a value, of model m. */
static void list(struct world *w, const char *nonce, const char *value)
{
    const struct store_entry entries[] = { { .key = "/s/nonce", .value = view_text(nonce) },
                                           { .key = "/s/desired/definitions/m",
                                             .value = view_text(value != NULL ? value : "") } };
    const struct store_news news = { .kind = STORE_NEWS_LISTED,
                                     .n_entries = value != NULL ? 2 : 1,
                                     .entries = entries };
    fleet_follow_take(&w->follow, &news);
    step(w, 0);
}

static void put_m(struct world *w, const char *value)
{
    tell(w, STORE_NEWS_PUT, "/s/desired/definitions/m", value);
}

static void test_it_joins_changes_and_leaves(void **state)
{
    struct world *w = open_world();
    (void)state;
    list(w, "n1", NULL);
    tell(w, STORE_NEWS_PUT, "/s/desired/models/m", "1");
    tell(w, STORE_NEWS_PUT, "/t/desired/definitions/m", A);
    assert_int_equal(w->n_joins, 0);
    put_m(w, A);
    assert_true(w->joining == 0 && w->replaced == -1);
    end_join(w, STATUS_OK);
    put_m(w, A);
    list(w, "n1", A);
    step(w, 3600 * S);
    assert_int_equal(w->n_joins, 1); /* the same says nothing new */
    put_m(w, B);
    assert_true(w->joining == 1 && w->replaced == 0);
    put_m(w, A); /* and the first one again while it joins */
    end_join(w, STATUS_OK);
    assert_int_equal(w->joining, -1); /* it waits for itself to leave */
    w->offers[0] = (struct serve_offer){ 0 };
    step(w, S);
    assert_true(w->joining == 2 && w->replaced == 1);
    end_join(w, STATUS_OK);
    tell(w, STORE_NEWS_DELETED, "/s/desired/definitions/m", "");
    step(w, 2 * S);
    assert_int_equal(w->n_leaves, 0); /* requests that others accepted may come */
    step(w, 2 * S);
    assert_true(w->n_leaves == 1 && w->offers[2].state == OFFER_LEAVING);
    put_m(w, A); /* it comes back in the same life while the earlier one leaves */
    step(w, 10 * S);
    assert_int_equal(w->joining, -1);
    w->offers[2] = (struct serve_offer){ 0 };
    step(w, S);
    assert_true(w->joining == 3 && w->replaced == -1);
    tell(w, STORE_NEWS_DELETED, "/s/desired/definitions/m", "");
    step(w, 4 * S);
    end_join(w, STATUS_OK);
    assert_int_equal(w->n_leaves, 2); /* it went while it joined */
    close_world(w);
}

static void test_a_refusal_is_told_and_tried_again(void **state)
{
    struct cluster_members_refused refused[CLUSTER_MEMBER_REFUSED_MAX];
    struct world *w = open_world();
    (void)state;
    list(w, "n1", A);
    end_join(w, STATUS_IO);
    assert_int_equal(fleet_follow_refused(&w->follow, refused), 1);
    assert_string_equal(refused[0].why, "no such file");
    assert_true(w->follow.has_refusals);
    step(w, 29 * S);
    assert_int_equal(w->n_joins, 1);
    step(w, 2 * S);
    end_join(w, STATUS_IO);
    put_m(w, B); /* another definition is tried at once */
    end_join(w, STATUS_OK);
    assert_int_equal(fleet_follow_refused(&w->follow, refused), 0);
    assert_true(w->offers[2].service.life == 2);
    put_m(w, "{"); /* the model stays while its new definition can't be read */
    assert_true(w->joining == -1 && w->offers[2].state == OFFER_THERE);
    assert_int_equal(fleet_follow_refused(&w->follow, refused), 1);
    snprintf(w->offers[5].model.name, sizeof w->offers[5].model.name, "own");
    w->offers[5].state = OFFER_THERE;
    tell(w, STORE_NEWS_PUT, "/s/desired/definitions/own", A);
    assert_true(w->joining == -1 && w->offers[5].state == OFFER_THERE);
    assert_int_equal(fleet_follow_refused(&w->follow, refused), 2);
    tell(w, STORE_NEWS_PUT, "/s/desired/definitions/file", "{\"life\":1,\"path\":\"/etc/passwd\"}");
    assert_true(w->joining == -1);
    assert_int_equal(fleet_follow_refused(&w->follow, refused), 3);
    assert_non_null(strstr(refused[2].why, "model_dirs"));
    close_world(w);
}

/* Names from the store may have any bytes. What a member tells of them fits into its entry. */
static void test_hostile_names(void **state)
{
    struct cluster_members_refused refused[CLUSTER_MEMBER_REFUSED_MAX];
    struct world *w = open_world();
    struct str value;
    (void)state;
    for (int i = 0; i < CLUSTER_MEMBER_REFUSED_MAX; i++) {
        static const char bytes[] = "\x01\"\xff\x7f";
        char key[STORE_KEY_BYTES] = "/s/desired/definitions/";
        size_t n = strlen(key);
        memset(key + n, bytes[i], LIMIT_NAME_BYTES - 1);
        key[n + LIMIT_NAME_BYTES - 1] = '\0';
        tell(w, STORE_NEWS_PUT, key, "{\"life\":1,\"path\":\"/a\",\"\\\"\\\"\\\"\":1}");
    }
    str_init(&value);
    int n = fleet_follow_refused(&w->follow, refused);
    assert_int_equal(n, CLUSTER_MEMBER_REFUSED_MAX);
    for (int i = 0; i < n; i++)
        memset(refused[i].why, '"', sizeof refused[i].why - 1);
    cluster_members_write_node(&value, LIMIT_DEVICES, "0.1.0", refused, n);
    assert_true(value.n < CLUSTER_MEMBER_VALUE_BYTES);
    str_free(&value);
    close_world(w);
}

/* Only a deletion that was seen, or a list of the same history without it, takes a model away. */
static void test_lost_history_takes_nothing(void **state)
{
    struct world *w = open_world();
    (void)state;
    list(w, "n1", A);
    end_join(w, STATUS_OK);
    list(w, "", NULL); /* emptied: another life */
    list(w, "n2", NULL);
    list(w, "n2", NULL);
    step(w, 60 * S);
    assert_int_equal(w->n_leaves, 0);
    put_m(w, A); /* deployed in the new life, too */
    fleet_follow_take(&w->follow, &(struct store_news){ .kind = STORE_NEWS_BACK });
    list(w, "n2", NULL); /* rolled back: the same life */
    step(w, 60 * S);
    assert_int_equal(w->n_leaves, 0);
    put_m(w, "{}");
    tell(w, STORE_NEWS_DELETED, "/s/desired/definitions/m", "");
    step(w, 4 * S);
    assert_int_equal(w->n_leaves, 1);
    w->offers[0] = (struct serve_offer){ 0 };
    put_m(w, A);
    end_join(w, STATUS_OK);
    list(w, "n2", NULL); /* deleted while the watch was broken */
    step(w, 4 * S);
    assert_int_equal(w->n_leaves, 2);
    close_world(w);
}

/* The first manager writes the nonce after the first lists. */
static void test_the_nonce_comes_later(void **state)
{
    struct world *w = open_world();
    (void)state;
    list(w, "", NULL);
    tell(w, STORE_NEWS_PUT, "/s/nonce", "n1");
    put_m(w, A);
    end_join(w, STATUS_OK);
    list(w, "", NULL); /* emptied */
    step(w, 60 * S);
    assert_int_equal(w->n_leaves, 0);
    put_m(w, A);
    tell(w, STORE_NEWS_PUT, "/s/nonce", "n2");
    list(w, "n2", NULL);
    step(w, 60 * S);
    assert_int_equal(w->n_leaves, 1);
    close_world(w);
}

/* One change at a time, and no more models than there are places. */
static void test_many(void **state)
{
    struct world *w = open_world();
    (void)state;
    w->is_busy = true;
    for (int i = 0; i < LIMIT_MODELS + 10; i++) {
        char key[64];
        snprintf(key, sizeof key, "/s/desired/definitions/m%d", i);
        tell(w, STORE_NEWS_PUT, key, A);
    }
    assert_true(w->n_joins == 0 && w->follow.n == LIMIT_MODELS);
    w->is_busy = false;
    for (int i = 0; i < LIMIT_MODELS; i++) {
        step(w, S);
        assert_int_equal(w->n_joins, i + 1);
        end_join(w, STATUS_OK);
    }
    step(w, S);
    assert_int_equal(w->n_joins, LIMIT_MODELS);
    close_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_it_joins_changes_and_leaves),
                                        cmocka_unit_test(test_a_refusal_is_told_and_tried_again),
                                        cmocka_unit_test(test_lost_history_takes_nothing),
                                        cmocka_unit_test(test_the_nonce_comes_later),
                                        cmocka_unit_test(test_hostile_names),
                                        cmocka_unit_test(test_many) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
