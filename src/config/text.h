/* The characters that the text of a setting may contain.
 *
 * Settings reach headers, log lines, metric labels, JSON and the file system. Each text row of the
 * table of keys has a kind, and its text is checked where it is read, from the file, the
 * environment and the command line alike. A message never contains the text, since it may be a
 * key. */
#pragma once
#include "base/status.h"
#include "base/str.h"

enum config_text {
    CONFIG_TEXT_NONE,     /* the row is no text */
    CONFIG_TEXT_WORD,     /* a choice, a threshold, a device */
    CONFIG_TEXT_NAME,     /* of a model or a tenant */
    CONFIG_TEXT_PATH,     /* of a file */
    CONFIG_TEXT_KEY,      /* what a client sends in a header */
    CONFIG_TEXT_TENANT,   /* NAME=KEY */
    CONFIG_TEXT_ADAPTER,  /* NAME=PATH; the name has no colon */
    CONFIG_TEXT_ORIGIN,   /* origins of web pages: the text of the header, or * */
    CONFIG_TEXT_ADDRESS,  /* host and port */
    CONFIG_TEXT_TEMPLATE, /* a chat template, or its place; it may have several lines */
    CONFIG_TEXTS_N
};
/* The sentence begins with `what`: the setting's name, or "model 3's name". */
enum status config_text_check(enum config_text kind, const char *what, struct view text,
                              struct fault *fault) MUST_USE;
