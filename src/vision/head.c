/* Which kind of head a network has. Metadata and a preset narrow the choice; the rest follows from
 * the shapes of the outputs: a detector without suppression answers for each cell of its grids, so
 * one dimension is their number. */
#include "vision/head.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define YOLOV5_FIELDS 5    /* before the classes: box, objectness */
#define ANCHORS_PER_CELL 3 /* YOLOv5 and v7 */
#define ROW_FIELDS 6       /* box, score, class */
#define POSE_KEYPOINTS 17

/* What the search for a head looks at. */
struct finder {
    const struct ad_graph *graph;
    const struct ad_head_options *options;
    struct ad_head *head;
    int rank3, rank4;   /* the first output of this rank; -1: none */
    int nrank3, nrank4; /* how many there are */
    bool ultralytics;   /* its metadata */
};

static const struct ad_value *output(const struct finder *f, int i)
{
    return &f->graph->values[f->graph->outputs[i]];
}

/* Whether the preset leaves room for a kind. Any family's exporter can put suppression into the
 * file, and answers then look alike. */
static bool wants(const struct finder *f, enum ad_head_kind kind)
{
    const struct ad_preset *preset = f->options->preset;
    return !preset || preset->head == AD_HEAD_UNKNOWN || preset->head == kind ||
           kind == AD_HEAD_ROWS || kind == AD_HEAD_SELECTED || kind == AD_HEAD_LISTS ||
           (kind == AD_HEAD_YOLOV8 && preset->head == AD_HEAD_ROWS);
}

/* Whether it is wanted by name, not only not excluded. */
static bool names(const struct finder *f, enum ad_head_kind kind)
{
    return f->options->preset && f->options->preset->head == kind;
}

/* Grids that detectors have. */
static const struct {
    int count, strides[AD_HEAD_STRIDES];
} grids[] = {
    {3, {8, 16, 32}}, {4, {8, 16, 32, 64}}, {4, {4, 8, 16, 32}}, {2, {16, 32}}, {2, {8, 16}},
};
#define NGRIDS (sizeof grids / sizeof *grids)

/* Whether there is a grid with so many cells, or `each` times as many; sets the head's strides. */
static bool is_grid(struct ad_head *head, int64_t n, int each)
{
    for (size_t g = 0; g < NGRIDS; g++) {
        int64_t cells = 0;
        for (int i = 0; i < grids[g].count; i++) {
            int stride = grids[g].strides[i];
            cells += (int64_t)((head->width + stride - 1) / stride) *
                     ((head->height + stride - 1) / stride);
        }
        if (cells * each != n)
            continue;
        head->nstrides = grids[g].count;
        memcpy(head->strides, grids[g].strides, sizeof head->strides);
        return true;
    }
    return false;
}

/* Prototypes of masks: 1 x coefficients x h x w, the only output of rank 4, beside one of rank 3.
 */
static int prototypes_of(const struct finder *f)
{
    return f->nrank3 == 1 && f->nrank4 == 1 && output(f, f->rank4)->dims[0] == 1 ? f->rank4 : -1;
}

/* "[17, 3]" of the metadata, else the preset's. */
static enum adaps_status find_keypoints(struct finder *f, struct adaps_error *err)
{
    const char *text = ad_graph_metadata(f->graph, "kpt_shape");
    struct ad_head *head = f->head;
    int n, numbers, end = 0;
    if (!text) {
        head->nkeypoints = f->options->preset ? f->options->preset->nkeypoints : 0;
        head->keypoint_numbers = 3;
        return ADAPS_OK;
    }
    if (sscanf(text, " [ %4d , %4d ] %n", &n, &numbers, &end) != 2 || end == 0 || text[end] ||
        n < 1 || numbers < 2 || numbers > 3)
        return ad_error_set(err, ADAPS_EINPUT,
                            "model metadata kpt_shape = '%.40s': [COUNT, 2] or [COUNT, 3] expected",
                            text);
    head->nkeypoints = n;
    head->keypoint_numbers = numbers;
    return ADAPS_OK;
}

/* What stands after the classes or the row's own fields. */
static int64_t extras(const struct ad_head *head)
{
    return head->coefficients + (int64_t)head->nkeypoints * head->keypoint_numbers;
}

static bool take(struct finder *f, enum ad_head_kind kind, int64_t classes)
{
    if (classes < 1 || classes > INT32_MAX)
        return false;
    f->head->kind = kind;
    f->head->classes = (int)classes;
    return true;
}

static bool is_yolov5(struct finder *f, const int64_t *dims)
{
    return wants(f, AD_HEAD_YOLOV5) && f->head->nkeypoints == 0 &&
           is_grid(f->head, dims[1], ANCHORS_PER_CELL) &&
           take(f, AD_HEAD_YOLOV5, dims[2] - YOLOV5_FIELDS - extras(f->head));
}

static bool is_yolov8(struct finder *f, const int64_t *dims)
{
    struct ad_head *head = f->head;
    if (!wants(f, AD_HEAD_YOLOV8))
        return false;
    bool told = names(f, AD_HEAD_YOLOV8) || f->ultralytics;
    if (is_grid(head, dims[2], 1) || (told && dims[1] < dims[2] && !is_grid(head, dims[1], 1)))
        return take(f, AD_HEAD_YOLOV8, dims[1] - 4 - extras(head));
    head->rows = told && is_grid(head, dims[1], 1);
    return head->rows && take(f, AD_HEAD_YOLOV8, dims[2] - 4 - extras(head));
}

/* Four distributions of 8 bins (NanoDet) or of another number that leaves the known names. */
static bool is_nanodet(struct finder *f, const int64_t *dims)
{
    struct ad_head *head = f->head;
    int64_t rest = dims[2] - f->options->nlabels;
    if (!wants(f, AD_HEAD_NANODET) || f->nrank3 != 1 || f->nrank4 > 0 || !is_grid(head, dims[1], 1))
        return false;
    bool fits = f->options->nlabels > 0 && rest >= 8 && rest % 4 == 0 && rest <= 4 * 64;
    head->bins = fits ? (int)(rest / 4) : 8;
    if (!fits && !names(f, AD_HEAD_NANODET) && dims[2] != 80 + 4 * 8)
        return false;
    return take(f, AD_HEAD_NANODET, dims[2] - 4 * head->bins);
}

static bool is_yolox(struct finder *f, const int64_t *dims)
{
    int64_t classes = dims[2] - YOLOV5_FIELDS;
    if (!wants(f, AD_HEAD_YOLOX) || f->nrank3 != 1 || f->nrank4 > 0 ||
        !is_grid(f->head, dims[1], 1))
        return false;
    bool told = names(f, AD_HEAD_YOLOX) || classes == 80 || classes == f->options->nlabels;
    return told && take(f, AD_HEAD_YOLOX, classes);
}

static bool is_rows(struct finder *f, const int64_t *dims)
{
    struct ad_head *head = f->head;
    if (!wants(f, AD_HEAD_ROWS))
        return false;
    if (dims[2] == ROW_FIELDS + POSE_KEYPOINTS * 3 && head->coefficients == 0 &&
        head->nkeypoints == 0) {
        head->nkeypoints = POSE_KEYPOINTS;
        head->keypoint_numbers = 3;
    }
    if (dims[2] != ROW_FIELDS + extras(head))
        return false;
    head->kind = AD_HEAD_ROWS;
    return true;
}

/* One output of rank 3, perhaps beside prototypes or maps that the decoded boxes come from. */
static bool find_yolo(struct finder *f)
{
    if (f->nrank3 != 1)
        return false;
    const int64_t *dims = output(f, f->rank3)->dims;
    struct ad_head *head = f->head;
    head->main = f->rank3;
    head->prototypes = prototypes_of(f);
    head->coefficients = head->prototypes >= 0 ? (int)output(f, head->prototypes)->dims[1] : 0;
    return dims[0] == 1 && (is_yolov5(f, dims) || is_nanodet(f, dims) || is_yolox(f, dims) ||
                            is_rows(f, dims) || is_yolov8(f, dims));
}

static int64_t count_of(const struct ad_value *value)
{
    int64_t count = 1;
    for (int i = 0; i < value->rank; i++)
        count *= value->dims[i];
    return count;
}

/* Boxes: ... x 4, of which `n` are there. */
static bool are_boxes(const struct ad_value *value, int64_t *n)
{
    if (value->rank < 2 || value->rank > 3 || value->dims[value->rank - 1] != 4 ||
        (value->rank == 3 && value->dims[0] != 1))
        return false;
    *n = value->dims[value->rank - 2];
    return true;
}

/* Scores of n boxes by class, or by class of the boxes. */
static bool are_scores(struct finder *f, const struct ad_value *value, int64_t n)
{
    int rank = value->rank;
    if (rank < 2 || rank > 3 || (rank == 3 && value->dims[0] != 1))
        return false;
    int64_t a = value->dims[rank - 2], b = value->dims[rank - 1];
    if (a != n && b != n)
        return false;
    f->head->by_class = a != n;
    f->head->classes = (int)(a != n ? a : b);
    return true;
}

static bool contains(const struct ad_value *value, const char *const words[])
{
    for (int i = 0; words[i]; i++)
        for (const char *p = value->name; *p; p++)
            if (strncasecmp(p, words[i], strlen(words[i])) == 0)
                return true;
    return false;
}

/* Lists of n: boxes, scores, class numbers, by the outputs' names; and perhaps how many count. */
static bool find_lists(struct finder *f, int64_t n)
{
    static const char *const score[] = {"score", "conf", NULL}, *const class[] = {"class", "label",
                                                                                  "cls", NULL};
    struct ad_head *head = f->head;
    for (int i = 0; i < f->graph->noutputs; i++) {
        const struct ad_value *value = output(f, i);
        if (i == head->boxes)
            continue;
        if (count_of(value) == n && value->rank <= 2 && contains(value, score))
            head->scores = i;
        else if (count_of(value) == n && value->rank <= 2 && contains(value, class))
            head->class_numbers = i;
        else if (count_of(value) == 1)
            head->how_many = i;
    }
    if (head->scores < 0 || head->class_numbers < 0)
        return false;
    head->kind = AD_HEAD_LISTS;
    head->background = false;
    return true;
}

/* Boxes and scores, and perhaps what NonMaxSuppression selected of them. */
static bool find_ssd(struct finder *f, int64_t n)
{
    struct ad_head *head = f->head;
    for (int i = 0; i < f->graph->noutputs; i++) {
        const struct ad_value *value = output(f, i);
        if (i == head->boxes)
            continue;
        bool integers = value->type != ADAPS_FLOAT32;
        if (value->rank == 2 && value->dims[1] == 3 && head->selected < 0 &&
            (integers || value->dims[0] != n))
            head->selected = i;
        else if (head->scores < 0 && are_scores(f, value, n))
            head->scores = i;
    }
    int known = f->options->nlabels;
    bool selected = head->selected >= 0;
    if (head->scores < 0 || f->graph->noutputs != 2 + selected || head->classes < 1)
        return false;
    if (!wants(f, selected ? AD_HEAD_SELECTED : AD_HEAD_SSD))
        return false;
    head->background =
        !selected && head->classes > 1 &&
        (known > 0 ? known == head->classes - 1 : names(f, AD_HEAD_SSD) || head->classes == 81);
    head->classes -= head->background;
    head->kind = selected ? AD_HEAD_SELECTED : AD_HEAD_SSD;
    return true;
}

/* The heads of several outputs, of which one is boxes. */
static bool find_boxes(struct finder *f)
{
    int64_t n = 0;
    struct ad_head *head = f->head;
    if (f->graph->noutputs < 2)
        return false;
    for (int i = 0; i < f->graph->noutputs; i++)
        if (are_boxes(output(f, i), &n)) {
            head->boxes = i;
            static const char *const tensorflow[] = {"detection_boxes", NULL};
            if (contains(output(f, i), tensorflow))
                head->order = AD_BOXES_Y0X0Y1X1;
            break;
        }
    return head->boxes >= 0 && (find_lists(f, n) || find_ssd(f, n));
}

static bool find_classes(struct finder *f)
{
    const struct ad_value *value = output(f, 0);
    int longer = 0;
    for (int i = 0; i < value->rank; i++)
        longer += value->dims[i] != 1;
    f->head->main = 0;
    return f->graph->noutputs == 1 && longer <= 1 && count_of(value) > 1 &&
           take(f, AD_HEAD_CLASSES, count_of(value));
}

/* The first output that has a point for each of many places. */
static bool find_map(struct finder *f)
{
    struct ad_head *head = f->head;
    bool four = f->rank4 >= 0;
    head->main = four ? f->rank4 : f->rank3;
    if (head->main < 0 || head->prototypes >= 0 || (!four && f->nrank3 != 1))
        return false;
    const int64_t *dims = output(f, head->main)->dims;
    const struct ad_value *input = &f->graph->values[f->graph->inputs[0]];
    head->channels_last = four && input->rank == 4 && input->dims[1] != 1 && input->dims[1] != 3;
    return dims[0] == 1 && take(f, AD_HEAD_MAP,
                                !four                 ? 1
                                : head->channels_last ? dims[3]
                                                      : dims[1]);
}

/* A task of Ultralytics' that none of the commands is for, such as oriented boxes, must not be
 * taken for one that has the same shapes. */
static enum adaps_status check_task(const struct finder *f, struct adaps_error *err)
{
    static const char *const known[] = {"detect", "segment", "pose", "classify"};
    const char *task = ad_graph_metadata(f->graph, "task");
    for (size_t i = 0; task && i < sizeof known / sizeof *known; i++)
        if (strcmp(task, known[i]) == 0)
            return ADAPS_OK;
    return !task ? ADAPS_OK
                 : ad_error_set(err, ADAPS_EINPUT,
                                "model metadata task = '%.40s': detect, segment, pose and classify "
                                "are supported",
                                task);
}

static void clear(struct finder *f, const struct ad_letterbox *input)
{
    *f->head = (struct ad_head){.width = input->width,
                                .height = input->height,
                                .main = -1,
                                .prototypes = -1,
                                .boxes = -1,
                                .scores = -1,
                                .class_numbers = -1,
                                .selected = -1,
                                .how_many = -1};
}

static enum adaps_status refuse(const struct finder *f, struct adaps_error *err)
{
    static const char *const wanted[] = {
        [AD_VISION_DETECT] = "a detector",
        [AD_VISION_CLASSIFY] = "a classifier (one output of scores by class)",
        [AD_VISION_SEGMENT] = "a segmenter (1 x classes x h x w, class numbers 1 x h x w, or a "
                              "detector with prototypes of masks)",
    };
    char list[512] = "", shape[128];
    size_t used = 0;
    for (int i = 0; i < f->graph->noutputs && used < sizeof list; i++) {
        const struct ad_value *value = output(f, i);
        used += (size_t)snprintf(list + used, sizeof list - used, "%s'%s' %s", i ? ", " : "",
                                 value->name,
                                 ad_dims_format(value->rank, value->dims, shape, sizeof shape));
    }
    const char *preset = f->options->preset ? f->options->preset->name : NULL;
    return ad_error_set(
        err, ADAPS_EINPUT, "the outputs are not those of %s%s%s for an input of %d x %d: %s%s",
        wanted[f->options->task], preset ? ", preset " : "", preset ? preset : "", f->head->width,
        f->head->height, list,
        preset || f->options->task != AD_VISION_DETECT ? "" : "; --preset may tell what they are");
}

enum adaps_status ad_head_find(struct ad_head *out, const struct ad_graph *graph,
                               const struct ad_letterbox *input,
                               const struct ad_head_options *options, struct adaps_error *err)
{
    struct finder f = {.graph = graph, .options = options, .head = out, .rank3 = -1, .rank4 = -1};
    for (int i = graph->noutputs - 1; i >= 0; i--) {
        int rank = output(&f, i)->rank;
        f.rank3 = rank == 3 ? i : f.rank3;
        f.rank4 = rank == 4 ? i : f.rank4;
        f.nrank3 += rank == 3;
        f.nrank4 += rank == 4;
    }
    f.ultralytics = ad_graph_metadata(graph, "task") && ad_graph_metadata(graph, "names");
    clear(&f, input);
    bool found = false;
    enum adaps_status status = f.ultralytics ? check_task(&f, err) : ADAPS_OK;
    if (status != ADAPS_OK)
        return status;
    if (options->task == AD_VISION_CLASSIFY) {
        found = find_classes(&f);
    } else {
        status = find_keypoints(&f, err);
        if (status != ADAPS_OK)
            return status;
        found = find_yolo(&f);
        if (!found && options->task == AD_VISION_DETECT) {
            clear(&f, input);
            found = find_boxes(&f);
        } else if (options->task == AD_VISION_SEGMENT && !(found && out->prototypes >= 0)) {
            clear(&f, input);
            found = find_map(&f);
        }
    }
    if (found && options->order)
        out->order = *options->order;
    return found ? ADAPS_OK : refuse(&f, err);
}
