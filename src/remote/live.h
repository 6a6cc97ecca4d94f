/* Verbs that ask a cluster's manager. */
#pragma once

int remote_live_monitor(int argc, char **argv);
int remote_live_plan(int argc, char **argv); /* argv[0] is "shoal plan"; --live is gone */
