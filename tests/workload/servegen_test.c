/* ServeGen's files: a small pair written here, bad lines, and the published ones where they are. */
#include "../test.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/time.h"
#include "workload/workload.h"
#include <sys/stat.h>

static const char *source_root = ".";
static char folder[] = "/tmp/shoal_servegen_XXXXXX";
static struct workload w;
static struct fault fault;

static void write_file(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(file_write(path, text, strlen(text), &fault), STATUS_OK);
}

static enum status parse(const char *keys)
{
    char text[256];
    snprintf(text, sizeof(text), "servegen:%s%s", folder, keys);
    workload_free(&w);
    workload_init(&w);
    return workload_parse(&w, text, &fault);
}

static const char clients[] = "model,client,t0_s,rate_rps,cv,dist,p1,p2\n"
                              "m,3,0,2,1.5,Gamma,0.44,1\n"
                              "m,3,600,4,1.5,Gamma,0.44,1\n"
                              "m,8,600,6,2.2,Weibull,0.5,1\n"
                              "m,8,1200,1,9,Weibull,0.1,1\n"
                              "other,3,0,100,1,Gamma,1,1\n";
static const char lengths[] = "m\t3\t0\tinput_tokens\t4\t100:1 200:3\n"
                              "m\t3\t0\toutput_tokens\t4\t10:2 20:2\n"
                              "m\t3\t0\treason_ratio\t4\t0.5:2 0.25:2\n"
                              "other\t3\t0\tinput_tokens\t1\t9999:1\n";

static void each_client_is_a_source(void **state)
{
    struct workload_stream stream;
    struct workload_ask ask;
    int64_t n = 0, n_first = 0, n_prompt = 0, n_output = 0;
    (void)state;
    write_file("clients.csv", clients);
    write_file("lengths.tsv", lengths);
    if (parse(",clients=m,to=20m,model=llama-2-7b") != STATUS_OK)
        fail_msg("%s", fault.text);
    assert_true(w.n_services == 1 && w.n_more == 1);
    assert_string_equal(w.services[0].name, "m");
    const struct workload_traffic *a = &w.services[0], *b = &w.more[0];
    assert_true(a->rate_per_s == 3 && b->rate_per_s == 3);
    assert_true(a->arrivals == WORKLOAD_GAMMA && a->cv == 1.5);
    assert_true(b->arrivals == WORKLOAD_WEIBULL && b->shape == 0.5);
    assert_true(b->profile->n == 2 && b->profile->factors[0] == 0 && b->profile->factors[1] == 2);
    w.until_ns = 20000 * TIME_NS_PER_S;
    workload_begin(&stream, &w);
    while (workload_next(&stream, &ask)) {
        n++;
        n_first += ask.arrived_ns / TIME_NS_PER_S % 1200 < 600;
        n_prompt += ask.n_prompt;
        n_output += ask.n_output;
        assert_true(ask.n_prompt == 100 || ask.n_prompt == 200);
    }
    workload_end(&stream);
    assert_true(n > 114000 && n < 126000); /* 6 a second */
    assert_true((double)n_first / (double)n > 0.155 &&
                (double)n_first / (double)n < 0.2); /* 2 : 10 */
    assert_true((double)n_prompt / (double)n > 174 && (double)n_prompt / (double)n < 176);
    assert_true((double)n_output / (double)n > 14.8 && (double)n_output / (double)n < 15.2);
    assert_int_equal(parse(",clients=m,to=20m,rate=12,step=60s"), STATUS_OK);
    assert_true(w.services[0].rate_per_s == 6 && w.services[0].profile->step_s == 60);
}

/* The files on another clock, and both windows moved along with it, are the same clients. */
static void the_first_window_is_time_zero(void **state)
{
    static const int64_t origins_s[] = { 0, 600, 1700000000, -86400 };
    uint64_t hashes[2] = { 0 };
    (void)state;
    for (size_t o = 0; o < COUNT_OF(origins_s); o++) {
        struct str text[2];
        for (int i = 0; i < 2; i++)
            str_init(&text[i]);
        str_add_text(&text[0], "model,client,t0_s,rate_rps,cv,dist,p1,p2\n");
        for (int64_t t0 = 0; t0 < 7; t0++) {
            str_printf(&text[0], "m,%d,%lld,%d,1.5,Gamma,0.44,1\n", (int)t0 % 2,
                       (long long)(origins_s[o] + 600 * t0), (int)t0 + 1);
            str_printf(&text[1], "m\t%d\t%lld\tinput_tokens\t4\t100:1 %d:3\n", (int)t0 % 2,
                       (long long)(origins_s[o] + 21600 * (t0 / 2)), 100 + (int)t0);
            str_printf(&text[1], "m\t%d\t%lld\toutput_tokens\t4\t10:2 20:2\n", (int)t0 % 2,
                       (long long)(origins_s[o] + 21600 * (t0 / 2)));
        }
        write_file("clients.csv", text[0].at);
        write_file("lengths.tsv", text[1].at);
        static const char *const keys[] = { ",clients=m,to=1h,seconds=20m",
                                            ",clients=m,from=20m,to=40m,seconds=20m" };
        for (int k = 0; k < 2; k++) {
            struct workload_stream stream;
            uint64_t hash = 0;
            assert_int_equal(parse(keys[k]), STATUS_OK);
            workload_begin(&stream, &w);
            for (struct workload_ask ask; workload_next(&stream, &ask);) {
                int64_t all[3] = { ask.arrived_ns, ask.n_prompt, ask.n_output };
                hash = hash_fast(all, sizeof(all), hash).low;
            }
            workload_end(&stream);
            assert_true(hash != 0 && (o == 0 || hash == hashes[k]));
            hashes[k] = hash;
        }
        str_free(&text[0]);
        str_free(&text[1]);
    }
}

/* Of one client a thousand lengths are published, of the other, who asks nine times as much, one.
 */
static void who_has_no_lengths_asks_as_the_others_do(void **state)
{
    struct workload_expected expected;
    (void)state;
    write_file("clients.csv", "model,client,t0_s,rate_rps,cv,dist,p1,p2\n"
                              "m,1,0,9,1,Gamma,1,1\n"
                              "m,2,0,1,1,Gamma,1,1\n"
                              "m,3,0,10,1,Gamma,1,1\n");
    write_file("lengths.tsv", "m\t1\t0\tinput_tokens\t1\t100:1\n"
                              "m\t1\t0\toutput_tokens\t1\t10:1\n"
                              "m\t2\t0\tinput_tokens\t1000\t200:1000\n"
                              "m\t2\t0\toutput_tokens\t1000\t20:1000\n");
    if (parse(",clients=m,to=10m") != STATUS_OK)
        fail_msg("%s", fault.text);
    workload_expect(&w, 0, &expected);
    assert_true(expected.n_prompt > 109.5 && expected.n_prompt < 110.5);
    assert_true(expected.n_output > 10.95 && expected.n_output < 11.05);
}

static void bad_lines_are_named(void **state)
{
    static const struct {
        const char *clients, *lengths, *end;
    } rows[] = {
        { "h\nm,3,0,2,1.5,Normal,0.44,1\n", lengths,
          "clients.csv:2: not model,client,t0_s,rate_rps,cv,Gamma|Weibull,shape,scale" },
        { "h\nm,3,0,nan,1.5,Gamma,0.44,1\n", lengths,
          "clients.csv:2: not model,client,t0_s,rate_rps,cv,Gamma|Weibull,shape,scale" },
        { "h\nm,3,0,2\n", lengths,
          "clients.csv:2: not model,client,t0_s,rate_rps,cv,Gamma|Weibull,shape,scale" },
        { clients, "m\tx\n", "lengths.tsv:1: not model, client, t0_s, field, n, value:count ..." },
        { clients, "m\t3\t0\tinput_tokens\t1\t12\n", "lengths.tsv:1: \"12\" is not value:count" },
        { clients, "m\t3\t0\tinput_tokens\t1\t12:-1\n",
          "lengths.tsv:1: \"12\" is not value:count" },
        { clients, "m\t3\t0\tinput_tokens\t1\t12:1\n",
          "workload: servegen: no lengths of m in these hours" },
        { "h\n", lengths, "workload: servegen: no clients of m in these hours" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        write_file("clients.csv", rows[i].clients);
        write_file("lengths.tsv", rows[i].lengths);
        assert_int_equal(parse(",clients=m,to=20m"), STATUS_BAD_INPUT);
        const char *end = strstr(fault.text, rows[i].end);
        if (end == NULL || strcmp(end, rows[i].end) != 0)
            fail_msg("%s", fault.text);
    }
    assert_int_equal(parse(",clients=m,from=20m,to=20m"), STATUS_BAD_INPUT);
}

static bool unpack_published(void)
{
    static const char *const names[] = { "clients.csv", "lengths.tsv" };
    char command[1200], path[512];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/../shared/data/servegen/%s.xz", source_root, names[i]);
        if (!file_exists(path))
            return false;
        snprintf(command, sizeof(command), "xz -dc '%s' > %s/%s", path, folder, names[i]);
        assert_int_equal(system(command), 0);
    }
    return true;
}

static bool is_near(double got, double want, double part)
{
    return got > want * (1 - part) && got < want * (1 + part);
}

/* The tables' six classes against every client's own rate and lengths, over the week that the
 * tables are of. Their lengths are of both weeks: hence the distance. */
static void the_tables_are_of_the_first_week(void **state)
{
    static const char *const models[] = { "m-large", "m-mid", "m-small" };
    char text[64];
    struct workload_expected own, table;
    (void)state;
    if (!unpack_published())
        TEST_SKIP("no ../shared beside the repository");
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        snprintf(text, sizeof(text), ",clients=%s,to=7d", models[i]);
        if (parse(text) != STATUS_OK)
            fail_msg("%s", fault.text);
        workload_expect(&w, 0, &own);
        workload_free(&w);
        workload_init(&w);
        snprintf(text, sizeof(text), "servegen:rate=1,clients=%s", models[i]);
        assert_int_equal(workload_parse(&w, text, &fault), STATUS_OK);
        workload_expect(&w, 0, &table);
        printf("%s: %.1f and %.1f tokens, of the tables %.1f and %.1f\n", models[i], own.n_prompt,
               own.n_output, table.n_prompt, table.n_output);
        assert_true(is_near(table.n_prompt, own.n_prompt, 0.08));
        assert_true(is_near(table.n_output, own.n_output, 0.08));
    }
}

static void the_published_files_are_read(void **state)
{
    struct workload_expected expected;
    (void)state;
    if (!unpack_published())
        TEST_SKIP("no ../shared beside the repository");
    if (parse(",clients=deepseek-r1,to=24h") != STATUS_OK)
        fail_msg("%s", fault.text);
    workload_expect(&w, 0, &expected);
    printf("deepseek-r1: %u clients, %.2f/s, %.1f and %.1f tokens\n", w.n_more + 1,
           expected.rate_per_s, expected.n_prompt, expected.n_output);
    /* 73 clients, 16.0 requests/s, means of 1,268 and 1,527 (counted over samples). */
    assert_int_equal(w.n_more + 1, 73);
    assert_true(expected.rate_per_s > 15.5 && expected.rate_per_s < 16.5);
    assert_true(is_near(expected.n_prompt, 1268, 0.15));
    assert_true(is_near(expected.n_output, 1527, 0.15));
}

static int begin(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int end(void **state)
{
    static const char *const names[] = { "clients.csv", "lengths.tsv" };
    char path[128];
    (void)state;
    workload_free(&w);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_client_is_a_source),
        cmocka_unit_test(the_first_window_is_time_zero),
        cmocka_unit_test(who_has_no_lengths_asks_as_the_others_do),
        cmocka_unit_test(bad_lines_are_named),
        cmocka_unit_test(the_tables_are_of_the_first_week),
        cmocka_unit_test(the_published_files_are_read),
    };
    if (argc > 1)
        source_root = argv[1];
    return cmocka_run_group_tests(tests, begin, end);
}
