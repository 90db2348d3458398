/* Reads keys of a request by their type, range and default, and keeps the first error. */
#ifndef KEYS_H
#define KEYS_H

#include "protocol/error.h"
#include "protocol/request.h"

struct keys {
    const struct request *request;
    bool by_hand;
    struct error first; /* word NULL: no error so far */
};

/* Keeps an error if it is the first error of this request. A NULL `word` means no error. */
void keys_note(struct keys *keys, const char *word, const char *key, const char *detail);
bool keys_given(const struct keys *keys, const char *key);

struct key_range {
    const char *key;
    uint64_t least, most, otherwise;
};
/* These functions return the value of a key. If the key is absent or its value is not valid, they
 * return the default (`otherwise`); a value that is not valid is also kept as an error. keys_number
 * reads a whole number. keys_seconds reads decimal seconds and returns ns; the range is also in ns.
 * keys_flag reads 0 or 1; the default is 0. */
uint64_t keys_number(struct keys *keys, struct key_range range);
uint64_t keys_seconds(struct keys *keys, struct key_range range);
bool keys_flag(struct keys *keys, const char *key);

#endif
