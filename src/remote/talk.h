/* Verbs of the command line that talk with a running server in the terminal. Each takes its
 * arguments, argv[0] being "shoal VERB", and returns the exit code. */
#pragma once

int remote_talk_run(int argc, char **argv);
