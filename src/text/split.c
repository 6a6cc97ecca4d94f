/* Cutting by stages. When the steps of the text are spent nothing more is cut, and whoever asked
 * must not use the pieces. */
#include "text/split.h"

enum status split_open(struct split *split, const char *const *patterns, int n_patterns,
                       struct fault *fault)
{
    *split = (struct split){ 0 };
    if (n_patterns > SPLIT_STAGES_MAX)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "tokenizer: %d split patterns one after another, at most %d", n_patterns,
                         SPLIT_STAGES_MAX);
    for (int i = 0; i < n_patterns; i++) {
        enum status status = regex_open(&split->stages[i], view_text(patterns[i]), fault);
        if (status != STATUS_OK)
            return status;
        split->n_stages++;
    }
    return STATUS_OK;
}

void split_close(struct split *split)
{
    for (int i = 0; i < split->n_stages; i++)
        regex_close(&split->stages[i]);
    *split = (struct split){ 0 };
}

void split_work_init(struct split_work *work, const struct split *split)
{
    *work = (struct split_work){ .split = split };
    regex_work_init(&work->regex);
}

void split_work_free(struct split_work *work)
{
    regex_work_free(&work->regex);
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
    struct regex_walk walk;
    regex_walk_begin(&walk, &work->split->stages[stage], &work->regex, text);
    while (regex_walk_next(&walk, bounds)) {
        cut(work, stage + 1, view_of(text.at + at, bounds[0] - at));
        cut(work, stage + 1, view_of(text.at + bounds[0], bounds[1] - bounds[0]));
        at = bounds[1];
    }
    if (!work->regex.is_spent)
        cut(work, stage + 1, view_of(text.at + at, text.n - at));
}

void split_work_run(struct split_work *work, struct view text)
{
    cut(work, 0, text);
}
