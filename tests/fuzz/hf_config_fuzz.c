/* Fuzzes config.json: whatever is accepted passes model_spec_check. */
#include "base/mem.h"
#include "weights/hf_spec.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct weights_json json;
    struct model_spec spec;
    const struct weights_architecture *architecture;
    struct fault fault = { 0 };
    char *text = mem_take(n + 1);
    memcpy(text, bytes, n);
    if (weights_json_parse(&json, text, n, "config.json", &fault) == STATUS_OK) {
        if (weights_hf_spec(json.nodes, &spec, &architecture, &fault) == STATUS_OK)
            CHECK(model_spec_check(&spec, &fault) == STATUS_OK &&
                  model_spec_kv_bytes_per_token(&spec, DTYPE_F16) > 0);
        else
            CHECK(fault.text[0] != '\0');
        weights_json_close(&json);
    }
    return 0;
}
