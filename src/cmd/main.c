/* The command line: finds the verb and runs it. */
#include "cmd/verbs.h"
#include "fleet/operator.h"

#include "base/inherited.h"
#include "base/mem.h"
#include "base/near.h"
#include "config/config.h"
#include "process/child.h"
#include "remote/fetch.h"
#include "remote/demo.h"
#include "remote/live.h"
#include "remote/models.h"
#include "remote/talk.h"
#include "remote/top.h"
#include "remote/wishes.h"
#include <argp.h>
#include <stdio.h>
#include <string.h>

static const struct verb verbs[] = {
    { "serve", "[CONFIG.yaml] [--model NAME=PATH]...", "serve models to OpenAI clients",
      verbs_serve },
    { "node", "--bus-listen HOST:PORT ...", "serve, and lend the engines to gateways elsewhere",
      verbs_node },
    { "gateway", "--nodes 'HOST:PORT ...' ...", "serve the models of nodes on other machines",
      verbs_gateway },
    { "run", "MODEL PROMPT", "answer one prompt from a file, without a server", verbs_run },
    { "manager", "--store ENDPOINTS --model NAME=PATH...",
      "decide which node of a cluster has which model in memory", verbs_manager },
    { "cluster", "adopt | status | demo", "a cluster's life in etcd, its state, and a trial of one",
      fleet_operator_cluster },
    { "deploy", "NAME [--copies N]", "keep a model in memory on nodes of a cluster",
      fleet_operator_deploy },
    { "undeploy", "NAME", "take a model out of memory on all nodes", fleet_operator_undeploy },
    { "cordon", "HOST:PORT", "load nothing more on a node", fleet_operator_cordon },
    { "uncordon", "HOST:PORT", "use a cordoned or drained node again", fleet_operator_uncordon },
    { "drain", "HOST:PORT", "move all models of a node elsewhere", fleet_operator_drain },
    { "pause", "NAME", "let a model take no new requests", remote_wishes_pause },
    { "unpause", "NAME", "let a paused model take requests again", remote_wishes_unpause },
    { "pin", "NAME PLACE", "keep a model at one node or engine alone", remote_wishes_pin },
    { "unpin", "NAME", "let a pinned model be anywhere again", remote_wishes_unpin },
    { "chat", "[MODEL]", "talk with a model of a running server", remote_talk_run },
    { "monitor", "HOST:PORT", "what a cluster's manager measures", remote_live_monitor },
    { "ps", "", "the models of a running server: memory, requests", remote_models_ps },
    { "top", "", "a running server as it works: engines, models, rates, events", remote_top_run },
    { "ls", "", "the models that a running server knows", remote_models_ls },
    { "load", "NAME", "bring a model into memory", remote_models_load },
    { "unload", "NAME", "take an idle model out of memory", remote_models_unload },
    { "sleep", "NAME", "keep a model's weights in host memory alone", remote_models_sleep },
    { "wake", "NAME", "bring a sleeping model back", remote_models_wake },
    { "fetch", "URL --sha256 HASH", "bring a model's file from a store", remote_fetch_run },
    { "show", "PATH", "what a model file holds and what it would need", verbs_show },
    { "profile", "MODEL [-o FILE]", "measure a model on this machine, for servers and simulations",
      verbs_profile },
    { "config", "check FILE | schema | keys", "check a configuration; its JSON Schema; its keys",
      verbs_config },
    { "sim", "[SCENARIO.yaml] [--workload TEXT]...", "simulate engines, policies and traffic",
      verbs_sim },
    { "plan", "CLUSTER [WORKLOAD] | --live HOST:PORT",
      "which models on which devices, and what to expect", verbs_plan },
    { "bench", "URL [--workload TEXT]... | kernels",
      "measure any OpenAI server and judge its answers; or our kernels", verbs_bench },
    { "repro", "[CLAIM | PAPER | all]", "rerun the papers' claims", verbs_repro },
    { "report", "RECORDS.csv... [--html FILE]", "figures and plots of runs, side by side",
      verbs_report },
    { "demo", "", "two models, one server, two streaming chats at once", remote_demo_run },
    { "replay", "LOG", "plan again what an engine planned, and compare", verbs_replay },
    { "completion", "bash", "a script for the Tab key", verbs_completion },
    { "version", "", "version and instruction set", verbs_version },
};

static void print_help(FILE *to)
{
    fprintf(to, "usage: shoal VERB [ARGUMENTS]\n\nShoal serves many language models from one pool "
                "of devices.\n\n");
    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        fprintf(to, "  %-10s %-38s %s\n", verbs[i].name, verbs[i].arguments, verbs[i].summary);
    fprintf(to, "\n`shoal VERB --help` (or `shoal help VERB`) tells more.\n");
}

/* Output may still be in a buffer whose pipe or disk takes no more. */
static int finish(int code)
{
    bool is_said = fflush(stdout) == 0 && ferror(stdout) == 0;
    if (is_said || code != 0)
        return code;
    fprintf(stderr, "shoal: not all of the output could be written\n");
    return 1;
}

static const struct verb *find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        if (strcmp(name, verbs[i].name) == 0)
            return &verbs[i];
    return NULL;
}

/* argv[0] is the verb's name. */
static int run(const struct verb *verb, int argc, char **argv)
{
    char name[32], help[] = "--help";
    struct fault fault;
    if (config_check_environment(&fault) != STATUS_OK) {
        fprintf(stderr, "shoal: %s\n", fault.text);
        return 2;
    }
    snprintf(name, sizeof name, "shoal %s", verb->name);
    argv[0] = name;
    if (argc > 1 && strcmp(argv[1], "-h") == 0)
        argv[1] = help;
    return finish(verb->run(argc, argv));
}

static int refuse(const char *written)
{
    char question[NEAR_BYTES];
    struct near near = { .written = written };
    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        near_try(&near, verbs[i].name);
    fprintf(stderr, "shoal: there is no verb \"%s\"%s\n", written,
            near.best ? near_question(&near, question) : "; see shoal --help");
    return 2;
}

/* `shoal help`, and `shoal help VERB`, which is `shoal VERB --help`. Further words go to the verb,
 * as in `shoal help bench kernels`. */
static int help(int argc, char **argv)
{
    enum { WORDS_MAX = 8 };
    char option[] = "--help", *words[WORDS_MAX + 1];
    if (argc < 3) {
        print_help(stdout);
        return finish(0);
    }
    const struct verb *verb = find(argv[2]);
    if (verb == NULL)
        return refuse(argv[2]);
    int n = min_i32(argc - 2, WORDS_MAX - 1);
    for (int i = 0; i < n; i++)
        words[i] = argv[2 + i];
    words[n] = option;
    words[n + 1] = NULL;
    return run(verb, n + 1, words);
}

int main(int argc, char **argv)
{
    inherited_guard();
    mem_take_stack();
    argp_err_exit_status = 2; /* as every verb exits after a wrong command line */
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
        return finish(0);
    }
    if (strcmp(argv[1], "help") == 0)
        return help(argc, argv);
    if (strcmp(argv[1], PROCESS_CHILD_VERB) == 0)
        return verbs_process(argc, argv);
    if (strcmp(argv[1], "--version") == 0)
        return finish(verbs_version(1, argv));
    const struct verb *verb = find(argv[1]);
    return verb != NULL ? run(verb, argc - 1, argv + 1) : refuse(argv[1]);
}
