/* Fuzzes config.json: an accepted one passes model_spec_check, and has the required number of
 * frequency factors. */
#include "base/mem.h"
#include "weights/hf_keys.h"
#include "weights/hf_rope.h"
#include "weights/hf_spec.h"
#include "weights/names.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(const struct weights_json *json, const struct model_spec *spec)
{
    struct fault fault = { 0 };
    struct tensor factors = { 0 };
    struct pile pile;
    pile_init(&pile);
    CHECK(model_spec_check(spec, &fault) == STATUS_OK &&
          model_spec_kv_bytes_per_token(spec, DTYPE_F16) > 0);
    bool is_long = spec->rope_scaling.kind == ROPE_SCALING_LONG;
    if (weights_hf_rope_factors(json->nodes, spec, &pile, &factors, &fault) != STATUS_OK)
        CHECK(is_long && fault.text[0] != '\0');
    else
        CHECK((factors.data != NULL) == is_long &&
              (!is_long || factors.n_columns == spec->n_rope_dims / 2));
    pile_free(&pile);
}

static void list_unknown(const struct weights_json *json, const char *family)
{
    struct weights_unknown unknown = { 0 };
    struct pile pile;
    pile_init(&pile);
    weights_hf_keys_unknown(json->nodes, family, &pile, &unknown);
    CHECK(unknown.n <= unknown.n_found && (uint32_t)unknown.n_found <= json->nodes[0].n);
    for (int32_t i = 0; i < unknown.n; i++)
        CHECK(strlen(unknown.names[i]) <= 80);
    pile_free(&pile);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct weights_json json;
    struct model_spec spec;
    const struct weights_architecture *architecture;
    struct fault fault = { 0 };
    char *text = mem_take(n + 1);
    memcpy(text, bytes, n);
    if (weights_json_parse(&json, text, n, "config.json", &fault) == STATUS_OK) {
        if (weights_hf_spec(json.nodes, &spec, &architecture, &fault) == STATUS_OK) {
            check(&json, &spec);
            list_unknown(&json, architecture->hf_name);
        } else {
            CHECK(fault.text[0] != '\0');
        }
        weights_json_close(&json);
    }
    return 0;
}
