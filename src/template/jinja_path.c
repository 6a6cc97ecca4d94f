/* Paths: parts that consist of digits are indices, the others are keys or attributes. */
#include "template/jinja_path.h"
#include "template/jinja_attr.h"
#include "template/jinja_case.h"
#include "template/jinja_number.h"
#include "template/jinja_text.h"

struct jinja_value jinja_path_parts(struct jinja_run *run, const struct jinja_value *attribute)
{
    struct jinja_value out = jinja_value_list(run, JINJA_LIST);
    if (attribute == NULL || attribute->kind == JINJA_NONE || jinja_failed(run))
        return out;
    if (attribute->kind != JINJA_STRING) {
        jinja_value_push(run, out, *attribute);
        return out;
    }
    struct jinja_value parts = jinja_text_split(run, attribute->string, view_text("."), -1);
    for (int64_t i = 0; !jinja_failed(run) && i < parts.list->n; i++) {
        struct jinja_value part = parts.list->at[i];
        int64_t index;
        if (jinja_case_is(run, part.string, JINJA_ALL_DIGIT)) {
            enum jinja_number kind = jinja_number_int(part.string, 10, &index);
            if (kind == JINJA_NUMBER_BAD)
                jinja_fail(run, STATUS_BAD_INPUT, "a part of an attribute is no number");
            if (kind == JINJA_NUMBER_LARGE)
                jinja_fail(run, STATUS_UNSUPPORTED, "an integer of more than 64 bits");
            part = jinja_int(index);
        }
        jinja_value_push(run, out, part);
    }
    return out;
}

struct jinja_value jinja_path_follow(struct jinja_run *run, struct jinja_value item,
                                     struct jinja_value parts, const struct jinja_value *fallback,
                                     bool folds)
{
    for (int64_t i = 0; !jinja_failed(run) && i < parts.list->n; i++) {
        item = jinja_attr_item(run, item, parts.list->at[i]);
        if (fallback != NULL && fallback->kind != JINJA_NONE && item.kind == JINJA_UNDEFINED)
            item = *fallback;
    }
    if (folds && item.kind == JINJA_STRING && !jinja_value_refuse_markup(run, item, "a sort"))
        item = jinja_case_change(run, item.string, JINJA_TO_LOWER);
    return jinja_failed(run) ? jinja_none() : item;
}
