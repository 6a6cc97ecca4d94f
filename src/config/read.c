/* Reads the configuration: libyaml's document against the table of keys. */
#include "config/config.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/near.h"
#include "base/time.h"
#include "config/table.h"
#include "config/yaml_doc.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void config_init(struct config *config)
{
    *config = (struct config){
        .listen = "127.0.0.1:7411",
        .preset = "default",
        .kv_type = "f16",
        .speculation = "off",
        .cluster = "shoal",
        .store_lease_ns = 5 * TIME_NS_PER_S,
        .n_node_slots = 16,
        .n_node_engines = 4,
        .monitor_ns = 600 * TIME_NS_PER_S,
        .replacement = "advise",
        .replan_ns = 600 * TIME_NS_PER_S,
        .log_level = "info",
        .engine_kind = "threads",
        .arithmetic = "default",
        .n_requests_max = 4096,
        .n_batch_max = 64,
        .n_batch_tokens_max = 512,
        .chunk_tokens = 256,
        .n_connections_max = 16384,
        .n_quota_gateways = 1,
        .n_usage_days = 400,
        .body_bytes_max = 16 << 20,
        .body_ns_max = 60 * TIME_NS_PER_S,
        .drain_ns = 30 * TIME_NS_PER_S,
        .stall_ns = 30 * TIME_NS_PER_S,
        .hold_ns = 120 * TIME_NS_PER_S,
        .n_held_max = 1024,
        .keep_alive_ns = 300 * TIME_NS_PER_S,
        .profile_ns = 500 * TIME_NS_PER_MS,
        .report_ns = 100 * TIME_NS_PER_MS,
        .model_stall_ns = 30 * TIME_NS_PER_S,
        .log_engine_bytes = INT64_C(1) << 30,
        .kv_disk_bytes = INT64_C(16) << 30,
        .responses_bytes = 64 << 20,
        .has_prefix_cache = true,
    };
    pile_init(&config->pile);
}

void config_free(struct config *config)
{
    pile_free(&config->pile);
}

static void init_model(struct config_model *model, const char *name)
{
    *model = (struct config_model){
        .ttft_ms = -1, .tpot_ms = -1, .e2e_ms = -1, .keep_alive_ns = CONFIG_UNSET, .rate_per_s = -1
    };
    memcpy(model->name, name, strnlen(name, LIMIT_NAME_BYTES - 1));
}

static const struct config_key *find_key(const struct config_key *keys, int n, const char *name)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    }
    return NULL;
}

/* ---- Walking the document. ---- */

struct walk {
    yaml_document_t document;
    struct config *config;
    const char *name;
    struct fault *fault;
};

static enum status complain(struct walk *walk, const yaml_node_t *node, const char *sentence)
{
    return yaml_doc_fault(walk->fault, walk->name, node, sentence);
}

static enum status complain_of(struct walk *walk, const yaml_node_t *node, const char *what,
                               const char *key)
{
    char text[160];
    snprintf(text, sizeof text, "%s \"%.80s\"", what, key);
    return complain(walk, node, text);
}

static yaml_node_t *node_at(struct walk *walk, int index)
{
    return yaml_document_get_node(&walk->document, index);
}

static enum status assign_value(struct walk *walk, void *base, const struct config_key *key,
                                const yaml_node_t *value)
{
    struct fault inner = { { 0 } };
    if (key->type == CONFIG_TEXTS && value->type == YAML_SEQUENCE_NODE) {
        *(int *)(void *)((unsigned char *)base + key->n_offset) = 0;
        for (const yaml_node_item_t *i = value->data.sequence.items.start;
             i < value->data.sequence.items.top; i++) {
            const yaml_node_t *item = node_at(walk, *i);
            const char *text = yaml_doc_scalar(item);
            if (!text)
                return complain_of(walk, item, "expected a list of texts at", key->name);
            if (config_table_assign(&walk->config->pile, base, key, text, &inner) != STATUS_OK)
                return complain(walk, item, inner.text);
        }
        return STATUS_OK;
    }
    const char *text = yaml_doc_scalar(value);
    if (!text && value->type == YAML_SCALAR_NODE)
        return complain_of(walk, value, "a zero byte in the value of", key->name);
    if (!text)
        return complain_of(
            walk, value, key->type == CONFIG_TEXTS ? "expected a list at" : "expected one value at",
            key->name);
    if (config_table_assign(&walk->config->pile, base, key, text, &inner) != STATUS_OK)
        return complain(walk, value, inner.text);
    return STATUS_OK;
}

static bool is_group(const struct config_key *keys, int n_keys, const char *name)
{
    size_t n = strlen(name);
    for (int i = 0; i < n_keys; i++) {
        if (strncmp(keys[i].name, name, n) == 0 && keys[i].name[n] == '.')
            return true;
    }
    return false;
}

static enum status complain_of_key(struct walk *walk, const yaml_node_t *node, const char *path,
                                   const struct config_key *keys, int n_keys)
{
    char text[200], question[NEAR_BYTES];
    struct near near = { .written = path };
    for (int i = 0; i < n_keys; i++)
        near_try(&near, keys[i].name);
    near_try(&near, "models");
    snprintf(text, sizeof text, "unknown key \"%.80s\"%s", path, near_question(&near, question));
    return complain(walk, node, text);
}

static enum status walk_models(struct walk *walk, const yaml_node_t *mapping);

/* Reads one mapping against a table; prefix is "slo." inside the group slo. */
static enum status walk_mapping(struct walk *walk, const yaml_node_t *mapping,
                                const struct config_key *keys, int n_keys, void *base,
                                const char *prefix)
{
    if (mapping->type != YAML_MAPPING_NODE)
        return complain(walk, mapping, "expected a mapping (key: value)");
    for (const yaml_node_pair_t *p = mapping->data.mapping.pairs.start;
         p < mapping->data.mapping.pairs.top; p++) {
        const yaml_node_t *key_node = node_at(walk, p->key), *value = node_at(walk, p->value);
        const char *name = yaml_doc_scalar(key_node);
        char path[128];
        if (!name || strlen(name) + strlen(prefix) >= sizeof path)
            return complain(walk, key_node, "expected a short text as key");
        if (yaml_doc_is_repeated(&walk->document, mapping, p, name))
            return complain_of(walk, key_node, "repeated key", name);
        snprintf(path, sizeof path, "%s%s", prefix, name);
        const struct config_key *key = find_key(keys, n_keys, path);
        enum status status;
        if (key) {
            status = assign_value(walk, base, key, value);
        } else if (prefix[0] == '\0' && is_group(keys, n_keys, name)) {
            strncat(path, ".", sizeof path - strlen(path) - 1);
            status = walk_mapping(walk, value, keys, n_keys, base, path);
        } else if (prefix[0] == '\0' && base == walk->config && strcmp(name, "models") == 0) {
            status = walk_models(walk, value);
        } else {
            status = complain_of_key(walk, key_node, path, keys, n_keys);
        }
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status walk_models(struct walk *walk, const yaml_node_t *mapping)
{
    int n_keys;
    const struct config_key *keys = config_table_models(&n_keys);
    if (mapping->type != YAML_MAPPING_NODE)
        return complain(walk, mapping,
                        "models: expected a mapping from a model's name to its settings");
    for (const yaml_node_pair_t *p = mapping->data.mapping.pairs.start;
         p < mapping->data.mapping.pairs.top; p++) {
        const yaml_node_t *key_node = node_at(walk, p->key);
        const char *name = yaml_doc_scalar(key_node);
        struct config *config = walk->config;
        struct fault inner;
        if (!name)
            return complain(walk, key_node, "expected a text as a model's name");
        if (config_text_check(CONFIG_TEXT_NAME, "a model's name", view_text(name), &inner) !=
            STATUS_OK)
            return complain(walk, key_node, inner.text);
        if (yaml_doc_is_repeated(&walk->document, mapping, p, name))
            return complain_of(walk, key_node, "repeated model", name);
        if (config->n_models == LIMIT_MODELS)
            return complain(walk, key_node, "more than 64 models");
        struct config_model *model = &config->models[config->n_models++];
        init_model(model, name);
        enum status status = walk_mapping(walk, node_at(walk, p->value), keys, n_keys, model, "");
        if (status != STATUS_OK)
            return status;
        if (!model->path)
            return complain_of(walk, key_node, "no path for model", name);
    }
    return STATUS_OK;
}

enum status config_parse(struct config *config, const char *name, const char *text, size_t n_bytes,
                         struct fault *fault)
{
    struct walk walk = { .config = config, .name = name, .fault = fault };
    int n_keys;
    const struct config_key *keys = config_table_globals(&n_keys);
    if (n_bytes > CONFIG_BYTES_MAX)
        return fault_set(fault, STATUS_TOO_LARGE, "%.80s: larger than 1 MiB", name);
    enum status status = yaml_doc_open(&walk.document, name, text, n_bytes, fault);
    if (status != STATUS_OK)
        return status;
    const yaml_node_t *root = yaml_doc_root(&walk.document);
    if (root)
        status = walk_mapping(&walk, root, keys, n_keys, config, "");
    yaml_document_delete(&walk.document);
    return status;
}

enum status config_read(struct config *config, const char *path, struct fault *fault)
{
    char *content;
    size_t n_bytes, n_path = strlen(path);
    if (file_is_directory(path) || (n_path > 5 && strcmp(path + n_path - 5, ".gguf") == 0))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%.120s is no configuration: a model comes behind --model", path);
    enum status status = file_read(path, CONFIG_BYTES_MAX, &content, &n_bytes, fault);
    if (status != STATUS_OK)
        return status;
    status = config_parse(config, path, content, n_bytes, fault);
    mem_give(content);
    return status;
}

/* ---- The command line and the environment. ---- */

/* "kv-bytes" and "slo-ttft-ms" are kv_bytes and slo.ttft_ms. */
static bool is_same_key(const char *key, const char *written)
{
    for (; *key && *written; key++, written++) {
        char c = *key == '.' || *key == '_' ? '-' : *key;
        if (c != (*written == '.' || *written == '_' ? '-' : *written))
            return false;
    }
    return *key == *written;
}

/* A value from outside the file overrides the file's values of single models. A model's key of
 * another type is a different setting: profile is a file there, and a time here. */
static void forget_in_models(struct config *config, const struct config_key *key)
{
    int n_keys;
    const struct config_key *keys = config_table_models(&n_keys);
    const struct config_key *of_model = find_key(keys, n_keys, key->name);
    struct config_model fresh;
    if (!of_model || of_model->type == CONFIG_TEXTS || of_model->type != key->type)
        return;
    init_model(&fresh, "");
    for (int i = 0; i < config->n_models; i++)
        memcpy((unsigned char *)&config->models[i] + of_model->offset,
               (const unsigned char *)&fresh + of_model->offset, sizeof(int64_t));
}

/* A list from words that spaces part. */
static enum status set_list(struct config *config, const struct config_key *key, const char *value,
                            struct fault *fault)
{
    enum status status = STATUS_OK;
    if (value[strspn(value, " ")] == '\0')
        return fault_set(fault, STATUS_BAD_INPUT, "%s is empty", key->name);
    *(int *)(void *)((unsigned char *)config + key->n_offset) = 0;
    for (value += strspn(value, " "); *value && status == STATUS_OK; value += strspn(value, " ")) {
        size_t n = strcspn(value, " ");
        status = config_table_assign(&config->pile, config, key, pile_text(&config->pile, value, n),
                                     fault);
        value += n;
    }
    return status;
}

enum status config_set(struct config *config, const char *key, const char *value,
                       struct fault *fault)
{
    int n_keys;
    const struct config_key *keys = config_table_globals(&n_keys);
    for (int i = 0; i < n_keys; i++) {
        if (!is_same_key(keys[i].name, key))
            continue;
        forget_in_models(config, &keys[i]);
        return keys[i].type == CONFIG_TEXTS
                   ? set_list(config, &keys[i], value, fault)
                   : config_table_assign(&config->pile, config, &keys[i], value, fault);
    }
    return fault_set(fault, STATUS_NOT_FOUND, "there is no setting \"%.60s\"", key);
}

/* Returns the name in "NAME=PATH"; for a path alone, the file's name without folder and .gguf. */
static struct view name_of(const char *name_and_path)
{
    const char *equals = strchr(name_and_path, '='), *slash = strrchr(name_and_path, '/');
    if (equals != NULL)
        return view_of(name_and_path, (size_t)(equals - name_and_path));
    struct view name = view_text(slash != NULL && slash[1] ? slash + 1 : name_and_path);
    if (name.n > 5 && memcmp(name.at + name.n - 5, ".gguf", 5) == 0)
        name.n -= 5;
    return name;
}

enum status config_add_model(struct config *config, const char *name_and_path, struct fault *fault)
{
    const char *equals = strchr(name_and_path, '='), *path = equals ? equals + 1 : name_and_path;
    struct view name = name_of(name_and_path);
    struct fault inner;
    if (config_text_check(CONFIG_TEXT_NAME, "the model's name", name, &inner) != STATUS_OK ||
        config_text_check(CONFIG_TEXT_PATH, "the model's path", view_text(path), &inner) !=
            STATUS_OK)
        return fault_set(fault, STATUS_BAD_INPUT, "--model %.80s: %.120s (NAME=PATH)",
                         name_and_path, inner.text);
    if (config->n_models == LIMIT_MODELS)
        return fault_set(fault, STATUS_TOO_LARGE, "more than %d models", LIMIT_MODELS);
    struct config_model *model = &config->models[config->n_models++];
    init_model(model, pile_text(&config->pile, name.at, name.n));
    model->path = pile_text(&config->pile, path, strlen(path));
    model->is_preloaded = true;
    return STATUS_OK;
}

enum { VARIABLE_BYTES = 96, PREFIX_BYTES = 6 };

/* "slo.ttft_ms" is SHOAL_SLO_TTFT_MS. */
static const char *variable_of(const struct config_key *key, char out[VARIABLE_BYTES])
{
    size_t n = (size_t)snprintf(out, VARIABLE_BYTES, "SHOAL_");
    for (const char *at = key->name; *at && n < VARIABLE_BYTES - 1; at++)
        out[n++] = *at == '.' ? '_' : (char)toupper((unsigned char)*at);
    out[n] = '\0';
    return out;
}

enum status config_read_environment(struct config *config, struct fault *fault)
{
    int n_keys;
    const struct config_key *keys = config_table_globals(&n_keys);
    for (int i = 0; i < n_keys; i++) {
        char name[VARIABLE_BYTES];
        const char *value = getenv(variable_of(&keys[i], name));
        struct fault inner;
        if (value && config_set(config, keys[i].name, value, &inner) != STATUS_OK)
            return fault_set(fault, STATUS_BAD_INPUT, "environment %s: %.160s", name, inner.text);
    }
    return STATUS_OK;
}

/* Returns whether a container manager set the variable to announce a service of a network. A
 * service named shoal yields SHOAL_SERVICE_HOST, SHOAL_PORT=tcp://10.0.0.1:7411,
 * SHOAL_PORT_7411_TCP_ADDR and more. */
static bool tells_of_a_service(const char *name, const char *value)
{
    const char *port = strstr(name, "_PORT_");
    return strstr(name, "_SERVICE_HOST") || strstr(name, "_SERVICE_PORT") ||
           (port && isdigit((unsigned char)port[6])) || strncmp(value, "tcp://", 6) == 0 ||
           strncmp(value, "udp://", 6) == 0;
}

/* Finds the variable that the name equals, or that is near it without the common SHOAL_. names
 * (CONFIG_KEYS_MAX) holds all variables. */
static const char *find_variable(const char *name, char names[][VARIABLE_BYTES], bool *is_it)
{
    int n_keys, n = 0;
    const struct config_key *keys = config_table_globals(&n_keys);
    struct near near = { .written = name + PREFIX_BYTES };
    CHECK(n_keys < CONFIG_KEYS_MAX);
    for (; n < n_keys; n++)
        variable_of(&keys[n], names[n]);
    snprintf(names[n++], VARIABLE_BYTES, "SHOAL_CPU_ISA"); /* cpu/isa.c */
    for (int i = 0; i < n; i++) {
        *is_it = strcmp(names[i], name) == 0;
        if (*is_it)
            return names[i];
        near_try(&near, names[i] + PREFIX_BYTES);
    }
    return near.best ? near.best - PREFIX_BYTES : NULL;
}

enum status config_check_environment(struct fault *fault)
{
    char names[CONFIG_KEYS_MAX][VARIABLE_BYTES], name[VARIABLE_BYTES];
    for (char *const *at = environ; *at; at++) {
        const char *value = strchr(*at, '=');
        bool is_it;
        if (strncmp(*at, "SHOAL_", PREFIX_BYTES) != 0 || !value)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)min_i64(value - *at, VARIABLE_BYTES), *at);
        const char *near = find_variable(name, names, &is_it);
        if (is_it || tells_of_a_service(name, value + 1))
            continue;
        return near ? fault_set(fault, STATUS_BAD_INPUT,
                                "environment: %s is no setting, did you mean %s?", name, near)
                    : fault_set(fault, STATUS_BAD_INPUT,
                                "environment: %s is no setting; `shoal config keys` lists them",
                                name);
    }
    return STATUS_OK;
}
