/* Reads which program a request runs, with the program's arguments and deadline. */
#ifndef PROGRAM_SETTINGS_H
#define PROGRAM_SETTINGS_H

#include "protocol/error.h"
#include "protocol/request.h"

#define PROGRAM_NAME_MAX 255
#define PROGRAM_ARGUMENTS_MAX 6000
#define PROGRAM_WORDS_MAX 64 /* arguments; the name is not counted */

struct program_settings {
    char id[REQUEST_ID_MAX + 1];
    uint64_t deadline_ns; /* counted from the request */
    char name[PROGRAM_NAME_MAX + 1];
    char arguments[PROGRAM_ARGUMENTS_MAX + 1]; /* with a NUL after each word */
    /* The name, the arguments and NULL. The pointers point into this structure, so it must not be
     * moved. */
    char *words[PROGRAM_WORDS_MAX + 2];
};

extern const char *const program_settings_keys[]; /* ended by NULL */

/* Sets the name, the arguments and the deadline. `words` (name first, NULL last) must be within the
 * limits above. */
void program_settings_set(struct program_settings *out, char *const *words, uint64_t deadline_ns);
struct error program_settings_read(const struct request *request, struct program_settings *out);

#endif
