/* Counts the threads that spin (wait without sleeping), and compares methods with this system. A
 * method is a way to send or receive messages, such as many messages per call. */
#include "agent/claim.h"

#include "agent/calibration.h"
#include "pure/text.h"

/* ---- CPUs ---- */

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

/* ---- methods ---- */

/* The longest usual sleep with which a receiver may poll. With longer sleeps, too much data would
 * arrive between two polls, and the sleeps would limit the rate. */
#define POLL_MOST_NS (2 * MILLISECOND_NS)

/* Fails the test if the system lacks the capability. `error` is not 0 if an administrator can
 * provide the capability. */
static bool demand(struct test *test, const char *capability, const char *key, int error,
                   const char *reason)
{
    struct plat_identity self;
    plat_identify(&self);
    if (comma_list_has(self.capabilities, capability))
        return true;
    test_fail_saying(test, "capability-missing", error, key, reason);
    return false;
}

bool methods_known(struct test *test)
{
    const struct settings *settings = &test->settings;
    if (settings->capture &&
        !demand(test, "capture", "from", plat_frames_refusal(),
                "taking frames takes Linux and the right to packet sockets (CAP_NET_RAW)"))
        return false;
    if (settings->poll && calibration_usual_sleep_ns() > POLL_MOST_NS) {
        test_fail_saying(test, "capability-missing", 0, "poll", "this system's sleeps take too long");
        return false;
    }
    if (settings->method == METHOD_BATCH)
        return demand(test, "batch", "method", 0, "this system takes one message a call");
    if (settings->method == METHOD_PACKET)
        return demand(test, "packet", "method", plat_frames_refusal(),
                      "frames of our own take Linux and the right to packet sockets (CAP_NET_RAW)");
    if (settings->method == METHOD_XDP)
        return demand(test, "xdp", "method", plat_frames_refusal(),
                      "frames by AF_XDP take Linux 5.4 and the right to packet sockets "
                      "(CAP_NET_RAW)");
    return true;
}
