/* Tells which hypervisor this machine runs under, in the same way on every system. */
#ifndef PLAT_HYPERVISOR_H
#define PLAT_HYPERVISOR_H

/* A short name, "none" on bare metal, NULL where this CPU has no way to tell. */
const char *plat_hypervisor(void);

#endif
