/* A store in memory, shared by several clients, that fails in every way in which etcd may: calls
 * whose answer is lost, clients that are cut off, watches that lag, leases that live anew after a
 * restart, and history that is lost by a restore or a wipe. For tests and the simulator. */
#pragma once
#include "store/store.h"

struct store_model;
struct store_model_options {
    uint64_t seed;
    int64_t delay_ns; /* of a message, on average, each way */
    double loss;      /* 0..1: of calls that end UNSURE, half of them having been made */
};
struct store_model *store_model_open(const struct store_model_options *options);
void store_model_close(struct store_model *model); /* after its clients */

/* A client's face; closed by its close. */
struct store *store_model_client(struct store_model *model);

/* Moves time on: leases end, messages arrive. Returns when something happens next. */
int64_t store_model_step(struct store_model *model, int64_t now_ns);
/* Returns when the next step is due, calls since the last one included. */
int64_t store_model_due_ns(const struct store_model *model);
/* Returns whether the client's poll has something to tell. */
bool store_model_has_news(const struct store *client);

/* Faults. */
void store_model_cut(struct store *client, bool is_cut); /* no call and no news comes through */
void store_model_lose(struct store_model *model, double loss); /* see options.loss */
void store_model_stop(struct store_model *model);              /* all of it, for everyone */
void store_model_start(struct store_model *model);   /* leases have their full time again */
void store_model_save(struct store_model *model);    /* a snapshot, as it is now */
void store_model_restore(struct store_model *model); /* of that snapshot: history is lost */
void store_model_wipe(struct store_model *model);
void store_model_compact(struct store_model *model); /* watches lose changes, and list anew */
/* The client's watch tells everything this much later. */
void store_model_slow(struct store *client, int64_t news_ns);

/* An operator writes a key at once, or removes it (NULL). */
void store_model_put(struct store_model *model, const char *key, const char *value);

/* For checks: numbers of leases, and of keys that begin so; the value of a key now; at == NULL:
 * there is none. */
int store_model_n_leases(const struct store_model *model);
int store_model_n_keys(const struct store_model *model, const char *prefix);
struct view store_model_value(const struct store_model *model, const char *key);
