/* Results of the probes for several templates. */
#include "base/base.h"
#include "template/chat.h"
#include "test.h"

#define EACH(body)   "{% for m in messages %}" body "{% endfor %}"
#define LOOP         "{% for p in m.content %}{{ p.text }}{% endfor %}"
#define CALLS(shown) EACH("{{ m.content }}{% for c in m.tool_calls or [] %}" shown "{% endfor %}")

static const struct {
    const char *text, *needs;
} rows[] = {
    { EACH("{{ m.content }}"), "text" },
    { EACH("{{ m['content']|trim }}"), "text" },
    { EACH("{{ 'x' + m.content }}"), "text" },
    { EACH(LOOP), "parts" },
    { EACH("{{ m.content[0].text }}"), "parts" },
    { EACH("{% if m.content is string %}{{ m.content }}{% else %}" LOOP "{% endif %}"),
      "text parts" },
    { EACH("{{ m.content|tojson }}"), "text" },
    { EACH("{% if m.content is string %}{{ m.content|upper }}{% endif %}"), "" },
    { "no messages at all", "" },
    /* a template that requires a system message before the user's */
    { "{% if messages[0].role != 'system' %}{{ raise_exception('!') }}{% endif %}" EACH(
          "{{ m.content }}"),
      "text" },
    { CALLS("{{ c.function.arguments }}"), "text" },
    { CALLS("{{ c.function.arguments|tojson }}"), "text objects" },
    { CALLS("{% for k, v in c.function.arguments|items %}{{ k }}={{ v }}{% endfor %}"),
      "text objects" },
    { CALLS("{{ c.function|tojson }}"), "text objects" },
    { CALLS("{% if c.function.arguments is string %}{{ c.function.arguments }}{% else %}"
            "{{ c.function.arguments|tojson }}{% endif %}"),
      "text" },
    { CALLS("{{ c.function.name }}"), "text" },
    /* it would run for ever: a probe has its own limit of steps */
    { "{% for i in range(90000) %}{% for j in range(90000) %}{% endfor %}{% endfor %}", "" },
};

static void forms_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct chat_source source = { .text = rows[i].text };
        struct chat_template *t;
        struct fault fault;
        assert_int_equal(chat_template_open(&t, &source, &fault), STATUS_OK);
        struct chat_needs needs = chat_template_needs(t);
        struct str found;
        str_init(&found);
        str_printf(&found, "%s%s%s%s%s", needs.text ? "text" : "",
                   needs.text && needs.parts ? " " : "", needs.parts ? "parts" : "",
                   needs.objects ? " " : "", needs.objects ? "objects" : "");
        if (!view_equal_text(view_of(found.at, found.n), rows[i].needs))
            fail_msg("%s: \"%s\", expected \"%s\"", rows[i].text, found.at, rows[i].needs);
        str_free(&found);
        chat_template_close(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(forms_are_found) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
