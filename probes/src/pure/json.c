/* Writes the values of a record (a JSON object on one line), each completely or not at all. */
#include "pure/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pure/text.h"

#define END_BYTES 2 /* "}\n" always fits */

static bool put(struct json *json, const char *bytes, size_t length)
{
    if (length > sizeof json->line - END_BYTES - json->length)
        return false;
    memcpy(json->line + json->length, bytes, length);
    json->length += length;
    return true;
}

static bool put_text(struct json *json, const char *text)
{
    return put(json, text, strlen(text));
}

static bool put_quoted(struct json *json, const unsigned char *bytes, size_t length)
{
    bool fits = put(json, "\"", 1);
    for (size_t i = 0; fits && i < length;) {
        char escaped[TEXT_ESCAPED_MAX];
        size_t escaped_length;
        i += text_escape(bytes + i, length - i, escaped, &escaped_length);
        fits = put(json, escaped, escaped_length);
    }
    return fits && put(json, "\"", 1);
}

static bool put_key(struct json *json, const char *key)
{
    return put(json, ",", 1) && put_quoted(json, (const unsigned char *)key, strlen(key)) &&
           put(json, ":", 1);
}

/* Removes a key whose value did not fit; `began` is the length of the line before the key. */
static void settle(struct json *json, size_t began, bool fits)
{
    if (fits)
        return;
    json->length = began;
    json->left_out++;
}

static void put_number(struct json *json, const char *key, const char *digits)
{
    size_t began = json->length;
    settle(json, began, put_key(json, key) && put_text(json, digits));
}

void json_begin(struct json *json, const char *type, const char *id)
{
    json->length = 0;
    json->left_out = 0;
    put_text(json, "{\"type\":");
    put_quoted(json, (const unsigned char *)type, strlen(type));
    json_text(json, "id", id);
}

void json_text_of(struct json *json, const char *key, const void *bytes, size_t length)
{
    size_t began = json->length;
    settle(json, began, put_key(json, key) && put_quoted(json, bytes, length));
}

void json_text(struct json *json, const char *key, const char *text)
{
    if (text != NULL)
        json_text_of(json, key, text, strlen(text));
}

void json_u64(struct json *json, const char *key, uint64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    put_number(json, key, digits);
}

void json_i64(struct json *json, const char *key, int64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)value);
    put_number(json, key, digits);
}

void json_double(struct json *json, const char *key, double value)
{
    char digits[40];
    if (!isfinite(value)) {
        json->left_out++;
        return;
    }
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) >= value && strtod(digits, NULL) <= value)
            break;
    }
    put_number(json, key, digits);
}

void json_flag(struct json *json, const char *key, bool value)
{
    if (value)
        put_number(json, key, "1");
}

void json_u64s(struct json *json, const char *key, const uint64_t *values, size_t count)
{
    size_t began = json->length;
    bool fits = put_key(json, key) && put(json, "[", 1);
    for (size_t i = 0; fits && i < count; i++) {
        char digits[24];
        snprintf(digits, sizeof digits, "%s%llu", i > 0 ? "," : "", (unsigned long long)values[i]);
        fits = put_text(json, digits);
    }
    settle(json, began, fits && put(json, "]", 1));
}

const char *json_end(struct json *json)
{
    memcpy(json->line + json->length, "}\n", END_BYTES);
    json->length += END_BYTES;
    if (json->length < sizeof json->line)
        json->line[json->length] = 0;
    return json->line;
}
