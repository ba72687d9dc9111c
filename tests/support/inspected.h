/* What `adaps inspect` says of files from strangers, and what it takes to say it. */
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
 * time for every 64 MB of the file that there are, or begin, and memory for twice the file and 64
 * MiB. */
void inspected_check(const char *name, const void *bytes, size_t size, int exit_status,
                     const char *reason);

/* The same in two steps. A process as large as what wrote a large file cannot measure: the system
 * counts memory of the process that starts another one as the other one's. So a process of its own
 * calls `make`, whose bytes (the caller's: ad_free) become the file. */
void inspected_make(void *(*make)(int i, size_t *size), int i);
void inspected_file(const char *name, int exit_status, const char *reason);

#endif
