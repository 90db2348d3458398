/* The closed list of error words, as in docs/protocol.md; a test compares the two. Every `word` in
 * this program points to one of these strings or to an equal literal. */
#ifndef WORDS_H
#define WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

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
