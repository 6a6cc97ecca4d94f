/* Filters that make numbers. */
#pragma once
#include "template/jinja_args.h"

jinja_callee jinja_convert_int, jinja_convert_float, jinja_convert_abs, jinja_convert_round,
    jinja_convert_size;
