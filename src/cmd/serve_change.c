/* Reloads, and models added by their path. */
#include "cmd/serve_change.h"

#include "base/log.h"
#include "base/mem.h"
#include "config/text.h"
#include "serve/path.h"
#include "serve/reload.h"
#include <stdio.h>
#include <string.h>

void serve_change_set_log(const struct config *config)
{
    static const char *const names[] = { "debug", "info", "warn", "error" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(config->log_level, names[i]) == 0)
            log_set((enum log_level)i, config->log_json);
    }
}

static const struct config *config_of(const struct server *server)
{
    return server->fresh != NULL ? server->fresh : &server->config;
}

static void drop(struct config **config)
{
    if (*config != NULL)
        config_free(*config);
    mem_give(*config);
    *config = NULL;
}

/* ---- SIGHUP. ---- */

static enum status take_keys(void *self, struct fault *fault)
{
    struct server *server = self;
    const struct config *next = server->next;
    const struct api_keys keys = { next->api_key, next->admin_key, next->tenants,  next->n_tenants,
                                   next->quotas,  next->n_quotas,  next->tls_cert, next->tls_key };
    return api_reload(server->api, &keys, fault);
}

static void end_reload(struct server *server, enum status status, const struct fault *fault)
{
    if (status != STATUS_OK) {
        log_line(LOG_ERROR, "reload", "nothing changed: %s", fault->text);
        drop(&server->next);
        return;
    }
    drop(&server->fresh);
    server->fresh = server->next;
    server->next = NULL;
    serve_change_set_log(server->fresh);
    log_line(LOG_INFO, "reload",
             "models, log level, keys and certificate are as the configuration says");
}

static void reload_if_wanted(struct server *server)
{
    if (server->wants_reload && !wire_is_changing(server->house))
        serve_change_reload(server);
}

static void models_changed(void *self, enum status status, const struct fault *fault, int service)
{
    struct server *server = self;
    (void)service;
    end_reload(server, status, fault);
    reload_if_wanted(server);
}

/* A model of the configuration may not take the name of one that an operator added. */
static enum status check_name(const struct server *server, const char *name, struct fault *fault)
{
    bool is_by_path = false;
    if (wire_find_model(server->house, name, &is_by_path) < 0 || !is_by_path)
        return STATUS_OK;
    return fault_set(fault, STATUS_BAD_INPUT,
                     "model %.80s: a model that was added by its path (POST /models/load) or by "
                     "`shoal deploy` has this name: remove that first",
                     name);
}

static enum status check_names(const struct server *server, const struct config_model *model,
                               struct fault *fault)
{
    enum status status = check_name(server, model->name, fault);
    for (int i = 0; i < model->n_aliases && status == STATUS_OK; i++)
        status = check_name(server, model->aliases[i], fault);
    for (int i = 0; i < model->n_adapters && status == STATUS_OK; i++) {
        char name[2 * LIMIT_NAME_BYTES];
        int n_own = (int)strcspn(model->adapters[i], "=");
        snprintf(name, sizeof name, "%s:%.*s", model->name, n_own, model->adapters[i]);
        status = check_name(server, name, fault);
    }
    return status;
}

/* Begins to change the models to those of server->next. */
static enum status change_models(struct server *server, const struct serve_reload_models *models,
                                 struct fault *fault)
{
    const struct config *now = config_of(server), *next = server->next;
    struct config_model *adds = mem_take((size_t)max_i32(models->n_adds, 1) * sizeof *adds);
    struct wire_change change = { .adds = adds,
                                  .n_adds = models->n_adds,
                                  .settle = take_keys,
                                  .done = models_changed,
                                  .self = server };
    enum status status = STATUS_OK;
    for (int i = 0; i < models->n_adds && status == STATUS_OK; i++) {
        adds[i] = next->models[models->adds[i]];
        status = check_names(server, &adds[i], fault);
    }
    for (int i = 0; i < models->n_removes; i++) {
        bool is_by_path;
        int service =
            wire_find_model(server->house, now->models[models->removes[i]].name, &is_by_path);
        if (service >= 0 && !is_by_path)
            change.removes[change.n_removes++] = service;
    }
    if (status == STATUS_OK)
        status = wire_change(server->house, &change, fault);
    mem_give(adds);
    return status;
}

void serve_change_reload(void *self)
{
    struct server *server = self;
    struct serve_reload_models models = { .n_adds = 0 };
    struct fault fault;
    server->wants_reload = wire_is_changing(server->house);
    if (server->wants_reload) {
        log_line(LOG_INFO, "reload", "waits until the models that are changing have changed");
        return;
    }
    server->next = mem_take(sizeof *server->next);
    enum status status = serve_settings_open(server->next, &server->words, true, &fault);
    if (status == STATUS_OK)
        status = serve_reload_check(config_of(server), server->next, &fault);
    if (status == STATUS_OK)
        serve_reload_models(config_of(server), server->next, &models);
    bool are_models_others = models.n_adds + models.n_removes > 0;
    if (status == STATUS_OK && are_models_others)
        status = change_models(server, &models, &fault);
    else if (status == STATUS_OK)
        status = take_keys(server, &fault);
    if (status != STATUS_OK || !are_models_others)
        end_reload(server, status, &fault);
}

/* ---- Models by their path. ---- */

static void model_added(void *self, enum status status, const struct fault *fault, int service)
{
    struct server *server = self;
    if (status != STATUS_OK)
        log_line(LOG_WARN, "serve", "no model was added: %s", fault->text);
    drop(&server->added);
    api_lifecycle_added(server->api, status, fault, (uint16_t)max_i32(service, 0));
    reload_if_wanted(server);
}

/* Makes the model, as a configuration would have it, in server->added. */
static enum status make_model(struct server *server, const struct api_add *add, struct fault *fault)
{
    struct config *config = server->added;
    const char *real;
    bool is_by_path;
    enum status status = config_text_check(CONFIG_TEXT_PATH, "path", view_text(add->path), fault);
    if (status == STATUS_OK && add->name != NULL)
        status = config_text_check(CONFIG_TEXT_NAME, "name", view_text(add->name), fault);
    if (status == STATUS_OK)
        status = serve_path_resolve(config_of(server), add->path, &config->pile, &real, fault);
    if (status == STATUS_OK && add->name == NULL && strchr(real, '=') != NULL)
        status = fault_set(fault, STATUS_BAD_INPUT, "name is missing, and the path has an =");
    if (status == STATUS_OK)
        status = config_add_model(config, real, fault);
    if (status != STATUS_OK)
        return status;
    struct config_model *model = &config->models[0];
    model->path = real;
    model->is_preloaded = false;
    model->n_context = add->n_context;
    if (add->name != NULL)
        snprintf(model->name, sizeof model->name, "%s", add->name);
    if (wire_find_model(server->house, model->name, &is_by_path) >= 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "name: this server has a model \"%.80s\" already: give another name",
                         model->name);
    return STATUS_OK;
}

static enum status add_model(void *self, const struct api_add *add, struct fault *fault)
{
    struct server *server = self;
    if (wire_is_changing(server->house))
        return fault_set(fault, STATUS_BUSY,
                         "the models of this server are changing: try again soon");
    server->added = mem_take(sizeof *server->added);
    config_init(server->added);
    enum status status = make_model(server, add, fault);
    if (status == STATUS_OK)
        status = wire_change(server->house,
                             &(struct wire_change){ .adds = server->added->models,
                                                    .n_adds = 1,
                                                    .is_by_path = true,
                                                    .done = model_added,
                                                    .self = server },
                             fault);
    if (status != STATUS_OK)
        drop(&server->added);
    return status;
}

static enum status remove_model(void *self, uint16_t service, struct fault *fault)
{
    struct server *server = self;
    if (!wire_is_by_path(server->house, service))
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "the model is of this server's configuration: take it out there and "
                         "reload (SIGHUP)");
    wire_remove_model(server->house, service);
    return STATUS_OK;
}

struct api_adding serve_change_adding(struct server *server)
{
    return (struct api_adding){ server, add_model, remove_model };
}

void serve_change_end(struct server *server)
{
    drop(&server->fresh);
    drop(&server->next);
    drop(&server->added);
}
