/* The verbs of the command line, one function each: it takes arguments and returns the exit
 * code. */
#pragma once

struct verb {
    const char *name, *arguments, *summary;
    int (*run)(int argc, char **argv); /* argv[0] is "shoal VERB" */
};
int verbs_serve(int argc, char **argv);
int verbs_node(int argc, char **argv);
int verbs_gateway(int argc, char **argv);
int verbs_manager(int argc, char **argv);
int verbs_run(int argc, char **argv);
int verbs_profile(int argc, char **argv);
int verbs_show(int argc, char **argv);
int verbs_config(int argc, char **argv);
int verbs_sim(int argc, char **argv);
int verbs_plan(int argc, char **argv);
int verbs_report(int argc, char **argv);
int verbs_bench(int argc, char **argv);
int verbs_bench_kernels(int argc, char **argv); /* argv[0] is "kernels" */
int verbs_repro(int argc, char **argv);
int verbs_replay(int argc, char **argv);
int verbs_completion(int argc, char **argv);
int verbs_version(int argc, char **argv);
int verbs_process(int argc, char **argv); /* hidden; argv as main has it */

#define SHOAL_VERSION "0.1.0"
