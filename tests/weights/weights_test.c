/* The interface: golden models of every architecture and type, the files of ../shared, and bad
 * paths. */
#include "weights/refused.h"
#include "weights/build.h"
#include "base/file.h"
#include "base/time.h"
#include "weights/gguf.h"
#include "weights/gguf_card.h"
#include "weights/weights.h"

static const char *source_root = ".";

static const char *golden(const char *name)
{
    static char path[2][1024];
    static int turn;
    turn = 1 - turn;
    snprintf(path[turn], sizeof(path[turn]), "%s/tests/golden/data/%s", source_root, name);
    return path[turn];
}

static struct weights *open_good(const char *path)
{
    struct weights *weights = NULL;
    struct fault fault = { 0 };
    enum status status = weights_open(&weights, path, &fault);
    if (status != STATUS_OK)
        print_error("%s: %s\n", status_name(status), fault.text);
    assert_int_equal(status, STATUS_OK);
    return weights;
}

/* Every tensor that a forward pass of this spec reads is there. */
static void assert_whole(const struct weights *weights)
{
    const struct model_spec *spec = weights_spec(weights);
    const struct model_weights *model = weights_model(weights);
    struct fault fault;
    assert_int_equal(model_spec_check(spec, &fault), STATUS_OK);
    assert_non_null(model->token_embedding.data);
    assert_non_null(model->output.data);
    assert_int_equal(model->output.n_rows, spec->n_vocabulary);
    assert_non_null(model->output_norm.data);
    assert_true((model->position_embedding.data != NULL) == (spec->position == POSITION_LEARNED));
    for (int i = 0; i < spec->n_layers; i++) {
        const struct layer_weights *layer = &model->layers[i];
        const struct tensor *needed[] = {
            &layer->attention_norm, &layer->q,  &layer->k,   &layer->v, &layer->o,
            &layer->ffn_norm,       &layer->up, &layer->down
        };
        for (size_t t = 0; t < COUNT_OF(needed); t++)
            assert_non_null(needed[t]->data);
        assert_int_equal(layer->q.n_rows, spec->n_heads * spec->head_dim);
        assert_int_equal(layer->v.n_rows, spec->n_kv_heads * spec->head_dim);
        assert_int_equal(layer->up.n_rows, spec->ffn_width);
        assert_int_equal(layer->up.n_columns, spec->width);
        assert_int_equal(layer->down.n_columns, spec->ffn_width);
        assert_true((layer->gate.data != NULL) == spec->is_gated);
        assert_true((layer->q_norm.data != NULL) == spec->has_qk_norm);
    }
}

static void opens_golden_directories(void **state)
{
    (void)state;
    static const struct {
        const char *name, *architecture;
        int n_kv_heads, head_dim, window;
        enum position_kind position;
        int n_rope_dims;
        enum rope_scaling_kind scaling;
        bool is_tied, has_q_bias, is_transposed;
    } rows[] = {
        { "llama", "llama", 4, 16, 0, POSITION_ROPE_HALVES, 16, ROPE_SCALING_NONE },
        { "llama3", "llama", 2, 16, 0, POSITION_ROPE_HALVES, 16, ROPE_SCALING_LLAMA3 },
        { "llama3_bf16", "llama", 2, 16, 0, POSITION_ROPE_HALVES, 16, ROPE_SCALING_LLAMA3 },
        { "llama3_f16", "llama", 2, 16, 0, POSITION_ROPE_HALVES, 16, ROPE_SCALING_LLAMA3 },
        { "llama3_sharded", "llama", 2, 16, 0, POSITION_ROPE_HALVES, 16, ROPE_SCALING_LLAMA3 },
        { "llama_linear", "llama", 1, 16, 0, POSITION_ROPE_HALVES, 16, ROPE_SCALING_LINEAR },
        { "mistral", "mistral", 2, 16, 16, POSITION_ROPE_HALVES, 16, ROPE_SCALING_NONE },
        { "qwen2", "qwen2", 2, 16, 0, POSITION_ROPE_HALVES, 16, ROPE_SCALING_NONE, true, true },
        { "qwen3", "qwen3", 2, 32, 0, POSITION_ROPE_HALVES, 32, ROPE_SCALING_NONE },
        { "opt", "opt", 4, 16, 0, POSITION_LEARNED, 0, ROPE_SCALING_NONE, true, true },
        { "gpt2", "gpt2", 4, 16, 0, POSITION_LEARNED, 0, ROPE_SCALING_NONE, true, true, true },
        { "chatglm2", "chatglm", 2, 16, 0, POSITION_ROPE_PAIRS, 8, ROPE_SCALING_NONE, false, true },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct weights *weights = open_good(golden(rows[i].name));
        const struct model_spec *spec = weights_spec(weights);
        const struct layer_weights *layer = &weights_model(weights)->layers[1];
        assert_string_equal(weights_format(weights), "safetensors");
        assert_whole(weights);
        assert_string_equal(spec->architecture, rows[i].architecture);
        assert_int_equal(spec->n_layers, 2);
        assert_int_equal(spec->n_kv_heads, rows[i].n_kv_heads);
        assert_int_equal(spec->head_dim, rows[i].head_dim);
        assert_int_equal(spec->window, rows[i].window);
        assert_int_equal(spec->position, rows[i].position);
        assert_int_equal(spec->n_rope_dims, rows[i].n_rope_dims);
        assert_int_equal(spec->rope_scaling.kind, rows[i].scaling);
        assert_int_equal(spec->is_tied, rows[i].is_tied);
        assert_int_equal(layer->q_bias.data != NULL, rows[i].has_q_bias);
        assert_int_equal(layer->q.is_transposed, rows[i].is_transposed);
        assert_int_equal(weights_card(weights)->n_tokens, 256);
        assert_string_equal(weights_card(weights)->name, rows[i].name);
        weights_close(weights);
    }
}

static void opens_golden_types(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < DTYPE_F8_E4M3; dtype++) { /* those of GGUF */
        char name[64];
        snprintf(name, sizeof(name), "gguf/%s.gguf", dtype_info((enum dtype)dtype)->name);
        for (char *c = name; *c != '\0'; c++)
            *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
        struct weights *weights = open_good(golden(name));
        assert_string_equal(weights_format(weights), "GGUF v3");
        assert_whole(weights);
        assert_int_equal(weights_model(weights)->layers[0].q.dtype, dtype);
        assert_int_equal(weights_spec(weights)->position, POSITION_ROPE_PAIRS);
        weights_close(weights);
    }
}

static void opens_golden_architectures(void **state)
{
    (void)state;
    static const struct {
        const char *name, *architecture;
        enum position_kind position;
        int n_kv_heads, n_rope_dims;
        bool is_tied, has_factors, has_q_bias;
    } rows[] = {
        { "llama3", "llama", POSITION_ROPE_PAIRS, 2, 16, false, true, false },
        { "qwen2", "qwen2", POSITION_ROPE_HALVES, 2, 16, true, false, true },
        { "qwen3", "qwen3", POSITION_ROPE_HALVES, 2, 32, false, false, false },
        { "gpt2", "gpt2", POSITION_LEARNED, 4, 0, true, false, true },
        { "chatglm", "chatglm", POSITION_ROPE_PAIRS, 2, 8, false, false, true },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char name[64];
        snprintf(name, sizeof(name), "gguf/%s.gguf", rows[i].name);
        struct weights *weights = open_good(golden(name));
        const struct model_spec *spec = weights_spec(weights);
        const struct model_weights *model = weights_model(weights);
        assert_whole(weights);
        assert_string_equal(spec->architecture, rows[i].architecture);
        assert_int_equal(spec->position, rows[i].position);
        assert_int_equal(spec->n_kv_heads, rows[i].n_kv_heads);
        assert_int_equal(spec->n_rope_dims, rows[i].n_rope_dims);
        assert_int_equal(spec->is_tied, rows[i].is_tied);
        assert_int_equal(model->rope_factors.data != NULL, rows[i].has_factors);
        assert_int_equal(model->layers[0].q_bias.data != NULL, rows[i].has_q_bias);
        weights_close(weights);
    }
}

static uint64_t hash_of(const char *name)
{
    struct weights *weights = open_good(golden(name));
    assert_whole(weights);
    uint64_t hash = weights_hash(weights);
    weights_close(weights);
    return hash;
}

/* Split or whole, version 2 or 3, sharded or not: the same model has the same hash. */
static void hash_names_the_model(void **state)
{
    (void)state;
    uint64_t q8_0 = hash_of("gguf/q8_0.gguf");
    assert_true(hash_of("gguf/v2.gguf") == q8_0);
    assert_true(hash_of("gguf/split-00001-of-00002.gguf") == q8_0);
    assert_true(hash_of("gguf/split-00002-of-00002.gguf") == q8_0);
    assert_true(hash_of("gguf/q4_0.gguf") != q8_0);
    assert_true(hash_of("llama3_f16") == hash_of("llama3_sharded"));
    assert_true(hash_of("llama3") != hash_of("llama3_f16"));
}

/* Matrices with zero points are computed in another type than those without, although the files of
 * both may have the same tensors. */
static void the_scheme_is_a_part_of_the_hash(void **state)
{
    (void)state;
    static const char *const files[] = { "model.safetensors", "tokenizer.json", "config.json" };
    char directory[] = "/tmp/weights_test.XXXXXX", root[1024], path[2048], target[2048];
    assert_non_null(realpath(golden("quantized_gptq"), root));
    assert_non_null(mkdtemp(directory));
    for (size_t i = 0; i < 2; i++) {
        snprintf(target, sizeof(target), "%s/%s", root, files[i]);
        snprintf(path, sizeof(path), "%s/%s", directory, files[i]);
        assert_int_equal(symlink(target, path), 0);
    }
    snprintf(path, sizeof(path), "%s/config.json", root);
    char text[4096], *sym;
    FILE *from = fopen(path, "r");
    assert_non_null(from);
    size_t n = fread(text, 1, sizeof(text) - 1, from);
    fclose(from);
    text[n] = '\0';
    sym = strstr(text, "\"sym\": true");
    assert_non_null(sym);
    memcpy(sym, "\"sym\":false", strlen("\"sym\":false"));
    snprintf(path, sizeof(path), "%s/config.json", directory);
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    assert_int_equal(fwrite(text, 1, n, to), n);
    fclose(to);
    struct weights *with = open_good(directory), *without = open_good(golden("quantized_gptq"));
    assert_int_equal(weights_model(with)->layers[0].q.dtype, DTYPE_Q5_0);
    assert_int_equal(weights_model(without)->layers[0].q.dtype, DTYPE_Q4_0);
    assert_true(weights_hash(with) != weights_hash(without));
    weights_close(with);
    weights_close(without);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        snprintf(path, sizeof(path), "%s/%s", directory, files[i]);
        unlink(path);
    }
    rmdir(directory);
}

static void what_is_dropped_comes_back(void **state)
{
    (void)state;
    struct weights *weights = open_good(golden("gguf/f32.gguf"));
    const struct model_weights *model = weights_model(weights);
    uint64_t hash = weights_hash(weights);
    weights_drop(weights, &model->token_embedding);
    weights_drop(weights, &model->output_norm);
    for (int i = 0; i < weights_spec(weights)->n_layers; i++) {
        const struct layer_weights *layer = &model->layers[i];
        weights_drop(weights, &layer->q);
        weights_drop(weights, &layer->k);
        weights_drop(weights, &layer->up);
        weights_drop(weights, &layer->ffn_norm);
    }
    assert_true(weights_hash(weights) == hash); /* dropped pages come back */
    weights_close(weights);
    weights = open_good(golden("gpt2"));
    weights_drop(weights, &weights_model(weights)->layers[0].k); /* columns: nothing to drop */
    weights_drop(weights, &weights_model(weights)->layers[0].down);
    weights_drop(weights, &weights_model(weights)->layers[0].gate);
    weights_close(weights);
    weights_close(NULL);
}

/* MXFP4's bytes have two parameters each, and its scales are none. Its experts' pages, which gates
 * and ups share, come back too. */
static void mxfp4_counts_and_drops(void **state)
{
    (void)state;
    struct weights *floats = open_good(golden("gpt_oss")),
                   *weights = open_good(golden("gpt_oss_mxfp4"));
    assert_int_equal(weights_spec(weights)->n_parameters, weights_spec(floats)->n_parameters);
    struct weights *const both[] = { floats, weights };
    for (size_t i = 0; i < COUNT_OF(both); i++) {
        uint64_t hash = weights_hash(both[i]);
        const struct model_weights *model = weights_model(both[i]);
        for (int layer = 0; layer < weights_spec(both[i])->n_layers; layer++)
            for (int e = 0; e < weights_spec(both[i])->experts.n_experts; e++) {
                const struct expert_weights *expert = &model->layers[layer].experts[e];
                weights_drop(both[i], &expert->gate);
                weights_drop(both[i], &expert->up);
                weights_drop(both[i], &expert->down);
            }
        assert_true(weights_hash(both[i]) == hash);
        weights_close(both[i]);
    }
}

/* A layer that predicts further tokens is not computed, and has no part in the count. */
static void ignored_layers_do_not_count(void **state)
{
    (void)state;
    static const char *const names[] = { "glm4_moe", "gguf/glm4_moe.gguf" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct weights *weights = open_good(golden(names[i]));
        assert_int_equal(weights_spec(weights)->n_parameters, 222258);
        weights_close(weights);
    }
}

static void refuses_paths(void **state)
{
    (void)state;
    struct weights *weights = (struct weights *)source_root;
    struct fault fault = { 0 };
    char path[1024];
    assert_refused(weights_open(&weights, "/nonexistent/m.gguf", &fault), STATUS_NOT_FOUND, &fault,
                   "/nonexistent/m.gguf");
    assert_null(weights);
    snprintf(path, sizeof(path), "%s/meson.build", source_root);
    assert_refused(weights_open(&weights, path, &fault), STATUS_BAD_INPUT, &fault,
                   "gguf: meson.build: not a GGUF file");
    assert_refused(weights_open(&weights, golden("tokenizers"), &fault), STATUS_NOT_FOUND, &fault,
                   "config.json");
    snprintf(path, sizeof(path), "%s", golden("tokenizers/gpt2/tokenizer.json"));
    assert_refused(weights_open(&weights, path, &fault), STATUS_BAD_INPUT, &fault,
                   "tokenizer.json");
}

/* The card of a file that may have no tensors. */
static void open_card(const char *path, struct weights_gguf *gguf, struct weights_card *card)
{
    struct fault fault = { 0 };
    assert_int_equal(weights_gguf_open(gguf, path, &fault), STATUS_OK);
    assert_int_equal(weights_gguf_card(gguf, 0, card, &fault), STATUS_OK);
}

/* A vocabulary of 150,000 tokens and as many merges must not delay a start. */
static void opens_large_vocabularies(void **state)
{
    (void)state;
    enum { N = 150000 };
    char path[] = "/tmp/weights_test.XXXXXX";
    struct weights_gguf gguf;
    struct weights_card card;
    const char **texts = mem_take(2 * N * sizeof(*texts));
    char *bytes = mem_take(2 * N * 16);
    struct build b;
    size_t n;
    for (int i = 0; i < N; i++) {
        texts[i] = bytes + 16 * i;
        snprintf(bytes + 16 * i, 16, "token%d", i);
        texts[N + i] = bytes + 16 * (N + i);
        snprintf(bytes + 16 * (N + i), 16, "tok en%d", i);
    }
    build_init(&b);
    build_text(&b, "tokenizer.ggml.model", "gpt2");
    build_text(&b, "tokenizer.ggml.pre", "gpt-2");
    build_texts(&b, "tokenizer.ggml.tokens", texts, N);
    build_texts(&b, "tokenizer.ggml.merges", texts + N, N);
    unsigned char *file = build_end(&b, &n);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(file_write(path, file, n, NULL), STATUS_OK);
    int64_t start_ns = time_now_ns(), took_ns = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        start_ns = time_now_ns();
        open_card(path, &gguf, &card);
        took_ns = min_i64(took_ns, time_now_ns() - start_ns);
        assert_int_equal(card.n_tokens, N);
        weights_gguf_close(&gguf);
    }
    printf("%d tokens open in %.1f ms\n", N, (double)took_ns * 1e-6);
    assert_true(took_ns < 500 * (int64_t)1000000); /* 10 ms alone; sanitizers and neighbours */
    unlink(path);
    mem_give(file);
    mem_give(texts);
    mem_give(bytes);
    build_free(&b);
}

static void opens_a_trained_model(void **state)
{
    (void)state;
    char path[1024];
    snprintf(path, sizeof(path), "%s/../shared/data/tiny-models/stories260Ktok512.gguf",
             source_root);
    if (!file_exists(path))
        TEST_SKIP("no ../shared beside the repository");
    struct weights *weights = open_good(path);
    const struct model_spec *spec = weights_spec(weights);
    assert_whole(weights);
    assert_int_equal(spec->n_layers, 5);
    assert_int_equal(spec->n_kv_heads, 4);
    assert_int_equal(spec->n_vocabulary, 512);
    assert_int_equal(weights_card(weights)->tokenizer, WEIGHTS_TOKENIZER_SPM);
    assert_int_equal(weights_card(weights)->n_tokens, 512);
    weights_close(weights);
}

static void opens_known_vocabularies(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum weights_tokenizer_kind kind;
        int n_tokens, n_merges, eos_id;
        const char *pre;
    } rows[] = {
        { "ggml-vocab-llama-spm", WEIGHTS_TOKENIZER_SPM, 32000, 0, 2, "" },
        { "ggml-vocab-phi-3", WEIGHTS_TOKENIZER_SPM, 32064, 0, 32000, "" },
        { "ggml-vocab-gpt-2", WEIGHTS_TOKENIZER_BPE, 50257, 50000, 50256, "gpt-2" },
        { "ggml-vocab-deepseek-llm", WEIGHTS_TOKENIZER_BPE, 102400, 99757, 100001, "deepseek-llm" },
    };
    char path[1200], command[2600], out[] = "/tmp/weights_test.XXXXXX";
    snprintf(path, sizeof(path), "%s/../shared/data/tokenizers", source_root);
    if (!file_is_directory(path))
        TEST_SKIP("no ../shared beside the repository");
    int fd = mkstemp(out);
    assert_true(fd >= 0);
    close(fd);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct weights_gguf gguf;
        struct weights_card card;
        struct weights *weights;
        struct fault fault = { 0 };
        snprintf(command, sizeof(command), "xz -dc '%s/%s.gguf.xz' > %s", path, rows[i].name, out);
        assert_int_equal(system(command), 0);
        open_card(out, &gguf, &card);
        assert_int_equal(card.tokenizer, rows[i].kind);
        assert_int_equal(card.n_tokens, rows[i].n_tokens);
        assert_int_equal(card.n_merges, rows[i].n_merges);
        assert_int_equal(card.eos_id, rows[i].eos_id);
        assert_string_equal(card.pre, rows[i].pre);
        weights_gguf_close(&gguf);
        assert_true(weights_open(&weights, out, &fault) != STATUS_OK); /* no tensors, or phi3 */
        assert_true(fault.text[0] != '\0' && weights == NULL);
    }
    unlink(out);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_golden_directories),
        cmocka_unit_test(opens_golden_types),
        cmocka_unit_test(opens_golden_architectures),
        cmocka_unit_test(hash_names_the_model),
        cmocka_unit_test(the_scheme_is_a_part_of_the_hash),
        cmocka_unit_test(what_is_dropped_comes_back),
        cmocka_unit_test(mxfp4_counts_and_drops),
        cmocka_unit_test(ignored_layers_do_not_count),
        cmocka_unit_test(refuses_paths),
        cmocka_unit_test(opens_large_vocabularies),
        cmocka_unit_test(opens_a_trained_model),
        cmocka_unit_test(opens_known_vocabularies),
    };
    if (argc > 1)
        source_root = argv[1];
    return cmocka_run_group_tests_name("weights/weights", tests, NULL, NULL);
}
