/* How the devices of a group are divided into lanes that compute side by side: parts in proportion
 * (schedule/lanes.h). With equal parts more services compute at once, each more slowly. A plan
 * chooses among a few divisions, which are known by number. */
#pragma once
#include <stdint.h>

enum {
    PLACE_DIVISION_USUAL, /* as the policy divides every engine; the plan sets no parts */
    PLACE_DIVISION_NONE,  /* one part: all services compute in turn */
    PLACE_DIVISION_THIRDS,
    PLACE_DIVISIONS,
    PLACE_PARTS_MAX = 3,
};
struct place_division {
    int32_t n, parts[PLACE_PARTS_MAX];
};
/* division: less than PLACE_DIVISIONS. */
const struct place_division *place_division_of(int32_t division);
