/* shoal top. Takes the verb's arguments and returns the exit code. */
#pragma once
int remote_top_run(int argc, char **argv);
