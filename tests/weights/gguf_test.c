/* GGUF: whole files are read, and each fault of a file is refused by name. */
#include "weights/refused.h"
#include "weights/build.h"
#include "base/file.h"
#include "weights/gguf_card.h"
#include "weights/gguf_meta.h"
#include "weights/gguf_spec.h"
#include "weights/bind.h"

static void build_tiny(struct build *b)
{
    build_init(b);
    build_llama_values(b);
    build_spm(b);
    build_llama_tensors(b);
}

static enum status read_built(struct build *b, struct weights_gguf *gguf, unsigned char **bytes,
                              struct fault *fault)
{
    size_t n;
    *bytes = build_end(b, &n);
    enum status status = weights_gguf_read(gguf, *bytes, n, fault);
    build_free(b);
    return status;
}

static void reads_whole_files(void **state)
{
    (void)state;
    for (uint32_t version = 2; version <= 3; version++) {
        struct build b;
        struct weights_gguf gguf;
        struct fault fault = { 0 };
        unsigned char *bytes;
        build_tiny(&b);
        b.version = version;
        assert_int_equal(read_built(&b, &gguf, &bytes, &fault), STATUS_OK);
        assert_int_equal(gguf.version, version);
        assert_int_equal(gguf.catalog.n, 12);
        const struct weights_entry *entry =
            weights_catalog_find(&gguf.catalog, "blk.0.attn_k.weight");
        assert_non_null(entry);
        assert_int_equal(entry->dims[0], 16);
        assert_int_equal(entry->dims[1], 8);
        assert_int_equal(entry->n_bytes, 4 * 16 * 8);
        float x;
        memcpy(&x, entry->data + 4 * 5, sizeof(x));
        assert_true(x == 5.0f);
        weights_gguf_close(&gguf);
        mem_give(bytes);
    }
}

static void honours_alignment(void **state)
{
    (void)state;
    struct build b;
    struct weights_gguf gguf;
    struct fault fault = { 0 };
    unsigned char *bytes;
    build_init(&b);
    b.alignment = 64;
    build_llama_values(&b);
    build_llama_tensors(&b);
    assert_int_equal(read_built(&b, &gguf, &bytes, &fault), STATUS_OK);
    for (int i = 0; i < gguf.catalog.n; i++)
        assert_int_equal((size_t)(gguf.catalog.at[i].data - bytes) % 64, 0);
    weights_gguf_close(&gguf);
    mem_give(bytes);
}

/* Runs all steps that follow from a file. Every refusal has its reason. */
static void read_all(const unsigned char *bytes, size_t n)
{
    struct weights_gguf gguf;
    struct model_spec spec;
    struct model_weights model;
    struct weights_card card;
    const struct weights_architecture *architecture;
    struct fault fault = { 0 };
    enum status status = weights_gguf_read(&gguf, bytes, n, &fault);
    if (status != STATUS_OK) {
        assert_true(fault.text[0] != '\0');
        return;
    }
    status = weights_gguf_spec(&gguf, &spec, &architecture, &fault);
    if (status == STATUS_OK)
        status = weights_bind(architecture, false, &spec, &gguf.catalog, &model, &fault);
    assert_true(status == STATUS_OK || fault.text[0] != '\0');
    fault.text[0] = '\0';
    status = weights_gguf_card(&gguf, 0, &card, &fault);
    assert_true(status == STATUS_OK || fault.text[0] != '\0');
    weights_gguf_close(&gguf);
}

static void survives_every_cut(void **state)
{
    (void)state;
    struct build b;
    size_t n;
    build_tiny(&b);
    unsigned char *bytes = build_end(&b, &n);
    for (size_t cut = 0; cut < n; cut++) {
        struct weights_gguf gguf;
        struct fault fault = { 0 };
        unsigned char *copy = mem_take(cut); /* exact, so that a sanitizer sees the end */
        memcpy(copy, bytes, cut);
        assert_true(weights_gguf_read(&gguf, copy, cut, &fault) != STATUS_OK);
        assert_true(fault.text[0] != '\0');
        mem_give(copy);
    }
    mem_give(bytes);
    build_free(&b);
}

static void survives_every_flip(void **state)
{
    (void)state;
    static const unsigned char masks[] = { 0x01, 0x80, 0xFF };
    struct build b;
    size_t n;
    build_tiny(&b);
    unsigned char *bytes = build_end(&b, &n);
    size_t n_head = 24 + b.values.n + b.tensors.n;
    for (size_t i = 0; i < n_head; i++)
        for (size_t m = 0; m < sizeof(masks); m++) {
            bytes[i] ^= masks[m];
            read_all(bytes, n);
            bytes[i] ^= masks[m];
        }
    mem_give(bytes);
    build_free(&b);
}

static void spoil_version(struct build *b)
{
    b->version = 1;
}
static void spoil_order(struct build *b)
{
    b->version = 3u << 24;
}
static void spoil_n_values(struct build *b)
{
    b->n_values = UINT64_MAX;
}
static void spoil_n_tensors(struct build *b)
{
    b->n_tensors = (uint64_t)1 << 40;
}
static void spoil_key_twice(struct build *b)
{
    build_u32(b, "llama.block_count", 2);
}
static void spoil_key(struct build *b)
{
    build_u32(b, "a\nb", 2);
}
static void spoil_type(struct build *b)
{
    build_key(b, "odd", 13);
}
static void spoil_nested(struct build *b)
{
    build_array(b, "nested", GGUF_ARRAY, 1);
    build_put(&b->values, 0, 8);
}
static void spoil_array(struct build *b)
{
    build_array(b, "long", GGUF_U64, (uint64_t)1 << 61);
}
static void spoil_text(struct build *b)
{
    build_key(b, "text", GGUF_TEXT);
    build_put(&b->values, UINT64_MAX - 3, 8);
}
static void spoil_texts(struct build *b)
{
    build_array(b, "texts", GGUF_TEXT, 1);
    build_put(&b->values, UINT64_MAX, 8);
}
static void spoil_dims(struct build *b)
{
    uint64_t dims[5] = { 1, 1, 1, 1, 1 };
    build_row(b, "five", 0, 5, dims, 0);
}
static void spoil_zero(struct build *b)
{
    uint64_t dims[2] = { 4, 0 };
    build_row(b, "zero", 0, 2, dims, 0);
}
static void spoil_product(struct build *b)
{
    uint64_t dims[3] = { (uint64_t)1 << 40, (uint64_t)1 << 40, 2 };
    build_row(b, "huge", 0, 3, dims, 0);
}
static void spoil_negative(struct build *b)
{
    uint64_t dims[1] = { UINT64_MAX };
    build_row(b, "negative", 0, 1, dims, 0);
}
static void spoil_block(struct build *b)
{
    uint64_t dims[2] = { 48, 1 };
    build_row(b, "q8", 8, 2, dims, 0);
}
static void spoil_offset(struct build *b)
{
    uint64_t dims[1] = { 4 };
    build_row(b, "crooked", 0, 1, dims, 4);
}
static void spoil_outside(struct build *b)
{
    uint64_t dims[1] = { 4 };
    build_row(b, "far", 0, 1, dims, (uint64_t)1 << 40);
}
static void spoil_wrap(struct build *b)
{
    uint64_t dims[1] = { 64 };
    build_row(b, "wrapped", 0, 1, dims, UINT64_MAX - 31);
}
static void spoil_size(struct build *b)
{
    uint64_t dims[2] = { 4096, 4096 };
    build_row(b, "large", 0, 2, dims, 0);
}
static void spoil_twice(struct build *b)
{
    build_tensor(b, "output_norm.weight", BUILD_WIDTH, 0);
}
static void spoil_name(struct build *b)
{
    build_tensor(b, "a b", 4, 0);
}
static void spoil_long_name(struct build *b)
{
    char name[200];
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    build_tensor(b, name, 4, 0);
}

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        void (*spoil)(struct build *);
        enum status status;
        const char *words;
    } rows[] = {
        { spoil_version, STATUS_UNSUPPORTED, "version 1" },
        { spoil_order, STATUS_UNSUPPORTED, "big-endian" },
        { spoil_n_values, STATUS_BAD_INPUT, "claims 18446744073709551615 values" },
        { spoil_n_tensors, STATUS_BAD_INPUT, "1099511627776 tensors" },
        { spoil_key_twice, STATUS_BAD_INPUT, "llama.block_count appears twice" },
        { spoil_key, STATUS_BAD_INPUT, "key isn't plain text" },
        { spoil_type, STATUS_BAD_INPUT, "odd has type 13" },
        { spoil_nested, STATUS_BAD_INPUT, "elements of nested are an array" },
        { spoil_array, STATUS_BAD_INPUT, "long claims 2305843009213693952 elements" },
        { spoil_text, STATUS_BAD_INPUT, "text runs past" },
        { spoil_texts, STATUS_BAD_INPUT, "a text in texts runs past" },
        { spoil_dims, STATUS_BAD_INPUT, "5 dimensions" },
        { spoil_zero, STATUS_BAD_INPUT, "tensor zero has dimension 1 of size 0" },
        { spoil_product, STATUS_BAD_INPUT, "tensor huge has dimension" },
        { spoil_negative, STATUS_BAD_INPUT, "tensor negative has dimension" },
        { spoil_block, STATUS_BAD_INPUT, "tensor q8 has rows of 48" },
        { spoil_offset, STATUS_BAD_INPUT, "tensor crooked lies at offset 4" },
        { spoil_outside, STATUS_BAD_INPUT, "tensor far of 16 bytes" },
        { spoil_wrap, STATUS_BAD_INPUT, "tensor wrapped of 256 bytes" },
        { spoil_size, STATUS_BAD_INPUT, "tensor large of 67108864 bytes" },
        { spoil_twice, STATUS_BAD_INPUT, "output_norm.weight appears twice" },
        { spoil_name, STATUS_BAD_INPUT, "the name of tensor 12" },
        { spoil_long_name, STATUS_BAD_INPUT, "the name of tensor 12" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct build b;
        struct weights_gguf gguf;
        struct fault fault = { 0 };
        unsigned char *bytes;
        build_tiny(&b);
        rows[i].spoil(&b);
        assert_refused(read_built(&b, &gguf, &bytes, &fault), rows[i].status, &fault,
                       rows[i].words);
        mem_give(bytes);
    }
}

static void refuses_alignments(void **state)
{
    (void)state;
    static const uint32_t alignments[] = { 0, 1, 4, 24, 1u << 31 };
    for (size_t i = 0; i < COUNT_OF(alignments); i++) {
        struct build b;
        struct weights_gguf gguf;
        struct fault fault = { 0 };
        unsigned char *bytes;
        build_init(&b);
        build_u32(&b, "general.alignment", alignments[i]);
        build_tensor(&b, "a", 4, 0);
        assert_refused(read_built(&b, &gguf, &bytes, &fault), STATUS_BAD_INPUT, &fault,
                       "general.alignment");
        mem_give(bytes);
    }
}

static void write_part(const char *directory, const char *name, int number, int count, int total)
{
    struct build b;
    char path[512], tensor[16];
    size_t n;
    build_init(&b);
    build_u32(&b, "split.no", (uint32_t)number);
    build_u32(&b, "split.count", (uint32_t)count);
    build_u32(&b, "split.tensors.count", (uint32_t)total);
    if (number == 0)
        build_text(&b, "general.architecture", "llama");
    snprintf(tensor, sizeof(tensor), "t%d", number);
    build_tensor(&b, tensor, 8, 0);
    unsigned char *bytes = build_end(&b, &n);
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    assert_int_equal(file_write(path, bytes, n, NULL), STATUS_OK);
    mem_give(bytes);
    build_free(&b);
}

static void opens_split_sets(void **state)
{
    (void)state;
    char directory[] = "/tmp/gguf_test.XXXXXX", path[512], first[512], second[512];
    struct weights_gguf gguf;
    struct fault fault = { 0 };
    assert_non_null(mkdtemp(directory));
    snprintf(first, sizeof(first), "%s/m-00001-of-00002.gguf", directory);
    snprintf(second, sizeof(second), "%s/m-00002-of-00002.gguf", directory);
    write_part(directory, "m-00001-of-00002.gguf", 0, 2, 2);
    assert_refused(weights_gguf_open(&gguf, first, &fault), STATUS_NOT_FOUND, &fault,
                   "00002-of-00002");
    write_part(directory, "m-00002-of-00002.gguf", 1, 2, 2);
    for (int part = 0; part < 2; part++) {
        assert_int_equal(weights_gguf_open(&gguf, part == 0 ? first : second, &fault), STATUS_OK);
        assert_int_equal(gguf.catalog.n, 2);
        assert_string_equal(gguf.catalog.at[1].name, "t1");
        assert_non_null(weights_gguf_meta_find(&gguf, "general.architecture"));
        weights_gguf_close(&gguf);
    }
    write_part(directory, "m-00002-of-00002.gguf", 0, 2, 2);
    assert_refused(weights_gguf_open(&gguf, first, &fault), STATUS_BAD_INPUT, &fault, "split.no");
    write_part(directory, "m-00002-of-00002.gguf", 1, 3, 2);
    assert_refused(weights_gguf_open(&gguf, first, &fault), STATUS_BAD_INPUT, &fault,
                   "split.count");
    write_part(directory, "m-00001-of-00002.gguf", 0, 2, 7);
    write_part(directory, "m-00002-of-00002.gguf", 1, 2, 7);
    assert_refused(weights_gguf_open(&gguf, first, &fault), STATUS_BAD_INPUT, &fault,
                   "split.tensors.count is 7");
    snprintf(path, sizeof(path), "%s/m-00001-of-99999.gguf", directory);
    assert_refused(weights_gguf_open(&gguf, path, &fault), STATUS_TOO_LARGE, &fault, "99999");
    unlink(first);
    unlink(second);
    snprintf(path, sizeof(path), "%s/lone.gguf", directory);
    write_part(directory, "lone.gguf", 0, 2, 2);
    assert_refused(weights_gguf_open(&gguf, path, &fault), STATUS_BAD_INPUT, &fault,
                   "split.count 2");
    unlink(path);
    rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_whole_files),  cmocka_unit_test(honours_alignment),
        cmocka_unit_test(survives_every_cut), cmocka_unit_test(survives_every_flip),
        cmocka_unit_test(refuses_by_name),    cmocka_unit_test(refuses_alignments),
        cmocka_unit_test(opens_split_sets),
    };
    return cmocka_run_group_tests_name("weights/gguf", tests, NULL, NULL);
}
