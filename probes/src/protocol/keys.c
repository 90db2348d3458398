/* Reads a key of a request, with its range and its default. */
#include "protocol/keys.h"

#include <stdio.h>

void keys_note(struct keys *keys, const char *word, const char *key, const char *detail)
{
    if (word != NULL && keys->first.word == NULL)
        keys->first = error_about(word, key, detail);
}

bool keys_given(const struct keys *keys, const char *key)
{
    return request_value(keys->request, key) != NULL;
}

uint64_t keys_number(struct keys *keys, struct key_range range)
{
    char detail[80];
    uint64_t value = range.otherwise;
    const char *word = request_u64(keys->request, range.key, range.least, range.most, &value);
    snprintf(detail, sizeof detail, "a whole number from %llu to %llu",
             (unsigned long long)range.least, (unsigned long long)range.most);
    keys_note(keys, word, range.key, detail);
    return value;
}

uint64_t keys_seconds(struct keys *keys, struct key_range range)
{
    char detail[100];
    uint64_t value = range.otherwise;
    const char *word =
        request_seconds_ns(keys->request, range.key, range.least, range.most, &value);
    snprintf(detail, sizeof detail, "decimal seconds from %.10g to %.10g, at most nine decimals",
             (double)range.least / 1e9, (double)range.most / 1e9);
    keys_note(keys, word, range.key, detail);
    return value;
}

bool keys_flag(struct keys *keys, const char *key)
{
    bool value = false;
    keys_note(keys, request_flag(keys->request, key, &value), key, "0 or 1");
    return value;
}
