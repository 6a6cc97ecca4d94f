/* The characters of settings: each kind, then every text setting, with hostile values through the
 * file, the environment and the command line. */
#include "test.h"

#include "base/str.h"
#include "config/options.h"
#include "config/table.h"
#include <ctype.h>

static void takes(enum config_text kind, const char *text)
{
    struct fault fault = { { 0 } };
    if (config_text_check(kind, "it", view_text(text), &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

static void refuses(enum config_text kind, const char *text, const char *sentence)
{
    struct fault fault = { { 0 } };
    assert_int_not_equal(config_text_check(kind, "it", view_text(text), &fault), STATUS_OK);
    assert_string_equal(fault.text, sentence);
}

static void config_text_knows_its_kinds(void **state)
{
    (void)state;
    takes(CONFIG_TEXT_WORD, "cpu:0-1,4");
    refuses(CONFIG_TEXT_WORD, "two words",
            "it has a space at byte 4, expected printable ASCII characters without spaces");
    takes(CONFIG_TEXT_NAME, "org/m\xC3\xB6 del:Q4");
    refuses(CONFIG_TEXT_NAME, "m ", "it begins or ends with a space");
    refuses(CONFIG_TEXT_NAME, "", "it is empty");
    refuses(CONFIG_TEXT_NAME, "a\xE2\x80\xAE",
            "it has a control character (U+202E) at byte 2, expected printable UTF-8");
    takes(CONFIG_TEXT_PATH, " /a b/\xC3\xA4 ");
    refuses(CONFIG_TEXT_PATH, "/a\xFF",
            "it has a byte that is no UTF-8 (0xff) at byte 3, expected printable UTF-8");
    takes(CONFIG_TEXT_KEY, "open sesame!");
    refuses(CONFIG_TEXT_KEY, "sesam\xC3\xA9",
            "it has a character outside ASCII (U+00E9) at byte 6, expected printable ASCII "
            "characters, as a header carries them");
    takes(CONFIG_TEXT_ADDRESS, "[::1]:7411");
}

static void config_text_takes_tenants_apart(void **state)
{
    (void)state;
    takes(CONFIG_TEXT_ADAPTER, "caf\xC3\xA9=/a=b");
    refuses(CONFIG_TEXT_ADAPTER, "/path",
            "it has a text that is not NAME=PATH, with a name without a "
            "colon");
    refuses(CONFIG_TEXT_ADAPTER, "a:b=/path",
            "it has a text that is not NAME=PATH, with a name without a "
            "colon");
    refuses(CONFIG_TEXT_ADAPTER, "a=",
            "it has a text that is not NAME=PATH, with a name without a "
            "colon");
    refuses(CONFIG_TEXT_ADAPTER, "a\n=/path",
            "an adapter's name in it has a control character (U+000A) at byte 2, expected "
            "printable UTF-8");
    takes(CONFIG_TEXT_TENANT, "caf\xC3\xA9=a=b");
    refuses(CONFIG_TEXT_TENANT, "secret", "it has a text that is not NAME=KEY");
    refuses(CONFIG_TEXT_TENANT, "=secret", "it has a text that is not NAME=KEY");
    refuses(CONFIG_TEXT_TENANT, "name=", "it has a text that is not NAME=KEY");
    refuses(CONFIG_TEXT_TENANT, "a\n=secret",
            "a tenant's name in it has a control character (U+000A) at byte 2, expected printable "
            "UTF-8");
    refuses(CONFIG_TEXT_TENANT, "a=secret\t",
            "a tenant's key in it has a control character (U+0009) at byte 7, expected printable "
            "ASCII characters, as a header carries them");
}

static void config_text_knows_origins(void **state)
{
    static const char *const wrong[] = {
        "pages.example",       "https://",       "https://:80", "://a", "https://a/", "https://a/b",
        "https://a,https://b", "https://user@a", "null"
    };
    (void)state;
    takes(CONFIG_TEXT_ORIGIN, "*");
    takes(CONFIG_TEXT_ORIGIN, "https://pages.example:8080");
    takes(CONFIG_TEXT_ORIGIN, "http://[::1]:3000");
    takes(CONFIG_TEXT_ORIGIN, "app://-");
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        refuses(CONFIG_TEXT_ORIGIN, wrong[i],
                "it is no origin, expected *, or a scheme and a host as in "
                "https://pages.example:8080");
}

/* ---- Every text setting. ---- */

enum { LONG_BYTES = 5000 };
static char long_text[LONG_BYTES + 1];

/* As YAML writes them in double quotes, and as bytes. Only a file can contain a zero byte, or a
 * character that only YAML escapes. */
static const struct hostile {
    const char *yaml, *bytes;
} hostile[] = {
    { "a\\nb", "a\nb" },
    { "a\\r\\nX-Evil: 1", "a\r\nX-Evil: 1" },
    { "\\n", "\n" },
    { "a\\n", "a\n" },
    { "\\ta", "\ta" },
    { "a\\x01b", "a\x01"
                 "b" },
    { "a\\e[2Jb", "a\x1b[2Jb" },
    { "a\\x7fb", "a\x7f"
                 "b" },
    { "a\\Nb", "a\xC2\x85"
               "b" }, /* a line's end, in Unicode */
    { "a\\Lb", "a\xE2\x80\xA8"
               "b" }, /* another */
    { "a\\u202eb", "a\xE2\x80\xAE"
                   "b" },
    { "a\\0b", NULL },
    { "\\0", NULL },
    { "a\xFF"
      "b",
      "a\xFF"
      "b" },
    { "a\xC0\x8A"
      "b",
      "a\xC0\x8A"
      "b" }, /* an overlong newline */
    { "a\xED\xA0\x80"
      "b",
      "a\xED\xA0\x80"
      "b" },
    { "a\xE2\x80", "a\xE2\x80" },
    { long_text, long_text },
    { "", "" },
};

/* The sentence is one line, and shows only the place of the value. */
static void check_sentence(const char *key, const struct fault *fault)
{
    if (fault->text[0] == '\0' || !utf8_is_valid(view_text(fault->text)))
        fail_msg("%s: no sentence", key);
    for (const char *at = fault->text; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            fail_msg("%s: a control character in \"%s\"", key, fault->text);
}

static bool is_text(const struct config_key *key)
{
    return key->type == CONFIG_TEXT || key->type == CONFIG_TEXTS;
}

/* Returns the beginning that a list requires of an entry, so that only the hostile part is
 * wrong. */
static const char *prefix_of(const struct config_key *key)
{
    return key->text == CONFIG_TEXT_TENANT || key->text == CONFIG_TEXT_ADAPTER ? "a=" : "";
}

/* Returns whether the value is a valid template, which may have lines and be long. */
static bool is_fine_template(const struct hostile *value)
{
    const char *at = value->bytes;
    while (at != NULL && *at != '\0' &&
           (*at == '\n' || *at == '\r' || *at == '\t' || (*at >= ' ' && *at <= '~')))
        at++;
    return at != NULL && *at == '\0' && at != value->bytes;
}

static struct config config;

static void by_file(const struct config_key *key, bool is_of_model, const struct hostile *value)
{
    struct str text;
    struct fault fault = { { 0 } };
    const char *dot = strchr(key->name, '.');
    assert_null(dot); /* no text setting is in a group */
    str_init(&text);
    if (is_of_model)
        str_printf(&text, "models: {m: {%s ", strcmp(key->name, "path") == 0 ? "" : "path: x,");
    str_printf(&text, key->type == CONFIG_TEXTS ? "%s: [\"%s%s\"]" : "%s: \"%s%s\"", key->name,
               prefix_of(key), value->yaml);
    str_add_text(&text, is_of_model ? "}}\n" : "\n");
    config_init(&config);
    if (config_parse(&config, "c", text.at, text.n, &fault) == STATUS_OK)
        fail_msg("a file may say %s", text.at);
    check_sentence(key->name, &fault);
    config_free(&config);
    str_free(&text);
}

static void by_environment(const struct config_key *key, const char *value)
{
    char name[96] = "SHOAL_";
    struct str text;
    struct fault fault = { { 0 } };
    for (size_t i = 0; key->name[i] && i + 7 < sizeof name; i++)
        name[i + 6] = (char)toupper((unsigned char)key->name[i]);
    str_init(&text);
    str_printf(&text, "%s%s", prefix_of(key), value);
    setenv(name, text.at, 1);
    config_init(&config);
    if (config_read_environment(&config, &fault) == STATUS_OK)
        fail_msg("the environment may say %s", name);
    assert_non_null(strstr(fault.text, name));
    check_sentence(key->name, &fault);
    config_free(&config);
    unsetenv(name);
    str_free(&text);
}

static bool parse_option(const char *option, struct fault *fault)
{
    char verb_name[] = "shoal test", copy[LONG_BYTES + 100];
    char *argv[] = { verb_name, copy, NULL };
    const struct options_verb verb = {
        .doc = "", .arguments = "", .has_config = true, .fault = fault
    };
    const char *plain[1];
    int n_plain;
    snprintf(copy, sizeof copy, "%s", option);
    config_init(&config);
    bool is_ok = config_options_parse(&verb, 2, argv, &config, plain, &n_plain);
    config_free(&config);
    return is_ok;
}

static void by_option(const char *name, const char *prefix, const char *value)
{
    struct str text;
    struct fault fault = { { 0 } };
    str_init(&text);
    str_printf(&text, "--%s=%s%s", name, prefix, value);
    for (size_t i = 2; text.at[i] != '='; i++)
        text.at[i] = text.at[i] == '_' ? '-' : text.at[i];
    if (parse_option(text.at, &fault))
        fail_msg("an option may be %s", text.at);
    check_sentence(name, &fault);
    str_free(&text);
}

static void config_text_is_checked_wherever_a_setting_comes_from(void **state)
{
    int n_globals, n_of_models, n_texts = 0;
    (void)state;
    memset(long_text, 'x', LONG_BYTES);
    const struct config_key *globals = config_table_globals(&n_globals);
    const struct config_key *of_models = config_table_models(&n_of_models);
    for (int i = 0; i < n_globals + n_of_models; i++) {
        bool is_of_model = i >= n_globals;
        const struct config_key *key = is_of_model ? &of_models[i - n_globals] : &globals[i];
        assert_int_equal(is_text(key), key->text != CONFIG_TEXT_NONE);
        n_texts += is_text(key);
        for (size_t h = 0; h < COUNT_OF(hostile) && is_text(key); h++) {
            if (key->text == CONFIG_TEXT_TEMPLATE && is_fine_template(&hostile[h]))
                continue;
            by_file(key, is_of_model, &hostile[h]);
            if (is_of_model || hostile[h].bytes == NULL)
                continue;
            by_environment(key, hostile[h].bytes);
            by_option(key->name, prefix_of(key), hostile[h].bytes);
        }
    }
    assert_true(n_texts > 20);
}

/* They are keys of a mapping, not rows of a table. */
static void config_text_of_models_names_is_checked(void **state)
{
    (void)state;
    memset(long_text, 'x', LONG_BYTES);
    for (size_t h = 0; h < COUNT_OF(hostile); h++) {
        struct str text;
        struct fault fault = { { 0 } };
        str_init(&text);
        str_printf(&text, "models: {? \"%s\" : {path: x}}\n", hostile[h].yaml);
        config_init(&config);
        if (config_parse(&config, "c", text.at, text.n, &fault) == STATUS_OK)
            fail_msg("a file may say %s", text.at);
        check_sentence("models", &fault);
        config_free(&config);
        str_free(&text);
        if (hostile[h].bytes == NULL)
            continue;
        by_option("model", "a=", hostile[h].bytes); /* as a path */
        str_init(&text);
        str_printf(&text, "%s=x", hostile[h].bytes);
        by_option("model", "", text.at);
        str_free(&text);
        if (hostile[h].bytes != long_text && hostile[h].bytes[0] != 0)
            by_option("model", "folder/", hostile[h].bytes); /* the name is the file's */
    }
}

/* Numbers are not text settings. The part of them that a message shows is still harmless. */
static void config_text_of_numbers_is_shown_as_one_line(void **state)
{
    int n_keys;
    (void)state;
    memset(long_text, 'x', LONG_BYTES);
    const struct config_key *keys = config_table_globals(&n_keys);
    for (int i = 0; i < n_keys; i++)
        for (size_t h = 0; h < COUNT_OF(hostile) && !is_text(&keys[i]); h++) {
            struct fault fault = { { 0 } };
            if (hostile[h].bytes == NULL)
                continue;
            config_init(&config);
            assert_int_not_equal(config_set(&config, keys[i].name, hostile[h].bytes, &fault),
                                 STATUS_OK);
            check_sentence(keys[i].name, &fault);
            config_free(&config);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(config_text_knows_its_kinds),
        cmocka_unit_test(config_text_takes_tenants_apart),
        cmocka_unit_test(config_text_knows_origins),
        cmocka_unit_test(config_text_is_checked_wherever_a_setting_comes_from),
        cmocka_unit_test(config_text_of_models_names_is_checked),
        cmocka_unit_test(config_text_of_numbers_is_shown_as_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
