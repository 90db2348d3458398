/* Escapes any bytes as text of JSON, cuts text, and quotes words of a command line. */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define TEXT_ESCAPED_MAX 6 /* bytes of a character within a JSON string */

/* Writes the first character of `bytes`, of which there is at least one, as it stands within a JSON
 * string; a byte that is not UTF-8 becomes U+FFFD. `length` becomes the number of bytes written.
 * Returns the number of bytes that it stands for. */
size_t text_escape(const unsigned char *bytes, size_t size, char into[TEXT_ESCAPED_MAX],
                   size_t *length);

/* How many of the bytes one JSON string takes that has at most `most_escaped` bytes between its
 * quotes. No character is cut: at the end, the beginning of one is left for later, unless nothing
 * follows because the text has ended. */
size_t text_cut(const unsigned char *bytes, size_t size, size_t most_escaped, bool ended);

/* Writes a word so that a program of Windows, which gets all words in one line, finds it as it is.
 * Returns its length, at most twice that of the word and three more with its NUL. */
size_t text_quote(const char *word, char *into);

#endif
