/* Methods of str, with Python's names and defaults. */
#include "template/jinja_method.h"
#include "template/jinja_brace.h"
#include "template/jinja_case.h"
#include "template/jinja_text.h"
#include <string.h>

struct jinja_value jinja_method_text_strip(struct jinja_run *run, struct jinja_value self,
                                           const struct jinja_value *const *given,
                                           const struct jinja_args *args, int variant)
{
    (void)args;
    struct view chars = jinja_args_text(run, given[0], view_of(NULL, 0));
    return jinja_string(jinja_text_strip(run, self.string, chars, (unsigned)variant));
}

struct jinja_value jinja_method_text_change(struct jinja_run *run, struct jinja_value self,
                                            const struct jinja_value *const *given,
                                            const struct jinja_args *args, int variant)
{
    (void)given, (void)args;
    return jinja_case_change(run, self.string, (enum jinja_change)variant);
}

struct jinja_value jinja_method_text_is(struct jinja_run *run, struct jinja_value self,
                                        const struct jinja_value *const *given,
                                        const struct jinja_args *args, int variant)
{
    (void)given, (void)args;
    return jinja_bool(jinja_case_is(run, self.string, (enum jinja_test)variant));
}

/* Returns a str argument that is required. */
static struct view need_text(struct jinja_run *run, const struct jinja_value *arg)
{
    struct view text = jinja_args_text(run, arg, view_of(NULL, 0));
    if (text.at == NULL)
        jinja_fail(run, STATUS_BAD_INPUT, "a str is expected as an argument, not NoneType");
    return text.at == NULL ? view_of("", 0) : text;
}

/* Returns one end of [start, end) as find, count and startswith take it. */
static int64_t bound(struct jinja_run *run, const struct jinja_value *arg, int64_t fallback,
                     int64_t n)
{
    if (arg == NULL || arg->kind == JINJA_NONE)
        return fallback;
    int64_t i = jinja_args_int(run, arg, 0);
    return i < 0 ? max_i64(i + n, 0) : i;
}

/* Sets the part self[start:end]. Returns false when start is behind the end. */
static bool cut(struct jinja_run *run, struct view self, const struct jinja_value *const *given,
                struct view *part, int64_t *start)
{
    bool is_whole = given[1] == NULL && given[2] == NULL;
    *part = self;
    *start = 0;
    if (is_whole)
        return true;
    int64_t n = jinja_text_length(run, self);
    *start = bound(run, given[1], 0, n);
    int64_t end = min_i64(bound(run, given[2], n, n), n);
    *part = jinja_text_part(run, self, *start, end);
    return *start <= end && !jinja_failed(run);
}

static bool has_affix(struct jinja_run *run, struct view text, struct view affix, int side)
{
    if (affix.n > text.n || !jinja_charge(run, (int64_t)(affix.n / 64)))
        return false;

    const char *at = side == JINJA_AT_END ? text.at + text.n - affix.n : text.at;
    return affix.n == 0 || memcmp(at, affix.at, affix.n) == 0;
}

struct jinja_value jinja_method_text_affix(struct jinja_run *run, struct jinja_value self,
                                           const struct jinja_value *const *given,
                                           const struct jinja_args *args, int side)
{
    (void)args;
    struct view text;
    int64_t start;
    bool is_inside = cut(run, self.string, given, &text, &start), found = false;
    const struct jinja_value *affix = given[0];
    if (affix->kind != JINJA_TUPLE)
        return jinja_bool(has_affix(run, text, need_text(run, affix), side) && is_inside);
    for (int64_t i = 0; i < affix->list->n && !found && jinja_charge(run, 1); i++)
        found = has_affix(run, text, need_text(run, &affix->list->at[i]), side) && is_inside;
    return jinja_bool(found);
}

struct jinja_value jinja_method_text_remove(struct jinja_run *run, struct jinja_value self,
                                            const struct jinja_value *const *given,
                                            const struct jinja_args *args, int side)
{
    (void)args;
    struct view text = self.string, affix = need_text(run, given[0]);
    if (!has_affix(run, text, affix, side))
        return self;
    return jinja_string(
        view_of(side == JINJA_AT_END ? text.at : text.at + affix.n, text.n - affix.n));
}

struct jinja_value jinja_method_text_replace(struct jinja_run *run, struct jinja_value self,
                                             const struct jinja_value *const *given,
                                             const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    struct view old = need_text(run, given[0]), with = need_text(run, given[1]);
    int64_t limit = jinja_args_int(run, given[2], -1);
    return jinja_failed(run) ? self : jinja_text_replace(run, self.string, old, with, limit);
}

struct jinja_value jinja_method_text_split(struct jinja_run *run, struct jinja_value self,
                                           const struct jinja_value *const *given,
                                           const struct jinja_args *args, int from_right)
{
    (void)args;
    struct view separator = jinja_args_text(run, given[0], view_of(NULL, 0));
    int64_t limit = max_i64(jinja_args_int(run, given[1], -1), -1);
    if (jinja_failed(run))
        return self;
    return from_right ? jinja_text_split_right(run, self.string, separator, limit)
                      : jinja_text_split(run, self.string, separator, limit);
}

struct jinja_value jinja_method_text_lines(struct jinja_run *run, struct jinja_value self,
                                           const struct jinja_value *const *given,
                                           const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    int64_t keeps_ends = jinja_args_int(run, given[0], 0);
    return jinja_text_lines(run, self.string, keeps_ends != 0);
}

struct jinja_value jinja_method_text_join(struct jinja_run *run, struct jinja_value self,
                                          const struct jinja_value *const *given,
                                          const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    return jinja_text_join(run, self.string, *given[0], false);
}

struct jinja_value jinja_method_text_find(struct jinja_run *run, struct jinja_value self,
                                          const struct jinja_value *const *given,
                                          const struct jinja_args *args, int how)
{
    (void)args;
    struct view text, what = need_text(run, given[0]);
    int64_t start, found = -1;
    bool from_right = how == JINJA_FIND_LAST || how == JINJA_INDEX_LAST;
    if (cut(run, self.string, given, &text, &start))
        found =
            from_right ? jinja_text_find_last(run, text, what) : jinja_text_find(run, text, what);
    if (found >= 0)
        found = start + jinja_text_length(run, view_of(text.at, (size_t)found));
    else if (how >= JINJA_INDEX_FIRST)
        jinja_fail(run, STATUS_BAD_INPUT, "substring not found");
    return jinja_int(found);
}

struct jinja_value jinja_method_text_count(struct jinja_run *run, struct jinja_value self,
                                           const struct jinja_value *const *given,
                                           const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    struct view text, what = need_text(run, given[0]);
    int64_t start;
    bool is_inside = cut(run, self.string, given, &text, &start);
    return jinja_int(is_inside ? jinja_text_count(run, text, what) : 0);
}

/* variant tells which sides are filled. */
struct jinja_value jinja_method_text_pad(struct jinja_run *run, struct jinja_value self,
                                         const struct jinja_value *const *given,
                                         const struct jinja_args *args, int variant)
{
    (void)args;
    int64_t width = jinja_args_int(run, given[0], 0), n = jinja_text_length(run, self.string);
    struct view fill = given[1] == NULL ? view_text(" ") : need_text(run, given[1]);
    if (jinja_text_length(run, fill) != 1)
        jinja_fail(run, STATUS_BAD_INPUT, "The fill character must be exactly one character long");
    int64_t n_fill = max_i64(width - n, 0), n_left = variant == JINJA_LEFT ? n_fill : 0;
    if (variant == (JINJA_LEFT | JINJA_RIGHT))
        n_left = n_fill / 2 + (n_fill & width & 1);
    return jinja_failed(run) ? self
                             : jinja_text_pad(run, self.string, fill, n_left, n_fill - n_left);
}

struct jinja_value jinja_method_text_zfill(struct jinja_run *run, struct jinja_value self,
                                           const struct jinja_value *const *given,
                                           const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    struct view text = self.string;
    int64_t n_fill = jinja_args_int(run, given[0], 0) - jinja_text_length(run, text);
    size_t n_sign = text.n > 0 && (text.at[0] == '+' || text.at[0] == '-');
    struct view rest = view_of(text.at + n_sign, text.n - n_sign);
    if (n_fill <= 0 || jinja_failed(run))
        return self;
    struct jinja_value filled = jinja_text_pad(run, rest, view_text("0"), n_fill, 0);
    struct str out;
    str_init(&out);
    str_add(&out, text.at, n_sign);
    str_add(&out, filled.string.at, filled.string.n);
    return jinja_value_keep(run, &out);
}

struct jinja_value jinja_method_text_tabs(struct jinja_run *run, struct jinja_value self,
                                          const struct jinja_value *const *given,
                                          const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    return jinja_text_tabs(run, self.string, jinja_args_int(run, given[0], 8));
}

struct jinja_value jinja_method_text_partition(struct jinja_run *run, struct jinja_value self,
                                               const struct jinja_value *const *given,
                                               const struct jinja_args *args, int from_right)
{
    (void)args;
    struct view what = need_text(run, given[0]);
    return jinja_text_partition(run, self.string, what, from_right);
}

struct jinja_value jinja_method_text_format(struct jinja_run *run, struct jinja_value self,
                                            const struct jinja_value *const *given,
                                            const struct jinja_args *args, int variant)
{
    (void)given, (void)variant;
    return jinja_brace_format(run, self.string, args);
}

/* The fields are the string keys of a dict. */
struct jinja_value jinja_method_text_format_map(struct jinja_run *run, struct jinja_value self,
                                                const struct jinja_value *const *given,
                                                const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    const struct jinja_dict *dict = given[0]->kind == JINJA_DICT ? given[0]->dict : NULL;
    int64_t n = dict == NULL ? 0 : dict->n, n_named = 0;
    struct jinja_named *named = jinja_take(run, sizeof(*named) * (size_t)(n + 1));
    for (int64_t i = 0; i < n && named != NULL; i++) {
        if (dict->at[i].key.kind == JINJA_STRING)
            named[n_named++] = (struct jinja_named){ dict->at[i].key.string, dict->at[i].value };
    }
    const struct jinja_args fields = { .named = named, .n_named = n_named };
    return jinja_failed(run) ? self : jinja_brace_format(run, self.string, &fields);
}

struct jinja_value jinja_method_text_identifier(struct jinja_run *run, struct jinja_value self,
                                                const struct jinja_value *const *given,
                                                const struct jinja_args *args, int variant)
{
    (void)given, (void)args, (void)variant;
    struct view text = self.string;
    bool is_good = text.n > 0 && !(text.at[0] >= '0' && text.at[0] <= '9');
    for (size_t i = 0; i < text.n && jinja_charge(run, 1); i++) {
        char c = text.at[i], low = (char)(c | 0x20);
        if ((unsigned char)c >= 128)
            jinja_fail(run, STATUS_UNSUPPORTED, "isidentifier of letters that are not ASCII");
        is_good = is_good && ((low >= 'a' && low <= 'z') || c == '_' || (c >= '0' && c <= '9'));
    }
    return jinja_bool(is_good);
}
