/* Runs a fuzz target without libFuzzer: `fuzz-TARGET RUNS [SEED]`. The inputs are the entries of
 * the corpus below, then RUNS inputs: entries with 0 to 3 changes, or random bytes. They are the
 * same for the same seed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/data_port.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX 9000
#define ENTRIES_MAX 96

static struct {
    uint8_t bytes[512];
    size_t size;
} corpus[ENTRIES_MAX];
static unsigned entries;

static void add(const void *bytes, size_t size)
{
    memcpy(corpus[entries].bytes, bytes, size);
    corpus[entries++].size = size;
}

/* Fills the corpus with valid and nearly valid request lines and data-port messages, so that
 * changed copies of them reach the rare branches of the parsers. */
static void gather(void)
{
    static const char *const lines[] = {
        "", "\r", "1 hello", "a.B_9- heartbeat\r", "7 clock", "1 facts to=fe80::1%25eth0",
        "1 lock owner=a%20b%C3%A4", "2 stop test=1 sent=18446744073709551615", "2 stop test=1 abort=1",
        "1 send kind=stream proto=udp to=[::1]:5001,5002 message=65507 seconds=0.000000001 rate=1e9",
        "1 receive open=listen bind=127.0.0.1 port=5001-5100 token=00112233445566778899aabbccddeeff",
        "1 send rate=333333.333333333 burst=32 streams=64 cpu=0 spin=1 dscp=63 warm_up=.5 count=10",
        "1 receive proto=udp method=packet poll=1 bind=::1 token=00112233445566778899aabbccddeeff",
        "1 ask kind=round_trip proto=udp to=127.0.0.1:5001 token=00112233445566778899aabbccddeeff "
        "message=64 response=16 outstanding=1024 timeout=0.5 keep=1000 message_rate=1000 no_checksum=1",
        "1 ask proto=udp to=127.0.0.1:5001 token=00112233445566778899aabbccddeeff message=64 "
        "outstanding=301 timeout=3 message_rate=100 seconds=43.5 trips=1",
        "1 ask kind=connect to=[::1]:7 peer=echo close=orderly message=1 count=9 nodelay=1",
        "1 mirror proto=udp bind=127.0.0.1 token=00112233445566778899aabbccddeeff message=15 "
        "stamps=1 hold=0.1 response=1",
        "1 mirror kind=connect bind=::1 token=00112233445566778899aabbccddeeff response=16777216",
        "1 send to=127.0.0.1:9 token=00112233445566778899aabbccddeeff proto=udp message=1472",
        "1 send message=1 message=2", "1 send a=%00 b=%zz c=% d=%4", "1 send n=-1 m=+1 k=0x10 =",
    };
    static const unsigned char token[DATAPORT_TOKEN] = "0123456789abcdef";
    unsigned char bytes[64] = {0};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        add(lines[i], strlen(lines[i]));
    dataport_preface_write(bytes, token, 3);
    add(bytes, DATAPORT_PREFACE);
    for (int kind = DATAPORT_HELLO; kind <= DATAPORT_LEAVE; kind++) {
        dataport_control_write(bytes, (enum dataport_kind)kind, 2, token, 99);
        add(bytes, DATAPORT_CONTROL);
    }
    memset(bytes, 0, sizeof bytes);
    for (size_t size = 15; size <= 64; size += size < 25 ? 1 : 39) {
        for (int kind = DATAPORT_DATA; kind <= DATAPORT_RESPONSE; kind++) {
            dataport_message_write(bytes, size, (enum dataport_kind)kind, dataport_tag(token), 1,
                                   size * 100000, size);
            add(bytes, size);
        }
    }
}

static uint64_t state;

static uint64_t draw(uint64_t below) /* xorshift64*, Vigna 2016 */
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (state * UINT64_C(2685821657736338717) >> 16) % below;
}

/* Makes one change: replaces a byte, flips a bit, inserts the start of a corpus entry, removes a
 * piece, or cuts off the end. Returns the new size. */
static size_t change(uint8_t *input, size_t size)
{
    static const uint8_t corners[] = {0, 1, ' ', '=', '%', '.', '-', '0', '9', 0x7f, 0x80, 0xff};
    size_t at = draw(size + 1);
    switch (draw(6)) {
    case 0:
        if (at < size)
            input[at] = (uint8_t)draw(256);
        return size;
    case 1:
        if (at < size)
            input[at] = corners[draw(sizeof corners)];
        return size;
    case 2:
        if (at < size)
            input[at] ^= (uint8_t)(1u << draw(8));
        return size;
    case 3: {
        unsigned entry = (unsigned)draw(entries);
        size_t length = draw(corpus[entry].size + 1);
        if (length > INPUT_MAX - size)
            return size;
        memmove(input + at + length, input + at, size - at);
        memcpy(input + at, corpus[entry].bytes, length);
        return size + length;
    }
    case 4: {
        size_t length = draw(size - at + 1);
        memmove(input + at, input + at + length, size - at - length);
        return size - length;
    }
    default:
        return at;
    }
}

int main(int argc, char **argv)
{
    static uint8_t input[INPUT_MAX];
    unsigned long long runs = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    unsigned long long seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    if (runs == 0) {
        fprintf(stderr, "usage: %s RUNS [SEED]\n", argv[0]);
        return 2;
    }
    gather();
    for (unsigned i = 0; i < entries; i++)
        LLVMFuzzerTestOneInput(corpus[i].bytes, corpus[i].size);
    state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    for (unsigned long long run = 0; run < runs; run++) {
        size_t size;
        if (draw(8) == 0) {
            size = draw(draw(32) == 0 ? INPUT_MAX : 100);
            for (size_t i = 0; i < size; i++)
                input[i] = (uint8_t)draw(256);
        } else {
            unsigned which = (unsigned)draw(entries);
            size = corpus[which].size;
            memcpy(input, corpus[which].bytes, size);
            for (uint64_t changes = draw(4); changes > 0; changes--)
                size = change(input, size);
        }
        LLVMFuzzerTestOneInput(input, size);
    }
    printf("%s: %llu inputs and %u of the corpus, seed %llu, no fault\n", argv[0], runs, entries,
           seed);
    return 0;
}
