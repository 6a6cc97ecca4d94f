/* Writes files as a table of C, at build time: embed OUT FILE... */
#include <stdio.h>
#include <string.h>

static const char *const types[][2] = {
    { ".html", "text/html; charset=utf-8" },
    { ".css", "text/css; charset=utf-8" },
    { ".js", "text/javascript; charset=utf-8" },
    { ".svg", "image/svg+xml" },
};

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static const char *type_of(const char *path)
{
    const char *end = strrchr(path, '.');
    for (size_t i = 0; end != NULL && i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(end, types[i][0]) == 0)
            return types[i][1];
    return NULL;
}

/* Writes the bytes of one file. Returns false when it cannot be read. */
static int write_bytes(const char *path, int place, FILE *out)
{
    FILE *in = fopen(path, "rb");
    if (in == NULL)
        return 0;
    fprintf(out, "static const char page_bytes_%d[] = {", place);
    for (int c, n = 0; (c = getc(in)) != EOF; n++)
        fprintf(out, "%s%d,", n % 24 == 0 ? "\n    " : " ", c < 128 ? c : c - 256);
    fprintf(out, "\n};\n");
    int is_read = !ferror(in);
    fclose(in);
    return is_read;
}

int main(int argc, char **argv)
{
    FILE *out = argc > 2 ? fopen(argv[1], "w") : NULL;
    if (out == NULL) {
        fprintf(stderr, "embed: usage: embed OUT FILE...\n");
        return 2;
    }
    fprintf(out, "/* Written by embed.c. */\n#pragma once\n#include \"page/page.h\"\n\n");
    for (int i = 2; i < argc; i++)
        if (type_of(argv[i]) == NULL || !write_bytes(argv[i], i, out)) {
            fprintf(stderr, "embed: cannot read %s, or its ending has no type\n", argv[i]);
            return 1;
        }
    fprintf(out, "\nstatic const struct page_file page_files[] = {\n");
    for (int i = 2; i < argc; i++)
        fprintf(out, "    { \"/%s\", \"%s\", { page_bytes_%d, sizeof(page_bytes_%d) } },\n",
                strcmp(name_of(argv[i]), "index.html") == 0 ? "" : name_of(argv[i]),
                type_of(argv[i]), i, i);
    fprintf(out, "};\n");
    return fclose(out) == 0 ? 0 : 1;
}
