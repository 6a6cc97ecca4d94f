/* Cuts texts by regular expressions for regex_agreement.py: `cuts < requests > cuts`.
 *
 * A request is a pattern and n texts; numbers are 4 bytes, little-endian: length and bytes of the
 * pattern, n, then length and bytes of each text. The answer is a line for each text with the ends
 * of its pieces, or one line "refused" and why. */
#include "base/mem.h"
#include "text/regex.h"
#include <stdio.h>

enum { BYTES_MAX = 1 << 24 };

static bool read_number(uint32_t *out)
{
    unsigned char b[4];
    if (fread(b, 1, 4, stdin) != 4)
        return false;
    *out = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    return *out <= BYTES_MAX;
}

static bool read_text(struct view *out)
{
    uint32_t n;
    if (!read_number(&n))
        return false;
    char *text = mem_take((size_t)n + 1);
    *out = view_of(text, n);
    if (fread(text, 1, n, stdin) == n)
        return true;
    mem_give(text);
    return false;
}

static void cut(const struct regex *regex, struct view text)
{
    struct regex_work work;
    struct regex_walk walk;
    size_t bounds[2], at = 0;
    regex_work_init(&work);
    regex_work_grant(&work, text.n);
    regex_walk_begin(&walk, regex, &work, text);
    while (regex_walk_next(&walk, bounds)) {
        if (bounds[0] > at)
            printf("%zu ", bounds[0]);
        if (bounds[1] > bounds[0])
            printf("%zu ", bounds[1]);
        at = bounds[1];
    }
    if (work.is_spent)
        printf("spent");
    else if (at < text.n)
        printf("%zu ", text.n);
    printf("\n");
    regex_work_free(&work);
}

int main(void)
{
    struct view pattern, text;
    uint32_t n = 0;
    while (read_text(&pattern)) {
        struct regex regex = { 0 };
        struct fault fault = { "" };
        bool is_open = regex_open(&regex, pattern, &fault) == STATUS_OK;
        if (!is_open)
            printf("refused %s\n", fault.text);
        if (!read_number(&n))
            return 1;
        for (uint32_t i = 0; i < n; i++) {
            if (!read_text(&text))
                return 1;
            if (is_open)
                cut(&regex, text);
            mem_give((void *)(uintptr_t)text.at);
        }
        regex_close(&regex);
        mem_give((void *)(uintptr_t)pattern.at);
    }
    return 0;
}
