/* Tests other programs as children: their output, their end, and what they inherit. */
#include "contract/contract.h"

#include <stdlib.h>

#define SHELL_WORDS 4

/* Words that make the system's shell run a line; it differs from system to system. */
static void shell(const char *posix, const char *windows, char *words[SHELL_WORDS])
{
    static char lines[2][64], names[4][8] = {"sh", "-c", "cmd", "/c"};
    struct plat_identity self;
    plat_identify(&self);
    const bool is_windows = strcmp(self.os, "windows") == 0;
    snprintf(lines[0], sizeof lines[0], "%s", is_windows ? windows : posix);
    words[0] = names[is_windows ? 2 : 0];
    words[1] = names[is_windows ? 3 : 1];
    words[2] = lines[0];
    words[3] = NULL;
}

struct outcome {
    char text[2][256]; /* of each descriptor */
    struct plat_program_end end;
};

static void take(struct plat_program *program, unsigned descriptor, char into[256], bool *closed)
{
    size_t used = strlen(into);
    ptrdiff_t got;
    while (!*closed && (got = plat_program_read(program, descriptor, into + used, 255 - used)) >= 0) {
        *closed = got == 0;
        used += (size_t)got;
        into[used] = 0;
    }
}

/* Runs a program to its end, and reads all that it printed. */
static void run_whole(char *const *words, struct outcome *out)
{
    struct plat_program program;
    bool closed[2] = {false, false}, ended = false;
    const uint64_t until_ns = soon_ns(20000);
    memset(out, 0, sizeof *out);
    int error = plat_program_start(&program, words);
    CHECK_ERROR(error);
    if (error != 0)
        return;
    CHECK(program.pid > 0);
    while ((!ended || !closed[0] || !closed[1]) && plat_now_ns() < until_ns) {
        ended = ended || plat_program_wait(&program, soon_ns(20));
        for (unsigned i = 0; i < 2; i++)
            take(&program, i + 1, out->text[i], &closed[i]);
    }
    CHECK(ended && closed[0] && closed[1]);
    CHECK(plat_program_read(&program, 1, out->text[0], 1) == 0);
    plat_program_stop(&program, true);
    plat_program_close(&program, &out->end);
}

TEST(a_program_prints_on_two_descriptors_and_ends_with_its_code)
{
    char *words[SHELL_WORDS];
    struct outcome outcome;
    shell("echo one; echo two >&2; exit 7", "echo one& echo two>&2& exit 7", words);
    run_whole(words, &outcome);
    CHECK(strncmp(outcome.text[0], "one", 3) == 0);
    CHECK(strncmp(outcome.text[1], "two", 3) == 0);
    CHECK(outcome.end.known && !outcome.end.by_signal);
    CHECK_U64(outcome.end.code, 7);
    CHECK(outcome.end.timed);
}

TEST(a_program_gets_its_own_environment_and_no_input)
{
    char *words[SHELL_WORDS];
    struct outcome outcome;
    shell("echo $LC_ALL; read x || echo none", "echo %LC_ALL%", words);
    run_whole(words, &outcome);
    CHECK(strncmp(outcome.text[0], "C\n", 2) == 0 || strncmp(outcome.text[0], "C\r\n", 3) == 0);
    shell("read x || echo none", "findstr x || echo none", words);
    run_whole(words, &outcome);
    CHECK(strncmp(outcome.text[0], "none", 4) == 0 || emulated);
}

TEST(a_program_that_does_not_exist_is_missing)
{
    static char name[] = "no-such-program-of-netlab", path[] = "/no/such/program", relative[] = "./x";
    char *const names[] = {name, path, relative};
    for (unsigned i = 0; i < 3; i++) {
        struct plat_program program;
        char *words[] = {names[i], NULL};
        int error = plat_program_start(&program, words);
        CHECK(error != 0 && plat_is_missing(error));
    }
    CHECK(!plat_is_missing(0));
}

/* Ends a program, which would not end by itself, in both ways. */
TEST(a_program_ends_when_it_is_asked_and_when_it_is_killed)
{
    for (int at_once = 0; at_once < 2; at_once++) {
        struct plat_program program;
        struct plat_program_end end;
        char *words[SHELL_WORDS];
        shell("sleep 60", "for /l %i in (1,0,2) do @echo x", words);
        int error = plat_program_start(&program, words);
        CHECK_ERROR(error);
        if (error != 0)
            return;
        CHECK(!plat_program_wait(&program, soon_ns(30)));
        plat_program_stop(&program, at_once == 1);
        bool ended = false;
        for (uint64_t until_ns = soon_ns(20000); !ended && plat_now_ns() < until_ns;)
            ended = plat_program_wait(&program, soon_ns(20));
        CHECK(ended);
        plat_program_close(&program, &end);
        CHECK(end.known);
        CHECK(end.code != 0);
    }
}

const struct unit_test contract_program_tests[] = {
    ENTRY(a_program_prints_on_two_descriptors_and_ends_with_its_code),
    ENTRY(a_program_gets_its_own_environment_and_no_input),
    ENTRY(a_program_that_does_not_exist_is_missing),
    ENTRY(a_program_ends_when_it_is_asked_and_when_it_is_killed),
    {NULL, NULL},
};
