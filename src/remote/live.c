/* shoal monitor and shoal plan --live: what a manager measures, and what it would move. */
#include "remote/live.h"

#include "remote/call.h"
#include <stdio.h>

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "-";
}

static double mean(const json_t *object, const char *key)
{
    return number(json_object_get(object, key), "mean");
}

static double deviation(const json_t *object, const char *key)
{
    return number(json_object_get(object, key), "deviation");
}

static void print_monitor(const json_t *root)
{
    size_t i;
    json_t *row;
    printf("window %.0f s\n%-24s %7s %13s %13s %8s %8s %8s %7s\n", number(root, "window_s"),
           "MODEL", "RATE/S", "PROMPT", "ANSWER", "TTFT S", "TPOT MS", "E2E S", "IN TIME");
    json_array_foreach(json_object_get(root, "services"), i, row)
        printf("%-24.24s %7.2f %7.0f+-%-4.0f %7.0f+-%-4.0f %8.3f %8.2f %8.2f %6.1f%%\n",
               text(row, "name"), number(row, "rate_per_s"), mean(row, "prompt_tokens"),
               deviation(row, "prompt_tokens"), mean(row, "output_tokens"),
               deviation(row, "output_tokens"), mean(row, "ttft_s"), 1e3 * mean(row, "tpot_s"),
               mean(row, "latency_s"), 100 * number(row, "attainment"));
    printf("%-40s %6s %12s %12s %12s\n", "ENGINE", "BUSY", "MEMORY MIB", "WEIGHTS MIB", "KV MIB");
    json_array_foreach(json_object_get(root, "engines"), i, row)
        printf("%-40.40s %5.1f%% %12.1f %12.1f %12.1f\n", text(row, "name"),
               100 * number(row, "utilisation"), number(row, "memory_bytes") * 0x1p-20,
               number(row, "weights_bytes") * 0x1p-20, number(row, "kv_used_bytes") * 0x1p-20);
}

static void print_names(const char *what, const json_t *names)
{
    size_t i;
    json_t *name;
    json_array_foreach(names, i, name)
        printf("%s%s %s", i == 0 ? " " : ", ", what, json_string_value(name));
}

static void print_plan(const json_t *root)
{
    size_t i;
    json_t *row;
    const json_t *wanted;
    printf("replacement: %s (%s); the next plan in %.0f s\nlast plan: %s\n",
           text(root, "replacement"), text(root, "state"), number(root, "next_s"),
           text(root, "said"));
    if (json_is_string(json_object_get(root, "last_move")))
        printf("last move: %s\n", text(root, "last_move"));
    const json_t *plan = json_object_get(root, "plan");
    if (json_is_string(json_object_get(plan, "refused")))
        printf("refused: %s\n", text(plan, "refused"));
    json_array_foreach(json_object_get(plan, "moves"), i, row) {
        printf("  %s:", text(row, "engine"));
        print_names("load", json_object_get(row, "loads"));
        print_names("unload", json_object_get(row, "unloads"));
        printf("\n");
    }
    printf("%-24s %7s %7s %9s %15s\n", "MODEL", "COPIES", "WANTED", "RATE/S", "ONE ENGINE/S");
    json_array_foreach(json_object_get(root, "wanted"), i, row) {
        wanted = json_object_get(row, "engines_wanted");
        printf("%-24.24s %7.0f ", text(row, "model"), number(row, "copies"));
        if (json_is_integer(wanted))
            printf("%7lld %9.2f %15.2f\n", (long long)json_integer_value(wanted),
                   number(row, "rate_per_s"), number(row, "rate_of_one_engine"));
        else
            printf("%7s\n", "-");
    }
}

static int show(const char *doc, const char *path, void (*print)(const json_t *root), int argc,
                char **argv)
{
    struct remote remote = { .config = NULL };
    struct str answer;
    if (!remote_call_parse(&remote, doc, REMOTE_TAKES_ADDRESS, argc, argv))
        return 2;
    json_t *root = remote_call_ask(&remote, path, NULL, &answer);
    if (root && remote.is_json)
        printf("%s\n", answer.at);
    else if (root)
        print(root);
    bool is_fine = root != NULL;
    json_decref(root);
    str_free(&answer);
    return is_fine ? 0 : 1;
}

int remote_live_monitor(int argc, char **argv)
{
    return show("Prints what the leading manager of a cluster measures: rates, lengths, latencies "
                "and attainment of each model, and the use of each engine. HOST:PORT is the "
                "manager's monitor_listen.",
                "/monitor", print_monitor, argc, argv);
}

int remote_live_plan(int argc, char **argv)
{
    return show("Prints what the leading manager of a cluster would move and why, and how many "
                "engines each model wants. HOST:PORT is the manager's monitor_listen.",
                "/plan", print_plan, argc, argv);
}
