/* The cost of a large cluster for its leading manager. */
#pragma once
/* Prints CPU time and messages, over this many seconds of virtual time. Returns an exit code. */
int world_size(int n_nodes, int n_gateways, int seconds);
