/* Runs the program of an entry of the undo log, and waits for it. */
#include "agent/undoing/undo_run.h"

#include "platform/plat.h"
#include "pure/nanoseconds.h"

#define KILLED_NS (3 * SECOND_NS) /* if a killed program runs longer, the system cannot end it */
#define LOOK_NS (50 * MILLISECOND_NS)

struct undo_try undo_try_of(const struct plat_program_end *end, bool killed)
{
    struct undo_try last = {.ending = UNDO_KILLED, .wall_ns = plat_wall_ns()};
    if (killed || !end->known)
        return last;
    last.ending = end->by_signal ? UNDO_SIGNALLED : UNDO_EXITED;
    last.code = end->code;
    return last;
}

/* Reads and drops the output of the program. Otherwise the program would wait when its pipe is
 * full. */
static void drop_output(struct plat_program *program)
{
    char bytes[4096];
    for (unsigned descriptor = 1; descriptor <= 2; descriptor++)
        for (int i = 0; i < 64; i++)
            if (plat_program_read(program, descriptor, bytes, sizeof bytes) <= 0)
                break;
}

struct undo_try undo_run(struct undo_entry *entry)
{
    struct plat_program program;
    struct plat_program_end end;
    char *words[UNDO_WORDS_MAX + 1];
    bool killed = false;
    uint64_t until_ns = plat_now_ns() + entry->deadline_ns, pause_ns = MILLISECOND_NS;
    undo_entry_words(entry, words);
    if (plat_program_start(&program, words) != 0)
        return (struct undo_try){UNDO_EXITED, UNDO_NOT_STARTED, plat_wall_ns()};
    while (!plat_program_wait(&program, plat_now_ns() + pause_ns)) {
        drop_output(&program);
        pause_ns = pause_ns < LOOK_NS ? 2 * pause_ns : LOOK_NS;
        if (plat_now_ns() < until_ns)
            continue;
        if (killed)
            break;
        plat_program_stop(&program, true);
        killed = true;
        until_ns = plat_now_ns() + KILLED_NS;
    }
    plat_program_stop(&program, true);
    plat_program_close(&program, &end);
    return undo_try_of(&end, killed);
}
