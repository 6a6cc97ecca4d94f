/* Prints the page of a claim. */
#include "papers/page.h"

#include "base/json_out.h"
#include <stdio.h>

void papers_page_source(const struct papers_claim *claim, char source[64])
{
    snprintf(source, 64, "%s, %s", claim->paper, claim->section);
}

static const char *verdict_of(const struct papers_page *page)
{
    int n = 0, n_holds = 0;
    for (int i = 0; i < page->n_rows; i++) {
        n += page->rows[i].is_judged;
        n_holds += page->rows[i].is_judged && page->rows[i].holds;
    }
    return n_holds == n ? "holds" : n_holds > 0 ? "holds in part" : "does not hold";
}

void papers_page_print(const struct papers_page *page, struct str *out)
{
    str_printf(out, "%s, %s: %s\n", page->claim->paper, page->claim->section, page->claim->title);
    for (int i = 0; i < page->n_rows; i++) {
        const struct papers_row *row = &page->rows[i];
        str_printf(out, "  %-44s paper: %-28s ours: %s%s\n", row->what, row->paper, row->ours,
                   !row->is_judged        ? ""
                   : !row->holds          ? "  [DOES NOT HOLD]"
                   : row->is_by_direction ? "  [holds by direction]"
                                          : "  [holds]");
    }
    for (int i = 0; i < page->n_differs; i++)
        str_printf(out, "  differs: %s\n", page->differs[i]);
    str_printf(out, "  verdict: %s (%d seeds; records in %s)\n", verdict_of(page),
               (int)page->n_seeds, page->folder);
}

void papers_page_print_json(const struct papers_page *page, struct str *out)
{
    struct json_out json;
    char source[64];
    papers_page_source(page->claim, source);
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key_text(&json, "claim", page->claim->name);
    json_out_key_text(&json, "source", source);
    json_out_key_text(&json, "verdict", verdict_of(page));
    json_out_key_i64(&json, "seeds", page->n_seeds);
    json_out_key(&json, "rows");
    json_out_open(&json, '[');
    for (int i = 0; i < page->n_rows; i++) {
        const struct papers_row *row = &page->rows[i];
        json_out_open(&json, '{');
        json_out_key_text(&json, "what", row->what);
        json_out_key_text(&json, "paper", row->paper);
        json_out_key_text(&json, "ours", row->ours);
        if (row->is_judged)
            json_out_key_bool(&json, "holds", row->holds);
        if (row->is_judged && row->holds)
            json_out_key_bool(&json, "by_direction", row->is_by_direction);
        json_out_close(&json, '}');
    }
    json_out_close(&json, ']');
    json_out_key(&json, "differs");
    json_out_open(&json, '[');
    for (int i = 0; i < page->n_differs; i++)
        json_out_text(&json, page->differs[i]);
    json_out_close(&json, ']');
    json_out_close(&json, '}');
    str_add_char(out, '\n');
}
