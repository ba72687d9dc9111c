/* AutoDiCE's platform specification: a text file with a line for each host,
 *
 *   edge05, arm, slots=0-3, gpu=ArmMali-G610 (VULKAN)
 *
 * as its paper has it, or NAME:ADDRESS, as its repository has it. Empty lines and those that begin
 * with '#' say nothing; what is said of GPUs is not used. */
#ifndef AD_SEARCH_GIVEN_PLATFORM_H
#define AD_SEARCH_GIVEN_PLATFORM_H

#include "cost/cluster.h"
#include "search/given/mapping.h"

/* Gives the cluster what a mapping's keys say: devices that only the platform file has are added
 * (arm as a pi4, x86 as an x86 board), and every device that keys name computes with as many
 * threads as they have cores together. platform: NULL: there is no file; devices_path: the devices
 * file's, for boards. ADAPS_EINPUT names the line or the key: a host twice, a line of another form,
 * a device that neither file has, a core that the host does not have. */
AD_MUST_CHECK enum adaps_status ad_platform_apply(const char *platform, const char *devices_path,
                                                  const struct ad_layer_mapping *mapping,
                                                  struct ad_cluster *cluster,
                                                  struct adaps_error *err);

#endif
