#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nodelete.sh FILE...: these shared libraries stay loaded after dlclose.
code=0
for file; do
    LC_ALL=C readelf -d "$file" | grep -q 'FLAGS_1.*NODELETE' && continue
    echo "$file: dlclose would unload it"
    code=1
done
exit $code
