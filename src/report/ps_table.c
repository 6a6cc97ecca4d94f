/* Prints two tables of the same models: one fits a terminal, one has every count. Values that a
 * server does not report are 0. */
#include "report/ps_table.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 80 };

static double number_at(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static double mib(const json_t *object, const char *key)
{
    return number_at(object, key) / 1048576.0;
}

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* Prints what operators want of the model, if anything. */
static void print_wishes(const json_t *model)
{
    const char *pinned = text_at(model, "pinned");
    if (json_is_true(json_object_get(model, "paused")))
        printf("  %s is paused: it takes no new requests\n", text_at(model, "id"));
    if (*pinned != '\0')
        printf("  %s is pinned to %s\n", text_at(model, "id"), pinned);
}

static const char *status_of(const json_t *object)
{
    return text_at(json_object_get(object, "status"), "value");
}

/* Returns the bytes of a text's beginning, at most n_most, without cutting a character. */
static size_t cut_at(const char *text, size_t n_most)
{
    size_t n = strnlen(text, n_most);
    while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
        n--;
    return n;
}

/* Prints a text in lines of at most COLUMNS bytes, cut at blanks if there are any, each
 * indented. */
static void print_wrapped(const char *indent, const char *text)
{
    while (*text != '\0') {
        size_t n = cut_at(text, COLUMNS - strlen(indent)), blank = n;
        while (text[n] != '\0' && blank > 0 && text[blank] != ' ')
            blank--;
        n = blank > 0 ? blank : n;
        printf("%s%.*s\n", indent, (int)n, text);
        text += n;
        text += strspn(text, " ");
    }
}

/* Prints "cpu:0,cpu:1", at most n_most bytes of it. */
static void print_devices(const json_t *devices, size_t n_most)
{
    char text[512] = "";
    size_t i, n = 0;
    json_t *device;
    json_array_foreach(devices, i, device)
        if (n < sizeof(text))
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i > 0 ? "," : "",
                                  json_is_string(device) ? json_string_value(device) : "?");
    printf("%.*s", (int)cut_at(text, n_most), text);
}

/* ---- Narrow. ---- */

/* Prints a line of COLUMNS: the name gets the room that the tail leaves. */
static void print_line(const char *name, const char *tail)
{
    size_t n_tail = strlen(tail), width = n_tail + 1 < COLUMNS ? COLUMNS - 1 - n_tail : 0;
    int n = (int)cut_at(name, width);
    printf("%.*s%*s%.*s\n", n, name, (int)width - n + 1, "", COLUMNS - 1, tail);
}

static void print_narrow_model(const json_t *model)
{
    char tail[160];
    size_t i;
    json_t *part;
    const json_t *parts = json_object_get(model, "engines");
    const char *name = text_at(model, "id");
    if (json_array_size(parts) == 0) {
        int n = (int)cut_at(name, 20);
        printf("%.*s%*s %-9.9s ", n, name, 20 - n, "", status_of(model));
        print_devices(json_object_get(model, "devices"), COLUMNS - 31);
        printf("\n");
        print_wrapped("  ", text_at(json_object_get(model, "status"), "reason"));
    }
    json_array_foreach(parts, i, part) {
        const json_t *memory = json_object_get(part, "memory");
        snprintf(tail, sizeof(tail), "%-9.9s %-8.8s %9.1f %9.1f %4.0f%% %4.1f %4.0f %4.0f",
                 status_of(part), text_at(part, "device"), mib(memory, "weights_bytes"),
                 mib(memory, "kv_used_bytes"), 100 * number_at(part, "kv_share"),
                 number_at(part, "kv_r"), number_at(part, "requests_running"),
                 number_at(part, "requests_waiting"));
        print_line(name, tail);
    }
}

/* ---- Wide. ---- */

/* The counts of a model on an engine, each with its column. */
static const struct {
    const char *key, *title;
} counts[] = {
    { "requests_running", "RUN" },   { "requests_waiting", "WAIT" }, { "preempted", "PREEMPT" },
    { "swapped", "SWAP" },           { "exceeded", "EXCEED" },       { "pad_tokens", "PADS" },
    { "invalid_tokens", "INVALID" },
};

/* Prints a model's line for each engine that has it; one line when none has it. */
static void print_wide_model(const json_t *model)
{
    size_t i;
    json_t *part;
    const json_t *parts = json_object_get(model, "engines");
    if (json_array_size(parts) == 0) {
        printf("%-24s %-10s ", text_at(model, "id"), status_of(model));
        print_devices(json_object_get(model, "devices"), SIZE_MAX);
        const char *why = text_at(json_object_get(model, "status"), "reason");
        printf("%s%s\n", *why != '\0' ? "  " : "", why);
    }
    json_array_foreach(parts, i, part) {
        const json_t *memory = json_object_get(part, "memory");
        printf("%-24s %-10s %-8s %9.1f %9.1f %9.1f %9.1f", text_at(model, "id"), status_of(part),
               text_at(part, "device"), mib(memory, "weights_bytes"),
               mib(memory, "activation_bytes"), mib(memory, "kv_used_bytes"),
               mib(memory, "kv_cached_bytes"));
        printf(" %6.1f%% %6.2f", 100 * number_at(part, "kv_share"), number_at(part, "kv_r"));
        for (size_t k = 0; k < COUNT_OF(counts); k++)
            printf(" %7.0f", number_at(part, counts[k].key));
        printf("\n");
    }
}

static void print_wide_head(void)
{
    printf("%-24s %-10s %-8s %9s %9s %9s %9s", "NAME", "STATUS", "DEVICE", "WEIGHTS", "ACTIV", "KV",
           "KV CACHED");
    printf(" %7s %6s", "KV PART", "R");
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        printf(" %7s", counts[i].title);
    printf("\n");
}

/* Prints what an engine's GPU is, and the figures that are known of it. */
static void print_gpu(const json_t *engine, bool is_wide)
{
    static const struct {
        const char *key, *format;
        double scale;
    } figures[] = {
        { "gpu_memory_used_bytes", ", %.1f GiB used", 0x1p-30 },
        { "gpu_utilisation", ", busy %.0f%%", 100 },
        { "gpu_power_watts", ", %.0f W", 1 },
        { "gpu_celsius", ", %.0f C", 1 },
    };
    char text[320];
    const char *name = text_at(engine, "gpu");
    if (*name == '\0')
        return;
    int n = snprintf(text, sizeof(text), "  %.127s, %.1f GiB", name,
                     number_at(engine, "gpu_memory_bytes") * 0x1p-30);
    for (size_t i = 0; i < COUNT_OF(figures); i++) {
        char figure[32] = "";
        if (json_object_get(engine, figures[i].key) != NULL)
            snprintf(figure, sizeof(figure), figures[i].format,
                     number_at(engine, figures[i].key) * figures[i].scale);
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%s", figure);
    }
    if (is_wide)
        printf("%s\n", text);
    else
        print_wrapped("", text);
}

void ps_table_print(const json_t *root, bool is_wide)
{
    size_t i;
    json_t *row;
    if (is_wide)
        print_wide_head();
    else
        printf("%-20s %-9s %-8s %9s %9s %5s %4s %4s %4s\n", "NAME", "STATUS", "DEVICE", "WEIGHTS",
               "KV", "PART", "R", "RUN", "WAIT");
    json_array_foreach(json_object_get(root, "data"), i, row) {
        if (is_wide)
            print_wide_model(row);
        else
            print_narrow_model(row);
        print_wishes(row);
    }
    printf("\n");
    json_array_foreach(json_object_get(root, "engines"), i, row) {
        char text[320];
        snprintf(text, sizeof(text),
                 "%s (engine %d): of %.1f MiB, %.1f MiB are the KV pool, %.1f MiB of it free, "
                 "block tables of %.0f bytes%s",
                 text_at(row, "device"), (int)number_at(row, "engine"), mib(row, "memory_bytes"),
                 mib(row, "kv_pool_bytes"), mib(row, "kv_free_bytes"),
                 number_at(row, "kv_table_bytes"),
                 json_is_false(json_object_get(row, "healthy")) ? "; it is not healthy" : "");
        if (is_wide)
            printf("%s\n", text);
        else
            print_wrapped("", text);
        print_gpu(row, is_wide);
    }
}
