/* Verbs of the command line that talk with a running server in the terminal. Each takes its
 * arguments, argv[0] being "shoal VERB", and returns the exit code. */
#pragma once

int remote_chat(int argc, char **argv);
