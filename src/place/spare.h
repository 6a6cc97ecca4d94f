/* Copies for the room that a plan leaves. Who is asked little in the window, or not at all in some
 * of its samples, gains nothing there by a second copy, and has one alone when it is asked more
 * than ever before. So everybody gets copies, one more each, while the samples say that all of
 * these together cost at most PLACE_SPARE_PREMIUM: what plans differ by that are not told apart.
 * Where rates drift (samples.h) windows come that no sample has. While nearly everything is in time
 * in the samples there is room for them, and copies may cost PLACE_SPARE_DRIFT times the drift, if
 * that is more; elsewhere what they take from the cache is missed. */
#pragma once
#include "place/improve.h"

#define PLACE_SPARE_PREMIUM 0.01
#define PLACE_SPARE_DRIFT   0.15
#define PLACE_SPARE_IN_TIME 0.999
/* plan has this score and costs so much, in the samples, and may hold empty groups. */
void place_spare(const struct place_improve *how, struct place_plan *plan,
                 const struct place_score *score, double cost);
