/* Reads small files of Linux that contain a line, a number or a list. */
#define _GNU_SOURCE
#include "platform/linux/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool facts_line_of(const char *path, char *into, size_t capacity)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    bool got = fgets(into, (int)capacity, file) != NULL;
    fclose(file);
    if (!got)
        return false;
    into[strcspn(into, "\n")] = 0;
    return into[0] != 0;
}

void facts_text(struct json *out, const char *key, const char *path)
{
    char line[256];
    if (facts_line_of(path, line, sizeof line))
        json_text(out, key, line);
}

bool facts_number_in(const char *path, uint64_t *value)
{
    char line[64], *end;
    if (!facts_line_of(path, line, sizeof line) || line[0] < '0' || line[0] > '9')
        return false;
    *value = strtoull(line, &end, 10);
    return *end == 0;
}

void facts_number(struct json *out, const char *key, const char *path)
{
    uint64_t value;
    if (facts_number_in(path, &value))
        json_u64(out, key, value);
}

void facts_list(struct json *out, const char *key, const char *path, char separator)
{
    char line[256], list[256];
    size_t used = 0;
    if (!facts_line_of(path, line, sizeof line))
        return;
    for (char *rest, *word = strtok_r(line, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest)) {
        if (used > 0)
            list[used++] = separator;
        size_t length = strlen(word);
        memcpy(list + used, word, length);
        used += length;
    }
    json_text_of(out, key, list, used);
}
