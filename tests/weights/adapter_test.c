/* Adapters are found by the names of their model's matrices, and refused where they do not fit. */
#include "weights/refused.h"
#include "weights/adapter.h"

static const char *root;

static const char *data(const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/tests/golden/data/%s", root, name);
    return path;
}

static struct weights *open_model(const char *name)
{
    struct weights *weights;
    struct fault fault;
    if (weights_open(&weights, data(name), &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    return weights;
}

static struct weights_adapter *open_adapter(const char *name, const struct weights *model)
{
    struct weights_adapter *adapter;
    struct fault fault;
    if (weights_adapter_open(&adapter, data(name), model, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    return adapter;
}

/* Checks the shapes of all pairs. Returns how many there are. */
static int check_pairs(const struct weights_adapter *adapter, const struct weights *model)
{
    int n = 0;
    for (int32_t layer = 0; layer < weights_spec(model)->n_layers; layer++)
        for (int k = 0; k < WEIGHTS_ADAPTED_N; k++) {
            const struct weights_adapter_pair *pair =
                weights_adapter_at(adapter, layer, (enum weights_adapted)k);
            const struct tensor *target =
                weights_adapter_target(weights_model(model), layer, (enum weights_adapted)k);
            if (pair->down.data == NULL)
                continue;
            assert_int_equal(pair->down.n_columns, target->n_columns);
            assert_int_equal(pair->up.n_rows, target->n_rows);
            assert_int_equal(pair->up.n_columns, pair->down.n_rows);
            assert_true(pair->down.n_rows <= weights_adapter_rank(adapter) && pair->scale != 0);
            n++;
        }
    return n;
}

static void finds_pairs(void **state)
{
    static const struct {
        const char *model, *adapter;
        int32_t rank;
        int n_pairs;
    } rows[] = {
        { "llama", "adapters/llama", 4, 14 },
        { "llama", "adapters/llama_second", 8, 4 },
        { "llama", "adapters/llama_patterns", 17, 6 },
        { "phi3", "adapters/phi3", 4, 14 },
        { "gpt2", "adapters/gpt2", 4, 12 },
        { "gpt_neox", "adapters/gpt_neox", 2, 12 },
        { "falcon", "adapters/falcon", 2, 12 },
        { "qwen2_moe", "adapters/qwen2_moe", 4, 10 },
        { "granite", "adapters/granite", 4, 14 },
        { "gguf/granite.gguf", "adapters/granite.gguf", 4, 14 },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct weights *model = open_model(rows[i].model);
        struct weights_adapter *adapter = open_adapter(rows[i].adapter, model);
        assert_int_equal(weights_adapter_rank(adapter), rows[i].rank);
        assert_int_equal(check_pairs(adapter, model), rows[i].n_pairs);
        assert_true(weights_adapter_is_whole(adapter));
        weights_adapter_close(adapter);
        weights_close(model);
    }
}

static void hashes_differ(void **state)
{
    static const char *const names[] = { "adapters/llama", "adapters/llama_second",
                                         "adapters/llama_patterns" };
    struct weights *model = open_model("llama");
    uint64_t hashes[COUNT_OF(names)];
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct weights_adapter *adapter = open_adapter(names[i], model);
        hashes[i] = weights_adapter_hash(adapter);
        weights_adapter_close(adapter);
        adapter = open_adapter(names[i], model);
        assert_true(hashes[i] == weights_adapter_hash(adapter) && hashes[i] != 0);
        weights_adapter_close(adapter);
    }
    assert_true(hashes[0] != hashes[1] && hashes[1] != hashes[2] && hashes[0] != hashes[2]);
    weights_close(model);
}

static void refuses_others(void **state)
{
    static const struct {
        const char *model, *adapter;
        enum status status;
        const char *words;
    } rows[] = {
        { "llama", "adapters/none", STATUS_NOT_FOUND, "no adapter" },
        { "llama", "adapters/granite.gguf", STATUS_UNSUPPORTED, "adapter_config.json" },
        { "gguf/granite.gguf", "adapters/granite", STATUS_UNSUPPORTED, "GGUF" },
        { "gguf/f32.gguf", "adapters/granite.gguf", STATUS_UNSUPPORTED, "general.architecture" },
        { "gguf/f32.gguf", "gguf/f32.gguf", STATUS_UNSUPPORTED, "general.type" },
        { "llama", "adapters/phi3", STATUS_UNSUPPORTED, "gate_up_proj" },
        { "llama", "adapters/granite", STATUS_BAD_INPUT, "another model" },
        { "mixtral", "adapters/llama", STATUS_BAD_INPUT, "another model" },
        { "encoders/bert_cls", "adapters/llama", STATUS_UNSUPPORTED, "encoders" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct weights *model = open_model(rows[i].model);
        struct weights_adapter *adapter;
        struct fault fault = { 0 };
        enum status status = weights_adapter_open(&adapter, data(rows[i].adapter), model, &fault);
        if (status != rows[i].status)
            print_error("%s for %s: %s\n", rows[i].adapter, rows[i].model, fault.text);
        assert_refused(status, rows[i].status, &fault, rows[i].words);
        weights_close(model);
    }
}

int main(int n, char **words)
{
    assert_int_equal(n, 2);
    root = words[1];
    const struct CMUnitTest tests[] = { cmocka_unit_test(finds_pairs),
                                        cmocka_unit_test(hashes_differ),
                                        cmocka_unit_test(refuses_others) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
