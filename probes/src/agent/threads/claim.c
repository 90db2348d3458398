/* Counts the threads that spin (wait without sleeping), in all tests of this process. */
#include "agent/threads/claim.h"

/* A sender with more time than this between two messages keeps its rate even if it only sleeps. */
#define SLEEP_WILL_DO_NS 100000.0

static _Atomic unsigned spinning;

/* Returns on how many CPUs the threads of a test spin: one per thread, but not more than the CPUs
 * to which the threads are bound. */
static unsigned spinners_of(const struct test *test)
{
    const unsigned cpus = test->settings.cpu_count;
    return cpus > 0 && cpus < test->workers ? cpus : test->workers;
}

static bool take(struct test *test, unsigned spinners, unsigned cpus)
{
    if (atomic_fetch_add(&spinning, spinners) + spinners < cpus) {
        test->spinners = spinners;
        return true;
    }
    atomic_fetch_sub(&spinning, spinners);
    return false;
}

/* Time between two messages of the thread with the most streams. */
static double step_ns(const struct test *test)
{
    const struct settings *settings = &test->settings;
    const unsigned most_streams = (settings->streams + test->workers - 1) / test->workers;
    return 1e9 * (double)settings->rate_denominator / (double)settings->rate_numerator /
           most_streams;
}

/* A paced sender stops sleeping worst_sleep_ns (how much longer than requested a sleep takes at
 * worst) before a message is due, and spins. If the time between messages is not longer than
 * worst_sleep_ns, the sender never sleeps. If there are not enough CPUs for that, all threads sleep
 * until messages are due, and send the late ones at once; if the rate is too high for that, the
 * test fails (unless the host has a single CPU). If only some threads slept, some streams would get
 * more of the rate than others. */
static bool claim_paced(struct test *test, unsigned cpus)
{
    const bool without_end = step_ns(test) <= (double)test->worst_sleep_ns;
    const bool spins = !without_end || take(test, spinners_of(test), cpus);
    if (!spins && cpus > 1 && step_ns(test) <= SLEEP_WILL_DO_NS) {
        test_fail_saying(test, "cannot-pin", 0, "streams",
                         "at this rate the senders spin, and would use all CPUs of this host");
        return false;
    }
    for (unsigned i = 0; i < test->workers; i++)
        test->worker[i].spins = spins;
    return true;
}

bool claim_cpus(struct test *test)
{
    const struct settings *settings = &test->settings;
    struct plat_identity identity;
    for (unsigned i = 0; i < settings->cpu_count; i++)
        if (!plat_cpu_usable(settings->cpus[i])) {
            test_fail_saying(test, "cannot-pin", 0, settings->cpu >= 0 ? "cpu" : "cpus",
                             "this CPU does not exist or may not be used");
            return false;
        }
    plat_identify(&identity);
    if (settings->role == ROLE_SEND)
        return settings->rate_numerator == 0 || claim_paced(test, identity.cpu_count);
    if (!settings->spin || take(test, spinners_of(test), identity.cpu_count))
        return true;
    test_fail_saying(test, "cannot-pin", 0, "spin", "spinning would use all CPUs of this host");
    return false;
}

void claim_end(struct test *test)
{
    atomic_fetch_sub(&spinning, test->spinners);
    test->spinners = 0;
}
