/* Matching with PCRE2's JIT. The text was validated before, so no match checks it again (that would
 * be quadratic). */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/regex.h"
#include "text/letters.h"
#include <pcre2.h>

enum {
    PATTERN_BYTES_MAX = 1 << 14,
    PATTERN_NESTING_MAX = 64,
    MATCH_STEPS_MAX = 1000000, /* per match; a word of real text needs a few dozen */
    MATCH_MEMORY_KIB_MAX = 1 << 16,
};

enum status regex_open(struct regex *regex, struct view pattern, struct fault *fault)
{
    *regex = (struct regex){ 0 };
    if (pattern.n > PATTERN_BYTES_MAX)
        return fault_set(fault, STATUS_TOO_LARGE,
                         "tokenizer: the split pattern has %zu bytes, at most %d", pattern.n,
                         PATTERN_BYTES_MAX);
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    CHECK(context != NULL);
    pcre2_set_parens_nest_limit(context, PATTERN_NESTING_MAX);
    int error = 0;
    size_t at = 0;
    struct str raw, widened;
    str_init(&raw);
    str_init(&widened);
    str_add(&raw, pattern.at, pattern.n);
    text_letters_widen(raw.at != NULL ? raw.at : "", &widened);
    regex->code =
        pcre2_compile((PCRE2_SPTR)(widened.at != NULL ? widened.at : ""), widened.n,
                      PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY,
                      &error, &at, context);
    pcre2_compile_context_free(context);
    str_free(&raw);
    str_free(&widened);
    if (regex->code == NULL) {
        unsigned char text[128] = "";
        pcre2_get_error_message(error, text, sizeof(text));
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "tokenizer: the split pattern is not understood at byte %zu: %s", at,
                         (const char *)text);
    }
    (void)pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE); /* without it it is only slower */
    return STATUS_OK;
}

void regex_close(struct regex *regex)
{
    pcre2_code_free(regex->code);
    *regex = (struct regex){ 0 };
}

void regex_work_init(struct regex_work *work)
{
    work->match = pcre2_match_data_create(1, NULL);
    work->context = pcre2_match_context_create(NULL);
    CHECK(work->match != NULL && work->context != NULL);
    pcre2_set_match_limit(work->context, MATCH_STEPS_MAX);
    pcre2_set_heap_limit(work->context, MATCH_MEMORY_KIB_MAX);
}

void regex_work_free(struct regex_work *work)
{
    pcre2_match_data_free(work->match);
    pcre2_match_context_free(work->context);
    *work = (struct regex_work){ 0 };
}

void regex_walk_begin(struct regex_walk *walk, const struct regex *regex, struct regex_work *work,
                      struct view text)
{
    *walk = (struct regex_walk){ .regex = regex, .work = work, .text = text, .last_end = SIZE_MAX };
}

static bool find_match(const struct regex_walk *walk, size_t bounds[2])
{
    const struct view text = walk->text;
    uint32_t options = PCRE2_NO_UTF_CHECK;
    pcre2_match_data *match = walk->work->match;
    int rc = pcre2_match(walk->regex->code, (PCRE2_SPTR)text.at, text.n, walk->from, options, match,
                         walk->work->context);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
        rc = pcre2_match(walk->regex->code, (PCRE2_SPTR)text.at, text.n, walk->from,
                         options | PCRE2_NO_JIT, match, walk->work->context);
    if (rc < 0)
        return false;
    const size_t *ends = pcre2_get_ovector_pointer(match);
    bounds[0] = ends[0];
    bounds[1] = ends[1];
    return ends[0] >= walk->from && ends[1] >= ends[0] && ends[1] <= text.n; /* \K may turn them */
}

bool regex_walk_next(struct regex_walk *walk, size_t bounds[2])
{
    while (walk->from <= walk->text.n && find_match(walk, bounds)) {
        if (bounds[0] != bounds[1] || bounds[1] != walk->last_end) {
            walk->from = walk->last_end = bounds[1];
            return true;
        }
        do
            walk->from++;
        while (walk->from < walk->text.n &&
               ((unsigned char)walk->text.at[walk->from] & 0xC0) == 0x80);
    }
    walk->from = walk->text.n + 1;
    return false;
}
