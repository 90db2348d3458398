/* What the files of every system use behind plat.h. Only files of the folder platform include this
 * file. */
#ifndef PLAT_SHARED_H
#define PLAT_SHARED_H

#include <string.h>

#include "platform/plat.h"

/* ---- sleeps ---- */

/* Lets a test make sleeps as coarse as those of a system whose timer ticks slowly:
 * NETPROBE_TEST_SLEEP_NS=15625000 makes each sleep end at a tick of 15.625 ms. Returns the duration
 * to sleep if `nanoseconds` are requested; the same value unless a test changes it. */
uint64_t plat_coarse_sleep_ns(uint64_t nanoseconds);

/* ---- the hypervisor ---- */

/* Returns a short name of the hypervisor: "none" on bare metal, NULL if this CPU cannot report
 * it. */
const char *plat_hypervisor(void);

/* ---- the text that the holder of the host's lock has written, made safe for a terminal ---- */

/* Length in bytes of the character at `at` if it is a control character, otherwise 0. Control
 * characters could move the terminal's cursor or change the direction of its text: those of ASCII
 * and Unicode (U+0080 to U+009F), line ends (U+2028, U+2029) and directions (U+061C, U+200E,
 * U+200F, U+202A to U+202E, U+2066 to U+2069). */
static inline size_t lock_text_control(const unsigned char *at)
{
    if (at[0] < 0x20 || at[0] == 0x7f)
        return 1;
    if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f)
        return 2;
    if (at[0] == 0xd8 && at[1] == 0x9c)
        return 2;
    if (at[0] != 0xe2)
        return 0;
    const unsigned char low = at[1] == 0x80 || at[1] == 0x81 ? at[2] : 0;
    const bool direction = at[1] == 0x80 ? low == 0x8e || low == 0x8f || (low >= 0xa8 && low <= 0xae)
                                         : low >= 0xa6 && low <= 0xa9;
    return direction ? 3 : 0;
}

/* A holder of the lock can write any text. So only the first line of the text is kept, and its
 * control characters are replaced by question marks. */
static inline void lock_text_clean(char *text)
{
    text[strcspn(text, "\n")] = 0;
    for (unsigned char *at = (unsigned char *)text; *at != 0;) {
        size_t length = lock_text_control(at);
        memset(at, '?', length);
        at += length > 0 ? length : 1;
    }
}

#endif
