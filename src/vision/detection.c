#include "vision/detection.h"

#include <string.h>

void ad_detections_fini(struct ad_detections *detections)
{
    ad_free(detections->items);
    ad_arena_fini(&detections->arena);
    memset(detections, 0, sizeof *detections);
}
