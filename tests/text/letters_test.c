/* Sets by property: they have the code points of Oniguruma 6.9.10's sets. */
#include "test.h"
#include "base/mem.h"
#include "text/letters.h"

enum { SCALARS = LETTERS_CODES - 0x800 };

static size_t count(const struct letters *set, uint64_t *sum)
{
    size_t n = 0;
    *sum = 0;
    for (uint32_t c = 0; c < LETTERS_CODES; c++) {
        if (!letters_has(set, c) || (c >= 0xD800 && c < 0xE000))
            continue;
        n++;
        *sum += c;
    }
    return n;
}

/* The number of scalar values of each property and their sum, from tokenizers' Split over all of
 * them. */
static const struct {
    const char *name;
    size_t n;
    uint64_t sum;
} known[] = {
    /* clang-format off */
    { "Lu", 1858, 86924357 }, { "Ll", 2258, 104713123 }, { "Lt", 31, 220514 },
    { "Lm", 404, 19538368 }, { "Lo", 136477, 15029532896 }, { "Mn", 2020, 296911989 },
    { "Mc", 468, 19663575 }, { "Me", 13, 195909 }, { "Nd", 760, 39891450 }, { "Nl", 236, 13199783 },
    { "No", 915, 57560662 }, { "Pc", 10, 415682 }, { "Pd", 27, 635487 }, { "Ps", 79, 1830591 },
    { "Pe", 77, 1814706 }, { "Pi", 12, 112041 }, { "Pf", 10, 95624 }, { "Po", 640, 23930884 },
    { "Sm", 950, 11722907 }, { "Sc", 63, 1352243 }, { "Sk", 125, 3403074 },
    { "So", 7376, 603692227 }, { "Zs", 17, 124933 }, { "Zl", 1, 8232 }, { "Zp", 1, 8233 },
    { "Cc", 65, 5215 }, { "Cf", 170, 92312063 }, { "Co", 137468, 137822040966 },
    { "Cn", 819533, 466275017146 }, { "L", 141028, 15240929258 }, { "M", 2501, 316771473 },
    { "N", 1911, 110651895 }, { "P", 855, 28835015 }, { "S", 8514, 620170451 }, { "Z", 19, 141398 },
    { "C", 957236, 604189375390 }, { "LC", 4147, 191857994 }, { "Any", 1112064, 620506874880 },
    { "ASCII", 128, 8128 }, { "Upper", 1978, 97237165 }, { "Lower", 2569, 117919901 },
    { "Punct", 855, 28835015 }, { "Digit", 760, 39891450 }, { "Space", 25, 141586 },
    { "Cntrl", 65, 5215 }, { "Graph", 292447, 154231711121 }, { "Print", 292464, 154231836054 },
    { "XDigit", 22, 1527 }, { "Blank", 18, 124942 }, { "Han", 99030, 12573883150 },
    { "Hiragana", 381, 33455756 }, { "Katakana", 321, 9165001 }, { "Hangul", 11739, 566124223 },
    { "Latin", 1487, 27421744 }, { "Greek", 518, 15787342 }, { "Cyrillic", 508, 12793574 },
    { "Arabic", 1373, 71326622 }, { "Hebrew", 134, 3087732 }, { "Thai", 86, 312105 },
    { "Devanagari", 164, 2397130 },
    /* clang-format on */
};

static void properties_have_their_members(void **state)
{
    (void)state;
    struct letters *set = mem_take(sizeof(*set));
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        uint64_t sum;
        memset(set, 0, sizeof(*set));
        assert_true(letters_add_property(set, view_text(known[i].name)));
        assert_int_equal(count(set, &sum), known[i].n);
        assert_true(sum == known[i].sum);
    }
    mem_give(set);
}

static void words_and_brackets(void **state)
{
    (void)state;
    uint64_t sum;
    struct letters *set = mem_take(sizeof(*set));
    letters_add_word(set, false);
    assert_int_equal(count(set, &sum), 144671);
    memset(set, 0, sizeof(*set));
    letters_add_word(set, true);
    assert_int_equal(count(set, &sum), 144665);
    memset(set, 0, sizeof(*set));
    assert_true(letters_add_bracket(set, view_text("punct")));
    assert_int_equal(count(set, &sum), 9369);
    assert_false(letters_add_bracket(set, view_text("alpha")));
    assert_false(letters_add_property(set, view_text("Emoji")));
    assert_false(
        letters_add_property(set, view_text("a name that is far longer than any of them")));
    mem_give(set);
}

static void names_are_read_loosely(void **state)
{
    (void)state;
    struct letters *set = mem_take(sizeof(*set));
    static const char *const names[] = { "lu", "LU", " l u ", "Uppercase_Letter",
                                         "uppercase-letter" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        memset(set, 0, sizeof(*set));
        assert_true(letters_add_property(set, view_text(names[i])));
        assert_true(letters_has(set, 'A') && !letters_has(set, 'a'));
    }
    mem_give(set);
}

static void sets_are_joined_and_kept(void **state)
{
    (void)state;
    uint64_t sum;
    struct letters *a = mem_take(sizeof(*a)), *b = mem_take(sizeof(*b));
    letters_add(a, 3, 200);
    letters_add(b, 100, 0x10FFFF);
    letters_keep(a, b);
    assert_int_equal(count(a, &sum), 101);
    letters_invert(a);
    letters_join(a, b);
    assert_int_equal(count(a, &sum), SCALARS);
    mem_give(a);
    mem_give(b);
}

static void cases_are_known(void **state)
{
    (void)state;
    static const uint32_t with[] = { 'a',   'Z',   0xDF,   0xE9,   0x130,  0x149,  0x2BC,  0x301,
                                     0x345, 0x1C5, 0x1E9E, 0x212A, 0x2160, 0xFB01, 0x10D50 };
    static const uint32_t without[] = { '1', ' ', '\'', 0x2019, 0xA0, 0x4E2D, 0x3042, 0x1F600 };
    for (size_t i = 0; i < COUNT_OF(with); i++)
        assert_true(letters_has_case(with[i]));
    for (size_t i = 0; i < COUNT_OF(without); i++)
        assert_false(letters_has_case(without[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(properties_have_their_members),
        cmocka_unit_test(words_and_brackets),
        cmocka_unit_test(names_are_read_loosely),
        cmocka_unit_test(sets_are_joined_and_kept),
        cmocka_unit_test(cases_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
