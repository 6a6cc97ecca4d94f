/* shoal cluster demo: a cluster on one machine, parts of which are killed while it answers. */
#pragma once
/* argv[0] is "demo". Returns the exit code: 0 when every request ended with the same text. */
int cluster_demo(int argc, char **argv);
