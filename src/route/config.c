/* Sets the routers' thresholds by name, for a configuration, a preset or a command line. */
#include "route/config.h"

#include <stdlib.h>
#include <string.h>

/* In the order of their enums. */
static const char *const phase_words[] = { "both", "prefill", "decode" };
static const char *const memory_words[] = { "padded", "rules", "paged" };
static const char *const cost_words[] = { "text", "code", "waste" };
_Static_assert(MEMORY_PADDED == 0 && MEMORY_RULES == 1 && MEMORY_PAGED == 2, "as the words");
_Static_assert(ROUTE_COST_TEXT == 0 && ROUTE_COST_CODE == 1 && ROUTE_COST_WASTE == 2, "so, too");
_Static_assert(ROUTE_PHASE_BOTH == 0 && ROUTE_PHASE_PREFILL == 1 && ROUTE_PHASE_DECODE == 2,
               "and these");

#define ROW(type, name, kind, initial, least, most, help)                                          \
    SETTINGS_ROW(struct route_config, name, SETTINGS_##kind, initial, least, most, NULL, help),
#define WORD(type, name, initial, words, help)                                                     \
    SETTINGS_ROW(struct route_config, name, SETTINGS_WORD, initial, 0, SETTINGS_WORDS - 1, words,  \
                 help),
static const struct settings_row rows[] = { ROUTE_THRESHOLDS(ROW, WORD) };
#undef ROW
#undef WORD

const struct settings_row *route_config_rows(int *n)
{
    *n = (int)COUNT_OF(rows);
    return rows;
}

void route_config_init(struct route_config *config)
{
    memset(config, 0, sizeof(*config));
    settings_init(config, rows, COUNT_OF(rows));
    for (int s = 0; s < LIMIT_SERVICES; s++)
        config->engine_of[s] = -1;
}

/* "static.SERVICE=ENGINE" */
static bool set_engine(struct route_config *config, const char *text)
{
    static const char prefix[] = "static.";
    if (strncmp(text, prefix, sizeof prefix - 1) != 0)
        return false;
    char *end;
    long service = strtol(text + sizeof prefix - 1, &end, 10);
    if (end == text + sizeof prefix - 1 || *end != '=' || service < 0 || service >= LIMIT_SERVICES)
        return false;
    const char *value = end + 1;
    long engine = strtol(value, &end, 10);
    if (end == value || *end != '\0' || engine < -1 || engine >= INT16_MAX)
        return false;
    config->engine_of[service] = (int16_t)engine;
    return true;
}

enum status route_config_set(struct route_config *config, const char *text, struct fault *fault)
{
    const struct settings_row *row = settings_find(rows, COUNT_OF(rows), text);
    if (row != NULL)
        return settings_set(config, row, text, fault);
    if (set_engine(config, text))
        return STATUS_OK;
    return fault_set(fault, STATUS_BAD_INPUT,
                     "\"%.80s\" is no threshold of a router; one is \"n_slice=128\"", text);
}
