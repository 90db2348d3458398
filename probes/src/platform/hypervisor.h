/* Detects the hypervisor of this machine, in the same way on every system. */
#ifndef PLAT_HYPERVISOR_H
#define PLAT_HYPERVISOR_H

/* Returns a short name of the hypervisor: "none" on bare metal, NULL if this CPU cannot report
 * it. */
const char *plat_hypervisor(void);

#endif
