/* Bytes as printable letters, and byte tokens by name. */
#include "test.h"
#include "text/bytes.h"

static void every_byte_has_a_letter(void **state)
{
    (void)state;
    bool seen[TEXT_LETTERS_MAX] = { false };
    int n_seen = 0;
    for (uint32_t c = 0; c < 0x400; c++)
        n_seen += text_bytes_byte(c) >= 0;
    assert_int_equal(n_seen, 256);
    for (int b = 0; b < 256; b++) {
        uint32_t letter = text_bytes_letter((unsigned char)b);
        assert_true(letter < TEXT_LETTERS_MAX && !seen[letter]);
        seen[letter] = true;
        assert_int_equal(text_bytes_byte(letter), b);
    }
}

static void texts_are_spelled_and_read_back(void **state)
{
    (void)state;
    struct str letters, bytes;
    str_init(&letters);
    str_init(&bytes);
    char all[600];
    for (size_t i = 0; i < sizeof(all); i++)
        all[i] = (char)i;
    text_bytes_spell(view_text(" \n"), &letters);
    assert_string_equal(letters.at, "\xC4\xA0\xC4\x8A"); /* U+0120 U+010A */
    str_clear(&letters);
    text_bytes_spell(view_of(all, sizeof(all)), &letters);
    assert_true(text_bytes_read(view_of(letters.at, letters.n), &bytes));
    assert_true(view_equal(view_of(bytes.at, bytes.n), view_of(all, sizeof(all))));
    assert_false(text_bytes_read(view_text("a\xE4\xB8\xAD"), &bytes)); /* none is appended */
    assert_int_equal(bytes.n, sizeof(all));
    str_free(&letters);
    str_free(&bytes);
}

static void byte_tokens_have_a_form(void **state)
{
    (void)state;
    assert_int_equal(text_bytes_named(view_text("<0x0A>")), 10);
    assert_int_equal(text_bytes_named(view_text("<0xfF>")), 255);
    static const char *const others[] = { "<0x0>", "<0xGG>", "<0x0A", "0x0A", "<0x0A> ", "" };
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_int_equal(text_bytes_named(view_text(others[i])), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_has_a_letter),
        cmocka_unit_test(texts_are_spelled_and_read_back),
        cmocka_unit_test(byte_tokens_have_a_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
