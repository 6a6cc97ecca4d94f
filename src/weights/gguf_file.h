/* A GGUF file that was read: its metadata, its tensors and its mappings. */
#pragma once
#include "base/file.h"
#include "base/str.h"
#include "weights/catalog.h"

enum weights_gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_TEXT,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_N
};

struct weights_gguf_value {
    struct view key;
    uint32_t type, of; /* of is the element type of an array */
    uint64_t n;        /* elements of an array, bytes of a text */
    const unsigned char *at;
    size_t n_bytes; /* of the payload; it was checked that all elements are inside */
};

enum { GGUF_PARTS_MAX = 512, GGUF_VALUES_MAX = 1 << 16 };

struct weights_gguf {
    char label[96]; /* "gguf: m.gguf": begins every fault */
    struct pile pile;
    uint32_t version, n_parts;
    struct file_map *maps;             /* (n_parts); NULL when read from memory */
    struct weights_gguf_value *values; /* of the first part */
    int32_t n_values;
    struct map by_key;
    struct weights_catalog catalog; /* sealed */
};
