/* indent, truncate, wordwrap (Python's textwrap), wordcount and title. */
#include "template/jinja_wrap.h"
#include "template/jinja_case.h"
#include "template/jinja_letter.h"
#include "template/jinja_print.h"
#include "template/jinja_text.h"
#include <string.h>

/* Python's \w. */
static bool is_word(uint32_t letter)
{
    return letter == '_' || (jinja_letter_traits(letter) & JINJA_IS_ALNUM) != 0;
}

static bool need_text(struct jinja_run *run, struct jinja_value v, const char *what)
{
    jinja_value_refuse_undefined(run, v);
    if (v.kind != JINJA_STRING)
        jinja_fail(run, STATUS_BAD_INPUT, "%s needs a str, not %s", what, jinja_value_type(v));
    return !jinja_failed(run) && !jinja_value_refuse_markup(run, v, what);
}

struct jinja_value jinja_wrap_indent(struct jinja_run *run, struct jinja_value v,
                                     const struct jinja_value *const *given,
                                     const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    struct jinja_value by = jinja_text("    ");
    if (given[0] != NULL && given[0]->kind == JINJA_STRING)
        by = *given[0];
    else if (given[0] != NULL)
        by = jinja_text_pad(run, view_of("", 0), view_text(" "), jinja_args_int(run, given[0], 0),
                            0);
    if (jinja_failed(run) || !need_text(run, v, "indent"))
        return v;
    bool indents_first = jinja_args_flag(given[1]), indents_blank = jinja_args_flag(given[2]);
    struct str text, out;
    str_init(&text);
    str_init(&out);
    str_add(&text, v.string.at, v.string.n);
    str_add_char(&text, '\n'); /* as jinja2: a newline at the end begins another line */
    struct jinja_value lines = jinja_text_lines(run, view_of(text.at, text.n), false);
    for (int64_t i = 0; !jinja_failed(run) && i < lines.list->n; i++) {
        struct view line = lines.list->at[i].string;
        bool indents = i == 0 ? indents_first : indents_blank || line.n > 0;
        if (i > 0)
            str_add_char(&out, '\n');
        if (indents && jinja_charge(run, 1 + (int64_t)(by.string.n / 64)))
            str_add(&out, by.string.at, by.string.n);
        str_add(&out, line.at, line.n);
        (void)jinja_fits(run, &out);
    }
    struct jinja_value result = jinja_value_keep(run, &out);
    str_free(&text);
    return result;
}

/* Returns a number that Python only compares with. Other types than int are refused. */
static int64_t need_int(struct jinja_run *run, const struct jinja_value *arg, int64_t fallback)
{
    if (arg != NULL && !jinja_is_whole(*arg))
        jinja_fail(run, STATUS_UNSUPPORTED, "a length that is a %s", jinja_value_type(*arg));
    return arg == NULL ? fallback : jinja_value_int(*arg);
}

struct jinja_value jinja_wrap_truncate(struct jinja_run *run, struct jinja_value v,
                                       const struct jinja_value *const *given,
                                       const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    int64_t length = need_int(run, given[0], 255);
    struct view end = view_text("...");
    if (given[2] != NULL)
        end = given[2]->kind == JINJA_STRING ? given[2]->string : view_of(NULL, 0);
    bool has_leeway = given[3] != NULL && given[3]->kind != JINJA_NONE;
    int64_t leeway = need_int(run, has_leeway ? given[3] : NULL, 5);
    if (end.at == NULL)
        jinja_fail(run, STATUS_UNSUPPORTED, "an end of truncate that is no str");
    int64_t n_end = jinja_failed(run) ? 0 : jinja_text_length(run, end);
    if (length < n_end || leeway < 0)
        jinja_fail(run, STATUS_BAD_INPUT, "expected length >= %lld and leeway >= 0",
                   (long long)n_end);
    if (jinja_failed(run) || jinja_value_length(run, v) <= length + leeway)
        return v;
    if (!need_text(run, v, "truncate"))
        return v;
    struct view kept = jinja_text_part(run, v.string, 0, length - n_end);
    if (!jinja_args_flag(given[1])) {
        int64_t space = jinja_text_find_last(run, kept, view_text(" "));
        kept.n = space >= 0 ? (size_t)space : kept.n;
    }
    struct str out;
    str_init(&out);
    str_add(&out, kept.at, kept.n);
    str_add(&out, end.at, end.n);
    return jinja_value_keep(run, &out);
}

struct jinja_value jinja_wrap_count(struct jinja_run *run, struct jinja_value v,
                                    const struct jinja_value *const *given,
                                    const struct jinja_args *args, int variant)
{
    (void)given, (void)args, (void)variant;
    struct view text = jinja_print_view(run, v);
    int64_t n_words = 0;
    bool in_word = false;
    for (size_t i = 0, n; i < text.n && jinja_charge(run, (i & 1) == 0); i += n) {
        bool is_letter = is_word(jinja_letter_at(text, i, &n));
        n_words += is_letter && !in_word;
        in_word = is_letter;
    }
    return jinja_int(n_words);
}

static bool ends_title_word(uint32_t c)
{
    return jinja_letter_is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
}

/* Words begin behind "-({[<" and white space. Their first letter becomes upper case, the rest lower
 * case. */
struct jinja_value jinja_wrap_title(struct jinja_run *run, struct jinja_value v,
                                    const struct jinja_value *const *given,
                                    const struct jinja_args *args, int variant)
{
    (void)given, (void)args, (void)variant;
    if (jinja_value_refuse_markup(run, v, "title"))
        return v;
    struct view text = jinja_print_view(run, v);
    struct str out;
    str_init(&out);
    for (size_t i = 0, n; i < text.n && jinja_charge(run, 1);) {
        uint32_t first = jinja_letter_at(text, i, &n);
        size_t end = i + n, step;
        while (!ends_title_word(first) && end < text.n &&
               !ends_title_word(jinja_letter_at(text, end, &step)))
            end += step;
        struct jinja_value head = jinja_case_change(run, view_of(text.at + i, n), JINJA_TO_UPPER);
        struct jinja_value tail =
            jinja_case_change(run, view_of(text.at + i + n, end - i - n), JINJA_TO_LOWER);
        str_add(&out, head.string.at, head.string.n);
        str_add(&out, tail.string.at, tail.string.n);
        i = end;
    }
    return jinja_value_keep(run, &out);
}

/* ---- wordwrap: the chunks and lines of Python's textwrap. ---- */

static bool is_blank(char c)
{
    return c == ' ' || (c >= 9 && c <= 13);
}

static uint32_t letter_at(struct view text, size_t i)
{
    size_t n;
    return i < text.n ? jinja_letter_at(text, i, &n) : 0;
}

static uint32_t letter_before(struct view text, size_t i)
{
    size_t n;
    return i > 0 ? jinja_letter_before(text, i, &n) : 0;
}

/* textwrap's letter is \w without digits. */
static bool is_letter(uint32_t c)
{
    return is_word(c) && (jinja_letter_traits(c) & JINJA_IS_DECIMAL) == 0;
}

/* Is it a letter or a sign that may end a word? */
static bool is_word_sign(uint32_t c)
{
    return is_word(c) || (c != 0 && c < 128 && strchr("!\"'&.,?", (int)c) != NULL);
}

static size_t dashes_at(struct view text, size_t i)
{
    size_t n = 0;
    while (i + n < text.n && text.at[i + n] == '-')
        n++;
    return n;
}

/* Matches "--" and more between words, from i on. */
static size_t dash_chunk(struct view text, size_t i)
{
    size_t n = dashes_at(text, i);
    bool is_dash =
        n >= 2 && is_word_sign(letter_before(text, i)) && is_word(letter_at(text, i + n));
    return is_dash ? n : 0;
}

/* Returns whether a hyphen at i ends a chunk. Before it there must be two letters, or a letter, a
 * hyphen and a letter. Behind it there must be two letters, perhaps with a hyphen between them. */
static bool is_hyphen_end(struct view text, size_t i)
{
    size_t n1 = 0, n2 = 0, n;
    uint32_t last = i > 0 ? jinja_letter_before(text, i, &n1) : 0;
    uint32_t second = i > n1 ? jinja_letter_before(text, i - n1, &n2) : 0;
    bool behind_hyphen = second == '-' && is_letter(letter_before(text, i - n1 - n2));
    if (!is_letter(last) || (!is_letter(second) && !behind_hyphen))
        return false;
    size_t next = i + 1;
    if (next >= text.n || !is_letter(jinja_letter_at(text, next, &n)))
        return false;
    next += n;
    next += next < text.n && text.at[next] == '-';
    return is_letter(letter_at(text, next));
}

/* Returns the bytes of the chunk at i: white space, a dash, or a word, which may end at a
 * hyphen. */
static size_t chunk_bytes(struct jinja_run *run, struct view text, size_t i, bool at_hyphens)
{
    size_t end = i, n;
    while (end < text.n && is_blank(text.at[end]))
        end++;
    if (end > i)
        return end - i;
    if (at_hyphens && (n = dash_chunk(text, i)) > 0)
        return n;
    for (; end < text.n && !is_blank(text.at[end]) && jinja_charge(run, 1); end += n) {
        (void)jinja_letter_at(text, end, &n);
        if (!at_hyphens || end == i || text.at[end] != '-')
            continue;
        if (is_hyphen_end(text, end))
            return end + 1 - i;
        if (dash_chunk(text, end) > 0)
            break;
    }
    return end - i;
}

struct wrap {
    struct jinja_run *run;
    int64_t width;
    bool breaks_long, at_hyphens;
    struct view wrapstring;
    struct str *out;
    struct jinja_value *chunks; /* the rest of the paragraph */
    int64_t n_chunks;
};
struct line { /* items that follow each other in the text */
    struct view text, last;
    int64_t n_items, length;
};

static void add_item(struct wrap *w, struct line *line, struct view item)
{
    if (line->n_items++ == 0)
        line->text = view_of(item.at, 0);
    line->text.n += item.n;
    line->length += jinja_text_length(w->run, item);
    line->last = item;
}

static void next_chunk(struct wrap *w)
{
    w->chunks++;
    w->n_chunks--;
}

/* Handles a next chunk that is longer than any line: a part of it goes onto this line, or all of it
 * onto a line of its own. */
static void add_long(struct wrap *w, struct line *line)
{
    struct view chunk = w->chunks->string;
    if (!w->breaks_long && line->n_items > 0)
        return;
    size_t end = chunk.n;
    if (w->breaks_long)
        end = jinja_text_offset(chunk, w->width - line->length);
    int64_t hyphen = -1;
    if (w->breaks_long && w->at_hyphens)
        hyphen = jinja_text_find_last(w->run, view_of(chunk.at, end), view_text("-"));
    bool has_other = false;
    for (int64_t i = 0; i < hyphen; i++)
        has_other = has_other || chunk.at[i] != '-';
    end = has_other ? (size_t)hyphen + 1 : end;
    add_item(w, line, view_of(chunk.at, end));
    if (end == chunk.n)
        next_chunk(w);
    else
        w->chunks->string = view_of(chunk.at + end, chunk.n - end);
}

static bool is_space(struct wrap *w, struct view text)
{
    return jinja_text_strip(w->run, text, view_of(NULL, 0), JINJA_LEFT).n == 0;
}

/* Puts chunks on lines as long as they fit. White space at the ends of lines is dropped. */
static void wrap_chunks(struct wrap *w)
{
    bool has_lines = false;
    while (w->n_chunks > 0 && jinja_charge(w->run, 1) && jinja_fits(w->run, w->out)) {
        struct line line = { .n_items = 0 };
        if (has_lines && is_space(w, w->chunks->string))
            next_chunk(w);
        while (w->n_chunks > 0 &&
               line.length + jinja_text_length(w->run, w->chunks->string) <= w->width) {
            add_item(w, &line, w->chunks->string);
            next_chunk(w);
        }
        if (w->n_chunks > 0 && jinja_text_length(w->run, w->chunks->string) > w->width)
            add_long(w, &line);
        if (line.n_items > 0 && is_space(w, line.last)) {
            line.text.n -= line.last.n;
            line.n_items--;
        }
        if (line.n_items == 0)
            continue;
        if (has_lines && jinja_charge(w->run, (int64_t)(w->wrapstring.n / 64)))
            str_add(w->out, w->wrapstring.at, w->wrapstring.n);
        str_add(w->out, line.text.at, line.text.n);
        has_lines = true;
    }
}

static void wrap_paragraph(struct wrap *w, struct view text)
{
    struct jinja_value chunks = jinja_value_list(w->run, JINJA_LIST);
    for (size_t i = 0, n; i < text.n && jinja_charge(w->run, 1); i += n) {
        n = chunk_bytes(w->run, text, i, w->at_hyphens);
        jinja_value_push(w->run, chunks, jinja_string(view_of(text.at + i, n)));
    }
    if (jinja_failed(w->run))
        return;
    w->chunks = chunks.list->at;
    w->n_chunks = chunks.list->n;
    wrap_chunks(w);
}

struct jinja_value jinja_wrap_words(struct jinja_run *run, struct jinja_value v,
                                    const struct jinja_value *const *given,
                                    const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    struct str out;
    str_init(&out);
    struct wrap w = {
        .run = run,
        .width = need_int(run, given[0], 79),
        .breaks_long = given[1] == NULL || jinja_args_flag(given[1]),
        .wrapstring = jinja_args_text(run, given[2], view_text("\n")),
        .at_hyphens = given[3] == NULL || jinja_args_flag(given[3]),
        .out = &out,
    };
    if (given[3] != NULL && given[3]->kind != JINJA_BOOL)
        jinja_fail(run, STATUS_UNSUPPORTED, "break_on_hyphens that is neither true nor false");
    if (jinja_failed(run) || !need_text(run, v, "wordwrap"))
        return v;
    struct jinja_value lines = jinja_text_lines(run, v.string, false);
    if (!jinja_failed(run) && lines.list->n > 0 && w.width <= 0)
        jinja_fail(run, STATUS_BAD_INPUT, "invalid width %lld (must be > 0)", (long long)w.width);
    for (int64_t i = 0; !jinja_failed(run) && i < lines.list->n; i++) {
        if (i > 0 && jinja_charge(run, 1 + (int64_t)(w.wrapstring.n / 64)))
            str_add(&out, w.wrapstring.at, w.wrapstring.n);
        wrap_paragraph(&w, lines.list->at[i].string);
    }
    return jinja_value_keep(run, &out);
}
