/* What `adaps inspect` says about untrusted files, and how much time and memory it takes. */
#ifndef TESTS_INSPECTED_H
#define TESTS_INSPECTED_H

#include <stdbool.h>
#include <stddef.h>

#define INSPECTED_PATH 4096
extern char inspected_folder[INSPECTED_PATH - 64]; /* of the files, for those beside the model */

/* Makes the folder. False, with a message, when that fails or there is no ./adaps. */
bool inspected_begin(void);
/* Removes it; it has to be empty but for what inspected_check() wrote. */
void inspected_end(void);

/* Inspects a file of these bytes; fails the test `name` unless adaps ends with exit_status, and
 * what it writes to stderr has `reason` in it (NULL: anything). It may take a second of processor
 * time for each 64 MB of the file (rounded up), and twice the size of the file plus 64 MiB of
 * memory. */
void inspected_check(const char *name, const void *bytes, size_t size, int exit_status,
                     const char *reason);

/* The same for large files: a child process calls `make`, whose bytes (freed with ad_free) become
 * the file. The test must not hold them itself, because the system counts the memory of a process
 * that starts another one as the memory of the other one, too. */
void inspected_make(void *(*make)(int i, size_t *size), int i);
void inspected_file(const char *name, int exit_status, const char *reason);

#endif
