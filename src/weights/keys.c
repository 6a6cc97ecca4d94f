/* Look-up in rows of keys. Lists are searched linearly, since they are short and files are read
 * once. */
#include "weights/keys.h"
#include <string.h>

/* Cuts the next word off the front of `rest`. Returns false when none is left. */
static bool next_word(const char **rest, char separator, struct view *word)
{
    if (*rest == NULL)
        return false;
    const char *end = strchr(*rest, separator);
    *word = end != NULL ? view_of(*rest, (size_t)(end - *rest)) : view_text(*rest);
    *rest = end != NULL ? end + 1 : NULL;
    return true;
}

bool weights_keys_hold(const char *words, char separator, struct view word)
{
    struct view next;
    if (words == NULL)
        return true;
    while (next_word(&words, separator, &next))
        if (view_equal(next, word))
            return true;
    return false;
}

bool weights_keys_are_of(const char *families, struct view family)
{
    if (families != NULL && families[0] == '!')
        return !weights_keys_hold(families + 1, ' ', family);
    return weights_keys_hold(families, ' ', family);
}

const struct weights_key *weights_keys_find(const struct weights_key *rows, struct view family,
                                            struct view name)
{
    for (; rows->name != NULL; rows++)
        if (view_equal_text(name, rows->name) && weights_keys_are_of(rows->families, family))
            return rows;
    return NULL;
}

bool weights_keys_allow(const char *only, double number)
{
    struct view next;
    while (next_word(&only, '|', &next)) {
        char text[32];
        double value;
        if (next.n >= sizeof(text))
            continue;
        memcpy(text, next.at, next.n);
        text[next.n] = '\0';
        if (parse_f64(text, &value) && value == number)
            return true;
    }
    return false;
}

void weights_keys_unknown(struct weights_unknown *unknown, struct pile *pile, struct view name)
{
    unknown->n_found++;
    if (unknown->n == (int32_t)COUNT_OF(unknown->names))
        return;
    size_t n = name.n < 80 ? name.n : 80;
    char *text = pile_text(pile, name.at, n);
    for (size_t i = 0; i < n; i++)
        if (text[i] <= ' ' || text[i] > '~')
            text[i] = '?';
    unknown->names[unknown->n++] = text;
}
