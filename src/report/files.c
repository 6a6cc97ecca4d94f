/* Names of files. */
#include "report/files.h"

#include "base/mem.h"
#include "base/str.h"
#include <string.h>

/* Returns where the ending begins: at the last dot of the last part, unless the name begins with
 * it. */
static size_t stem_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return dot != NULL && dot > name ? (size_t)(dot - path) : strlen(path);
}

char *report_files_name(const char *path, const struct report_files_run *run)
{
    struct str out;
    if (path == NULL)
        return NULL;
    size_t n_stem = stem_of(path);
    str_init(&out);
    str_add(&out, path, n_stem);
    for (const char *at = run->label; at != NULL && *at != '\0'; at++) {
        if (at == run->label)
            str_add_char(&out, '-');
        str_add_char(&out, *at == '/' ? '_' : *at);
    }
    if (run->rate != NULL)
        str_printf(&out, "-x%g", *run->rate);
    if (run->seed != NULL)
        str_printf(&out, "-s%llu", (unsigned long long)*run->seed);
    str_add_text(&out, path + n_stem);
    char *name = mem_copy_text(out.at);
    str_free(&out);
    return name;
}
