/* Parses request lines, `ID VERB key=value …`, and reads values with types and ranges. A line may
 * contain any bytes. Errors are words of docs/protocol.md; NULL means no error. */
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
    const char *value;   /* %XX is decoded; a NUL follows the value */
    size_t value_length; /* needed because %00 puts a NUL inside the value */
};

struct request {
    char id[REQUEST_ID_MAX + 1]; /* "-" if the line has no usable id */
    const char *verb;            /* "" for an empty line, which is a heartbeat */
    unsigned pairs;
    struct request_pair pair[REQUEST_PAIRS_MAX];
};

/* Parses `length` bytes of a line without its line feed (a carriage return at the end is removed).
 * line[length] must be writable: it becomes NUL. `out` points into `line` afterwards. Returns NULL,
 * or the error word. If there is an error, out->id is the line's id if it could be read, and
 * fault->key is the faulty key, cut to REQUEST_KEY_MAX bytes ("" if no key is at fault).
 * fault->detail is a constant sentence for people, never NULL. Words: bad-request, line-too-long,
 * unknown-key (a key that is too long), bad-value (a key given twice, or a value with a control
 * character or a wrong %XX). */
struct request_fault {
    const char *word;
    char key[REQUEST_KEY_MAX + 1];
    const char *detail;
};
const char *request_parse(char *line, size_t length, struct request *out,
                          struct request_fault *fault);

/* Does the same for the words of a command line: words[0] is the verb, and the other words are
 * key=value, which are decoded in place. A value may have spaces here, because the shell has split
 * the words already. */
const char *request_from_words(const char *id, unsigned count, char **words, struct request *out,
                               struct request_fault *fault);

/* Returns NULL if all keys are allowed. Otherwise returns "unknown-key", and *unknown becomes the
 * first key that is not allowed. */
const char *request_only(const struct request *request, const char *const *allowed,
                         size_t allowed_count, const char **unknown);

/* Returns the decoded value, or NULL if the key is absent. */
const char *request_value(const struct request *request, const char *key);

/* The functions below read values of different types. For an absent key they return NULL and do not
 * change `out`, so that the caller can put the default there. For a value of another type or
 * outside [least, most] they return "bad-value" and do not change `out` either. */

/* Reads a whole number: only decimal digits, no sign. */
const char *request_u64(const struct request *request, const char *key, uint64_t least,
                        uint64_t most, uint64_t *out);
/* Reads decimal seconds such as 10, 0.25 or .5, with at most nine decimal places, as nanoseconds
 * (without rounding). */
const char *request_seconds_ns(const struct request *request, const char *key, uint64_t least_ns,
                               uint64_t most_ns, uint64_t *out);
/* Reads a decimal number above 0 as a fraction in lowest terms. The number may have at most 18
 * digits, at most nine of them after the point. So the numerator is below 10^18, and the
 * denominator is at most 10^9. */
const char *request_decimal(const struct request *request, const char *key, uint64_t *numerator,
                            uint64_t *denominator);
/* Reads 0 or 1. */
const char *request_flag(const struct request *request, const char *key, bool *out);
/* Reads exactly 2 x length hex digits, upper or lower case. */
const char *request_hex(const struct request *request, const char *key, unsigned char *out,
                        size_t length);
/* Reads one of the `words`; *out becomes the index of this word. */
const char *request_choice(const struct request *request, const char *key,
                           const char *const *words, unsigned count, unsigned *out);
/* Reads 1 to capacity - 1 bytes without NUL, and copies them with a NUL after them. */
const char *request_text(const struct request *request, const char *key, char *into,
                         size_t capacity);
/* Reads a port or a range: `5001`, `5001-5100` (first <= last), or `0` (the system chooses a port;
 * *first and *last become 0). */
const char *request_ports(const struct request *request, const char *key, unsigned *first,
                          unsigned *last);

#endif
