/* Fuzzes LoRA adapters of a golden model: each accepted pair has the shapes of its matrix and lies
 * inside the bytes.
 *
 * An input is adapter_config.json with its length in two bytes before it, then
 * adapter_model.safetensors. One that begins with 'G' is a GGUF adapter. */
#include "scratch.h"
#include "weights/adapter.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static volatile unsigned sink; /* keeps reads alive */

static struct weights *open_model(const char *name)
{
    struct weights *model;
    char path[512];
    snprintf(path, sizeof(path), SOURCE_ROOT "/tests/golden/data/%s", name);
    CHECK(weights_open(&model, path, NULL) == STATUS_OK);
    return model;
}

/* Reads every byte of a matrix, which lies row behind row. */
static void read_all(const struct tensor *tensor)
{
    for (int32_t row = 0; row < tensor->n_rows; row++) {
        const unsigned char *at = (const unsigned char *)tensor->data + row * tensor->row_bytes;
        for (int64_t i = 0; i < dtype_row_bytes(tensor->dtype, tensor->n_columns); i++)
            sink += at[i];
    }
}

static void check(const struct weights_adapter *adapter, const struct weights *model)
{
    int32_t n = weights_adapter_rank(adapter), n_pairs = 0;
    CHECK(n >= 1 && n <= LIMIT_ADAPTER_RANK);
    for (int32_t layer = 0; layer < weights_spec(model)->n_layers; layer++)
        for (int k = 0; k < WEIGHTS_ADAPTED_N; k++) {
            const struct weights_adapter_pair *pair =
                weights_adapter_at(adapter, layer, (enum weights_adapted)k);
            const struct tensor *target =
                weights_adapter_target(weights_model(model), layer, (enum weights_adapted)k);
            if (pair->down.data == NULL)
                continue;
            CHECK(pair->down.n_rows >= 1 && pair->down.n_rows <= n &&
                  pair->down.n_columns == target->n_columns);
            CHECK(pair->up.n_rows == target->n_rows && pair->up.n_columns == pair->down.n_rows);
            CHECK(pair->scale >= -1e6f && pair->scale <= 1e6f);
            read_all(&pair->down);
            read_all(&pair->up);
            n_pairs++;
        }
    CHECK(n_pairs > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const char *const names[] = { "adapter_config.json", "adapter_model.safetensors",
                                         "adapter.gguf", NULL };
    static struct weights *models[2];
    struct weights_adapter *adapter;
    struct fault fault = { 0 };
    bool is_gguf = n > 0 && bytes[0] == 'G';
    struct weights **model = &models[is_gguf];
    size_t n_config;
    if (*model == NULL)
        *model = open_model(is_gguf ? "gguf/granite.gguf" : "llama");
    scratch_begin(names);
    if (is_gguf) {
        scratch_write(names[2], bytes, n);
    } else {
        const uint8_t *config = scratch_cut(&bytes, &n, &n_config);
        scratch_write(names[0], config, n_config);
        scratch_write(names[1], bytes, n);
    }
    const char *path = scratch_path(is_gguf ? names[2] : NULL);
    if (weights_adapter_open(&adapter, path, *model, &fault) == STATUS_OK) {
        check(adapter, *model);
        weights_adapter_close(adapter);
    } else {
        CHECK(fault.text[0] != '\0');
    }
    return 0;
}
