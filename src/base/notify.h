/* Reports to the service manager (systemd's Type=notify) how far we are; does nothing without
 * one. */
#pragma once
#include <stdbool.h>

/* state: "READY=1", "STOPPING=1". Returns true when there is a manager and it got the message. */
bool notify_manager(const char *state);
