/* Starts, finds, ends and joins tests and programs. */
#include "agent/running/running.h"

#include <string.h>

#include "agent/running/program.h"
#include "agent/test_run.h"

struct running_one running_find(const struct running *running, const char *id)
{
    for (unsigned i = 0; i < running->tests; i++)
        if (strcmp(running->test[i]->settings.id, id) == 0)
            return (struct running_one){.test = running->test[i]};
    for (unsigned i = 0; i < running->programs; i++)
        if (strcmp(program_id(running->program[i]), id) == 0)
            return (struct running_one){.program = running->program[i]};
    return (struct running_one){NULL, NULL};
}

static struct error refuse_id(const struct running *running, const char *id)
{
    const struct running_one one = running_find(running, id);
    if (one.test != NULL)
        return error_about("id-in-use", "", "a test of this id is running");
    if (one.program != NULL)
        return error_about("id-in-use", "", "a program of this id is running");
    return (struct error){.word = NULL};
}

struct error running_start_test(struct running *running, const struct settings *settings,
                                uint64_t requested_ns)
{
    struct error error = refuse_id(running, settings->id);
    if (error.word != NULL)
        return error;
    if (running->tests == RUNNING_TESTS_MAX)
        return error_about("too-many-tests", "", "64 tests are running already");
    int number = test_start(&running->test[running->tests], settings, requested_ns);
    if (number != 0) {
        error = error_about("out-of-memory", "", "no room for another test");
        error.number = number > 0 ? number : 0;
        return error;
    }
    running->tests++;
    return error;
}

struct error running_start_program(struct running *running, const struct request *request,
                                   struct undo_log *undo, uint64_t requested_ns)
{
    struct error error = refuse_id(running, request->id);
    if (error.word != NULL)
        return error;
    if (running->programs == RUNNING_PROGRAMS_MAX)
        return error_about("too-many-tests", "", "8 programs are running already");
    error = program_start(&running->program[running->programs], request, undo, requested_ns);
    if (error.word == NULL)
        running->programs++;
    return error;
}

void running_reap(struct running *running)
{
    for (unsigned i = running->tests; i-- > 0;)
        if (test_answered(running->test[i])) {
            test_join(running->test[i]);
            running->test[i] = running->test[--running->tests];
        }
    for (unsigned i = running->programs; i-- > 0;)
        if (program_answered(running->program[i])) {
            program_join(running->program[i]);
            running->program[i] = running->program[--running->programs];
        }
}

bool running_any(const struct running *running)
{
    return running->tests + running->programs > 0;
}

void running_end(struct running *running)
{
    for (unsigned i = 0; i < running->tests; i++)
        test_tell(running->test[i], true, false, 0);
    for (unsigned i = 0; i < running->programs; i++)
        program_tell(running->program[i], true);
    running_wait(running);
}

bool running_wait(struct running *running)
{
    bool fine = true;
    while (running->tests > 0)
        fine = test_join(running->test[--running->tests]) && fine;
    while (running->programs > 0)
        fine = program_join(running->program[--running->programs]) && fine;
    return fine;
}
