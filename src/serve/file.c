/* Finds or fetches a model's file, with the SHA-256 of its configuration or of a manifest. */
#include "serve/file.h"

#include "base/file.h"
#include "base/mem.h"
#include "fetch/digest.h"
#include "serve/peers.h"
#include <stdio.h>
#include <string.h>

enum { MANIFEST_BYTES_MAX = 4 << 20 };

/* ---- The manifest. ---- */

/* Returns the part behind the last slash, without a query. */
static struct view name_of(const char *path)
{
    size_t n = fetch_is_url(path) ? strcspn(path, "?#") : strlen(path);
    size_t begin = n;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    return view_of(path + begin, n - begin);
}

/* Reads "HASH  NAME" or "HASH *NAME". */
static bool is_line_of(struct view line, struct view name)
{
    line.n -= line.n > 0 && line.at[line.n - 1] == '\r';
    return line.n > 66 && line.at[64] == ' ' && (line.at[65] == ' ' || line.at[65] == '*') &&
           view_equal(view_of(line.at + 66, line.n - 66), name);
}

static enum status find_in_manifest(const struct config *config, const char *path,
                                    char out[FETCH_SHA256_TEXT], struct fault *fault)
{
    char *text;
    size_t n_bytes;
    struct view name = name_of(path);
    enum status status =
        file_read_regular(config->model_manifest, MANIFEST_BYTES_MAX, &text, &n_bytes, fault);
    if (status != STATUS_OK)
        return status;
    status = STATUS_NOT_FOUND;
    for (size_t at = 0; at < n_bytes && status != STATUS_OK;) {
        const char *end = memchr(text + at, '\n', n_bytes - at);
        struct view line =
            view_of(text + at, end != NULL ? (size_t)(end - text) - at : n_bytes - at);
        if (is_line_of(line, name)) {
            snprintf(out, FETCH_SHA256_TEXT, "%.64s", line.at);
            status = STATUS_OK;
        }
        at += line.n + 1;
    }
    mem_give(text);
    return status == STATUS_OK
               ? STATUS_OK
               : fault_set(fault, STATUS_NOT_FOUND, "model_manifest %.80s has no line of %.*s",
                           config->model_manifest, (int)min_i64((int64_t)name.n, 80), name.at);
}

/* ---- Files. ---- */

/* Sets the options of a model that is fetched. sha256 keeps their text. */
static enum status options_of(const struct config *config, const struct config_model *model,
                              char sha256[FETCH_SHA256_TEXT], struct fetch_options *out,
                              struct fault *fault)
{
    *out = (struct fetch_options){ .url = model->path,
                                   .sha256 = model->sha256,
                                   .folder = config->model_cache,
                                   .ca = config->model_ca,
                                   .n_bytes_max = config->model_cache_bytes,
                                   .n_bytes_per_s = config->model_rate_bytes,
                                   .stall_ns = config->model_stall_ns };
    if (out->sha256 != NULL || config->model_manifest == NULL)
        return STATUS_OK;
    enum status status = find_in_manifest(config, model->path, sha256, fault);
    out->sha256 = sha256;
    return status;
}

/* Returns whether a path ends as the parts of a split GGUF do: -00001-of-00003.gguf. */
static bool is_part(const char *path)
{
    static const char form[] = "-ddddd-of-ddddd.gguf";
    size_t n = strlen(path), n_form = sizeof form - 1;
    for (size_t i = 0; i < n_form && n >= n_form; i++) {
        char c = path[n - n_form + i];
        if (form[i] == 'd' ? c < '0' || c > '9' : c != form[i])
            return false;
    }
    return n >= n_form;
}

/* A manifest may leave out files of this machine, but not one that is fetched. */
static enum status check_local(const struct config_model *model, bool is_read, struct fault *fault)
{
    if (model->sha256 == NULL)
        return STATUS_OK;
    if (!fetch_digest_is_text(model->sha256))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "model %.80s: sha256 has to be 64 hexadecimal digits", model->name);
    if (is_part(model->path))
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "model %.80s: sha256 is for one file, and %.100s is one of several parts",
                         model->name, model->path);
    if (file_is_directory(model->path))
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "model %.80s: sha256 is for one file, and %.100s is a directory",
                         model->name, model->path);
    return is_read ? fetch_digest_check_file(model->path, model->sha256, fault) : STATUS_OK;
}

static enum status open_file(struct serve_file *out, const struct config *config,
                             const struct config_model *model, bool may_fetch, struct fault *fault)
{
    char sha256[FETCH_SHA256_TEXT];
    const struct fetch_peers peers = serve_peers(config);
    struct fetch_options options;
    struct fault inner = { "" };
    *out = (struct serve_file){ .path = model->path, .fetched.fd = -1 };
    if (!fetch_is_url(model->path))
        return check_local(model, may_fetch, fault);
    enum status status = options_of(config, model, sha256, &options, &inner);
    bool has_options = status == STATUS_OK;
    options.peers = &peers;
    if (has_options && may_fetch)
        status = fetch_get(&out->fetched, &options, &inner);
    else if (has_options)
        status = fetch_find(&out->fetched, &options, &inner);
    out->path = out->fetched.path;
    if (status == STATUS_OK || (has_options && status == STATUS_NOT_FOUND))
        return status;
    return fault_set(fault, has_options ? status : STATUS_BAD_INPUT, "%s%.40s%s%.200s",
                     model->name[0] != '\0' ? "model " : "", model->name,
                     model->name[0] != '\0' ? ": " : "", inner.text);
}

enum status serve_file_open(struct serve_file *out, const struct config *config,
                            const struct config_model *model, struct fault *fault)
{
    return open_file(out, config, model, true, fault);
}

enum status serve_file_check(struct serve_file *out, const struct config *config,
                             const struct config_model *model, struct fault *fault)
{
    return open_file(out, config, model, false, fault);
}

void serve_file_close(struct serve_file *file)
{
    fetch_release(&file->fetched);
}
