/* Fuzzes the GGUF reader and all steps after it: spec, tensors by role, card.
 *
 * An accepted file must be valid: each tensor is inside the bytes, and each token is where the card
 * has it. An input that begins with 'S' is a split set: the length of part 1 in two bytes, part 1,
 * part 2. */
#include "scratch.h"
#include "base/mem.h"
#include "weights/bind.h"
#include "weights/gguf.h"
#include "weights/gguf_card.h"
#include "weights/gguf_spec.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static volatile unsigned sink; /* keeps reads alive */

static void check_tensor(const struct tensor *tensor, const uint8_t *bytes, size_t n)
{
    if (tensor->data == NULL)
        return;
    const uint8_t *at = tensor->data;
    int64_t n_stored = tensor->is_transposed ? tensor->n_columns : tensor->n_rows;
    CHECK(at >= bytes && tensor->row_bytes > 0);
    CHECK(tensor->row_bytes * n_stored <= (int64_t)(n - (size_t)(at - bytes)));
    sink += at[0] + at[tensor->row_bytes * n_stored - 1];
}

static void check_card(const struct weights_card *card)
{
    for (int32_t id = 0; id < card->n_tokens; id++) {
        CHECK(card->tokens[id][card->token_bytes[id]] == '\0');
        CHECK(card->types[id] >= 1 && card->types[id] <= 6);
    }
    for (int32_t i = 0; i < card->n_merges; i++)
        CHECK(strchr(card->merges[i], ' ') != NULL);
    for (int32_t i = 0; i < card->n_eog; i++)
        CHECK(card->eog_ids[i] >= 0 && card->eog_ids[i] < card->n_tokens);
}

static void check_model(struct weights_gguf *gguf, const uint8_t *bytes, size_t n,
                        struct fault *fault)
{
    struct model_spec spec;
    struct model_weights model;
    struct weights_card card;
    const struct weights_architecture *architecture;
    int32_t n_vocabulary = 0;
    for (int32_t i = 0; i < gguf->catalog.n; i++) {
        struct tensor tensor = weights_catalog_tensor(&gguf->catalog.at[i]);
        check_tensor(&tensor, bytes, n);
    }
    if (weights_gguf_spec(gguf, &spec, &architecture, fault) == STATUS_OK) {
        n_vocabulary = spec.n_vocabulary;
        if (weights_bind(architecture, false, &spec, &gguf->catalog, &model, fault) == STATUS_OK)
            for (int32_t i = 0; i < spec.n_layers; i++) {
                check_tensor(&model.layers[i].q, bytes, n);
                check_tensor(&model.layers[i].v, bytes, n);
                check_tensor(&model.layers[i].up, bytes, n);
            }
    }
    if (weights_gguf_card(gguf, n_vocabulary, &card, fault) == STATUS_OK)
        check_card(&card);
}

static void read_split(const uint8_t *bytes, size_t n)
{
    static const char *const names[] = { "m-00001-of-00002.gguf", "m-00002-of-00002.gguf", NULL };
    struct weights_gguf gguf;
    struct fault fault = { 0 };
    size_t n_first;
    const uint8_t *first = scratch_cut(&bytes, &n, &n_first);
    scratch_begin(names);
    scratch_write(names[0], first, n_first);
    scratch_write(names[1], bytes, n);
    if (weights_gguf_open(&gguf, scratch_path(names[n % 2]), &fault) == STATUS_OK) {
        for (int32_t i = 0; i < gguf.catalog.n; i++)
            if (gguf.catalog.at[i].n_bytes > 0)
                sink += gguf.catalog.at[i].data[gguf.catalog.at[i].n_bytes - 1];
        weights_gguf_close(&gguf);
    } else {
        CHECK(fault.text[0] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n > 0 && bytes[0] == 'S') {
        read_split(bytes + 1, n - 1);
        return 0;
    }
    struct weights_gguf gguf;
    struct fault fault = { 0 };
    uint8_t *copy = mem_take(n); /* aligned, as a mapping is */
    memcpy(copy, bytes, n);
    if (weights_gguf_read(&gguf, copy, n, &fault) == STATUS_OK) {
        check_model(&gguf, copy, n, &fault);
        weights_gguf_close(&gguf);
    } else {
        CHECK(fault.text[0] != '\0');
    }
    mem_give(copy);
    return 0;
}
