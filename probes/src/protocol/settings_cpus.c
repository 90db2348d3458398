/* Reads the CPUs to which the threads of a test are bound. */
#include <stdlib.h>

#include "protocol/keys.h"
#include "protocol/settings.h"

#define CPU_LARGEST 65535

/* Parses a list such as `0,2,4`, in the order in which threads take the CPUs. */
static bool parse_cpus(const char *text, struct settings *out)
{
    for (out->cpu_count = 0; out->cpu_count < WORKERS_MAX;) {
        char *after;
        if (text[0] < '0' || text[0] > '9')
            return false;
        const unsigned long cpu = strtoul(text, &after, 10);
        if (cpu > CPU_LARGEST)
            return false;
        for (unsigned i = 0; i < out->cpu_count; i++)
            if (out->cpus[i] == cpu)
                return false;
        out->cpus[out->cpu_count++] = (unsigned)cpu;
        if (*after == 0)
            return true;
        if (*after != ',')
            return false;
        text = after + 1;
    }
    return false;
}

void settings_read_cpus(struct keys *keys, struct settings *out)
{
    static const struct key_range cpu = {"cpu", 0, CPU_LARGEST, 0};
    const char *list = request_value(keys->request, "cpus");
    out->cpu = -1;
    if (keys_given(keys, "cpu")) {
        out->cpu = (int)keys_number(keys, cpu);
        out->cpus[0] = (unsigned)out->cpu;
        out->cpu_count = 1;
    }
    if (list == NULL)
        return;
    if (out->cpu >= 0)
        keys_note(keys, "bad-value", "cpus", "cpu or cpus, not both");
    else if (!parse_cpus(list, out))
        keys_note(keys, "bad-value", "cpus",
                  "CPU numbers separated by commas, each once, at most 64");
}
