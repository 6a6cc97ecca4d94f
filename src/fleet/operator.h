/* shoal cluster, deploy, undeploy, cordon, uncordon and drain: an operator's wishes for a cluster,
 * written into its store. Each takes a verb's arguments and returns the exit code. */
#pragma once
int fleet_operator_cluster(int argc, char **argv);
int fleet_operator_deploy(int argc, char **argv);
int fleet_operator_undeploy(int argc, char **argv);
int fleet_operator_cordon(int argc, char **argv);
int fleet_operator_uncordon(int argc, char **argv);
int fleet_operator_drain(int argc, char **argv);
