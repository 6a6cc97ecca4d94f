/* Copies for the room that a plan leaves. Who is asked little in the window, or not at all in some
 * of its samples, gains nothing there by a second copy, and has one alone when it is asked more
 * than ever before. So everybody gets copies, one more each, while the samples say that all of
 * these together cost at most PLACE_SPARE_PREMIUM: what plans differ by that are not told apart. */
#pragma once
#include "place/improve.h"

#define PLACE_SPARE_PREMIUM 0.01
/* plan costs so much in the samples, and may hold empty groups. */
void place_spare(const struct place_improve *how, struct place_plan *plan, double cost);
