/* GGUF v2 and v3: header, metadata and tensor table of one file or of a split set, checked byte by
 * byte. */
#pragma once
#include "weights/gguf_file.h"

/* Opens a file. path is any part of a split set, or the only file. On failure nothing is left
 * open. */
enum status weights_gguf_open(struct weights_gguf *gguf, const char *path,
                              struct fault *fault) MUST_USE;
/* Does the same for one file in memory, which must stay until close. */
enum status weights_gguf_read(struct weights_gguf *gguf, const void *bytes, size_t n_bytes,
                              struct fault *fault) MUST_USE;
void weights_gguf_close(struct weights_gguf *gguf);
