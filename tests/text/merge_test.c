/* The merge loop: ties go left, stale heap entries are skipped, memory is reused. */
#include "test.h"
#include "text/merge.h"

/* Adjacent letters join. The pair's lower letter is the rank; the result is 'z', which joins with
 * none. */
static void find(const void *of, const char *text, struct text_symbol *left,
                 const struct text_symbol *right)
{
    (void)of, (void)text;
    if (left->id + 1 != right->id)
        return;
    left->rank = (uint32_t)left->id;
    left->joined = 'z' + 100;
}

static void expect(struct text_merge *merge, const char *word, const char *lengths)
{
    char got[512] = "";
    size_t n = 0;
    merge->find = find;
    text_merge_begin(merge, strlen(word));
    for (size_t i = 0; word[i] != '\0'; i++)
        text_merge_add(merge, (uint32_t)i, 1, word[i]);
    text_merge_run(merge, word);
    for (int32_t i = 0; i >= 0 && merge->n > 0; i = merge->symbols[i].next)
        got[n++] = (char)('0' + merge->symbols[i].n);
    assert_string_equal(got, lengths);
}

static void merges_lowest_then_leftmost(void **state)
{
    (void)state;
    struct text_merge merge;
    text_merge_init(&merge);
    expect(&merge, "", "");
    expect(&merge, "x", "1");
    expect(&merge, "abc", "21"); /* ab before bc */
    expect(&merge, "bcab", "22");
    expect(&merge, "abababababababababababababababababababababababababababababab",
           "222222222222222222222222222222"); /* the heap */
    expect(&merge, "cdabcdabcdabcdabcdabcdabcdabcdabcdabcdabcdabcdabc",
           "2222222222222222222222221");
    text_merge_free(&merge);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(merges_lowest_then_leftmost) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
