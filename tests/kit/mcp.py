# SPDX-License-Identifier: Apache-2.0
"""mcp.py: a client of `cobre mcp` that hides nothing: it writes lines and reads lines.

Each reply is checked: its envelope, what its era allows, the schema of its revision if the schemas are there, the output schema
of its tool. Environment: COBRE (the program), SCHEMAS (a folder of schema-*.json, which may be missing)."""
import glob
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import zlib

import jsonschema

LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
META = {PREFIX + "protocolVersion": MODERN, PREFIX + "clientCapabilities": {}}
PATIENCE = 120

RESULTS = {"initialize": "InitializeResult", "ping": "EmptyResult", "server/discover": "DiscoverResult",
           "tools/list": "ListToolsResult", "tools/call": "CallToolResult", "resources/list": "ListResourcesResult",
           "resources/templates/list": "ListResourceTemplatesResult", "resources/read": "ReadResourceResult",
           "prompts/list": "ListPromptsResult", "prompts/get": "GetPromptResult"}
CACHED = ["tools/list", "resources/list", "resources/templates/list", "resources/read", "prompts/list", "server/discover"]
_schemas = {}


def validator(revision, name):
    """Of a definition of a revision; None: its schema is not there."""
    if revision not in _schemas:
        path = os.path.join(os.environ.get("SCHEMAS", ""), f"schema-{revision}.json")
        _schemas[revision] = json.load(open(path)) if os.path.exists(path) else None
    schema = _schemas[revision]
    if not schema:
        return None
    key = "$defs" if "$defs" in schema else "definitions"
    kind = jsonschema.Draft202012Validator if key == "$defs" else jsonschema.Draft7Validator
    assert name in schema[key], (revision, name)
    return kind({"$ref": f"#/{key}/{name}", key: schema[key]})


def conforms(revision, name, value):
    check = validator(revision, name)
    if check:
        check.validate(value)


class Server:
    def __init__(self, *options, cwd=None, env=None):
        self.process = subprocess.Popen([os.environ["COBRE"], "mcp", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        cwd=cwd, env=env, bufsize=0)
        self.pending = b""
        self.revision = "2025-11-25"  # of messages that do not name theirs
        self.next_id = 0
        self.tools = {}
        self.seen = []  # notifications

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends it by the end of its input; how long that took."""
        begin = time.monotonic()
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        self.process.wait(PATIENCE)
        took = time.monotonic() - begin
        self.process.stdout.close()
        return took

    def raw(self, data):
        data = data if isinstance(data, bytes) else data.encode()
        while data:
            data = data[self.process.stdin.write(data):]

    def send(self, message):
        self.raw(json.dumps(message) + "\n")

    def line(self, seconds=PATIENCE):
        """The next message; None: none came."""
        end = time.monotonic() + seconds
        while b"\n" not in self.pending:
            ready = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]
            data = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
            if not data:
                return None
            self.pending += data
        line, self.pending = self.pending.split(b"\n", 1)
        def constant(word):
            raise AssertionError(f"{word} is not JSON")
        return json.loads(line.decode(), parse_constant=constant)

    def reply(self, seconds=PATIENCE):
        """The next message that is no notification."""
        while True:
            message = self.line(seconds)
            if message is None or "method" not in message:
                return message
            assert set(message) == {"jsonrpc", "method", "params"}, message
            self.seen.append(message)

    def ask(self, method, params=None, modern=False, token=None, id=None):
        """Sends a request; its id."""
        if id is None:
            self.next_id += 1
            id = self.next_id
        params = dict(params or {})
        meta = dict(META) if modern else {}
        if token is not None:
            meta["progressToken"] = token
        if meta:
            params["_meta"] = meta
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        if params:
            message["params"] = params
        self.send(message)
        return id

    def request(self, method, params=None, modern=False, token=None, id=None):
        """The result; an Error if there is one."""
        id = self.ask(method, params, modern, token, id)
        message = self.reply()
        return self.check(method, id, message, modern, (params or {}).get("name"))

    def check(self, method, id, message, modern=False, tool=None):
        revision = MODERN if modern else self.revision
        assert message and message["id"] == id and type(message["id"]) is type(id), (id, message)
        assert set(message) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}), message
        if "error" in message:
            conforms(revision, "JSONRPCErrorResponse" if revision >= "2025-11-25" else "JSONRPCError", message)
            return Error(message["error"])
        result = message["result"]
        conforms(revision, RESULTS[method], result)
        if modern:
            assert result["resultType"] == "complete" and PREFIX + "serverInfo" in result["_meta"], result
            assert ("ttlMs" in result and "cacheScope" in result) == (method in CACHED), result
        else:
            assert not {"resultType", "ttlMs", "cacheScope", "_meta"} & set(result), result
        if method == "tools/call":
            self.check_call(tool, result, revision)
        return result

    def check_call(self, tool, result, revision):
        text = result["content"][0]["text"]
        assert len(text) <= 20000, len(text)
        if result.get("isError"):
            assert len(text) > 20 and "structuredContent" not in result, result
            return
        assert "isError" not in result, result
        facts = json.loads(text.split("\n\n", 1)[1])
        if revision < "2025-06-18":
            assert "structuredContent" not in result, result
            result["structuredContent"] = facts
        assert facts == result["structuredContent"], result
        if tool in self.tools:
            jsonschema.Draft202012Validator(self.tools[tool]["outputSchema"]).validate(facts)

    def call(self, tool, modern=False, token=None, **arguments):
        """The facts of a call; it must not fail."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments}, modern, token)
        assert not isinstance(result, Error) and not result.get("isError"), result
        return result["structuredContent"]

    def refused(self, tool, *words, **arguments):
        """The text of a call that must fail, with these words in it."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        assert not isinstance(result, Error) and result.get("isError"), result
        text = result["content"][0]["text"]
        for word in words:
            assert word in text, (word, text)
        return text

    def initialize(self, revision="2025-11-25"):
        result = self.request("initialize", {"protocolVersion": revision, "capabilities": {},
                                             "clientInfo": {"name": "raw", "version": "1"}})
        self.revision = result["protocolVersion"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        if self.revision >= "2025-06-18":
            self.tools = {tool["name"]: tool for tool in self.request("tools/list")["tools"]}
        return result

    def alive(self):
        """Nothing else is sent, and it answers."""
        id = self.ask("ping", id=f"alive-{time.monotonic()}")
        message = self.line()
        assert message == {"jsonrpc": "2.0", "id": id, "result": {}}, message

    def error(self, data, code, id=None):
        """A line that is answered by this error, without an id unless one is given."""
        self.raw(data)
        message = self.line()
        assert message and message["error"]["code"] == code, (data[:100], message)
        assert message.get("id") == id and ("id" in message) == (id is not None), message

    def children(self):
        pid = self.process.pid
        return [int(p) for p in open(f"/proc/{pid}/task/{pid}/children").read().split()]

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def memory(self):
        """Bytes that are its own. Pages of files do not count: who else has them mapped is not ours to say."""
        for line in open(f"/proc/{self.process.pid}/smaps_rollup"):
            if line.startswith("Anonymous:"):
                return 1024 * int(line.split()[1])

    def sanitized(self):
        """With a sanitizer memory has other laws."""
        return "libasan" in open(f"/proc/{self.process.pid}/maps").read()


class Error(dict):
    @property
    def code(self):
        return self["code"]


def write_large(path, mib):
    """A few kilobytes that become so much JSON."""
    packer = zlib.compressobj(1, wbits=31)
    with open(path, "wb") as file:
        file.write(packer.compress(b'{"a":['))
        for _ in range(mib):
            file.write(packer.compress(b"0," * (1 << 19)))
        file.write(packer.compress(b"0]}") + packer.flush())


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.01)
