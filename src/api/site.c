/* Sends the files of the web page. They hold nothing of this server, so they need no key; what the
 * page then asks for does. */
#include "api/site.h"
#include "page/page.h"

bool api_site_has(struct view path)
{
    return page_find(path) != NULL;
}

void api_site_show(struct api *api, struct api_http_exchange *x)
{
    const struct page_file *file = page_find(api_path_of(&x->head));
    (void)api;
    CHECK(file != NULL);
    api_http_header(x, "Content-Security-Policy", PAGE_SECURITY_POLICY);
    api_http_header(x, "X-Content-Type-Options", "nosniff");
    api_http_header(x, "Referrer-Policy", "no-referrer");
    api_http_header(x, "Cache-Control", "no-cache");
    api_http_reply(x, 200, file->type, file->bytes);
}
