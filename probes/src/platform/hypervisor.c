/* Asks the CPU for its hypervisor. If the hypervisor bit is set, CPUID leaf 0x40000000 has the
 * hypervisor's name. */
#include "platform/hypervisor.h"

#include <stddef.h>

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
