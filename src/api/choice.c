/* From tokens to shown text: detokenizing, stop tokens, stop strings, and text that is held
 * back. */
#include "api/choice.h"
#include "base/mem.h"
#include <string.h>

void api_choice_init(struct api_choice *choice, const struct tokenizer *tokenizer,
                     bool skips_special)
{
    *choice = (struct api_choice){ .stop_id = -1 };
    detokenizer_init(&choice->detokenizer, tokenizer, !skips_special);
    choice->detokenizer.is_first = false; /* the answer continues the prompt */
    str_init(&choice->text);
    str_add(&choice->text, "", 0); /* makes text.at non-NULL from here on */
}

void api_choice_free(struct api_choice *choice)
{
    str_free(&choice->text);
    mem_give(choice->tokens);
    mem_give(choice->scores);
    mem_give(choice->vector);
}

bool api_choice_add_scores(struct api_choice *choice, int32_t position, int32_t n,
                           const void *scores)
{
    size_t n_bytes = sizeof *choice->scores * (size_t)choice->n_prompt;
    CHECK(position >= 1 && position + n <= choice->n_prompt);
    if (choice->scores == NULL && (choice->scores = mem_try(n_bytes)) == NULL)
        return false;
    memcpy(choice->scores + position - 1, scores, sizeof *choice->scores * (size_t)n);
    choice->n_scores = max_i32(choice->n_scores, position + n - 1);
    return true;
}

enum { TEXT_BYTES_MORE = 64 }; /* beside a piece: bytes that the detokenizer held back */

/* Makes room for element n of an array of n_max elements. Returns false when there is no memory. */
static bool grow(void **at, size_t n, size_t *n_max, size_t n_least, size_t bytes)
{
    if (n < *n_max)
        return true;
    size_t n_more = n > 0 ? 2 * n : n_least;
    void *grown = mem_try_grow(*at, n * bytes, n_more * bytes);
    if (grown == NULL)
        return false;
    *at = grown;
    *n_max = n_more;
    return true;
}

/* Forgets the tokens that a stream has shown, if most of the array is such. */
static void forget_shown(struct api_choice *choice)
{
    if (choice->n_tokens < choice->n_tokens_max || choice->n_tokens_shown <= choice->n_tokens / 2)
        return;
    choice->n_tokens -= choice->n_tokens_shown;
    memmove(choice->tokens, choice->tokens + choice->n_tokens_shown,
            choice->n_tokens * sizeof(*choice->tokens));
    choice->n_tokens_shown = 0;
}

bool api_choice_make_room(struct api_choice *choice, const struct api_choice_rules *rules,
                          int32_t id)
{
    struct view piece = tokenizer_piece(choice->detokenizer.tokenizer, id, true);
    size_t n_text = piece.n + TEXT_BYTES_MORE;
    void *tokens = choice->tokens;
    bool has_room = true;
    forget_shown(choice);
    if (rules->keeps_tokens)
        has_room =
            grow(&tokens, choice->n_tokens, &choice->n_tokens_max, 16, sizeof(*choice->tokens));
    choice->tokens = tokens;
    if (choice->text.capacity - choice->text.n <= n_text)
        n_text += choice->text.n;
    return has_room && str_try_reserve(&choice->text, n_text);
}

/* Counts the code points of the first n bytes. n never shrinks from call to call. */
static int64_t count_chars(struct api_choice *choice, size_t n)
{
    for (; choice->n_counted < n; choice->n_counted++)
        choice->n_chars += ((unsigned char)choice->text.at[choice->n_counted] & 0xC0) != 0x80;
    return choice->n_chars;
}

/* text_start is the length of the text before the token. */
static void keep_token(struct api_choice *choice, int32_t id, size_t text_start,
                       const struct token_logprobs *logprobs)
{
    CHECK(choice->n_tokens < choice->n_tokens_max);
    struct api_token *token = &choice->tokens[choice->n_tokens++];
    *token = (struct api_token){ .id = id,
                                 .n_chars_before = count_chars(choice, text_start),
                                 .text_end = choice->text.n };
    if (logprobs != NULL)
        token->logprobs = *logprobs;
}

static void cut_text(struct api_choice *choice, size_t n)
{
    choice->text.n = n;
    choice->text.at[n] = '\0';
    while (choice->n_tokens > choice->n_tokens_shown &&
           choice->tokens[choice->n_tokens - 1].text_end > n)
        choice->n_tokens--;
}

void api_choice_end(struct api_choice *choice, const char *finish_reason)
{
    choice->is_open = false;
    choice->finish_reason = finish_reason;
    if (choice->stop_text == NULL)
        detokenizer_end(&choice->detokenizer, &choice->text);
}

/* Returns the stop token that this id is; -1: none. */
static int32_t find_stop_id(const struct api_choice_rules *rules, int32_t id)
{
    for (int32_t i = 0; i < rules->n_stop_ids; i++)
        if (rules->stop_ids[i] == id)
            return i;
    return -1;
}

static bool find_stop_text(struct api_choice *choice, const struct api_choice_rules *rules)
{
    struct view text = view_of(choice->text.at, choice->text.n);
    if (choice->n_generated <= rules->n_tokens_min)
        choice->search_from = text.n;
    size_t from = choice->n_shown > choice->search_from ? choice->n_shown : choice->search_from;
    if (rules->stops->n == 0 || from >= text.n)
        return false;
    size_t n_longest = 0; /* matches that end in the searched part are skipped */
    for (int32_t i = 0; i < rules->stops->n; i++)
        n_longest = rules->stops->texts[i].n > n_longest ? rules->stops->texts[i].n : n_longest;
    if (choice->n_searched > n_longest && choice->n_searched - n_longest > from)
        from = choice->n_searched - n_longest;
    struct api_stops_found found = api_stops_find(rules->stops, text, from);
    choice->n_searched = text.n;
    if (!found.is_found)
        return false;
    for (int32_t i = 0; i < rules->stops->n; i++) {
        struct view stop = rules->stops->texts[i];
        if (stop.n == found.end - found.start &&
            memcmp(stop.at, text.at + found.start, stop.n) == 0)
            choice->stop_text = stop.at;
    }
    cut_text(choice, rules->include_stop ? found.end : found.start);
    return true;
}

bool api_choice_add(struct api_choice *choice, const struct api_choice_rules *rules, int32_t id,
                    const struct token_logprobs *logprobs)
{
    size_t text_start = choice->text.n;
    choice->n_generated++;
    int32_t stop = choice->n_generated > rules->n_tokens_min ? find_stop_id(rules, id) : -1;
    if (stop < 0 || rules->include_stop)
        detokenizer_add(&choice->detokenizer, id, &choice->text);
    if (rules->keeps_tokens)
        keep_token(choice, id, text_start, logprobs);
    if (stop >= 0) {
        choice->stop_id = stop < rules->n_client_stop_ids ? id : -1;
        api_choice_end(choice, "stop");
        return true;
    }
    if (find_stop_text(choice, rules)) {
        api_choice_end(choice, "stop");
        return true;
    }
    return false;
}

struct view api_choice_show(struct api_choice *choice, const struct api_stops *stops)
{
    struct view text = view_of(choice->text.at, choice->text.n);
    size_t start = choice->n_shown, end = text.n;
    size_t from = start > choice->search_from ? start : choice->search_from;
    if (choice->is_open && from < end)
        end = api_stops_safe(stops, text, from);
    choice->n_shown = end;
    return view_of(text.at + start, end - start);
}

struct api_token *api_choice_show_tokens(struct api_choice *choice, size_t *n)
{
    size_t start = choice->n_tokens_shown, end = start;
    while (end < choice->n_tokens && choice->tokens[end].text_end <= choice->n_shown)
        end++;
    choice->n_tokens_shown = end;
    *n = end - start;
    return choice->tokens + start;
}
