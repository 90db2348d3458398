/* An error of a request, or the error that ended a test. */
#ifndef ERROR_H
#define ERROR_H

#include <stdio.h>

/* An error word of docs/protocol.md, the faulty key of the request, and a sentence for people. */
struct error {
    const char *word; /* NULL: no error */
    char key[32];
    char detail[400];
    int number; /* the system's error number; 0 if there is none */
};

static inline struct error error_about(const char *word, const char *key, const char *detail)
{
    struct error error = {.word = word};
    snprintf(error.key, sizeof error.key, "%s", key);
    snprintf(error.detail, sizeof error.detail, "%s", detail);
    return error;
}

#endif
