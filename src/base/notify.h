/* Tells the service manager (systemd's Type=notify) how far we are; nothing where there is none. */
#pragma once
#include <stdbool.h>

/* state: "READY=1", "STOPPING=1". True when there is a manager and it was told. */
bool notify_manager(const char *state);
