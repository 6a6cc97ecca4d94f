/* Probes: short conversations with words that appear nowhere else.
 *
 * When a template accepts a form, it shows the words unchanged. When it does not, it loses them,
 * fails, or writes them as Python or JSON does. */
#include "template/chat_probe.h"
#include "template/chat_template.h"
#include <string.h>

enum { PROBE_STEPS_MAX = 1 << 17 };

#define WORD  "shoalprobe"
#define KEY   "shoalkey"
#define VALUE "shoalvalue"

static const char *const parts[] = { WORD };

static bool has(const struct str *out, const char *text)
{
    return out->n > 0 && memmem(out->at, out->n, text, strlen(text)) != NULL;
}

static const char tools_json[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"" KEY "\",\"description\":\"x\","
    "\"parameters\":{\"type\":\"object\",\"properties\":{},\"required\":[]}}}]";

/* Renders options with these needs, not with those found so far. */
static bool renders_options(struct chat_template *t, const struct chat_options *options,
                            struct chat_needs needs, struct str *out)
{
    struct fault fault;
    t->needs = needs;
    str_clear(out);
    return chat_template_run(t, options, NULL, PROBE_STEPS_MAX, out, &fault) == STATUS_OK;
}

static bool renders(struct chat_template *t, const struct chat_message *messages, int n_messages,
                    struct chat_needs needs, struct str *out)
{
    struct chat_options options = { .messages = messages,
                                    .n_messages = n_messages,
                                    .add_generation_prompt = true };
    return renders_options(t, &options, needs, out);
}

/* Returns whether the name of an offered function is shown. */
static bool shows_tools(struct chat_template *t, struct str *out)
{
    const struct chat_message messages[] = { { .role = "system", .content = "x" },
                                             { .role = "user", .content = "y" } };
    struct chat_options options = { .messages = messages + 1,
                                    .n_messages = 1,
                                    .add_generation_prompt = true,
                                    .tools_json = tools_json };
    struct chat_needs needs = t->needs;
    if (renders_options(t, &options, needs, out) && has(out, KEY))
        return true;
    options.messages = messages;
    options.n_messages = 2;
    return renders_options(t, &options, needs, out) && has(out, KEY);
}

/* Returns whether a user's content in this form is shown. Some templates require a system message
 * first. */
static bool shows_content(struct chat_template *t, bool as_parts, struct str *out)
{
    const struct chat_message messages[] = {
        { .role = "system", .content = "x", .parts = as_parts ? parts : NULL, .n_parts = as_parts },
        { .role = "user", .content = WORD, .parts = as_parts ? parts : NULL, .n_parts = as_parts },
    };
    struct chat_needs needs = { .text = !as_parts, .parts = as_parts };
    bool is_shown = (renders(t, messages + 1, 1, needs, out) && has(out, WORD)) ||
                    (renders(t, messages, 2, needs, out) && has(out, WORD));
    bool is_written =
        has(out, "'text': '" WORD) || has(out, "\"text\": \"" WORD) || has(out, "\"text\":\"" WORD);
    return is_shown && !is_written;
}

/* Renders a call of a tool and its result. */
static bool renders_call(struct chat_template *t, const char *more_json, struct str *out)
{
    const struct chat_message messages[] = {
        { .role = "user", .content = "x" },
        { .role = "assistant", .content = "", .more_json = more_json },
        { .role = "tool",
          .content = "y",
          .name = "probe",
          .more_json = "{\"tool_call_id\":\"call00001\"}" },
    };
    struct chat_needs needs = t->needs;
    needs.objects = false;
    return renders(t, messages, 3, needs, out) || renders(t, messages, 2, needs, out);
}

#define CALL(arguments)                                                                            \
    "{\"tool_calls\":[{\"id\":\"call00001\",\"type\":\"function\",\"function\":{\"name\":"         \
    "\"probe\",\"arguments\":" arguments "}}]}"

static bool needs_objects(struct chat_template *t, struct str *out)
{
    bool takes_text = renders_call(t, CALL("\"{\\\"" KEY "\\\": \\\"" VALUE "\\\"}\""), out) &&
                      has(out, "{\"" KEY "\": \"" VALUE "\"}");
    bool takes_objects = renders_call(t, CALL("{\"" KEY "\": \"" VALUE "\"}"), out) &&
                         has(out, KEY) && has(out, VALUE) && !has(out, "{'" KEY);
    return takes_objects && !takes_text;
}

void chat_probe(struct chat_template *t)
{
    struct str out;
    str_init(&out);
    struct chat_needs found = { .text = shows_content(t, false, &out) };
    found.parts = shows_content(t, true, &out);
    t->needs = found;
    found.objects = needs_objects(t, &out);
    t->needs = found;
    found.tools = shows_tools(t, &out);
    t->needs = found;
    str_free(&out);
}
