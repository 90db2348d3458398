/* Reads the keys of a request that runs a program. */
#include "protocol/program_settings.h"

#include <string.h>

#include "protocol/keys.h"
#include "pure/nanoseconds.h"

const char *const program_settings_keys[] = {"program", "arguments", "deadline", NULL};

static void demand_key(struct keys *keys, const char *key, const char *detail)
{
    if (!keys_given(keys, key))
        keys_note(keys, "missing-key", key, detail);
}

/* Whether the key `arguments` is given with a value that is not empty. A value of one NUL byte is
 * not empty; it is refused later. */
static bool has_arguments(const struct request *request)
{
    for (unsigned i = 0; i < request->pairs; i++)
        if (strcmp(request->pair[i].key, "arguments") == 0)
            return request->pair[i].value_length > 0;
    return false;
}

/* Splits the arguments at line feeds. Returns false if there are too many. */
static bool split_arguments(struct program_settings *out)
{
    unsigned count = 0;
    out->words[count++] = out->name;
    for (char *at = out->arguments; at != NULL;) {
        if (count > PROGRAM_WORDS_MAX)
            return false;
        out->words[count++] = at;
        at = strchr(at, '\n');
        if (at != NULL)
            *at++ = 0;
    }
    return true;
}

struct error program_settings_read(const struct request *request, struct program_settings *out)
{
    struct keys keys = {.request = request};
    memset(out, 0, sizeof *out);
    memcpy(out->id, request->id, sizeof out->id);
    demand_key(&keys, "program", "which program to run");
    keys_note(&keys, request_text(request, "program", out->name, sizeof out->name), "program",
              "a name or an absolute path of 1 to 255 bytes");
    demand_key(&keys, "deadline", "seconds after which the program is ended");
    out->deadline_ns = keys_seconds(
        &keys, (struct key_range){"deadline", SECOND_NS / 10, 86400 * SECOND_NS, SECOND_NS});
    out->words[0] = out->name;
    if (!has_arguments(request))
        return keys.first;
    keys_note(&keys, request_text(request, "arguments", out->arguments, sizeof out->arguments),
              "arguments", "at most 6000 bytes, and no NUL");
    if (!split_arguments(out))
        keys_note(&keys, "bad-value", "arguments", "at most 64 words, separated by line feeds");
    return keys.first;
}

void program_settings_set(struct program_settings *out, char *const *words, uint64_t deadline_ns)
{
    char *next = out->arguments;
    memcpy(out->name, words[0], strlen(words[0]) + 1);
    out->words[0] = out->name;
    for (unsigned i = 1; words[i] != NULL; i++) {
        out->words[i] = memcpy(next, words[i], strlen(words[i]) + 1);
        next += strlen(next) + 1;
    }
    out->deadline_ns = deadline_ns;
}
