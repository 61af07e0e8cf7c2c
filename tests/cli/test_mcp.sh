#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_mcp.sh COBRE HELPERS: `cobre mcp`, by a client that writes and reads lines (kit/mcp.py).
root=$(realpath "$(dirname "$0")/../..")
. "$(dirname "$0")/../kit/lib.sh"
set -m # background jobs with default signals
cd "$scratch" || exit 1

# client <<END: a program in Python that talks to servers. The cases are in the folder `studies`.
client() {
    mkdir -p studies
    cp -r "$root/cases/toy" "$root/cases/brazil3" "$root/cases/brazil60" studies
    "${within[@]}" COBRE="$cobre" SCHEMAS="$root/../shared/mcp" PYTHONPATH="$root/tests/kit" PYTHONDONTWRITEBYTECODE=1 \
        /usr/bin/python3 -c "from mcp import *
$(cat)" 2>"$scratch.err" || fail "$(tail -c 1500 "$scratch.err")"
    lacks -E 'Sanitizer|runtime error' "$scratch.err"
}

has_schemas() { [ -e "$root/../shared/mcp/schema-2026-07-28.json" ] || echo "  the schemas of the protocol are not here: replies are not checked against them"; }

# Every method in every revision with `initialize`.
case_legacy() {
    has_schemas
    client <<'END'
for revision in LEGACY + ["2031-01-01"]:
    with Server("--root", "studies") as server:
        result = server.initialize(revision)
        assert result["protocolVersion"] == (revision if revision in LEGACY else "2025-11-25")
        assert set(result["capabilities"]) == {"tools", "resources", "prompts"} and len(result["instructions"]) < 2000
        assert server.request("ping") == {}
        assert server.request("ping", id="a text") == {}
        tools = server.request("tools/list")["tools"]
        names = [tool["name"] for tool in tools]
        assert names[:4] == ["list_studies", "inspect_case", "validate_case", "edit_case"], names
        assert all(("annotations" in t) == (server.revision >= "2025-03-26") for t in tools)
        assert all(("title" in t and "outputSchema" in t) == (server.revision >= "2025-06-18") for t in tools)
        assert server.call("validate_case", case="toy")["valid"]
        assert len(server.request("resources/list")["resources"]) >= 2
        templates = server.request("resources/templates/list")["resourceTemplates"]
        assert "cobre://table/{table}/{+case}" in [t["uriTemplate"] for t in templates]
        read = server.request("resources/read", {"uri": "cobre://table/hydros.csv/toy"})["contents"][0]
        assert read["text"] == open("studies/toy/hydros.csv").read() and read["uri"] == "cobre://table/hydros.csv/toy"
        assert "hydros.csv" in server.request("resources/read", {"uri": "cobre://case-format"})["contents"][0]["text"]
        for uri in ["cobre://nothing", "cobre://table/x.csv/toy", "cobre://table/..%2fx.csv/toy", "cobre://summary/none", "x"]:
            error = server.request("resources/read", {"uri": uri})
            assert error.code == -32002 and error["data"] == {"uri": uri}, error
        prompts = server.request("prompts/list")["prompts"]
        assert [p["name"] for p in prompts] == ["set_up_study", "diagnose_convergence", "compare_runs", "explain_results"]
        for prompt in prompts:
            given = {a["name"]: f"<{a['name']}>" for a in prompt["arguments"]}
            text = server.request("prompts/get", {"name": prompt["name"], "arguments": given})["messages"][0]["content"]["text"]
            assert all(value in text for value in given.values()) and not re.search(r"\{[a-z]+\}", text), text
            assert server.request("prompts/get", {"name": prompt["name"]}).code == -32602
        assert server.request("prompts/get", {"name": "sing"}).code == -32602
        assert server.request("tools/list", {"cursor": "2"}).code == -32602
        assert server.request("tools/call", {"name": "validate_cases"}).code == -32602
        for method in ["server/discover", "subscriptions/listen", "logging/setLevel", "resources/subscribe",
                       "completion/complete", "tasks/list", "tools", ""]:
            assert server.request(method).code == -32601, method
        assert server.close() < 1
END
}

# Schemas of tools that every client can read.
case_tool_schemas() {
    client <<'END'
def walk(schema, input):
    assert isinstance(schema, dict), schema
    assert not isinstance(schema.get("type"), list), schema
    assert schema.get("type") != "array" or "items" in schema, schema
    for word in ["properties", "$defs"]:
        for part in schema.get(word, {}).values():
            walk(part, input)
    if input:
        assert not {"anyOf", "oneOf", "allOf"} & set(schema), schema
        assert all(re.fullmatch("[a-z_-]{1,64}", name) for name in schema.get("properties", {})), schema
    if "items" in schema:
        walk(schema["items"], input)
with Server("--root", "studies", "--max-workers", "3", "--max-iterations", "77") as server:
    server.initialize()
    for tool in server.tools.values():
        assert re.fullmatch("[a-z_]{1,30}", tool["name"]) and 20 < len(tool["description"]) < 1000, tool
        assert set(tool["annotations"]) == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
        for key in ["inputSchema", "outputSchema"]:
            jsonschema.Draft202012Validator.check_schema(tool[key])
            assert tool[key]["type"] == "object" and "anyOf" not in tool[key], tool
            walk(tool[key], key == "inputSchema")
        assert tool["inputSchema"]["additionalProperties"] is False
    train = server.tools["train"]["inputSchema"]["properties"]
    assert train["num_workers"]["maximum"] == 3 and train["iterations"]["maximum"] == 77
    assert train["stop"]["enum"] == ["any", "all"] and train["gap"]["type"] == "boolean" and train["cvar"]["type"] == "string"
    # Every option of the command line is an argument, but for those about where it runs and what it prints.
    text = subprocess.run([os.environ["COBRE"], "train", "--help"], capture_output=True, text=True).stdout
    options = set(re.findall(r"^  --([a-z-]+)", text, re.M)) - set("json backend force quiet watch log require grace".split())
    assert options <= set(train), options - set(train)
    text = subprocess.run([os.environ["COBRE"], "simulate", "--help"], capture_output=True, text=True).stdout
    options = set(re.findall(r"^  --([a-z-]+)", text, re.M)) - {"json", "backend"}
    assert options <= set(server.tools["simulate"]["inputSchema"]["properties"]), options
END
}

# Messages that stand for themselves; in turns with others on the same pipe.
case_modern() {
    has_schemas
    client <<'END'
with Server("--root", "studies") as server:
    found = server.request("server/discover", modern=True, id="probe")
    assert found["supportedVersions"] == [MODERN] and found["cacheScope"] == "public"
    first = server.request("tools/list", modern=True)
    assert server.request("tools/list", modern=True) == first
    server.tools = {tool["name"]: tool for tool in first["tools"]}
    assert server.call("validate_case", modern=True, case="toy")["valid"]
    for method in ["resources/list", "resources/templates/list", "prompts/list"]:
        server.request(method, modern=True)
    read = server.request("resources/read", {"uri": "cobre://table/case.json/toy"}, modern=True)
    assert read["ttlMs"] == 0 and read["cacheScope"] == "private", read
    assert server.request("resources/read", {"uri": "cobre://case-format"}, modern=True)["ttlMs"] > 0
    server.request("prompts/get", {"name": "explain_results", "arguments": {"run": "r"}}, modern=True)
    missing = server.request("resources/read", {"uri": "cobre://none"}, modern=True)
    assert missing.code == -32602 and missing["data"]["uri"] == "cobre://none"
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "no/such"]:
        assert server.request(method, modern=True).code == -32601, method
    server.initialize("2025-06-18") # at any time
    assert server.request("ping") == {}
    server.request("tools/list", modern=True)
    def with_meta(meta):
        server.next_id += 1
        server.send({"jsonrpc": "2.0", "id": server.next_id, "method": "tools/list", "params": {"_meta": meta}})
        message = server.reply()
        assert message["id"] == server.next_id
        conforms(MODERN, "JSONRPCErrorResponse", message)
        return message["error"]
    error = with_meta({**META, PREFIX + "protocolVersion": "2030-01-01"})
    assert error["code"] == -32022 and error["data"] == {"supported": [MODERN], "requested": "2030-01-01"}, error
    assert with_meta({PREFIX + "protocolVersion": MODERN})["code"] == -32602
    assert with_meta({PREFIX + "protocolVersion": 7, PREFIX + "clientCapabilities": {}})["code"] == -32602
    id = server.ask("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, modern=True)
    said = server.line()
    assert said["method"] == "notifications/subscriptions/acknowledged" and said["params"]["notifications"] == {}, said
    assert said["params"]["_meta"] == {PREFIX + "subscriptionId": id}
    conforms(MODERN, "SubscriptionsAcknowledgedNotification", said)
    server.alive()
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "_meta": META}})
    server.alive()
END
}

# Whatever comes, it answers, and goes on.
case_malformed() {
    client <<'END'
with Server("--root", "studies") as server:
    server.initialize()
    for blank in ["\n", "\r\n", "  \t\r\n"]:
        server.raw(blank)
        server.alive()
    server.raw('{"jsonrpc":"2.0","id":"crlf","method":"ping"}\r\n')
    assert server.line()["id"] == "crlf"
    for bad in ["{\n", "nonsense\n", '{"jsonrpc":"2.0","id":1,"method":"ping"\n', "[1,2\n", '{"a":1}}\n', "\x00\n",
                b'{"jsonrpc":"2.0","id":1,"method":"p\xff\xfe"}\n', b"\xef\xbb\xbf{}\n"[:-4] + b"\n", "1e999\n",
                "[" * 100000 + "\n", '{"a":' * 100000 + "\n"]:
        server.error(bad, -32700)
        server.alive()
    for bad in ["1\n", '"text"\n', '"\\ud800"\n', "null\n", '{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}\n', "true\n", "{}\n", '{"jsonrpc":"2.0"}\n', '{"method":"ping"}\n',
                '{"jsonrpc":"2.0","id":null,"method":"ping"}\n', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}\n',
                '{"jsonrpc":"2.0","id":{},"method":"ping"}\n', '{"jsonrpc":"2.0","id":[1],"method":"ping"}\n', "[]\n",
                '[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n']:
        server.error(bad, -32600)
        server.alive()
    for bad in ['{"jsonrpc":"1.0","id":5,"method":"ping"}\n', '{"id":5,"method":"ping"}\n', '{"jsonrpc":"2.0","id":5,"method":7}\n',
                '{"jsonrpc":"2.0","id":5}\n']:
        server.error(bad, -32600, 5)
    for bad in ['{"jsonrpc":"2.0","id":5,"method":"ping","params":[]}\n', '{"jsonrpc":"2.0","id":5,"method":"tools/call"}\n',
                '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"train","arguments":[]}}\n',
                '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":5}}\n',
                '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"tr\\u0000ain","arguments":{}}}\n',
                '{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"a\\u0000b"}}\n',
                '{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{}}\n',
                '{"jsonrpc":"2.0","id":5,"method":"initialize","params":{}}\n']:
        server.error(bad, -32602, 5)
    # Valid JSON that cannot be kept as it is: the call is answered, and the argument named.
    def refused(arguments, *words):
        server.raw(f'{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"train","arguments":{arguments}}}}}\n')
        message = server.line()
        text = message["result"]["content"][0]["text"]
        assert message["id"] == 7 and message["result"]["isError"] and all(word in text for word in words), message
    refused('{"case":"toy","iterations":2,"seed":99999999999999999999}', "field: seed", "received: 1e20", "whole number")
    refused('{"case":"a\\u0000b"}', "field: case", "zero byte")
    refused('{"case":"\\ud800\\ud83d\\ude00\\udc00\\\\ud800"}', "field: case", "\ufffd\U0001f600\ufffd\\ud800", "no such file")
    refused('{"case":"toy","out":"\\u001b[1m"}', "field: out")
    assert server.request("resources/read", {"uri": "cobre://table/hydros.csv/toy%00x"}).code == -32002
    # What nobody answers: notifications, known or not, and replies to what was never asked.
    for quiet in ['{"jsonrpc":"2.0","method":"notifications/unknown"}\n', '{"jsonrpc":"2.0","method":"ping"}\n',
                  '{"jsonrpc":"2.0","id":1,"result":{}}\n', '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}\n',
                  '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}\n',
                  '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[1]}}\n',
                  '{"jsonrpc":"2.0","method":"notifications/cancelled"}\n',
                  '{"jsonrpc":"2.0","method":"notifications/cancelled","params":"x"}\n']:
        server.raw(quiet)
        server.alive()
    # A line may be long, but not that long; and it is not kept.
    server.raw('{"jsonrpc":"2.0","id":"long","method":"ping","params":{"x":"' + "x" * (9 << 20) + '"}}\n')
    assert server.line()["id"] == "long"
    before = server.memory()
    for _ in range(40):
        server.raw("x" * (1 << 20))
    server.error("\n", -32600)
    server.alive()
    assert server.sanitized() or server.memory() < before + (16 << 20), (before, server.memory())
    # Pieces, and many at once.
    for letter in '{"jsonrpc":"2.0","id":"slow","method":"ping"}\n':
        server.raw(letter)
    assert server.line()["id"] == "slow"
    server.raw("".join(f'{{"jsonrpc":"2.0","id":{i},"method":"ping"}}\n' for i in range(5000)))
    assert [server.line()["id"] for _ in range(5000)] == list(range(5000))
    # The last line may lack its end.
    server.raw('{"jsonrpc":"2.0","id":"last","method":"ping"}')
    server.process.stdin.close()
    assert server.line()["id"] == "last"
END
}

case_batches() {
    client <<'END'
with Server("--root", "studies") as server:
    server.initialize("2025-03-26")
    call = lambda id, **more: {"jsonrpc": "2.0", "id": id, "method": "ping", **more}
    server.send([call(1), {"jsonrpc": "2.0", "method": "notifications/x"}, call("b", method="no/such"), 7,
                 call(3, method="tools/call", params={"name": "train", "arguments": {"case": "toy", "iterations": 3}})])
    replies = {reply.get("id"): reply for reply in server.reply()}
    assert len(replies) == 4 and replies[1]["result"] == {} and replies["b"]["error"]["code"] == -32601, replies
    assert replies[None]["error"]["code"] == -32600 and "finished" in replies[3]["result"]["content"][0]["text"], replies
    conforms("2025-03-26", "JSONRPCBatchResponse", [replies[1], replies["b"], replies[3]])
    server.send([{"jsonrpc": "2.0", "method": "notifications/x"}])
    server.alive()
    # A client takes no line of 10 MiB: what would make it longer is not done.
    server.send([call(i, method="tools/list") for i in range(1000)])
    replies = server.reply()
    assert [reply["id"] for reply in replies] == list(range(1000)) and len(json.dumps(replies)) < 10 << 20
    assert "tools" in replies[0]["result"] and "not done" in replies[-1]["error"]["message"], replies[-1]
    open("studies/toy/long.csv", "w").write("\x01" * (4 << 20)) # escaped, it is six times as long
    assert server.request("resources/read", {"uri": "cobre://table/long.csv/toy"}).code == -32603
    os.remove("studies/toy/long.csv")
    server.error("[]\n", -32600)
    server.error(json.dumps([call(1)] * 1001) + "\n", -32600)
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"]:
        server.initialize(revision)
        server.error(json.dumps([call(1)]) + "\n", -32600)
END
}

# What is wrong with an argument, what it could be, and what to do.
case_arguments() {
    client <<'END'
with Server("--root", "studies") as server:
    server.initialize()
    server.refused("validate_case", 'field: case', "received: nothing", '"case" is missing', "next step:")
    server.refused("validate_case", "field: casse", "nearest match: case", "allowed: case, table, scenarios, limit, offset", casse="toy")
    server.refused("validate_case", "received: [1]", "allowed: a text", case=[1])
    server.refused("validate_case", "received: 0", "allowed: a whole number from 1 to 1000", case="toy", limit=0)
    server.refused("validate_case", "allowed: a whole number", case="toy", limit=1.5)
    server.refused("validate_case", "allowed: a whole number", case="toy", limit="many")
    assert server.call("validate_case", case="toy", limit="5", offset=0.0)["valid"]
    assert server.call("validate_case", case="toy", limit=None)["valid"]
    server.refused("list_studies", "allowed: case, run, policy", "nearest match: policy", kind="polcy")
    server.refused("train", "field: stop", "allowed: any, all", case="toy", stop="some")
    server.refused("train", "field: forward-passess", "nearest match: forward-passes", case="toy", **{"forward-passess": 3})
    server.refused("train", '"cvar"', "TAIL must be above 0 and at most 1", "allowed: TAIL,MEAN: TAIL is a number above 0 and at "
                   "most 1, MEAN is a number of at least 0 and at most 1", case="toy", cvar="5,50")
    server.refused("train", "field: solver", "received: \"/tmp/evil.so\"", "allowed: clp, glpk", case="toy", solver="/tmp/evil.so")
    server.refused("simulate", "field: solver", "nearest match: glpk", case="toy", policy="toy", solver="glpkk")
    server.refused("train", "field: iterations", "from 1 to 100000", case="toy", iterations=0)
    server.refused("train", "field: time", "not a time", case="toy", time="soon")
    server.refused("train", "field: time", "max-time", "allowed: a time such as 90s, 15m or 2h, at most 86400s", case="toy", time="3d")
    server.refused("train", "field: num_workers", case="toy", num_workers=10000)
    server.refused("train", "field: resume", "there is no such file", case="toy", resume="none.cobre")
    server.refused("train", "field: gap", "allowed: true or false", case="toy", gap="maybe")
    server.refused("job_status", "field: job_id", "received: job-9", "there was no job", job_id="job-9")
    server.refused("query_convergence", "holds no results", run="toy")
    server.refused("job_status", "there was no job") # none of these has become one
    assert server.call("train", case="toy", iterations="4", forward_passes=2, gap="true", seed=18446744073709551615 // 4,
                       stop="all", stall="1,10")["iteration"] >= 4
    broken = "studies/broken"
    os.mkdir(broken)
    open(f"{broken}/case.json", "w").write("{")
    facts = server.call("validate_case", case="broken")
    assert not facts["valid"] and facts["problems"][0]["file"].endswith("case.json") and facts["problems"][0]["line"], facts
    server.refused("train", "has failed with exit code 1", "case.json", "validate_case", case="broken")
    run = server.call("train", case="toy", iterations=2)["run"]
    server.refused("simulate", "field: tables", 'no table "duels"', "nearest match: duals", "allowed: all, none", case="toy",
                   policy=run, tables="stages,duels")
    text = server.refused("simulate", "has failed", "cannot be 1000", "next step: give a number within", case="toy", policy=run,
                          state="lake=1000")
    assert "validate_case" not in text, text
    assert not glob.glob("studies/cobre-output/broken*") # nothing came into it
END
}

case_studies() {
    client <<'END'
with Server("--max-workers", "2", cwd="studies") as server: # the current folder is the root
    server.initialize()
    facts = server.call("list_studies")
    here = os.path.realpath("studies")
    assert facts["roots"] == [here] and facts["output"] == f"{here}/cobre-output" and facts["complete"], facts
    assert [s["path"] for s in facts["studies"]] == [f"{here}/{name}" for name in ["brazil3", "brazil60", "toy"]], facts
    assert not os.path.exists("studies/cobre-output") # nothing is made before it is needed
    trained = server.call("train", case="toy", iterations=30, forward_passes=10)
    assert trained["run"] == f"{here}/cobre-output/toy-1" and trained["status"] == "finished", trained
    assert trained["policy"] == trained["run"] + "/policy.cobre" and trained["stop"] == "iteration limit"
    assert server.call("query_convergence", run=trained["run"])["verdict"] == "unknown"
    simulated = server.call("simulate", case="toy", policy=trained["run"], trajectories=4000, num_workers=2)
    assert simulated["run"] == trained["run"] and simulated["trajectories"] == 4000 and simulated["half"] > 0, simulated
    facts = server.call("query_convergence", run="toy-1", points=5)
    assert facts["verdict"] in ("converged", "unknown") and facts["simulation"]["trajectories"] == 4000, facts
    assert abs(facts["training"]["bound"] - 2625) < 1e-6 and len(facts["trace"]) == 5 and facts["times"]["forward"] > 0
    assert facts["trace"][0]["iteration"] == 1 and facts["trace"][-1]["iteration"] == 30
    again = server.call("train", case="toy", iterations=3)
    assert again["run"] == f"{here}/cobre-output/toy-2", again
    named = server.call("train", case="toy", iterations=3, out="a/b")
    assert named["run"] == f"{here}/cobre-output/a/b", named
    text = server.refused("train", "field: out", "a/b holds a finished run", "give another out", case="toy", iterations=3, out="a/b")
    assert "--" not in text, text
    more = server.call("train", case="toy", iterations=6, resume=again["run"], out="more")
    assert more["iteration"] == 6 and "warnings" not in more, more
    # In the folder of its policy: only if that is said so, and what else is there is told.
    server.refused("train", "field: out", "finished run", case="toy", iterations=8, resume=again["run"], out="more")
    more = server.call("train", case="toy", iterations=8, resume="more", out="more")
    assert more["iteration"] == 8 and "warnings" not in more, more
    server.call("simulate", case="toy", policy="more", trajectories=10)
    more = server.call("train", case="toy", iterations=9, resume="more", out="more")
    assert more["iteration"] == 9 and "simulate again" in more["warnings"][0], more
    # A folder that list_studies would not find, or that cannot be told.
    for out, why in [("", "output folder itself"), (".", "output folder itself"), (f"{here}/cobre-output", "output folder itself"),
                     ("toy-2/sub", "inside of a case or a run"), ("more/./x/y", "inside of a case or a run"),
                     ("a\nb", "control character"), ("\x1b[1m", "control character"), ("x\x9by", "control character")]:
        server.refused("train", "field: out", why, case="toy", iterations=1, out=out)
    server.refused("export_results", "field: name", "control character", run="toy-1", format="csv", name="a\x1bb")
    os.mkdir("studies/cobre-output/case")
    open("studies/cobre-output/case/case.json", "w").write("{}")
    server.refused("train", "is a case", case="toy", iterations=1, out="case")
    server.refused("train", "inside of a case or a run", case="toy", iterations=1, out="case/x")
    os.remove("studies/cobre-output/case/case.json")
    runs = server.call("list_studies", kind="run")
    assert [os.path.basename(s["path"]) for s in runs["studies"]] == ["b", "more", "toy-1", "toy-2"], runs
    assert runs["studies"][2] == {**runs["studies"][2], "state": "finished", "simulated": True, "iterations": 30,
                                "policy": f"{here}/cobre-output/toy-1/policy.cobre", "case": f"{here}/toy", "risk": "none"}, runs
    page = server.call("list_studies", limit=2, offset=1)
    assert page["count"] == 7 and len(page["studies"]) == 2 and page["next_offset"] == 3, page
    assert server.call("job_status", job_id="job-1") == {**trained, "seconds": server.call("job_status", job_id="job-1")["seconds"]}
    summary = server.request("resources/read", {"uri": "cobre://summary/toy-1"})["contents"][0]["text"]
    assert "bound,2625" in summary or "bound,2624.99" in summary, summary
    assert "<html" in server.request("resources/read", {"uri": "cobre://report/toy-1"})["contents"][0]["text"].lower()
    assert "iteration,bound" in server.request("resources/read", {"uri": "cobre://convergence/toy-1"})["contents"][0]["text"]
END
}

# While a training runs: others are answered, a second one is refused; progress; news.
case_jobs() {
    client <<'END'
with Server("--root", "studies") as server:
    server.initialize()
    first = server.ask("tools/call", {"name": "train", "arguments": {"case": "brazil60", "iterations": 100000}}, token="p")
    wait_until(lambda: server.children(), "no child")
    slowest = 0
    end = time.monotonic() + 0.5
    while time.monotonic() < end or not server.seen: # until the first iteration, which is told as progress
        begin = time.monotonic()
        assert server.request("ping") == {}
        slowest = max(slowest, time.monotonic() - begin)
        time.sleep(0.02)
    assert slowest < 1, slowest
    server.refused("train", "job-1", "one job runs at a time", case="toy")
    server.refused("simulate", "job-1", case="toy", policy="toy")
    assert server.request("tools/call", {"name": "train", "arguments": {}}, id=first).code == -32600 # this id is in use
    state = server.call("job_status", job_id="job-1", wait=0)
    assert state["status"] == "running" and state["bound"] and state["iteration"] >= 1, state
    facts = server.call("query_convergence", run=state["run"]) # also while it runs
    assert facts["verdict"] == "not yet" and facts["training"]["iterations"] >= 1 and facts["times"] == {}, facts
    state = server.call("job_cancel", at_once=True)
    # The call that waits for the training has its answer, too. They may come in any order.
    other = server.pending and server.reply()
    assert state["status"] == "finished" and state["stop"] == "asked to stop" and os.path.exists(state["policy"]), state
END
    client <<'END'
with Server("--root", "studies") as server:
    server.initialize("2025-11-25")
    id = server.ask("tools/call", {"name": "train", "arguments": {"case": "brazil60", "iterations": 100000}}, token=7)
    told = []
    while len(told) < 2:
        message = server.line()
        conforms("2025-11-25", "ProgressNotification", message)
        told.append(message["params"])
    assert all(t["progressToken"] == 7 and t["total"] == 100000 and "bound" in t["message"] for t in told), told
    assert [t["progress"] for t in told] == sorted({t["progress"] for t in told}), told
    # Cancelled: nothing more is said about it, and the training is stopped and saved.
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "enough"}})
    state = server.call("job_status", wait=30)
    assert state["status"] == "finished" and state["stop"] == "asked to stop" and os.path.exists(state["policy"]), state
    server.alive()
    # A wait that is cancelled is only a wait.
    server.ask("tools/call", {"name": "train", "arguments": {"case": "brazil60", "iterations": 100000, "wait": 0}}, id="t")
    state = server.reply()["result"]["structuredContent"]
    assert state["status"] == "running" and state["job_id"] == "job-2", state
    server.ask("tools/call", {"name": "job_status", "arguments": {}}, id="w")
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "w"}})
    server.alive()
    while server.call("job_status", wait=0.2).get("iteration", 0) < 1:
        pass
    policy = server.call("job_cancel", at_once=True)["policy"]
    # A simulation tells that it goes on; cancelled, it keeps what is finished.
    id = server.ask("tools/call", {"name": "simulate", "arguments": {"case": "brazil60", "policy": policy,
                                                                   "trajectories": 1000000}}, token="s")
    message = server.line()
    assert message["method"] == "notifications/progress" and "simulates" in message["params"]["message"], message
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
    state = server.call("job_status")
    assert state["status"] == "finished" and state["stopped"] and 0 < state["trajectories"] < 1000000, state
END
}

# Ended before it has anything to save, and from outside.
case_cut_short() {
    client <<'END'
with Server("--root", "studies") as server:
    server.initialize()
    for out in [{}, {"out": "a/b"}]:
        server.raw("".join(json.dumps({"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": {"name": name, "arguments":
            arguments}}) + "\n" for name, arguments in [("train", {"case": "brazil60", "wait": 0, **out}), ("job_cancel", {})]))
        replies = {message["id"]: message["result"] for message in (server.reply(), server.reply())}
        state = replies["job_cancel"]["structuredContent"]
        assert state["status"] == "finished" or "stopped before its first iteration" in state["error"], state
        assert state["status"] == "finished" or not os.listdir("studies/cobre-output"), os.listdir("studies/cobre-output")
        if state["status"] == "finished": # it was faster
            subprocess.run(["rm", "-r", state["run"]])
    server.ask("tools/call", {"name": "train", "arguments": {"case": "brazil60", "iterations": 100000}}, token=1)
    while server.line().get("method") != "notifications/progress":
        pass
    os.kill(server.children()[0], signal.SIGKILL)
    text = server.reply()["result"]["content"][0]["text"]
    assert "it was ended by signal 9 (Killed)" in text and "validate_case" not in text, text
    state = server.call("job_status")
    assert "signal 9" in state["error"] and os.listdir(state["run"]) and not os.path.exists(state["run"] + "/steer.sock"), state
END
}

case_limits() {
    client <<'END'
with Server("--root", "studies", "--max-iterations", "20", "--max-time", "1s") as server:
    server.initialize()
    server.refused("train", "from 1 to 20", case="toy", iterations=21)
    for rules in [{"stall": "1000000"}, {}, {"window": 10}]:
        state = server.call("train", case="toy", **rules)
        assert state["limit"] == "iterations" and state["status"] == "finished" and state["iteration"] == 20, state
    for rules in [{"iterations": 20}, {"iterations": 20, "stop": "all"}, {"stall": "2,1"}]: # it ends by its own rule
        state = server.call("train", case="toy", **rules)
        assert "limit" not in state and "stopped" not in state and state["iteration"] <= 20, state
    state = server.call("train", case="toy", stall="1000000", stop="all")
    assert state["limit"] == "iterations" and state["stopped"] and state["iteration"] >= 20, state
with Server("--root", "studies", "--max-time", "1s") as server:
    server.initialize()
    state = server.call("train", case="brazil60", stall="100000")
    assert state["limit"] == "time" and state["status"] == "finished" and state["stop"] == "asked to stop", state
with Server("--root", "studies", "--max-memory", "0.002") as server:
    server.initialize()
    if not server.sanitized():
        server.refused("train", "has failed", case="brazil60", iterations=3)
# A text that a few kilobytes become: the server itself has limits, too, and lives.
write_large("studies/some.sof.json.gz", 45)
write_large("studies/much.sof.json.gz", 60)
with Server("--root", "studies", "--max-memory", "0.2") as server:
    server.initialize()
    facts = server.call("validate_case", case="much.sof.json.gz")
    assert "has more than 51 MiB" in facts["problems"][0]["message"] and "start a job" in facts["problems"][0]["remedy"], facts
    server.refused("inspect_case", "has more than 51 MiB", case="much.sof.json.gz")
    if not server.sanitized():
        for tool in ["validate_case", "inspect_case"]:
            server.refused(tool, "memory", case="some.sof.json.gz")
        peak = int(re.search(r"VmHWM:\s*(\d+)", open(f"/proc/{server.process.pid}/status").read())[1])
        assert peak < 260 << 10, peak
    assert server.call("validate_case", case="toy")["valid"]
END
}

# The client has gone: the server, too, within 2 s, and a training has saved what is finished.
case_end() { # timed
    client <<'END'
def train(server, **more):
    server.initialize()
    server.ask("tools/call", {"name": "train", "arguments": {"case": "brazil60", "iterations": 100000, **more}}, token=1)
    while server.line().get("method") != "notifications/progress":
        pass
    pids = server.children()
    assert pids
    return pids
def gone(pid):
    return not os.path.exists(f"/proc/{pid}") or open(f"/proc/{pid}/stat").read().split(") ")[1][0] == "Z"
def saved(number):
    folder = f"studies/cobre-output/brazil60-{number}"
    record = json.load(open(f"{folder}/run.json"))
    assert record["training"]["state"] == "finished" and record["training"]["iterations"] >= 1, record
    assert os.path.exists(f"{folder}/policy.cobre")
with Server("--root", "studies") as server:
    pids = train(server)
    assert server.close() < 2
    assert server.process.returncode == 0
    wait_until(lambda: all(map(gone, pids)), "left over")
    saved(1)
with Server("--root", "studies", "--max-workers", "2") as server:
    pids = train(server, num_workers=2)
    begin = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    server.process.wait(PATIENCE)
    assert time.monotonic() - begin < 2
    wait_until(lambda: all(map(gone, pids)), "left over")
    saved(2)
# Nobody reads any more.
server = Server("--root", "studies")
pids = train(server)
server.process.stdout.close()
begin = time.monotonic()
server.raw('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
server.process.wait(PATIENCE)
assert time.monotonic() - begin < 2
wait_until(lambda: all(map(gone, pids)), "left over")
saved(3)
# A client that does not read, and goes.
server = Server("--root", "studies")
for _ in range(20000):
    if not select.select([], [server.process.stdin], [], 0.5)[1]:
        break
    server.raw('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
assert server.close() < 2
# While a tool works.
write_large("studies/large.sof.json.gz", 60)
for end in [lambda server: server.process.stdin.close(), lambda server: server.process.send_signal(signal.SIGTERM)]:
    with Server("--root", "studies") as server:
        pids = train(server)
        server.ask("tools/call", {"name": "validate_case", "arguments": {"case": "large.sof.json.gz"}})
        wait_until(lambda: server.memory() > 32 << 20, "it does not read")
        begin = time.monotonic()
        end(server)
        server.process.wait(PATIENCE)
        assert time.monotonic() - begin < 2
        wait_until(lambda: all(map(gone, pids)), "left over")
saved(4)
saved(5)
# The server is killed: the training notices.
server = Server("--root", "studies")
pids = train(server)
server.process.kill()
server.process.wait()
wait_until(lambda: all(map(gone, pids)), "left over")
saved(6)
END
}

# Only what is below the roots and the output is read, and only the output is written.
case_places() {
    mkdir secret
    cp -r "$root/cases/toy" secret/toy
    client <<'END'
os.mkdir("elsewhere")
shutil.copytree("studies", "linked")
os.symlink(os.path.abspath("elsewhere"), "linked/cobre-output")
with Server("--root", "linked") as server: # nobody has said that results go there
    server.initialize()
    server.refused("train", "cannot be made", case="toy", iterations=1)
assert os.listdir("elsewhere") == []
import socket
inside = os.path.realpath("studies")
outside = os.path.realpath("secret")
os.symlink(f"{outside}/toy", "studies/out_absolute")
os.symlink("../secret/toy", "studies/out_relative")
os.symlink("toy", "studies/in_relative")
os.symlink(f"{inside}/toy", "studies/in_absolute")
os.symlink("/proc/self/root", "studies/magic")
os.symlink("loop", "studies/loop")
os.mkfifo("studies/fifo.sof.json")
os.mkdir("studies/nest")
socket.socket(socket.AF_UNIX).bind("studies/socket")
os.symlink("/dev/zero", "studies/zero")
with Server("--root", "studies", "--output", "results") as server:
    server.initialize()
    for path in ["toy", "./toy", "nest/../toy", f"{inside}/toy", f"{inside}/nest/../toy", "in_relative", "in_absolute",
                 f"{inside}/in_relative", "toy/"]:
        assert server.call("validate_case", case=path)["case"] == f"{inside}/toy", path
    for path in ["out_absolute", "out_relative", "../secret/toy", f"{outside}/toy", "nest/../../secret/toy", "magic/etc",
                 f"magic{outside}/toy", "/etc/passwd", "/", "..", f"{inside}/../secret/toy", "zero", "/dev/zero",
                 f"{outside}/../studies/toy"]:
        text = server.refused("validate_case", "outside of the allowed folders", inside, case=path)
        missing = path.replace("toy", "none") # what is outside is not told
        if missing not in (path, "out_none"):
            assert server.refused("validate_case", case=missing) == text.replace("toy", "none"), (path, text)
    server.refused("validate_case", "there is no such file", case="in_absolute/none")
    server.refused("validate_case", "a FIFO", case="fifo.sof.json")
    server.refused("validate_case", "a socket", case="socket")
    server.refused("validate_case", "resolved", case="loop")
    server.refused("validate_case", "no such file", case="nothing")
    server.refused("validate_case", "empty", case="")
    server.refused("validate_case", "too long", case="x" * 5000)
    for out in ["../x", "/tmp/x", f"{inside}/x", "a/../../x", ".."]:
        server.refused("train", "leads out of the output folder", case="toy", iterations=1, out=out)
    os.makedirs("results/real", exist_ok=True)
    os.symlink(outside, "results/link")
    server.refused("train", "leads out of the output folder", case="toy", iterations=1, out="link/x")
    assert server.call("train", case="toy", iterations=1, out="real/x")["run"] == os.path.realpath("results/real/x")
    for option in ["resume", "warm_start"]:
        server.refused("train", "outside", case="toy", **{option: "/etc/passwd"})
    server.refused("simulate", "outside", case="toy", policy="real/x", scenarios="/etc/passwd")
    server.refused("simulate", "outside", case="toy", policy="real/x", state="/etc/x.CSV")
    for uri in ["cobre://table/case.json/out_absolute", f"cobre://table/case.json/{outside}/toy",
                "cobre://table/case.json/%2e%2e/secret/toy", f"cobre://summary/{outside}", "cobre://table/passwd/%2Fetc"]:
        assert server.request("resources/read", {"uri": uri}).code == -32002, uri
    assert all("secret" not in study["path"] for study in server.call("list_studies")["studies"])
assert sorted(os.listdir("secret")) == ["toy"] and not os.path.exists("x")
for bad in [["--root", "none"], ["--root", "studies/toy/case.json"], ["--max-workers", "0"]]:
    done = subprocess.run([os.environ["COBRE"], "mcp", *bad], stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode == 2 and done.stdout == b"", done
END
}

# Files within a case and a run lead nowhere else, and a pipe there holds up nobody: in the server, and in its jobs.
case_files_within() {
    mkdir -p secret studies
    cp -r "$root/cases/toy" secret/toy
    sed 's/"GreaterThan", "lower": 0/"GreaterThan", "lower": 1.5/; s/"lower": 0, "upper": 4/"lower": 0, "upper": 0/' \
        "$root/cases/gas.sof.json" >studies/dry.sof.json # has no solution
    client <<'END'
import shutil
tables = [name for name in os.listdir("studies/toy") if name.endswith(".csv")]
def bent(name, make):
    shutil.copytree("studies/toy", f"studies/{name}")
    os.remove(f"studies/{name}/{tables[0]}")
    make(f"studies/{name}/{tables[0]}")
bent("absolute", lambda path: os.symlink(os.path.realpath(f"secret/toy/{tables[0]}"), path))
bent("relative", lambda path: os.symlink(f"../../secret/toy/{tables[0]}", path))
bent("inside", lambda path: os.symlink(f"../toy/{tables[0]}", path))
bent("inside_absolute", lambda path: os.symlink(os.path.realpath(f"studies/toy/{tables[0]}"), path))
bent("fifo", os.mkfifo)
bent("device", lambda path: os.symlink("/dev/zero", path))
with Server("--root", "studies", "--output", "results") as server:
    server.initialize()
    for name in ["inside", "inside_absolute"]:
        assert server.call("validate_case", case=name)["valid"]
        assert server.call("train", case=name, iterations=1)["status"] == "finished"
    for name in ["absolute", "relative", "device"]:
        answer = server.call("validate_case", case=name)
        assert not answer["valid"] and "outside of the folders that may be used" in str(answer), answer
        for workers in [1, 2]:
            server.refused("train", "outside of the folders", case=name, iterations=1, num_workers=workers)
    answer = server.call("validate_case", case="fifo")
    assert not answer["valid"] and "no file" in str(answer), answer
    run = server.call("train", case="toy", iterations=2, out="run")["run"]
    for name in ["training.csv", "summary.csv", "events.jsonl"]:
        os.remove(f"{run}/{name}")
        os.symlink(os.path.realpath("secret/toy/case.json"), f"{run}/{name}")
    text = str(server.request("tools/call", {"name": "query_convergence", "arguments": {"run": run}}))
    assert "stages" not in text, text # of that case.json
    # The LP of a stage without a solution is written by a library, by a path: not through a link, either.
    for solver in ["glpk", "clp"]:
        text = server.refused("train", "written to", case="dry.sof.json", iterations=20, solver=solver, out=f"lp/{solver}")
        path = re.search(r"written to (\S+\.lp)", text)[1]
        assert "Subject To" in open(path).read() and "No decision meets" in open(path).read() and not glob.glob("results/lp/*/.*")
        os.makedirs(f"results/links/{solver}")
        open("secret/victim", "w").write("mine")
        os.symlink(os.path.realpath("secret/victim"), f"results/links/{solver}/{os.path.basename(path)}")
        server.refused("train", "written to", case="dry.sof.json", iterations=20, solver=solver, out=f"links/{solver}")
        assert open("secret/victim").read() == "mine"
END
}

# 1,000 calls and 100 trainings: memory and descriptors stay flat; of the jobs the last 100 are kept.
case_flat() {
    client <<'END'
with Server("--root", "studies") as server:
    server.initialize()
    def turn(count):
        for i in range(count):
            server.call("validate_case", case="toy")
            if i % 10 == 0:
                server.call("list_studies", limit=1, kind="case")
            server.request("resources/read", {"uri": "cobre://table/hydros.csv/toy"})
            server.refused("validate_case", case="../..")
            server.request("prompts/get", {"name": "explain_results", "arguments": {"run": "r"}})
    def train(count):
        for i in range(count):
            assert server.call("train", case="toy", iterations=1, out=f"r{i % 2}-{time.monotonic()}")["status"] == "finished"
    turn(20)
    train(101) # the places for jobs are full
    memory, files = server.memory(), server.descriptors()
    turn(250) # 1,025 calls
    train(100)
    assert server.descriptors() == files, (files, server.descriptors())
    assert server.sanitized() or server.memory() < memory + (1 << 20), (memory, server.memory())
    assert server.call("job_status", job_id="job-201")["status"] == "finished"
    server.refused("job_status", "job-102 to job-201", job_id="job-101")
    assert server.children() == []
END
}

run_cases "${@:3}"
