/* Links between devices from this machine or from a file. */
#include "scenario/links_file.h"

#include "base/file.h"
#include "base/mem.h"
#include "scenario/links_here.h"
#include <string.h>

enum { LINK_FILE_BYTES_MAX = 1 << 20 };

static enum status read_links(const char *path, struct links *links, struct fault *fault)
{
    char *text;
    size_t n_bytes;
    if (strcmp(path, "machine") == 0)
        return links_here(links, fault);
    enum status status = file_read(path, LINK_FILE_BYTES_MAX, &text, &n_bytes, fault);
    if (status != STATUS_OK)
        return status;
    struct fault inner;
    status = text[0] == '<' ? links_hwloc(text, n_bytes, links, &inner)
                            : links_read(links, text, &inner);
    mem_give(text);
    return status == STATUS_OK ? STATUS_OK
                               : fault_set(fault, status, "%.100s: %.140s", path, inner.text);
}

enum status links_file_read(const char *path, int32_t n, struct links *links, struct fault *fault)
{
    enum status status = read_links(path, links, fault);
    if (status == STATUS_OK && links->n != n)
        status = fault_set(fault, STATUS_BAD_INPUT, "%.100s: links of %d devices, there are %d",
                           path, links->n, n);
    return status;
}
