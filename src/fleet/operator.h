/* shoal cluster, deploy, undeploy, cordon, uncordon and drain: an operator's wishes for a cluster,
 * written into its store. Each takes a verb's arguments and returns the exit code. */
#pragma once
struct config;

int fleet_operator_cluster(int argc, char **argv);
int fleet_operator_deploy(int argc, char **argv);
int fleet_operator_undeploy(int argc, char **argv);
int fleet_operator_cordon(int argc, char **argv);
int fleet_operator_uncordon(int argc, char **argv);
int fleet_operator_drain(int argc, char **argv);

/* A wish on one model: pause, unpause, pin and unpin. place: of a pin, HOST:PORT or
 * HOST:PORT:ENGINE. */
enum fleet_wish_kind { FLEET_PAUSE, FLEET_UNPAUSE, FLEET_PIN, FLEET_UNPIN };
struct fleet_wish {
    enum fleet_wish_kind kind;
    const char *model, *place;
};
/* Writes the wish into the configured store. Prints the sentence if that fails. Returns the exit
 * code. */
int fleet_operator_wish(const struct config *config, const struct fleet_wish *wish);
