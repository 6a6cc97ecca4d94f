/* The tables are well formed, and what is drawn from them has the figures of the rows that they
 * were made of. */
#include "../test.h"
#include "base/file.h"
#include "workload/draw.h"
#include "workload/tables.h"
#include "workload/trace.h"

enum { N = 40000, SEED = 5 };
static const char *source_root = ".";

static int compare(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void is_ascending(const int32_t *points)
{
    assert_true(points[0] >= 1);
    for (int i = 1; i < WORKLOAD_QUANTILES; i++)
        assert_true(points[i] >= points[i - 1]);
}

/* Within a part, or within a token: small lengths are whole numbers. */
static void is_near(const char *what, double got, double want, double part)
{
    double off = got > want ? got - want : want - got;
    if (off > want * part && off > 1)
        fail_msg("%s: %.2f, not %.2f", what, got, want);
}

static void compare_with_rows(const struct workload_joint_table *table)
{
    static int32_t prompts[N], outputs[N];
    struct workload_traffic traffic = { .table = table };
    double n_prompt = 0, n_output = 0;
    for (uint64_t i = 0; i < N; i++) {
        struct workload_pair pair = workload_draw_lengths(&traffic, SEED, 3, i);
        n_prompt += prompts[i] = pair.n_prompt;
        n_output += outputs[i] = pair.n_output;
    }
    qsort(prompts, N, sizeof(prompts[0]), compare);
    qsort(outputs, N, sizeof(outputs[0]), compare);
    is_near(table->name, n_prompt / N, table->mean_prompt, 0.03);
    is_near(table->name, n_output / N, table->mean_output, 0.03);
    is_near(table->name, prompts[N / 2], table->p50_prompt, 0.1);
    is_near(table->name, outputs[N / 2], table->p50_output, 0.1);
    is_near(table->name, prompts[N / 100 * 99], table->p99_prompt, 0.06);
    is_near(table->name, outputs[N / 100 * 99], table->p99_output, 0.12);
}

static void check_table(const struct workload_joint_table *table)
{
    assert_ptr_equal(workload_tables_find(table->name), table);
    assert_true(table->n_rows > 0 && table->n_groups >= 1 && strlen(table->source) > 10);
    is_ascending(table->prompt);
    for (uint32_t g = 0; g < table->n_groups; g++)
        is_ascending(table->output[g]);
    compare_with_rows(table);
}

static void lengths_are_as_in_their_traces(void **state)
{
    (void)state;
    for (int i = 0; i + 1 < WORKLOAD_QUANTILES; i++)
        assert_true(workload_tables_p[i] < workload_tables_p[i + 1]);
    assert_true(workload_tables_p[0] == 0 && workload_tables_p[WORKLOAD_QUANTILES - 1] == 1);
    for (int i = 0; i < WORKLOAD_QUANTILES_GUIDE; i++) {
        int at = workload_tables_guide[i];
        assert_true(workload_tables_p[at] <= i / 256.0 && workload_tables_p[at + 1] > i / 256.0);
    }
    for (uint32_t i = 0; i < workload_tables_n_lengths; i++)
        check_table(&workload_tables_lengths[i]);
    for (uint32_t i = 0; i < workload_tables_n_servegen; i++)
        check_table(&workload_tables_servegen[i]);
    assert_null(workload_tables_find("nothing"));
}

/* The tables' figures are the rows': read again from the trace itself, where it lies. */
static void tables_are_as_their_traces_say(void **state)
{
    static const struct {
        const char *name, *path;
    } rows[] = {
        { "azure-conv", "azure-llm-2023/AzureLLMInferenceTrace_conv.csv" },
        { "azure-code", "azure-llm-2023/AzureLLMInferenceTrace_code.csv" },
        { "lmsys", "apex-plus/llama_lmsys_05.csv" },
        { "alpaca", "helix/alpaca_lens.csv" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct workload_joint_table *t = workload_tables_find(rows[i].name);
        struct fault fault = { { 0 } };
        struct workload_trace trace;
        char path[512];
        snprintf(path, sizeof(path), "%s/../shared/data/%s", source_root, rows[i].path);
        if (!file_exists(path))
            TEST_SKIP("no ../shared beside the repository");
        if (workload_trace_read(&trace, path, &fault) != STATUS_OK)
            fail_msg("%s", fault.text);
        size_t n = trace.n_rows;
        int32_t *prompts = malloc(n * sizeof(*prompts)), *outputs = malloc(n * sizeof(*outputs));
        double n_prompt = 0, n_output = 0;
        for (size_t k = 0; k < n; k++) {
            n_prompt += prompts[k] = trace.rows[k].n_prompt;
            n_output += outputs[k] = trace.rows[k].n_output;
        }
        qsort(prompts, n, sizeof(prompts[0]), compare);
        qsort(outputs, n, sizeof(outputs[0]), compare);
        assert_int_equal(n, t->n_rows);
        is_near(t->name, n_prompt / (double)n * 1000, t->mean_prompt * 1000, 0.0005);
        is_near(t->name, n_output / (double)n * 1000, t->mean_output * 1000, 0.0005);
        assert_true(prompts[n / 2] == t->p50_prompt && outputs[n / 2] == t->p50_output);
        assert_true(prompts[n * 99 / 100] == t->p99_prompt);
        assert_true(outputs[n * 99 / 100] == t->p99_output);
        free(prompts);
        free(outputs);
        workload_trace_free(&trace);
    }
}

static double mean_of(const struct workload_profile *profile)
{
    double sum = 0;
    for (uint32_t i = 0; i < profile->n; i++) {
        assert_true(profile->factors[i] >= 0);
        sum += (double)profile->factors[i];
    }
    return sum / profile->n;
}

static void rates_have_the_mean_one(void **state)
{
    double shares = 0;
    (void)state;
    for (uint32_t i = 0; i < workload_tables_n_rates; i++) {
        const struct workload_rate_table *t = &workload_tables_rates[i];
        assert_ptr_equal(workload_tables_find_rate(t->name), t);
        assert_true(t->cv > 0 && t->rate_per_s > 0 && t->profile.step_s > 0);
        is_near(t->name, mean_of(&t->profile) * 1000, 1000, 0.005);
    }
    for (uint32_t i = 0; i < workload_tables_n_classes; i++) {
        const struct workload_client_class *c = &workload_tables_classes[i];
        assert_non_null(workload_tables_find(c->lengths));
        assert_true(c->cv > 0 && c->share > 0 && c->model_rate_per_s > 0);
        is_near(c->lengths, mean_of(&c->profile) * 1000, 1000, 0.005);
        shares += c->share;
    }
    is_near("shares of three models", shares * 1000, 3000, 0.001);
    assert_null(workload_tables_find_rate("nothing"));
}

/* E.g. code's prompts and outputs do not go together, summaries' do: the longer the shorter. */
static void lengths_go_together_as_in_the_trace(void **state)
{
    static const struct {
        const char *name;
        double low, high;
    } rows[] = { { "azure-code", -0.05, 0.06 }, { "arxiv", -0.52, -0.3 } };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct workload_traffic traffic = { .table = workload_tables_find(rows[i].name) };
        double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
        for (uint64_t k = 0; k < N; k++) {
            struct workload_pair pair = workload_draw_lengths(&traffic, SEED, 3, k);
            double a = pair.n_prompt, b = pair.n_output;
            x += a / N, y += b / N, xx += a * a / N, yy += b * b / N, xy += a * b / N;
        }
        double square = (xy - x * y) * (xy - x * y) / ((xx - x * x) * (yy - y * y));
        double r = xy < x * y ? -1 : 1;
        printf("%s: r^2 %.4f, sign %.0f\n", rows[i].name, square, r);
        assert_true(r * square > rows[i].low * (rows[i].low < -0.1 ? -rows[i].low : 1));
        assert_true(r * square < rows[i].high * (rows[i].high < 0 ? -rows[i].high : 1));
    }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        source_root = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_are_as_in_their_traces),
        cmocka_unit_test(tables_are_as_their_traces_say),
        cmocka_unit_test(rates_have_the_mean_one),
        cmocka_unit_test(lengths_go_together_as_in_the_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
