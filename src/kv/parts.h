/* The fixed part that each service has of a private pool. */
#pragma once
#include "kv/kv.h"

/* Sets each service's part of what is open, at most what the operator allows. */
void kv_parts_cut(const struct kv *kv, struct kv_budget *budget);
/* Updates the budget after the pool got other services, or another size. */
void kv_parts_tell(struct kv *kv);
