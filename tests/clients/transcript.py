#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""transcript.py COBRE [--write | --check]: the session that docs/mcp.md shows, as Markdown, from a real server.

The questions are given, and so is what an assistant would call next. Every call is made, and every number comes from its answer. Long
answers are shortened: "..." stands for what is left out. Paths of the folder in which it runs are shown as /home/me/studies.
--write puts it into docs/mcp.md, --check says whether it is what stands there."""
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HOME = "/home/me/studies"
TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PAGE = os.path.join(TREE, "docs/mcp.md")
MARKS = ["<!-- begin: tests/clients/transcript.py -->\n", "<!-- end -->\n"]


class Server:
    def __init__(self, cobre, folder):
        self.folder = os.path.realpath(folder)
        self.process = subprocess.Popen([cobre, "mcp", "--root", self.folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.next_id = 0
        self.request("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "transcript", "version": "1"})
        self.send(method="notifications/initialized")

    def send(self, **message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method, **params):
        self.next_id += 1
        self.send(id=self.next_id, method=method, params=params)
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.next_id:
                return message["result"]
        sys.exit(f"{method}: the server has ended")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def rounded(value):
    """Numbers as people read them."""
    if isinstance(value, float):
        return int(value) if value == int(value) else float(f"{value:.5g}") if abs(value) < 1e5 else round(value)
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return {key: rounded(item) for key, item in value.items()} if isinstance(value, dict) else value


class Transcript:
    def __init__(self, server):
        self.server = server

    def shown(self, text):
        return re.sub("-[0-9a-f]{8}-", "-...-", text.replace(self.server.folder, HOME))

    def you(self, text):
        print(f"**You:** {text}\n")

    def says(self, text):
        print(f"**Assistant:** {self.shown(text)}\n")

    def wait(self):
        """For the end of the last job, however slow this machine is."""
        while self.server.request("tools/call", name="job_status", arguments={})["structuredContent"]["status"] == "running":
            pass

    def call(self, tool, keep=(), rows=None, refused=False, **arguments):
        """Makes a call, and shows it with its sentence and the facts named in `keep`; rows: of a list of rows, those that it picks;
        refused: it must be, and all that it says is shown."""
        result = self.server.request("tools/call", name=tool, arguments=arguments)
        sentence, facts = result["content"][0]["text"], result.get("structuredContent")
        if result.get("isError", False) != refused:
            sys.exit(f"{tool} {arguments}: {sentence}")
        given = ", ".join(f'"{name}": {json.dumps(value)}' for name, value in arguments.items())
        print("```")
        print(self.shown(f"{tool} {{{given}}}"))
        print(self.shown("  " + sentence.split("\n\n")[0].replace("\n", "\n  ")))
        for name in keep:
            value = facts
            for part in name.split("."):
                value = value[part]
            if rows and isinstance(value, list):
                picked = [rows(row) for row in value]
                lines = [json.dumps(rounded(row), ensure_ascii=False) for row in picked if row]
                print(f"  {name}:")
                for line in lines:
                    print(self.shown(f"    {line}"))
                if len(lines) < len(value):
                    print("    ...")
            else:
                print(self.shown(f"  {name}: {json.dumps(rounded(value), ensure_ascii=False)}"))
        print("```\n")
        return facts


def session(t):
    you, says, call = t.you, t.says, t.call
    you("Which reservoirs of my cascade run dry next year?")
    call("list_studies", ["studies"], kind="case")
    seen = call("inspect_case", ["inflow"], case="cascade")
    hydros = next(kind["names"] for kind in seen["elements"] if kind["kind"] == "hydros")
    call("train", ["stop", "policy"], case="cascade", iterations=600)
    call("simulate", ["run"], case="cascade", policy="cobre-output/cascade-1", trajectories=2000)
    call("query_results", refused=True, run="cobre-output/cascade-1", kind="reservoir_storage")
    lowest = call("query_results", ["rows"], run="cobre-output/cascade-1", kind="storage", by="element", statistic="min",
                  rows=lambda row: {key: row[key] for key in ["element", "stage", "date", "value", "unit"]})["rows"]
    limits = {}
    for row in lowest:
        data = call("inspect_case", ["rows"], case="cascade", element=row["element"],
                    rows=lambda r: {key: r["values"][key] for key in ["hydro", "storage_min", "storage_max"]}
                    if r["table"] == "hydros.csv" and r["role"] == "own" else None)["rows"]
        limits[row["element"]] = next(r["values"] for r in data if r["table"] == "hydros.csv" and r["role"] == "own")
    dry = [row["element"] for row in lowest if row["value"] <= limits[row["element"]]["storage_min"]]
    wet = [row for row in lowest if row["element"] not in dry]
    assert len(dry) == 1 and len(wet) == 1, lowest
    name, least = dry[0], limits[dry[0]]["storage_min"]
    low = {}
    for statistic in ["p5", "p50"]:
        answer = call("query_results", ["rows"], run="cobre-output/cascade-1", kind="storage", element=name, statistic=statistic,
                      stages={"from": 7, "to": 12}, rows=lambda row: {key: row[key] for key in ["date", "value"]})
        low[statistic] = [row["date"][:7] for row in answer["rows"] if row["value"] <= least]
    short = call("query_results", ["rows"], run="cobre-output/cascade-1", kind="deficit", level="system", statistic="positive",
                 rows=lambda row: {key: row[key] for key in ["date", "value"]} if row["value"] > 0.04 else None)["rows"]
    worst = max(short, key=lambda row: row["value"])
    verdict = call("query_convergence", [], run="cobre-output/cascade-1")
    says(f"`{name}` does. It is down to its minimum of {least} hm3 in at least 5 % of the 2000 simulated years in each month from {low['p5'][0]} to "
         f"{low['p5'][-1]}, and in at least half of them in {', '.join(low['p50'])}. `{wet[0]['element']}` never runs dry: the least is {wet[0]['value']:.0f} hm3, in "
         f"{wet[0]['date'][:7]}, where {limits[wet[0]['element']]['storage_min']} are the limit. Load is not served in up to {100 * worst['value']:.1f} % of the "
         f"years ({worst['date'][:7]}). How far the costs can be trusted: {verdict['reason'][0].lower()}{verdict['reason'][1:]}")
    assert name in hydros
    you("What if we were more careful? Weigh the worst fifth of the outcomes with 10 %, and compare.")
    started = call("train", ["job_id", "status"], case="cascade", iterations=600, cvar="0.2,0.9", wait=0)
    t.wait()
    call("job_status", ["stop"], job_id=started["job_id"])
    call("simulate", [], case="cascade", policy="cobre-output/cascade-2", trajectories=2000)
    runs = ["cobre-output/cascade-1", "cobre-output/cascade-2"]

    def side_by_side(row):
        if row["over"] != "horizon" or row["level"] != "system" or row["kind"] not in ("cost", "cost_cvar5"):
            return None
        first, second = row["runs"]
        return {"kind": row["kind"], "unit": row["unit"], "cascade-1": first["value"], "cascade-2": second["value"],
                "difference": second["difference"], "error": second["error"], "significant": second["significant"]}
    compared = call("compare_runs", ["rows"], runs=runs, rows=side_by_side)
    settled = call("query_convergence", [], run="cobre-output/cascade-2")
    call("render_chart", ["svg"], runs=runs, chart="stored_energy")
    says(f"{compared['runs'][1]['words']} One caution: {settled['reason'][0].lower()}{settled['reason'][1:]} The picture has the stored energy of both.")


def made(cobre):
    text = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(text):
        shutil.copytree(os.path.join(TREE, "cases/cascade"), os.path.join(folder, "cascade"))
        server = Server(cobre, folder)
        try:
            session(Transcript(server))
        finally:
            server.close()
    return text.getvalue()


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--write"], ["--check"]):
        sys.exit(__doc__)
    text = made(os.path.abspath(sys.argv[1]))
    if not sys.argv[2:]:
        print(text, end="")
        return
    with open(PAGE) as file:
        page = file.read()
    before, rest = page.split(MARKS[0])
    there, after = rest.split(MARKS[1])
    if sys.argv[2] == "--write":
        with open(PAGE, "w") as file:
            file.write(before + MARKS[0] + text + MARKS[1] + after)
    elif there != text:
        for old, new in zip(there.splitlines(), text.splitlines()):
            if old != new:
                sys.exit(f"docs/mcp.md says:\n  {old}\nbut this server:\n  {new}\nIf that is right, call tests/clients/transcript.py COBRE --write")
        sys.exit("docs/mcp.md has another transcript: call tests/clients/transcript.py COBRE --write")


main()
