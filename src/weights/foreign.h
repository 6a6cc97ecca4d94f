/* Files that are not what the user took them for. Each is refused by name, with what to do. */
#pragma once
#include "base/status.h"
#include "base/str.h"

/* Refuses a Git LFS pointer: the small text that replaces a file that was not fetched. */
enum status weights_foreign_pointer(struct view bytes, const char *label,
                                    struct fault *fault) MUST_USE;
/* Returns the kind of file that the first bytes show ("a safetensors file, ..."); "" when it is
 * unknown. */
const char *weights_foreign_kind(struct view bytes);
/* Refuses a directory that holds an adapter, or a model in an unsupported form. */
enum status weights_foreign_directory(const char *directory, struct fault *fault) MUST_USE;
/* Refuses a directory without model.safetensors. The fault names what it holds instead. */
enum status weights_foreign_weights(const char *directory, struct fault *fault) MUST_USE;
