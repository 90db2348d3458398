/* Frames that wait in the forwarder: a heap by the moment at which each is due. */

#include <stdbool.h>
#include <stdint.h>

struct waiting {
    uint64_t due_ns, number, arrived_ns;
    uint32_t slot, length;
    int out;
};

static struct waiting *heap;
static uint32_t heap_count;

static bool before(const struct waiting *one, const struct waiting *two) {
    return one->due_ns != two->due_ns ? one->due_ns < two->due_ns : one->number < two->number;
}

static void push(struct waiting item) {
    uint32_t at = heap_count++;
    for (; at > 0 && before(&item, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = item;
}

static struct waiting pop(void) {
    struct waiting first = heap[0], last = heap[--heap_count];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= heap_count)
            break;
        if (child + 1 < heap_count && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &last))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}
