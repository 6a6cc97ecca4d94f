/* Looks for the text of each message in the prompt.
 *
 * Templates may change a text: they trim it, leave its thinking out, or write it as JSON. So a text
 * that is not found is replaced by a number, and the conversation is rendered again. A number that
 * is shown proves that its message is shown. */
#include "template/chat_shown.h"
#include "base/mem.h"
#include "template/chat_template.h"
#include "template/jinja_letter.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_DIGITS = 6, SEARCH_BYTES_MAX = 1 << 28 };
static const char number_prefix[] = "8402917";

static struct view stripped(const char *text)
{
    struct view v = view_text(text);
    size_t n;
    while (v.n > 0 && jinja_letter_is_space(jinja_letter_at(v, 0, &n)))
        v = view_of(v.at + n, v.n - n);
    while (v.n > 0 && jinja_letter_is_space(jinja_letter_before(v, v.n, &n)))
        v.n -= n;
    return v;
}

struct search {
    struct view prompt;
    size_t at;        /* behind the last text that was found */
    int64_t n_search; /* bytes searched */
};

static bool find_from(struct search *s, size_t from, struct view text)
{
    const char *found = from < s->prompt.n
                            ? memmem(s->prompt.at + from, s->prompt.n - from, text.at, text.n)
                            : NULL;
    s->n_search += found != NULL ? found - s->prompt.at - (int64_t)from : (int64_t)s->prompt.n;
    if (found != NULL)
        s->at = (size_t)(found - s->prompt.at) + text.n;
    return found != NULL;
}

/* Searches behind the last text first, since texts are mostly in the order of the messages. */
static bool is_found(struct search *s, const char *text)
{
    struct view v = stripped(text);
    return v.n == 0 || find_from(s, s->at, v) || find_from(s, 0, v);
}

static bool is_message_found(struct search *s, const struct chat_message *message)
{
    bool is_whole = true;
    for (int32_t i = 0; message->parts != NULL && i < message->n_parts && is_whole; i++)
        is_whole = is_found(s, message->parts[i]);
    if (message->parts == NULL && message->content != NULL)
        is_whole = is_found(s, message->content);
    return is_whole;
}

/* The messages with numbers instead of texts: the n-th text becomes the n-th number. */
struct numbered {
    struct chat_message *messages;
    const char **parts;
    char *numbers;
    int32_t n;
};
enum { NUMBER_BYTES = sizeof(number_prefix) + 12 };

static const char *next_number(struct numbered *numbered, const char *text)
{
    if (stripped(text).n == 0)
        return text;
    char *number = numbered->numbers + (size_t)numbered->n * NUMBER_BYTES;
    (void)snprintf(number, NUMBER_BYTES, "%s%06d", number_prefix, (int)(numbered->n % 1000000));
    numbered->n++;
    return number;
}

static void number_all(struct numbered *numbered, const struct chat_options *options)
{
    size_t n_texts = 0, n_parts = 0;
    for (int i = 0; i < options->n_messages; i++) {
        n_texts += 1 + (size_t)options->messages[i].n_parts;
        n_parts += (size_t)options->messages[i].n_parts;
    }
    *numbered = (struct numbered){
        .messages = mem_take(sizeof(*numbered->messages) * (size_t)options->n_messages),
        .parts = mem_take(sizeof(*numbered->parts) * n_parts),
        .numbers = mem_take(NUMBER_BYTES * n_texts),
    };
    const char **parts = numbered->parts;
    for (int i = 0; i < options->n_messages; i++) {
        struct chat_message *message = &numbered->messages[i];
        *message = options->messages[i];
        for (int32_t k = 0; message->parts != NULL && k < message->n_parts; k++)
            parts[k] = next_number(numbered, message->parts[k]);
        if (message->parts != NULL)
            message->parts = parts;
        else if (message->content != NULL)
            message->content = next_number(numbered, message->content);
        parts += message->n_parts;
    }
}

/* Marks the numbers that appear in the prompt. */
static void mark_numbers(struct view prompt, bool *is_shown, int32_t n)
{
    const char *end = prompt.at + prompt.n, *at = prompt.at;
    size_t n_prefix = strlen(number_prefix);
    while (at != NULL && at < end) {
        at = memmem(at, (size_t)(end - at), number_prefix, n_prefix);
        if (at == NULL || (size_t)(end - at) < n_prefix + NUMBER_DIGITS)
            break;
        char digits[NUMBER_DIGITS + 1] = "";
        memcpy(digits, at + n_prefix, NUMBER_DIGITS);
        long index = strtol(digits, NULL, 10);
        if (index >= 0 && index < n)
            is_shown[index] = true;
        at += n_prefix;
    }
}

/* Returns whether the numbers of one message, from *next on, are all shown. */
static bool are_numbers_shown(const struct chat_message *message, const bool *is_shown,
                              int32_t *next)
{
    bool is_whole = true;
    int32_t n = message->parts != NULL ? message->n_parts : message->content != NULL;
    for (int32_t i = 0; i < n; i++) {
        const char *text = message->parts != NULL ? message->parts[i] : message->content;
        if (stripped(text).n > 0)
            is_whole = is_shown[(*next)++] && is_whole;
    }
    return is_whole;
}

static int first_lost(const struct chat_options *options, struct search *s, const bool *is_shown)
{
    int32_t next = 0;
    for (int i = 0; i < options->n_messages; i++) {
        const struct chat_message *message = &options->messages[i];
        if (are_numbers_shown(message, is_shown, &next))
            continue;
        if (s->n_search > SEARCH_BYTES_MAX || !is_message_found(s, message))
            return i;
    }
    return -1;
}

enum status chat_shown_check(const struct chat_template *t, const struct chat_options *options,
                             const void *kwargs, struct view prompt, struct fault *fault)
{
    struct search s = { .prompt = prompt };
    int i = 0;
    while (i < options->n_messages && s.n_search <= SEARCH_BYTES_MAX &&
           is_message_found(&s, &options->messages[i]))
        i++;
    if (i == options->n_messages)
        return STATUS_OK;
    struct numbered numbered;
    struct str again;
    struct fault ignored;
    str_init(&again);
    number_all(&numbered, options);
    struct chat_options asked = *options;
    asked.messages = numbered.messages;
    bool *is_shown = mem_take(sizeof(*is_shown) * (size_t)(numbered.n + 1));
    if (chat_template_run(t, &asked, kwargs, JINJA_STEPS_MAX, &again, &ignored) == STATUS_OK)
        mark_numbers(view_of(again.at == NULL ? "" : again.at, again.n), is_shown, numbered.n);
    s = (struct search){ .prompt = prompt };
    int lost = first_lost(options, &s, is_shown);
    str_free(&again);
    mem_give(is_shown);
    mem_give(numbered.messages);
    mem_give(numbered.parts);
    mem_give(numbered.numbers);
    if (lost < 0)
        return STATUS_OK;
    return fault_set(
        fault, STATUS_BAD_INPUT,
        "the model's chat template does not show the text of messages[%d] (role %.40s)", lost,
        options->messages[lost].role);
}
