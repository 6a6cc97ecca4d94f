/* Reads the settings of a server from all their sources. */
#include "serve/settings.h"

#include "api/http_listen.h"
#include "base/file.h"
#include "base/mem.h"
#include "config/model_template.h"
#include "config/options.h"
#include "config/text.h"
#include <stdio.h>
#include <string.h>

enum { KEY_FILE_BYTES_MAX = 4096 };

static enum status check_regular(const char *path, struct fault *fault)
{
    struct file_map map;
    enum status status = file_map_open(&map, path, fault);
    if (status == STATUS_OK)
        file_map_close(&map);
    return status;
}

enum status serve_settings_read(struct config *config, const struct serve_words *words,
                                bool is_reload, struct fault *fault)
{
    const char *plain[1];
    int n_plain;
    const struct options_verb verb = { .doc = words->doc,
                                       .arguments = "[CONFIG.yaml]",
                                       .has_config = true,
                                       .n_max = 1,
                                       .fault = fault };
    struct options_given given; /* the command line names the file, and overrides it */
    config_init(config);
    enum status status = STATUS_BAD_INPUT;
    if (config_options_read(&verb, words->argc, words->argv, &given, plain, &n_plain))
        status = n_plain > 0 && is_reload ? check_regular(plain[0], fault) : STATUS_OK;
    if (n_plain > 0 && status == STATUS_OK)
        status = config_read(config, plain[0], fault);
    if (status == STATUS_OK)
        status = config_read_environment(config, fault);
    if (status == STATUS_OK && !config_options_apply(&verb, &given, config))
        status = STATUS_BAD_INPUT;
    config_options_free(&given);
    return status;
}

/* The first line of a key file. */
static enum status read_key(struct config *config, const char *path, const char **key,
                            struct fault *fault)
{
    char *content, what[80];
    size_t n_bytes;
    enum status status = file_read(path, KEY_FILE_BYTES_MAX, &content, &n_bytes, fault);
    if (status != STATUS_OK)
        return status;
    const char *end = memchr(content, '\n', n_bytes);
    struct view line = view_of(content, end != NULL ? (size_t)(end - content) : n_bytes);
    line.n -= line.n > 0 && line.at[line.n - 1] == '\r';
    snprintf(what, sizeof what, "the key in %.60s", path);
    status = config_text_check(CONFIG_TEXT_KEY, what, line, fault);
    if (status == STATUS_OK)
        *key = pile_text(&config->pile, line.at, line.n);
    mem_give(content);
    return status;
}

static enum status read_key_of(struct config *config, bool is_reload, const char *name,
                               const char *path, const char **key, struct fault *fault)
{
    if (path == NULL)
        return STATUS_OK;
    if (*key != NULL)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "both %s and %s_file are set, and only one of them can be the key", name,
                         name);
    enum status status = is_reload ? check_regular(path, fault) : STATUS_OK;
    return status == STATUS_OK ? read_key(config, path, key, fault) : status;
}

enum status serve_settings_read_keys(struct config *config, bool is_reload, struct fault *fault)
{
    enum status status =
        read_key_of(config, is_reload, "api_key", config->api_key_file, &config->api_key, fault);
    if (status == STATUS_OK)
        status = read_key_of(config, is_reload, "admin_key", config->admin_key_file,
                             &config->admin_key, fault);
    return status;
}

enum status serve_settings_check(const struct config *config, struct fault *fault)
{
    enum status status = config_check(config, fault);
    if (status == STATUS_OK && config->default_chat_template != NULL)
        status = model_template_check_default(config->default_chat_template, fault);
    if (status == STATUS_OK && config->n_models == 0)
        status = fault_set(fault, STATUS_BAD_INPUT,
                           "no models: give --model NAME=PATH or a configuration");
    if (status == STATUS_OK)
        status = api_http_listen_tls_check(config->tls_cert, config->tls_key, fault);
    return status;
}

enum status serve_settings_open(struct config *config, const struct serve_words *words,
                                bool is_reload, struct fault *fault)
{
    enum status status = serve_settings_read(config, words, is_reload, fault);
    if (status == STATUS_OK)
        status = serve_settings_read_keys(config, is_reload, fault);
    if (status == STATUS_OK)
        status = serve_settings_check(config, fault);
    return status;
}
