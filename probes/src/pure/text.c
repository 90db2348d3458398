/* Escapes, cuts and quotes text. */
#include "pure/text.h"

#include <stdio.h>
#include <string.h>

/* Length of the well-formed UTF-8 sequence at the start of `bytes` (Unicode, table 3-7); 0: `bytes`
 * does not begin with such a sequence. `*unfinished` becomes true if the bytes are well-formed but
 * end before the sequence is complete. */
static size_t sequence_length(const unsigned char *bytes, size_t size, bool *unfinished)
{
    unsigned char lead = bytes[0], low = 0x80, high = 0xbf;
    size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    *unfinished = false;
    if (lead > 0xf4 || length == 0)
        return 0;
    if (lead == 0xe0)
        low = 0xa0; /* overlong */
    else if (lead == 0xed)
        high = 0x9f; /* surrogates */
    else if (lead == 0xf0)
        low = 0x90; /* overlong */
    else if (lead == 0xf4)
        high = 0x8f; /* beyond U+10FFFF */
    for (size_t i = 1; i < length; i++) {
        *unfinished = i == size;
        if (*unfinished || bytes[i] < low || bytes[i] > high)
            return 0;
        low = 0x80;
        high = 0xbf;
    }
    return length;
}

size_t text_escape(const unsigned char *bytes, size_t size, char into[TEXT_ESCAPED_MAX],
                   size_t *length)
{
    bool unfinished;
    const size_t whole = sequence_length(bytes, size, &unfinished);
    if (whole == 0) {
        *length = 3;
        memcpy(into, "\xef\xbf\xbd", 3); /* U+FFFD */
        return 1;
    }
    if (bytes[0] == '"' || bytes[0] == '\\') {
        *length = 2;
        into[0] = '\\';
        into[1] = (char)bytes[0];
    } else if (bytes[0] < 0x20 || bytes[0] == 0x7f) {
        char escape[TEXT_ESCAPED_MAX + 1];
        snprintf(escape, sizeof escape, "\\u%04x", bytes[0]);
        *length = 6;
        memcpy(into, escape, 6);
    } else {
        *length = whole;
        memcpy(into, bytes, whole);
    }
    return whole;
}

size_t text_cut(const unsigned char *bytes, size_t size, size_t most_escaped, bool ended)
{
    size_t at = 0, escaped = 0;
    while (at < size) {
        char into[TEXT_ESCAPED_MAX];
        size_t length;
        bool unfinished;
        sequence_length(bytes + at, size - at, &unfinished);
        if (unfinished && !ended)
            break;
        const size_t taken = text_escape(bytes + at, size - at, into, &length);
        escaped += length;
        if (escaped > most_escaped)
            break;
        at += taken;
    }
    return at;
}

/* The C runtime of Windows splits the command line into words again. Backslashes stand for
 * themselves, unless a quote follows them: then two backslashes stand for one backslash, and a
 * single remaining backslash makes the quote a part of the word. */
size_t text_quote(const char *word, char *into)
{
    const bool quoted = word[0] == 0 || strpbrk(word, " \t\n\v\"") != NULL;
    size_t used = 0, backslashes = 0;
    if (quoted)
        into[used++] = '"';
    for (const char *at = word; *at != 0; at++) {
        if (*at == '"') {
            memset(into + used, '\\', backslashes + 1);
            used += backslashes + 1;
        }
        backslashes = *at == '\\' ? backslashes + 1 : 0;
        into[used++] = *at;
    }
    if (quoted) {
        memset(into + used, '\\', backslashes);
        used += backslashes;
        into[used++] = '"';
    }
    into[used] = 0;
    return used;
}
