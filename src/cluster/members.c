/* Reads the members of a cluster from the store's news. */
#include "cluster/members.h"

#include "base/json_out.h"
#include "base/log.h"
#include "base/mem.h"
#include "cluster/message.h"
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { WISHES_MAX = LIMIT_NODES };

void cluster_members_open(struct cluster_members *m, const char *prefix)
{
    *m = (struct cluster_members){ 0 };
    CHECK(strlen(prefix) + 16 < sizeof m->prefix);
    snprintf(m->prefix, sizeof m->prefix, "%s", prefix);
}

void cluster_members_close(struct cluster_members *m)
{
    mem_give(m->nodes);
    mem_give(m->node_wishes);
    mem_give(m->model_wishes);
    mem_give(m->broken);
    *m = (struct cluster_members){ 0 };
}

/* Returns the array of n elements with room for one more. The room doubles when n is a power of
 * two, so a cluster that grows is not copied for each of its members. */
static void *with_one_more(void *array, int n, size_t size)
{
    bool is_full = (n & (n - 1)) == 0;
    return is_full ? mem_grow(array, (size_t)n * size, (size_t)max_i32(2 * n, 1) * size) : array;
}

/* Returns what follows the prefix and the folder in the key; NULL: it is not in there. */
static const char *name_in(const struct cluster_members *m, const char *folder, const char *key)
{
    size_t n_prefix = strlen(m->prefix), n_folder = strlen(folder);
    if (strncmp(key, m->prefix, n_prefix) != 0 || strncmp(key + n_prefix, folder, n_folder) != 0)
        return NULL;
    return key + n_prefix + n_folder;
}

int cluster_members_find(const struct cluster_members *m, const char *address)
{
    for (int i = 0; i < m->n_nodes; i++)
        if (strcmp(m->nodes[i].address, address) == 0)
            return i;
    return -1;
}

static int find_node_wish(const struct cluster_members *m, const char *address)
{
    for (int i = 0; i < m->n_node_wishes; i++)
        if (strcmp(m->node_wishes[i].address, address) == 0)
            return i;
    return -1;
}

enum cluster_members_wish cluster_members_wish(const struct cluster_members *m, const char *address)
{
    int at = find_node_wish(m, address);
    return at >= 0 ? m->node_wishes[at].wish : CLUSTER_WISH_NONE;
}

/* ---- Values. ---- */

void cluster_members_write_node(struct str *out, int32_t n_engines, const char *version,
                                const struct cluster_members_refused *refused, int n_refused)
{
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key_i64(&json, "engines", n_engines);
    json_out_key_text(&json, "version", version);
    json_out_key_i64(&json, "bus", MESSAGE_VERSION);
    if (n_refused > 0) {
        json_out_key(&json, "refused");
        json_out_open(&json, '{');
        for (int i = 0; i < min_i32(n_refused, CLUSTER_MEMBER_REFUSED_MAX); i++)
            json_out_key_text(&json, refused[i].name, refused[i].why);
        json_out_close(&json, '}');
    }
    json_out_close(&json, '}');
}

/* Copies the text, which fits or is cut, as one line of UTF-8. */
static void copy_text(char *out, size_t n_max, struct view text)
{
    size_t n = text.n < n_max - 1 ? text.n : n_max - 1;
    memcpy(out, text.at, n);
    out[n] = '\0';
    utf8_tame(out);
}

static void read_refused(struct cluster_members_node *node, json_t *refused)
{
    const char *name;
    json_t *why;
    node->n_refused = 0;
    json_object_foreach(refused, name, why) {
        struct cluster_members_refused *row = &node->refused[node->n_refused];
        if (node->n_refused == CLUSTER_MEMBER_REFUSED_MAX || strlen(name) >= LIMIT_NAME_BYTES ||
            !json_is_string(why))
            continue;
        snprintf(row->name, sizeof row->name, "%s", name);
        copy_text(row->why, sizeof row->why,
                  view_of(json_string_value(why), json_string_length(why)));
        row->cause = STATUS_BAD_INPUT;
        node->n_refused++;
    }
}

/* Reads engines and refused models. Returns false when the value can't be used. */
static bool read_node(struct view value, struct cluster_members_node *out)
{
    json_t *root = json_loadb(value.at, value.n, 0, NULL);
    const json_t *engines = json_object_get(root, "engines");
    const json_t *bus = json_object_get(root, "bus");
    json_int_t n = json_is_integer(engines) ? json_integer_value(engines) : -1;
    bool is_ours = json_is_integer(bus) && json_integer_value(bus) == MESSAGE_VERSION;
    if (is_ours)
        read_refused(out, json_object_get(root, "refused"));
    json_decref(root);
    out->n_engines = (int32_t)n;
    return is_ours && n >= 1 && n <= LIMIT_DEVICES;
}

void cluster_members_write_broken(struct str *out, const struct cluster_members_refused *broken)
{
    char why[CLUSTER_MEMBER_WHY_BYTES];
    copy_text(why, sizeof why, view_text(broken->why));
    str_printf(out, "broken %d %s\t%s\n", (int)broken->cause, broken->name, why);
}

/* Reads "CAUSE NAME<tab>WHY". */
static bool read_broken(struct view line, struct cluster_members_refused *out)
{
    const char *blank = memchr(line.at, ' ', line.n), *end = line.at + line.n;
    const char *tab = memchr(line.at, '\t', line.n);
    char cause[8];
    int64_t n;
    if (blank == NULL || tab == NULL || tab < blank || blank - line.at >= (int)sizeof cause ||
        tab - blank - 1 < 1 || tab - blank - 1 >= LIMIT_NAME_BYTES)
        return false;
    copy_text(cause, sizeof cause, view_of(line.at, (size_t)(blank - line.at)));
    copy_text(out->name, sizeof out->name, view_of(blank + 1, (size_t)(tab - blank - 1)));
    copy_text(out->why, sizeof out->why, view_of(tab + 1, (size_t)(end - tab - 1)));
    if (!parse_i64(cause, &n) || n < STATUS_BAD_INPUT || n > STATUS_IO)
        return false;
    out->cause = (enum status)n;
    return true;
}

static void read_placement(struct cluster_members *m, struct view value)
{
    static const char word[] = "broken ";
    m->n_broken = 0;
    for (size_t at = 0, n; at < value.n && m->n_broken < LIMIT_SERVICES; at += n + 1) {
        const char *end = memchr(value.at + at, '\n', value.n - at);
        n = end != NULL ? (size_t)(end - value.at) - at : value.n - at;
        struct view line = view_of(value.at + at, n);
        struct cluster_members_refused row;
        if (!view_starts(line, word) ||
            !read_broken(view_of(line.at + sizeof word - 1, n - (sizeof word - 1)), &row))
            continue;
        m->broken = with_one_more(m->broken, m->n_broken, sizeof row);
        m->broken[m->n_broken++] = row;
    }
}

const char *cluster_members_why_refused(const struct cluster_members *m, const char *name)
{
    const char *why = NULL;
    for (int i = 0; i < m->n_nodes; i++) {
        const struct cluster_members_node *node = &m->nodes[i];
        int k = 0;
        while (k < node->n_refused && strcmp(node->refused[k].name, name) != 0)
            k++;
        if (k == node->n_refused)
            return NULL;
        why = node->refused[k].why;
    }
    return why;
}

/* ---- Changes. ---- */

static void put_node(struct cluster_members *m, const char *address,
                     const struct store_entry *entry)
{
    struct cluster_members_node seen = { .changed = entry->changed };
    int at = cluster_members_find(m, address);
    if (!read_node(entry->value, &seen) || strlen(address) >= CLUSTER_MEMBER_ADDRESS_BYTES ||
        (at < 0 && m->n_nodes == LIMIT_NODES)) {
        log_line(LOG_WARN, "cluster",
                 "node %.100s is not used: its entry in the store is of another version of Shoal, "
                 "or damaged",
                 address);
        if (at >= 0)
            m->nodes[at] = m->nodes[--m->n_nodes];
        return;
    }
    if (at < 0) {
        m->nodes = with_one_more(m->nodes, m->n_nodes, sizeof *m->nodes);
        at = m->n_nodes++;
    }
    snprintf(seen.address, sizeof seen.address, "%s", address);
    m->nodes[at] = seen;
}

static void put_node_wish(struct cluster_members *m, const char *address, struct view value)
{
    int at = find_node_wish(m, address);
    if (strlen(address) >= CLUSTER_MEMBER_ADDRESS_BYTES ||
        (at < 0 && m->n_node_wishes == WISHES_MAX))
        return;
    if (at < 0) {
        m->node_wishes = with_one_more(m->node_wishes, m->n_node_wishes, sizeof *m->node_wishes);
        at = m->n_node_wishes++;
        snprintf(m->node_wishes[at].address, sizeof m->node_wishes[at].address, "%s", address);
    }
    m->node_wishes[at].wish = view_equal_text(value, "drain")    ? CLUSTER_WISH_DRAIN
                              : view_equal_text(value, "cordon") ? CLUSTER_WISH_CORDON
                                                                 : CLUSTER_WISH_NONE;
}

static int find_model_wish(const struct cluster_members *m, const char *name)
{
    for (int i = 0; i < m->n_model_wishes; i++)
        if (strcmp(m->model_wishes[i].name, name) == 0)
            return i;
    return -1;
}

static const struct cluster_members_model_wish no_wish = { .pin_engine = -1 };

struct cluster_members_model_wish cluster_members_model(const struct cluster_members *m,
                                                        const char *name)
{
    int at = find_model_wish(m, name);
    return at >= 0 ? m->model_wishes[at] : no_wish;
}

/* Returns the model's wish, which is added if it is missing; NULL: there is no room for it. */
static struct cluster_members_model_wish *model_wish(struct cluster_members *m, const char *name)
{
    int at = find_model_wish(m, name);
    if (strlen(name) >= LIMIT_NAME_BYTES || (at < 0 && m->n_model_wishes == LIMIT_SERVICES))
        return NULL;
    if (at < 0) {
        m->model_wishes =
            with_one_more(m->model_wishes, m->n_model_wishes, sizeof *m->model_wishes);
        at = m->n_model_wishes++;
        m->model_wishes[at] = no_wish;
        snprintf(m->model_wishes[at].name, sizeof m->model_wishes[at].name, "%s", name);
    }
    return &m->model_wishes[at];
}

static void read_copies(struct cluster_members_model_wish *wish, struct view value)
{
    char text[16];
    int64_t n_copies;
    snprintf(text, sizeof text, "%.*s", (int)(value.n < 15 ? value.n : 15), value.at);
    if (!parse_i64(text, &n_copies) || n_copies < -1 || n_copies > LIMIT_ENGINES)
        n_copies = 0;
    wish->n_copies = (int)n_copies;
}

static void read_paused(struct cluster_members_model_wish *wish, struct view value)
{
    wish->is_paused = view_equal_text(value, "yes");
}

static void read_pin(struct cluster_members_model_wish *wish, struct view value)
{
    char text[CLUSTER_MEMBER_ADDRESS_BYTES + 16];
    int64_t engine = -1;
    wish->pin[0] = '\0';
    wish->pin_engine = -1;
    if (value.n == 0 || value.n >= sizeof text || memchr(value.at, '\0', value.n) != NULL)
        return;
    snprintf(text, sizeof text, "%.*s", (int)value.n, value.at);
    char *blank = strchr(text, ' ');
    if (blank != NULL) {
        *blank = '\0';
        if (!parse_i64(blank + 1, &engine) || engine < 0 || engine >= LIMIT_DEVICES)
            return;
    }
    if (strlen(text) >= sizeof wish->pin)
        return;
    snprintf(wish->pin, sizeof wish->pin, "%.*s", (int)sizeof wish->pin - 1, text);
    wish->pin_engine = (int)engine;
}

/* The folders of wishes on models. A missing key reads as an empty value. */
static const struct model_folder {
    const char *name;
    void (*read)(struct cluster_members_model_wish *wish, struct view value);
} model_folders[] = { { "desired/models/", read_copies },
                      { "desired/paused/", read_paused },
                      { "desired/pins/", read_pin } };

/* Takes the value of a key that is a wish on a model, if it is one. */
static void take_model_wish(struct cluster_members *m, const char *key, struct view value)
{
    for (size_t i = 0; i < COUNT_OF(model_folders); i++) {
        const char *name = name_in(m, model_folders[i].name, key);
        struct cluster_members_model_wish *wish = name != NULL ? model_wish(m, name) : NULL;
        if (wish == NULL)
            continue;
        model_folders[i].read(wish, value);
        if (wish->n_copies == 0 && !wish->is_paused && wish->pin[0] == '\0')
            *wish = m->model_wishes[--m->n_model_wishes];
    }
}

static void put(struct cluster_members *m, const struct store_entry *entry)
{
    const char *name;
    m->n_changes++;
    if ((name = name_in(m, "members/node/", entry->key)) != NULL)
        put_node(m, name, entry);
    else if ((name = name_in(m, "desired/nodes/", entry->key)) != NULL)
        put_node_wish(m, name, entry->value);
    else if ((name = name_in(m, "placement", entry->key)) != NULL && name[0] == '\0')
        read_placement(m, entry->value);
    else
        take_model_wish(m, entry->key, entry->value);
}

static void delete_key(struct cluster_members *m, const char *key)
{
    const char *name;
    int at;
    m->n_changes++;
    if ((name = name_in(m, "members/node/", key)) != NULL) {
        if ((at = cluster_members_find(m, name)) >= 0)
            m->nodes[at] = m->nodes[--m->n_nodes];
    } else if ((name = name_in(m, "desired/nodes/", key)) != NULL) {
        if ((at = find_node_wish(m, name)) >= 0)
            m->node_wishes[at] = m->node_wishes[--m->n_node_wishes];
    } else if ((name = name_in(m, "placement", key)) != NULL && name[0] == '\0') {
        m->n_broken = 0;
    } else {
        take_model_wish(m, key, view_of("", 0));
    }
}

void cluster_members_take(struct cluster_members *m, const struct store_news *news)
{
    switch (news->kind) {
    case STORE_NEWS_LISTED:
        m->n_nodes = m->n_node_wishes = m->n_model_wishes = m->n_broken = 0;
        m->n_changes++;
        m->is_listed = m->is_live = true;
        for (int i = 0; i < news->n_entries; i++)
            put(m, &news->entries[i]);
        break;
    case STORE_NEWS_PUT:
        put(m, &news->entries[0]);
        break;
    case STORE_NEWS_DELETED:
        delete_key(m, news->entries[0].key);
        break;
    case STORE_NEWS_SILENT:
        m->is_live = false;
        break;
    case STORE_NEWS_LIVE:
        m->is_live = true;
        break;
    default:
        break;
    }
}
