/* The changes that a reload may make: every setting in turn, and the keys. */
#include "test.h"

#include "config/table.h"
#include "serve/reload.h"

static struct config old, fresh;

static void read_into(struct config *config, const char *text)
{
    struct fault fault;
    config_init(config);
    if (config_parse(config, "c", text, strlen(text), &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
}

static void check(const char *before, const char *after, const char *sentence)
{
    struct fault fault = { { 0 } };
    read_into(&old, before);
    read_into(&fresh, after);
    enum status status = serve_reload_check(&old, &fresh, &fault);
    assert_string_equal(fault.text, sentence ? sentence : "");
    assert_int_equal(status == STATUS_OK, sentence == NULL);
    config_free(&old);
    config_free(&fresh);
}

/* In "+m+o-x", "+" precedes added models, and "-" removed ones. */
static void check_models(const char *before, const char *after, const char *adds,
                         const char *removes)
{
    struct serve_reload_models models;
    char text[64] = "";
    read_into(&old, before);
    read_into(&fresh, after);
    serve_reload_models(&old, &fresh, &models);
    for (int i = 0; i < models.n_adds; i++) {
        strcat(text, "+");
        strcat(text, fresh.models[models.adds[i]].name);
    }
    assert_string_equal(text, adds);
    text[0] = '\0';
    for (int i = 0; i < models.n_removes; i++) {
        strcat(text, "-");
        strcat(text, old.models[models.removes[i]].name);
    }
    assert_string_equal(text, removes);
    config_free(&old);
    config_free(&fresh);
}

/* Returns a value other than the default. */
static const char *sample_of(const struct config_key *key)
{
    static char number[32];
    switch (key->type) {
    case CONFIG_BOOL:
        return strcmp(key->name, "prefix_cache") == 0 ? "false" : "true";
    case CONFIG_TEXT:
    case CONFIG_TEXTS:
        return key->text == CONFIG_TEXT_TENANT || key->text == CONFIG_TEXT_ADAPTER ? "a=b"
               : key->text == CONFIG_TEXT_ORIGIN                                   ? "http://a"
                                                                                   : "sample";
    case CONFIG_DURATION:
        return "7s";
    default:
        snprintf(number, sizeof number, "%lld", (long long)(key->max - 1));
        return number;
    }
}

static bool is_live(const char *name)
{
    static const char *const live[] = { "api_key",    "api_key_file", "admin_key", "admin_key_file",
                                        "tenants",    "keyless",      "log_level", "log_json",
                                        "model_dirs", "quotas" };
    for (size_t i = 0; i < COUNT_OF(live); i++)
        if (strcmp(live[i], name) == 0)
            return true;
    return false;
}

static void reload_names_each_setting_that_needs_a_restart(void **state)
{
    int n_keys;
    (void)state;
    const struct config_key *keys = config_table_globals(&n_keys);
    for (int i = 0; i < n_keys; i++) {
        struct fault fault = { { 0 } };
        config_init(&old);
        config_init(&fresh);
        assert_int_equal(config_set(&fresh, keys[i].name, sample_of(&keys[i]), &fault), STATUS_OK);
        if (strcmp(keys[i].name, "tls_key") == 0) { /* they are set together */
            assert_int_equal(serve_reload_check(&old, &fresh, &fault), STATUS_OK);
        } else if (is_live(keys[i].name)) {
            assert_int_equal(serve_reload_check(&old, &fresh, &fault), STATUS_OK);
        } else {
            char sentence[128];
            snprintf(sentence, sizeof sentence, "%s: this changes with a restart only",
                     keys[i].name);
            assert_int_equal(serve_reload_check(&old, &fresh, &fault), STATUS_BAD_INPUT);
            assert_string_equal(fault.text, sentence);
            /* And they are removed again. */
            assert_int_equal(serve_reload_check(&fresh, &old, &fault), STATUS_BAD_INPUT);
        }
        config_free(&old);
        config_free(&fresh);
    }
}

static void reload_names_models(void **state)
{
    int n_keys;
    (void)state;
    const struct config_key *keys = config_table_models(&n_keys);
    for (int i = 0; i < n_keys; i++) {
        char text[200], sentence[128];
        const char *dot = strchr(keys[i].name, '.');
        const char *format = dot ? "models: {m: {path: p, %.*s: {%s: %s}}}"
                             : keys[i].type == CONFIG_TEXTS ? "models: {m: {path: p, %.*s%s: [%s]}}"
                                                            : "models: {m: {path: p, %.*s%s: %s}}";
        int n_group = dot ? (int)(dot - keys[i].name) : 0;
        if (strcmp(keys[i].name, "path") == 0)
            continue;
        snprintf(text, sizeof text, format, n_group, keys[i].name, dot ? dot + 1 : keys[i].name,
                 sample_of(&keys[i]));
        snprintf(sentence, sizeof sentence, "model m: %s: this changes with a restart only",
                 keys[i].name);
        bool is_for_planners = strcmp(keys[i].name, "rate") == 0 ||
                               strcmp(keys[i].name, "prompt_tokens") == 0 ||
                               strcmp(keys[i].name, "output_tokens") == 0;
        check("models: {m: {path: p}}", text, is_for_planners ? sentence : NULL);
        check_models("models: {m: {path: p}}", text, "+m", "-m");
        check(text, text, NULL);
        check_models(text, text, "", "");
    }
    check("placement: f\nmodels: {m: {path: p}}", "placement: f\nmodels: {m: {path: q}}",
          "model m: path: this changes with a restart only");
    check("placement: f\nmodels: {m: {path: p}}",
          "placement: f\nmodels: {m: {path: p}, o: {path: p}}",
          "new model o: this changes with a restart only");
}

static void reload_finds_the_models_that_are_others(void **state)
{
    (void)state;
    check_models("models: {m: {path: p}, n: {path: p}}", "models: {n: {path: p}, o: {path: p}}",
                 "+o", "-m");
    check_models("models: {m: {path: p}, n: {path: p}}", "models: {n: {path: p}, m: {path: p}}", "",
                 "");
    check_models("models: {m: {path: p}, n: {path: p}}",
                 "models: {n: {path: q}, m: {path: p, aliases: [a]}, o: {path: p}}", "+n+m+o",
                 "-m-n");
    check_models("models: {m: {path: p, devices: [cpu]}}", "models: {m: {path: p}}", "+m", "-m");
    check_models("models: {m: {path: p}}", "", "", "-m");
    check_models("", "models: {m: {path: p}}", "+m", "");
}

static void reload_lists_as_many_names_as_fit(void **state)
{
    (void)state;
    check("", "max_batch: 3\ncors_origin: http://a\n",
          "cors_origin, max_batch: these change with a restart only");
    check("",
          "max_batch: 3\ncors_origin: http://a\nmax_requests: 3\nmax_batch_tokens: 33\n"
          "max_connections: 3\nmax_body: 1MiB\nchunk_tokens: 0\nprefix_cache: false\nstrict: true\n"
          "router_thresholds: [a=1]\nthresholds: [a=1]\nlog_engine_bytes: 1MiB\nlisten: :1\n"
          "swap_bytes: 1MiB\n",
          "listen, cors_origin, thresholds, router_thresholds, log_engine_bytes, swap_bytes, "
          "max_requests, max_batch, max_batch_tokens, chunk_tokens and 4 more change with a "
          "restart only");
}

static void reload_keeps_the_last_key(void **state)
{
    static const char *const open = "api_key and tenants are gone, so that all clients could call: "
                                    "set keyless: true if this is meant";
    (void)state;
    check("api_key: a\n", "", open);
    check("tenants: [a=b]\n", "", open);
    check("tenants: [a=b]\n", "tenants: []\n", open);
    check("api_key: a\ntenants: [a=b]\n", "admin_key: c\n", open);
    check("api_key: a\n", "keyless: true\n", NULL);
    check("keyless: true\napi_key: a\n", "", open); /* the file's present content counts */
    check("api_key: a\n", "tenants: [a=b]\n", NULL);
    check("tenants: [a=b, c=d]\n", "tenants: [e=f]\n", NULL);
    check("", "api_key: a\n", NULL);
}

static void reload_keeps_the_admin_key_and_tls(void **state)
{
    (void)state;
    check("admin_key: a\n", "", "admin_key is gone: set keyless: true if this is meant");
    check("api_key: b\nadmin_key: a\n", "api_key: b\n",
          "admin_key is gone: set keyless: true if this is meant");
    check("admin_key: a\n", "admin_key: b\n", NULL);
    check("admin_key: a\n", "keyless: true\n", NULL);
    check("tls_cert: a\ntls_key: b\n", "keyless: true\n",
          "tls_cert: this changes with a restart only");
    check("", "tls_cert: a\ntls_key: b\n", "tls_cert: this changes with a restart only");
    check("tls_cert: a\ntls_key: b\n", "tls_cert: c\ntls_key: d\n", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reload_names_each_setting_that_needs_a_restart),
        cmocka_unit_test(reload_names_models),
        cmocka_unit_test(reload_finds_the_models_that_are_others),
        cmocka_unit_test(reload_lists_as_many_names_as_fit),
        cmocka_unit_test(reload_keeps_the_last_key),
        cmocka_unit_test(reload_keeps_the_admin_key_and_tls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
