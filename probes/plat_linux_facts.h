/* Linux: the parts of plat_facts (plat.h), each writing its keys of `facts`. */
#ifndef PLAT_LINUX_FACTS_H
#define PLAT_LINUX_FACTS_H

#include "json.h"

/* The route to a numeric address, and the interface that it leaves by. */
void facts_route(struct json *out, const char *to);

#endif
