/* Finds added tokens as the library does: the leftmost, of these the longest, and none inside
 * another.
 *
 * A match may not count: a special token that is plain text here, or a part of a word. It still
 * hides the text that it covers. */
#include "text/added.h"
#include "text/unicode.h"
#include "base/mem.h"
#include <string.h>

enum { TOKEN_BYTES_MAX = 512 }; /* bounds the time for a letter of a text */

enum status text_added_open(struct text_added *added, const struct tokenizer_added *tokens,
                            const struct view *texts, int32_t n, bool is_lenient,
                            struct fault *fault)
{
    *added = (struct text_added){ .n = n };
    size_t count = (size_t)n;
    added->tokens = mem_take(count * sizeof(*added->tokens));
    struct view *of_set = mem_take(count * sizeof(*of_set));
    int32_t *indexes = mem_take(count * sizeof(*indexes)), n_distinct = 0;
    enum status status = STATUS_OK;
    for (int32_t i = 0; i < n; i++) {
        added->tokens[i] = tokens[i];
        indexes[i] = i;
        if (texts[i].n > TOKEN_BYTES_MAX && status == STATUS_OK)
            status = fault_set(fault, STATUS_UNSUPPORTED,
                               "tokenizer: the added token %d has %zu bytes, at most %d are "
                               "supported",
                               tokens[i].id, texts[i].n, TOKEN_BYTES_MAX);
        if (texts[i].n == 0 && status == STATUS_OK && !is_lenient)
            status = fault_set(fault, STATUS_UNSUPPORTED,
                               "tokenizer: the added token %d is empty once it is normalized",
                               tokens[i].id);
    }
    for (unsigned k = 0; k < 2; k++) {
        for (int32_t i = 0; i < n; i++) {
            bool is_normalized = (tokens[i].flags & ADDED_NORMALIZED) != 0;
            of_set[i] = is_normalized == (k == 1) ? texts[i] : view_of("", 0);
        }
        text_prefixes_open(&added->sets[k], of_set, indexes, n, false);
        n_distinct += added->sets[k].n;
    }
    mem_give(of_set);
    mem_give(indexes);
    if (status == STATUS_OK && n_distinct != n && !is_lenient)
        status = fault_set(fault, STATUS_UNSUPPORTED,
                           "tokenizer: two added tokens are found by the same text");
    return status;
}

void text_added_close(struct text_added *added)
{
    mem_give(added->tokens);
    text_prefixes_close(&added->sets[0]);
    text_prefixes_close(&added->sets[1]);
    *added = (struct text_added){ 0 };
}

unsigned text_added_flags(const struct text_added *added, int32_t id)
{
    for (int32_t i = 0; i < added->n; i++)
        if (added->tokens[i].id == id)
            return added->tokens[i].flags;
    return 0;
}

void text_added_begin(struct text_added_walk *walk, const struct text_added *added,
                      struct view text, bool is_normalized, bool skips_special)
{
    *walk = (struct text_added_walk){
        .added = added, .text = text, .is_normalized = is_normalized, .skips_special = skips_special
    };
}

/* Returns the bytes of the last letter of text, which is not empty. */
static size_t last_letter(struct view text, uint32_t *letter)
{
    size_t n = 1;
    while (n < 4 && n < text.n && ((unsigned char)text.at[text.n - n] & 0xC0) == 0x80)
        n++;
    if (utf8_decode(view_of(text.at + text.n - n, n), letter) <= 0)
        *letter = 0xFFFD;
    return n;
}

static size_t first_letter(struct view text, uint32_t *letter)
{
    int n = utf8_decode(text, letter);
    if (n <= 0)
        *letter = 0xFFFD;
    return n > 0 ? (size_t)n : 1;
}

static bool is_inside_word(struct view text, size_t start, size_t end)
{
    uint32_t letter = 0;
    if (start > 0) {
        last_letter(view_of(text.at, start), &letter);
        if (unicode_is(UNICODE_WORD, letter))
            return true;
    }
    if (end < text.n) {
        first_letter(view_of(text.at + end, text.n - end), &letter);
        return unicode_is(UNICODE_WORD, letter);
    }
    return false;
}

static size_t strip_left(struct view text, size_t start)
{
    uint32_t letter = 0;
    while (start > 0) {
        size_t n = last_letter(view_of(text.at, start), &letter);
        if (!utf8_is_space(letter))
            break;
        start -= n;
    }
    return start;
}

static size_t strip_right(struct view text, size_t end)
{
    uint32_t letter = 0;
    while (end < text.n) {
        size_t n = first_letter(view_of(text.at + end, text.n - end), &letter);
        if (!utf8_is_space(letter))
            break;
        end += n;
    }
    return end;
}

/* Finds the next match at or after walk->scanned that counts. Returns its token and sets its place;
 * NULL: there is none. */
static const struct tokenizer_added *find(struct text_added_walk *walk, size_t *start, size_t *end)
{
    const struct text_prefixes *set = &walk->added->sets[walk->is_normalized];
    struct view text = walk->text;
    for (size_t at = walk->scanned; at < text.n && set->n > 0; at++) {
        unsigned char first = (unsigned char)text.at[at];
        if (set->starts[first] == set->starts[first + 1])
            continue;
        int32_t index = text_prefixes_longest(set, view_of(text.at + at, text.n - at));
        if (index < 0)
            continue;
        const struct tokenizer_added *token = &walk->added->tokens[set->ids[index]];
        walk->scanned = at + set->texts[index].n;
        bool counts =
            !(walk->skips_special && (token->flags & ADDED_SPECIAL)) &&
            !((token->flags & ADDED_SINGLE_WORD) && is_inside_word(text, at, walk->scanned));
        if (counts) {
            *start = at;
            *end = walk->scanned;
            return token;
        }
        at = walk->scanned - 1;
    }
    walk->scanned = text.n;
    return NULL;
}

bool text_added_next(struct text_added_walk *walk, struct view *before, int32_t *id)
{
    struct view text = walk->text;
    const struct tokenizer_added *token;
    size_t start, end;
    for (;;) {
        start = end = text.n;
        token = find(walk, &start, &end);
        if (token != NULL && (token->flags & ADDED_STRIPS_LEFT)) {
            start = strip_left(text, start);
            start = start > walk->taken ? start : walk->taken;
        }
        if (token != NULL && (token->flags & ADDED_STRIPS_RIGHT))
            end = strip_right(text, end);
        if (token == NULL || start < end)
            break;
        walk->taken = end; /* white space that the previous token swallowed */
    }
    *before = view_of(text.at + walk->taken, start > walk->taken ? start - walk->taken : 0);
    *id = token != NULL ? token->id : -1;
    bool has_more = token != NULL || walk->taken < text.n;
    walk->taken = end;
    return has_more;
}
