/* Messages: the first 48 bytes are a frame's head (all, when there are fewer), the rest its
 * payload. A head that is accepted must come out of the encoder as it went in. */
#include "fuzz.h"
#include "wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct adaps_error err = {0};
    struct ad_frame frame, expected;
    uint8_t again[AD_FRAME_BYTES];
    size_t head = size < AD_FRAME_BYTES ? size : AD_FRAME_BYTES, payload = size - head;
    enum adaps_status status = ad_frame_decode(data, head, &frame, &err);
    fuzz_check_answer(status, ADAPS_EAGENT, &err);
    if (status != ADAPS_OK)
        return 0;
    ad_frame_encode(&frame, again);
    FUZZ_CHECK(memcmp(data, again, sizeof again) == 0, "encoded again it differs");
    FUZZ_CHECK(strcmp(ad_frame_type_name(frame.type), "?") != 0, "type %d has no name", frame.type);

    uint64_t checksum = ad_frame_checksum(0, data + head, payload);
    status = ad_frame_check(&frame, payload, checksum, &err);
    fuzz_check_answer(status, ADAPS_EAGENT, &err);
    FUZZ_CHECK((status == ADAPS_OK) == (frame.length == payload && frame.checksum == checksum),
               "status %d", (int)status);

    expected = frame;
    FUZZ_CHECK(ad_frame_match(&frame, &expected, &err) == ADAPS_OK, "%s", err.message);
    expected.inference++;
    FUZZ_CHECK(ad_frame_match(&frame, &expected, &err) == ADAPS_NO, "an old frame is taken");
    expected = frame;
    expected.session ^= 1;
    FUZZ_CHECK(ad_frame_match(&frame, &expected, &err) == ADAPS_NO, "a stranger's frame is taken");
    expected = frame;
    expected.length ^= 1;
    FUZZ_CHECK(ad_frame_match(&frame, &expected, &err) == ADAPS_EAGENT, "a wrong length is taken");
    fuzz_accepted++;
    return 0;
}
