/* The duties of every store (store/store.h), as tests that run against any implementation. */
#pragma once
#include "store/store.h"

struct contract { /* a store with two clients */
    void *self;
    struct store *a, *b;
    void (*pass)(void *self, int64_t ns); /* lets time pass */
    void (*stop)(void *self);
    void (*start)(void *self); /* with what it had */
    void (*wipe)(void *self);  /* stops it, and starts it with nothing */
};
/* Each needs a store with no keys under the prefix "/contract/". */
void contract_conditions(const struct contract *c);
void contract_leases(const struct contract *c);
void contract_watch(const struct contract *c);
void contract_forgets(const struct contract *c);
/* A stop, a start and a wipe; the last one, since the store is another one after it. */
void contract_outages(const struct contract *c);
