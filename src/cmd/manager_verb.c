/* shoal manager: decides for all nodes of a cluster which models are in memory. */
#include "api/http_watches.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "cmd/serve_change.h"
#include "cmd/verbs.h"
#include "fleet/manager.h"
#include "fleet/replan.h"
#include "serve/settings.h"
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>

static const char doc[] =
    "Decides which node of a cluster has which model in memory. Any number of managers may run: "
    "one leads, and another takes over when it dies. Serving needs none of them."
    "\vExample: shoal manager --store http://10.0.0.1:2379 --state-dir /var/lib/shoal --model "
    "tale=models/tale.gguf\n"
    "It reads the same models as the gateways. docs/CLUSTER.md has roles, keys and operations.";

struct loop {
    struct fleet_manager *manager;
    struct api_http_watches watches;
    struct event_base *base;
};

static void turn(void *arg)
{
    struct loop *loop = arg;
    api_http_watches_wake_at(&loop->watches, fleet_manager_step(loop->manager));
}

static void stop(void *arg)
{
    (void)event_base_loopbreak(((struct loop *)arg)->base);
}

static void run(struct fleet_manager *manager)
{
    struct loop loop = { .manager = manager, .base = fleet_manager_base(manager) };
    api_http_watches_open(&loop.watches, loop.base, turn, &loop);
    api_http_watches_add(&loop.watches, loop.base, fleet_manager_bus_fd(manager), turn, &loop);
    api_http_watches_add(&loop.watches, loop.base, fleet_manager_store_fd(manager), turn, &loop);
    api_http_watches_add_signal(&loop.watches, loop.base, SIGTERM, stop, &loop);
    api_http_watches_add_signal(&loop.watches, loop.base, SIGINT, stop, &loop);
    turn(&loop);
    (void)event_base_dispatch(loop.base);
    api_http_watches_close(&loop.watches);
}

static enum status check(const struct config *config, struct fault *fault)
{
    if (config->n_store == 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "store is missing: list etcd's endpoints, as http://127.0.0.1:2379");
    if (config->state_dir == NULL)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "state_dir is missing: a manager remembers there which cluster it led");
    enum fleet_replan_mode mode;
    if (!fleet_replan_mode_find(config->replacement, &mode))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "replacement is \"%.40s\", expected off, advise or on",
                         config->replacement);
    if (config->bus_listen == NULL)
        return STATUS_OK;
    return fault_set(fault, STATUS_BAD_INPUT,
                     "bus_listen is for nodes: a manager dials them, so remove it");
}

int verbs_manager(int argc, char **argv)
{
    struct config *config = mem_take(sizeof *config);
    struct fleet_manager *manager = NULL;
    struct fault fault;
    const struct serve_words words = { doc, argc, argv };
    enum status status = serve_settings_open(config, &words, false, &fault);
    if (status == STATUS_OK)
        status = check(config, &fault);
    if (status == STATUS_OK) {
        serve_change_set_log(config);
        status = fleet_manager_open(&manager, config, &fault);
    }
    if (status == STATUS_OK) {
        run(manager);
        fleet_manager_close(manager);
    } else {
        fprintf(stderr, "shoal: %s\n", fault.text);
    }
    config_free(config);
    mem_give(config);
    return status == STATUS_OK ? 0 : 2;
}
