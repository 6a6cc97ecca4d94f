/* shoal cluster demo: starts a cluster on one machine, and kills parts while it answers. */
#pragma once
/* argv[0] is "demo". Returns the exit code: 0 when every request ended with the same text. */
int fleet_demo_run(int argc, char **argv);
