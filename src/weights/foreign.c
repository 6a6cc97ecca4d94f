/* Things that users name instead of a model: pointers of Git LFS, adapters, and other formats. */
#include "weights/foreign.h"
#include "base/file.h"
#include <stdio.h>
#include <string.h>

#define PATH_BYTES_MAX 4352

enum status weights_foreign_pointer(struct view bytes, const char *label, struct fault *fault)
{
    if (!view_starts(bytes, "version https://git-lfs.github.com/spec/"))
        return STATUS_OK;
    return fault_set(fault, STATUS_BAD_INPUT,
                     "%.150s is a Git LFS pointer, not the file itself: fetch it with git lfs pull",
                     label);
}

const char *weights_foreign_kind(struct view bytes)
{
    static const struct {
        size_t at;
        const char *start;
        size_t n;
        const char *kind;
    } rows[] = {
        { 8, "{\"", 2, "it looks like safetensors: give the path of its directory" },
        { 0, "PK\3\4", 4, "it looks like PyTorch's format, which is not read: convert it" },
        { 0, "\x80\2", 2, "it looks like Python's pickle, which is not read: convert it" },
        { 0, "lmgg", 4, "it looks like GGML, which GGUF replaced in 2023: convert it" },
        { 0, "fmgg", 4, "it looks like GGML, which GGUF replaced in 2023: convert it" },
        { 0, "tjgg", 4, "it looks like GGML, which GGUF replaced in 2023: convert it" },
        { 0, "algg", 4, "it looks like a LoRA adapter before GGUF, which is not read: convert it" },
        { 0, "<!DOCTYPE", 9, "it is a web page, so its download failed" },
        { 0, "<html", 5, "it is a web page, so its download failed" },
        { 0, "FUGG", 4, "it is big-endian" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (bytes.n >= rows[i].at + rows[i].n &&
            memcmp(bytes.at + rows[i].at, rows[i].start, rows[i].n) == 0)
            return rows[i].kind;
    return "";
}

static bool has_file(const char *directory, const char *name)
{
    char path[PATH_BYTES_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", directory, name);
    return n > 0 && n < (int)sizeof(path) && file_exists(path);
}

static enum status check_adapter(const char *directory, struct fault *fault)
{
    static const char *const names[] = { "adapter_config.json", "adapter_model.safetensors",
                                         "adapter_model.bin" };
    char found[FILE_NAME_BYTES];
    bool is_adapter = file_find(directory, ".lora", found);
    for (size_t i = 0; i < COUNT_OF(names) && !is_adapter; i++) {
        is_adapter = has_file(directory, names[i]);
        snprintf(found, sizeof(found), "%s", names[i]);
    }
    if (!is_adapter)
        return STATUS_OK;
    return fault_set(fault, STATUS_UNSUPPORTED,
                     "%.120s holds an adapter (%.60s), which does not belong there: put it "
                     "into a directory of its own, and name that in the model's adapters",
                     directory, found);
}

enum status weights_foreign_directory(const char *directory, struct fault *fault)
{
    static const char *const others[] = { "params.json", "consolidated.safetensors",
                                          "consolidated.00.pth" };
    char found[FILE_NAME_BYTES];
    enum status status = check_adapter(directory, fault);
    if (status != STATUS_OK || has_file(directory, "config.json"))
        return status;
    if (file_find(directory, ".gguf", found))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%.100s is a directory without config.json: give the path of the GGUF "
                         "file in it (%.100s)",
                         directory, found);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (has_file(directory, others[i]))
            return fault_set(fault, STATUS_UNSUPPORTED,
                             "%.120s holds %s, but no config.json: it is a model in its maker's "
                             "own format, which is not read; take the Hugging Face one",
                             directory, others[i]);
    return STATUS_OK; /* the reader of config.json reports that it is missing */
}

enum status weights_foreign_weights(const char *directory, struct fault *fault)
{
    static const char *const endings[] = {
        "pytorch_model.bin.index.json",
        ".bin",
        ".pth",
        ".pt",
        ".h5",
        ".msgpack",
        ".gguf",
        ".safetensors",
    };
    char found[FILE_NAME_BYTES];
    for (size_t i = 0; i < COUNT_OF(endings); i++)
        if (file_find(directory, endings[i], found))
            return fault_set(fault, STATUS_NOT_FOUND,
                             "%.100s holds %.60s, but no model.safetensors: save the model again "
                             "with transformers' save_pretrained, or convert it to GGUF",
                             directory, found);
    return fault_set(fault, STATUS_NOT_FOUND, "%.150s: holds no model.safetensors", directory);
}
