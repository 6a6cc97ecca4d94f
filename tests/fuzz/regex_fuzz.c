/* Fuzzes regular expressions of model files: the pattern, a zero byte, then the text. A pattern is
 * refused with a sentence; or its matches are in order within the text, at starts of letters, and
 * take no more than the text's steps. */
#include "text/regex.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void walk_through(const struct regex *regex, struct view text)
{
    struct regex_work work;
    struct regex_walk walk;
    size_t bounds[2], last = 0;
    regex_work_init(&work);
    int64_t n_steps = work.n_steps_left = 200000; /* so that many inputs are tried */
    regex_walk_begin(&walk, regex, &work, text);
    while (regex_walk_next(&walk, bounds)) {
        CHECK(bounds[0] >= last && bounds[1] >= bounds[0] && bounds[1] <= text.n);
        CHECK(bounds[0] == text.n || ((unsigned char)text.at[bounds[0]] & 0xC0) != 0x80);
        CHECK(bounds[1] == text.n || ((unsigned char)text.at[bounds[1]] & 0xC0) != 0x80);
        last = bounds[1];
    }
    CHECK(work.is_spent == (work.n_steps_left < 0));
    CHECK(work.n_steps_left > -(int64_t)text.n - 200000 && work.n_steps_left <= n_steps);
    regex_work_free(&work);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *at = (const char *)data;
    const char *zero = n > 0 ? memchr(at, '\0', n) : NULL;
    size_t n_pattern = zero != NULL ? (size_t)(zero - at) : n;
    struct view text = zero != NULL ? view_of(zero + 1, n - n_pattern - 1) : view_of("", 0);
    struct regex regex = { 0 };
    struct fault fault = { "" };
    if (regex_open(&regex, view_of(at, n_pattern), &fault) != STATUS_OK) {
        CHECK(fault.text[0] != '\0' && regex.program == NULL);
        return 0;
    }
    if (utf8_is_valid(text))
        walk_through(&regex, text);
    regex_close(&regex);
    return 0;
}
