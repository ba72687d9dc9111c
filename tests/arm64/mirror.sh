# shellcheck shell=sh
# Sourced. Sets mirror: $MIRROR, or the Debian mirror that apt is configured with.
# shellcheck disable=SC2016
mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
    'Label: Debian' 2>/dev/null | head -n 1)}
mirror=${mirror:-http://deb.debian.org/debian/}
