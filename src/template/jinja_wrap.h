/* Filters on the lines and words of a text. */
#pragma once
#include "template/jinja_args.h"

jinja_callee jinja_wrap_indent, jinja_wrap_truncate, jinja_wrap_words, jinja_wrap_count,
    jinja_wrap_title;
