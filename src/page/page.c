/* Finds the files of the page. */
#include "page/page.h"

#include "page/files.h"

const struct page_file *page_find(struct view path)
{
    for (size_t i = 0; i < COUNT_OF(page_files); i++)
        if (view_equal_text(path, page_files[i].path))
            return &page_files[i];
    return NULL;
}
