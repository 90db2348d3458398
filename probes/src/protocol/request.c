/* Parses requests in place, and reads their values. */
#include "protocol/request.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f;
}

static bool id_byte(char c)
{
    return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' ||
           c == '_' || c == '-';
}

static bool key_byte(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || c == '_';
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static const char *refuse(struct request_fault *fault, const char *word, const char *key,
                          size_t key_length, const char *detail)
{
    if (key_length >= sizeof fault->key)
        key_length = sizeof fault->key - 1;
    memcpy(fault->key, key, key_length);
    fault->key[key_length] = 0;
    fault->word = word;
    fault->detail = detail;
    return word;
}

/* Decodes %XX in place. Returns false if a percent sign is not followed by two hex digits. */
static bool decode(char *text, size_t *length)
{
    size_t put = 0;
    for (size_t i = 0; i < *length; i++) {
        if (text[i] != '%') {
            text[put++] = text[i];
            continue;
        }
        if (*length - i < 3 || hex_digit(text[i + 1]) < 0 || hex_digit(text[i + 2]) < 0)
            return false;
        text[put++] = (char)(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
        i += 2;
    }
    text[put] = 0; /* never beyond the end of the word, because decoding only shortens it */
    *length = put;
    return true;
}

static const struct request_pair *find_pair(const struct request *request, const char *key)
{
    for (unsigned i = 0; i < request->pairs; i++)
        if (strcmp(request->pair[i].key, key) == 0)
            return &request->pair[i];
    return NULL;
}

/* Reads one word key=value, which has a NUL behind it. */
static const char *take_pair(char *word, size_t length, struct request *out,
                             struct request_fault *fault)
{
    size_t key_length = 0;
    while (key_length < length && key_byte(word[key_length]))
        key_length++;
    if (key_length == 0 || key_length == length || word[key_length] != '=')
        return refuse(fault, "bad-request", word, key_length,
                      "a word after the verb is not key=value with a key of a-z 0-9 _");
    if (key_length > REQUEST_KEY_MAX)
        return refuse(fault, "unknown-key", word, key_length, "no key is that long");
    char *value = word + key_length + 1;
    size_t value_length = length - key_length - 1;
    for (size_t i = 0; i < value_length; i++)
        if (is_control(value[i]))
            return refuse(fault, "bad-value", word, key_length,
                          "a control character must be written as %XX");
    if (!decode(value, &value_length))
        return refuse(fault, "bad-value", word, key_length,
                      "a percent sign is followed by two hex digits");
    word[key_length] = 0;
    if (find_pair(out, word) != NULL)
        return refuse(fault, "bad-value", word, key_length, "the key is given twice");
    if (out->pairs == REQUEST_PAIRS_MAX)
        return refuse(fault, "bad-request", "", 0, "more than 64 keys");
    out->pair[out->pairs++] = (struct request_pair){word, value, value_length};
    return NULL;
}

static bool verb_fine(const char *verb, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!key_byte(verb[i]))
            return false;
    return length > 0;
}

/* Splits off the next word, which ends at a space, and replaces the space by a NUL. Returns the
 * length of the word. */
static size_t cut_word(char **at, char *end, char **word)
{
    *word = *at;
    char *space = memchr(*at, ' ', (size_t)(end - *at));
    size_t length = (size_t)((space != NULL ? space : end) - *at);
    (*word)[length] = 0;
    *at = space != NULL ? space + 1 : NULL;
    return length;
}

static const char *take_id(const char *word, size_t length, struct request *out,
                           struct request_fault *fault)
{
    bool fine = length > 0 && length <= REQUEST_ID_MAX;
    for (size_t i = 0; fine && i < length; i++)
        fine = id_byte(word[i]);
    if (!fine)
        return refuse(fault, "bad-request", "", 0,
                      "an id is 1 to 32 of A-Z a-z 0-9 . _ - at the start of the line");
    memcpy(out->id, word, length + 1);
    return NULL;
}

static void clear(struct request *out, struct request_fault *fault)
{
    memset(out, 0, sizeof *out);
    strcpy(out->id, "-");
    out->verb = "";
    fault->word = NULL;
    fault->key[0] = 0;
    fault->detail = "";
}

const char *request_parse(char *line, size_t length, struct request *out,
                          struct request_fault *fault)
{
    clear(out, fault);
    if (length > 0 && line[length - 1] == '\r')
        length--;
    if (length > REQUEST_LINE_MAX - 1)
        return refuse(fault, "line-too-long", "", 0, "a line has at most 8192 bytes");
    if (length == 0)
        return NULL;
    char *at = line, *end = line + length, *word;
    size_t word_length = cut_word(&at, end, &word);
    if (take_id(word, word_length, out, fault) != NULL)
        return fault->word;
    if (at == NULL)
        return refuse(fault, "bad-request", "", 0, "no verb after the id");
    word_length = cut_word(&at, end, &word);
    if (!verb_fine(word, word_length))
        return refuse(fault, "bad-request", "", 0, "a verb is a word of a-z 0-9 _");
    out->verb = word;
    while (at != NULL) {
        word_length = cut_word(&at, end, &word);
        if (take_pair(word, word_length, out, fault) != NULL)
            return fault->word;
    }
    return NULL;
}

const char *request_from_words(const char *id, unsigned count, char **words, struct request *out,
                               struct request_fault *fault)
{
    clear(out, fault);
    if (take_id(id, strlen(id), out, fault) != NULL)
        return fault->word;
    if (count == 0 || !verb_fine(words[0], strlen(words[0])))
        return refuse(fault, "bad-request", "", 0, "a verb is a word of a-z 0-9 _");
    out->verb = words[0];
    for (unsigned i = 1; i < count; i++)
        if (take_pair(words[i], strlen(words[i]), out, fault) != NULL)
            return fault->word;
    return NULL;
}

const char *request_only(const struct request *request, const char *const *allowed,
                         size_t allowed_count, const char **unknown)
{
    for (unsigned i = 0; i < request->pairs; i++) {
        bool is_known = false;
        for (size_t k = 0; !is_known && k < allowed_count; k++)
            is_known = strcmp(request->pair[i].key, allowed[k]) == 0;
        if (!is_known) {
            *unknown = request->pair[i].key;
            return "unknown-key";
        }
    }
    return NULL;
}

const char *request_value(const struct request *request, const char *key)
{
    const struct request_pair *pair = find_pair(request, key);
    return pair != NULL ? pair->value : NULL;
}

/* ---- types ---- */

/* Reads digits starting at *at as a number. Returns false if there are no digits, or the number is
 * above `most`. */
static bool digits(const char **at, const char *end, uint64_t most, uint64_t *out)
{
    const char *began = *at;
    uint64_t value = *out = 0;
    for (; *at < end && is_digit(**at); (*at)++) {
        uint64_t digit = (uint64_t)(**at - '0');
        if (value > (most - digit) / 10 || digit > most)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return *at > began;
}

const char *request_u64(const struct request *request, const char *key, uint64_t least,
                        uint64_t most, uint64_t *out)
{
    const struct request_pair *pair = find_pair(request, key);
    uint64_t value;
    if (pair == NULL)
        return NULL;
    const char *at = pair->value, *end = at + pair->value_length;
    if (!digits(&at, end, most, &value) || at != end || value < least)
        return "bad-value";
    *out = value;
    return NULL;
}

/* Reads a decimal number such as 0.25: *whole becomes the part before the point (at most
 * `most_whole`), and *billionths becomes the part after the point (at most nine digits) in
 * billionths. Returns false if the value has another form. */
static bool decimal(const struct request_pair *pair, uint64_t most_whole, uint64_t *whole,
                    uint64_t *billionths)
{
    const char *at = pair->value, *end = at + pair->value_length;
    bool any = digits(&at, end, most_whole, whole);
    if (!any && (*whole > 0 || at == end || *at != '.'))
        return false;
    *billionths = 0;
    if (at < end && *at == '.') {
        uint64_t place = 100000000;
        for (at++; at < end && is_digit(*at); at++, place /= 10) {
            if (place == 0)
                return false;
            *billionths += (uint64_t)(*at - '0') * place;
            any = true;
        }
    }
    return any && at == end;
}

const char *request_seconds_ns(const struct request *request, const char *key, uint64_t least_ns,
                               uint64_t most_ns, uint64_t *out)
{
    const struct request_pair *pair = find_pair(request, key);
    uint64_t seconds, billionths;
    if (pair == NULL)
        return NULL;
    if (!decimal(pair, UINT64_C(18000000000), &seconds, &billionths))
        return "bad-value";
    uint64_t ns = seconds * UINT64_C(1000000000) + billionths;
    if (ns < least_ns || ns > most_ns)
        return "bad-value";
    *out = ns;
    return NULL;
}

const char *request_decimal(const struct request *request, const char *key, uint64_t *numerator,
                            uint64_t *denominator)
{
    const struct request_pair *pair = find_pair(request, key);
    uint64_t whole, billionths, denominator_now = 1000000000;
    if (pair == NULL)
        return NULL;
    if (!decimal(pair, UINT64_C(999999999999999), &whole, &billionths))
        return "bad-value";
    while (denominator_now > 1 && billionths % 10 == 0) {
        billionths /= 10;
        denominator_now /= 10;
    }
    if (whole > UINT64_C(999999999999999999) / denominator_now)
        return "bad-value";
    uint64_t value = whole * denominator_now + billionths;
    if (value == 0)
        return "bad-value";
    for (uint64_t prime = 2; prime <= 5; prime += 3) /* 2 and 5: the primes of a power of ten */
        while (value % prime == 0 && denominator_now % prime == 0) {
            value /= prime;
            denominator_now /= prime;
        }
    *numerator = value;
    *denominator = denominator_now;
    return NULL;
}

const char *request_flag(const struct request *request, const char *key, bool *out)
{
    uint64_t value = *out;
    const char *word = request_u64(request, key, 0, 1, &value);
    *out = value != 0;
    return word;
}

const char *request_hex(const struct request *request, const char *key, unsigned char *out,
                        size_t length)
{
    const struct request_pair *pair = find_pair(request, key);
    if (pair == NULL)
        return NULL;
    if (pair->value_length != 2 * length)
        return "bad-value";
    for (size_t i = 0; i < 2 * length; i++)
        if (hex_digit(pair->value[i]) < 0)
            return "bad-value";
    for (size_t i = 0; i < length; i++)
        out[i] = (unsigned char)(hex_digit(pair->value[2 * i]) * 16 +
                                 hex_digit(pair->value[2 * i + 1]));
    return NULL;
}

const char *request_choice(const struct request *request, const char *key,
                           const char *const *words, unsigned count, unsigned *out)
{
    const struct request_pair *pair = find_pair(request, key);
    if (pair == NULL)
        return NULL;
    for (unsigned i = 0; i < count; i++)
        if (strlen(words[i]) == pair->value_length &&
            memcmp(words[i], pair->value, pair->value_length) == 0) {
            *out = i;
            return NULL;
        }
    return "bad-value";
}

const char *request_text(const struct request *request, const char *key, char *into,
                         size_t capacity)
{
    const struct request_pair *pair = find_pair(request, key);
    if (pair == NULL)
        return NULL;
    if (pair->value_length == 0 || pair->value_length >= capacity ||
        memchr(pair->value, 0, pair->value_length) != NULL)
        return "bad-value";
    memcpy(into, pair->value, pair->value_length + 1);
    return NULL;
}

const char *request_ports(const struct request *request, const char *key, unsigned *first,
                          unsigned *last)
{
    const struct request_pair *pair = find_pair(request, key);
    uint64_t from, to;
    if (pair == NULL)
        return NULL;
    const char *at = pair->value, *end = at + pair->value_length;
    if (!digits(&at, end, 65535, &from))
        return "bad-value";
    to = from;
    if (at < end && *at == '-') {
        at++;
        if (from == 0 || !digits(&at, end, 65535, &to) || to < from)
            return "bad-value";
    }
    if (at != end)
        return "bad-value";
    *first = (unsigned)from;
    *last = (unsigned)to;
    return NULL;
}
