/* Character maps: a small one by hand, and maps that are malformed in every way. */
#include "test.h"
#include "base/mem.h"
#include "text/charsmap.h"
#include <string.h>

enum { N_UNITS = 512, OFFSET = 256 };

/* A trie of "a" and "ab" with the texts "X" and "" (a removal). The children of a unit at i are at
 * i ^ offset ^ byte. */
struct blob {
    uint32_t units[N_UNITS];
    char bytes[4 + 4 * N_UNITS + 4];
    size_t n;
};

static uint32_t inner(uint32_t label, uint32_t offset, bool has_leaf)
{
    return label | (uint32_t)has_leaf << 8 | offset << 10;
}

static void seal(struct blob *blob)
{
    uint32_t n = 4 * N_UNITS;
    for (size_t i = 0; i < 4; i++)
        blob->bytes[i] = (char)(n >> 8 * i);
    for (size_t i = 0; i < n; i++)
        blob->bytes[4 + i] = (char)(blob->units[i / 4] >> 8 * (i % 4));
    memcpy(blob->bytes + 4 + n, "X\0\0", 3);
    blob->n = 4 + n + 3;
}

static void fill(struct blob *blob)
{
    uint32_t a = OFFSET ^ (uint32_t)'a';
    for (size_t i = 0; i < N_UNITS; i++) /* unused units: a value that exists */
        blob->units[i] = 1u << 31;
    blob->units[0] = inner(0, OFFSET, false);
    blob->units[a] = inner('a', a ^ 0x180, true); /* children at 0x180 ^ byte */
    blob->units[0x180] = 1u << 31 | 0;
    blob->units[0x180 ^ 'b'] = inner('b', 0x180 ^ 'b' ^ 0x1C0, true);
    blob->units[0x1C0] = 1u << 31 | 2;
    seal(blob);
}

static enum status open_blob(struct charsmap *map, const struct blob *blob, struct fault *fault)
{
    return charsmap_open(map, view_of(blob->bytes, blob->n), fault);
}

static void finds_the_longest_and_the_shortest(void **state)
{
    (void)state;
    struct blob blob;
    struct charsmap map;
    struct fault fault = { "" };
    struct view out;
    fill(&blob);
    assert_int_equal(open_blob(&map, &blob, &fault), STATUS_OK);
    assert_int_equal(charsmap_longest(&map, view_text("abc"), &out), 2);
    assert_int_equal(out.n, 0);
    assert_int_equal(charsmap_shortest(&map, view_text("abc"), &out), 1);
    assert_true(view_equal_text(out, "X"));
    assert_int_equal(charsmap_longest(&map, view_text("ac"), &out), 1);
    assert_int_equal(charsmap_longest(&map, view_text("b"), &out), 0);
    assert_int_equal(charsmap_longest(&map, view_of("", 0), &out), 0);
    assert_int_equal(charsmap_longest(&map, view_of("\0a", 2), &out), 0);
    charsmap_close(&map);
    assert_int_equal(charsmap_open(&map, view_of("", 0), &fault), STATUS_OK);
    assert_int_equal(charsmap_longest(&map, view_text("a"), &out), 0);
    charsmap_close(&map);
}

static void malformed_maps_are_refused(void **state)
{
    (void)state;
    struct blob blob;
    struct charsmap map;
    struct fault fault;
    static const struct {
        size_t unit;
        uint32_t value;
        const char *said;
    } cases[] = {
        { 0, 0, "outside" },                 /* no children */
        { 0, 1u << 31, "outside" },          /* a value as the root */
        { 0x180, 1u << 31 | 77, "outside" }, /* beyond the texts */
        { OFFSET ^ 'a', 'a' | 1u << 8 | 0x3FFFFFu << 10, "outside" },
        { 0x180 ^ 'b', 'b' | (0x180u ^ 'b' ^ 0x180u) << 10, "256 bytes" }, /* circular */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        fill(&blob);
        blob.units[cases[i].unit] = cases[i].value;
        seal(&blob);
        enum status status = open_blob(&map, &blob, &fault);
        if (status != STATUS_BAD_INPUT || strstr(fault.text, cases[i].said) == NULL)
            fail_msg("%zu: %s", i, status != STATUS_OK ? fault.text : "opened");
    }
    fill(&blob);
    for (size_t n = 1; n < blob.n; n += n < 16 ? 1 : 97)
        assert_int_equal(charsmap_open(&map, view_of(blob.bytes, n), &fault), STATUS_BAD_INPUT);
    blob.bytes[blob.n - 1] = 'x'; /* the last text has no end */
    assert_int_equal(open_blob(&map, &blob, &fault), STATUS_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_longest_and_the_shortest),
        cmocka_unit_test(malformed_maps_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
