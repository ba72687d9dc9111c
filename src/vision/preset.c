#include "vision/preset.h"

#include <stdio.h>

#define PLAIN                                                                                      \
    {                                                                                              \
        .mean = {0, 0, 0}, .std = { 1, 1, 1 }                                                      \
    }
#define BYTES                                                                                      \
    {                                                                                              \
        .bytes = true, .mean = {0, 0, 0}, .std = { 1, 1, 1 }                                       \
    }
#define IMAGENET                                                                                   \
    {                                                                                              \
        .mean = {0.485f, 0.456f, 0.406f}, .std = { 0.229f, 0.224f, 0.225f }                        \
    }
#define NANODET                                                                                    \
    {                                                                                              \
        .bytes = true, .mean = {103.53f, 116.28f, 123.675f}, .std = { 57.375f, 57.12f, 58.395f }   \
    }
#define SSD                                                                                        \
    {                                                                                              \
        .bytes = true, .mean = {127, 127, 127}, .std = { 128, 128, 128 }                           \
    }

static const struct ad_preset presets[] = {
    {"yolov5", AD_HEAD_YOLOV5, AD_FIT_LETTERBOX, false, 0, PLAIN},
    {"yolov7", AD_HEAD_YOLOV5, AD_FIT_LETTERBOX, false, 0, PLAIN},
    {"yolov8", AD_HEAD_YOLOV8, AD_FIT_LETTERBOX, false, 0, PLAIN},
    {"yolov8-pose", AD_HEAD_YOLOV8, AD_FIT_LETTERBOX, false, 17, PLAIN},
    {"yolov9", AD_HEAD_YOLOV8, AD_FIT_LETTERBOX, false, 0, PLAIN},
    {"yolov10", AD_HEAD_ROWS, AD_FIT_LETTERBOX, false, 0, PLAIN},
    {"yolo11", AD_HEAD_YOLOV8, AD_FIT_LETTERBOX, false, 0, PLAIN},
    {"yolo12", AD_HEAD_YOLOV8, AD_FIT_LETTERBOX, false, 0, PLAIN},
    {"yolo26", AD_HEAD_ROWS, AD_FIT_LETTERBOX, false, 0, PLAIN},
    {"yolox", AD_HEAD_YOLOX, AD_FIT_CORNER, true, 0, BYTES},
    {"nanodet", AD_HEAD_NANODET, AD_FIT_STRETCH, true, 0, NANODET},
    {"ssd", AD_HEAD_SSD, AD_FIT_STRETCH, false, 0, SSD},
    {"imagenet", AD_HEAD_UNKNOWN, AD_FIT_CENTRE, false, 0, IMAGENET},
};
#define NPRESETS (sizeof presets / sizeof *presets)

const struct ad_preset *ad_preset_find(const char *name)
{
    for (size_t i = 0; i < NPRESETS; i++)
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    return NULL;
}

const struct ad_preset *ad_preset_default(enum ad_head_kind head)
{
    static const struct ad_preset whole = {"", AD_HEAD_UNKNOWN, AD_FIT_LETTERBOX, false, 0, PLAIN},
                                  crop = {"", AD_HEAD_UNKNOWN, AD_FIT_CROP, false, 0, PLAIN};
    if (head == AD_HEAD_YOLOX)
        return ad_preset_find("yolox");
    if (head == AD_HEAD_NANODET)
        return ad_preset_find("nanodet");
    return head == AD_HEAD_CLASSES ? &crop : &whole;
}

char *ad_preset_list(char *buf, size_t size)
{
    size_t used = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < NPRESETS && used < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "", presets[i].name);
    return buf;
}
