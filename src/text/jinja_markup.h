/* Filters for HTML and URLs: escape, forceescape, safe, xmlattr, urlencode. */
#pragma once
#include "text/jinja_args.h"

jinja_callee jinja_markup_escape, jinja_markup_safe, jinja_markup_xmlattr, jinja_markup_urlencode;
