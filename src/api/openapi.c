/* Paths come from the table of endpoints, schemas from the table below. A schema lists the fields
 * that most clients send; docs/API.md has all of them. */
#include "api/openapi.h"

#include "base/json_out.h"
#include <string.h>

#define TEXT                "{\"type\":\"string\"}"
#define FLAG                "{\"type\":\"boolean\"}"
#define ARRAY               "{\"type\":\"array\"}"
#define NAME                "{\"type\":\"string\",\"minLength\":1}"
#define COUNT(least, most)  "{\"type\":\"integer\",\"minimum\":" #least ",\"maximum\":" #most "}"
#define NUMBER(least, most) "{\"type\":\"number\",\"minimum\":" #least ",\"maximum\":" #most "}"
/* clang-format off */
#define SAMPLING                                                                                   \
    "\"model\":" TEXT ",\"temperature\":" NUMBER(0, 2) ",\"top_p\":{\"type\":\"number\","          \
    "\"exclusiveMinimum\":0,\"maximum\":1},\"top_k\":" COUNT(-1, 1048576) ",\"min_p\":"            \
    NUMBER(0, 1) ",\"frequency_penalty\":" NUMBER(-2, 2) ",\"presence_penalty\":" NUMBER(-2, 2)    \
    ",\"repetition_penalty\":" NUMBER(0.01, 100) ",\"n\":" COUNT(1, 128)                           \
    ",\"seed\":{\"type\":\"integer\"},\"stop\":{\"anyOf\":[" NAME ",{\"type\":\"array\","          \
    "\"maxItems\":16,\"items\":" NAME "}]},\"stream\":" FLAG ",\"priority\":" COUNT(-32768, 32767) \
    ",\"response_format\":{\"type\":\"object\"}"
/* clang-format on */
#define MESSAGES                                                                                   \
    "\"messages\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"type\":\"object\",\"required\":" \
    "[\"role\",\"content\"],\"properties\":{\"role\":{\"enum\":[\"system\",\"developer\","         \
    "\"user\",\"assistant\",\"tool\"]},\"content\":" TEXT "}}}"
#define OBJECT(required, properties)                                                               \
    "{\"type\":\"object\",\"required\":[" required "],\"properties\":{" properties "}}"

static const struct schema {
    const char *name, *json;
    const char *type; /* of the answer's content */
} schemas[] = {
    { "ChatRequest",
      OBJECT("\"messages\"", MESSAGES "," SAMPLING ",\"max_tokens\":" COUNT(
                                 1, 1048576) ",\"logprobs\":" FLAG
                                             ",\"top_logprobs\":" COUNT(0, 20) ",\"tools\":" ARRAY),
      NULL },
    { "CompletionRequest",
      OBJECT("\"prompt\"",
             "\"prompt\":{\"anyOf\":[" TEXT ",{\"type\":\"array\"}]}," SAMPLING
             ",\"max_tokens\":" COUNT(0, 1048576) ",\"echo\":" FLAG ",\"logprobs\":" COUNT(
                 0, 20) ",\"prompt_logprobs\":" COUNT(0, 20)),
      NULL },
    { "MessagesRequest",
      OBJECT("\"messages\",\"max_tokens\"",
             MESSAGES ",\"model\":" TEXT ",\"max_tokens\":" COUNT(1, 1048576) ",\"stream\":" FLAG),
      NULL },
    { "TokenizeRequest",
      OBJECT("\"prompt\"", "\"model\":" TEXT ",\"prompt\":" TEXT ",\"add_special_tokens\":" FLAG
                           ",\"return_token_strs\":" FLAG),
      NULL },
    { "DetokenizeRequest",
      OBJECT("\"tokens\"",
             "\"model\":" TEXT ",\"tokens\":{\"type\":\"array\",\"items\":" COUNT(0, 1048576) "}"),
      NULL },
    { "LoadRequest",
      OBJECT("", "\"model\":" TEXT ",\"path\":" TEXT ",\"name\":" TEXT
                 ",\"ctx\":{\"type\":\"integer\"}"),
      NULL },
    { "UnloadRequest", OBJECT("\"model\"", "\"model\":" TEXT ",\"remove\":" FLAG), NULL },
    { "NameRequest", OBJECT("\"model\"", "\"model\":" TEXT), NULL },
    { "PinRequest",
      OBJECT("\"model\",\"engine\"", "\"model\":" TEXT ",\"engine\":" COUNT(0, 16384)), NULL },
    { "ResponsesRequest",
      OBJECT("\"input\"",
             "\"model\":" TEXT ",\"input\":{\"anyOf\":[" TEXT ",{\"type\":\"array\"}]}"
             ",\"stream\":" FLAG ",\"store\":" FLAG ",\"max_output_tokens\":" COUNT(1, 1048576)),
      NULL },
    { "Response", OBJECT("\"id\",\"object\",\"status\",\"output\"", "\"output\":" ARRAY),
      "application/json" },
    { "OllamaChatRequest", OBJECT("\"messages\"", MESSAGES ",\"model\":" TEXT ",\"stream\":" FLAG),
      NULL },
    { "OllamaTextRequest",
      OBJECT("\"prompt\"", "\"model\":" TEXT ",\"prompt\":" TEXT ",\"stream\":" FLAG), NULL },
    { "EmbeddingsRequest",
      OBJECT("\"input\"",
             "\"model\":" TEXT ",\"input\":{\"anyOf\":[" NAME ",{\"type\":\"array\",\"minItems\":1,"
             "\"items\":" NAME "}]},\"encoding_format\":{\"enum\":[\"float\",\"base64\"]}"),
      NULL },
    { "RerankRequest",
      OBJECT("\"query\",\"documents\"",
             "\"model\":" TEXT ",\"query\":" NAME ",\"documents\":{\"type\":\"array\","
             "\"minItems\":1,\"items\":" NAME
             "},\"top_n\":" COUNT(0, 2147483647) ",\"return_documents\":" FLAG),
      NULL },
    { "ScoreRequest",
      OBJECT("\"text_1\",\"text_2\"",
             "\"model\":" TEXT ",\"text_1\":" NAME ",\"text_2\":{\"anyOf\":[" NAME
             ",{\"type\":\"array\",\"minItems\":1,\"items\":" NAME "}]}"),
      NULL },
    { "OllamaEmbedRequest",
      OBJECT("\"input\"",
             "\"model\":" TEXT ",\"input\":{\"anyOf\":[" NAME ",{\"type\":\"array\",\"minItems\":1,"
             "\"items\":" NAME "}]}"),
      NULL },
    { "Embeddings",
      OBJECT("\"object\",\"data\",\"model\",\"usage\"",
             "\"object\":{\"const\":\"list\"},\"data\":" ARRAY ",\"usage\":{\"type\":\"object\"}"),
      "application/json" },
    { "Ranking", OBJECT("\"id\",\"model\",\"results\",\"usage\"", "\"results\":" ARRAY),
      "application/json" },
    { "Scores",
      OBJECT("\"id\",\"object\",\"data\",\"usage\"",
             "\"object\":{\"const\":\"list\"},\"data\":" ARRAY),
      "application/json" },
    { "OllamaEmbeddings", OBJECT("\"model\",\"embeddings\"", "\"embeddings\":" ARRAY),
      "application/json" },
    { "LlamaRequest",
      OBJECT("\"prompt\"", "\"model\":" TEXT ",\"prompt\":{\"anyOf\":[" TEXT
                           ",{\"type\":\"array\"},{\"type\":\"object\"}]},\"n_predict\":" COUNT(
                               -1, 1048576) ",\"stream\":" FLAG),
      NULL },
    { "LlamaAnswer", "{}", "application/json" },
    { "ChatAnswer",
      OBJECT("\"id\",\"object\",\"created\",\"model\",\"choices\",\"usage\"",
             "\"object\":{\"const\":\"chat.completion\"},\"choices\":" ARRAY
             ",\"usage\":{\"type\":\"object\"}"),
      "application/json" },
    { "CompletionAnswer",
      OBJECT("\"id\",\"object\",\"created\",\"model\",\"choices\",\"usage\"",
             "\"object\":{\"const\":\"text_completion\"},\"choices\":" ARRAY
             ",\"usage\":{\"type\":\"object\"}"),
      "application/json" },
    { "Message",
      OBJECT("\"id\",\"type\",\"role\",\"content\",\"model\",\"stop_reason\",\"usage\"",
             "\"type\":{\"const\":\"message\"},\"content\":" ARRAY),
      "application/json" },
    { "TokenCount", OBJECT("\"input_tokens\"", "\"input_tokens\":{\"type\":\"integer\"}"),
      "application/json" },
    { "Tokens",
      OBJECT("\"count\",\"max_model_len\",\"tokens\"",
             "\"count\":{\"type\":\"integer\"},\"tokens\":" ARRAY),
      "application/json" },
    { "Prompt", OBJECT("\"prompt\"", "\"prompt\":" TEXT), "application/json" },
    { "List", OBJECT("\"object\",\"data\"", "\"object\":{\"const\":\"list\"},\"data\":" ARRAY),
      "application/json" },
    { "Model", OBJECT("\"id\",\"object\"", "\"id\":" TEXT), "application/json" },
    { "Object", "{}", "application/json" },
    { "Lines", "{}", "application/x-ndjson" },
    { "Metrics", TEXT, "text/plain" },
    { "Events", "{}", "text/event-stream" },
    { "Error", OBJECT("\"error\"", "\"error\":{\"type\":[\"object\",\"string\"]}"), NULL },
};

static const struct schema *schema_of(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(schemas); i++)
        if (strcmp(schemas[i].name, name) == 0)
            return &schemas[i];
    return NULL;
}

static bool streams(const struct api_route *route)
{
    return route->asks != NULL &&
           (strstr(route->tells, "Answer") != NULL || strcmp(route->tells, "Message") == 0 ||
            strcmp(route->tells, "Response") == 0);
}

static void print_content(struct str *out, const char *type, const char *name)
{
    str_printf(out, "\"%s\":{\"schema\":{\"$ref\":\"#/components/schemas/%s\"}}", type, name);
}

static void print_answers(struct str *out, const struct api_route *route)
{
    const struct schema *schema = schema_of(route->tells);
    CHECK(schema != NULL && schema->type != NULL);
    str_add_text(out, "\"responses\":{\"200\":{\"description\":\"the answer\",\"content\":{");
    print_content(out, schema->type, schema->name);
    if (streams(route)) {
        str_add_char(out, ',');
        print_content(out, "text/event-stream", "Events");
    }
    if (strcmp(route->tells, "Lines") == 0) { /* of an answer that is not streamed */
        str_add_char(out, ',');
        print_content(out, "application/json", "Object");
    }
    str_add_text(out, "}},\"default\":{\"description\":\"an error\",\"content\":{");
    print_content(out, "application/json", "Error");
    str_add_text(out, "}}}");
}

static void print_operation(struct str *out, const struct api_route *route, bool has_name)
{
    str_printf(out, "\"%s\":{\"summary\":\"%s\",",
               route->method == HTTP_GET      ? "get"
               : route->method == HTTP_DELETE ? "delete"
                                              : "post",
               route->about);
    str_printf(out, "\"security\":[%s],",
               route->access == API_ROUTE_FREE  ? ""
               : route->access == API_ROUTE_KEY ? "{\"key\":[]},{}"
                                                : "{\"admin\":[]},{}");
    if (has_name)
        str_add_text(out, "\"parameters\":[{\"name\":\"id\",\"in\":\"path\",\"required\":true,"
                          "\"schema\":" NAME "}],");
    if (route->asks != NULL) {
        str_add_text(out, "\"requestBody\":{\"required\":true,\"content\":{");
        print_content(out, "application/json", route->asks);
        str_add_text(out, "}},");
    }
    print_answers(out, route);
    str_add_char(out, '}');
}

/* Prints a path with all of its methods, at the first of its rows. */
static void print_path(struct str *out, const struct api_route *routes, int n, int first)
{
    const char *path = routes[first].path;
    size_t n_path = strlen(path);
    bool has_name = path[n_path - 1] == '*';
    for (int i = 0; i < first; i++)
        if (strcmp(routes[i].path, path) == 0)
            return;
    str_printf(out, "%s\"%.*s%s\":{", first > 0 ? "," : "", (int)(n_path - has_name), path,
               has_name ? "{id}" : "");
    for (int i = first; i < n; i++) {
        if (strcmp(routes[i].path, path) != 0)
            continue;
        if (i > first)
            str_add_char(out, ',');
        print_operation(out, &routes[i], has_name);
    }
    str_add_char(out, '}');
}

void api_openapi_print(const struct api_route *routes, int n, const char *version, struct str *out)
{
    struct json_out json;
    str_add_text(out, "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Shoal\",\"version\":");
    json_out_init(&json, out);
    json_out_text(&json, version);
    str_add_text(out, "},\"paths\":{");
    for (int i = 0; i < n; i++)
        print_path(out, routes, n, i);
    str_add_text(out,
                 "},\"components\":{\"securitySchemes\":{\"key\":{\"type\":\"http\",\"scheme\":"
                 "\"bearer\"},\"admin\":{\"type\":\"http\",\"scheme\":\"bearer\"}},"
                 "\"schemas\":{");
    for (size_t i = 0; i < COUNT_OF(schemas); i++)
        str_printf(out, "%s\"%s\":%s", i > 0 ? "," : "", schemas[i].name, schemas[i].json);
    str_add_text(out, "}}}");
}
