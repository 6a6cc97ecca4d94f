/* The demo models on text that they never saw: bits per byte as models/held_out.json states
 * them. */
#include "passes.h"
#include "test.h"

#include "base/file.h"
#include "base/mem.h"
#include "cpu/cpu.h"
#include "serve/model_card.h"
#include <jansson.h>
#include <math.h>

static void check(const char *name, int32_t n_window)
{
    static const struct device_spec device = { .kind = DEVICE_CPU,
                                               .n_cores = 2,
                                               .cores = { 0, 1 } };
    char path[512], *text;
    size_t n_bytes;
    struct fault fault;
    struct passes p;
    struct model_card card;
    json_t *all = json_load_file(SOURCE_ROOT "/models/held_out.json", 0, NULL);
    assert_non_null(all);
    double stated = 0.0;
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *row = json_array_get(all, i);
        if (strcmp(json_string_value(json_object_get(row, "model")), name) == 0)
            stated = json_number_value(json_object_get(row, "bits_per_byte"));
    }
    assert_true(stated > 0.5);
    snprintf(path, sizeof path, "%s/models/%s.heldout.txt", SOURCE_ROOT, name);
    assert_int_equal(file_read(path, 1 << 20, &text, &n_bytes, &fault), STATUS_OK);
    snprintf(path, sizeof path, "%s/models/%s.gguf", SOURCE_ROOT, name);
    assert_int_equal(
        passes_open(&p, path, cpu_open(&device, cpu_isa_best()), DTYPE_F16, n_window, &fault),
        STATUS_OK);
    assert_int_equal(model_card_open(&card, name, NULL, p.model.weights, &fault), STATUS_OK);
    int32_t *ids = mem_take(sizeof(int32_t) * (n_bytes + 2));
    int32_t n_ids =
        tokenizer_encode(card.tokenizer, view_of(text, n_bytes), 0, ids, (int32_t)n_bytes + 2);
    assert_true(n_ids > 100);
    double bits_per_byte = passes_bits(&p, ids, n_ids, n_window, card.bos_id) / (double)n_bytes;
    printf("%s: %.4f bits per byte over %zu held-out bytes (%d tokens); stated %.4f\n", name,
           bits_per_byte, n_bytes, n_ids, stated);
    assert_true(fabs(bits_per_byte / stated - 1.0) < 0.02);
    mem_give(ids);
    mem_give(text);
    json_decref(all);
    model_card_close(&card);
    passes_close(&p);
}

static void test_tale(void **state)
{
    (void)state;
    check("tale", 511);
}

static void test_cee(void **state)
{
    (void)state;
    check("cee", 511);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_tale), cmocka_unit_test(test_cee) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
