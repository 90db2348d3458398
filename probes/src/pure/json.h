/* Writes one record, a flat JSON object on one line. The output is always valid JSON: strings are
 * escaped and made valid UTF-8 (an invalid byte becomes U+FFFD). A key is left out if its number is
 * not finite or its value does not fit the line of the record. */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_LINE_MAX 65536 /* bytes of a record with its line feed */

struct json {
    size_t length;     /* bytes in `line`; after json_end with the line feed */
    unsigned left_out; /* keys whose value did not fit or was not finite */
    char line[JSON_LINE_MAX];
};

/* Starts a record: {"type":…,"id":… . Keys are constants that consist of a-z, 0-9 and _; a record
 * has each key only once. */
void json_begin(struct json *json, const char *type, const char *id);

/* Each function writes one key. If the text is NULL, the key is left out. */
void json_text(struct json *json, const char *key, const char *text);
void json_text_of(struct json *json, const char *key, const void *bytes, size_t length);
void json_u64(struct json *json, const char *key, uint64_t value);
void json_i64(struct json *json, const char *key, int64_t value);
/* Writes the shortest form that reads back as the same double. */
void json_double(struct json *json, const char *key, double value);
/* Writes 1 if the value is true; otherwise writes nothing. */
void json_flag(struct json *json, const char *key, bool value);
/* Writes an array of numbers, which may be empty. Leaves out the key if the whole array does not
 * fit. */
void json_u64s(struct json *json, const char *key, const uint64_t *values, size_t count);

/* Closes the record and adds its line feed, for which there is always room. Returns json->line, of
 * which json->length bytes must be written (a NUL follows them only if length < JSON_LINE_MAX). */
const char *json_end(struct json *json);

#endif
