/* The ways to divide a group. */
#include "place/division.h"

const struct place_division *place_division_of(int32_t division)
{
    static const struct place_division all[PLACE_DIVISIONS] = {
        [PLACE_DIVISION_USUAL] = { 0, { 0 } },
        [PLACE_DIVISION_NONE] = { 1, { 1 } },
        [PLACE_DIVISION_THIRDS] = { 3, { 1, 1, 1 } },
    };
    return &all[division];
}
