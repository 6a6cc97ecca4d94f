/* Reports as text and as HTML. */
#include "base/doc.h"
#include "base/doc_style.h"

#include "base/mem.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void doc_init(struct doc *doc, struct str *text, struct str *html)
{
    *doc = (struct doc){ .text = text, .html = html };
    str_init(&doc->cell);
    str_init(&doc->cells);
}

void doc_free(struct doc *doc)
{
    str_free(&doc->cell);
    str_free(&doc->cells);
}

static bool begins_character(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80; /* in UTF-8 */
}

void doc_escape_short(struct str *html, const char *text, int n_chars)
{
    for (; *text != '\0'; text++) {
        if (begins_character(*text) && n_chars-- == 0) {
            str_add_text(html, "..");
            return;
        }
        if (strchr("<>&\"", *text) != NULL)
            str_printf(html, "&#%d;", *text);
        else
            str_add_char(html, (unsigned char)*text >= 0x20 ? *text : ' ');
    }
}

void doc_escape(struct str *html, const char *text)
{
    doc_escape_short(html, text, INT32_MAX);
}

/* Adds to the cell, which is also where sentences are made. */
static void add(struct doc *doc, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    CHECK(n >= 0);
    char *part = mem_take((size_t)n + 1);
    vsnprintf(part, (size_t)n + 1, fmt, args);
    str_add(&doc->cell, part, (size_t)n);
    mem_give(part);
}

static const char *cell_of(const struct doc *doc)
{
    return doc->cell.at != NULL ? doc->cell.at : "";
}

/* Writes the sentence as a line, and in HTML as an element. */
static void end_line(struct doc *doc, const char *element)
{
    if (doc->text != NULL)
        str_printf(doc->text, "%s\n", cell_of(doc));
    if (doc->html != NULL) {
        str_printf(doc->html, "<%s>", element);
        doc_escape(doc->html, cell_of(doc));
        str_printf(doc->html, "</%s>\n", element);
    }
    str_clear(&doc->cell);
}

void doc_say(struct doc *doc, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add(doc, fmt, args);
    va_end(args);
    end_line(doc, "p");
}

void doc_head(struct doc *doc, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add(doc, fmt, args);
    va_end(args);
    end_line(doc, "h2");
}

void doc_gap(struct doc *doc)
{
    if (doc->text != NULL)
        str_add_char(doc->text, '\n');
}

/* ---- Tables. ---- */

static int width_of(const char *cell)
{
    int n = 0;
    for (; *cell != '\0'; cell++)
        n += begins_character(*cell);
    return n;
}

static void end_row(struct str *text)
{
    while (text->n > 0 && text->at[text->n - 1] == ' ') /* of empty cells */
        text->at[--text->n] = '\0';
    str_add_char(text, '\n');
}

/* Writes the rows that were gathered, when all widths are known. */
static void write_text_table(struct doc *doc)
{
    int *widths = mem_take((size_t)doc->n_columns * sizeof(*widths));
    const char *end = doc->cells.at + doc->cells.n;
    int c = 0;
    memset(widths, 0, (size_t)doc->n_columns * sizeof(*widths));
    for (const char *cell = doc->cells.at; cell < end; cell += strlen(cell) + 1) {
        widths[c] = max_i32(widths[c], width_of(cell));
        c = (c + 1) % doc->n_columns;
    }
    for (const char *cell = doc->cells.at; cell < end; cell += strlen(cell) + 1) {
        int blanks = widths[c] - width_of(cell);
        bool is_last = c + 1 == doc->n_columns, is_left = doc->columns[c].is_left;
        str_printf(doc->text, "%s%*s%s%*s", c > 0 ? "  " : "", is_left ? 0 : blanks, "", cell,
                   is_left && !is_last ? blanks : 0, "");
        if (is_last)
            end_row(doc->text);
        c = (c + 1) % doc->n_columns;
    }
    mem_give(widths);
}

static bool is_left(const struct doc *doc)
{
    return doc->columns[doc->at].is_left;
}

static void add_html_cell(struct doc *doc, const char *cell)
{
    const char *element = doc->at == 0 ? "th scope=\"row\"" : "td";
    if (doc->at == 0)
        str_add_text(doc->html, "<tr>");
    str_printf(doc->html, "<%s%s>", element, is_left(doc) ? " class=\"l\"" : "");
    doc_escape(doc->html, cell);
    str_add_text(doc->html, doc->at == 0 ? "</th>" : "</td>");
}

/* Writes a column's title. Seconds at its end do not go to a line of their own. */
static void add_title(struct doc *doc, const char *title)
{
    const char *unit = strrchr(title, ' ');
    if (unit == NULL || (strcmp(unit, " s") != 0 && strcmp(unit, " ms") != 0)) {
        doc_escape(doc->html, title);
        return;
    }
    for (const char *at = title; at < unit; at++) {
        const char character[2] = { *at, '\0' };
        doc_escape(doc->html, character);
    }
    str_add_text(doc->html, "&#160;");
    doc_escape(doc->html, unit + 1);
}

static void add_html_names(struct doc *doc)
{
    str_add_text(doc->html, "<div class=\"wide\" tabindex=\"0\"><table><thead><tr>");
    for (doc->at = 0; doc->at < doc->n_columns; doc->at++) {
        const struct doc_column *column = &doc->columns[doc->at];
        str_printf(doc->html, "<th scope=\"col\"%s", is_left(doc) ? " class=\"l\"" : "");
        if (column->why != NULL) {
            str_add_text(doc->html, " title=\"");
            doc_escape(doc->html, column->why);
            str_add_char(doc->html, '"');
        }
        str_add_char(doc->html, '>');
        add_title(doc, column->title != NULL ? column->title : column->name);
        str_add_text(doc->html, "</th>");
    }
    str_add_text(doc->html, "</tr></thead><tbody>\n");
}

void doc_table(struct doc *doc, const struct doc_column *columns, int n)
{
    CHECK(doc->columns == NULL && n > 0);
    doc->columns = columns;
    doc->n_columns = n;
    str_clear(&doc->cells);
    for (int i = 0; i < n; i++)
        str_add(&doc->cells, columns[i].name, strlen(columns[i].name) + 1);
    if (doc->html != NULL)
        add_html_names(doc);
    doc->at = 0;
}

static void end_cell(struct doc *doc)
{
    str_add(&doc->cells, cell_of(doc), doc->cell.n + 1);
    if (doc->html != NULL)
        add_html_cell(doc, cell_of(doc));
    str_clear(&doc->cell);
    doc->at = (doc->at + 1) % doc->n_columns;
    if (doc->at == 0 && doc->html != NULL)
        str_add_text(doc->html, "</tr>\n");
}

void doc_cell(struct doc *doc, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add(doc, fmt, args);
    va_end(args);
    end_cell(doc);
}

void doc_part(struct doc *doc, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add(doc, fmt, args);
    va_end(args);
}

void doc_end(struct doc *doc)
{
    if (doc->columns != NULL)
        end_cell(doc);
    else
        end_line(doc, "p");
}

static void add_meanings(struct doc *doc)
{
    str_add_text(doc->html, "<dl>");
    for (int i = 0; i < doc->n_columns; i++) {
        const struct doc_column *column = &doc->columns[i];
        if (column->why == NULL)
            continue;
        str_add_text(doc->html, "<div><dt>");
        doc_escape(doc->html, column->title != NULL ? column->title : column->name);
        str_add_text(doc->html, "</dt><dd>");
        doc_escape(doc->html, column->why);
        str_add_text(doc->html, "</dd></div>\n");
    }
    str_add_text(doc->html, "</dl>\n");
}

void doc_table_end(struct doc *doc)
{
    CHECK(doc->at == 0);
    if (doc->text != NULL)
        write_text_table(doc);
    if (doc->html != NULL) {
        str_add_text(doc->html, "</tbody></table></div>\n");
        if (doc->told != doc->columns)
            add_meanings(doc);
        doc->told = doc->columns;
    }
    doc->columns = NULL;
}

/* ---- Pages. ---- */

void doc_page_open(struct str *html, const char *title)
{
    str_add_text(html, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                       "<title>");
    doc_escape(html, title);
    str_printf(html, "</title>\n<style>\n%s</style></head>\n<body><h1>", doc_style);
    doc_escape(html, title);
    str_add_text(html, "</h1>\n");
}

void doc_page_close(struct str *html)
{
    str_add_text(html, "</body></html>\n");
}
