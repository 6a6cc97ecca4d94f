/* Rendering tables of templates. */
#include "template/chat.h"
#include "render.h"
#include "test.h"

/* The variables of cases without their own. */
static const char usual_kwargs[] =
    "{\"a\": [3, 1, 2], \"s\": \"Hello, World\", \"d\": {\"b\": 2, \"A\": 1, \"c\": [1, {\"x\": "
    "null}]},"
    "\"n\": null, \"f\": 2.5, \"t\": true, \"e\": [], \"u\": \"h\303\251\303\237 \344\270\255\","
    "\"l\": [{\"role\": \"user\", \"n\": 1}, {\"role\": \"tool\", \"n\": 2}, {\"role\": "
    "\"user\"}]}";

static bool passes(const struct render_case *c)
{
    struct chat_template *t = NULL;
    struct fault fault = { "" };
    struct str out;
    str_init(&out);
    struct chat_options options = { .kwargs_json = c->kwargs != NULL ? c->kwargs : usual_kwargs };
    const struct chat_source source = { c->source, "{\"bos_token\":\"<s>\"}",
                                        "2026-01-31T09:05:07" };
    enum status status = chat_template_open(&t, &source, &fault);
    if (status == STATUS_OK)
        status = chat_template_render(t, &options, &out, &fault);
    bool is_named = c->says == NULL
                        ? status != STATUS_UNSUPPORTED
                        : status == STATUS_UNSUPPORTED && strstr(fault.text, c->says) != NULL;
    bool is_equal = c->expected == NULL ? status != STATUS_OK && is_named
                                        : status == STATUS_OK &&
                                              view_equal_text(view_of(out.at, out.n), c->expected);
    if (!is_equal)
        printf("%s\n  got      <%s> %s\n  expected <%s>\n", c->source, out.at != NULL ? out.at : "",
               fault.text, c->expected != NULL ? c->expected : "a refusal");
    chat_template_close(t);
    str_free(&out);
    return is_equal;
}

void render_expect(const struct render_case *cases, size_t n)
{
    size_t n_failed = 0;
    for (size_t i = 0; i < n; i++)
        n_failed += !passes(&cases[i]);
    assert_int_equal(n_failed, 0);
}
