/* shoal node and shoal gateway: a server as one part of several machines, from a static list. */
#include "base/mem.h"
#include "cmd/serve_verb.h"
#include "cmd/verbs.h"
#include "config/bus.h"
#include "config/config.h"
#include "serve/settings.h"

static const char node_doc[] =
    "Serves models as `shoal serve` does, and lets gateways on other machines use its engines. Its "
    "own endpoint stays: operators load models, and read health and metrics there."
    "\vExample: shoal node --bus-listen 127.0.0.1:7500 --model tale=models/tale.gguf\n"
    "docs/CLUSTER.md has certificates, limits and what happens when a node dies.";
static const char gateway_doc[] =
    "Serves the models of nodes on other machines through one OpenAI-compatible endpoint. It has "
    "no engines; it reads each model's file for its tokenizer, its template and its name on the "
    "bus, "
    "so the nodes need the same files and the same kv_type and ctx."
    "\vExample: shoal gateway --nodes '10.0.0.1:7500 10.0.0.2:7500' --model tale=models/tale.gguf\n"
    "docs/CLUSTER.md has certificates, limits and what happens when a node dies.";

static enum status check_node(const struct config *config, struct fault *fault)
{
    if (config->bus_listen != NULL)
        return STATUS_OK;
    return fault_set(fault, STATUS_BAD_INPUT,
                     "bus_listen is missing: say where gateways connect, as 127.0.0.1:7500");
}

static enum status check_gateway(const struct config *config, struct fault *fault)
{
    if (config_bus_is_gateway(config))
        return STATUS_OK;
    return fault_set(fault, STATUS_BAD_INPUT,
                     "nodes is missing: list the nodes' bus_listen, as 127.0.0.1:7500, or give the "
                     "store's endpoints");
}

int verbs_node(int argc, char **argv)
{
    return serve_verb_run(&(struct serve_words){ node_doc, argc, argv }, check_node);
}

int verbs_gateway(int argc, char **argv)
{
    return serve_verb_run(&(struct serve_words){ gateway_doc, argc, argv }, check_gateway);
}
