/* External data: tensors whose bytes are in files beside the model. */
#ifndef AD_ONNX_EXTERNAL_H
#define AD_ONNX_EXTERNAL_H

#include "onnx/model.h"

/* Opens the files that the model's tensors name, and makes their bytes the tensors' stored ones:
 * from then on they are like large tensors of the model's own file. Files must lie in the model's
 * folder or below, without "..", and neither they nor folders on the way may be symbolic links.
 * ADAPS_EINPUT names tensor, file and reason. */
AD_MUST_CHECK enum adaps_status ad_onnx_external_find(struct ad_onnx_model *model,
                                                      struct adaps_error *err);
void ad_onnx_external_fini(struct ad_onnx_external *external);

#endif
