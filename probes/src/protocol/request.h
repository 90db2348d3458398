/* Parses request lines, `ID VERB key=value …`, and reads values with types and ranges. Safe on
 * any bytes. Errors are words of docs/protocol.md; NULL means no error. */
#ifndef REQUEST_H
#define REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUEST_LINE_MAX 8192 /* bytes with the line feed */
#define REQUEST_ID_MAX 32
#define REQUEST_KEY_MAX 31
#define REQUEST_PAIRS_MAX 64

struct request_pair {
    const char *key;
    const char *value;   /* decoded, with a NUL after it */
    size_t value_length; /* %00 puts a NUL inside */
};

struct request {
    char id[REQUEST_ID_MAX + 1]; /* "-" if the line has no usable one */
    const char *verb;            /* "" for an empty line, which is a heartbeat */
    unsigned pairs;
    struct request_pair pair[REQUEST_PAIRS_MAX];
};

/* Parses `length` bytes of a line without its line feed (a carriage return at the end is removed).
 * line[length] must be writable: it becomes NUL. `out` points into `line` afterwards.
 * Returns NULL, or the error word; then out->id is the line's id if it could be read, and `key` the
 * faulty key ("" if there is none; truncated to its size). `detail` is a constant sentence for people,
 * never NULL. Words: bad-request, line-too-long, bad-value (a duplicate key). */
struct request_fault {
    const char *word;
    char key[REQUEST_KEY_MAX + 1];
    const char *detail;
};
const char *request_parse(char *line, size_t length, struct request *out,
                          struct request_fault *fault);

/* As request_parse, from the words of a command line: words[0] is the verb, the others are
 * key=value, decoded in place. A value may have spaces here, because the shell has split the words
 * already. */
const char *request_from_words(const char *id, unsigned count, char **words, struct request *out,
                               struct request_fault *fault);

/* NULL if all keys are allowed, otherwise "unknown-key" and the key. */
const char *request_only(const struct request *request, const char *const *allowed,
                         size_t allowed_count, const char **unknown);

/* The decoded value; NULL if the key is absent. */
const char *request_value(const struct request *request, const char *key);

/* Typed values. For an absent key they return NULL and do not change `out` (the default). For a value
 * of another type or outside [least, most] they return "bad-value" and do not change `out` either. */

/* Decimal digits only, no sign. */
const char *request_u64(const struct request *request, const char *key, uint64_t least,
                        uint64_t most, uint64_t *out);
/* Decimal seconds such as 10, 0.25 or .5, at most nine decimals, to nanoseconds without rounding. */
const char *request_seconds_ns(const struct request *request, const char *key, uint64_t least_ns,
                               uint64_t most_ns, uint64_t *out);
/* A decimal above 0 as a fraction in lowest terms; at most 18 digits, nine of them decimals:
 * numerator below 10^18, denominator at most 10^9. */
const char *request_decimal(const struct request *request, const char *key, uint64_t *numerator,
                            uint64_t *denominator);
/* 0 or 1. */
const char *request_flag(const struct request *request, const char *key, bool *out);
/* Exactly 2 x length hex digits, either case. */
const char *request_hex(const struct request *request, const char *key, unsigned char *out,
                        size_t length);
/* One of the words; *out becomes its index. */
const char *request_choice(const struct request *request, const char *key,
                           const char *const *words, unsigned count, unsigned *out);
/* 1 to capacity - 1 bytes without NUL, copied with a NUL after them. */
const char *request_text(const struct request *request, const char *key, char *into,
                         size_t capacity);
/* `5001`, `5001-5100` (first <= last), or `0` (the system's choice: both become 0). */
const char *request_ports(const struct request *request, const char *key, unsigned *first,
                          unsigned *last);

#endif
