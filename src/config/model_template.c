/* A configured template is a file, a text (with a tag or a second line), the word chatml, or the
 * name of one of the model's own. */
#include "config/model_template.h"
#include "base/file.h"
#include "base/mem.h"
#include <stdio.h>
#include <string.h>

enum { TEMPLATE_BYTES_MAX = 1 << 20 };

static const char *own_template(const struct weights_card *card, const char *name)
{
    for (int32_t i = 0; i < card->n_templates; i++) {
        if (strcmp(card->templates[i].name, name) == 0)
            return card->templates[i].text;
    }
    return NULL;
}

static bool is_text(const char *value)
{
    return strstr(value, "{{") != NULL || strstr(value, "{%") != NULL ||
           strstr(value, "{#") != NULL || strchr(value, '\n') != NULL;
}

/* Reads the text of a setting, for mem_give. */
static enum status read_configured(const struct weights_card *card, const char *value, char **text,
                                   struct fault *fault)
{
    const char *own = own_template(card, value);
    size_t n_bytes;
    *text = NULL;
    if (strcmp(value, "chatml") == 0)
        *text = mem_copy_text(chat_chatml);
    else if (own != NULL || is_text(value))
        *text = mem_copy_text(own != NULL ? own : value);
    if (*text != NULL)
        return STATUS_OK;
    enum status status = file_read_regular(value, TEMPLATE_BYTES_MAX, text, &n_bytes, fault);
    if (status == STATUS_OK && strlen(*text) != n_bytes)
        status = fault_set(fault, STATUS_BAD_INPUT, "%.160s holds a zero byte", value);
    return status;
}

/* Explains that a model has templates, but none is the default. */
static void name_templates(const struct weights_card *card, struct fault *why)
{
    struct str names;
    str_init(&names);
    for (int32_t i = 0; i < card->n_templates; i++)
        str_printf(&names, "%s%s", i > 0 ? ", " : "", card->templates[i].name);
    (void)fault_set(why, STATUS_NOT_FOUND,
                    "none of its templates (%.120s) is the default; name one with chat_template",
                    names.at);
    str_free(&names);
}

enum status model_template_open(struct chat_template **out, const struct weights_card *card,
                                const struct model_template_options *options, struct fault *why,
                                struct fault *fault)
{
    const char *value = options->wanted;
    bool has_own = card->n_templates > 0;
    struct chat_source source = { .text = card->chat_template,
                                  .specials_json = card->specials_json,
                                  .time = options->time };
    struct fault inner = { "" };
    char *text = NULL;
    *out = NULL;
    *why = (struct fault){ "" };
    if (value == NULL && !has_own)
        value = options->fallback;
    if (value == NULL && card->chat_template == NULL) {
        if (has_own)
            name_templates(card, why);
        return STATUS_OK;
    }
    if (value == NULL) {
        (void)!chat_template_open(out, &source, why);
        return STATUS_OK;
    }
    enum status status = read_configured(card, value, &text, &inner);
    source.text = text;
    if (status == STATUS_OK)
        status = chat_template_open(out, &source, &inner);
    mem_give(text);
    if (status != STATUS_OK)
        return fault_set(fault, status, "%s: %.200s",
                         options->wanted != NULL ? "chat_template" : "default_chat_template",
                         inner.text);
    return STATUS_OK;
}

enum status model_template_check_default(const char *fallback, struct fault *fault)
{
    const struct weights_card without = { .n_templates = 0 };
    const struct model_template_options options = { .fallback = fallback };
    struct chat_template *template;
    struct fault why;
    enum status status = model_template_open(&template, &without, &options, &why, fault);
    if (template != NULL)
        chat_template_close(template);
    return status;
}
