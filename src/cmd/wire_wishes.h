/* The wishes of operators on the models of a house: paused ones take no new requests, pinned ones
 * are on one engine alone. In a cluster with a store the wishes are the store's. */
#pragma once
#include "api/api_options.h"

struct house;

struct api_wishes wire_wishes(struct house *house);
/* Follows the wishes of the store, if there is one. Private to the house. */
void wire_wishes_step(struct house *house);
/* Forgets the wishes on a service that is new. Private to the house. */
void wire_wishes_forget(struct house *house, int service);
