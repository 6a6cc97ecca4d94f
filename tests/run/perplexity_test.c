/* Packing changes no model: the perplexity of real models, in every type, has the same bits from
 * packed weights on the CPU backend and from unpacked ones on the reference.
 *
 * Compared with the type's values in plain float, activations of 8 bits change it by a few tenths
 * of a percent in texts this short. */
#include "passes.h"
#include "recode.h"
#include "test.h"

#include "base/file.h"
#include "base/mem.h"
#include "cpu/cpu.h"
#include "serve/model_card.h"
#include <math.h>

static const char story[] =
    "Once upon a time, there was a little girl named Lily. She loved to play in the park with her "
    "friends. One day, she saw a big red ball near a tree. \"Can I play with the ball?\" she asked "
    "her mom. Her mom smiled and said, \"Yes, but be careful.\" Lily ran to the ball and kicked it "
    "very high. The ball went up and up, and then it fell into the pond. Lily was sad. A friendly "
    "duck saw her and wanted to help. The duck pushed the ball back to the shore. Lily was very "
    "happy and said, \"Thank you, little duck!\" They became good friends and played together all "
    "day. When the sun went down, Lily went home and told her mom about the duck. Her mom gave her "
    "a hug, and Lily went to bed with a smile.";

struct text {
    const char *path;
    int32_t ids[600], n_ids, bos_id;
};

/* Returns bits a token. It closes backend. */
static double bits_of(const struct text *text, struct compute_device *backend, enum dtype kv_dtype)
{
    struct passes p;
    struct fault fault;
    assert_int_equal(passes_open(&p, text->path, backend, kv_dtype, 128, &fault), STATUS_OK);
    double bits = passes_bits(&p, text->ids, text->n_ids, 127, text->bos_id) / text->n_ids;
    passes_close(&p);
    return bits;
}

static void tokenize(struct text *text, struct view words, int32_t n_ids_max)
{
    struct model_card card;
    struct weights *weights;
    struct fault fault;
    assert_int_equal(weights_open(&weights, text->path, &fault), STATUS_OK);
    assert_int_equal(model_card_open(&card, "model", NULL, weights, &fault), STATUS_OK);
    int32_t *ids = mem_take(sizeof(int32_t) * (words.n + 2));
    text->n_ids =
        min_i32(tokenizer_encode(card.tokenizer, words, 0, ids, (int32_t)words.n + 2), n_ids_max);
    assert_true(text->n_ids > 40);
    memcpy(text->ids, ids, sizeof(int32_t) * (size_t)text->n_ids);
    text->bos_id = card.bos_id;
    mem_give(ids);
    model_card_close(&card);
    weights_close(weights);
}

static const struct device_spec device = { .kind = DEVICE_CPU, .n_cores = 2, .cores = { 0, 1 } };

static void check(const struct text *text, const enum dtype *types, size_t n_types)
{
    printf("%s, %d tokens: perplexity of packed weights, and by how much it differs from unpacked "
           "ones and from plain floats of the same values\n",
           text->path, text->n_ids);
    for (size_t i = 0; i < n_types; i++) {
        struct compute_device *cpu = cpu_open(&device, cpu_isa_best());
        struct compute_device *same = compute_reference_open(cpu->arithmetic);
        struct compute_device *plain = compute_reference_open(COMPUTE_ARITHMETIC_CPU);
        double packed = bits_of(text, recode_open(cpu, types[i], false), DTYPE_F16);
        double unpacked = bits_of(text, recode_open(same, types[i], false), DTYPE_F16);
        double floats = bits_of(text, recode_open(plain, types[i], true), DTYPE_F16);
        printf("  %-5s %9.4f %+.4f%% %+.4f%%\n", dtype_info(types[i])->name, exp2(packed),
               100 * (exp2(packed - unpacked) - 1), 100 * (exp2(packed - floats) - 1));
        assert_true(packed == unpacked); /* bit for bit */
        bool is_integer = dtype_info(types[i])->is_integer;
        assert_true(fabs(exp2(packed - floats) - 1) < (is_integer ? 0.01 : 0.001));
    }
}

static void perplexity_of_the_trained_checkpoint(void **state)
{
    static struct text text = { SOURCE_ROOT "/../shared/data/tiny-models/stories260Ktok512.gguf" };
    (void)state;
    if (!file_exists(text.path))
        TEST_SKIP("no ../shared beside the repository");
    tokenize(&text, view_of(story, sizeof(story) - 1), 400);
    static const enum dtype types[] = { DTYPE_F32,  DTYPE_F16,  DTYPE_BF16, DTYPE_Q8_0,
                                        DTYPE_Q4_0, DTYPE_Q4_1, DTYPE_Q5_0, DTYPE_Q5_1 };
    check(&text, types, COUNT_OF(types));
}

/* Takes the first n tokens of text that it was not trained on. */
static void take_heldout(struct text *text, int32_t n)
{
    char *words;
    size_t n_bytes;
    struct fault fault;
    assert_int_equal(
        file_read(SOURCE_ROOT "/models/tale.heldout.txt", 1 << 20, &words, &n_bytes, &fault),
        STATUS_OK);
    tokenize(text, view_of(words, n_bytes), n);
    mem_give(words);
}

static void perplexity_of_the_demo_model(void **state)
{
    static struct text text = { SOURCE_ROOT "/models/tale.gguf" };
    (void)state;
    take_heldout(&text, 64);
    static const enum dtype types[] = { DTYPE_Q8_0, DTYPE_Q4_K, DTYPE_Q5_K, DTYPE_Q6_K };
    check(&text, types, COUNT_OF(types));
}

/* Keys and values of 8 bits change less than weights of 8 bits do. */
static void a_cache_of_q8_0_costs_little(void **state)
{
    static struct text text = { SOURCE_ROOT "/models/tale.gguf" };
    (void)state;
    take_heldout(&text, 600);
    double halves = bits_of(&text, cpu_open(&device, cpu_isa_best()), DTYPE_F16);
    double bytes = bits_of(&text, cpu_open(&device, cpu_isa_best()), DTYPE_Q8_0);
    printf("%s, %d tokens: perplexity %.4f with a cache of F16, %+.4f%% with Q8_0\n", text.path,
           text.n_ids, exp2(halves), 100 * (exp2(bytes - halves) - 1));
    assert_true(bytes != halves);
    assert_true(fabs(exp2(bytes - halves) - 1) < 0.005);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(perplexity_of_the_trained_checkpoint),
        cmocka_unit_test(perplexity_of_the_demo_model),
        cmocka_unit_test(a_cache_of_q8_0_costs_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
