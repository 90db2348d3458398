/* Defines the version and the build hash of the probe; the Makefile sets both. */
#ifndef VERSION_H
#define VERSION_H

#ifndef NETPROBE_VERSION
#define NETPROBE_VERSION "unknown"
#endif
#ifndef NETPROBE_BUILD /* hash of the sources */
#define NETPROBE_BUILD "unknown"
#endif

#endif
