/* Writes one record, a flat JSON object on one line. Nothing that is not valid JSON can leave
 * here: strings are escaped and made valid UTF-8 (a byte that is none becomes U+FFFD), a number
 * that is not finite leaves its key out, and so does a value that no longer fits the line. */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_LINE_MAX 65536 /* bytes of a record with its line feed */

struct json {
    size_t length;     /* bytes in `line`; after json_end with the line feed */
    unsigned left_out; /* keys that did not fit or were not finite */
    char line[JSON_LINE_MAX];
};

/* Starts a record: {"type":…,"id":… . Keys are given by the program: a-z 0-9 _, each once. */
void json_begin(struct json *json, const char *type, const char *id);

/* One key each. NULL as text leaves the key out. */
void json_text(struct json *json, const char *key, const char *text);
void json_text_of(struct json *json, const char *key, const void *bytes, size_t length);
void json_u64(struct json *json, const char *key, uint64_t value);
void json_i64(struct json *json, const char *key, int64_t value);
/* Shortest form that reads back as the same double. */
void json_double(struct json *json, const char *key, double value);
/* 1 where true; nothing where false. */
void json_flag(struct json *json, const char *key, bool value);
/* An array of numbers, empty ones too; all of it or nothing. */
void json_u64s(struct json *json, const char *key, const uint64_t *values, size_t count);

/* Closes the record with its line feed. Always fits. Returns json->line; json->length bytes are to
 * be written (there is a NUL behind them only where length < JSON_LINE_MAX). */
const char *json_end(struct json *json);

#endif
