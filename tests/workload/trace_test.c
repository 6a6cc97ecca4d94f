/* Traces: every known format, bad input line by line, and sorting. */
#include "../test.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/time.h"
#include "workload/trace.h"
#include <time.h>

static struct workload_trace trace;
static struct fault fault;
static const char *source_root = ".";

static enum status parse(const char *text)
{
    fault.text[0] = '\0';
    workload_trace_free(&trace);
    return workload_trace_parse(&trace, "t", view_text(text), &fault);
}

static void is_bad(const char *text, const char *sentence)
{
    assert_int_equal(parse(text), STATUS_BAD_INPUT);
    assert_string_equal(fault.text, sentence);
}

static void row_is(size_t i, double arrived_s, int32_t n_prompt, int32_t n_output)
{
    assert_true(i < trace.n_rows);
    assert_int_equal(trace.rows[i].arrived_ns, (int64_t)(arrived_s * 1e9 + 0.5));
    assert_int_equal(trace.rows[i].n_prompt, n_prompt);
    assert_int_equal(trace.rows[i].n_output, n_output);
}

static void ours_has_every_column(void **state)
{
    (void)state;
    assert_int_equal(parse("arrived_s,model,n_prompt,n_output,predicted,priority,deadline_s,"
                           "cancel_s,tenant,prefix\r\n"
                           "0.5,\"a, \"\"b\"\"\",10,20,18,-3,1.5,,7,512:9\r\n"
                           "0.250000001,c,1000,1,,,,0.125,,512:9;18446744073709551615\r\n"
                           "\r\n"
                           "0.5,c,5,0,,,,,,512:7\n"
                           "1e1,c,2,3.0,,,,,,"),
                     STATUS_OK);
    assert_int_equal(trace.n_rows, 3);
    assert_int_equal(trace.n_skipped, 1);
    row_is(0, 0, 1000, 1);
    row_is(1, 0.249999999, 10, 20);
    row_is(2, 9.749999999, 2, 3);
    assert_string_equal(trace.models[trace.rows[1].model], "a, \"b\"");
    assert_string_equal(trace.models[trace.rows[0].model], "c");
    assert_true(trace.rows[1].n_predicted == 18 && trace.rows[1].priority == -3 &&
                trace.rows[1].tenant == 7);
    assert_int_equal(trace.rows[1].deadline_ns, 1500000000);
    assert_int_equal(trace.rows[1].cancel_ns, TIME_NEVER);
    assert_int_equal(trace.rows[0].deadline_ns, TIME_NEVER);
    assert_int_equal(trace.rows[0].cancel_ns, 125000000);
    assert_true(trace.rows[0].n_prefix == 2 && trace.prefix_tokens == 512);
    assert_true(trace.blocks[trace.rows[0].prefix_at + 1] == UINT64_MAX);
    assert_true(trace.blocks[trace.rows[1].prefix_at] == 9 && trace.rows[2].n_prefix == 0);
    assert_true(trace.has_times && trace.has_predicted);
}

static void published_formats_are_known(void **state)
{
    (void)state;
    assert_int_equal(parse("TIMESTAMP,ContextTokens,GeneratedTokens\n"
                           "2023-12-31 23:59:59.5000000,374,44\n2024-01-01 00:00:01,396,109\n"),
                     STATUS_OK);
    row_is(0, 0, 374, 44);
    row_is(1, 1.5, 396, 109);
    assert_int_equal(parse("TIMESTAMP,ContextTokens,GeneratedTokens\n"
                           "2024-02-28T00:00:00.25+00:00,1,2\n2024-03-01T00:00:00Z,3,4\n"),
                     STATUS_OK);
    row_is(1, 2 * 86400 - 0.25, 3, 4); /* a leap year */
    assert_int_equal(parse("arrived_at,num_prefill_tokens,num_decode_tokens\n3.25,5,6\n"),
                     STATUS_OK);
    row_is(0, 0, 5, 6);
    assert_int_equal(parse("request_id,request_type,application_id,arrival_timestamp,batch_size,"
                           "prompt_size,token_size\n0,2,0,0.5,1,88,99\n"),
                     STATUS_OK);
    row_is(0, 0, 88, 99);
    assert_int_equal(parse("start_offset_ns,input_tokens,output_tokens,request_id12\n"
                           "618518284,304,822,abff40504d73\n"),
                     STATUS_OK);
    row_is(0, 0, 304, 822);
    assert_int_equal(parse("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                           "5,ChatGPT,472,18,490,Conversation log\n45,GPT-4,7,0,7,API log\n"),
                     STATUS_OK);
    row_is(0, 0, 472, 18);
    assert_true(trace.n_skipped == 1 && trace.n_models == 2);
    assert_int_equal(parse("input_tokens,output_tokens\n29,202\n"), STATUS_OK);
    assert_true(!trace.has_times && trace.n_models == 1);
    assert_int_equal(parse("{\"timestamp\": 3000, \"input_length\": 600, \"output_length\": 5, "
                           "\"hash_ids\": [0, 46]}\n"
                           "{\"timestamp\": 1500, \"input_length\": 1, \"output_length\": 2, "
                           "\"hash_ids\": []}\n"),
                     STATUS_OK);
    row_is(0, 0, 1, 2);
    row_is(1, 1.5, 600, 5);
    assert_true(trace.prefix_tokens == 512 && trace.rows[1].n_prefix == 2 && trace.blocks[1] == 46);
}

/* ---- The origin of time. ---- */

/* Adds a time as digits of units of 10^-n_decimals seconds, like -1700000000.25 or
 * 1700000000250. */
static void add_time(struct str *out, int64_t s, int64_t ns, size_t n_decimals)
{
    char digits[64];
    bool is_negative = s < 0;
    if (is_negative && ns > 0) {
        s++;
        ns = TIME_NS_PER_S - ns;
    }
    snprintf(digits, sizeof(digits), "%lld%09lld", (long long)(is_negative ? -s : s),
             (long long)ns);
    size_t n = strlen(digits), point = n - 9 + n_decimals, at = 0;
    while (at + 1 < point && digits[at] == '0')
        at++;
    str_add_text(out, is_negative ? "-" : "");
    str_add(out, digits + at, point - at);
    if (point < n)
        str_printf(out, ".%s", digits + point);
}

enum { LINES = 40, SECONDS = 0, MILLISECONDS = 3, NANOSECONDS = 9, STAMP };
static const struct {
    const char *column; /* of CSV */
    const char *key;    /* or of JSONL */
    int unit;
} clocks[] = {
    { "arrived_s", NULL, SECONDS },         { "arrived_at", NULL, SECONDS },
    { "arrival_timestamp", NULL, SECONDS }, { "Timestamp", NULL, SECONDS },
    { "t_ms", NULL, MILLISECONDS },         { "start_offset_ns", NULL, NANOSECONDS },
    { "TIMESTAMP", NULL, STAMP },           { NULL, "arrived_s", SECONDS },
    { NULL, "timestamp", MILLISECONDS },
};
/* The run's beginning, later, seconds and milliseconds since 1970 (the latter in a column of
 * seconds, too), and below 0. */
static const int64_t origins[][2] = { { 0, 0 },        { 100, 0 }, { 1700000000, 123456789 },
                                      { -5000, 250 },  { -1, 1 },  { 1700000000000, 0 },
                                      { -62000000, 0 } };

static void add_stamp(struct str *out, int64_t s, int64_t ns)
{
    time_t seconds = (time_t)s;
    struct tm tm;
    char text[64];
    assert_non_null(gmtime_r(&seconds, &tm));
    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
    str_printf(out, "%s.%09lld", text, (long long)ns);
}

static void write_lines(struct str *out, size_t clock, const int64_t origin[2],
                        const int64_t *times_ns, size_t n)
{
    if (clocks[clock].column != NULL)
        str_printf(out, "n_prompt,%s,n_output\n", clocks[clock].column);
    for (size_t i = 0; i < n; i++) {
        int64_t ns = origin[1] + times_ns[i], s = origin[0] + ns / TIME_NS_PER_S;
        ns %= TIME_NS_PER_S;
        str_printf(out,
                   clocks[clock].column != NULL ? "%zu," : "{\"model\":\"m\",\"n_prompt\":%zu,",
                   i + 1);
        if (clocks[clock].key != NULL)
            str_printf(out, "\"%s\" : ", clocks[clock].key);
        if (clocks[clock].unit == STAMP)
            add_stamp(out, s, ns);
        else
            add_time(out, s, ns, (size_t)clocks[clock].unit);
        str_add_text(out, clocks[clock].column != NULL ? ",7\n" : ",\"n_output\":7}\n");
    }
}

/* The same rows in every format, whatever the origin of its times: in order, the first at 0. */
static void check_origins(const int64_t *times_ns, size_t n)
{
    struct workload_trace_row rows[LINES];
    struct str text;
    for (size_t c = 0; c < COUNT_OF(clocks); c++) {
        for (size_t o = 0; o < COUNT_OF(origins); o++) {
            if (clocks[c].unit == STAMP && origins[o][0] > 1000000000000)
                continue; /* the year 55,000 */
            str_init(&text);
            write_lines(&text, c, origins[o], times_ns, n);
            if (parse(text.at) != STATUS_OK)
                fail_msg("%s in\n%s", fault.text, text.at);
            assert_true(trace.n_rows == n && trace.has_times);
            assert_int_equal(trace.rows[0].arrived_ns, 0);
            if (c == 0 && o == 0)
                memcpy(rows, trace.rows, n * sizeof(*rows));
            for (size_t i = 0; i < n; i++)
                if (trace.rows[i].arrived_ns != rows[i].arrived_ns ||
                    trace.rows[i].n_prompt != rows[i].n_prompt)
                    fail_msg("row %zu at %lld ns, not %lld, of\n%s", i,
                             (long long)trace.rows[i].arrived_ns, (long long)rows[i].arrived_ns,
                             text.at);
            str_free(&text);
        }
    }
}

static void the_origin_of_time_changes_nothing(void **state)
{
    int64_t times_ns[LINES];
    struct rng rng;
    (void)state;
    rng_init(&rng, test_seed(7), 1);
    for (size_t n = 1; n <= LINES; n += 13) {
        for (size_t i = 0; i < n; i++)
            times_ns[i] = (int64_t)(rng_u64(&rng) % 1000000000000);
        check_origins(times_ns, n);
        for (size_t i = 0; i < n; i++) /* all at once, so the order is the file's */
            times_ns[i] = 3;
        check_origins(times_ns, n);
    }
}

static void times_are_exact_in_any_form(void **state)
{
    (void)state;
    assert_int_equal(parse("arrived_s,n_prompt,n_output\n1.7e9,1,1\n1700000000.000000001,2,1\n"
                           "1700000000.0000000019,3,1\n17000000000.5E-1,4,1\n+5,5,1\n"),
                     STATUS_BAD_INPUT);
    assert_int_equal(parse("arrived_s,n_prompt,n_output\n1.7e9,1,1\n1700000000.000000001,2,1\n"
                           "1700000000.0000000019,3,1\n17000000005E-1,4,1\n.1700000001e10,5,1\n"),
                     STATUS_OK);
    row_is(0, 0, 1, 1);
    assert_int_equal(trace.rows[1].arrived_ns, 1);
    assert_int_equal(trace.rows[2].arrived_ns, 1);
    row_is(3, 0.5, 4, 1);
    row_is(4, 1, 5, 1);
    assert_int_equal(parse("arrived_s,n_prompt,n_output\n-1.0000000001,1,1\n-1,2,1\n1e-9,3,1\n"),
                     STATUS_OK); /* rounded down on both sides of 0 */
    assert_int_equal(trace.rows[1].arrived_ns, 1);
    assert_int_equal(trace.rows[2].arrived_ns, TIME_NS_PER_S + 2);
    /* A value that is spelled as the key, a nested one, escapes before it. */
    assert_int_equal(parse("{\"model\":\"arrived_s\",\"x\":{\"arrived_s\":9},\"q\\\"\":\"\\\\\","
                           "\"arrived_s\": 1700000000.000000001 ,\"n_prompt\":1,\"n_output\":1}\n"
                           "{\"arrived_s\":17e8,\"n_prompt\":2,\"n_output\":1}\n"),
                     STATUS_OK);
    assert_int_equal(trace.rows[1].arrived_ns, 1);
    assert_int_equal(trace.rows[1].n_prompt, 1);
}

static void bad_csv_is_named_by_its_line(void **state)
{
    (void)state;
    is_bad("", "t:1: no column of prompt tokens: expected n_prompt, or a published trace's name "
               "for it");
    is_bad("n_prompt\n", "t:1: no column of output tokens: expected n_output, or a published "
                         "trace's name for it");
    is_bad("n_prompt,n_output\n", "t: no request with a prompt and an output in it");
    is_bad("n_prompt,n_output,input_tokens\n", "t:1: column input_tokens repeats another one");
    is_bad("n_prompt,n_output\n1,2\n1,x\x01y\n",
           "t:3: n_output is \"x?y\", expected a whole number from 0 to 1048576");
    is_bad("n_prompt,n_output\n-1,2\n",
           "t:2: n_prompt is \"-1\", expected a whole number from 0 to 1048576");
    is_bad("n_prompt,n_output\n1048577,2\n",
           "t:2: n_prompt is \"1048577\", expected a whole number from 0 to 1048576");
    is_bad("n_prompt,n_output\n99999999999999999999999,2\n",
           "t:2: n_prompt is \"99999999999999999999999\", expected a whole number from 0 to "
           "1048576");
    is_bad("n_prompt,n_output\n1.5,2\n",
           "t:2: n_prompt is \"1.5\", expected a whole number from 0 to 1048576");
    is_bad("n_prompt,n_output\n1\n", "t:2: 1 fields, but the first line names 2 columns");
    is_bad("n_prompt,n_output\n1,2,3\n", "t:2: 3 fields, but the first line names 2 columns");
    is_bad("n_prompt,n_output\n\"1,2\n", "t:2: a quote that does not end");
    is_bad("n_prompt,n_output\n\"1\"x,2\n", "t:2: a quote that does not end");
    is_bad("arrived_s,n_prompt,n_output\nnan,1,2\n",
           "t:2: arrived_s is \"nan\", expected a number");
    is_bad("arrived_s,n_prompt,n_output\n1e300,1,2\n",
           "t:2: arrived_s is \"1e300\", expected a number");
    is_bad("arrived_s,n_prompt,n_output\n,1,2\n", "t:2: arrived_s is \"\", expected a number");
    is_bad("arrived_s,n_prompt,n_output\n1e3x,1,2\n",
           "t:2: arrived_s is \"1e3x\", expected a number");
    is_bad("arrived_s,n_prompt,n_output\n0,1,2\n1e10,1,2\n",
           "t:3: arrived_s is \"1e10\", expected a time within a century of the first");
    is_bad("arrived_s,n_prompt,n_output\n0,1,2\n2e9,1,2\n-2e9,1,2\n",
           "t: its times are over a century apart");
    is_bad("arrived_s,n_prompt,n_output,deadline_s\n0,1,2,-1\n",
           "t:2: deadline_s is \"-1\", expected a number of seconds >= 0");
    is_bad(
        "TIMESTAMP,n_prompt,n_output\n2023-13-01 00:00:00,1,2\n",
        "t:2: TIMESTAMP is \"2023-13-01 00:00:00\", expected a time like 2023-11-16 18:17:03.98");
    is_bad("n_prompt,n_output,tenant\n1,2,65536\n",
           "t:2: tenant is \"65536\", expected a whole number from 0 to 65535");
    is_bad("n_prompt,n_output,priority\n1,2,40000\n",
           "t:2: priority is \"40000\", expected a whole number from -32768 to 32767");
    is_bad("n_prompt,n_output,prefix\n1,2,7\n",
           "t:2: prefix is \"7\", expected tokens of a block : their names, like 512:17;18");
    is_bad("n_prompt,n_output,prefix\n512,2,512:1;2\n",
           "t:2: 2 prefix blocks of 512 tokens in a prompt of 512");
    is_bad("n_prompt,n_output,prefix\n512,2,512:1\n512,2,256:1\n",
           "t:3: prefix blocks of 256 tokens after blocks of 512");
}

static void bad_jsonl_is_named_by_its_line(void **state)
{
    (void)state;
    is_bad("{}", "t:1: no n_prompt");
    is_bad("{\"n_prompt\":1,\"n_output\":2}\n[1]\n", "t:2: not a JSON object");
    is_bad("{\"n_prompt\":1,\"n_output\":2}\n{\"n_prompt\"\n", "t:2: not a JSON object");
    is_bad("{\"n_prompt\":1.5,\"n_output\":2}",
           "t:1: n_prompt is not a whole number from 0 to 1048576");
    is_bad("{\"n_prompt\":\"1\",\"n_output\":2}",
           "t:1: n_prompt is not a whole number from 0 to 1048576");
    is_bad("{\"n_prompt\":1,\"n_output\":2,\"arrived_s\":\"1\"}", "t:1: arrived_s is not a number");
    is_bad("{\"n_prompt\":1,\"n_output\":2,\"arrived_s\":0}\n"
           "{\"n_prompt\":1,\"n_output\":2,\"timestamp\":4e12}",
           "t:2: timestamp is over a century from the first");
    is_bad("{\"n_prompt\":1,\"n_output\":2,\"cancel_s\":-1}",
           "t:1: cancel_s is not a number >= 0, or over a century");
    is_bad("{\"n_prompt\":1,\"n_output\":2}\n{\"n_prompt\":1,\"n_output\":2,\"arrived_s\":1}",
           "t:2: a request with a time after others without");
    is_bad("{\"n_prompt\":1,\"n_output\":2,\"model\":3}",
           "t:1: model is not one of at most 1024 names");
    is_bad("{\"n_prompt\":1,\"n_output\":2,\"prefix\":3}",
           "t:1: the prefix is not a list of names of blocks");
    is_bad("{\"n_prompt\":1,\"n_output\":2,\"prefix\":[\"a\"]}",
           "t:1: the prefix holds what is not a whole number");
    is_bad("{\"n_prompt\":1,\"n_output\":2,\"prefix_tokens\":0,\"prefix\":[1]}",
           "t:1: prefix_tokens is not a whole number from 1 to 1048576");
}

static void at_most_1024_models(void **state)
{
    struct str text;
    (void)state;
    str_init(&text);
    str_add_text(&text, "model,n_prompt,n_output\n");
    for (int i = 0; i <= LIMIT_SERVICES; i++)
        str_printf(&text, "m%d,1,1\n", i);
    is_bad(text.at, "t:1026: model is \"m1024\", expected one of at most 1024 models, of at most "
                    "127 bytes");
    str_free(&text);
}

static void files_are_checked_too(void **state)
{
    (void)state;
    workload_trace_free(&trace);
    assert_int_equal(workload_trace_read(&trace, "/nonexistent/x.csv", &fault), STATUS_NOT_FOUND);
    assert_non_null(strstr(fault.text, "/nonexistent/x.csv"));
    char path[] = "/tmp/shoal_trace_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(file_write(path,
                                "\xfd"
                                "7zXZ\0\0",
                                7, &fault),
                     STATUS_OK);
    assert_int_equal(workload_trace_read(&trace, path, &fault), STATUS_UNSUPPORTED);
    unlink(path);
}

static void rows_are_sorted_and_ties_stay(void **state)
{
    struct rng rng;
    (void)state;
    rng_init(&rng, 3, 1);
    for (size_t n = 1; n < 200; n += 7) {
        workload_trace_free(&trace);
        for (size_t i = 0; i < n; i++)
            workload_trace_add(&trace,
                               &(struct workload_trace_row){ .arrived_ns = rng_below(&rng, 20),
                                                             .n_prompt = (int32_t)i + 1 });
        workload_trace_sort(&trace);
        assert_int_equal(trace.n_rows, n);
        for (size_t i = 1; i < n; i++) {
            const struct workload_trace_row *a = &trace.rows[i - 1], *b = &trace.rows[i];
            assert_true(a->arrived_ns < b->arrived_ns ||
                        (a->arrived_ns == b->arrived_ns && a->n_prompt < b->n_prompt));
        }
    }
}

/* Reads the real files, if they are beside the repository. */
static void the_real_traces_are_read(void **state)
{
    static const struct {
        const char *path;
        size_t n_rows;
        double mean_prompt, mean_output, rate_per_s;
    } files[] = {
        { "azure-llm-2023/AzureLLMInferenceTrace_conv.csv", 19366, 1154.7, 211.1, 5.53 },
        { "azure-llm-2023/AzureLLMInferenceTrace_code.csv", 8819, 2047.8, 27.9, 2.57 },
        { "apex-plus/llama_creation_05.csv", 512, 307.7, 1144.3, 0.47 },
        { "mooncake/conversation_trace.jsonl.xz", 12031, 12035.1, 342.6, 3.4 },
    };
    (void)state;
    char path[512], unpacked[] = "/tmp/shoal_mooncake_XXXXXX", command[1200];
    int fd = mkstemp(unpacked);
    assert_true(fd >= 0);
    close(fd);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        snprintf(path, sizeof(path), "%s/../shared/data/%s", source_root, files[i].path);
        if (!file_exists(path)) {
            unlink(unpacked);
            TEST_SKIP("no ../shared beside the repository");
        }
        if (strstr(path, ".xz") != NULL) {
            snprintf(command, sizeof(command), "xz -dc '%s' > %s", path, unpacked);
            assert_int_equal(system(command), 0);
            snprintf(path, sizeof(path), "%s", unpacked);
        }
        workload_trace_free(&trace);
        if (workload_trace_read(&trace, path, &fault) != STATUS_OK)
            fail_msg("%s", fault.text);
        assert_int_equal(trace.n_rows, files[i].n_rows);
        double n_prompt = 0, n_output = 0, n = (double)trace.n_rows;
        for (size_t k = 0; k < trace.n_rows; k++) {
            n_prompt += trace.rows[k].n_prompt;
            n_output += trace.rows[k].n_output;
        }
        double rate_per_s = n / ((double)trace.rows[trace.n_rows - 1].arrived_ns * 1e-9);
        printf("%s: means %.1f, %.1f; %.2f/s\n", files[i].path, n_prompt / n, n_output / n,
               rate_per_s);
        assert_true(n_prompt / n > files[i].mean_prompt - 0.1 &&
                    n_prompt / n < files[i].mean_prompt + 0.1);
        assert_true(n_output / n > files[i].mean_output - 0.1 &&
                    n_output / n < files[i].mean_output + 0.1);
        assert_true(rate_per_s > files[i].rate_per_s * 0.94 &&
                    rate_per_s < files[i].rate_per_s * 1.06);
    }
    unlink(unpacked);
    assert_true(trace.prefix_tokens == 512 && trace.n_blocks == 288500);
}

static int end(void **state)
{
    (void)state;
    workload_trace_free(&trace);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        source_root = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ours_has_every_column),
        cmocka_unit_test(published_formats_are_known),
        cmocka_unit_test(the_origin_of_time_changes_nothing),
        cmocka_unit_test(times_are_exact_in_any_form),
        cmocka_unit_test(bad_csv_is_named_by_its_line),
        cmocka_unit_test(bad_jsonl_is_named_by_its_line),
        cmocka_unit_test(at_most_1024_models),
        cmocka_unit_test(files_are_checked_too),
        cmocka_unit_test(rows_are_sorted_and_ties_stay),
        cmocka_unit_test(the_real_traces_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}
