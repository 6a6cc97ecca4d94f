/* Splitting with PCRE2's JIT.
 *
 * The text was validated before, so no match checks it again (that would be quadratic). A pattern
 * comes from a model file: its length, nesting and match effort are bounded, and where an effort
 * runs out the rest of the piece stays one word. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/split.h"
#include "text/letters.h"
#include "base/mem.h"
#include <pcre2.h>
#include <string.h>

enum {
    PATTERN_BYTES_MAX = 1 << 14,
    PATTERN_NESTING_MAX = 64,
    MATCH_STEPS_MAX = 1000000, /* per match; a word of real text needs a few dozen */
    MATCH_MEMORY_KIB_MAX = 1 << 16,
};

static enum status compile(pcre2_code **out, const char *pattern, struct fault *fault)
{
    size_t n = strlen(pattern);
    if (n > PATTERN_BYTES_MAX)
        return fault_set(fault, STATUS_TOO_LARGE,
                         "tokenizer: the split pattern has %zu bytes, at most %d", n,
                         PATTERN_BYTES_MAX);
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    CHECK(context != NULL);
    pcre2_set_parens_nest_limit(context, PATTERN_NESTING_MAX);
    int error = 0;
    size_t at = 0;
    struct str widened;
    str_init(&widened);
    text_letters_widen(pattern, &widened);
    *out = pcre2_compile((PCRE2_SPTR)(widened.at != NULL ? widened.at : ""), widened.n,
                         PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY,
                         &error, &at, context);
    pcre2_compile_context_free(context);
    str_free(&widened);
    if (*out == NULL) {
        unsigned char text[128] = "";
        pcre2_get_error_message(error, text, sizeof(text));
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "tokenizer: the split pattern is not understood at byte %zu: %s", at,
                         (const char *)text);
    }
    (void)pcre2_jit_compile(*out, PCRE2_JIT_COMPLETE); /* without it matching is only slower */
    return STATUS_OK;
}

enum status split_open(struct split *split, const char *const *patterns, int n_patterns,
                       struct fault *fault)
{
    *split = (struct split){ 0 };
    if (n_patterns > SPLIT_STAGES_MAX)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "tokenizer: %d split patterns one after another, at most %d", n_patterns,
                         SPLIT_STAGES_MAX);
    for (int i = 0; i < n_patterns; i++) {
        enum status status = compile(&split->stages[i], patterns[i], fault);
        if (status != STATUS_OK)
            return status;
        split->n_stages++;
    }
    return STATUS_OK;
}

void split_close(struct split *split)
{
    for (int i = 0; i < split->n_stages; i++)
        pcre2_code_free(split->stages[i]);
    *split = (struct split){ 0 };
}

static void *take(size_t n_bytes, void *of)
{
    (void)of;
    return mem_library_take(n_bytes);
}

static void give(void *p, void *of)
{
    (void)of;
    mem_library_give(p);
}

void split_work_init(struct split_work *work, const struct split *split)
{
    *work = (struct split_work){ .split = split };
    pcre2_general_context *memory = pcre2_general_context_create(take, give, NULL);
    CHECK(memory != NULL);
    for (int i = 0; i < split->n_stages; i++) {
        work->matches[i] = pcre2_match_data_create(1, memory);
        CHECK(work->matches[i] != NULL);
    }
    work->context = pcre2_match_context_create(memory);
    CHECK(work->context != NULL);
    pcre2_general_context_free(memory);
    pcre2_set_match_limit(work->context, MATCH_STEPS_MAX);
    pcre2_set_heap_limit(work->context, MATCH_MEMORY_KIB_MAX);
}

void split_work_free(struct split_work *work)
{
    for (int i = 0; i < work->split->n_stages; i++)
        pcre2_match_data_free(work->matches[i]);
    pcre2_match_context_free(work->context);
}

/* Finds the next match that is not empty at or after `from`. */
static bool find_match(struct split_work *work, int stage, struct view text, size_t from,
                       size_t bounds[2])
{
    const pcre2_code *code = work->split->stages[stage];
    pcre2_match_data *match = work->matches[stage];
    uint32_t options = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
    int rc = pcre2_match(code, (PCRE2_SPTR)text.at, text.n, from, options, match, work->context);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
        rc = pcre2_match(code, (PCRE2_SPTR)text.at, text.n, from, options | PCRE2_NO_JIT, match,
                         work->context);
    if (rc < 0)
        return false;
    const size_t *ends = pcre2_get_ovector_pointer(match);
    bounds[0] = ends[0];
    bounds[1] = ends[1];
    return ends[0] >= from && ends[1] > ends[0] && ends[1] <= text.n; /* \K may turn them round */
}

static void cut(struct split_work *work, int stage, struct view text)
{
    if (text.n == 0)
        return;
    if (stage == work->split->n_stages) {
        work->word(work->of, text);
        return;
    }
    size_t at = 0, bounds[2];
    while (at < text.n && find_match(work, stage, text, at, bounds)) {
        cut(work, stage + 1, view_of(text.at + at, bounds[0] - at));
        cut(work, stage + 1, view_of(text.at + bounds[0], bounds[1] - bounds[0]));
        at = bounds[1];
    }
    cut(work, stage + 1, view_of(text.at + at, text.n - at));
}

void split_work_run(struct split_work *work, struct view text)
{
    cut(work, 0, text);
}
