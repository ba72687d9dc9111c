/* Requests of Frigate: a header, a NUL byte, and a tensor for a network of 3 x 2 pixels. An
 * accepted tensor becomes levels of the network or the floats that came. */
#include "fuzz.h"
#include "serve/frigate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ad_letterbox network = {.width = 3,
                                   .height = 2,
                                   .type = ADAPS_FLOAT32,
                                   .rank = 4,
                                   .dims = {1, 3, 2, 3},
                                   .levels.channels = 3};
    struct adaps_error err = {0};
    struct ad_frigate_request request;
    struct ad_tensor tensor = {0};
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    size_t head = end ? (size_t)(end - data) : size;
    enum adaps_status status = ad_frigate_parse(data, head, &request, &err);
    fuzz_check_answer(status, ADAPS_EINPUT, &err);
    if (status != ADAPS_OK)
        return 0;
    if (request.kind != AD_FRIGATE_TENSOR) {
        FUZZ_CHECK(memchr(request.model, 0, sizeof request.model), "the name has no end");
        fuzz_accepted++;
        return 0;
    }
    for (int c = 0; c < 3; c++)
        for (int byte = 0; byte < 256; byte++)
            network.levels.level[c][byte] = (float)(c * 256 + byte);
    size_t bytes = end ? size - head - 1 : 0;
    status = ad_frigate_fill(&request, end ? end + 1 : data, bytes, &network, &tensor, &err);
    fuzz_check_answer(status, ADAPS_EINPUT, &err);
    if (status != ADAPS_OK)
        return 0;
    FUZZ_CHECK(bytes == (request.bytes ? 18 : 72), "%zu bytes are taken", bytes);
    for (int i = 0; request.bytes && i < 18; i++)
        FUZZ_CHECK(tensor.data[i] >= (float)(i / 6 * 256) &&
                       tensor.data[i] < (float)(i / 6 * 256 + 256),
                   "element %d is no level of its channel", i);
    ad_tensor_fini(&tensor);
    fuzz_accepted++;
    return 0;
}
