/* NumPy files. */
#include "fuzz.h"
#include "base/mem.h"
#include "io/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct adaps_error err = {0};
    struct ad_tensor tensor;
    enum adaps_status status = ad_npy_parse(data, size, "fuzz.npy", ADAPS_FLOAT32, &tensor, &err);
    fuzz_check_answer(status, ADAPS_EINPUT, &err);
    if (status != ADAPS_OK)
        return 0;
    FUZZ_CHECK(tensor.rank >= 0 && tensor.rank <= AD_MAX_RANK, "rank %d", tensor.rank);
    FUZZ_CHECK(tensor.count <= size, "%zu elements out of %zu bytes", tensor.count, size);
    size_t count = 1;
    for (int i = 0; i < tensor.rank; i++)
        FUZZ_CHECK(tensor.dims[i] >= 0 && ad_size_mul(count, (size_t)tensor.dims[i], &count),
                   "dimension %d", i);
    FUZZ_CHECK(count == tensor.count, "%zu elements, its shape has %zu", tensor.count, count);
    float sum = 0; /* every element is there */
    for (size_t i = 0; i < tensor.count; i++)
        sum += tensor.data[i];
    volatile float sink = sum;
    (void)sink;
    ad_tensor_fini(&tensor);
    fuzz_accepted++;
    return 0;
}
