/* See pairs.h. */
#include "pairs.h"
#include "test.h"

#include <jansson.h>
#include <string.h>

static double member(const json_t *event, const char *key)
{
    return json_number_value(json_object_get(event, key));
}

static bool is_at_once(const json_t *a, const json_t *b)
{
    const char *cat_b = json_string_value(json_object_get(b, "cat"));
    return cat_b != NULL && strcmp(cat_b, "decode") == 0 &&
           strcmp(json_string_value(json_object_get(a, "name")),
                  json_string_value(json_object_get(b, "name"))) != 0 &&
           member(a, "ts") < member(b, "ts") + member(b, "dur") &&
           member(b, "ts") < member(a, "ts") + member(a, "dur");
}

int64_t pairs_count(const char *path)
{
    json_error_t error;
    json_t *events = json_load_file(path, 0, &error);
    int64_t n_pairs = 0;
    assert_non_null(events);
    size_t n = json_array_size(events);
    for (size_t i = 0; i < n; i++) {
        const json_t *a = json_array_get(events, i);
        const char *cat = json_string_value(json_object_get(a, "cat"));
        if (cat == NULL || (strcmp(cat, "prefill") != 0 && strcmp(cat, "mixed") != 0))
            continue;
        for (size_t j = i > 40 ? i - 40 : 0; j < i + 40 && j < n; j++)
            n_pairs += is_at_once(a, json_array_get(events, j));
    }
    json_decref(events);
    return n_pairs;
}
