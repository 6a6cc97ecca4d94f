/* shoal cluster, deploy, undeploy, pause, unpause, pin, unpin, cordon, uncordon, drain: what
 * operators say to a cluster. They write wishes into the store, on the condition that the manager
 * leads that led when they were checked. The leading manager carries them out. */
#include "fleet/operator.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "fleet/definition.h"
#include "fleet/demo.h"
#include "fleet/store.h"
#include "config/options.h"
#include "store/fence.h"
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

static const char keys[] = "cluster state_dir store store_ca store_cert store_key";
enum { TRIES = 3 };
static const int64_t TIMEOUT_NS = 5 * TIME_NS_PER_S;

struct cluster_operator {
    struct config config;
    struct store *store;
    char prefix[FLEET_STORE_PREFIX_BYTES];
    const char *word, *copies;
    struct fleet_definition_words definition; /* of `shoal deploy` */
    const char *place;                        /* of a pin: HOST:PORT or HOST:PORT:ENGINE */
    int64_t leader_at;             /* the revision at which the leader's key was made; 0: none */
    struct store_condition member; /* a node's entry has to be the same; no key: none has to */
    char member_key[STORE_KEY_BYTES];
};

/* ---- Calls, which an operator waits for. ---- */

static enum status call(struct cluster_operator *o, struct store_call *call, struct fault *fault)
{
    struct store_news news;
    int64_t end_ns = time_now_ns() + 2 * TIMEOUT_NS;
    call->timeout_ns = TIMEOUT_NS;
    o->store->begin(o->store->self, call);
    while (call->end == STORE_IN_FLIGHT && time_now_ns() < end_ns) {
        struct pollfd wait = { .fd = o->store->wait_fd(o->store->self), .events = POLLIN };
        while (call->end == STORE_IN_FLIGHT && o->store->poll(o->store->self, &news)) {}
        if (call->end == STORE_IN_FLIGHT)
            (void)poll(&wait, 1, 100);
    }
    if (call->end == STORE_DONE)
        return STATUS_OK;
    return fault_set(fault, STATUS_IO, "the store did not answer well: %.180s",
                     call->fault.text[0] != '\0' ? call->fault.text : "it gave no reason");
}

/* Returns the entry of PREFIX name; NULL: there is none. */
static const struct store_entry *find(const struct cluster_operator *o,
                                      const struct store_call *list, const char *name)
{
    size_t n = strlen(o->prefix);
    for (int i = 0; i < list->n_entries; i++)
        if (strcmp(list->entries[i].key + n, name) == 0)
            return &list->entries[i];
    return NULL;
}

static enum status list(struct cluster_operator *o, struct store_call *out, struct fault *fault)
{
    *out = (struct store_call){ .kind = STORE_LIST, .prefix = o->prefix };
    enum status status = call(o, out, fault);
    o->leader_at = 0;
    if (status == STATUS_OK) {
        const struct store_entry *leader = find(o, out, "leader");
        o->leader_at = leader != NULL ? leader->created : 0;
    }
    return status;
}

/* Returns the value of PREFIX name; at == NULL: there is no such key. */
static struct view value_of(const struct cluster_operator *o, const struct store_call *list,
                            const char *name)
{
    const struct store_entry *entry = find(o, list, name);
    return entry != NULL ? entry->value : view_of(NULL, 0);
}

struct wish {
    const char *folder, *value; /* of the key PREFIX folder word; NULL: it is deleted */
};

/* Changes wishes together, if the leader is the one of the last list. BUSY: it is not, so list
 * again. */
static enum status put_all(struct cluster_operator *o, const struct wish *wishes, int n,
                           struct fault *fault)
{
    char keys_of[STORE_CHANGES_MAX][STORE_KEY_BYTES], leader[STORE_KEY_BYTES];
    struct store_call change = { .kind = STORE_CHANGE, .n_changes = n, .n_conditions = 1 };
    CHECK(n <= STORE_CHANGES_MAX);
    snprintf(leader, sizeof leader, "%sleader", o->prefix);
    change.conditions[0] =
        (struct store_condition){ STORE_CREATED_AT, leader, o->leader_at, { 0 } };
    if (o->member.key != NULL)
        change.conditions[change.n_conditions++] = o->member;
    for (int i = 0; i < n; i++) {
        const char *value = wishes[i].value;
        if (snprintf(keys_of[i], sizeof keys_of[i], "%s%s%s", o->prefix, wishes[i].folder,
                     o->word) >= (int)sizeof keys_of[i])
            return fault_set(fault, STATUS_TOO_LARGE, "\"%.60s...\" is too long", o->word);
        change.changes[i] = (struct store_change){ .key = keys_of[i],
                                                   .value = view_text(value != NULL ? value : ""),
                                                   .is_delete = value == NULL };
    }
    enum status status = call(o, &change, fault);
    if (status == STATUS_OK && !change.is_made)
        status = fault_set(fault, STATUS_BUSY,
                           "the cluster changed while the wish was checked: try again");
    return status;
}

static enum status put(struct cluster_operator *o, const char *folder, const char *value,
                       struct fault *fault)
{
    return put_all(o, &(struct wish){ folder, value }, 1, fault);
}

/* ---- Models. ---- */

/* The leading manager lists the models that it knows, each in a line "model NAME", and those that
 * were deployed by a definition in a line "deployed NAME", too. */
static bool is_listed(const struct cluster_operator *o, struct view placement, const char *kind)
{
    struct str line;
    str_init(&line);
    str_printf(&line, "\n%s %s\n", kind, o->word);
    bool is_there = memmem(placement.at, placement.n, line.at, line.n) != NULL;
    str_free(&line);
    return is_there;
}

/* Reads the placement. Fails when there is none yet. */
static enum status read_placement(struct cluster_operator *o, struct store_call *all,
                                  struct view *out, struct fault *fault)
{
    enum status status = list(o, all, fault);
    if (status != STATUS_OK)
        return status;
    *out = value_of(o, all, "placement");
    if (out->at != NULL)
        return STATUS_OK;
    return fault_set(fault, STATUS_NOT_FOUND,
                     "cluster %.60s has no placement yet: start a manager first",
                     o->config.cluster);
}

static enum status check_model(struct cluster_operator *o, struct fault *fault)
{
    struct store_call all;
    struct view placement;
    enum status status = read_placement(o, &all, &placement, fault);
    if (status != STATUS_OK || is_listed(o, placement, "model"))
        return status;
    return fault_set(fault, STATUS_NOT_FOUND,
                     "the leading manager knows no model \"%.80s\": a new model needs --path or "
                     "--url at `shoal deploy`",
                     o->word);
}

static struct view definition_of(const struct cluster_operator *o, const struct store_call *all)
{
    char key[STORE_KEY_BYTES];
    snprintf(key, sizeof key, FLEET_DEFINITION_FOLDER "%.200s", o->word);
    return value_of(o, all, key);
}

static int64_t life_of(struct view definition)
{
    json_t *root = json_loadb(definition.at, definition.n, 0, NULL);
    int64_t life = json_integer_value(json_object_get(root, "life"));
    json_decref(root);
    return life;
}

/* Writes the definition of a new model. The same definition again changes nothing, and another one
 * replaces the model. */
static enum status define(struct cluster_operator *o, const char *copies, struct fault *fault)
{
    struct store_call all;
    struct view placement;
    struct str value;
    uint16_t life = (uint16_t)(rng_system() % UINT16_MAX + 1);
    enum status status = read_placement(o, &all, &placement, fault);
    if (status != STATUS_OK)
        return status;
    struct view old = definition_of(o, &all);
    if (old.at == NULL && is_listed(o, placement, "model") && !is_listed(o, placement, "deployed"))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "model %.80s is in the manager's configuration: change it there, or "
                         "deploy under another name",
                         o->word);
    while (old.at != NULL && life == life_of(old))
        life = (uint16_t)(life % UINT16_MAX + 1); /* another model than the one that it replaces */
    str_init(&value);
    status = fleet_definition_write(&value, o->word, &o->definition, life, fault);
    bool is_same = status == STATUS_OK && old.at != NULL &&
                   fleet_definition_is_equal(old, view_of(value.at, value.n));
    if (is_same)
        status = put(o, "desired/models/", copies, fault);
    else if (status == STATUS_OK)
        status = put_all(o,
                         (const struct wish[]){ { FLEET_DEFINITION_FOLDER, value.at },
                                                { "desired/models/", copies } },
                         2, fault);
    str_free(&value);
    return status;
}

static enum status deploy(struct cluster_operator *o, struct fault *fault)
{
    int64_t n = 1;
    char value[24];
    if (o->copies != NULL && (!parse_i64(o->copies, &n) || n < 0 || n > LIMIT_ENGINES))
        return fault_set(fault, STATUS_BAD_INPUT, "--copies is \"%.40s\", expected 0 to %d",
                         o->copies, (int)LIMIT_ENGINES);
    snprintf(value, sizeof value, "%lld", (long long)n);
    if (fleet_definition_is_given(&o->definition))
        return define(o, value, fault);
    enum status status = check_model(o, fault);
    return status == STATUS_OK ? put(o, "desired/models/", value, fault) : status;
}

/* A model that was deployed by a definition goes for good, with all wishes on it. After a store
 * lost its history, processes may still have a model whose definition is gone. Then it is written
 * first, since they obey only a deletion that they see. */
static enum status undeploy(struct cluster_operator *o, struct fault *fault)
{
    static const struct wish none[] = { { FLEET_DEFINITION_FOLDER, NULL },
                                        { "desired/models/", NULL },
                                        { "desired/paused/", NULL },
                                        { "desired/pins/", NULL } };
    struct store_call all;
    struct view placement;
    enum status status = read_placement(o, &all, &placement, fault);
    if (status != STATUS_OK)
        return status;
    bool is_defined = definition_of(o, &all).at != NULL;
    bool is_deployed = is_listed(o, placement, "deployed");
    if (!is_defined && is_deployed)
        status = put(o, FLEET_DEFINITION_FOLDER, "{}", fault);
    if (status == STATUS_OK && (is_defined || is_deployed))
        return put_all(o, none, COUNT_OF(none), fault);
    if (status == STATUS_OK)
        status = check_model(o, fault);
    return status == STATUS_OK ? put(o, "desired/models/", "-1", fault) : status;
}

static enum status pause_model(struct cluster_operator *o, struct fault *fault)
{
    enum status status = check_model(o, fault);
    return status == STATUS_OK ? put(o, "desired/paused/", "yes", fault) : status;
}

/* Ends a wish on a model, also on one that no manager knows any more. */
static enum status end_wish(struct cluster_operator *o, const char *folder, struct fault *fault)
{
    struct store_call all;
    enum status status = list(o, &all, fault);
    return status == STATUS_OK ? put(o, folder, NULL, fault) : status;
}

static enum status unpause_model(struct cluster_operator *o, struct fault *fault)
{
    return end_wish(o, "desired/paused/", fault);
}

static enum status unpin(struct cluster_operator *o, struct fault *fault)
{
    return end_wish(o, "desired/pins/", fault);
}

static int64_t engines_of(struct view value)
{
    json_t *root = json_loadb(value.at, value.n, 0, NULL);
    int64_t n = json_integer_value(json_object_get(root, "engines"));
    json_decref(root);
    return n;
}

/* Finds the node that a place names, as HOST:PORT or HOST:PORT:ENGINE. engine -1: any. */
static enum status find_place(struct cluster_operator *o, const struct store_call *all,
                              char node[STORE_KEY_BYTES], int64_t *engine, struct fault *fault)
{
    *engine = -1;
    snprintf(node, STORE_KEY_BYTES, "%s", o->place);
    snprintf(o->member_key, sizeof o->member_key, "members/node/%.200s", node);
    const struct store_entry *entry = find(o, all, o->member_key);
    char *colon = strrchr(node, ':');
    if (entry == NULL && colon != NULL && parse_i64(colon + 1, engine)) {
        *colon = '\0';
        snprintf(o->member_key, sizeof o->member_key, "members/node/%.200s", node);
        entry = find(o, all, o->member_key);
    }
    if (entry == NULL)
        return fault_set(fault, STATUS_NOT_FOUND,
                         "cluster %.60s has no node \"%.80s\" (HOST:PORT of its bus, or "
                         "HOST:PORT:ENGINE; see `shoal cluster status`)",
                         o->config.cluster, o->place);
    int64_t n_engines = engines_of(entry->value);
    if (*engine < -1 || *engine >= n_engines)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "node %.80s has the engines 0 to %lld, and no engine %lld", node,
                         (long long)n_engines - 1, (long long)*engine);
    snprintf(o->member_key, sizeof o->member_key, "%smembers/node/%.120s", o->prefix, node);
    o->member = (struct store_condition){ STORE_CREATED_AT, o->member_key, entry->created, { 0 } };
    return STATUS_OK;
}

static enum status pin(struct cluster_operator *o, struct fault *fault)
{
    struct store_call all;
    char node[STORE_KEY_BYTES], key[STORE_KEY_BYTES], value[STORE_KEY_BYTES + 24];
    int64_t engine;
    enum status status = check_model(o, fault);
    if (status == STATUS_OK)
        status = list(o, &all, fault);
    if (status == STATUS_OK)
        status = find_place(o, &all, node, &engine, fault);
    if (status != STATUS_OK)
        return status;
    snprintf(key, sizeof key, "desired/nodes/%.200s", node);
    struct view wish = value_of(o, &all, key);
    if (view_equal_text(wish, "drain") || view_equal_text(wish, "cordon"))
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "node %.80s loads no models: `shoal uncordon` first", node);
    snprintf(value, sizeof value, "%s", node);
    if (engine >= 0)
        snprintf(value, sizeof value, "%s %lld", node, (long long)engine);
    return put(o, "desired/pins/", value, fault);
}

/* ---- Nodes. ---- */

/* Returns the model that is pinned to the node, or an empty view. */
static struct view pinned_to(const struct cluster_operator *o, const struct store_call *all)
{
    size_t n_prefix = strlen(o->prefix), n_word = strlen(o->word);
    for (int i = 0; i < all->n_entries; i++) {
        const struct store_entry *entry = &all->entries[i];
        const char *name = entry->key + n_prefix;
        struct view value = entry->value;
        if (strncmp(name, "desired/pins/", 13) == 0 && value.n >= n_word &&
            memcmp(value.at, o->word, n_word) == 0 &&
            (value.n == n_word || value.at[n_word] == ' '))
            return view_text(name + 13);
    }
    return view_of(NULL, 0);
}

static enum status wish_node(struct cluster_operator *o, const char *wish, struct fault *fault)
{
    struct store_call all;
    char name[STORE_KEY_BYTES];
    enum status status = list(o, &all, fault);
    snprintf(name, sizeof name, "members/node/%.200s", o->word);
    if (status != STATUS_OK)
        return status;
    if (value_of(o, &all, name).at == NULL)
        return fault_set(
            fault, STATUS_NOT_FOUND,
            "cluster %.60s has no node \"%.80s\" (its HOST:PORT on the bus; see `shoal "
            "cluster status`)",
            o->config.cluster, o->word);
    struct view model = pinned_to(o, &all);
    if (model.at != NULL)
        return fault_set(
            fault, STATUS_UNSUPPORTED,
            "model %.*s is pinned to node %.80s: `shoal unpin` it, or pin it elsewhere, "
            "first",
            (int)min_i64((int64_t)model.n, 80), model.at, o->word);
    return put(o, "desired/nodes/", wish, fault);
}

static enum status cordon(struct cluster_operator *o, struct fault *fault)
{
    return wish_node(o, "cordon", fault);
}

static enum status drain(struct cluster_operator *o, struct fault *fault)
{
    return wish_node(o, "drain", fault);
}

static enum status uncordon(struct cluster_operator *o, struct fault *fault)
{
    return end_wish(o, "desired/nodes/", fault); /* also of a node that is gone */
}

/* ---- The cluster. ---- */

static enum status print_status(struct cluster_operator *o, struct fault *fault)
{
    struct store_call all;
    enum status status = list(o, &all, fault);
    size_t n = strlen(o->prefix);
    for (int i = 0; status == STATUS_OK && i < all.n_entries; i++) {
        struct str text;
        str_init(&text);
        str_printf(&text, "%s: %.*s", all.entries[i].key + n, (int)all.entries[i].value.n,
                   all.entries[i].value.at);
        for (char *line = text.at, *next; line != NULL; line = next) {
            next = strchr(line, '\n');
            if (next != NULL)
                *next++ = '\0';
            utf8_tame(line);
            if (line[0] != '\0')
                printf("%s%s\n", line == text.at ? "" : "    ", line);
        }
        str_free(&text);
    }
    return status;
}

/* Returns the store's nonce, after naming one if it has none. */
static enum status find_life(struct cluster_operator *o, struct store_id *out, struct fault *fault)
{
    for (int i = 0; i < 3; i++) {
        struct store_call all;
        char key[STORE_KEY_BYTES], text[STORE_ID_TEXT];
        enum status status = list(o, &all, fault);
        if (status != STATUS_OK)
            return status;
        struct view nonce = value_of(o, &all, "nonce");
        if (nonce.at != NULL && store_id_read(nonce.at, nonce.n, out))
            return STATUS_OK;
        if (nonce.at != NULL)
            return fault_set(fault, STATUS_BAD_INPUT,
                             "the store's key %.100snonce is damaged: delete it, then adopt",
                             o->prefix);
        snprintf(key, sizeof key, "%snonce", o->prefix);
        store_id_write((struct store_id){ rng_system(), rng_system() }, text);
        struct store_call change = { .kind = STORE_CHANGE, .n_conditions = 1, .n_changes = 1 };
        change.conditions[0] = (struct store_condition){ STORE_CREATED_AT, key, 0, { 0 } };
        change.changes[0] = (struct store_change){ key, view_text(text), 0, false };
        status = call(o, &change, fault);
        if (status != STATUS_OK)
            return status;
    }
    return fault_set(fault, STATUS_BUSY, "the store changes too fast: try again");
}

static enum status adopt(struct cluster_operator *o, struct fault *fault)
{
    static const char *const files[] = { "obeyed", "led" };
    struct store_id life;
    char text[STORE_ID_TEXT], path[512];
    int n_adopted = 0;
    if (o->config.state_dir == NULL)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "state_dir is missing: name the folder of this machine's node or manager");
    enum status status = find_life(o, &life, fault);
    for (size_t i = 0; i < COUNT_OF(files) && status == STATUS_OK; i++) {
        struct store_fence fence;
        snprintf(path, sizeof path, "%.480s/%s", o->config.state_dir, files[i]);
        if (!file_exists(path))
            continue;
        status = store_fence_open(&fence, path, fault);
        if (status == STATUS_OK)
            status = store_fence_adopt(&fence, life, fault);
        n_adopted += status == STATUS_OK;
    }
    if (status != STATUS_OK)
        return status;
    store_id_write(life, text);
    printf("life %s adopted: %d of this machine's processes remember another or this one\n", text,
           n_adopted);
    return STATUS_OK;
}

/* ---- Verbs. ---- */

/* Acts on the store of o->config. The wish is checked again if the cluster changed meanwhile. */
static int obey(struct cluster_operator *o,
                enum status (*act)(struct cluster_operator *o, struct fault *fault))
{
    struct fault fault;
    enum status status = STATUS_OK;
    if (o->config.n_store == 0)
        status = fault_set(&fault, STATUS_BAD_INPUT,
                           "store is missing: list etcd's endpoints, as http://127.0.0.1:2379");
    if (status == STATUS_OK)
        status = fleet_store_open_client(&o->config, &o->store, o->prefix, &fault);
    if (status == STATUS_OK) {
        status = STATUS_BUSY;
        for (int i = 0; i < TRIES && status == STATUS_BUSY; i++)
            status = act(o, &fault);
        o->store->close(o->store->self);
    }
    if (status != STATUS_OK)
        fprintf(stderr, "shoal: %s\n", fault.text);
    return status == STATUS_OK ? 0 : status == STATUS_BAD_INPUT ? 2 : 1;
}

int fleet_operator_wish(const struct config *config, const struct fleet_wish *wish)
{
    static enum status (*const acts[])(struct cluster_operator * o, struct fault * fault) = {
        [FLEET_PAUSE] = pause_model,
        [FLEET_UNPAUSE] = unpause_model,
        [FLEET_PIN] = pin,
        [FLEET_UNPIN] = unpin,
    };
    struct cluster_operator *o = mem_take(sizeof *o);
    o->config = *config; /* its texts are the caller's */
    o->word = wish->model;
    o->place = wish->place;
    int code = obey(o, acts[wish->kind]);
    mem_give(o);
    return code;
}

static int run(const struct options_verb *verb, int argc, char **argv,
               enum status (*act)(struct cluster_operator *o, struct fault *fault),
               struct cluster_operator *o)
{
    struct fault fault;
    int n_plain, code = 2;
    config_init(&o->config);
    enum status status = config_read_environment(&o->config, &fault);
    if (status == STATUS_OK &&
        !config_options_parse(verb, argc, argv, &o->config, &o->word, &n_plain)) {
        config_free(&o->config);
        return 2;
    }
    if (status == STATUS_OK)
        code = obey(o, act);
    else
        fprintf(stderr, "shoal: %s\n", fault.text);
    config_free(&o->config);
    return code;
}

static int run_word(const char *doc, const char *arguments, int argc, char **argv,
                    enum status (*act)(struct cluster_operator *o, struct fault *fault))
{
    struct cluster_operator *o = mem_take(sizeof *o);
    const struct options_extra extras[] = {
        { "copies", "at least so many engines have it in memory (1); 0: as requests want",
          &o->copies, true },
        { "path", "of a new model: its file on each machine, in one of its model_dirs",
          &o->definition.path, true },
        { "url", "of a new model: the http:// or https:// address of its file", &o->definition.url,
          true },
        { "sha256", "of the new model's file, 64 hexadecimal digits; needed with --url",
          &o->definition.sha256, true },
        { "ctx", "of a new model: tokens of prompt and answer", &o->definition.context, true },
        { "kv-type", "of a new model: type of its cached keys and values", &o->definition.kv_type,
          true }
    };
    const struct options_verb verb = { .doc = doc,
                                       .arguments = arguments,
                                       .has_config = true,
                                       .keys = keys,
                                       .n_min = 1,
                                       .n_max = 1,
                                       .extras = extras,
                                       .n_extras = act == deploy ? (int)COUNT_OF(extras) : 0 };
    int code = run(&verb, argc, argv, act, o);
    mem_give(o);
    return code;
}

int fleet_operator_deploy(int argc, char **argv)
{
    return run_word("Keeps a model in memory on so many engines of the cluster, whatever requests "
                    "want. It undoes `shoal undeploy`. With --path or --url it brings in a new "
                    "model, which managers, gateways and nodes take in while they run.",
                    "NAME", argc, argv, deploy);
}

int fleet_operator_undeploy(int argc, char **argv)
{
    return run_word("Takes a model out of memory on all nodes of the cluster as soon as it has no "
                    "requests, and keeps it out until `shoal deploy`. A model that `shoal deploy` "
                    "brought in is removed, so that its name is unknown.",
                    "NAME", argc, argv, undeploy);
}

int fleet_operator_cordon(int argc, char **argv)
{
    return run_word("Loads no more models on a node. What it has stays, and serves.", "HOST:PORT",
                    argc, argv, cordon);
}

int fleet_operator_uncordon(int argc, char **argv)
{
    return run_word("Ends `shoal cordon` or `shoal drain` of a node.", "HOST:PORT", argc, argv,
                    uncordon);
}

int fleet_operator_drain(int argc, char **argv)
{
    return run_word(
        "Moves all models of a node elsewhere, and loads no more on it. The last copy of "
        "a model leaves after another one is loaded, and its requests go on there.",
        "HOST:PORT", argc, argv, drain);
}

static const char cluster_doc[] =
    "adopt: takes the store's life of the cluster as this machine's, after etcd was emptied or "
    "restored from a backup. Until then its nodes obey no manager, and serve as before.\n"
    "status: prints members, leader, wishes and placement, as the store has them.\n"
    "demo: starts etcd, two gateways, two managers and three nodes on this machine, kills some of "
    "them while they answer, and prints what happens."
    "\vdocs/CLUSTER.md has roles, keys and operations.";

int fleet_operator_cluster(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    bool is_demo = strcmp(word, "demo") == 0, is_adopt = strcmp(word, "adopt") == 0;
    bool is_help =
        strcmp(word, "--help") == 0 || strcmp(word, "-?") == 0 || strcmp(word, "--usage") == 0;
    if (is_demo)
        return fleet_demo_run(argc - 1, argv + 1);
    if (!is_adopt && strcmp(word, "status") != 0 && !is_help) {
        fprintf(stderr, "shoal: expected adopt, status or demo\n");
        return 2;
    }
    struct cluster_operator *o = mem_take(sizeof *o);
    const struct options_verb verb = { .doc = cluster_doc,
                                       .arguments = "adopt\nstatus\ndemo",
                                       .has_config = true,
                                       .keys = keys,
                                       .n_min = 1,
                                       .n_max = 1 };
    int code = run(&verb, argc, argv, is_adopt ? adopt : print_status, o);
    mem_give(o);
    return code;
}
