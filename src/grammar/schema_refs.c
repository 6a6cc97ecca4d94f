/* References: $ref to JSON pointers, anchors and $id inside of the document.
 *
 * A schema with $id is a resource. Every schema belongs to the innermost resource around it, and
 * a reference is resolved against that one. */
#include "grammar/schema.h"

#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

enum { RESOURCES_MAX = 512, ANCHORS_MAX = 2048, NODES_MAX = 1 << 18, DEPTH_MAX = 512 };

struct resource {
    char *uri; /* without fragment; "" for the root without $id */
    const json_t *root;
};
struct anchor {
    uint32_t resource;
    const char *name;
    const json_t *node;
};
struct schema_refs {
    struct resource resources[RESOURCES_MAX];
    struct anchor anchors[ANCHORS_MAX];
    uint32_t n_resources, n_anchors, n_nodes;
    struct map resource_of; /* address of a schema to its resource */
};

/* Joins a reference to a base, as far as RFC 3986 is needed here. */
static char *join_uri(struct schema *s, const char *base, const char *ref, size_t n_ref)
{
    size_t n_base = strlen(base), n_keep = 0;
    bool has_scheme = false;
    for (size_t i = 0; i < n_ref && ref[i] != '/' && ref[i] != '?'; i++)
        has_scheme |= ref[i] == ':';
    if (n_ref == 0)
        return pile_text(s->pile, base, n_base);
    if (!has_scheme && ref[0] == '/') { /* behind scheme and host */
        const char *host = strstr(base, "://");
        const char *path = host != NULL ? strchr(host + 3, '/') : NULL;
        n_keep = path != NULL ? (size_t)(path - base) : host != NULL ? n_base : 0;
    } else if (!has_scheme) {
        const char *slash = strrchr(base, '/');
        n_keep = slash != NULL ? (size_t)(slash - base) + 1 : 0;
    }
    char *out = pile_take(s->pile, n_keep + n_ref + 1);
    memcpy(out, base, n_keep);
    memcpy(out + n_keep, ref, n_ref);
    return out;
}

static size_t before_fragment(const char *uri)
{
    return strcspn(uri, "#");
}

static void add_anchor(struct schema *s, uint32_t resource, const char *name, const json_t *node)
{
    struct schema_refs *r = s->refs;
    if (r->n_anchors == ANCHORS_MAX)
        build_refuse(s->build, STATUS_TOO_LARGE, "JSON Schema: it has too many anchors");
    else
        r->anchors[r->n_anchors++] = (struct anchor){ resource, name, node };
}

/* Returns the resource of a schema, which may begin one. */
static uint32_t enter(struct schema *s, const json_t *node, uint32_t resource)
{
    struct schema_refs *r = s->refs;
    const char *id = json_string_value(json_object_get(node, s->draft == 4 ? "id" : "$id"));
    const char *anchor = json_string_value(json_object_get(node, "$anchor"));
    bool is_hidden = s->draft != 2020 && json_object_get(node, "$ref") != NULL;
    if (id != NULL && !is_hidden) {
        size_t n = before_fragment(id);
        if (id[0] == '#') {
            add_anchor(s, resource, id + 1, node);
        } else if (r->n_resources == RESOURCES_MAX) {
            build_refuse(s->build, STATUS_TOO_LARGE, "JSON Schema: it has too many $id");
        } else if (node == s->root) {
            r->resources[0].uri = pile_text(s->pile, id, n);
        } else {
            char *uri = join_uri(s, r->resources[resource].uri, id, n);
            resource = r->n_resources;
            r->resources[r->n_resources++] = (struct resource){ uri, node };
        }
    }
    if (anchor != NULL && s->draft == 2020)
        add_anchor(s, resource, anchor, node);
    return resource;
}

/* Notes the resource of each schema below this one. */
static void find_all(struct schema *s, const json_t *node, uint32_t resource, int depth)
{
    static const char *const maps[] = { "properties",  "patternProperties", "$defs",
                                        "definitions", "dependentSchemas",  "dependencies" };
    static const char *const not_schemas[] = { "enum",     "const",    "default",
                                               "examples", "required", "type" };
    const char *key;
    json_t *value, *inside;
    size_t i;
    if (s->build->is_bad || (!json_is_object(node) && !json_is_array(node)))
        return;
    if (depth > DEPTH_MAX || ++s->refs->n_nodes >= NODES_MAX) {
        build_refuse(s->build, STATUS_TOO_LARGE,
                     "JSON Schema: it is nested too deeply, or too long");
        return;
    }
    json_array_foreach((json_t *)(uintptr_t)node, i, value)
        find_all(s, value, resource, depth + 1);
    if (!json_is_object(node))
        return;
    resource = enter(s, node, resource);
    (void)map_put(&s->refs->resource_of, (uintptr_t)node, resource);
    json_object_foreach((json_t *)(uintptr_t)node, key, value) {
        bool is_map = false, is_schema = true;
        for (size_t k = 0; k < COUNT_OF(maps); k++)
            is_map |= strcmp(key, maps[k]) == 0;
        for (size_t k = 0; k < COUNT_OF(not_schemas); k++)
            is_schema &= strcmp(key, not_schemas[k]) != 0;
        if (is_map) {
            const char *name;
            json_object_foreach(value, name, inside)
                find_all(s, inside, resource, depth + 1);
        } else if (is_schema) {
            find_all(s, value, resource, depth + 1);
        }
    }
}

void schema_refs_open(struct schema *s)
{
    s->refs = mem_take(sizeof(*s->refs));
    map_init(&s->refs->resource_of, NODES_MAX);
    s->refs->resources[0] = (struct resource){ pile_text(s->pile, "", 0), s->root };
    s->refs->n_resources = 1;
    find_all(s, s->root, 0, 0);
}

void schema_refs_close(struct schema *s)
{
    map_free(&s->refs->resource_of);
    mem_give(s->refs);
    s->refs = NULL;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                : -1;
}

/* Reads one part of a JSON pointer: %XX, ~0, ~1. Returns the text behind it. */
static const char *read_part(const char *at, char *out, size_t n_max)
{
    size_t n = 0;
    for (; *at != '\0' && *at != '/' && n + 1 < n_max; at++) {
        if (at[0] == '%' && hex_digit(at[1]) >= 0 && hex_digit(at[2]) >= 0) {
            out[n++] = (char)(hex_digit(at[1]) * 16 + hex_digit(at[2]));
            at += 2;
        } else if (at[0] == '~' && (at[1] == '0' || at[1] == '1')) {
            out[n++] = at[1] == '0' ? '~' : '/';
            at++;
        } else {
            out[n++] = *at;
        }
    }
    out[n] = '\0';
    return at;
}

static const json_t *follow_pointer(const json_t *node, const char *at)
{
    char part[512];
    while (*at == '/' && node != NULL) {
        char *end;
        at = read_part(at + 1, part, sizeof(part));
        if (json_is_array(node)) {
            unsigned long i = strtoul(part, &end, 10);
            node = *end == '\0' && part[0] != '\0' ? json_array_get(node, i) : NULL;
        } else {
            node = json_object_get(node, part);
        }
    }
    return *at == '\0' ? node : NULL;
}

const json_t *schema_refs_find(struct schema *s, const json_t *from, const char *ref)
{
    const struct schema_refs *r = s->refs;
    uint32_t resource = map_find(&r->resource_of, (uintptr_t)from);
    size_t n = before_fragment(ref);
    const char *fragment = ref[n] == '#' ? ref + n + 1 : "";
    const json_t *node = NULL;
    resource = resource == MAP_NONE ? 0 : resource;
    if (n > 0) {
        const char *uri = join_uri(s, r->resources[resource].uri, ref, n);
        resource = MAP_NONE;
        for (uint32_t i = 0; i < r->n_resources && resource == MAP_NONE; i++)
            if (strcmp(r->resources[i].uri, uri) == 0)
                resource = i;
    }
    if (resource != MAP_NONE && (fragment[0] == '\0' || fragment[0] == '/'))
        node = follow_pointer(r->resources[resource].root, fragment);
    for (uint32_t i = 0; i < r->n_anchors && node == NULL; i++)
        if (r->anchors[i].resource == resource && strcmp(r->anchors[i].name, fragment) == 0)
            node = r->anchors[i].node;
    if (node == NULL)
        build_refuse(s->build, STATUS_BAD_INPUT,
                     "JSON Schema: $ref: \"%.100s\" leads to no schema of this document", ref);
    return node;
}
