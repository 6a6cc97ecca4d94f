/* shoal fetch. Takes the verb's arguments and returns the exit code. */
#pragma once
int remote_fetch_run(int argc, char **argv);
