/* The version, apart from the rest of the public interface: agents tell it, too. */
#include "adaps.h"

const char *adaps_version(void)
{
    return ADAPS_VERSION;
}
