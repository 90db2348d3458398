/* Computes how evenly streams share their total throughput. */
#ifndef FAIRNESS_H
#define FAIRNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Jain's index, (sum x)^2 / (n sum x^2): 1 if all streams have the same throughput, k/n if k of n
 * streams share everything equally and the others have none. False: fewer than two streams, or no
 * throughput. */
bool fairness_index(const uint64_t *bytes, size_t count, double *out);

#endif
