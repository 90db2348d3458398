/* Fuzzes the request parser with any line, and every typed reader with the line's values. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/error.h"
#include "protocol/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool condition)
{
    if (!condition)
        abort();
}

/* Calls every typed reader on every key. A reader that fails must not change the default. */
static void read_all(const struct request *request)
{
    static const char *const words[] = {"tcp", "udp"}, *const allowed[] = {"message", "to"};
    const char *unknown = NULL;
    for (unsigned i = 0; i < request->pairs; i++) {
        const char *key = request->pair[i].key;
        uint64_t number = 7, numerator = 7, denominator = 7;
        unsigned choice = 7, first = 7, last = 7;
        unsigned char hex[16];
        char text[32];
        bool flag = false;
        demand(request_value(request, key) == request->pair[i].value);
        demand(request->pair[i].value[request->pair[i].value_length] == 0);
        if (request_u64(request, key, 5, 50000, &number) == NULL)
            demand(number >= 5 && number <= 50000);
        if (request_seconds_ns(request, key, 1, 1000, &number) == NULL)
            demand(number >= 1 && number <= 1000);
        if (request_decimal(request, key, &numerator, &denominator) == NULL)
            demand(numerator > 0 && denominator > 0 && denominator <= 1000000000);
        else
            demand(numerator == 7 && denominator == 7);
        request_flag(request, key, &flag);
        request_hex(request, key, hex, sizeof hex);
        if (request_choice(request, key, words, 2, &choice) == NULL)
            demand(choice < 2);
        if (request_text(request, key, text, sizeof text) == NULL)
            demand(strlen(text) == request->pair[i].value_length);
        if (request_ports(request, key, &first, &last) == NULL)
            demand(first <= last && last <= 65535);
    }
    if (request_only(request, allowed, 2, &unknown) != NULL)
        demand(unknown != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct request request;
    struct request_fault fault;
    char *line = malloc(size + 1); /* exactly the size that request_parse requires */
    demand(line != NULL);
    if (size > 0)
        memcpy(line, data, size);
    const char *word = request_parse(line, size, &request, &fault);
    demand(word == fault.word && (word == NULL || error_word_known(word)));
    demand(strlen(request.id) >= 1 && strlen(request.id) <= REQUEST_ID_MAX);
    if (word == NULL)
        read_all(&request);
    free(line);
    return 0;
}
