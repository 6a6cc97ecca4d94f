/* The methods of str. */
#pragma once
#include "template/jinja_args.h"

enum jinja_find { JINJA_FIND_FIRST, JINJA_FIND_LAST, JINJA_INDEX_FIRST, JINJA_INDEX_LAST };
enum { JINJA_AT_START, JINJA_AT_END };

jinja_callee jinja_method_text_strip, jinja_method_text_change, jinja_method_text_is,
    jinja_method_text_affix, jinja_method_text_remove, jinja_method_text_replace,
    jinja_method_text_split, jinja_method_text_lines, jinja_method_text_join,
    jinja_method_text_find, jinja_method_text_count, jinja_method_text_pad, jinja_method_text_zfill,
    jinja_method_text_tabs, jinja_method_text_partition, jinja_method_text_format,
    jinja_method_text_format_map, jinja_method_text_identifier;
