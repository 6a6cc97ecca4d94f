/* Programs: the form of repeats, the bytes that may begin a way, and the bound on size. */
#include "test.h"
#include "text/regex_code.h"

static enum status make(struct regex_program *program, const char *pattern, struct fault *fault)
{
    *program = (struct regex_program){ 0 };
    enum status status = regex_tree_parse(&program->tree, view_text(pattern), fault);
    return status == STATUS_OK ? regex_code_make(program, fault) : status;
}

static bool begins(const struct regex_program *program, unsigned char byte)
{
    return (program->firsts[0].bytes[byte / 64] >> byte % 64 & 1) != 0;
}

static void repeats_are_written_out(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        uint32_t n_ops;
    } cases[] = {
        { "abc", 4 },         { "a{2,5}", 2 },      { "a{7}+", 5 },   { "(?:ab){2}", 5 },
        { "(?:ab){1,3}", 9 }, { "(?:ab)*", 5 },     { "a|b|c", 8 },   { "(?=a)b", 5 },
        { "[a-z]++", 2 },     { "(?<=a|bc)d", 11 }, { "(?:){9}", 1 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct regex_program program;
        struct fault fault;
        assert_int_equal(make(&program, cases[i].pattern, &fault), STATUS_OK);
        if (program.n_ops != cases[i].n_ops)
            print_message("%s: %u\n", cases[i].pattern, program.n_ops);
        assert_int_equal(program.n_ops, cases[i].n_ops);
        regex_code_free(&program);
    }
}

static void first_bytes_are_known(void **state)
{
    (void)state;
    struct regex_program program;
    struct fault fault;
    assert_int_equal(make(&program, "x?(?:ab|\xC3\xA9)|[0-9\xE4\xB8\xAD]", &fault), STATUS_OK);
    for (unsigned byte = 0; byte < 256; byte++) {
        bool is_one = byte == 'x' || byte == 'a' || (byte >= '0' && byte <= '9') || byte == 0xC3 ||
                      byte == 0xE4;
        assert_int_equal(begins(&program, (unsigned char)byte), is_one);
    }
    assert_false(program.firsts[0].takes_nothing);
    regex_code_free(&program);
    assert_int_equal(make(&program, "a*|b", &fault), STATUS_OK);
    assert_true(program.firsts[0].takes_nothing);
    regex_code_free(&program);
}

static void size_is_bounded(void **state)
{
    (void)state;
    static const char *const large[] = { "(?:ab){5000}", "(?:(?:(?:ab){99}){99}){99}",
                                         "(?:(?:(?:){100000}){100000}){100000}" };
    for (size_t i = 0; i < COUNT_OF(large); i++) {
        struct regex_program program;
        struct fault fault = { "" };
        assert_int_equal(make(&program, large[i], &fault), STATUS_UNSUPPORTED);
        assert_non_null(strstr(fault.text, "too large"));
        regex_code_free(&program);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeats_are_written_out),
        cmocka_unit_test(first_bytes_are_known),
        cmocka_unit_test(size_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
