/* The page needs nothing but its own files, and breaks no rule that it tells browsers. */
#include "test.h"
#include "page/page.h"
#include <ctype.h>
#include <string.h>

static const char *const paths[] = { "/",          "/page.css",    "/icon.svg", "/common.js",
                                     "/charts.js", "/markdown.js", "/board.js", "/chat.js" };

static const struct page_file *file_of(const char *path)
{
    const struct page_file *file = page_find(view_text(path));
    assert_non_null(file);
    return file;
}

static bool has(const struct page_file *file, const char *text)
{
    return memmem(file->bytes.at, file->bytes.n, text, strlen(text)) != NULL;
}

static void test_each_file_has_its_type(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        const char *type = file_of(paths[i])->type, *end = strrchr(paths[i], '.');
        assert_true(file_of(paths[i])->bytes.n > 0);
        assert_non_null(strstr(type, end == NULL                ? "text/html"
                                     : strcmp(end, ".css") == 0 ? "text/css"
                                     : strcmp(end, ".js") == 0  ? "javascript"
                                                                : "image/svg"));
    }
    assert_null(page_find(view_text("/index.html")));
    assert_null(page_find(view_text("/../page.c")));
    assert_null(page_find(view_text("")));
}

/* Checks each name behind mark: it is a file of the page, an anchor, or data of the server. */
static int check_names(const struct page_file *file, const char *mark)
{
    int n = 0;
    const char *at = file->bytes.at, *end = at + file->bytes.n;
    while ((at = memmem(at, (size_t)(end - at), mark, strlen(mark))) != NULL) {
        char path[64] = "/";
        size_t n_path = 1;
        at += strlen(mark);
        at += at[0] == '.' && at[1] == '/' ? 2 : 0;
        while (at < end && *at != '"' && n_path < sizeof(path) - 1)
            path[n_path++] = *at++;
        if (path[1] != '#')
            (void)file_of(path);
        n++;
    }
    return n;
}

static void test_each_named_file_exists(void **state)
{
    (void)state;
    assert_true(check_names(file_of("/"), "src=\"") >= 2);
    assert_true(check_names(file_of("/"), "href=\"") >= 2);
    for (size_t i = 3; i < COUNT_OF(paths); i++)
        assert_true(check_names(file_of(paths[i]), "from \"") > 0 || i == 3);
}

/* The policy forbids scripts, handlers and styles inside HTML. Text never becomes HTML. */
static void test_the_page_keeps_its_policy(void **state)
{
    (void)state;
    static const char *const banned[] = { "innerHTML",           "outerHTML", "insertAdjacentHTML",
                                          "document.write",      "eval(",     "new Function",
                                          "setAttribute(\"style" };
    const struct page_file *html = file_of("/");
    assert_false(has(html, "<style"));
    assert_false(has(html, " style="));
    assert_false(has(html, "<script>"));
    assert_false(has(html, " onclick="));
    assert_false(has(html, "http://"));
    assert_false(has(html, "https://"));
    for (size_t i = 3; i < COUNT_OF(paths); i++)
        for (size_t k = 0; k < COUNT_OF(banned); k++)
            assert_false(has(file_of(paths[i]), banned[k]));
    assert_non_null(strstr(PAGE_SECURITY_POLICY, "default-src 'none'"));
    assert_null(strstr(PAGE_SECURITY_POLICY, "unsafe"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_file_has_its_type),
        cmocka_unit_test(test_each_named_file_exists),
        cmocka_unit_test(test_the_page_keeps_its_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
