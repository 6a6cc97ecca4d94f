/* Sets thresholds by name, for a configuration, a preset or a command line. */
#include "schedule/config.h"
#include <string.h>

#define ROW(type, name, kind, initial, least, most, help)                                          \
    SETTINGS_ROW(struct schedule_config, name, SETTINGS_##kind, initial, least, most, NULL, help),
static const struct settings_row rows[] = { SCHEDULE_THRESHOLDS(ROW) };
#undef ROW

const struct settings_row *schedule_config_rows(int *n)
{
    *n = (int)COUNT_OF(rows);
    return rows;
}

void schedule_config_init(struct schedule_config *config)
{
    memset(config, 0, sizeof(*config)); /* it compares as bytes, and is logged so */
    settings_init(config, rows, COUNT_OF(rows));
}

enum status schedule_config_set(struct schedule_config *config, const char *text,
                                struct fault *fault)
{
    const struct settings_row *row = settings_find(rows, COUNT_OF(rows), text);
    if (row != NULL)
        return settings_set(config, row, text, fault);
    return fault_set(fault, STATUS_BAD_INPUT,
                     "\"%.80s\" is no threshold of a policy; one is \"lease_tokens=64\"", text);
}

bool schedule_config_is_sound(const struct schedule_config *config)
{
    return settings_are_sound(config, rows, COUNT_OF(rows));
}
