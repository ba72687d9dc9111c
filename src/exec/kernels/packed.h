/* Packed weights that several operators share: when an op is computed in several parts (boundary
 * rows first, then the rest), XNNPACK would pack and hold its weights once per part. The block that
 * the first part's operator packed is handed out again to the others, which write the same bytes
 * into it; it is freed with the last of them. No operator may run while another is made from the
 * same block. */
#ifndef AD_EXEC_KERNELS_PACKED_H
#define AD_EXEC_KERNELS_PACKED_H

#include <stdbool.h>
#include <stddef.h>

/* Between operators of one op. Zero-initialised: nothing packed yet. Borrows: use it only while the
 * first operator lives. */
struct ad_packed {
    void *block;
    size_t size;
};

/* Around the creation of an operator, on the creating thread. packed may be NULL: nothing is
 * shared. ad_packed_end() with `made` false forgets what the failed creation took. */
void ad_packed_begin(struct ad_packed *packed);
void ad_packed_end(bool made);

/* The allocator's aligned part: 64-byte aligned, uninitialised unless shared. *fresh (nullable)
 * tells whether new memory was taken. NULL without memory. Thread-safe. */
void *ad_packed_alloc(size_t size, bool *fresh);
void ad_packed_free(void *p);

#endif
