/* The verbs of the command line, one function each: arguments in, exit code out. */
#pragma once

struct verb {
    const char *name, *arguments, *summary;
    int (*run)(int argc, char **argv); /* argv[0] is "shoal VERB" */
};
int verb_serve(int argc, char **argv);
int verb_run(int argc, char **argv);
int verb_ps(int argc, char **argv);
int verb_ls(int argc, char **argv);
int verb_load(int argc, char **argv);
int verb_unload(int argc, char **argv);
int verb_show(int argc, char **argv);
int verb_config(int argc, char **argv);
int verb_demo(int argc, char **argv);
int verb_version(int argc, char **argv);

#define SHOAL_VERSION "0.1.0"
