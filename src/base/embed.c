/* Writes files as C, at build time:
 *
 *   embed table OUT FILE...    the files of the web page (page/page.h)
 *   embed text OUT FILE NAME   one file as the text NAME */
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

/* Writes the bytes of one file, and those of `end`. Returns 0 when it cannot be read. */
static int write_bytes(const char *path, const char *name, const char *end, FILE *out)
{
    FILE *in = fopen(path, "rb");
    if (in == NULL)
        return 0;
    fprintf(out, "static const char %s[] = {", name);
    for (int c, n = 0; (c = getc(in)) != EOF; n++)
        fprintf(out, "%s%d,", n % 24 == 0 ? "\n    " : " ", c < 128 ? c : c - 256);
    fprintf(out, "%s\n};\n", end);
    int is_read = !ferror(in);
    fclose(in);
    return is_read;
}

static int write_table(char **paths, int n, FILE *out)
{
    char name[32];
    fprintf(out, "#include \"page/page.h\"\n\n");
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "page_bytes_%d", i);
        if (type_of(paths[i]) == NULL || !write_bytes(paths[i], name, "", out)) {
            fprintf(stderr, "embed: cannot read %s, or its ending has no type\n", paths[i]);
            return 0;
        }
    }
    fprintf(out, "\nstatic const struct page_file page_files[] = {\n");
    for (int i = 0; i < n; i++)
        fprintf(out, "    { \"/%s\", \"%s\", { page_bytes_%d, sizeof(page_bytes_%d) } },\n",
                strcmp(name_of(paths[i]), "index.html") == 0 ? "" : name_of(paths[i]),
                type_of(paths[i]), i, i);
    fprintf(out, "};\n");
    return 1;
}

static int write_text(const char *path, const char *name, FILE *out)
{
    if (write_bytes(path, name, " 0", out))
        return 1;
    fprintf(stderr, "embed: cannot read %s\n", path);
    return 0;
}

int main(int argc, char **argv)
{
    int is_table = argc > 3 && strcmp(argv[1], "table") == 0;
    int is_text = argc == 5 && strcmp(argv[1], "text") == 0;
    FILE *out = is_table || is_text ? fopen(argv[2], "w") : NULL;
    if (out == NULL) {
        fprintf(stderr, "embed: usage: embed table OUT FILE... or embed text OUT FILE NAME\n");
        return 2;
    }
    fprintf(out, "/* Written by embed.c. */\n#pragma once\n");
    int is_written =
        is_table ? write_table(argv + 3, argc - 3, out) : write_text(argv[3], argv[4], out);
    return fclose(out) == 0 && is_written ? 0 : 1;
}
