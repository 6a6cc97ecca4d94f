/* Types are read from type, enum, const, anyOf, oneOf and allOf. Everything else may be any type.
 */
#include "calls/tools.h"
#include <jansson.h>
#include <string.h>

enum { DEPTH_MAX = 4 };

static unsigned type_of_name(const char *name)
{
    static const struct {
        const char *name;
        unsigned type;
    } rows[] = {
        { "string", CALLS_TYPE_TEXT },    { "number", CALLS_TYPE_NUMBER },
        { "integer", CALLS_TYPE_NUMBER }, { "boolean", CALLS_TYPE_BOOL },
        { "null", CALLS_TYPE_NULL },      { "array", CALLS_TYPE_ARRAY },
        { "object", CALLS_TYPE_OBJECT },
    };
    for (size_t i = 0; name != NULL && i < COUNT_OF(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].type;
    return CALLS_TYPE_ANY;
}

static unsigned type_of_value(const json_t *value)
{
    return json_is_string(value)    ? CALLS_TYPE_TEXT
           : json_is_number(value)  ? CALLS_TYPE_NUMBER
           : json_is_boolean(value) ? CALLS_TYPE_BOOL
           : json_is_null(value)    ? CALLS_TYPE_NULL
           : json_is_array(value)   ? CALLS_TYPE_ARRAY
                                    : CALLS_TYPE_OBJECT;
}

static unsigned types_of(const json_t *schema, int depth);

static unsigned types_of_any(const json_t *list, int depth)
{
    unsigned types = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        types |= types_of(json_array_get(list, i), depth + 1);
    return types != 0 ? types : CALLS_TYPE_ANY;
}

static unsigned types_of(const json_t *schema, int depth)
{
    const json_t *type = json_object_get(schema, "type"), *list = json_object_get(schema, "enum");
    const json_t *only = json_object_get(schema, "const");
    unsigned types = CALLS_TYPE_ANY, some = 0;
    if (depth > DEPTH_MAX)
        return types;
    if (json_is_string(type))
        types &= type_of_name(json_string_value(type));
    for (size_t i = 0; i < json_array_size(type); i++)
        some |= type_of_name(json_string_value(json_array_get(type, i)));
    types &= some != 0 ? some : CALLS_TYPE_ANY;
    some = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        some |= type_of_value(json_array_get(list, i));
    types &= some != 0 ? some : CALLS_TYPE_ANY;
    if (only != NULL)
        types &= type_of_value(only);
    types &= types_of_any(json_object_get(schema, "anyOf"), depth);
    types &= types_of_any(json_object_get(schema, "oneOf"), depth);
    const json_t *all = json_object_get(schema, "allOf");
    for (size_t i = 0; i < json_array_size(all); i++)
        types &= types_of(json_array_get(all, i), depth + 1);
    return types != 0 ? types : CALLS_TYPE_ANY;
}

void calls_tools_read(struct calls_tool *tool, const void *schema, struct pile *pile)
{
    json_t *properties = json_object_get(schema, "properties"), *member;
    size_t n = json_object_size(properties);
    if (n == 0 || n > CALLS_PARAMS_MAX)
        return;
    struct calls_param *params = pile_take(pile, sizeof(*params) * n);
    const char *key;
    json_object_foreach(properties, key, member) {
        size_t n_bytes = strlen(key);
        params[tool->n_params++] = (struct calls_param){
            .name = view_of(pile_text(pile, key, n_bytes), n_bytes),
            .types = types_of(member, 0),
        };
    }
    tool->params = params;
}

const struct calls_tool *calls_tools_find(const struct calls_tools *tools, struct view name)
{
    for (int32_t i = 0; i < tools->n; i++)
        if (view_equal(tools->of[i].name, name))
            return &tools->of[i];
    return NULL;
}

unsigned calls_tools_types(const struct calls_tool *tool, struct view name)
{
    for (int32_t i = 0; tool != NULL && i < tool->n_params; i++)
        if (view_equal(tool->params[i].name, name))
            return tool->params[i].types;
    return CALLS_TYPE_ANY;
}
