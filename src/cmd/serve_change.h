/* How a running server changes: a reload of its settings (SIGHUP), and models that operators add
 * and remove by their path. One change of the models is under way at a time; a reload waits for it,
 * and another addition is refused. */
#pragma once
#include "api/api.h"
#include "base/mem.h"
#include "cmd/wire.h"
#include "cmd/wire_join.h"
#include "config/config.h"
#include "serve/settings.h"

struct server {
    struct serve_words words;
    struct config config; /* what the house was built from, and owns the texts of */
    struct config *fresh; /* what SIGHUP read last and took over; NULL: nothing yet */
    struct config *next;  /* that is to follow it, while its models join; NULL: none is */
    struct config *added; /* owns the texts of a model that is being added */
    bool wants_reload;    /* SIGHUP came while the models were changing */
    struct house *house;
    struct api *api;
    struct mem_account account; /* of what is held for clients */
};
void serve_change_set_log(const struct config *config);
void serve_change_reload(void *server); /* all is read again, and taken over as a whole or not */
struct api_adding serve_change_adding(struct server *server);
void serve_change_end(struct server *server); /* frees what a change that did not end has left */
