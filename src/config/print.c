/* Describes the configuration: as a JSON Schema for editors, as a table for people. */
#include "config/print.h"

#include "base/json_out.h"
#include "base/mem.h"
#include "base/time.h"
#include "config/table.h"
#include <stdio.h>
#include <string.h>

static void print_key(struct json_out *json, const struct config_key *key, const char *name)
{
    static const char *const types[] = { "string", "boolean", "integer", "number",
                                         "string", "string",  "array" };
    json_out_key(json, name);
    json_out_open(json, '{');
    json_out_key_text(json, "description", key->help);
    json_out_key(json, "type");
    if (key->type == CONFIG_BYTES || key->type == CONFIG_DURATION) {
        json_out_open(json, '[');
        json_out_text(json, "string");
        json_out_text(json, "number");
        json_out_close(json, ']');
    } else {
        json_out_text(json, types[key->type]);
    }
    if (key->type == CONFIG_TEXTS) {
        json_out_key(json, "items");
        json_out_open(json, '{');
        json_out_key_text(json, "type", "string");
        json_out_close(json, '}');
        json_out_key_i64(json, "maxItems", key->max);
    }
    if (key->type == CONFIG_COUNT || key->type == CONFIG_NUMBER) {
        json_out_key_i64(json, "minimum", key->min);
        json_out_key_i64(json, "maximum", key->max);
    }
    json_out_close(json, '}');
}

static void print_keys(struct json_out *json, const struct config_key *keys, int n_keys)
{
    const char *group = "";
    size_t n_group = 0;
    for (int i = 0; i < n_keys; i++) {
        const char *dot = strchr(keys[i].name, '.');
        size_t n = dot ? (size_t)(dot - keys[i].name) : 0;
        bool is_same = n == n_group && strncmp(group, keys[i].name, n) == 0;
        if (n_group > 0 && !is_same) {
            json_out_close(json, '}');
            json_out_close(json, '}');
        }
        if (n > 0 && !is_same) {
            char name[64];
            snprintf(name, sizeof name, "%.*s", (int)n, keys[i].name);
            json_out_key(json, name);
            json_out_open(json, '{');
            json_out_key_text(json, "type", "object");
            json_out_key_bool(json, "additionalProperties", false);
            json_out_key(json, "properties");
            json_out_open(json, '{');
        }
        group = keys[i].name;
        n_group = n;
        print_key(json, &keys[i], dot ? dot + 1 : keys[i].name);
    }
    if (n_group > 0) {
        json_out_close(json, '}');
        json_out_close(json, '}');
    }
}

void config_print_schema(struct str *out)
{
    struct json_out json;
    int n;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key_text(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    json_out_key_text(&json, "title", "Shoal's configuration");
    json_out_key_text(&json, "type", "object");
    json_out_key_bool(&json, "additionalProperties", false);
    json_out_key(&json, "properties");
    json_out_open(&json, '{');
    const struct config_key *keys = config_table_globals(&n);
    print_keys(&json, keys, n);
    json_out_key(&json, "models");
    json_out_open(&json, '{');
    json_out_key_text(&json, "type", "object");
    json_out_key(&json, "additionalProperties");
    json_out_open(&json, '{');
    json_out_key_text(&json, "type", "object");
    json_out_key_bool(&json, "additionalProperties", false);
    json_out_key(&json, "required");
    json_out_open(&json, '[');
    json_out_text(&json, "path");
    json_out_close(&json, ']');
    json_out_key(&json, "properties");
    json_out_open(&json, '{');
    keys = config_table_models(&n);
    print_keys(&json, keys, n);
    for (int i = 0; i < 5; i++)
        json_out_close(&json, '}');
}

/* ---- The table. ---- */

static void add_bytes(struct str *out, int64_t n)
{
    static const char *const units[] = { "", "KiB", "MiB", "GiB", "TiB" };
    size_t unit = 0;
    for (; unit + 1 < COUNT_OF(units) && n >= 1024 && n % 1024 == 0; unit++)
        n /= 1024;
    str_printf(out, "%lld%s", (long long)n, units[unit]);
}

static void add_duration(struct str *out, int64_t ns)
{
    if (ns % TIME_NS_PER_S == 0)
        str_printf(out, "%llds", (long long)(ns / TIME_NS_PER_S));
    else
        str_printf(out, "%lldms", (long long)(ns / TIME_NS_PER_MS));
}

/* A key's value as one would write it. */
static void add_default(struct str *out, const void *base, const struct config_key *key)
{
    const unsigned char *at = (const unsigned char *)base + key->offset;
    int64_t number = 0;
    double real = 0;
    const char *text = NULL;
    bool is_set = false;
    if (key->type == CONFIG_TEXT)
        memcpy(&text, at, sizeof text);
    else if (key->type == CONFIG_BOOL)
        memcpy(&is_set, at, sizeof is_set);
    else if (key->type == CONFIG_NUMBER)
        memcpy(&real, at, sizeof real);
    else if (key->type != CONFIG_TEXTS)
        memcpy(&number, at, sizeof number);
    switch (key->type) {
    case CONFIG_TEXT:
        str_add_text(out, text ? text : "");
        break;
    case CONFIG_BOOL:
        str_add_text(out, is_set ? "true" : "false");
        break;
    case CONFIG_COUNT:
        str_printf(out, "%lld", (long long)number);
        break;
    case CONFIG_NUMBER:
        str_printf(out, "%g", real);
        break;
    case CONFIG_BYTES:
        add_bytes(out, number);
        break;
    case CONFIG_DURATION:
        add_duration(out, number);
        break;
    case CONFIG_TEXTS:
        break;
    }
}

static void print_rows(struct str *out, const struct config_key *keys, int n_keys,
                       const void *defaults)
{
    static const char *const types[] = { "text",  "true or false", "whole number", "number",
                                         "bytes", "duration",      "list of texts" };
    str_printf(out, "| key | what | %s | meaning |\n|---|---|---|---|\n",
               defaults ? "default" : "range");
    for (int i = 0; i < n_keys; i++) {
        str_printf(out, "| `%s` | %s | ", keys[i].name, types[keys[i].type]);
        if (defaults)
            add_default(out, defaults, &keys[i]);
        else if (keys[i].type == CONFIG_COUNT || keys[i].type == CONFIG_NUMBER)
            str_printf(out, "%lld to %lld", (long long)keys[i].min, (long long)keys[i].max);
        str_printf(out, " | %s |\n", keys[i].help);
    }
}

void config_print_keys(struct str *out)
{
    struct config *config = mem_take(sizeof *config);
    int n_keys;
    const struct config_key *keys = config_table_globals(&n_keys);
    config_init(config);
    print_rows(out, keys, n_keys, config);
    config_free(config);
    mem_give(config);
    str_add_text(out, "\nEach model has these keys, under `models:` and its name:\n\n");
    keys = config_table_models(&n_keys);
    print_rows(out, keys, n_keys, NULL);
}
