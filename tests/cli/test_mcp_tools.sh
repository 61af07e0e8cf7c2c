#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_mcp_tools.sh COBRE HELPERS: tools of `cobre mcp` that look at cases, runs and policies. Their facts are compared with those of
# the command line, or computed again from the files.
root=$(realpath "$(dirname "$0")/../..")
. "$(dirname "$0")/../kit/lib.sh"
cd "$scratch" || exit 1

# studies: a folder with the cases start and cascade, and run, which is start trained and simulated; more_runs: averse, which is
# start with a risk measure.
studies() {
    mkdir -p "$scratch/studies"
    cd "$scratch/studies" || exit 1
    cp -r "$root/cases/start" "$root/cases/cascade" "$root/cases/gas.sof.json" .
    quietly train start --iterations 20 --out run
    quietly simulate start --policy run/policy.cobre --trajectories 60
}
more_runs() {
    quietly train start --iterations 20 --cvar 0.2,0.5 --out averse
    quietly simulate start --policy averse/policy.cobre --trajectories 60
}
quietly() { "${within[@]}" "$cobre" "$@" >/dev/null || fail "cobre $*"; }

# client <<END: a program in Python, in the folder of the studies; `server` is there, and `tell` runs a command with --json.
client() {
    printf 'leak:lib%s\n' fontconfig pango glib gobject cairo rsvg >"$scratch.leaks" # what draws keeps fonts until the end
    "${within[@]}" LSAN_OPTIONS="suppressions=$scratch.leaks:print_suppressions=0" COBRE="$cobre" SCHEMAS="$root/../shared/mcp" PYTHONPATH="$root/tests/kit" PYTHONDONTWRITEBYTECODE=1 \
        /usr/bin/python3 -c "from mcp import *
import csv, re, time
def tell(*words):
    return json.loads(subprocess.run([os.environ['COBRE'], *words, '--json'], check=True, capture_output=True).stdout)
def table(path):
    return list(csv.DictReader(line for line in open(path) if not line.startswith('#')))
def near(a, b):
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b))
def same(a, b):
    'As JSON with 15 digits has it.'
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return near(a, b) if isinstance(a, float) and isinstance(b, float) else a == b
class Said:
    'An answer: its facts, and its words.'
    def __init__(self, result):
        self.words, self.facts = result['content'][0]['text'].split('\n\n')[0], result['structuredContent']
def said(tool, **given):
    return Said(server.request('tools/call', {'name': tool, 'arguments': given}))
server = Server('--root', '.')
server.initialize()
$(cat)
server.alive()
server.close()" 2>"$scratch.err" || fail "$(tail -c 1500 "$scratch.err")"
    lacks -E 'Sanitizer|runtime error' "$scratch.err"
}

# What a list tells of cases and runs; names that are long, and paths that are no text.
case_list() {
    studies
    quietly train start --iterations 5 --cvar 0.2,0.5 --out averse
    quietly simulate start --policy averse/policy.cobre --trajectories 5 --stage 3
    sed 's/"name": "[^"]*"/"name": "'"$(printf 'é%.0s' {1..3000})"'"/' start/case.json >long.json
    for i in {1..120}; do mkdir "case-$i"; cp long.json "case-$i/case.json"; done
    mkdir "$(printf 'bad\xff')"
    cp start/case.json "$(printf 'bad\xff')"
    client <<'END'
rows = {os.path.basename(row["path"]): row for row in server.call("list_studies", kind="run")["studies"]}
here = os.path.abspath(".")
assert rows["run"] == {"kind": "run", "path": f"{here}/run", "name": "My case", "case": f"{here}/start", "state": "finished", "iterations": 20,
                       "risk": "none", "policy": f"{here}/run/policy.cobre", "simulated": True, "start": "where the case begins"}, rows
assert rows["averse"]["risk"] == "cvar 0.2,0.5" and rows["averse"]["start"] == "from stage 3, in the initial state", rows
text = server.request("tools/call", {"name": "list_studies", "arguments": {"kind": "run"}})["content"][0]["text"]
assert text.startswith("2 runs found"), text[:80]
seen, offset = {}, 0
while offset is not None:
    page = server.call("list_studies", kind="case", limit=1000, offset=offset)
    seen.update({row["path"]: row["name"] for row in page["studies"]})
    offset = page["next_offset"]
assert len(seen) == page["count"] == 123 and page["left_out"] == 1, page
assert seen[f"{here}/case-7"] == "é" * 100 + "..." and seen[f"{here}/gas.sof.json"].startswith("Gas store")
server.refused("inspect_case", f"nearest match: {here}/cascade", "field: case", case="cascad")
server.refused("query_results", f"nearest match: {here}/averse", run="averze")
END
}

case_decide() {
    studies
    client <<'END'
question = dict(stage=3, state="Upper=50%", inflow="Lower=120%")
facts = server.call("decide", case="start", policy="run", **question)
command = tell("decide", "start", "--policy", os.path.abspath("run/policy.cobre"), "--stage", "3", "--state", "Upper=50%",
               "--inflow", "Lower=120%")
assert facts.pop("next_offset") is None and facts.pop("elements") == sum(map(len, command["decision"].values()))
assert same(facts, command), (facts, command)
one = server.call("decide", case="start", policy="run/policy.cobre", element="Upper")
assert list(one["decision"]) == ["hydro"] and list(one["decision"]["hydro"]) == ["Upper"] and one["elements"] == 1
pages, offset = [], 0
while offset is not None:
    page = server.call("decide", case="start", policy="run", limit=2, offset=offset)
    pages += [name for elements in page["decision"].values() for name in elements]
    offset = page["next_offset"]
assert len(pages) == page["elements"] and len(set(pages)) == len(pages), pages
refused = lambda *words, **given: server.refused("decide", *words, **{"case": "start", "policy": "run", **given})
refused("element", "Uper", "nearest match: Upper", element="Uper")
refused('did you mean "Upper"', state="Uper=3")
refused("a table cannot be given", "field: state", state="../x.CSV")
refused("a table cannot be given", "field: inflow", inflow="/etc/x.csv")
refused("only one of them", stage=1, date="2027-03")
refused("stage", stage=99)
refused("nearest match: policy", pollicy="run")
refused("policy.cobre", "allowed", policy="start")
refused("belongs to another problem", case="cascade")
refused("validate_case", case="run")
refused("outside", case="/etc")
END
}

case_compare() {
    studies
    more_runs
    client <<'END'
facts = server.call("compare_runs", runs=["run", "averse"], limit=1000)
command = tell("compare", os.path.abspath("run"), os.path.abspath("averse"))
rows = facts.pop("rows")
while facts["next_offset"] is not None:
    facts = server.call("compare_runs", runs=["run", "averse"], limit=1000, offset=facts["next_offset"])
    rows += facts.pop("rows")
assert facts["row_count"] == len(rows) and same(rows, command["rows"])
assert same(facts["runs"], command["runs"]) and same(facts["notes"], command["notes"])
mean = lambda run: sum(float(row["cost"]) for row in table(f"{run}/costs.csv")) / 60
cost = next(row for row in rows if row["kind"] == "cost" and row["level"] == "system")
assert near(cost["runs"][0]["value"], mean("run")) and near(cost["runs"][1]["difference"], mean("averse") - mean("run"))
stages = server.call("compare_runs", runs=["run", "averse"], by="stage", kind="marginal_cost")
assert {row["kind"] for row in stages["rows"]} == {"marginal_cost"} and stages["rows"][0]["stage"] == 1
assert server.call("compare_runs", runs=["run/policy.cobre", "averse/policy.cobre"])["rows"][0]["over"] == "training"
server.refused("compare_runs", "nearest match: storage", "field: kind", runs=["run", "averse"], kind="storag")
server.refused("compare_runs", "needs a kind", runs=["run", "averse"], by="stage")
server.refused("compare_runs", "2 to 8", runs=["run"])
server.refused("compare_runs", "more than 8", runs=["run"] * 9)
server.refused("compare_runs", "outside", "field: runs", runs=["run", "/etc"])
server.refused("compare_runs", "nearest match: stage", runs=["run", "averse"], by="stages")
END
}

case_policy() {
    studies
    quietly train start --iterations 10 --multi-cut --out multi
    client <<'END'
facts = server.call("inspect_policy", policy="run")
command = tell("policy", os.path.abspath("run/policy.cobre"))
assert all(same(facts[key], command[key]) for key in command), (facts, command)
cuts = list(csv.DictReader(subprocess.run([os.environ["COBRE"], "policy", "run/policy.cobre", "--export", "csv"], check=True,
                                          capture_output=True, text=True).stdout.splitlines()))
assert [stage["cuts"] for stage in facts["stages"]] == [sum(cut["node"] == str(n) for cut in cuts) for n in range(1, 13)]
for policy in ["run", "multi"]:  # the state that a decision leaves: its future cost is that of the cuts
    decision = server.call("decide", case="start", policy=policy, stage=4, state="Upper=30%")
    storage = decision["decision"]["hydro"]["Upper"]["storage"]
    facts = server.call("inspect_policy", policy=policy, case="start", stage=4, state=f"Upper={storage!r}", limit=1000)
    assert near(facts["future_cost"], decision["future_cost"]), (facts["future_cost"], decision["future_cost"])
    assert facts["active_cuts"] >= 1 and facts["cuts"][0]["active"]
heights = lambda at: [float(c["intercept"]) + float(c["storage[Upper]"]) * at for c in cuts if c["node"] == "4"]
facts = server.call("inspect_policy", policy="run", case="start", stage=4, state="Upper=1700", limit=1000)
assert near(facts["future_cost"], max(heights(1700))) and facts["stage_cuts"] == len(heights(0))
assert [cut["height"] for cut in facts["cuts"]] == sorted((cut["height"] for cut in facts["cuts"]), reverse=True)
water, = facts["water_values"]
assert [level["percent"] for level in water["levels"]] == list(range(0, 101, 10)) and water["unit"] == "$/hm3"
for level in water["levels"]:
    best = max(heights(level["storage"]))
    slope = next(float(c["storage[Upper]"]) for c, h in zip([c for c in cuts if c["node"] == "4"], heights(level["storage"]))
                 if h == best)
    assert near(level["future_cost"], best) and near(level["value"], -slope), (level, best, slope)
values = [level["value"] for level in water["levels"]]
assert values == sorted(values, reverse=True) and values[0] > values[-1] >= 0
last = server.call("inspect_policy", policy="run", case="start", stage=12)
assert last["future_cost"] is None and last["cuts"] == [] and last["water_values"] == []
page = server.call("inspect_policy", policy="run", stage=2, limit=3, offset=3)
assert len(page["cuts"]) == 3 and page["next_offset"] == 6
server.refused("inspect_policy", "no stage 13", policy="run", stage=13)
server.refused("inspect_policy", "needs the case", policy="run", state="Upper=3")
server.refused("inspect_policy", 'did you mean "Upper"', policy="run", case="start", state="Uper=3")
server.refused("inspect_policy", "there is no node", "allowed: 1, 2", policy="run", node="none")
server.refused("inspect_policy", "field: policy", policy="start/hydros.csv")
END
}

case_results() {
    studies
    quietly train cascade --iterations 10 --out blocks
    quietly simulate cascade --policy blocks/policy.cobre --trajectories 20 --tables variables
    client <<'END'
rows = table("run/statistics.csv")
column = dict(mean="mean", deviation="deviation", min="minimum", max="maximum", p5="p5", p25="p25", p50="p50", p75="p75",
              p95="p95", positive="positive")
for statistic, name in column.items():
    facts = server.call("query_results", run="run", kind="storage", statistic=statistic)
    expected = [float(row[name]) for row in rows if row["kind"] == "storage" and row["step"]]
    assert [row["value"] for row in facts["rows"]] == expected, (statistic, facts["rows"], expected)
    assert [row["date"] for row in facts["rows"]][:2] == ["2027-01-01", "2027-02-01"] and facts["trajectories"] == 60
dry = server.call("query_results", run="run", kind="storage", by="element", statistic="min")["rows"]
low = min((row for row in rows if row["kind"] == "storage" and row["step"]), key=lambda row: float(row["minimum"]))
assert dry[0]["element"] == "Upper" and dry[0]["value"] == float(low["minimum"]) and dry[0]["stage"] == int(low["stage"])
mean = server.call("query_results", run="run", kind="marginal_cost", by="element", stages={"from": 2, "to": 4})["rows"][0]
expected = [float(row["mean"]) for row in rows if row["kind"] == "marginal_cost" and row["step"] in ("2", "3", "4")]
assert near(mean["value"], sum(expected) / 3)
costs = sorted(float(row["cost"]) for row in table("run/costs.csv"))
total = server.call("query_results", run="run", kind="cost", level="system", by="total", statistic="max")["rows"]
assert abs(total[0]["value"] / costs[-1] - 1) < 1e-8 and total[0]["unit"] == "$"
none = server.call("query_results", run="run", kind="storage", by="total")
assert none["rows"] == [] and "do not add up" in none["note"]
seen, offset = 0, 0
while offset is not None:  # everything, page by page
    page = server.call("query_results", run="run", limit=1000, offset=offset)
    seen, offset = seen + len(page["rows"]), page["next_offset"]
assert seen == page["row_count"] == sum(bool(row["step"]) for row in rows) > 200
facts = server.call("query_results", run="blocks", kind="hydro_generation", by="block", element="head", statistic="mean")
values = {}
for row in table("blocks/variables.csv"):
    if row["kind"] == "hydro_generation" and row["element"] == "head":
        values.setdefault(row["block"], []).append(float(row["value"]))
assert {row["block"] for row in facts["rows"]} == {"peak", "middle", "low"}
assert all(abs(row["value"] - sum(values[row["block"]]) / len(values[row["block"]])) < 1e-6 for row in facts["rows"])
refused = lambda *words, **given: server.refused("query_results", *words, **{"run": "run", **given})
refused("no duals.csv", 'simulate', 'tables "duals"', run="blocks", kind="marginal_cost", by="block")
refused("whole stages", "ask by stage", run="blocks", kind="storage", by="block")
refused("need a kind", by="block")
refused("nearest match: storage", "field: kind", kind="storge")
refused("nearest match: storage", "field: kind", kind="reservoir_storage")
refused("nearest match: Upper", "field: element", kind="storage", element="Uper")
refused("field: level", "allowed: system, component", kind="cost", level="subsystem")
refused("p50", statistic="median")
refused("holds no results", "list_studies", run="start")
refused("outside", run="/etc")
END
}

case_validate_parts() {
    studies
    sed -i 's/^Upper,main,0.8/Upper,main,-1/' start/hydros.csv
    client <<'END'
whole = server.call("validate_case", case="start")
assert not whole["valid"] and whole["errors"] == 1 and whole["elsewhere"] == 0
facts = server.call("validate_case", case="start", table="load.csv")
assert facts["valid"] and facts["errors"] == 0 and facts["elsewhere"] == 1 and facts["problems"] == [], facts
facts = server.call("validate_case", case="start", table="hydros.csv")
assert not facts["valid"] and facts["problems"] == whole["problems"]
server.refused("validate_case", "nearest match: load.csv", "field: table", case="start", table="load")
open("bad.csv", "w").write("scenario,stage,nobody\n1,1,5\n")
open("good.csv", "w").write("scenario,stage,head,gorge,mouth\n" + "".join(f"1,{t},500,80,200\n" for t in range(1, 13)))
facts = server.call("validate_case", case="cascade", scenarios="bad.csv")
assert not facts["valid"] and facts["problems"][0]["file"].endswith("bad.csv"), facts
assert server.call("validate_case", case="cascade", scenarios="good.csv")["valid"]
server.refused("validate_case", "outside", "field: scenarios", case="cascade", scenarios="/etc/passwd")
END
}

# What the command line warns about, a tool tells, too, and costs have their unit.
case_warnings() {
    studies
    client <<'END'
first = server.call("train", case="start", iterations=5, out="short")
assert "warnings" not in first and first["cost_unit"] == "$"
again = said("train", case="start", iterations=5, resume="cobre-output/short/policy.cobre", out="again")
assert again.facts["warnings"] == ["the policy had 5 iterations before: give more than that to go on (iterations)"], again.facts
assert "give more than that to go on (iterations)" in again.words and " $" in again.words and "--" not in again.words, again.words
same = said("simulate", case="start", policy="run", sampling="out-of-sample", trajectories=40, out="same")
assert "out-of-sample is the same as in-sample" in same.words and len(same.facts["warnings"]) == 1, same.words
assert same.facts["cost_unit"] == "$" and " $" in same.words
server.call("edit_case", case="start", name="other", changes=[{"table": "load.csv", "row_number": 1, "column": "main", "value": 700}])
other = said("simulate", case="cobre-output/other", policy="run", trajectories=40, out="elsewhere")
assert "was trained for another case" in other.words and "was trained for another case" in other.facts["warnings"][0]
decision = said("decide", case="cobre-output/other", policy="run")
assert decision.words.startswith("The policy was trained for another case: " + decision.facts["difference"]), decision.words
plain = said("decide", case="start", policy="run", state="Upper=10%")
assert re.search(r"cost [0-9.]+ \$ now, [0-9.]+ \$ expected from then on\.$", plain.words), plain.words
END
}

# Runs that begin elsewhere, of other samples, or of other cases are told apart; and where a simulation begins.
case_unlike() {
    studies
    client <<'END'
server.call("simulate", case="start", policy="run", trajectories=60, state="Upper=10%", out="low")
server.call("simulate", case="start", policy="run", trajectories=40, out="few")
server.call("simulate", case="start", policy="run", trajectories=60, state="Upper=1800", stage=1, out="same")
server.call("edit_case", case="start", name="other", changes=[{"table": "load.csv", "row_number": 1, "column": "main", "value": 700}])
server.call("train", case="cobre-output/other", iterations=5, out="trained")
notes = lambda run: server.call("compare_runs", runs=["run", f"cobre-output/{run}"])["notes"]
start = "storage given for 1 of 1 reservoir (Upper 660 hm3)"
low = said("compare_runs", runs=["run", "cobre-output/low"])
expected = f"low was simulated from another beginning ({start}) than run (where the case begins)"
assert expected in low.facts["notes"][0] and expected in low.words, low.words
assert notes("few")[0].startswith("run has 60 trajectories and few has 40: they are not compared in pairs"), notes("few")
assert notes("same") == [], notes("same")
other = notes("trained")
assert any(note.startswith("The runs are of different cases") for note in other), other
assert any("has not been simulated" in note for note in other) and not any("`cobre" in note or "--" in note for note in other)
results = said("query_results", run="cobre-output/low", kind="cost", by="total")
assert results.facts["start"] == start and start in results.words
assert server.call("query_results", run="run", kind="cost")["start"] is None
assert server.call("query_convergence", run="cobre-output/low")["simulation"]["start"] == start
rows = {row["kind"]: row["runs"][1] for row in reversed(low.facts["rows"])}
assert rows["bound"]["significant"] is None and rows["cost"]["significant"] is True and rows["cost"]["count"] == 60
assert isinstance(rows["cost"]["count"], int) and low.facts["rows"][0]["unit"] == "$"
policies = server.call("compare_runs", runs=["cobre-output/trained", "cobre-output/trained"])
assert [row["unit"] for row in policies["rows"] if row["kind"] == "bound"] == ["$"]
END
}

# Which reservoirs run dry? With more load the upper one does.
case_dry() {
    studies
    client <<'END'
load = [{"table": "load.csv", "row_number": n, "column": "main", "value": 950} for n in range(1, 13)]
server.call("edit_case", case="start", name="thirsty", changes=load)
server.call("train", case="cobre-output/thirsty", iterations=10, out="dry")
server.call("simulate", case="cobre-output/thirsty", policy="cobre-output/dry", trajectories=50, tables="states")
steps, trajectories = {}, set()
for row in table("cobre-output/dry/states.csv"):
    if row["kind"] == "storage" and float(row["out"]) <= 400 + 1e-6 * 2600:
        steps[row["stage"]] = steps.get(row["stage"], 0) + 1
        trajectories.add(row["trajectory"])
assert trajectories
ask = lambda **given: server.call("query_results", run="cobre-output/dry", **given)["rows"]
ever, = ask(kind="storage_at_minimum", by="total", statistic="positive")
assert near(ever["value"], len(trajectories) / 50) and ever["unit"] == "share" and ever["element"] == "Upper", ever
often, = ask(kind="storage_at_minimum", by="total")
assert near(often["value"], sum(steps.values()) / 50) and often["unit"] == "stages" and often["half"] > 0, often
for row in ask(kind="storage_at_minimum"):
    assert near(row["value"], steps.get(str(row["stage"]), 0) / 50), row
assert {row["value"] for row in ask(kind="storage_minimum")} == {400}
words = said("query_results", run="cobre-output/dry", kind="storage_at_minimum", by="total", statistic="positive").words
assert words == "1 of 1 value, share above 0 over the trajectories, each as a whole.", words
END
}

# Where the training has not been, a water value is not known.
case_bound() {
    studies
    quietly train start --iterations 1 --out once
    client <<'END'
water, = server.call("inspect_policy", policy="once", case="start", stage=11)["water_values"]
levels = {level["percent"]: level for level in water["levels"]}
assert {level["from"] for level in levels.values()} == {"cut", "bound"}, levels
top = max(percent for percent, level in levels.items() if level["from"] == "cut")
for percent, level in levels.items():
    assert (level["value"] is None) == (level["from"] == "bound") == (percent > top), (top, level)
sentence = f"Above {top} % of Upper no cut holds: the training has not been there, and the water value is unknown."
assert water["note"] == sentence, water
low = said("inspect_policy", policy="once", case="start", stage=11, state="Upper=0%")
assert "the cost is at least " in low.words and low.words.endswith(sentence) and "no cut holds here" not in low.words
full = said("inspect_policy", policy="once", case="start", stage=11, state="Upper=100%")
assert full.facts["active_cuts"] == 0 and "a bound for all states: no cut holds here" in full.words
END
}

# Errors name the argument, what it was and what it may be; nothing is said in the language of a command line.
case_words() {
    studies
    cp -r run stale
    quietly train start --iterations 25 --resume stale/policy.cobre --out stale
    cp -r start dateless
    sed '/"start"/d' start/case.json >dateless/case.json
    client <<'END'
refused = server.refused
refused("decide", "field: stage", "received: 99", "from 1 to 12", case="start", policy="run", stage=99)
refused("decide", "field: date", 'received: "2040-01"', "from 2027-01-01 to 2027-12-01", case="start", policy="run", date="2040-01")
refused("decide", "field: state", 'received: "Uper=3"', 'did you mean "Upper"', case="start", policy="run", state="Uper=3")
refused("decide", "field: inflow", 'received: "Uper=3"', case="start", policy="run", inflow="Uper=3")
text = refused("decide", "field: date", "(stage)", case="dateless", policy="run", date="2027-03")
assert "--" not in text, text
refused("inspect_policy", "field: stage", "received: 13", "allowed: 1 to 12", policy="run", stage=13)
refused("inspect_policy", "field: state", 'received: "Uper=3"', policy="run", case="start", state="Uper=3")
for tool, field, given in [("query_results", "run", {"run": "stale"}), ("query_convergence", "run", {"run": "stale"}),
                           ("compare_runs", "runs", {"runs": ["run", "stale"]})]:
    text = refused(tool, f"field: {field}", "simulate", "again; its case is " + os.path.realpath("start"), **given)
    assert text.split("\n")[0].count(os.path.realpath("stale")) == 1, text
refused("query_results", "field: stages", "received: from 5 to 3", "from 1 to 12", run="run", stages={"from": 5, "to": 3})
refused("query_results", "field: stages", "received: from 13", run="run", stages={"from": 13})
assert "nearest" not in refused("query_results", "p5, p25", run="run", statistic="p10")
beyond = said("query_results", run="run", kind="storage", offset=99)
assert beyond.facts["rows"] == [] and "beyond the last" in beyond.facts["note"] and "beyond the last" in beyond.words
deficit = said("query_results", run="run", kind="deficit", by="total")
assert "ask for unserved_energy" in deficit.facts["note"] and ". Power does" in deficit.words, deficit.words
problem, = server.call("validate_case", case="run")["problems"]
assert "cobre://case-format" in problem["remedy"] and "docs/" not in problem["remedy"], problem
for tool in server.tools.values():
    for name, schema in tool["inputSchema"]["properties"].items():
        assert not re.search(r"--[a-z]|`cobre|default of M:", schema["description"]), (name, schema)
rules = server.tools["train"]["inputSchema"]["properties"]
assert all(rules[name]["description"].startswith("stop ") for name in ["iterations", "time", "stall", "gap", "simulation", "stop"])
half = {row["stage"]: row["half"] for row in server.call("query_results", run="run", kind="storage")["rows"]}
for row in table("run/statistics.csv"):
    if row["kind"] == "storage" and row["step"]:
        assert abs(half[int(row["stage"])] - 1.96 * float(row["deviation"]) / 60 ** 0.5) < 1e-6 * 3000
assert "half" not in server.call("query_results", run="run", kind="storage", statistic="max")["rows"][0]
END
}

# The steps of prompts name kinds that there are; a wrong argument is told with what is wrong.
case_prompts() {
    studies
    client <<'END'
prompt = lambda name, **given: server.request("prompts/get", {"name": name, "arguments": given})
text = prompt("explain_results", run="run")["messages"][0]["content"]["text"]
kinds = re.search(r"of the kinds (.*?)\. Then", text).group(1).replace(" and ", ", ").split(", ")
kinds += re.findall(r"[Kk]ind (\w+)", text)
assert {"storage", "water_value", "hydro_generation", "unserved_energy", "storage_at_minimum"} <= set(kinds), kinds
for kind in kinds:
    assert server.call("query_results", run="run", kind=kind)["row_count"] > 0, kind
for kind in ["unserved_energy", "storage_at_minimum", "cost"]:
    assert server.call("query_results", run="run", kind=kind, by="total", statistic="positive")["row_count"] > 0, kind
assert "call decide" in text
for name, given in [("set_up_study", {"case": "x"}), ("diagnose_convergence", {"run": "x"})]:
    text = prompt(name, **given)["messages"][0]["content"]["text"]
    assert '"unknown"' in text and "as many" in text and "iterations above those that the policy has" in text
assert 'needs the argument "case"' in prompt("set_up_study")["message"]
assert 'there is no argument "cases"' in prompt("set_up_study", case="x", cases="y")["message"]
assert '"case" of the prompt set_up_study must be a text' in prompt("set_up_study", case=3)["message"]
END
}

# NaN is no word of the wire, in no table; and a training that runs here is under way, not killed.
case_running() {
    studies
    quietly simulate start --policy run/policy.cobre --trajectories 40 --stage 3 --out later
    quietly train start --iterations 3 --out one
    grep -q nan later/simulation.csv || fail "no NaN: $(cat later/simulation.csv)"
    grep -qE 'nan|inf' one/training.csv || fail "no NaN: $(cat one/training.csv)"
    client <<'END'
read = lambda uri: server.request("resources/read", {"uri": uri})["contents"][0]["text"]
for text, path in [(read("cobre://summary/later"), "later/simulation.csv"), (read("cobre://convergence/one"), "one/training.csv")]:
    lines = open(path).read().splitlines()
    assert not re.search(r"\b(nan|inf)\b", text), text
    assert [re.sub(r"(?<=,)-?(nan|inf)(?=,|$)", "", line) for line in lines] == text.splitlines()[-len(lines):]
job = server.call("train", case="start", iterations=100000, wait=0)
trace = job["run"] + "/training.csv"
until = time.monotonic() + 60
while not (os.path.exists(trace) and len(open(trace).readlines()) > 1):
    assert time.monotonic() < until
    server.call("job_status", wait=0.1)
facts = server.call("query_convergence", run=job["run"])
assert facts["verdict"] == "not yet" and facts["reason"] == f"{job['job_id']} is still training: ask job_status.", facts
server.call("job_cancel")
END
}

case_inspect() {
    studies
    client <<'END'
facts = server.call("inspect_case", case="cascade")
elements = {kind["kind"]: kind["names"] for kind in facts["elements"]}
assert elements["hydros"] == [row["hydro"] for row in table("cascade/hydros.csv")]
assert elements["thermals"] == [row["thermal"] for row in table("cascade/thermals.csv")]
assert elements["exchanges"] == [f"{row['from']}->{row['to']}" for row in table("cascade/exchanges.csv")]
assert elements["subsystems"] == ["north", "south"] and elements["blocks"] == ["peak", "middle", "low"]
assert [(r["plant"], r["downstream"]) for r in facts["topology"]["rivers"]] == [
    (row["hydro"], row["downstream"] or None) for row in table("cascade/hydros.csv")]
command = tell("validate", "cascade")
assert facts["sizes"]["nodes"] == facts["sizes"]["stages"] == 12 and facts["sizes"]["states"] == 7
assert facts["sizes"]["most_outcomes"] == 20 and facts["inflow"] == {"source": "par", "openings": 20, "seed": 1, "noise_model": True}
assert facts["horizon"] == {"first_date": "2027-01-01", "last_date": "2027-12-01", "least_duration": 672.0, "most_duration": 744.0,
                            "time_unit": "h"}
assert {f["file"]: f["rows"] for f in facts["files"]}["load.csv"] == len(table("cascade/load.csv"))
facts = server.call("inspect_case", case="cascade", element="head")
by = lambda name: [row for row in facts["rows"] if row["table"] == name]
hydro, = by("hydros.csv")
assert all(str(hydro["values"][k]) == v or float(v) == hydro["values"][k] for k, v in table("cascade/hydros.csv")[0].items() if v)
assert hydro["line"] == 2 and hydro["role"] == "own" and len(by("par.csv")) == 12 and by("changes.csv")[0]["values"]["value"] == 1500
assert [row["values"]["head"] for row in by("past_inflows.csv")] == [590, 450] and set(by("past_inflows.csv")[0]["values"]) == {"lag", "head"}
assert facts["units"]["hydros.csv"] == {"productivity": "MW per m3/s", "storage_min": "hm3", "storage_max": "hm3", "storage_initial": "hm3",
                                       "turbine_max": "m3/s", "spill_cost": "$/hm3", "outflow_min": "m3/s", "outflow_penalty": "$/hm3"}
assert facts["units"]["par.csv"] == {"mean": "m3/s", "scale": "m3/s"} and facts["units"]["past_inflows.csv"] == {"head": "m3/s"}
assert facts["units"]["correlation.csv"] == facts["units"]["changes.csv"] == {}
facts = server.call("inspect_case", case="cascade", element="north", limit=1000)
assert facts["units"]["load.csv"] == {"north": "MW"} and facts["units"]["thermals.csv"] == {"min": "MW", "max": "MW", "cost": "$/MWh"}
text = server.request("tools/call", {"name": "inspect_case", "arguments": {"case": "start"}})["content"][0]["text"]
assert "12 nodes, 1 state." in text.split("\n")[0], text[:200]
assert {row["role"] for row in facts["rows"]} == {"refers", "column"} and len(by("load.csv")) == 36
facts = server.call("inspect_case", case="start", element="Upper", limit=10, offset=5)
assert len(facts["rows"]) == 10 and facts["next_offset"] == 15 and facts["row_count"] == 1 + len(table("start/history.csv")) + 0
assert server.call("inspect_case", case="gas.sof.json")["elements"] == [{"kind": "states", "count": 1, "names": ["store"]}]
assert server.call("inspect_case", case="gas.sof.json", element="store")["row_count"] == 5
server.refused("inspect_case", "nearest match: gorge", case="cascade", element="gorg")
server.refused("inspect_case", "nearest match: store", case="gas.sof.json", element="stor")
os.remove("cascade/case.json")
server.refused("inspect_case", "validate_case", case="cascade")
END
}

case_edit() {
    studies
    client <<'END'
before = {name: open(f"start/{name}", "rb").read() for name in os.listdir("start")}
head = "cobre-output/new"
change = lambda table, column, value, **row: {"table": table, "column": column, "value": value, **({"row": row} if row else {})}
changes = [change("hydros.csv", "storage_initial", 2000, hydro="Upper"), {**change("load.csv", "main", 600.5), "row_number": 2},
           change("case.json", "annual_rate", 0.1), change("case.json", "inflow.years", "x")]
text = server.refused("edit_case", "case.json, line 10", "would not be valid", case="start", name="new", changes=changes)
assert not os.path.exists(head)
changes[-1] = change("case.json", "risk", '{"beta": 0.5, "alpha": 0.1}')
changes.append(change("case.json", "currency", "R$"))
facts = server.call("edit_case", case="start", name="new", changes=changes)
assert [(d["file"], d["line"], d["old"], d["new"]) for d in facts["differences"]][:3] == [
    ("hydros.csv", 5, "1800", "2000"), ("load.csv", 4, "570", "600.5"), ("case.json", 8, "0.08", "0.1")], facts
assert facts["case"] == os.path.abspath(head) and facts["difference_count"] == 5 and facts["warnings"] == []
assert {name: open(f"start/{name}", "rb").read() for name in os.listdir("start")} == before
after = {name: open(f"{head}/{name}", "rb").read() for name in os.listdir(head)}
assert after.keys() == before.keys()
expected = dict(before)
expected["hydros.csv"] = before["hydros.csv"].replace(b"1800", b"2000")
expected["load.csv"] = before["load.csv"].replace(b"\n2,570", b"\n2,600.5")
expected["case.json"] = before["case.json"].replace(b"0.08", b"0.1").replace(
    b'"history"}', b'"history"}, "risk": {"beta": 0.5, "alpha": 0.1}, "currency": "R$"')
assert after == expected, {name for name in after if after[name] != expected[name]}
assert server.call("validate_case", case="new" if os.path.exists("new") else head)["valid"]
many = server.call("edit_case", case="cascade", name="many", changes=[change("load.csv", "north", 1, season=1)])
assert [d["line"] for d in many["differences"]] == [2, 3, 4]
both = server.call("edit_case", case="cascade", name="both", changes=[change("load.csv", "north", "7", season="1", block="peak")])
assert [(d["line"], d["old"], d["new"]) for d in both["differences"]] == [(2, "835", "7")]
gas = server.call("edit_case", case="gas.sof.json", name="gas", changes=[change("gas.sof.json", "description", 'a "b", c')])
assert json.load(open(gas["case"]))["description"] == 'a "b", c' and server.call("validate_case", case=gas["case"])["valid"]
refused = lambda *words, **given: server.refused("edit_case", *words, **{"case": "start", "name": "no", **given})
refused("not replaced", "field: name", name="new", changes=changes)
for name in ["../no", "a/b", ".x", ""]:
    refused("field: name", name=name, changes=changes)
refused("nearest match: hydros.csv", "changes[0].table", changes=[change("hydro.csv", "storage_max", 1, hydro="Upper")])
refused("nearest match: hydros.csv", changes=[change("hydros.cs", "storage_max", 1, hydro="Upper")])
refused("allowed: case.json", changes=[change("../start/hydros.csv", "storage_max", 1, hydro="Upper")])
refused("nearest match: Upper", "row.hydro", changes=[change("hydros.csv", "storage_max", 1, hydro="Uper")])
refused("nearest match: hydro", changes=[change("hydros.csv", "storage_max", 1, hidro="Upper")])
refused("nearest match: storage_max", "changes[1].column", changes=[changes[0], change("hydros.csv", "storage_mx", 1, hydro="Upper")])
refused("this column has numbers", "allowed: a number", "*1.1", changes=[change("hydros.csv", "storage_max", "much", hydro="Upper")])
refused("which rows", "{} for all rows", changes=[change("hydros.csv", "storage_max", 1)])
refused("from 1 to 2", "received: 9", changes=[{**change("hydros.csv", "storage_max", 1), "row_number": 9}])
refused("one line", changes=[change("hydros.csv", "subsystem", "a\nb", hydro="Upper")])
refused("changed twice", changes=[changes[0], changes[0]])
refused("storage_initial 99999", "hydros.csv, line 5", changes=[change("hydros.csv", "storage_initial", 99999, hydro="Upper")])
refused("nearest match: stages", changes=[change("case.json", "stagess", 24)])
refused("allowed: source", changes=[change("case.json", "inflow.x.y", 24)])
refused("nothing to change", changes=[])
refused("is missing", changes=[{"table": "case.json", "column": "stages"}])
refused("has all of these values already", changes=[change("hydros.csv", "storage_initial", "1800.0", hydro="Upper"), change("case.json", "stages", "12")])
assert sorted(os.listdir("cobre-output")) == ["both", "gas", "many", "new"]
END
}

# Every number in a column by a factor; one value for many rows is noted; a copy without a name gets one.
case_edit_relative() {
    studies
    client <<'END'
change = lambda table, column, value, row=None: {"table": table, "column": column, "value": value, **({} if row is None else {"row": row})}
edit = lambda *changes: server.call("edit_case", case="cascade", changes=list(changes))
def ratios(facts, column):
    return {round(float(new[column]) / float(old[column]), 9) for old, new in zip(table("cascade/load.csv"), table(facts["case"] + "/load.csv"))}
more = edit(change("load.csv", "north", "+10%", {}), change("load.csv", "south", "*0.95", {}))
assert more["case"] == os.path.abspath("cobre-output/cascade-edit") and ratios(more, "north") == {1.1} and ratios(more, "south") == {0.95}
assert (more["differences"][0]["old"], more["differences"][0]["new"]) == ("835", "918.5"), more["differences"][0]
assert more["difference_count"] == 72 and len(more["differences"]) == 50 and more["notes"] == []
assert more["changed"] == [{"file": "load.csv", "column": "north", "count": 36}, {"file": "load.csv", "column": "south", "count": 36}]
less = edit(change("load.csv", "north", "-5%", {"block": "peak"}))
assert less["case"].endswith("cascade-edit-2") and less["difference_count"] == 12 and ratios(less, "north") == {1, 0.95}
same = edit(change("load.csv", "north", 600.123456789012345, {}), change("case.json", "annual_rate", "*2"))
assert same["notes"] == ["load.csv, column north: 36 rows had different values, and all have 600.12345678901238 now"], same
assert {float(row["north"]) for row in table(same["case"] + "/load.csv")} == {600.123456789012345}  # all digits
assert json.load(open(same["case"] + "/case.json"))["annual_rate"] == 0.2
named = edit(change("case.json", "name", "Other"), change("case.json", "currency", "R$"), change("load.csv", "north", 835, {"season": 1}))
assert [(d["old"], d["new"]) for d in named["differences"] if d["file"] == "case.json"] == [
    (json.load(open("cascade/case.json"))["name"], "Other"), (None, "R$")], named
assert named["changed"][-1] == {"file": "load.csv", "column": "north", "count": 2}  # one row had it already
refused = lambda *words, **given: server.refused("edit_case", *words, **{"case": "cascade", **given})
refused("no number that it could change", changes=[change("hydros.csv", "subsystem", "*2", {})])
refused("empty field", changes=[change("hydros.csv", "outflow_min", "*2", {"hydro": "head"})])
refused("no number that it could change", changes=[change("case.json", "name", "+1%")])
refused("nearest match: load.csv", changes=[change("load", "north", 1, {})])
assert len(os.listdir("cobre-output")) == 4
open("cascade/notes.csv", "w").write("a,b\n" + "1,2\n" * 100000)  # a long table takes no long time
begin = time.monotonic()
server.refused("edit_case", "notes.csv", case="cascade", changes=[change("notes.csv", "b", "*2", {})])
assert time.monotonic() - begin < 5
END
}

# The end of the horizon lies beside the case: the copy finds it.
case_edit_terminal() {
    studies
    sed -i 's/"stages": 12,/"stages": 6, "terminal": {"file": "..\/run\/policy.cobre", "stage": 6},/' start/case.json
    client <<'END'
facts = server.call("edit_case", case="start", name="new", changes=[{"table": "case.json", "column": "annual_rate", "value": 0.1}])
assert [d["place"] for d in facts["differences"]] == ["annual_rate", "terminal"], facts
assert os.path.samefile(facts["differences"][1]["new"], "run/policy.cobre")
END
}

case_charts() {
    studies
    more_runs
    client <<'END'
import base64, xml.dom.minidom
first = server.call("render_chart", run="run", chart="stored_energy", png=False)
assert first["png"] is None and first["note"] == "it was not asked for"
listed = server.call("render_chart", run="run")
charts = [chart["name"] for chart in listed["charts"]]
assert len(charts) > 10 and "svg" not in listed and listed["charts"][0]["title"] == "Convergence and cost: Convergence", listed
assert server.call("render_chart", run="run", limit=3, offset=1)["charts"] == listed["charts"][1:4]
for name in charts:
    result = server.request("tools/call", {"name": "render_chart", "arguments": {"run": "run", "chart": name, "png": name == first["chart"]}})
    facts = result["structuredContent"]
    svg = open(facts["svg"]).read()
    assert os.path.dirname(facts["svg"]) == os.path.abspath("cobre-output/charts") and facts["svg_bytes"] == len(svg.encode())
    assert facts["chart"] == name and xml.dom.minidom.parseString(svg).documentElement.tagName == "svg" and "var(" not in svg
    block = result["content"][-1]
    assert block["type"] == "resource" and block["resource"]["uri"].startswith("file:///") and len(block["resource"]["text"]) <= 14000
    xml.dom.minidom.parseString(block["resource"]["text"])
    if facts["png"]:
        bytes = open(facts["png"], "rb").read()
        assert bytes[:8] == b"\x89PNG\r\n\x1a\n" and base64.b64decode(result["content"][1]["data"]) == bytes
    elif name == first["chart"]:
        assert "librsvg" in facts["note"], facts
page = subprocess.run([os.environ["COBRE"], "report", "run", "--out", "page.html"], check=True, capture_output=True)
assert open("page.html").read().count('<svg class="chart"') == len(charts)
both = [chart["name"] for chart in server.call("render_chart", runs=["run", "averse"])["charts"]]
assert both and set(both).isdisjoint(charts)
server.refused("render_chart", "nearest match: pictures/probability_of_a_deficit", "by `run`", runs=["run", "averse"], chart="deficit")
server.refused("render_chart", "nearest match: stored_energy/main", run="run", chart="storage")
several = server.call("render_chart", runs=["run", "averse"], chart="stored_energy")
assert several["chart"] == "pictures/stored_energy" and several["svg"] != first["svg"]
assert server.call("render_chart", run="averse", chart="convergence")["chart"].endswith("/convergence")
again = sorted(os.listdir("cobre-output/charts"))
server.call("render_chart", run="averse", chart="convergence")
assert sorted(os.listdir("cobre-output/charts")) == again and not [name for name in again if name.startswith(".")]
server.refused("render_chart", "stored_energy/main", "allowed", run="run", chart="none")
server.refused("render_chart", "nearest match: stored_energy", run="run", chart=first["chart"] + "x")
server.refused("render_chart", "either run or runs", chart="convergence")
server.refused("render_chart", "either run or runs", run="run", runs=["run"], chart="convergence")
server.refused("render_chart", "no training.csv", run="start", chart="convergence")
os.remove(first["svg"])
os.symlink("/tmp/cobre-must-not-be-there", first["svg"])  # it is replaced, not followed
server.call("render_chart", run="run", chart="stored_energy", png=False)
assert not os.path.exists("/tmp/cobre-must-not-be-there") and not os.path.islink(first["svg"])
END
}

case_export() {
    studies
    client <<'END'
facts = server.call("export_results", run="run", format="csv")
assert facts["folder"] == os.path.abspath("cobre-output/run-export") and not facts["simulated"]
for file in facts["files"]:
    path = f"cobre-output/run-export/{file['file']}"
    assert open(path, "rb").read() == open(f"run/{file['file']}", "rb").read() and file["bytes"] == os.path.getsize(path)
    assert file["rows"] == len(open(path).readlines()) - 1
assert {"costs.csv", "statistics.csv", "training.csv", "simulation.csv"} <= {file["file"] for file in facts["files"]}
facts = server.call("export_results", run="run", format="csv", tables="states,duals", case="start", name="again")
assert facts["simulated"] and {file["file"]: file["rows"] for file in facts["files"]}["states.csv"] == 60 * 12
for name in ["costs.csv", "statistics.csv", "simulation.csv"]:
    assert open(f"run/{name}").read() == open(f"cobre-output/again/{name}").read(), name
assert server.call("query_results", run="again" if os.path.exists("again") else "cobre-output/again", kind="cost")["row_count"] > 0
copied = server.call("export_results", run="cobre-output/again", format="csv", tables="states", name="copied")
assert not copied["simulated"] and "duals.csv" not in [file["file"] for file in copied["files"]]
result = server.request("tools/call", {"name": "export_results", "arguments": {"run": "run", "format": "netcdf", "case": "start", "name": "nc"}})
if result.get("isError"):
    assert "NetCDF cannot be written" in result["content"][0]["text"], result
else:
    assert open("cobre-output/nc/simulation.nc", "rb").read(8) == b"\x89HDF\r\n\x1a\n"
again = server.call("export_results", run="run", format="csv", tables="noise")  # the case that the run was trained with
assert again["simulated"] and again["folder"] == os.path.abspath("cobre-output/run-export-2"), again
names = {os.path.basename(row["path"]): row for row in server.call("list_studies", kind="run")["studies"]}
assert names["run-export"]["name"] == names["run-export-2"]["name"] == names["run"]["name"] == "My case", names
assert names["run-export"]["case"] == os.path.abspath("start") and names["run-export"]["iterations"] == 20
left = sorted(os.listdir("cobre-output"))
refused = lambda *words, **given: server.refused("export_results", *words, **{"run": "run", "format": "csv", "name": "no", **given})
refused("not replaced", name="again")
refused("field: name", name="../no")
refused("field: tables", "stages, states", tables="noises", case="start")
refused("csv, netcdf", format="xls")
refused("holds no results", run="start")
refused("belongs to another problem", tables="noise", case="cascade")
server.call("edit_case", case="start", name="other", changes=[{"table": "load.csv", "row_number": 1, "column": "main", "value": 700}])
refused("not those of the run", tables="noise", case="cobre-output/other")  # the same states, and other costs
assert sorted(os.listdir("cobre-output")) == sorted(left + ["other"])
os.rename("start", "moved")
refused("cannot be read any more", os.path.abspath("start"), "give case", "field: case", tables="noise")
os.remove("cobre-output/run-export/summary.csv")
END
}

# Files of a case or a run that lead out are not read, whoever opens them.
case_links() {
    studies
    mkdir ../outside
    cp start/hydros.csv run/statistics.csv run/policy.cobre run/run.json ../outside
    cp -r start linked; ln -sf ../../outside/hydros.csv linked/hydros.csv
    for file in statistics.csv policy.cobre run.json; do
        cp -r run "linked-$file"; ln -sf "../../outside/$file" "linked-$file/$file"
    done
    ln -s ../outside/policy.cobre policy.cobre
    cp -r start piped; rm piped/hydros.csv; mkfifo piped/hydros.csv
    cp -r start inside; mkdir tables; mv inside/hydros.csv tables; ln -s ../tables/hydros.csv inside/hydros.csv
    client <<'END'
for case in ["linked", "piped"]:
    assert not server.call("validate_case", case=case)["valid"]
    server.refused("inspect_case", "hydros.csv", case=case)
    server.refused("inspect_case", "hydros.csv", case=case, element="Upper")
    server.refused("edit_case", "hydros.csv", case=case, name="x", changes=[{"table": "case.json", "column": "stages", "value": 5}])
    server.refused("decide", "field: case", case=case, policy="run")
assert server.call("inspect_case", case="inside")["sizes"]["states"] == 1
for file in ["statistics.csv", "policy.cobre", "run.json"]:
    run = f"linked-{file}"
    for tool, given in [("query_results", {"run": run}), ("export_results", {"run": run, "format": "csv", "name": "x"}),
                        ("compare_runs", {"runs": ["run", run]}), ("render_chart", {"run": run, "chart": "convergence"})]:
        server.refused(tool, file, **given)
for policy in ["policy.cobre", "linked-policy.cobre"]:
    server.refused("inspect_policy", "outside", policy=policy)
    server.refused("decide", "outside", case="start", policy=policy)
assert not os.path.exists("cobre-output/x")
os.makedirs("cobre-output", exist_ok=True)
os.symlink("../../outside", "cobre-output/charts")
server.refused("render_chart", "leads out", run="run", chart="convergence")
END
    [ "$(ls ../outside | wc -l)" = 4 ] || fail "something was written outside"
}

# Every tool in the other era, and in the oldest revision.
case_eras() {
    studies
    more_runs
    client <<'END'
calls = {"inspect_case": {"case": "start"}, "query_results": {"run": "run", "kind": "storage"}, "inspect_policy": {"policy": "run"},
         "compare_runs": {"runs": ["run", "averse"]}, "decide": {"case": "start", "policy": "run"},
         "render_chart": {"run": "run", "chart": "convergence"}, "export_results": {"run": "run", "format": "csv", "name": "a"},
         "edit_case": {"case": "start", "name": "b", "changes": [{"table": "case.json", "column": "stages", "value": 5}]}}
for tool, given in calls.items():
    server.call(tool, modern=True, **given)
calls["export_results"]["name"], calls["edit_case"]["name"] = "c", "d"
with Server("--root", ".") as old:
    old.initialize("2024-11-05")
    for tool, given in calls.items():
        old.call(tool, **given)
END
}

# An action that has no solution is told, and no LP is written anywhere.
case_infeasible() {
    studies
    sed -i '/^first/d; /^rest/d' start/deficits.csv
    echo "first,0.01,800" >>start/deficits.csv
    client <<'END'
server.refused("decide", "LP", case="start", policy="run", stage=1, state="Upper=0%", inflow="Upper=0,Lower=0")
END
    [ -z "$(find . -name '*.lp')" ] || fail "an LP was written: $(find . -name '*.lp')"
}

run_cases "${@:3}"
