/* Follows the definitions of deployed models. */
#include "fleet/follow.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "fetch/fetch.h"
#include "serve/path.h"
#include <stdio.h>
#include <string.h>

static const int64_t AGAIN_NS = 30 * TIME_NS_PER_S;  /* after a refusal */
static const int64_t TURN_NS = 100 * TIME_NS_PER_MS; /* while another change is under way */

struct fleet_definition {
    char name[LIMIT_NAME_BYTES];
    char *value;
    size_t n_bytes;
    bool is_shown;   /* the store's present history has it */
    int64_t gone_ns; /* its end came, and this is when it counts; 0: it has none, -1: it came now */
    int64_t again_ns;
    bool is_refused;
    enum status cause;
    char why[CLUSTER_MEMBER_WHY_BYTES];
};

void fleet_follow_open(struct fleet_follow *f, const char *prefix)
{
    *f = (struct fleet_follow){ 0 };
    snprintf(f->prefix, sizeof f->prefix, "%s", prefix);
}

static void end_joining(struct fleet_follow *f)
{
    if (f->joining != NULL)
        config_free(f->joining);
    mem_give(f->joining);
    f->joining = NULL;
}

void fleet_follow_close(struct fleet_follow *f)
{
    for (int i = 0; i < f->n; i++)
        mem_give(f->of[i].value);
    mem_give(f->of);
    end_joining(f);
    *f = (struct fleet_follow){ 0 };
}

/* ---- News. ---- */

static struct fleet_definition *find(const struct fleet_follow *f, const char *name)
{
    for (int i = 0; i < f->n; i++)
        if (strcmp(f->of[i].name, name) == 0)
            return &f->of[i];
    return NULL;
}

/* Returns the name in a definition's key; NULL: it is another key. */
static const char *name_in(const struct fleet_follow *f, const char *key)
{
    size_t n = strlen(f->prefix), n_folder = sizeof FLEET_DEFINITION_FOLDER - 1;
    bool is =
        strncmp(key, f->prefix, n) == 0 && strncmp(key + n, FLEET_DEFINITION_FOLDER, n_folder) == 0;
    return is ? key + n + n_folder : NULL;
}

static bool is_nonce(const struct fleet_follow *f, const char *key)
{
    size_t n = strlen(f->prefix);
    return strncmp(key, f->prefix, n) == 0 && strcmp(key + n, "nonce") == 0;
}

static struct fleet_definition *add(struct fleet_follow *f, const char *name)
{
    size_t n = (size_t)f->n;
    if (strlen(name) >= LIMIT_NAME_BYTES || f->n == LIMIT_MODELS) {
        log_line(LOG_WARN, "models", "the deployed model %.60s is not used: %s", name,
                 f->n == LIMIT_MODELS ? "there are 64 others" : "its name is too long");
        return NULL;
    }
    f->of = mem_grow(f->of, n * sizeof *f->of, (n + 1) * sizeof *f->of);
    f->n++;
    snprintf(f->of[n].name, sizeof f->of[n].name, "%s", name);
    return &f->of[n];
}

static void put(struct fleet_follow *f, const struct store_entry *entry)
{
    const char *name = name_in(f, entry->key);
    struct fleet_definition *d = name != NULL ? find(f, name) : NULL;
    if (name == NULL || (d == NULL && (d = add(f, name)) == NULL))
        return;
    d->is_shown = true;
    d->gone_ns = 0;
    f->has_news = true;
    if (d->value != NULL && d->n_bytes == entry->value.n &&
        memcmp(d->value, entry->value.at, d->n_bytes) == 0)
        return;
    /* A value that is too long is refused by its first bytes, which are one too many. */
    mem_give(d->value);
    d->n_bytes =
        entry->value.n <= FLEET_DEFINITION_BYTES ? entry->value.n : FLEET_DEFINITION_BYTES + 1;
    d->value = mem_take(d->n_bytes + 1);
    memcpy(d->value, entry->value.at, d->n_bytes);
    d->again_ns = 0;
}

/* Takes the nonce of the store's life; another one than before ends the history. */
static void take_nonce(struct fleet_follow *f, struct view value)
{
    char nonce[sizeof f->nonce];
    snprintf(nonce, sizeof nonce, "%.*s", (int)min_i64((int64_t)value.n, sizeof nonce - 1),
             value.at);
    bool is_other = f->nonce[0] != '\0' && strcmp(nonce, f->nonce) != 0;
    for (int i = 0; i < f->n && is_other; i++)
        f->of[i].is_shown = false;
    snprintf(f->nonce, sizeof f->nonce, "%s", nonce);
}

static void take_list(struct fleet_follow *f, const struct store_news *news)
{
    struct view nonce = view_text("");
    for (int i = 0; i < news->n_entries; i++)
        if (is_nonce(f, news->entries[i].key))
            nonce = news->entries[i].value;
    take_nonce(f, nonce);
    for (int i = 0; i < f->n; i++) {
        struct fleet_definition *d = &f->of[i];
        d->gone_ns = d->is_shown && d->gone_ns == 0 ? -1 : d->gone_ns;
    }
    for (int i = 0; i < news->n_entries; i++)
        put(f, &news->entries[i]);
    f->has_news = true;
}

void fleet_follow_take(struct fleet_follow *f, const struct store_news *news)
{
    const char *name;
    struct fleet_definition *d;
    switch (news->kind) {
    case STORE_NEWS_LISTED:
        take_list(f, news);
        break;
    case STORE_NEWS_PUT:
        if (is_nonce(f, news->entries[0].key))
            take_nonce(f, news->entries[0].value);
        put(f, &news->entries[0]);
        break;
    case STORE_NEWS_DELETED:
        name = name_in(f, news->entries[0].key);
        d = name != NULL ? find(f, name) : NULL;
        if (d == NULL || d->gone_ns != 0)
            break;
        d->gone_ns = -1;
        f->has_news = true;
        break;
    case STORE_NEWS_BACK: /* what is missing from the next list may never have been taken out */
        for (int i = 0; i < f->n; i++)
            f->of[i].is_shown = false;
        break;
    default:
        break;
    }
}

/* ---- Following. ---- */

/* Returns the service that has this name and is not leaving, or -1. */
static int service_of(const struct fleet_follow_port *port, const char *name)
{
    for (int s = 0; s < LIMIT_MODELS; s++)
        if (port->offers[s].state == OFFER_THERE && serve_offer_has_name(&port->offers[s], name))
            return s;
    return -1;
}

static void refuse(struct fleet_follow *f, struct fleet_definition *d, enum status status,
                   const char *why, int64_t now_ns)
{
    char one[CLUSTER_MEMBER_WHY_BYTES];
    snprintf(one, sizeof one, "%.199s", why);
    utf8_tame(one);
    if (!d->is_refused || strcmp(d->why, one) != 0) {
        log_line(LOG_WARN, "models", "the deployed model %s is not used here: %s", d->name, one);
        f->has_refusals = true;
    }
    d->is_refused = true;
    d->cause = status;
    snprintf(d->why, sizeof d->why, "%s", one);
    d->again_ns = now_ns + AGAIN_NS;
}

static void accept(struct fleet_follow *f, struct fleet_definition *d)
{
    f->has_refusals = f->has_refusals || d->is_refused;
    d->is_refused = false;
}

/* Returns whether an earlier model of this name and life is still leaving. Its name on the bus is
 * that of the definition, so the two can't be there together. */
static bool is_leaving(const struct fleet_follow_port *port, const char *name, uint16_t life)
{
    bool is = false;
    for (int s = 0; s < LIMIT_MODELS; s++) {
        const struct serve_offer *offer = &port->offers[s];
        is = is || (offer->state >= OFFER_LEAVING && offer->service.life == life &&
                    strcmp(offer->model.name, name) == 0);
    }
    return is;
}

/* Begins to join the model; service s, which it replaces, leaves then. */
static enum status begin(const struct fleet_follow_port *port, struct config *config, uint16_t life,
                         int s, struct fault *fault)
{
    struct config_model *model = &config->models[0];
    enum status status = STATUS_OK;
    if (!fetch_is_url(model->path))
        status = serve_path_resolve(port->config, model->path, &config->pile, &model->path, fault);
    model->is_preloaded = false;
    return status == STATUS_OK ? port->join(port->self, model, life, s, fault) : status;
}

/* Joins the model under its definition's life, if it is not there. */
static void join(struct fleet_follow *f, const struct fleet_follow_port *port,
                 struct fleet_definition *d, int64_t now_ns)
{
    struct fault fault = { "" };
    struct config *config;
    uint16_t life;
    int s = service_of(port, d->name);
    const struct serve_offer *offer = s >= 0 ? &port->offers[s] : NULL;
    enum status status =
        fleet_definition_read(d->name, view_of(d->value, d->n_bytes), &config, &life, &fault);
    d->again_ns = TIME_NEVER;
    if (status == STATUS_OK && offer != NULL && offer->is_defined && offer->service.life == life) {
        accept(f, d);
    } else if (status == STATUS_OK && is_leaving(port, d->name, life)) {
        d->again_ns = now_ns + TURN_NS;
    } else if (status == STATUS_OK && offer != NULL && !offer->is_defined) {
        status = fault_set(&fault, STATUS_BAD_INPUT,
                           "this process's configuration has a model of that name");
    } else if (status == STATUS_OK) {
        status = begin(port, config, life, s, &fault);
        f->joining = status == STATUS_OK ? config : NULL;
        snprintf(f->joining_name, sizeof f->joining_name, "%s", d->name);
    }
    if (config != NULL && f->joining != config) {
        config_free(config);
        mem_give(config);
    }
    if (status != STATUS_OK)
        refuse(f, d, status, fault.text, now_ns);
}

void fleet_follow_joined(struct fleet_follow *f, enum status status, const struct fault *fault,
                         int64_t now_ns)
{
    struct fleet_definition *d = find(f, f->joining_name);
    end_joining(f);
    f->has_news = true;
    if (d == NULL || d->again_ns != TIME_NEVER)
        return; /* it was undeployed meanwhile, or deployed anew */
    if (status == STATUS_OK)
        accept(f, d);
    else
        refuse(f, d, status, fault->text, now_ns);
}

/* Drops definitions that went, and models without one. */
static void drop(struct fleet_follow *f, const struct fleet_follow_port *port, int64_t now_ns)
{
    for (int i = f->n - 1; i >= 0; i--) {
        struct fleet_definition *d = &f->of[i];
        if (d->gone_ns == -1)
            d->gone_ns = now_ns + port->leave_ns;
        if (d->gone_ns == 0 || d->gone_ns > now_ns)
            continue;
        f->has_refusals = f->has_refusals || d->is_refused;
        mem_give(d->value);
        *d = f->of[--f->n];
    }
    for (int s = 0; s < LIMIT_MODELS; s++) {
        const struct serve_offer *offer = &port->offers[s];
        if (offer->state == OFFER_THERE && offer->is_defined && find(f, offer->model.name) == NULL)
            port->leave(port->self, s);
    }
}

int64_t fleet_follow_step(struct fleet_follow *f, const struct fleet_follow_port *port,
                          int64_t now_ns)
{
    if (!f->has_news && f->again_ns > now_ns)
        return f->again_ns;
    f->has_news = false;
    f->again_ns = TIME_NEVER;
    drop(f, port, now_ns);
    for (int i = 0; i < f->n; i++) {
        struct fleet_definition *d = &f->of[i];
        bool is_free = f->joining == NULL && !port->is_busy(port->self);
        if (d->gone_ns == 0 && d->again_ns <= now_ns && is_free)
            join(f, port, d, now_ns);
        else if (d->gone_ns == 0 && d->again_ns <= now_ns)
            f->again_ns = min_i64(f->again_ns, now_ns + TURN_NS);
        if (d->again_ns > now_ns)
            f->again_ns = min_i64(f->again_ns, d->again_ns);
        if (d->gone_ns > 0)
            f->again_ns = min_i64(f->again_ns, d->gone_ns);
    }
    return f->again_ns;
}

int fleet_follow_refused(const struct fleet_follow *f,
                         struct cluster_members_refused out[CLUSTER_MEMBER_REFUSED_MAX])
{
    int n = 0;
    for (int i = 0; i < f->n && n < CLUSTER_MEMBER_REFUSED_MAX; i++) {
        const struct fleet_definition *d = &f->of[i];
        if (!d->is_refused)
            continue;
        snprintf(out[n].name, sizeof out[n].name, "%s", d->name);
        utf8_tame(out[n].name); /* a hostile name may have controls, which take six bytes in JSON */
        snprintf(out[n].why, sizeof out[n].why, "%s", d->why);
        out[n++].cause = d->cause;
    }
    return n;
}
