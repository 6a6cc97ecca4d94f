/* Reports in two forms: the same cells and sentences, aligned in text and escaped in HTML. */
#include "../test.h"
#include "base/doc.h"

static int count(const char *text, const char *what)
{
    int n = 0;
    for (; (text = strstr(text, what)) != NULL; text++)
        n++;
    return n;
}

static const struct doc_column columns[] = {
    { "NAME", "name", NULL, true },
    { "LATENCY s", "latency", "time \"until\" the end", false },
    { "NOTE", NULL, NULL, true },
};

static void fill(struct doc *doc)
{
    doc_say(doc, "%d models, a < b", 2);
    doc_part(doc, "in ");
    doc_part(doc, "parts");
    doc_end(doc);
    doc_gap(doc);
    for (int t = 0; t < 2; t++) {
        doc_table(doc, columns, COUNT_OF(columns));
        doc_cell(doc, "<b>");
        doc_part(doc, "1");
        doc_part(doc, ".5");
        doc_end(doc);
        doc_cell(doc, "short");
        doc_cell(doc, "caf\xc3\xa9-long");
        doc_cell(doc, "12345678901");
        doc_cell(doc, "%s", "");
        doc_table_end(doc);
    }
    doc_head(doc, "end");
}

static void text_is_aligned(void **state)
{
    static const char table[] = "NAME         LATENCY s  NOTE\n"
                                "<b>                1.5  short\n"
                                "caf\xc3\xa9-long  12345678901\n";
    struct str text, wanted;
    struct doc doc;
    (void)state;
    str_init(&text);
    str_init(&wanted);
    doc_init(&doc, &text, NULL);
    fill(&doc);
    str_printf(&wanted, "2 models, a < b\nin parts\n\n%s%send\n", table, table);
    assert_string_equal(text.at, wanted.at);
    doc_free(&doc);
    str_free(&wanted);
    str_free(&text);
}

static void html_is_escaped_and_whole(void **state)
{
    struct str html;
    struct doc doc;
    (void)state;
    str_init(&html);
    doc_init(&doc, NULL, &html);
    doc_page_open(&html, "T<itle");
    fill(&doc);
    doc_page_close(&html);
    assert_non_null(strstr(html.at, "<title>T&#60;itle</title>"));
    assert_non_null(strstr(html.at, "<p>2 models, a &#60; b</p>\n<p>in parts</p>"));
    assert_non_null(strstr(html.at, "<th scope=\"row\" class=\"l\">&#60;b&#62;</th><td>1.5</td>"));
    assert_null(strstr(html.at, "<b>"));
    assert_non_null(strstr(html.at, "title=\"time &#34;until&#34; the end\">latency</th>"));
    assert_int_equal(count(html.at, "<table>"), 2);
    assert_int_equal(count(html.at, "</table>"), 2);
    assert_int_equal(count(html.at, "<tr>"), 2 * 3);
    assert_int_equal(count(html.at, "</tr>"), 2 * 3);
    assert_int_equal(count(html.at, "<dl>"), 1); /* what the same columns mean is said once */
    assert_int_equal(count(html.at, "<dt>"), 1);
    assert_non_null(strstr(html.at, "<h2>end</h2>"));
    assert_null(strstr(html.at, "<pre"));
    assert_null(strstr(html.at, "<script"));
    doc_free(&doc);
    str_free(&html);
}

static void long_names_are_cut_between_characters(void **state)
{
    struct str html;
    (void)state;
    str_init(&html);
    doc_escape_short(&html, "\xc3\xa9\xc3\xa9\xc3\xa9<", 2);
    str_add_char(&html, '|');
    doc_escape_short(&html, "\xc3\xa9<", 2);
    str_add_char(&html, '|');
    doc_escape(&html, "a\n\x1b[31m\"&");
    assert_string_equal(html.at, "\xc3\xa9\xc3\xa9..|\xc3\xa9&#60;|a  [31m&#34;&#38;");
    str_free(&html);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_aligned),
        cmocka_unit_test(html_is_escaped_and_whole),
        cmocka_unit_test(long_names_are_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
