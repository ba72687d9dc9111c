/* Pictures of a camera's motion JPEG stream, with Huffman tables or without. */
#include "fuzz.h"
#include "base/mem.h"
#include "io/camera.h"

#define MOST_BYTES ((size_t)8 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct adaps_error err = {0};
    struct ad_source_frame frame = {0};
    ad_mem_limit(MOST_BYTES); /* a small file may announce a large picture */
    enum adaps_status status = ad_mjpeg_load(data, size, "/dev/fuzz", &frame, &err);
    if (ad_mem_limit_end(NULL) && status == ADAPS_EINTERNAL)
        return 0;
    fuzz_check_answer(status, ADAPS_EINPUT, &err);
    if (status != ADAPS_OK)
        return 0;
    const struct ad_image *image = &frame.image;
    FUZZ_CHECK(image->channels == 3 && image->width > 0 && image->height > 0, "its shape");
    size_t count = (size_t)image->width * (size_t)image->height * 3;
    unsigned sum = 0; /* every byte is there */
    for (size_t i = 0; i < count; i++)
        sum += image->pixels[i];
    volatile unsigned sink = sum;
    (void)sink;
    ad_source_frame_fini(&frame);
    fuzz_accepted++;
    return 0;
}
