/* A report in two forms from one description: text for a terminal, and HTML for a page.
 *
 * A report says sentences and fills tables. In text, a column is as wide as its widest cell; in
 * HTML a table is a real one, followed by what its columns mean. Everything that is said is escaped
 * in HTML, since names of models, files and services come from outside. */
#pragma once
#include "base/str.h"

struct doc_column {
    const char *name;  /* in text */
    const char *title; /* in HTML; NULL: the name */
    const char *why;   /* a sentence about its meaning, HTML only; NULL: none */
    bool is_left;      /* aligned; otherwise right, as numbers are */
};
struct doc {
    struct str *text, *html; /* NULL: that form is not wanted. The caller's */
    struct str cell, cells;  /* the next cell; those of the open table, each with its zero */
    const struct doc_column *columns; /* of the open table */
    const struct doc_column *told;    /* the last ones whose meaning was written */
    int n_columns, at;
};
void doc_init(struct doc *doc, struct str *text, struct str *html);
void doc_free(struct doc *doc); /* not the two texts */

void doc_say(struct doc *doc, const char *fmt, ...) PRINTF_LIKE(2, 3);  /* a line, a paragraph */
void doc_head(struct doc *doc, const char *fmt, ...) PRINTF_LIKE(2, 3); /* a line, a heading */
/* A line, or a cell of the open table, from parts. */
void doc_part(struct doc *doc, const char *fmt, ...) PRINTF_LIKE(2, 3);
void doc_end(struct doc *doc);
void doc_gap(struct doc *doc); /* text only: empty line */

/* Opens a table with a row of names. The columns must outlive the document. Their meaning
 * is written once, where tables with the same ones follow each other. */
void doc_table(struct doc *doc, const struct doc_column *columns, int n);
/* Writes the next cell. The cell of the last column ends the row. */
void doc_cell(struct doc *doc, const char *fmt, ...) PRINTF_LIKE(2, 3);
void doc_table_end(struct doc *doc);

/* ---- Pages: self-contained, without scripts, light, dark and printed. ---- */

void doc_escape(struct str *html, const char *text); /* for content and attributes */
/* Escapes at most n_chars characters, and two dots for the rest. */
void doc_escape_short(struct str *html, const char *text, int n_chars);
void doc_page_open(struct str *html, const char *title);
void doc_page_close(struct str *html);
