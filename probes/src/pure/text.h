/* Escapes any bytes as text of JSON, cuts text, quotes words, and looks for a word in a list. */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define TEXT_ESCAPED_MAX 6 /* maximum length in bytes of a character escaped for a JSON string */

/* Writes the first character of `bytes`, escaped for a JSON string. `size` is at least 1. A byte that
 * is not UTF-8 becomes U+FFFD. `*length` becomes the number of bytes written. Returns how many of
 * `bytes` the character takes. */
size_t text_escape(const unsigned char *bytes, size_t size, char into[TEXT_ESCAPED_MAX],
                   size_t *length);

/* Returns how many of the bytes fit into a JSON string with at most `most_escaped` bytes between
 * its quotes. No character is cut. An incomplete character at the end is counted only if the text
 * has `ended`, because otherwise the rest of the character may follow. */
size_t text_cut(const unsigned char *bytes, size_t size, size_t most_escaped, bool ended);

/* Writes a word of a command line of Windows, quoted if needed: a program there gets all words in one
 * line and splits the line itself. Returns the length without the NUL. `into` must have room for twice
 * the length of the word and three bytes more, for two quotes and the NUL. */
size_t text_quote(const char *word, char *into);

/* Looks for a word in a list whose words are separated by commas. */
static inline bool comma_list_has(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == 0))
            return true;
    return false;
}

#endif
