/* The table of all endpoints: the order of its rows decides which one answers. */
#include "api/routes.h"

#include "api/about.h"
#include "api/call.h"
#include "api/embed.h"
#include "api/health.h"
#include "api/lifecycle.h"
#include "api/llama.h"
#include "api/mirror.h"
#include "api/models.h"
#include "api/ollama.h"
#include "api/ollama_models.h"
#include "api/openapi.h"
#include "api/responses_routes.h"
#include "api/site.h"
#include "api/spend.h"
#include "api/texts.h"
#include "api/work.h"
#include "base/near.h"
#include <stdio.h>
#include <string.h>

static void show_document(struct api *api, struct api_http_exchange *x);

/* The last ones are for a base URL without /v1, as llama-server has them. */
static const struct api_route routes[] = {
    { HTTP_POST, "/v1/chat/completions", API_ROUTE_KEY, api_call_chat, false,
      "generates an answer to a chat", "ChatRequest", "ChatAnswer" },
    { HTTP_POST, "/v1/completions", API_ROUTE_KEY, api_call_completion, false, "continues texts",
      "CompletionRequest", "CompletionAnswer" },
    { HTTP_POST, "/completion", API_ROUTE_KEY, api_llama_complete, false,
      "continues texts, as llama-server does", "LlamaRequest", "LlamaAnswer" },
    { HTTP_POST, "/v1/messages", API_ROUTE_KEY, api_call_messages, false, "Anthropic's messages",
      "MessagesRequest", "Message" },
    { HTTP_POST, "/v1/messages/count_tokens", API_ROUTE_KEY, api_texts_count, false,
      "counts the tokens of Anthropic's messages", "MessagesRequest", "TokenCount" },
    { HTTP_POST, "/v1/responses", API_ROUTE_KEY, api_call_responses, false, "OpenAI's responses",
      "ResponsesRequest", "Response" },
    { HTTP_GET, "/v1/responses/*", API_ROUTE_KEY, api_responses_routes_show, false,
      "shows a stored response", NULL, "Response" },
    { HTTP_DELETE, "/v1/responses/*", API_ROUTE_KEY, api_responses_routes_delete, false,
      "deletes a stored response", NULL, "Object" },
    { HTTP_POST, "/v1/embeddings", API_ROUTE_KEY, api_embed_openai, false,
      "makes embeddings of texts", "EmbeddingsRequest", "Embeddings" },
    { HTTP_POST, "/v1/rerank", API_ROUTE_KEY, api_embed_rerank, false,
      "orders documents by their relevance to a query", "RerankRequest", "Ranking" },
    { HTTP_POST, "/v1/score", API_ROUTE_KEY, api_embed_score, false, "scores pairs of texts",
      "ScoreRequest", "Scores" },
    { HTTP_GET, "/v1/models", API_ROUTE_KEY, api_models_list, false, "lists the models", NULL,
      "List" },
    { HTTP_GET, "/v1/models/*", API_ROUTE_KEY, api_models_show, false, "describes a model", NULL,
      "Model" },
    { HTTP_POST, "/v1/chat/completions/render", API_ROUTE_KEY, api_texts_render, false,
      "shows the prompt of a chat, and its tokens", "ChatRequest", "Prompt" },
    { HTTP_POST, "/v1/chat/completions/input_tokens", API_ROUTE_KEY, api_texts_count_chat, false,
      "counts the tokens of a chat", "ChatRequest", "TokenCount" },
    { HTTP_POST, "/apply-template", API_ROUTE_KEY, api_texts_apply, false,
      "shows the prompt of a chat", "ChatRequest", "Prompt" },
    { HTTP_GET, "/tokenizer_info", API_ROUTE_KEY, api_about_tokenizer, false,
      "describes a model's tokenizer", NULL, "Object" },
    { HTTP_GET, "/props", API_ROUTE_KEY, api_about_props, false,
      "describes a model as llama-server does", NULL, "Object" },
    { HTTP_POST, "/tokenize", API_ROUTE_KEY, api_texts_tokenize, false,
      "turns a text or a chat into tokens", "TokenizeRequest", "Tokens" },
    { HTTP_POST, "/detokenize", API_ROUTE_KEY, api_texts_detokenize, false,
      "turns tokens into a text", "DetokenizeRequest", "Prompt" },
    { HTTP_GET, "/health", API_ROUTE_FREE, api_health_ready, true,
      "tells whether requests are served", NULL, "Object" },
    { HTTP_GET, "/v1/health", API_ROUTE_FREE, api_health_ready, true,
      "tells whether requests are served", NULL, "Object" },
    { HTTP_GET, "/livez", API_ROUTE_FREE, api_health_live, true,
      "tells whether the process answers", NULL, "Object" },
    { HTTP_GET, "/readyz", API_ROUTE_FREE, api_health_ready, true,
      "tells whether requests are served", NULL, "Object" },
    { HTTP_GET, "/ping", API_ROUTE_FREE, api_health_live, true, "tells whether the process answers",
      NULL, "Object" },
    { HTTP_POST, "/ping", API_ROUTE_FREE, api_health_live, true,
      "tells whether the process answers", NULL, "Object" },
    { HTTP_GET, "/version", API_ROUTE_KEY, api_health_version, true, "tells the program's version",
      NULL, "Object" },
    { HTTP_GET, "/metrics", API_ROUTE_KEY, api_health_metrics, true, "metrics for Prometheus", NULL,
      "Metrics" },
    { HTTP_GET, "/openapi.json", API_ROUTE_KEY, show_document, false, "this document", NULL,
      "Object" },
    { HTTP_GET, "/models", API_ROUTE_KEY, api_mirror_states, false,
      "lists the models with their states", NULL, "List" },
    { HTTP_GET, "/usage", API_ROUTE_ADMIN, api_spend_show, false,
      "usage of each tenant and key by day", NULL, "List" },
    { HTTP_GET, "/models/sse", API_ROUTE_ADMIN, api_models_watch, false,
      "sends each change of a model's state", NULL, "Events" },
    { HTTP_POST, "/models/load", API_ROUTE_ADMIN, api_lifecycle_load, false,
      "loads or adds a model", "LoadRequest", "Object" },
    { HTTP_POST, "/models/unload", API_ROUTE_ADMIN, api_lifecycle_unload, false,
      "unloads or removes a model", "UnloadRequest", "Object" },
    { HTTP_POST, "/models/sleep", API_ROUTE_ADMIN, api_lifecycle_sleep_one, false,
      "unloads a model, but keeps its packed weights in host memory", "NameRequest", "Object" },
    { HTTP_POST, "/models/wake", API_ROUTE_ADMIN, api_lifecycle_wake_one, false,
      "wakes a sleeping model", "NameRequest", "Object" },
    { HTTP_POST, "/models/pause", API_ROUTE_ADMIN, api_lifecycle_pause, false,
      "lets a model take no new requests", "NameRequest", "Object" },
    { HTTP_POST, "/models/unpause", API_ROUTE_ADMIN, api_lifecycle_unpause, false,
      "lets a model take requests again", "NameRequest", "Object" },
    { HTTP_POST, "/models/pin", API_ROUTE_ADMIN, api_lifecycle_pin, false,
      "keeps a model on one engine", "PinRequest", "Object" },
    { HTTP_POST, "/models/unpin", API_ROUTE_ADMIN, api_lifecycle_unpin, false,
      "lets a pinned model leave", "NameRequest", "Object" },
    { HTTP_POST, "/api/chat", API_ROUTE_KEY, api_ollama_chat, false,
      "generates an answer to a chat, as Ollama does", "OllamaChatRequest", "Lines" },
    { HTTP_POST, "/api/generate", API_ROUTE_KEY, api_ollama_text, false,
      "continues a text, as Ollama does", "OllamaTextRequest", "Lines" },
    { HTTP_POST, "/api/embed", API_ROUTE_KEY, api_embed_ollama, false,
      "makes embeddings of texts, as Ollama does", "OllamaEmbedRequest", "OllamaEmbeddings" },
    { HTTP_POST, "/api/embeddings", API_ROUTE_KEY, api_embed_ollama_one, false,
      "makes the embedding of a text, as Ollama does", "OllamaTextRequest", "Object" },
    { HTTP_GET, "/api/tags", API_ROUTE_KEY, api_ollama_models_tags, false,
      "lists the models as Ollama does", NULL, "Object" },
    { HTTP_POST, "/api/show", API_ROUTE_KEY, api_ollama_models_show, false,
      "describes a model as Ollama does", "NameRequest", "Object" },
    { HTTP_GET, "/api/version", API_ROUTE_KEY, api_ollama_models_version, false,
      "tells the program's version as Ollama does", NULL, "Object" },
    { HTTP_GET, "/api/ps", API_ROUTE_ADMIN, api_ollama_models_ps, false,
      "lists the loaded models as Ollama does", NULL, "Object" },
    { HTTP_POST, "/sleep", API_ROUTE_ADMIN, api_lifecycle_sleep, false,
      "puts all models to sleep, or unloads them", NULL, "Object" },
    { HTTP_POST, "/wake_up", API_ROUTE_ADMIN, api_lifecycle_wake, false, "loads all models", NULL,
      "Object" },
    { HTTP_GET, "/is_sleeping", API_ROUTE_ADMIN, api_models_is_asleep, false,
      "tells whether no model is loaded", NULL, "Object" },
    { HTTP_POST, "/chat/completions", API_ROUTE_KEY, api_call_chat, false,
      "generates an answer to a chat", "ChatRequest", "ChatAnswer" },
    { HTTP_POST, "/chat/completions/input_tokens", API_ROUTE_KEY, api_texts_count_chat, false,
      "counts the tokens of a chat", "ChatRequest", "TokenCount" },
    { HTTP_POST, "/completions", API_ROUTE_KEY, api_call_completion, false, "continues texts",
      "CompletionRequest", "CompletionAnswer" },
    { HTTP_POST, "/embeddings", API_ROUTE_KEY, api_embed_openai, false, "makes embeddings of texts",
      "EmbeddingsRequest", "Embeddings" },
    { HTTP_POST, "/rerank", API_ROUTE_KEY, api_embed_rerank, false,
      "orders documents by their relevance to a query", "RerankRequest", "Ranking" },
    { HTTP_POST, "/v2/rerank", API_ROUTE_KEY, api_embed_rerank, false,
      "orders documents by their relevance to a query", "RerankRequest", "Ranking" },
    { HTTP_POST, "/score", API_ROUTE_KEY, api_embed_score, false, "scores pairs of texts",
      "ScoreRequest", "Scores" },
    { HTTP_GET, "/models/*", API_ROUTE_KEY, api_models_show, false, "describes a model", NULL,
      "Model" },
    { HTTP_POST, "/models/*", API_ROUTE_ADMIN, api_lifecycle_named, false,
      "puts a model to sleep (NAME/sleep) or wakes it (NAME/wake)", NULL, "Object" },
};

static void print_document(struct api *api, const void *of, struct str *out)
{
    (void)of;
    api_openapi_print(routes, (int)COUNT_OF(routes), api->options.version, out);
}

static void show_document(struct api *api, struct api_http_exchange *x)
{
    api_work_reply(api, x, "application/json", print_document, NULL);
}

static bool is_path(const struct api_route *route, struct view path)
{
    size_t n = strlen(route->path);
    if (route->path[n - 1] != '*')
        return view_equal_text(path, route->path);
    return path.n > n - 1 && memcmp(path.at, route->path, n - 1) == 0;
}

/* Returns whether other servers have this path and this one does not. The error then says so, since
 * the client would otherwise search for a typing error. */
static bool is_unsupported(struct view path)
{
    static const char *const paths[] = { "/v1/audio/", "/v1/images/", "/v1/moderations",
                                         "/v1/files",  "/v1/batches", "/api/pull" };
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        if (view_starts(path, paths[i]))
            return true;
    return false;
}

void api_routes_allow(struct api_http_exchange *x)
{
    static const char *const names[] = { "GET, HEAD", NULL, "POST", NULL, "DELETE" };
    bool has[COUNT_OF(names)] = { false }, has_any = api_site_has(api_path_of(&x->head));
    char text[64] = "";
    has[HTTP_GET] = has_any;
    for (size_t i = 0; i < COUNT_OF(routes); i++)
        if (is_path(&routes[i], api_path_of(&x->head)))
            has[routes[i].method] = has_any = true;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (names[i] != NULL && (has[i] || !has_any))
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s, ", names[i]);
    snprintf(text + strlen(text), sizeof(text) - strlen(text), "OPTIONS");
    api_http_header(x, "Allow", text);
}

/* Tells a client when its base URL lacks /v1 or has it twice. */
static void refuse_path(const char *path, struct api_error *error)
{
    char question[NEAR_BYTES];
    struct near near = { .written = path };
    for (size_t i = 0; i < COUNT_OF(routes); i++)
        near_try(&near, routes[i].path);
    api_error_set(error, ERROR_NO_ROUTE, NULL, "there is nothing at %s%s", path,
                  near_question(&near, question));
}

const struct api_route *api_routes_find(const struct api_http_head *head, struct api_error *error)
{
    static const struct api_route site = { HTTP_GET, "/",        API_ROUTE_FREE, api_site_show,
                                           false,    "the page", NULL,           "Object" };
    enum api_http_method method = head->method == HTTP_HEAD ? HTTP_GET : head->method;
    struct view sent = api_path_of(head);
    bool is_there = api_site_has(sent);
    if (is_there && method == HTTP_GET)
        return &site;
    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        if (!is_path(&routes[i], sent))
            continue;
        is_there = true;
        if (routes[i].method == method)
            return &routes[i];
    }
    char path[128];
    snprintf(path, sizeof(path), "%.*s", (int)min_i64((int64_t)sent.n, 120), sent.at);
    if (is_there)
        api_error_set(error, ERROR_METHOD, NULL, "this path does not support that method");
    else if (is_unsupported(sent))
        api_error_set(error, ERROR_NO_ROUTE, NULL,
                      "%s is not supported: text is generated by /v1/chat/completions and "
                      "/v1/completions",
                      path);
    else
        refuse_path(path, error);
    return NULL;
}
