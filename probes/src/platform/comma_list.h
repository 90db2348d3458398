/* Looks for a word in a list whose words are separated by commas. */
#ifndef COMMA_LIST_H
#define COMMA_LIST_H

#include <stdbool.h>
#include <string.h>

static inline bool comma_list_has(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == 0))
            return true;
    return false;
}

#endif
