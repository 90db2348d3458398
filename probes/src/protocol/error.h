/* An error of a request, or the error that ended a test, and the closed list of error words. */
#ifndef ERROR_H
#define ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

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

/* The closed list of error words, as in docs/protocol.md; a test compares the two. Every `word` in
 * this program points to one of these strings or to an equal literal. */
#define ERROR_WORDS(X)                                                                             \
    X("bad-request") X("line-too-long") X("unknown-verb") X("unknown-key") X("missing-key")        \
    X("bad-value") X("id-in-use") X("unknown-test") X("too-many-tests") X("message-too-long")      \
    X("no-buffers") X("capability-missing") X("permission-denied") X("connect-refused")            \
    X("unreachable") X("connect-timeout") X("address-in-use") X("address-not-available")           \
    X("no-such-interface") X("no-peer") X("peer-vanished") X("no-traffic") X("too-few-messages")   \
    X("deadline") X("no-answer") X("stopped") X("cannot-pin") X("out-of-memory") X("system")        \
    X("locked") X("program-missing") X("unknown-entry") X("entry-in-use") X("too-many-entries")

#define ERROR_WORD_ENTRY(text) text,
static const char *const error_words[] = {ERROR_WORDS(ERROR_WORD_ENTRY)};
#define ERROR_WORD_COUNT (sizeof error_words / sizeof error_words[0])

/* Whether the word is in the list. */
static inline bool error_word_known(const char *word)
{
    for (size_t i = 0; i < ERROR_WORD_COUNT; i++)
        if (strcmp(word, error_words[i]) == 0)
            return true;
    return false;
}

#endif
