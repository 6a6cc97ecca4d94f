/* shoal ps, ls, load, unload, sleep and wake. Each takes a verb's arguments and returns the exit
 * code. */
#pragma once
int remote_models_ps(int argc, char **argv);
int remote_models_ls(int argc, char **argv);
int remote_models_load(int argc, char **argv);
int remote_models_unload(int argc, char **argv);
int remote_models_sleep(int argc, char **argv);
int remote_models_wake(int argc, char **argv);
