#!/bin/sh
# embed.sh CSS JS: the page's style sheet and script as C strings, on the standard output.
set -eu

# embed NAME FILE
embed() {
    printf 'const char %s[] =\n' "$1"
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n"/' "$2"
    printf '    ;\n'
}

echo '/* Made by embed.sh. */'
echo '#include "report/page/internal.h"'
embed ad_page_css "$1"
embed ad_page_js "$2"
