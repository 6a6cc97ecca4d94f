/* config.json of encoders: types, positions behind the padding's, labels. */
#include "weights/refused.h"
#include "base/mem.h"
#include "weights/hf_spec.h"

#define SIZES                                                                                      \
    "\"num_hidden_layers\":2,\"hidden_size\":64,\"num_attention_heads\":4,"                        \
    "\"intermediate_size\":96,\"max_position_embeddings\":130,\"vocab_size\":512"

static enum status spec_of(const char *text, struct model_spec *spec, struct fault *fault)
{
    struct weights_json json;
    const struct weights_architecture *architecture;
    assert_int_equal(
        weights_json_parse(&json, mem_copy_text(text), strlen(text), "config.json", fault),
        STATUS_OK);
    enum status status = weights_hf_spec(json.nodes, spec, &architecture, fault);
    weights_json_close(&json);
    return status;
}

static void reads_encoders(void **state)
{
    (void)state;
    struct model_spec spec;
    struct fault fault;
    assert_int_equal(spec_of("{\"model_type\":\"bert\"," SIZES "}", &spec, &fault), STATUS_OK);
    assert_true(spec.is_encoder && spec.norms_sums && spec.has_embedding_norm);
    assert_int_equal(spec.n_types, 2);
    assert_int_equal(spec.n_positions_max, 130);
    assert_int_equal(spec.n_labels, 0);
    assert_int_equal(
        spec_of("{\"model_type\":\"xlm-roberta\",\"type_vocab_size\":1," SIZES "}", &spec, &fault),
        STATUS_OK);
    assert_int_equal(spec.n_positions_max, 128);
    assert_int_equal(spec.position_offset, 2);
    assert_int_equal(spec_of("{\"model_type\":\"bert\",\"id2label\":{\"0\":\"a\"},"
                             "\"architectures\":[\"BertForSequenceClassification\"]," SIZES "}",
                             &spec, &fault),
                     STATUS_OK);
    assert_int_equal(spec.n_labels, 1);
    assert_int_equal(model_spec_vector(&spec), 1);
    assert_int_equal(spec_of("{\"model_type\":\"llama\"," SIZES "}", &spec, &fault), STATUS_OK);
    assert_false(spec.is_encoder);
}

static void refuses_by_key(void **state)
{
    (void)state;
    static const struct {
        const char *more;
        enum status status;
        const char *words;
    } rows[] = {
        { "\"type_vocab_size\":0", STATUS_BAD_INPUT, "type_vocab_size" },
        { "\"type_vocab_size\":17", STATUS_BAD_INPUT, "type_vocab_size" },
        { "\"position_embedding_type\":\"relative_key\"", STATUS_UNSUPPORTED, "relative_key" },
        { "\"is_decoder\":true", STATUS_UNSUPPORTED, "is_decoder" },
        { "\"architectures\":[\"BertForSequenceClassification\"]", STATUS_UNSUPPORTED, "2 labels" },
        { "\"hidden_act\":\"tanh\"", STATUS_UNSUPPORTED, "hidden_act" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[1024];
        struct model_spec spec;
        struct fault fault = { "" };
        snprintf(text, sizeof(text), "{\"model_type\":\"bert\",%s," SIZES "}", rows[i].more);
        assert_refused(spec_of(text, &spec, &fault), rows[i].status, &fault, rows[i].words);
    }
    struct model_spec spec;
    struct fault fault = { "" };
    assert_refused(
        spec_of("{\"model_type\":\"roberta\",\"pad_token_id\":200," SIZES "}", &spec, &fault),
        STATUS_BAD_INPUT, &fault, "context length is -71");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_encoders),
        cmocka_unit_test(refuses_by_key),
    };
    return cmocka_run_group_tests_name("weights/hf_encoder", tests, NULL, NULL);
}
