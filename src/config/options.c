/* The settings as command line options, made from the table of keys. */
#include "config/options.h"

#include "base/mem.h"
#include "config/table.h"
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_MODEL = 0x1000,
    KEY_JSON,
    KEY_FIRST = 0x2000,
    KEYS_MAX = CONFIG_KEYS_MAX,
    KEY_EXTRA = 0x3000
};

struct parse {
    const struct options_verb *verb;
    struct options_given *given;
    const char **plain;
    int n_plain;
};
struct apply {
    const struct options_verb *verb;
    struct config *config;
    bool is_failed, is_seen[KEYS_MAX];
};

static struct argp_option options[KEYS_MAX];
static char names[KEYS_MAX][32];
enum { HELP_BYTES = CONFIG_REGISTRY_BYTES + 128 };
static char helps[CONFIG_REGISTRY_N][HELP_BYTES]; /* of keys that list names, by what they list */

/* Returns whether the verb takes the setting of this key. */
static bool takes_key(const struct options_verb *verb, const char *name)
{
    size_t n = strlen(name);
    if (verb->keys == NULL)
        return verb->has_config;
    for (const char *at = verb->keys; (at = strstr(at, name)) != NULL; at += n)
        if ((at == verb->keys || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return verb->has_config;
    return false;
}

static const char *help_of(const struct config_key *key)
{
    struct str help;
    if (key->names == CONFIG_REGISTRY_NONE)
        return key->help;
    str_init(&help);
    config_table_add_help(key, &help);
    snprintf(helps[key->names], HELP_BYTES, "%s", help.at);
    str_free(&help);
    return helps[key->names];
}

/* "slo.ttft_ms" is --slo-ttft-ms. */
static void build_options(const struct options_verb *verb)
{
    int n_keys, n = 0;
    const struct config_key *keys = config_table_globals(&n_keys);
    memset(options, 0, sizeof options);
    if (verb->is_json)
        options[n++] = (struct argp_option){ "json", KEY_JSON, NULL, 0, "print JSON", 0 };
    if (verb->has_config && verb->keys == NULL)
        options[n++] = (struct argp_option){
            "model", KEY_MODEL, "NAME=PATH", 0, "serve this file or directory (repeatable)", 0
        };
    for (int i = 0; i < n_keys; i++) {
        if (!takes_key(verb, keys[i].name))
            continue;
        snprintf(names[i], sizeof names[i], "%s", keys[i].name);
        for (char *at = names[i]; *at; at++)
            *at = *at == '_' || *at == '.' ? '-' : *at;
        options[n++] =
            (struct argp_option){ names[i], KEY_FIRST + i, "VALUE", 0, help_of(&keys[i]), 0 };
    }
    for (int i = 0; i < verb->n_extras; i++) {
        const struct options_extra *extra = &verb->extras[i];
        options[n++] = (struct argp_option){ extra->name,
                                             extra->letter ? extra->letter : KEY_EXTRA + i,
                                             extra->takes_value ? "VALUE" : NULL,
                                             0,
                                             extra->help,
                                             0 };
    }
    CHECK(n < KEYS_MAX);
}

static void complain(struct apply *apply, const char *option, const char *sentence)
{
    const char *dashes = option ? "--" : "", *colon = option ? ": " : "";
    option = option ? option : "";
    if (!apply->verb->fault)
        fprintf(stderr, "shoal: %s%s%s%s\n", dashes, option, colon, sentence);
    else if (!apply->is_failed)
        (void)fault_set(apply->verb->fault, STATUS_BAD_INPUT, "%s%s%s%.180s", dashes, option, colon,
                        sentence);
    apply->is_failed = true;
}

/* The first option of a list here replaces its content; the others are added. */
static void set_key(struct apply *apply, int index, const char *value)
{
    int n_keys;
    struct fault fault;
    struct config *config = apply->config;
    const struct config_key *key = &config_table_globals(&n_keys)[index];
    bool is_more = key->type == CONFIG_TEXTS && apply->is_seen[index];
    enum status status = is_more ? config_table_assign(&config->pile, config, key, value, &fault)
                                 : config_set(config, key->name, value, &fault);
    apply->is_seen[index] = true;
    if (status != STATUS_OK)
        complain(apply, names[index], fault.text);
}

/* "check FILE\nschema" is "check FILE, or schema". */
static const char *expected(const struct options_verb *verb, char *out, size_t n_bytes)
{
    size_t n = 0;
    for (const char *at = verb->arguments; *at && n + 6 < n_bytes; at++)
        n += (size_t)snprintf(out + n, n_bytes - n, *at == '\n' ? ", or " : "%c", *at);
    out[n] = '\0';
    return out;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct parse *parse = state->input;
    char what[128];
    if (key == KEY_MODEL || (key >= KEY_FIRST && key < KEY_FIRST + KEYS_MAX)) {
        parse->given->at[parse->given->n++] = (struct options_said){ key, arg };
        return 0;
    }
    for (int i = 0; i < parse->verb->n_extras; i++) {
        const struct options_extra *extra = &parse->verb->extras[i];
        if (key == KEY_EXTRA + i || (extra->letter && key == extra->letter)) {
            *extra->value = arg ? arg : "";
            return 0;
        }
    }
    switch (key) {
    case KEY_JSON:
        *parse->verb->is_json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (parse->n_plain == parse->verb->n_max)
            argp_error(state, "\"%.80s\" is one argument too many", arg);
        parse->plain[parse->n_plain++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (parse->n_plain < parse->verb->n_min)
            argp_error(state, "expected %s", expected(parse->verb, what, sizeof what));
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

bool config_options_read(const struct options_verb *verb, int argc, char **argv,
                         struct options_given *given, const char **plain, int *n_plain)
{
    struct parse parse = { .verb = verb, .given = given, .plain = plain };
    struct apply wrong = { .verb = verb };
    *given = (struct options_given){ mem_take((size_t)argc * sizeof(*given->at)), 0 };
    build_options(verb);
    /* An empty list becomes NULL, because glibc's help leaks a byte of an empty one. */
    const struct argp argp = { options[0].name != NULL ? options : NULL,
                               parse_option,
                               verb->arguments,
                               verb->doc,
                               NULL,
                               NULL,
                               NULL };
    int error = argp_parse(&argp, argc, argv, 0, NULL, &parse);
    if (error != 0)
        complain(&wrong, NULL, strerror(error)); /* no memory */
    *n_plain = parse.n_plain;
    return error == 0;
}

bool config_options_apply(const struct options_verb *verb, const struct options_given *given,
                          struct config *config)
{
    struct apply apply = { .verb = verb, .config = config };
    struct fault fault;
    for (int i = 0; i < given->n; i++) {
        const struct options_said *said = &given->at[i];
        if (said->key != KEY_MODEL)
            set_key(&apply, said->key - KEY_FIRST, said->text);
        else if (config_add_model(config, said->text, &fault) != STATUS_OK)
            complain(&apply, NULL, fault.text);
    }
    return !apply.is_failed;
}

void config_options_free(struct options_given *given)
{
    mem_give(given->at);
    *given = (struct options_given){ 0 };
}

bool config_options_parse(const struct options_verb *verb, int argc, char **argv,
                          struct config *config, const char **plain, int *n_plain)
{
    struct options_given given;
    bool is_ok = config_options_read(verb, argc, argv, &given, plain, n_plain) &&
                 config_options_apply(verb, &given, config);
    config_options_free(&given);
    return is_ok;
}
