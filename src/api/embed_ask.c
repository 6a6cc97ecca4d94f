/* Reads the texts and what is wanted of them. Fields that would change the answer and are not
 * supported are refused by name. */
#include "api/embed_ask.h"

#include "api/refused.h"
#include <string.h>

struct form { /* the fields of a form */
    const char *const *names;
    size_t n;
};

#define NEVER API_REFUSED_NEVER
#define EMPTY API_REFUSED_EMPTY

static const struct api_refused refused[] = {
    { "truncate_prompt_tokens", EMPTY, "a longer text is refused and never cut" },
    { "max_chunks_per_doc", EMPTY, "a longer document is refused and never cut" },
    { "max_tokens_per_doc", EMPTY, "a longer document is refused and never cut" },
    { "rank_fields", EMPTY, "a document's text is ranked" },
    { "overlap_tokens", EMPTY, "a longer document is refused and never cut" },
    { "messages", EMPTY, "send the text as input" },
    { "chat_template", EMPTY, "send the text as input" },
    { "instruction", EMPTY, "put it into the text" },
    { "instruct", EMPTY, "put it into the text" },
    { "input_type", EMPTY, "put the instruction of that type into the text" },
    { "task", EMPTY, "put the instruction of that task into the text" },
    { "late_chunking", EMPTY, NULL },
    { "embedding_type", EMPTY, "it is called encoding_format here" },
    { "normalize", NEVER, "the model's files say whether vectors are normalised" },
    { "images", EMPTY, NULL },
    { "mm_processor_kwargs", EMPTY, NULL },
    { "softmax", NEVER, NULL },
    { "activation", NEVER, NULL },
    { "use_activation", NEVER, NULL },
};

static bool is_of(const struct form *form, const char *name)
{
    for (size_t i = 0; i < form->n; i++)
        if (strcmp(form->names[i], name) == 0)
            return true;
    return false;
}

static struct api_embed *begin(struct api_ask *ask, const struct api_fields *fields,
                               const struct form *form, bool is_strict)
{
    static const char *const common[] = { "model", "user", "priority", "request_id" };
    const struct form all = { common, COUNT_OF(common) };
    struct api_embed *embed = pile_take(&ask->pile, sizeof(*embed));
    const char *name;
    json_t *value;
    *embed = (struct api_embed){ 0 };
    ask->kept = embed;
    api_refused_refuse(fields, refused, COUNT_OF(refused));
    if (is_strict) {
        json_object_foreach(fields->object, name, value) {
            if (!is_of(form, name) && !is_of(&all, name))
                api_error_set(fields->error, ERROR_INVALID, name, "unknown field \"%.60s\"", name);
        }
    }
    ask->has_priority = api_fields_find(fields, "priority") != NULL;
    api_fields_i32(fields, "priority", (int64_t[2]){ INT16_MIN, INT16_MAX }, &ask->priority);
    return embed;
}

static void read_dimensions(const struct api_fields *fields, struct api_embed *embed)
{
    api_fields_i32(fields, "dimensions", (int64_t[2]){ 1, LIMIT_VECTOR }, &embed->dimensions);
}

bool api_embed_ask_openai(struct api_ask *ask, const struct api_fields *fields, bool is_strict)
{
    static const char *const names[] = { "input", "encoding_format", "dimensions",
                                         "add_special_tokens" };
    const struct form form = { names, COUNT_OF(names) };
    struct api_embed *embed = begin(ask, fields, &form, is_strict);
    embed->form = EMBED_OPENAI;
    const char *format = api_fields_text(fields, "encoding_format");
    if (format != NULL && strcmp(format, "float") != 0 && strcmp(format, "base64") != 0)
        api_error_set(fields->error, ERROR_INVALID, "encoding_format",
                      "encoding_format must be \"float\" or \"base64\", got \"%.40s\"", format);
    embed->is_base64 = format != NULL && strcmp(format, "base64") == 0;
    read_dimensions(fields, embed);
    api_fields_bool(fields, "add_special_tokens", &ask->add_special_tokens);
    api_ask_read_prompts(ask, fields, "input", LIMIT_INPUTS);
    return !fields->error->is_set;
}

/* Checks that each prompt from `first` on is a text. */
static void need_texts(const struct api_ask *ask, int32_t first, const char *field,
                       struct api_error *error)
{
    for (int32_t i = first; i < ask->n_prompts; i++)
        if (ask->prompts[i].ids != NULL)
            api_error_set(error, ERROR_INVALID, field, "%s must be a string or an array of strings",
                          field);
}

static void read_ollama(struct api_ask *ask, const struct api_fields *fields,
                        struct api_embed *embed, const char *field)
{
    json_t *options = api_fields_find(fields, "options");
    if (options != NULL && !json_is_object(options))
        api_error_set(fields->error, ERROR_INVALID, "options", "options must be an object");
    if (json_is_array(api_fields_find(fields, field)) && embed->form == EMBED_OLLAMA_ONE)
        api_error_set(fields->error, ERROR_INVALID, field, "%s must be a string", field);
    api_ask_read_prompts(ask, fields, field, LIMIT_INPUTS);
    need_texts(ask, 0, field, fields->error);
}

bool api_embed_ask_ollama(struct api_ask *ask, const struct api_fields *fields, bool is_strict)
{
    static const char *const names[] = { "input", "dimensions", "truncate", "options",
                                         "keep_alive" };
    const struct form form = { names, COUNT_OF(names) };
    struct api_embed *embed = begin(ask, fields, &form, is_strict);
    embed->form = EMBED_OLLAMA;
    read_dimensions(fields, embed);
    ask->truncates = true; /* as in Ollama, unless the client wants an error */
    api_fields_bool(fields, "truncate", &ask->truncates);
    read_ollama(ask, fields, embed, "input");
    return !fields->error->is_set;
}

bool api_embed_ask_ollama_one(struct api_ask *ask, const struct api_fields *fields, bool is_strict)
{
    static const char *const names[] = { "prompt", "options", "keep_alive" };
    const struct form form = { names, COUNT_OF(names) };
    struct api_embed *embed = begin(ask, fields, &form, is_strict);
    embed->form = EMBED_OLLAMA_ONE;
    read_ollama(ask, fields, embed, "prompt");
    return !fields->error->is_set;
}

/* Returns the text of an item: itself, or an object's text; NULL: neither. */
static const json_t *text_of(const json_t *item)
{
    const json_t *text = json_is_object(item) ? json_object_get(item, "text") : item;
    return json_is_string(text) ? text : NULL;
}

/* Adds a text, or an array of 1 to n_most texts, to the prompts, for which there is room. */
static void add_texts(struct api_ask *ask, const struct api_fields *fields, const char *field,
                      bool takes_one)
{
    const json_t *value = api_fields_find(fields, field);
    bool is_one = takes_one && text_of(value) != NULL;
    size_t n = is_one ? 1 : json_array_size(value);
    if (n == 0 || n > LIMIT_INPUTS) {
        api_error_set(fields->error, ERROR_INVALID, field, "%s must be %san array of 1 to %d texts",
                      field, takes_one ? "a string, or " : "", LIMIT_INPUTS);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *text = text_of(is_one ? value : json_array_get(value, i));
        size_t n_bytes = json_string_length(text);
        if (text == NULL) {
            api_error_set(fields->error, ERROR_INVALID, field,
                          "%s: item %zu is neither a string nor an object with a text", field, i);
            return;
        }
        ask->prompts[ask->n_prompts++] = (struct api_ask_prompt){
            .text = view_of(pile_text(&ask->pile, json_string_value(text), n_bytes), n_bytes)
        };
    }
}

static bool read_pairs(struct api_ask *ask, const struct api_fields *fields,
                       struct api_embed *embed, const char *const names[2])
{
    bool is_rerank = embed->form == EMBED_RERANK;
    ask->prompts = pile_take(&ask->pile, sizeof(*ask->prompts) * 2 * LIMIT_INPUTS);
    add_texts(ask, fields, names[0], true);
    embed->n_first = ask->n_prompts;
    if (is_rerank && embed->n_first > 1)
        api_error_set(fields->error, ERROR_INVALID, names[0], "%s must be one text", names[0]);
    add_texts(ask, fields, names[1], !is_rerank);
    int32_t n_second = ask->n_prompts - embed->n_first;
    if (embed->n_first > 1 && embed->n_first != n_second)
        api_error_set(fields->error, ERROR_INVALID, names[0],
                      "%s has %d texts and %s has %d: they must be as many, or a single first one",
                      names[0], embed->n_first, names[1], n_second);
    return !fields->error->is_set;
}

bool api_embed_ask_rerank(struct api_ask *ask, const struct api_fields *fields, bool is_strict)
{
    static const char *const names[] = { "query", "documents", "top_n", "return_documents" };
    const struct form form = { names, COUNT_OF(names) };
    struct api_embed *embed = begin(ask, fields, &form, is_strict);
    embed->form = EMBED_RERANK;
    embed->has_documents = true;
    api_fields_i32(fields, "top_n", (int64_t[2]){ 0, INT32_MAX }, &embed->n_top);
    api_fields_bool(fields, "return_documents", &embed->has_documents);
    return read_pairs(ask, fields, embed, names);
}

bool api_embed_ask_score(struct api_ask *ask, const struct api_fields *fields, bool is_strict)
{
    static const char *const names[] = { "text_1", "text_2" };
    const struct form form = { names, COUNT_OF(names) };
    struct api_embed *embed = begin(ask, fields, &form, is_strict);
    embed->form = EMBED_SCORE;
    return read_pairs(ask, fields, embed, names);
}
