/* Offers calls, finds the marks of reasoning in the prompt, and writes both ahead of the grammar.
 */
#include "api/guide.h"

#include "calls/parser.h"
#include "grammar/grammar.h"
#include <string.h>

static bool ends_with(struct view text, const char *mark)
{
    size_t n = strlen(mark);
    while (text.n > 0 && strchr(" \t\r\n", text.at[text.n - 1]) != NULL)
        text.n--;
    return text.n >= n && memcmp(text.at + text.n - n, mark, n) == 0;
}

/* Sets the marks of the reasoning that an answer may have. */
static void find_marks(const struct api_ask *ask, const struct calls_style *style,
                       struct view prompt, struct grammar_thought *thought)
{
    bool has_begun = calls_parser_starts_in_reasoning(style, prompt);
    bool may_begin = !has_begun && !ask->thinking.is_off && style->think_open != NULL &&
                     !ends_with(prompt, style->think_close);
    /* An answer that is not split is all of it the grammar's. */
    bool is_split = !ask->tools.is_raw && !ask->continue_final_message;
    if ((!has_begun && !may_begin) || (ask->guided.kind != GRAMMAR_NONE && !is_split))
        return;
    thought->close = view_text(style->think_close);
    thought->open = has_begun ? view_of("", 0) : view_text(style->think_open);
}

static void check_bound(const struct api_thinking *thinking, const struct calls_style *style,
                        bool has_grammars, struct api_error *error)
{
    if (thinking->field != NULL && !has_grammars && !thinking->is_wish)
        api_error_set(error, ERROR_INVALID, thinking->field,
                      "%s needs grammars, which this server does not have: leave it out",
                      thinking->field);
    else if (thinking->field != NULL && style->think_open == NULL && !thinking->is_wish)
        api_error_set(error, ERROR_INVALID, thinking->field,
                      "%s needs a model whose chat template shows the marks of reasoning",
                      thinking->field);
}

void api_guide_make(struct api_guide *guide, struct api_ask *ask, const struct api_model *model,
                    const struct view *prompt, struct grammar_cache *grammars,
                    struct api_error *error)
{
    const struct calls_style *style = &model->style;
    bool offers = ask->guided.kind == GRAMMAR_NONE && ask->tools.calls.n > 0;
    if (offers && style->format != NULL)
        api_guided_offer_calls(&guide->offered, &ask->pile, &ask->tools, model, grammars);
    const struct api_guided *guided = offers ? &guide->offered : &ask->guided;
    bool is_bounded = grammars != NULL || !ask->thinking.is_wish; /* a wish may be ignored */
    struct grammar_thought thought = { .n_max = is_bounded ? ask->thinking.n_max : -1,
                                       .kind = (enum grammar_kind)guided->kind,
                                       .jumps = guide->jumps && guided->kind != GRAMMAR_NONE,
                                       .text = guided->text };
    check_bound(&ask->thinking, style, grammars != NULL, error);
    if (prompt != NULL)
        find_marks(ask, style, *prompt, &thought);
    guide->may_think = thought.close.n > 0;
    guide->kind = guided->kind;
    guide->text = guided->text;
    bool has_thoughts = thought.close.n > 0 && (thought.n_max >= 0 || thought.kind != GRAMMAR_NONE);
    if (!has_thoughts && !thought.jumps)
        return;
    struct str text;
    str_init(&text);
    grammar_thought_write(&thought, &text);
    guide->kind = GRAMMAR_THOUGHT;
    guide->text = view_of(pile_text(&ask->pile, text.at, text.n), text.n);
    str_free(&text);
}
