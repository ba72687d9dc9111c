/* When messages came and left in one traced inference, by step. Messages (exec/letter.h) may leave
 * in the next inference or after the session's end: so every inference has marks of its own, which
 * are counted references. */
#ifndef AD_EXEC_MARKS_H
#define AD_EXEC_MARKS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct ad_marks;

/* For nsteps steps; NULL without memory. */
struct ad_marks *ad_marks_new(int nsteps);
void ad_marks_ref(struct ad_marks *marks);
void ad_marks_unref(struct ad_marks *marks); /* NULL is fine */

/* Notes now as the time of a step; as when the message of a RECV was found, waited for or not;
 * as when the message of a SEND left. */
void ad_marks_set(struct ad_marks *marks, int step);
void ad_marks_found(struct ad_marks *marks, int step, bool waited);
void ad_marks_leave(struct ad_marks *marks, int step);

/* The time (ad_clock_ns()) that was noted for a step; when the message of a SEND had left. 0: none.
 * Whether the message of a RECV was waited for. */
int64_t ad_marks_get(const struct ad_marks *marks, int step);
int64_t ad_marks_left(const struct ad_marks *marks, int step);
bool ad_marks_waited(const struct ad_marks *marks, int step);

#endif
