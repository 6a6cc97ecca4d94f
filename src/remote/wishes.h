/* shoal pause, unpause, pin and unpin. Each takes a verb's arguments and returns the exit code. */
#pragma once
int remote_wishes_pause(int argc, char **argv);
int remote_wishes_unpause(int argc, char **argv);
int remote_wishes_pin(int argc, char **argv);
int remote_wishes_unpin(int argc, char **argv);
