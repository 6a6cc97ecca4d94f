/* Floats come in order. Those that are known come again after a request was submitted again. */
#include "api/vectors.h"

#include "base/mem.h"
#include "base/num.h"
#include <string.h>

enum api_vectors api_vectors_take(struct api_choice *choice, const struct service_event *event,
                                  const void *payload)
{
    struct api *api = choice->call->api;
    int32_t n_all = choice->call->prompts.model->n_vector;
    size_t n_bytes = (size_t)event->n_tokens * sizeof(float);
    if (choice->call->kind != ASK_EMBED || event->position < 0 ||
        event->position > choice->n_vector || event->n_tokens < 1 ||
        event->n_tokens > n_all - event->position || (size_t)event->n_bytes != n_bytes)
        return API_VECTORS_LOST;
    if (!mem_reserve_fill() || api_parties_is_full(api_http_parties(api->http)))
        return API_VECTORS_STARVED;
    if (choice->vector == NULL)
        choice->vector = mem_try(sizeof(float) * (size_t)n_all);
    if (choice->vector == NULL)
        return API_VECTORS_STARVED;
    memcpy(choice->vector + event->position, payload, n_bytes);
    choice->n_vector = max_i32(choice->n_vector, event->position + event->n_tokens);
    return API_VECTORS_TAKEN;
}

bool api_vectors_lack(const struct api_choice *choice)
{
    return choice->call->kind == ASK_EMBED &&
           choice->n_vector < choice->call->prompts.model->n_vector;
}

static double product(const float *a, const float *b, int32_t n)
{
    double sum = 0;
    for (int32_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

int32_t api_vectors_finish(float *vector, int32_t n_all, int32_t n, bool normalizes)
{
    if (n == 0 || n > n_all)
        n = n_all;
    double length = num_sqrt(product(vector, vector, n));
    for (int32_t i = 0; i < n && normalizes && length > 0; i++)
        vector[i] = (float)((double)vector[i] / length);
    return n;
}

double api_vectors_cosine(const float *a, const float *b, int32_t n)
{
    double lengths = num_sqrt(product(a, a, n)) * num_sqrt(product(b, b, n));
    return lengths > 0 ? product(a, b, n) / lengths : 0;
}

void api_vectors_base64(const float *vector, int32_t n, struct str *out)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n_bytes = sizeof(float) * (size_t)n;
    for (size_t at = 0; at < n_bytes; at += 3) {
        uint32_t group = 0;
        char four[4];
        for (size_t i = 0; i < 3; i++) {
            uint32_t bits = 0;
            if (at + i < n_bytes)
                memcpy(&bits, vector + (at + i) / 4, sizeof(bits));
            group = group << 8 | (bits >> 8 * ((at + i) % 4) & 0xff);
        }
        for (size_t i = 0; i < 4; i++)
            four[i] = at + i > n_bytes ? '=' : letters[group >> (18 - 6 * i) & 63];
        str_add(out, four, 4);
    }
}
