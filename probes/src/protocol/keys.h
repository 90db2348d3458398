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

/* Keeps an error if it is the first one; a NULL word is no error. */
void keys_note(struct keys *keys, const char *word, const char *key, const char *detail);
bool keys_given(const struct keys *keys, const char *key);

struct key_range {
    const char *key;
    uint64_t least, most, otherwise;
};
/* Each reads the value of a key, or its default. keys_number: a whole number. keys_seconds: decimal
 * seconds as ns; the range is in ns too. keys_flag: 0 or 1, with the default 0. */
uint64_t keys_number(struct keys *keys, struct key_range range);
uint64_t keys_seconds(struct keys *keys, struct key_range range);
bool keys_flag(struct keys *keys, const char *key);

#endif
