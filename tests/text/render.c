/* Rendering tables of templates. */
#include "render.h"
#include "test.h"
#include "text/chat.h"

static bool passes(const struct render_case *c)
{
    struct chat_template *t = NULL;
    struct fault fault = { "" };
    struct str out;
    str_init(&out);
    struct chat_options options = { .kwargs_json = c->kwargs };
    const struct chat_source source = { c->source, "{\"bos_token\":\"<s>\"}",
                                        "2026-01-31T09:05:07" };
    enum status status = chat_template_open(&t, &source, &fault);
    if (status == STATUS_OK)
        status = chat_template_render(t, &options, &out, &fault);
    bool is_equal = c->expected == NULL ? status != STATUS_OK
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
