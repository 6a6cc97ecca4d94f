/* The chat templates and special tokens of a card, while its file is read. */
#pragma once
#include "base/json_out.h"
#include "base/pile.h"
#include "weights/card.h"

enum { WEIGHTS_TEMPLATES_MAX = 32 };

struct weights_templates {
    struct pile *pile; /* owns the list and its texts */
    struct weights_template *at;
    int32_t n;
};
void weights_templates_init(struct weights_templates *templates, struct pile *pile);
/* Copies both. An existing name keeps its text. label is the file's name in faults. */
enum status weights_templates_add(struct weights_templates *templates, struct view name,
                                  struct view text, const char *label,
                                  struct fault *fault) MUST_USE;
/* Hands them to the card. The one named default becomes its chat_template. */
void weights_templates_give(const struct weights_templates *templates, struct weights_card *card);

/* Special tokens by name, in JSON. */
struct weights_specials {
    struct str text;
    struct json_out json;
    int32_t n;
};
void weights_templates_specials_init(struct weights_specials *specials);
/* An empty text adds none. */
void weights_templates_specials_add(struct weights_specials *specials, const char *name,
                                    struct view text);
/* Hands the object to the card and frees the rest. */
void weights_templates_specials_give(struct weights_specials *specials, struct pile *pile,
                                     struct weights_card *card);
