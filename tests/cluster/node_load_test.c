/* What the other gateways have on an engine: sums against a second count, as requests come, make
 * tokens and leave, and their way through a message. */
#include "../test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "cluster/message.h"
#include "cluster/node_load.h"
#include <string.h>

enum { N_LINKS = 4, N_SERVICES = 3, N_ENGINES = 2, N_MAX = 40, ROUNDS = 500 };

static struct route_others counted(const struct node_lives *lives, int engine, int link,
                                   int service, int64_t now_ns)
{
    struct route_others sum = { 0 };
    for (uint32_t i = 0; i < lives->n; i++) {
        const struct node_life *r = &lives->of[i];
        if (r->engine != engine || r->peer == link || r->service != service || r->session == 0)
            continue;
        int32_t n_new = r->n_tokens - r->n_prompt;
        sum.n++;
        sum.n_prompt += r->n_prompt;
        sum.n_new += n_new;
        sum.n_expected += n_new > r->n_predicted ? n_new : r->n_predicted;
        sum.load += r->load;
        if (r->first_ns == 0) {
            sum.n_waiting++;
            sum.n_waiting_tokens += r->n_tokens;
        } else {
            sum.decoding_ns += now_ns - r->first_ns;
        }
    }
    return sum;
}

static void add_one(struct node_lives *lives, struct rng *rng, uint64_t id, int64_t now_ns)
{
    struct node_life life = { .id = id,
                              .session = rng_below(rng, 6) == 0 ? 0 : 7,
                              .engine = (uint16_t)rng_below(rng, N_ENGINES),
                              .peer = (uint16_t)rng_below(rng, N_LINKS),
                              .service = (uint16_t)rng_below(rng, N_SERVICES),
                              .n_prompt = 1 + (int32_t)rng_below(rng, 100),
                              .n_predicted = (int32_t)rng_below(rng, 50),
                              .load = (int64_t)rng_below(rng, 1000) };
    life.n_tokens = life.n_prompt + (int32_t)rng_below(rng, 60);
    life.first_ns = rng_below(rng, 2) == 0 ? 0 : now_ns - (int64_t)rng_below(rng, 1000);
    (void)node_lives_add(lives, &life);
}

static void check(struct node_load *load, const struct node_lives *lives, int64_t now_ns)
{
    for (int e = 0; e < N_ENGINES; e++) {
        node_load_count(load, lives, e, now_ns);
        for (int link = 0; link < N_LINKS; link++) {
            const struct route_others *others = node_load_of_others(load, link);
            bool has_some = false;
            for (int s = 0; s < N_SERVICES; s++) {
                const struct route_others want = counted(lives, e, link, s, now_ns);
                has_some = has_some || want.n > 0;
                if (others != NULL)
                    assert_memory_equal(&others[s], &want, sizeof want);
            }
            assert_int_equal(others != NULL, has_some);
        }
    }
}

static void sums_are_those_of_the_others(void **state)
{
    struct node_lives lives;
    struct node_load load = { 0 };
    struct rng rng;
    uint64_t n_ids = 0;
    (void)state;
    rng_init(&rng, test_seed(4), 1);
    node_lives_init(&lives, N_MAX);
    node_load_fit(&load, 0, N_SERVICES);
    node_load_fit(&load, N_LINKS, 1);
    for (int64_t i = 1; i <= ROUNDS; i++) {
        if (lives.n > 0 && rng_below(&rng, 2) == 0)
            node_lives_remove(&lives, &lives.of[rng_below(&rng, lives.n)]);
        else
            add_one(&lives, &rng, ++n_ids, 5000 + i);
        for (uint32_t k = 0; k < lives.n; k++)
            assert_ptr_equal(node_lives_find(&lives, lives.of[k].id), &lives.of[k]);
        check(&load, &lives, 5000 + i);
    }
    node_lives_free(&lives);
    node_load_free(&load);
}

static struct service_spec spec_of(int i)
{
    struct service_spec spec = { .identity = (uint64_t)i };
    (void)snprintf(spec.name, sizeof spec.name, "model-%d", i);
    return spec;
}

/* Gateways number services in another order. A report without rows of others clears them. */
static void they_travel_with_a_report(void **state)
{
    static struct message_report message;
    static struct engine_report report;
    struct cluster_roster here, there;
    struct route_others said[N_SERVICES] = { { 0 } }, heard[N_SERVICES];
    (void)state;
    cluster_roster_init(&here);
    cluster_roster_init(&there);
    report.n_services = N_SERVICES;
    for (int s = 0; s < N_SERVICES; s++) {
        const struct service_spec spec = spec_of(s);
        cluster_roster_add(&here, s, &spec);
        cluster_roster_add(&there, N_SERVICES - 1 - s, &spec);
        set_add(&report.listed, s);
        said[s] = (struct route_others){ .n = s + 1, .n_prompt = 10 * s, .load = 7 };
    }
    message.head = cluster_message_head(MESSAGE_REPORT, 0, 0);
    size_t n_plain = cluster_message_write_report(&report, &here, &message, 0);
    size_t n_bytes = cluster_message_write_others(said, &here, &message);
    assert_int_equal(n_bytes, n_plain + sizeof said);
    assert_true(cluster_message_is_valid(&message, n_bytes, 1));
    cluster_message_read_others(&message, &there, N_SERVICES, heard);
    for (int s = 0; s < N_SERVICES; s++)
        assert_memory_equal(&heard[N_SERVICES - 1 - s], &said[s], sizeof said[s]);
    assert_int_equal(cluster_message_write_others(NULL, &here, &message), n_plain);
    assert_true(cluster_message_is_valid(&message, n_plain, 1));
    cluster_message_read_others(&message, &there, N_SERVICES, heard);
    for (int s = 0; s < N_SERVICES; s++)
        assert_int_equal(heard[s].n, 0);
    cluster_roster_free(&here);
    cluster_roster_free(&there);
}

/* Whichever number is wrong, and whatever part of the rows is missing. */
static void wrong_ones_are_refused(void **state)
{
    static struct message_report message;
    static const struct route_others good = { 2, 1, 1, 1, 1, 1, 1, 1 };
    struct route_others *row = (void *)&message.report.services[1];
    row = (void *)((uint64_t *)(void *)row + 1);
    size_t n_bytes = cluster_message_report_bytes(1) + sizeof *row;
    int64_t *const wide[] = { &row->n_prompt,         &row->n_new,       &row->n_expected,
                              &row->n_waiting_tokens, &row->decoding_ns, &row->load };
    int32_t *const narrow[] = { &row->n, &row->n_waiting };
    (void)state;
    message.report.n_services = 1;
    message.head = cluster_message_head(MESSAGE_REPORT, 0, n_bytes);
    *row = good;
    assert_true(cluster_message_is_valid(&message, n_bytes, 1));
    for (size_t i = 0; i < COUNT_OF(wide) + COUNT_OF(narrow); i++) {
        for (int k = 0; k < 2; k++) {
            if (i < COUNT_OF(wide))
                *wide[i] = k == 0 ? -1 : INT64_MAX;
            else
                *narrow[i - COUNT_OF(wide)] = k == 0 ? -1 : INT32_MAX;
            assert_false(cluster_message_is_valid(&message, n_bytes, 1));
            *row = good;
        }
    }
    row->n_waiting_tokens = row->n_prompt + row->n_new + 1; /* a part larger than the whole */
    assert_false(cluster_message_is_valid(&message, n_bytes, 1));
    *row = good;
    row->n_new = row->n_expected + 1;
    assert_false(cluster_message_is_valid(&message, n_bytes, 1));
    *row = good;
    for (size_t n_less = 8; n_less < sizeof *row; n_less += 8) {
        message.head.n_bytes = (uint32_t)(n_bytes - n_less);
        assert_false(cluster_message_is_valid(&message, n_bytes - n_less, 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_the_others),
        cmocka_unit_test(they_travel_with_a_report),
        cmocka_unit_test(wrong_ones_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
