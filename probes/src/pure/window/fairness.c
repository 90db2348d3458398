/* Sums the streams' throughputs and their squares. */
#include "pure/window/fairness.h"

bool fairness_index(const uint64_t *bytes, size_t count, double *out)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)bytes[i];
        squares += (double)bytes[i] * (double)bytes[i];
    }
    if (count < 2 || !(squares > 0))
        return false;
    const double index = sum * sum / ((double)count * squares);
    *out = index > 1 ? 1 : index; /* rounding may exceed 1 */
    return true;
}
