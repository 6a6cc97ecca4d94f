/* Changes a running server: a reload of its settings (SIGHUP), and models that operators add and
 * remove by their path. Only one change of the models runs at a time. A reload waits for it, and
 * another addition is refused. */
#pragma once
#include "api/api.h"
#include "base/mem.h"
#include "cmd/wire.h"
#include "cmd/wire_join.h"
#include "config/config.h"
#include "serve/settings.h"

struct server {
    struct serve_words words;
    struct config config; /* the house was built from it, and it owns the texts */
    struct config *fresh; /* the last one that SIGHUP read and took over; NULL: none yet */
    struct config *next;  /* its successor, while its models join; NULL: none */
    struct config *added; /* owns the texts of a model that is being added */
    bool wants_reload;    /* SIGHUP came while the models were changing */
    struct house *house;
    struct api *api;
    struct mem_account account; /* of what is held for clients */
};
void serve_change_set_log(const struct config *config);
void serve_change_reload(void *server); /* takes over all of a new read, or nothing */
struct api_adding serve_change_adding(struct server *server);
void serve_change_end(struct server *server); /* frees the data of an unfinished change */
