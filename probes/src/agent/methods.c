/* Compares what a method needs with this system's capabilities, and names the method. A method is a
 * way to send or receive messages, such as many messages per call. */
#include "agent/methods.h"

#include "agent/calibration.h"
#include "pure/text.h"

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

const char *methods_of_sending(const struct settings *settings)
{
    static const char *const words[] = {
        [METHOD_PLAIN] = "plain", [METHOD_BATCH] = "batch", [METHOD_PACKET] = "packet",
        [METHOD_XDP] = "xdp"};
    return words[settings->method];
}

const char *methods_of_receiving(const struct settings *settings)
{
    return settings->adapt  ? "adaptive"
           : settings->poll ? "polling"
           : settings->spin ? "spinning"
                            : "blocking";
}
