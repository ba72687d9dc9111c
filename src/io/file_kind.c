#include "io/file_kind.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define HEAD_BYTES 8

static bool begins(const unsigned char *head, size_t size, const char *with, size_t length)
{
    return size >= length && memcmp(head, with, length) == 0;
}

static bool is_named_protobuf(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (strcasecmp(dot, ".pb") == 0 || strcasecmp(dot, ".onnx") == 0);
}

enum ad_file_kind ad_file_kind(const char *path)
{
    unsigned char head[HEAD_BYTES] = {0};
    struct stat st;
    FILE *file = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "rbe") : NULL;
    size_t size = file ? fread(head, 1, sizeof head, file) : 0;
    if (file)
        fclose(file);
    if (begins(head, size, "\x93NUMPY", 6))
        return AD_FILE_NPY;
    if (begins(head, size, "\x89PNG\r\n\x1a\n", 8) || begins(head, size, "\xff\xd8\xff", 3))
        return AD_FILE_PICTURE;
    bool space = size > 2 && (head[2] == ' ' || head[2] == '#' || (head[2] >= 9 && head[2] <= 13));
    bool short_mark = begins(head, size, "BM", 2) ||
                      (space && (begins(head, size, "P5", 2) || begins(head, size, "P6", 2)));
    return short_mark && !is_named_protobuf(path) ? AD_FILE_PICTURE : AD_FILE_OTHER;
}
