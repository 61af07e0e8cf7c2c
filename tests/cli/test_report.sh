#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_report.sh COBRE HELPERS: cobre report, looked at by a real browser.
cases=$(realpath "$(dirname "$0")/../../cases")
. "$(dirname "$0")/../kit/lib.sh"
cd "$scratch" || exit 1

# The page as the browser understands it in dom.html; complaints, also of the page's own security policy, in log.
browse() { # browse PAGE
    "${within[@]}" chromium --headless --no-sandbox --disable-gpu --user-data-dir="$scratch/profile" \
        --enable-logging=stderr --dump-dom "file://$scratch/$1" >dom.html 2>log
    [ -s dom.html ] || fail "the browser says nothing: $(tail -3 log)"
    lacks -E 'CONSOLE|Refused to' log
}

count_is() { # count_is NUMBER TEXT: how often the text is in the page
    local count
    count=$(grep -oF -e "$2" dom.html | wc -l)
    [ "$count" = "$1" ] || fail "'$2' is there $count times, not $1"
}

case_whole() {
    cobre train "$cases/brazil3" -n 2 --iterations 20
    cobre simulate "$cases/brazil3" --trajectories 30
    cobre report brazil3-out
    code_is 0
    out_is brazil3-out/report.html
    browse brazil3-out/report.html
    count_is 1 'data-series="bound"'
    count_is 1 'data-series="simulated"'
    count_is 1 'data-series="interval"'
    # storage of four reservoirs and of all, marginal cost and water value of four: a fan each
    count_is 13 'data-series="median"'
    count_is 13 'data-series="inner"'
    count_is 13 'data-series="outer"'
    count_is 17 'class="chart"' # and convergence, times, costs, mix
    count_is 17 '<details>'
    count_is 17 'role="img"'
    grep -q 'rank 1</text>' dom.html || fail "no bar for rank 1"
    lacks -E 'NaN|[^a-z]nan|[^a-z]inf[^el]' dom.html
    lacks -E 'https?://|<script' brazil3-out/report.html # it needs nothing from elsewhere
    grep -q 'prefers-color-scheme: dark' dom.html || fail "not dark"
    # every path and rectangle could be drawn
    lacks -E '(d|x|y|width|height)=""' dom.html
}

case_only_training() {
    cobre train "$cases/brazil3" --iterations 2
    cobre report brazil3-out --out page.html
    code_is 0
    browse page.html
    count_is 2 'class="chart"'
    grep -q 'cobre simulate' dom.html || fail "no hint"
    count_is 1 'case <code>brazil3</code>'
}

case_names_are_text() {
    cobre train "$cases/brazil3" --iterations 2
    rm brazil3-out/run.json # nothing checks the table then
    sed -i 's/^name,.*/name,"<b>R\&D<\/b> ""x"""/' brazil3-out/summary.csv
    cobre report brazil3-out
    code_is 0
    browse brazil3-out/report.html
    grep -qF '<h1>&lt;b&gt;R&amp;D&lt;/b&gt; "x"</h1>' dom.html || fail "$(grep -o '<h1>.*</h1>' dom.html)"
    sed -i "s/^name,.*/name,x$(printf '\303\251%.0s' {1..300})/" brazil3-out/summary.csv # a long one, of 2 bytes a letter
    cobre report brazil3-out
    iconv -f UTF-8 -t UTF-8 brazil3-out/report.html >/dev/null || fail "a letter was cut in two"
    grep -q ' - cobre report</title>' brazil3-out/report.html || fail "the title was cut"
}

case_wrong() {
    cobre report
    code_is 2
    cobre report nowhere
    code_is 1
    err_has "cobre report: nowhere: No such file or directory"
    mkdir empty
    cobre report empty
    code_is 1
    gone empty/report.html || fail "an empty page"
    cobre report empty --color
    code_is 2
}

run_cases "${@:3}"
