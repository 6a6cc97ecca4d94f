/* shoal demo: a server with the two demo models, and a question to both at once. */
#pragma once

int remote_demo_run(int argc, char **argv);
