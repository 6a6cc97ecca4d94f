/* Files that are not what they were taken for: each is called by its name, with what to do. */
#pragma once
#include "base/status.h"
#include "base/str.h"

/* Refuses a Git LFS pointer, the small text that stands for a file that was not fetched. */
enum status weights_foreign_pointer(struct view bytes, const char *label,
                                    struct fault *fault) MUST_USE;
/* What else the first bytes of a model file are known by ("a safetensors file, ..."); "" when they
 * are known by nothing. */
const char *weights_foreign_kind(struct view bytes);
/* Refuses a directory that holds an adapter, or a model in a form that is not read. */
enum status weights_foreign_directory(const char *directory, struct fault *fault) MUST_USE;
/* A directory without model.safetensors: what it holds instead. */
enum status weights_foreign_weights(const char *directory, struct fault *fault) MUST_USE;
