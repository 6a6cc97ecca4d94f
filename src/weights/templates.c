/* Lists of chat templates by name, and special tokens as the JSON object for templates. */
#include "weights/templates.h"
#include <string.h>

void weights_templates_init(struct weights_templates *templates, struct pile *pile)
{
    *templates = (struct weights_templates){ .pile = pile };
}

/* Checks a template's text. A zero byte would end it without notice. */
static enum status check_text(struct view name, struct view text, const char *label,
                              struct fault *fault)
{
    int n_name = (int)min_i64((int64_t)name.n, 80);
    if (!utf8_is_valid(name) || !utf8_is_valid(text))
        return fault_set(fault, STATUS_BAD_INPUT, "%s: the chat template isn't valid UTF-8", label);
    if (text.n > CARD_TEMPLATE_BYTES_MAX)
        return fault_set(fault, STATUS_TOO_LARGE,
                         "%s: the chat template \"%.*s\" has %zu bytes, the limit is %d", label,
                         n_name, name.at, text.n, CARD_TEMPLATE_BYTES_MAX);
    if (memchr(text.at, '\0', text.n) != NULL || memchr(name.at, '\0', name.n) != NULL)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%s: the chat template \"%.*s\" holds a zero byte", label, n_name,
                         name.at);
    return STATUS_OK;
}

enum status weights_templates_add(struct weights_templates *templates, struct view name,
                                  struct view text, const char *label, struct fault *fault)
{
    for (int32_t i = 0; i < templates->n; i++) {
        if (view_equal_text(name, templates->at[i].name))
            return STATUS_OK;
    }
    if (templates->n == WEIGHTS_TEMPLATES_MAX)
        return fault_set(fault, STATUS_TOO_LARGE, "%s: more than %d chat templates", label,
                         WEIGHTS_TEMPLATES_MAX);
    enum status status = check_text(name, text, label, fault);
    if (status != STATUS_OK)
        return status;
    if (templates->at == NULL)
        templates->at = pile_take(templates->pile, sizeof(*templates->at) * WEIGHTS_TEMPLATES_MAX);
    struct weights_template *added = &templates->at[templates->n++];
    added->name = pile_text(templates->pile, name.at, name.n);
    added->text = pile_text(templates->pile, text.at, text.n);
    return STATUS_OK;
}

void weights_templates_give(const struct weights_templates *templates, struct weights_card *card)
{
    card->templates = templates->at;
    card->n_templates = templates->n;
    for (int32_t i = 0; i < templates->n; i++) {
        if (strcmp(templates->at[i].name, "default") == 0)
            card->chat_template = templates->at[i].text;
    }
}

void weights_templates_specials_init(struct weights_specials *specials)
{
    str_init(&specials->text);
    json_out_init(&specials->json, &specials->text);
    json_out_open(&specials->json, '{');
    specials->n = 0;
}

void weights_templates_specials_add(struct weights_specials *specials, const char *name,
                                    struct view text)
{
    if (text.n == 0)
        return;
    json_out_key(&specials->json, name);
    json_out_view(&specials->json, text);
    specials->n++;
}

void weights_templates_specials_give(struct weights_specials *specials, struct pile *pile,
                                     struct weights_card *card)
{
    json_out_close(&specials->json, '}');
    if (specials->n > 0)
        card->specials_json = pile_text(pile, specials->text.at, specials->text.n);
    str_free(&specials->text);
}
