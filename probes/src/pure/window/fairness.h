/* Computes how evenly streams share what they carried together. */
#ifndef FAIRNESS_H
#define FAIRNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Jain's index, (sum x)^2 / (n sum x^2): 1 where all are alike, k/n where k of n have all. False: fewer
 * than two streams, or nothing to share. */
bool fairness_index(const uint64_t *bytes, size_t count, double *out);

#endif
