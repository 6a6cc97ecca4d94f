/* Any bytes as links between devices: links within their limits, or one sentence. */
#include "base/mem.h"
#include "place/links.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct links links = { 0 };
    struct fault fault = { "" };
    char *text = mem_take(n + 1);
    memcpy(text, data, n);
    if (links_read(&links, text, &fault) != STATUS_OK) {
        CHECK(fault.text[0] != '\0');
    } else {
        CHECK(links.n >= 1 && links.n <= LINKS_DEVICES_MAX);
        size_t n_links = (size_t)links.n * (size_t)links.n;
        int64_t *link_ps = mem_take(n_links * sizeof(*link_ps));
        links_times(&links, 1 << 30, link_ps);
        for (size_t i = 0; i < n_links; i++)
            CHECK(link_ps[i] >= 0);
        mem_give(link_ps);
    }
    links_free(&links);
    mem_give(text);
    return 0;
}
