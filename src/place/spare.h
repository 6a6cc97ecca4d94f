/* Adds copies in the memory that a plan leaves unused. A service with little load in the window, or
 * none in some of its samples, gains nothing there by a second copy. With one copy it has too
 * little when its load exceeds all that was seen. So every service gets one copy more, as long as
 * all these together cost at most PLACE_SPARE_PREMIUM in the samples. Plans that differ by that
 * little cannot be told apart. If rates drift (samples.h), windows come that no sample has. If
 * nearly everything is in time in the samples, there is room for such windows. Copies may then cost
 * PLACE_SPARE_DRIFT times the drift, if that is more. Otherwise the memory that they take from the
 * cache would be missed. */
#pragma once
#include "place/improve.h"

#define PLACE_SPARE_PREMIUM 0.01
#define PLACE_SPARE_DRIFT   0.15
#define PLACE_SPARE_IN_TIME 0.999
/* The plan has this score and this cost in the samples, and may hold empty groups. */
void place_spare(const struct place_improve *how, struct place_plan *plan,
                 const struct place_score *score, double cost);
