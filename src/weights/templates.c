/* Lists of chat templates by name, and special tokens as the JSON object that templates get. */
#include "weights/templates.h"
#include <string.h>

void weights_templates_init(struct weights_templates *templates, struct pile *pile)
{
    *templates = (struct weights_templates){ .pile = pile };
}

enum status weights_templates_add(struct weights_templates *templates, const char *name,
                                  const char *text, const char *label, struct fault *fault)
{
    for (int32_t i = 0; i < templates->n; i++) {
        if (strcmp(templates->at[i].name, name) == 0)
            return STATUS_OK;
    }
    if (templates->n == WEIGHTS_TEMPLATES_MAX)
        return fault_set(fault, STATUS_TOO_LARGE, "%s: more than %d chat templates", label,
                         WEIGHTS_TEMPLATES_MAX);
    if (templates->at == NULL)
        templates->at =
            pile_take(templates->pile, sizeof(*templates->at) * WEIGHTS_TEMPLATES_MAX);
    templates->at[templates->n++] = (struct weights_template){ name, text };
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

void weights_templates_specials_add(struct weights_specials *specials, const char *name, struct view text)
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
