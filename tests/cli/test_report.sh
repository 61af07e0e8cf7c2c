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

# What is wrong with the page on a screen so wide, as the browser sees it: texts that overlap or leave their picture, too
# little contrast, and what is wider than the screen. The style for paper takes the place of that for the screen with "paper".
look() { # look PAGE WIDTH [dark|light] [paper]
    local -a scheme=()
    cp "$1" seen.html
    [ "${4-}" != paper ] || sed -i 's/@media print/@media screen/' seen.html
    [ "${3-}" != dark ] || scheme=(--blink-settings=preferredColorScheme=0)
    sed "s/WIDTH/$2/g" >look.html <<'END'
<!DOCTYPE html><body><iframe id="frame" src="seen.html" style="border:0;width:WIDTHpx;height:9000px"></iframe>
<script>
function numbers(colour) { return colour.match(/[\d.]+/g).map(Number); }
function light(colour) {
    const [r, g, b] = numbers(colour).map(x => x / 255).map(x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
}
function ground(element, window) {
    for (; element; element = element.parentElement) {
        const colour = window.getComputedStyle(element).backgroundColor, parts = numbers(colour);
        if (parts.length < 4 || parts[3] > 0)
            return colour;
    }
    return "rgb(255, 255, 255)";
}
onload = () => {
    const page = frame.contentDocument, window = frame.contentWindow, wrong = [];
    const has = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    if (page.documentElement.scrollWidth > WIDTH)
        wrong.push("it is " + page.documentElement.scrollWidth + " wide");
    for (const svg of page.querySelectorAll("svg.chart")) {
        const frame = svg.getBoundingClientRect(), title = svg.querySelector("title").textContent;
        const texts = [...svg.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
        texts.forEach(([text, box], i) => {
            if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 2)
                wrong.push(title + ": " + text + " leaves the picture");
            for (const [other, place] of texts.slice(i + 1))
                if (has(box, place))
                    wrong.push(title + ": " + text + " and " + other + " overlap");
        });
    }
    for (const table of page.querySelectorAll(".tables .scroll"))
        if (table.scrollWidth > table.clientWidth + 1 && WIDTH >= 1000)
            wrong.push("a table must be scrolled: " + table.textContent.slice(0, 40));
    for (const element of page.querySelectorAll("h1, h2, h3, p, dt, dd, th, td, small, li, summary, footer, text")) {
        const style = window.getComputedStyle(element), svg = element instanceof window.SVGElement;
        const pair = [light(svg ? style.fill : style.color), light(ground(element, window))].sort((a, b) => b - a);
        if ((pair[0] + .05) / (pair[1] + .05) < 4.5)
            wrong.push("contrast: " + element.textContent.slice(0, 40));
    }
    const dark = light(window.getComputedStyle(page.body).backgroundColor) < .1;
    document.body.innerHTML = "<pre>ground " + (dark ? "dark" : "light") + "\npictures " +
        page.querySelectorAll("svg.chart").length + "\nshown " +
        [...page.querySelectorAll("details")].filter(d => d.offsetHeight > 0).length + "\n" +
        [...new Set(wrong)].map(w => "wrong: " + w).join("\n") + "</pre>";
};
</script>
END
    "${within[@]}" chromium --headless --no-sandbox --disable-gpu --user-data-dir="$scratch/profile" "${scheme[@]}" \
        --allow-file-access-from-files --virtual-time-budget=20000 --dump-dom "file://$scratch/look.html" >looked 2>log
    grep -q "^pictures [1-9]" looked || fail "the browser has seen no picture: $(tail -3 looked log)"
    lacks "^wrong: " looked
    [ -z "${3-}" ] || grep -q "ground $3" looked || fail "it is not $3: $(cat looked)"
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
    # stored energy, spill and inflow of four subsystems and of all, marginal cost and water values of four: a fan each, if they
    # are not always 0
    count_is 5 'aria-label="Numbers"><table><thead><tr><th scope="col"></th><th scope="col">hydro generation'
    local fans
    fans=$(grep -oF 'data-series="median"' dom.html | wc -l)
    [ "$fans" -ge 15 ] || fail "$fans fans"
    count_is "$fans" 'data-series="inner"'
    count_is "$fans" 'data-series="outer"'
    count_is 5 'data-series="capacity"'
    count_is 1 '<h2>Did it converge?</h2>'
    count_is 1 '<h3>Cost by component</h3>'
    grep -q 'rank 1</text>' dom.html || fail "no bar for rank 1"
    lacks -E 'NaN|[^a-z]nan|[^a-z]inf[^el]' dom.html
    lacks -E 'https?://|<script' brazil3-out/report.html # it needs nothing from elsewhere
    grep -q 'prefers-color-scheme: dark' dom.html || fail "not dark"
    # every path and rectangle could be drawn
    lacks -E '(d|x|y|width|height)=""' dom.html
    grep -q '>marginal cost, \$/MWmonth</text>' dom.html || fail "no unit of the marginal cost"
    grep -q '>stage</text>' dom.html || fail "no name of the axis of stages"
    look brazil3-out/report.html 360 light
    look brazil3-out/report.html 1280 dark
    look brazil3-out/report.html 700 light paper
    grep -q "^shown 0$" looked || fail "numbers are printed: $(cat looked)"
}

# brazil3 begins in January. Prices are in the currency of the case, though the costs of its LPs are scaled.
case_dates() {
    cp -r "$cases/brazil3" dated
    sed -i 's/"stages":/"start": "2027-01", "currency": "R$", "stages":/' dated/case.json
    cobre train dated --iterations 5
    cobre simulate dated --trajectories 40
    cobre report dated-out
    code_is 0
    browse dated-out/report.html
    grep -q 'Jan 2027 to Mar 2027, 3 stages' dom.html || fail "no dates in the header"
    grep -q '<text class="tick"[^>]*>Feb 2027</text>' dom.html || fail "no dates on an axis"
    grep -q '<th scope="row">Mar 2027</th>' dom.html || fail "no dates in a table"
    grep -q '>marginal cost, R\$/MWmonth</text>' dom.html || fail "no unit of the marginal cost"
    lacks -F '>stage</text>' dom.html
    look dated-out/report.html 360
}

# With a risk measure a bound is one of another cost than that of the trajectories.
case_averse() {
    cobre train "$cases/brazil3" --iterations 15 --cvar 0.1,0.5
    cobre simulate "$cases/brazil3" --trajectories 40
    cobre report brazil3-out
    code_is 0
    browse brazil3-out/report.html
    lacks -iE 'lower bound|upper bound' dom.html
    lacks -F '>bound</text>' dom.html # in the picture of the costs
    grep -q 'Bound of the risk-averse cost' dom.html || fail "no bound"
    grep -q '>Risk-averse</p>' dom.html || fail "no verdict"
}

# Any other problem has states and variables.
case_without_names() {
    cobre train "$cases/gas.sof.json" --iterations 20
    cobre simulate "$cases/gas.sof.json" --trajectories 40
    cobre report gas-out
    code_is 0
    browse gas-out/report.html
    count_is 1 '<h2>States</h2>'
    count_is 1 '<h2>Variables</h2>'
    grep -q 'Upper bound' dom.html || fail "it maximises"
    look gas-out/report.html 360
}

case_size() { # slow
    cp -r "$cases/../tests/cases/hydros150" wide
    sed -i 's/"stages": 3/"stages": 60/; s/"openings": 4/"openings": 1/' wide/case.json
    cobre train wide --iterations 1
    cobre simulate wide --trajectories 2
    cobre report wide-out
    code_is 0
    local size
    size=$(stat -c %s wide-out/report.html)
    [ "$size" -lt 2000000 ] && [ "$size" -gt 200000 ] || fail "$size bytes"
}

case_several() {
    cobre train "$cases/brazil3" --iterations 15 --out neutral
    cobre train "$cases/brazil3" --iterations 15 --cvar 0.1,0.5 --out averse
    cobre simulate "$cases/brazil3" --policy neutral/policy.cobre --trajectories 100
    cobre simulate "$cases/brazil3" --policy averse/policy.cobre --trajectories 100
    cobre report neutral averse neutral
    code_is 0
    out_is compare.html
    browse compare.html
    lacks -E 'NaN|[^a-z]nan|[^a-z]inf[^el]' dom.html
    lacks -E 'https?://|<script' compare.html
    count_is 3 '<article class="answer'
    grep -q 'larger than the error' dom.html || fail "no difference"
    grep -q 'within the error' dom.html || fail "a run differs from itself"
    grep -q 'Total cost' dom.html || fail "no costs"
    local lines
    lines=$(grep -oF 'data-series="run"' dom.html | wc -l)
    [ "$lines" -ge 21 ] && [ $((lines % 3)) = 0 ] || fail "$lines lines"
    look compare.html 360 light
    look compare.html 1280 dark
    cobre report neutral averse --out both.html
    out_is both.html
    cobre report neutral nowhere
    code_is 1
    err_has "nowhere: No such file or directory"
    mkdir empty
    cobre report neutral empty
    code_is 1
    err_has "empty: no summary.csv"
    cobre report 1 2 3 4 5 6 7
    code_is 2
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
    local name
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
    # a subsystem with such a name, which is cut in titles of pictures and in tips
    cp -r "$cases/toy" long
    name=$(printf '\303\251%.0s' {1..49})
    sed -i "s/\"main\"/\"x$name\"/" long/case.json
    sed -i "s/\bmain\b/x$name/g" long/*.csv
    cobre train long --iterations 2
    code_is 0
    cobre simulate long --trajectories 40
    cobre report long-out
    cobre report long-out long-out
    iconv -f UTF-8 -t UTF-8 long-out/report.html compare.html >/dev/null || fail "a letter was cut in two"
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
