/* Shares of the KV pools and R, by hand: two services, three requests. */
#include "../test.h"
#include "report/kv.h"

static struct scenario_case c;

static void by_hand(void **state)
{
    /* The first has 4 units of 64 bytes for a block of 16 tokens: 16 bytes a token; the second 2
     * units for the same number: 8. Held: 16 * (10 + 5) * 2 s + 16 * (20 + 10) * 1 s = 960; 8 * (30
     * + 15) * 4 s = 1,440. Due: 16 * (20 + 40) = 960; 8 * 60 = 480. The last one got no token. */
    struct record records[] = {
        { .n_prompt = 10, .n_output = 10, .first_ns = 1000000000, .end_ns = 3000000000 },
        { .n_prompt = 20, .n_output = 20, .first_ns = 2000000000, .end_ns = 3000000000 },
        { .n_prompt = 30,
          .n_output = 30,
          .first_ns = 1000000000,
          .end_ns = 5000000000,
          .service = 1 },
        { .end_ns = 5000000000, .service = 1 },
    };
    char names[2][LIMIT_NAME_BYTES] = { "a", "b" };
    struct report_kv kv;
    struct str text;
    struct doc doc;
    (void)state;
    c.set = (struct record_set){ .at = records, .n = COUNT_OF(records), .n_services = 2 };
    c.set.names = names;
    c.kv = KV_HEADS;
    c.unit_bytes = 64;
    c.layouts[0] = (struct kv_layout){ 16, 16, 1, 256, 4 };
    c.layouts[1] = (struct kv_layout){ 8, 16, 1, 128, 2 };
    c.report.end_ns = 10000000000;
    report_kv_of(&c, &kv);
    assert_true(kv.services[0].share == 0.4 && kv.services[1].share == 0.6);
    assert_true(kv.services[0].r > 0.6 - 1e-9 && kv.services[0].r < 0.6 + 1e-9);
    assert_true(kv.services[1].r > 1.8 - 1e-9 && kv.services[1].r < 1.8 + 1e-9);
    /* Blocks 15/16 + 1/2 and 30/16 + 1/2, of 4 units; 45/16 + 1/2, of 2. */
    double entries = (1.4375 * 2 + 2.375 * 1) * 4 + 3.3125 * 4 * 2;
    assert_true(kv.table_bytes > 0.4 * entries - 1e-9 && kv.table_bytes < 0.4 * entries + 1e-9);
    str_init(&text);
    doc_init(&doc, &text, NULL);
    report_kv_print(&c, &doc);
    doc_free(&doc);
    assert_string_equal(text.at,
                        "KV: head-wise pools of 64-byte units; block tables of 19 bytes in the "
                        "mean\npart of it (R): a 40.0% (0.60), b 60.0% (1.80)\n");
    str_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(by_hand) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
