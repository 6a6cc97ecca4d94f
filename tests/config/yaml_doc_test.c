/* One document of YAML is accepted, and all other texts are refused with a sentence. */
#include "../test.h"
#include "config/yaml_doc.h"

static void refuse(const char *text, const char *sentence)
{
    yaml_document_t document;
    struct fault fault = { "" };
    assert_int_not_equal(yaml_doc_open(&document, "c.yaml", text, strlen(text), &fault), STATUS_OK);
    assert_string_equal(fault.text, sentence);
}

static void what_is_no_document_is_said(void **state)
{
    (void)state;
    refuse("a: &b x\nc: *b\n", "c.yaml:2:4: aliases (*name) are not supported");
    refuse("a: b\n---\na: c\n", "c.yaml:3:1: a second document begins here, expected one");
    refuse("a: b\n---\na: [\n", "c.yaml:4:1: did not find expected node content");
    refuse("a: [b\n", "c.yaml:2:1: did not find expected ',' or ']'");
    refuse("a: b\nc: \xff\n", "c.yaml:2:4: invalid leading UTF-8 octet");
}

static void tabs_are_named(void **state)
{
    static const char sentence[] = "c.yaml:2:1: a tab: lines of YAML begin with spaces only";
    (void)state;
    refuse("a:\n\tb: c\n", sentence);
    refuse("\xc3\xa4: b\n\tc: d\n", sentence);
    refuse("a:\n  \tb: c\n", "c.yaml:2:3: a tab: lines of YAML begin with spaces only");
    refuse("a: b\n@c: d\n", "c.yaml:2:1: found character that cannot start any token");
}

static void documents_are_walked(void **state)
{
    static const char *const empty[] = { "", "---\n", "# nothing\n", "--- \n...\n" };
    static const char text[] = "a: x\nb:\tc\nn: \"\\0\"\na: y\n";
    struct fault fault;
    yaml_document_t document;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(empty); i++) {
        enum status status = yaml_doc_open(&document, "c.yaml", empty[i], strlen(empty[i]), &fault);
        assert_int_equal(status, STATUS_OK);
        assert_null(yaml_doc_root(&document));
        yaml_document_delete(&document);
    }
    assert_int_equal(yaml_doc_open(&document, "c.yaml", text, strlen(text), &fault), STATUS_OK);
    const yaml_node_t *root = yaml_doc_root(&document);
    const yaml_node_pair_t *pairs = root->data.mapping.pairs.start;
    assert_null(yaml_doc_scalar(root));
    assert_string_equal(yaml_doc_scalar(yaml_document_get_node(&document, pairs[1].value)), "c");
    assert_null(yaml_doc_scalar(yaml_document_get_node(&document, pairs[2].value)));
    assert_false(yaml_doc_is_repeated(&document, root, &pairs[2], "n"));
    assert_true(yaml_doc_is_repeated(&document, root, &pairs[3], "a"));
    yaml_document_delete(&document);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_no_document_is_said),
                                        cmocka_unit_test(tabs_are_named),
                                        cmocka_unit_test(documents_are_walked) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
