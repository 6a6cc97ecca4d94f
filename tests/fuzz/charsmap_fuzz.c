/* Fuzzes precompiled character maps: a byte of pages, a byte of text, the text, then the trie's
 * units and the replacements. An opened map finds only texts inside its input. */
#include "text/charsmap.h"
#include "base/mem.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { PAGE_BYTES = 1024 };

static void search(const struct charsmap *map, struct view text)
{
    struct view out = view_of("", 0);
    for (size_t at = 0; at <= text.n; at++) {
        struct view rest = view_of(text.at + at, text.n - at);
        size_t longest = charsmap_longest(map, rest, &out);
        CHECK(longest <= rest.n && longest <= 256);
        CHECK(longest == 0 || out.at[out.n] == '\0');
        size_t shortest = charsmap_shortest(map, rest, &out);
        CHECK(shortest <= longest && (shortest == 0) == (longest == 0));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n < 2)
        return 0;
    uint32_t n_trie = PAGE_BYTES * (1 + data[0] % 4u);
    size_t n_text = data[1] < n - 2 ? data[1] : n - 2;
    const uint8_t *rest = data + 2 + n_text;
    size_t n_rest = n - 2 - n_text, n_blob = 4 + n_trie + 1;
    n_blob += n_rest > n_trie ? n_rest - n_trie : 0;
    char *blob = mem_take(n_blob);
    memset(blob + 4, 0xFF, n_trie);
    for (uint32_t i = 0; i < 4; i++)
        blob[i] = (char)(n_trie >> 8 * i);
    if (n_rest > 0)
        memcpy(blob + 4, rest, n_rest);
    blob[n_blob - 1] = '\0';
    struct charsmap map;
    struct fault fault = { "" };
    if (charsmap_open(&map, view_of(blob, n_blob), &fault) == STATUS_OK)
        search(&map, view_of((const char *)data + 2, n_text));
    else
        CHECK(fault.text[0] != '\0' && map.units == NULL);
    charsmap_close(&map);
    if (n_rest > 0) /* also unchanged */
        (void)!charsmap_open(&map, view_of((const char *)rest, n_rest), &fault);
    charsmap_close(&map);
    mem_give(blob);
    return 0;
}
