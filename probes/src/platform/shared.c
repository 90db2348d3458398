/* Makes sleeps as coarse as a test asks, and asks the CPU for its hypervisor. */
#include "platform/shared.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

/* ---- sleeps ---- */

#define UNREAD UINT64_MAX
#define LONGEST_TICK_NS UINT64_C(1000000000)

/* The environment does not change, so all threads that read it write the same value. */
static uint64_t tick_ns(void)
{
    static _Atomic uint64_t tick = UNREAD;
    uint64_t value = atomic_load_explicit(&tick, memory_order_relaxed);
    if (value != UNREAD)
        return value;
    const char *text = getenv("NETPROBE_TEST_SLEEP_NS");
    value = text != NULL && text[0] >= '0' && text[0] <= '9' ? strtoull(text, NULL, 10) : 0;
    value = value > LONGEST_TICK_NS ? LONGEST_TICK_NS : value;
    atomic_store_explicit(&tick, value, memory_order_relaxed);
    return value;
}

uint64_t plat_coarse_sleep_ns(uint64_t nanoseconds)
{
    uint64_t tick = tick_ns();
    if (tick == 0)
        return nanoseconds;
    uint64_t now = plat_now_ns(), until = now + nanoseconds;
    return (until + tick - 1) / tick * tick - now;
}

/* ---- the hypervisor ---- */

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#include <string.h>

const char *plat_hypervisor(void)
{
    static const struct {
        const char *signature, *name;
    } vendors[] = {{"KVMKVMKVM", "kvm"},           {"Linux KVM Hv", "kvm"},
                   {"Microsoft Hv", "hyper-v"},    {"VMwareVMware", "vmware"},
                   {"XenVMMXenVMM", "xen"},        {"TCGTCGTCGTCG", "qemu"},
                   {"VBoxVBoxVBox", "virtualbox"}, {"bhyve bhyve ", "bhyve"}};
    static _Thread_local char signature[13];
    unsigned a, b, c, d, last;
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return NULL;
    if ((c >> 31 & 1) == 0)
        return "none";
    __cpuid(0x40000000, last, b, c, d);
    memcpy(signature, &b, 4);
    memcpy(signature + 4, &c, 4);
    memcpy(signature + 8, &d, 4);
    /* If Hyper-V is enabled on a Windows host, the host itself runs on Hyper-V, in the root
     * partition. The root partition, which may create partitions (bit 0), is not a virtual
     * machine. */
    if (strcmp(signature, "Microsoft Hv") == 0 && last >= 0x40000003) {
        __cpuid(0x40000003, a, b, c, d);
        if (b & 1)
            return "none";
    }
    for (size_t i = 0; i < sizeof vendors / sizeof vendors[0]; i++)
        if (strcmp(signature, vendors[i].signature) == 0)
            return vendors[i].name;
    return signature[0] != 0 ? signature : "unknown";
}
#else
const char *plat_hypervisor(void)
{
    return NULL;
}
#endif
