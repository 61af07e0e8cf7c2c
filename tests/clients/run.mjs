/* SPDX-License-Identifier: Apache-2.0 */
// run.mjs COBRE MODULES SCHEMAS: `cobre mcp` as others see it. The official clients call every tool, in both eras of the protocol;
// the inspector lists and calls them; what comes back is checked against the schemas of the specification.
// MODULES: the folder in which npm has installed package.json. SCHEMAS: a folder of schema-*.json, which may be missing.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const [cobre, modules, schemaFolder] = process.argv.slice(2).map(name => path.resolve(name));
const here = path.dirname(fileURLToPath(import.meta.url)), cases = path.resolve(here, "../../cases");
const need = createRequire(`${modules}/`);
const two = need("@modelcontextprotocol/client");
const twoStdio = need("@modelcontextprotocol/client/stdio");
const one = need("@modelcontextprotocol/sdk/client/index.js");
const oneStdio = need("@modelcontextprotocol/sdk/client/stdio.js");
const inspector = path.join(modules, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
const Ajv = need("ajv");
const Ajv2020 = need("ajv/dist/2020");
const addFormats = need("ajv-formats");

const MODERN = "2026-07-28", LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const PATIENCE = 60_000;
const TOOLS = ["list_studies", "inspect_case", "validate_case", "edit_case", "train", "simulate", "job_status", "job_cancel",
    "query_convergence", "query_results", "inspect_policy", "compare_runs", "decide", "render_chart", "export_results"];
const PROMPTS = ["set_up_study", "diagnose_convergence", "compare_runs", "explain_results"];

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "cobre-clients-"));
const studies = path.join(scratch, "studies"), results = path.join(scratch, "results");
for (const name of ["start", "toy", "brazil3"])
    fs.cpSync(path.join(cases, name), path.join(studies, name), { recursive: true });
const log = fs.openSync(path.join(scratch, "stderr"), "a"); // of the servers
process.on("exit", () => fs.rmSync(scratch, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"])
    process.on(signal, () => process.exit(1));

// Schemas of the specification

const RESULTS = { initialize: "InitializeResult", ping: "EmptyResult", "server/discover": "DiscoverResult",
    "tools/list": "ListToolsResult", "tools/call": "CallToolResult", "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult", "resources/read": "ReadResourceResult",
    "prompts/list": "ListPromptsResult", "prompts/get": "GetPromptResult" };
const checkers = {};
let checked = 0, checkedFacts = 0;

function ajv(kind) {
    const made = new kind({ strict: false, allErrors: true });
    addFormats(made);
    made.addFormat("byte", /^[A-Za-z0-9+/]*={0,2}$/);
    return made;
}

function loadSchemas() {
    for (const revision of [...LEGACY, MODERN]) {
        const file = path.join(schemaFolder ?? "", `schema-${revision}.json`);
        if (!schemaFolder || !fs.existsSync(file))
            continue;
        const schema = JSON.parse(fs.readFileSync(file));
        const key = "$defs" in schema ? "$defs" : "definitions";
        const made = ajv(key === "$defs" ? Ajv2020 : Ajv).addSchema(schema, "spec");
        checkers[revision] = (name, value) => {
            assert.ok(schema[key][name], `${revision} has no ${name}`);
            const check = made.getSchema(`spec#/${key}/${name}`);
            assert.ok(check(value), `${revision}, ${name}: ${made.errorsText(check.errors)}: ${JSON.stringify(value).slice(0, 300)}`);
            checked++;
        };
    }
    return Object.keys(checkers).length;
}

// A message of the server: `method` is what it replies to.
function conforms(revision, message, method) {
    const check = checkers[revision];
    if (!check)
        return;
    if (message.method === "notifications/progress") {
        check("ProgressNotification", message);
    } else if (message.error) {
        check(revision >= "2025-11-25" ? "JSONRPCErrorResponse" : "JSONRPCError", message);
    } else {
        check(revision >= "2025-11-25" ? "JSONRPCResultResponse" : "JSONRPCResponse", message);
        assert.ok(RESULTS[method], `a result of ${method}`);
        check(RESULTS[method], message.result);
    }
}

// Clients

const alive = pid => {
    try {
        return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, "utf8"));
    } catch {
        return false;
    }
};
// Servers and jobs, also those that a client has started for itself: they have a path in the folder of this test among their arguments.
const ours = () => fs.readdirSync("/proc").filter(name => /^\d+$/.test(name) && +name !== process.pid && alive(name)).filter(pid => {
    try {
        return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(scratch);
    } catch {
        return false;
    }
});

async function until(condition, what) {
    for (const end = Date.now() + PATIENCE; !(await condition()); await sleep(20))
        assert.ok(Date.now() < end, `waited in vain: ${what}`);
}

const KINDS = {
    "client 2.4.0, default": { revision: "2025-11-25", make: () => new two.Client({ name: "test", version: "1" }) },
    "client 2.4.0, auto": { revision: MODERN,
        make: () => new two.Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } }) },
    "client 2.4.0, pinned to 2026-07-28": { revision: MODERN,
        make: () => new two.Client({ name: "test", version: "1" }, { versionNegotiation: { mode: { pin: MODERN } } }) },
    "sdk 1.32.2": { revision: "2025-11-25", make: () => new one.Client({ name: "test", version: "1" }), old: true },
};

// One client with its server. All that passes between them is seen and checked.
class Session {
    static async open(kind) {
        const session = new Session(), { revision, make, old } = KINDS[kind];
        const Transport = old ? oneStdio.StdioClientTransport : twoStdio.StdioClientTransport;
        const transport = new Transport({ command: cobre, stderr: log, cwd: "/",
            args: ["mcp", "--root", studies, "--output", results] });
        const asked = new Map(), send = transport.send.bind(transport);
        transport.send = (message, options) => {
            if ("id" in message)
                asked.set(message.id, message.method);
            session.sent.push(message);
            return send(message, options);
        };
        transport.onmessage = message => {
            try {
                session.agreed ??= message.result?.protocolVersion;
                session.code = message.error?.code ?? session.code;
                conforms(revision, message, asked.get(message.id));
            } catch (error) {
                session.bad ??= error;
            }
        };
        Object.assign(session, { old, revision, transport, client: make() });
        await session.client.connect(transport);
        session.pid = transport.pid;
        assert.equal(session.agreed ?? session.client.getNegotiatedProtocolVersion(), revision);
        assert.equal(session.client.getServerVersion().name, "cobre");
        session.tools = (await session.client.listTools()).tools; // from now on the client checks results by their schemas
        return session;
    }
    sent = [];
    called = new Set();

    request(name, args, options) {
        const params = { name, arguments: args };
        return this.old ? this.client.callTool(params, undefined, options) : this.client.callTool(params, options);
    }
    // The facts of a call that must not fail.
    async call(name, args = {}, options) {
        const result = await this.request(name, args, options);
        assert.ok(!result.isError, `${name} ${JSON.stringify(args)}: ${result.content[0]?.text}`);
        const text = result.content[0].text;
        assert.deepEqual(JSON.parse(text.slice(text.indexOf("\n\n"))), result.structuredContent, `${name}: text and data differ`);
        this.called.add(name);
        checkedFacts++;
        return result.structuredContent;
    }
    // The text of a call that must be refused.
    async refused(name, args, ...words) {
        const result = await this.request(name, args);
        assert.ok(result.isError, `${name} ${JSON.stringify(args)} was not refused`);
        for (const word of words)
            assert.ok(result.content[0].text.includes(word), `"${word}" is not in: ${result.content[0].text}`);
    }
    // A request that must end in an error of the protocol. The code is the one on the wire: clients replace some.
    async error(code, ask) {
        this.code = null;
        await assert.rejects(ask());
        assert.equal(this.code, code);
    }
    // Ends the session; milliseconds.
    async close() {
        const begin = performance.now();
        await this.client.close();
        const took = performance.now() - begin;
        await until(() => !alive(this.pid), "the server ends");
        if (this.bad)
            throw this.bad;
        return took;
    }
}

// A training that does not end by itself.
const LONG = { case: "brazil3", iterations: 100_000 };
let number = 0;
const runs = []; // of cases/start, for the inspector

async function everyTool(session) {
    assert.deepEqual(session.tools.map(tool => tool.name), TOOLS);
    const name = `s${++number}`;
    const studied = await session.call("list_studies", { kind: "case" });
    for (const one of ["brazil3", "start", "toy"])
        assert.ok(studied.studies.some(found => found.path === path.join(studies, one)), one);
    const seen = await session.call("inspect_case", { case: "start" });
    assert.equal(seen.sizes.stages, 12);
    assert.equal((await session.call("inspect_case", { case: "start", element: "Upper" })).element, "Upper");
    assert.equal((await session.call("validate_case", { case: "brazil3" })).valid, true);
    const edited = await session.call("edit_case", { case: "start", name: `${name}-dry`,
        changes: [{ table: "hydros.csv", row: { hydro: "Upper" }, column: "storage_initial", value: "900" }] });
    assert.equal(edited.difference_count, 1);
    const plain = await session.call("train", { case: "start", iterations: 40, out: `${name}-mean`, num_workers: 2 });
    assert.equal(plain.iteration, 40);
    const averse = await session.call("train", { case: "start", iterations: 40, out: `${name}-averse`, cvar: "0.2,0.5" });
    const dry = await session.call("train", { case: edited.case, iterations: 40 });
    assert.ok(dry.bound > plain.bound, "less water costs more");
    for (const { run } of [plain, averse])
        assert.equal((await session.call("simulate", { case: "start", policy: run, trajectories: 200 })).trajectories, 200);
    runs.push(plain.run, averse.run);
    const convergence = await session.call("query_convergence", { run: plain.run, points: 5 });
    assert.equal(convergence.training.iterations, 40);
    const storage = await session.call("query_results", { run: plain.run, kind: "storage", by: "element", statistic: "min" });
    assert.ok(storage.rows[0].element === "Upper" && storage.rows[0].value >= 400, JSON.stringify(storage.rows));
    assert.ok((await session.call("inspect_policy", { policy: plain.run, case: "start" })).water_values.length > 0);
    assert.equal((await session.call("compare_runs", { runs: [plain.run, averse.run] })).runs.length, 2);
    const decision = await session.call("decide", { case: "start", policy: plain.run, state: "Upper=50%" });
    assert.ok(decision.future_cost > 0 && decision.elements > 0, JSON.stringify(decision));
    const chart = await session.call("render_chart", { runs: [plain.run, averse.run], chart: "stored_energy" });
    assert.ok(fs.readFileSync(chart.svg, "utf8").includes("<svg"));
    const picture = await session.request("render_chart", { run: plain.run, chart: "convergence" });
    assert.equal(picture.content.some(block => block.type === "image"), chart.png !== null && chart.png !== undefined);
    for (const format of ["csv", "netcdf"]) {
        const exported = await session.call("export_results", { run: plain.run, format, case: "start", name: `${name}-${format}` });
        assert.ok(exported.files.length > 0 && exported.files.every(file => file.bytes > 0));
    }
    assert.equal((await session.call("job_status", {})).status, "finished");
    assert.equal((await session.call("job_status", { job_id: plain.job_id })).bound, plain.bound);

    await session.refused("validate_case", { case: "tyo" }, "field: case", "next step:");
    await session.refused("train", { case: "toy", iterations: 0 }, "field: iterations", "received: 0");
    await session.refused("inspect_case", { case: "/etc/passwd" }, "llowed folders");
    await session.error(-32602, () => session.request("no_such_tool", {}));
}

async function jobs(session) {
    const progress = [];
    const answer = session.call("train", { ...LONG, wait: 3 }, { onprogress: news => progress.push(news) });
    await until(() => progress.length > 0, "progress");
    await session.refused("train", { case: "toy" }, "job-", "job_status"); // one at a time
    const took = [];
    for (let i = 0; i < 21; i++) { // requests are answered while a training runs
        const begin = performance.now();
        assert.equal((await session.call("job_status", { wait: 0 })).status, "running");
        took.push(performance.now() - begin);
    }
    took.sort((a, b) => a - b);
    assert.ok(took[10] < 50, `answers took ${took} ms`); // the median: a busy machine delays single ones
    const job = await answer;
    assert.equal(job.status, "running");
    assert.ok(progress.length >= 2, "progress is told");
    progress.forEach((news, i) => assert.ok(i === 0 || news.progress > progress[i - 1].progress, "progress rises"));
    const ended = await session.call("job_cancel", { job_id: job.job_id });
    assert.equal(ended.stopped, true);
    assert.ok(fs.existsSync(ended.policy) && ended.iteration >= job.iteration);
    assert.equal((await session.call("job_status", { job_id: job.job_id })).iteration, ended.iteration);
    assert.equal((await session.call("train", { case: "toy", iterations: 3 })).status, "finished");
    return `meanwhile answers in ${took[10].toFixed(1)} ms, the slowest in ${took[20].toFixed(1)}`;
}

async function abort(session) {
    const stop = new AbortController();
    const end = session.request("train", LONG, { signal: stop.signal, onprogress: () => stop.abort("enough") });
    await assert.rejects(end);
    assert.ok(session.sent.some(message => message.method === "notifications/cancelled"), "the client says so");
    const job = await session.call("job_status", {});
    assert.equal(job.stopped, true, JSON.stringify(job));
    assert.ok(fs.existsSync(job.policy));
    // The same by a timeout of the client.
    await assert.rejects(session.request("train", LONG, { timeout: 500 }));
    assert.equal((await session.call("job_status", {})).stopped, true);
}

async function resources(session) {
    const { client } = session;
    const listed = (await client.listResources()).resources, templates = (await client.listResourceTemplates()).resourceTemplates;
    const read = async uri => (await client.readResource({ uri })).contents[0].text;
    assert.ok(listed.length >= 2);
    for (const resource of listed)
        assert.ok((await read(resource.uri)).length > 100, resource.uri);
    const run = runs.at(-1);
    const values = { table: "hydros.csv", case: "start", run };
    for (const { uriTemplate } of templates) {
        const text = await read(uriTemplate.replace(/\{\+?(\w+)\}/g, (_, name) => values[name] ?? assert.fail(name)));
        assert.ok(text.length > 50, uriTemplate);
    }
    assert.ok(templates.length >= 4);
    assert.equal(await read("cobre://table/load.csv/start"), fs.readFileSync(path.join(cases, "start/load.csv"), "utf8"));
    await session.error(session.revision === MODERN ? -32602 : -32002, () => client.readResource({ uri: "cobre://summary/none" }));
}

async function prompts(session) {
    const listed = (await session.client.listPrompts()).prompts;
    assert.deepEqual(listed.map(prompt => prompt.name), PROMPTS);
    for (const prompt of listed) {
        const given = Object.fromEntries(prompt.arguments.filter(a => a.required).map(a => [a.name, `<${a.name}>`]));
        const { messages } = await session.client.getPrompt({ name: prompt.name, arguments: given });
        assert.ok(Object.values(given).every(value => messages[0].content.text.includes(value)));
        await session.error(-32602, () => session.client.getPrompt({ name: prompt.name }));
    }
}

// The client goes while a training runs: the server ends at once, and the training is saved.
async function goodbye(session) {
    const job = await session.call("train", { ...LONG, wait: 1 });
    assert.equal(job.status, "running");
    const took = await session.close();
    assert.ok(took < 2000, `close took ${Math.round(took)} ms`);
    await until(() => fs.existsSync(path.join(job.run, "policy.cobre")), "the policy is saved");
    return `close in ${Math.round(took)} ms`;
}

async function clientSteps(kind) {
    let session;
    await step(`${kind}: connect, list`, async () => {
        session = await Session.open(kind);
        return `${session.tools.length} tools, revision ${session.revision}`;
    });
    if (!session)
        return;
    await step(`${kind}: every tool`, () => everyTool(session));
    await step(`${kind}: progress, a second job, status, cancel`, () => jobs(session));
    await step(`${kind}: abort, timeout`, () => abort(session));
    await step(`${kind}: resources and templates`, () => resources(session));
    await step(`${kind}: prompts`, () => prompts(session));
    await step(`${kind}: every listed tool has been called`, () =>
        assert.deepEqual(session.tools.map(tool => tool.name).filter(name => !session.called.has(name)), []));
    await step(`${kind}: closed while a training runs`, () => goodbye(session));
}

// The inspector

// It takes --output for itself: results go to the default folder.
function inspect(era, ...words) {
    return new Promise(resolve => {
        const child = spawn(process.execPath, [inspector, "--cli", "--protocol-era", era, cobre, "mcp", "--root", studies,
            "--root", results, "--method", ...words], { env: { ...process.env, HOME: scratch }, cwd: scratch });
        let out = "", err = "";
        child.stdout.on("data", data => out += data);
        child.stderr.on("data", data => err += data);
        child.on("close", code => resolve({ code, out, err }));
    });
}

const inspected = (era, name, args) =>
    inspect(era, "tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(args), "--format", "json", "-q");

async function inspectorSteps(era) {
    await step(`inspector, ${era}: tools/list --strict`, async () => {
        const { code, out, err } = await inspect(era, "tools/list", "--strict", "--format", "json");
        assert.equal(code, 0, err);
        assert.deepEqual(JSON.parse(out).result.tools.map(tool => tool.name), TOOLS);
        assert.ok(!/problem|warning|portab/i.test(err), err);
        return "no complaints";
    });
    await step(`inspector, ${era}: tools/call`, async () => {
        const [run, averse] = runs, policy = run, name = `inspector-${era}`;
        const calls = { list_studies: {}, inspect_case: { case: "start" }, validate_case: { case: "toy" },
            edit_case: { case: "toy", name, changes: [{ table: "case.json", column: "name", value: "Toy" }] },
            train: { case: "toy", iterations: 5 }, simulate: { case: "start", policy, out: `${name}-simulated` },
            query_convergence: { run }, query_results: { run, kind: "cost" }, inspect_policy: { policy },
            compare_runs: { runs: [run, averse] }, decide: { case: "start", policy }, render_chart: { run, chart: "convergence" },
            export_results: { run, format: "csv", name: `${name}-exported` } };
        const todo = Object.entries(calls);
        await Promise.all([1, 2].map(async () => {
            for (let next; next = todo.shift();) {
                const { code, out, err } = await inspected(era, ...next);
                assert.equal(code, 0, `${next[0]}: ${err} ${out.slice(0, 500)}`);
                assert.ok(JSON.parse(out).result.structuredContent, next[0]);
            }
        }));
        return `${Object.keys(calls).length} tools, exit 0`;
    });
    await step(`inspector, ${era}: mistakes`, async () => {
        const codes = await Promise.all([inspected(era, "validate_case", { case: "none" }), inspected(era, "no_such_tool", {})]);
        assert.deepEqual(codes.map(({ code }) => code), [5, 5]);
        return "exit 5";
    });
    await step(`inspector, ${era}: resources/read, prompts/get`, async () => {
        const [read, prompt] = await Promise.all([
            inspect(era, "resources/read", "--uri", "cobre://table/hydros.csv/toy", "--format", "json", "-q"),
            inspect(era, "prompts/get", "--prompt-name", "explain_results", "--prompt-args", "run=r1", "--format", "json", "-q")]);
        assert.equal(read.code, 0, read.err);
        assert.ok(read.out.includes("turbine_max"), read.out);
        assert.equal(prompt.code, 0, prompt.err);
        assert.ok(prompt.out.includes("r1"));
    });
}

// Lines, without a client: every method and every kind of reply, in every revision.

async function rawSession(revision) {
    const server = spawn(cobre, ["mcp", "--root", studies, "--output", results], { stdio: ["pipe", "pipe", log] });
    const lines = readline.createInterface({ input: server.stdout })[Symbol.asyncIterator]();
    const meta = revision === MODERN ? { "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {} } : {};
    const before = checked;
    let id = 0;
    const ask = async (method, params = {}, token) => {
        const all = token ? { ...meta, progressToken: token } : meta;
        server.stdin.write(JSON.stringify({ jsonrpc: "2.0", id: ++id, method, params: { ...params, _meta: all } }) + "\n");
        for (;;) {
            const { value, done } = await lines.next();
            assert.ok(!done, `${method} is answered`);
            const message = JSON.parse(value);
            conforms(revision, message, method);
            if (message.id === id)
                return message;
        }
    };
    const outputs = {}, made = ajv(Ajv2020);
    const call = async (name, args, fails) => {
        const { result } = await ask("tools/call", { name, arguments: args }, `t${id}`);
        assert.equal(result.isError ?? false, fails ?? false, result.content[0].text);
        if (!fails && outputs[name])
            assert.ok(outputs[name](result.structuredContent), `${name}: ${made.errorsText(outputs[name].errors)}`);
        return result.structuredContent ?? (fails ? null : JSON.parse(result.content[0].text.split("\n\n").at(1)));
    };
    if (revision === MODERN) {
        assert.deepEqual((await ask("server/discover")).result.supportedVersions, [MODERN]);
    } else {
        const { result } = await ask("initialize", { protocolVersion: revision, capabilities: {}, clientInfo: { name: "raw", version: "1" } });
        assert.equal(result.protocolVersion, revision);
        server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
        await ask("ping");
    }
    for (const tool of (await ask("tools/list")).result.tools) {
        made.compile(tool.inputSchema);
        if (tool.outputSchema)
            outputs[tool.name] = made.compile(tool.outputSchema);
    }
    const { run, policy } = await call("train", { case: "start", iterations: 15 });
    await call("simulate", { case: "start", policy, trajectories: 50 });
    const name = `raw-${revision}`;
    for (const [tool, args] of Object.entries({ list_studies: {}, inspect_case: { case: "start" }, validate_case: { case: "toy" },
        edit_case: { case: "toy", name, changes: [{ table: "case.json", column: "name", value: "Toy" }] },
        job_status: {}, job_cancel: {}, query_convergence: { run }, query_results: { run }, inspect_policy: { policy, case: "start" },
        compare_runs: { runs: [run, run] }, decide: { case: "start", policy }, render_chart: { run, chart: "convergence" },
        export_results: { run, format: "csv", name: `${name}-exported` } }))
        await call(tool, args);
    const { job_id } = await call("train", { ...LONG, wait: 2.5 });
    await call("job_cancel", { job_id });
    await call("train", {}, true);
    for (const method of ["resources/list", "resources/templates/list", "prompts/list"])
        assert.ok((await ask(method)).result);
    for (const uri of ["cobre://case-format", "cobre://table/case.json/toy", `cobre://summary/${run}`, `cobre://report/${run}`])
        assert.ok((await ask("resources/read", { uri })).result, uri);
    assert.ok((await ask("prompts/get", { name: "diagnose_convergence", arguments: { run } })).result);
    for (const [method, params] of [["no/such", {}], ["tools/call", { name: "none" }], ["resources/read", { uri: "cobre://none" }], ["prompts/get", { name: "none" }]])
        assert.ok((await ask(method, params)).error, method);
    server.stdin.end();
    await until(() => !alive(server.pid), "the server ends");
    return checkers[revision] ? `${checked - before} checks` : "without its schema";
}

// Steps

let failed = 0, passed = 0;
async function step(name, run) {
    const begin = performance.now();
    let late;
    try {
        const limit = new Promise((_, fail) => { late = setTimeout(() => fail(new Error("it took too long")), PATIENCE); });
        const note = await Promise.race([run(), limit]);
        console.log(`ok    ${name}${note ? `: ${note}` : ""} (${((performance.now() - begin) / 1000).toFixed(1)} s)`);
        passed++;
    } catch (error) {
        console.log(`FAIL  ${name}\n      ${String(error?.stack ?? error).slice(0, 1500).replaceAll("\n", "\n      ")}`);
        failed++;
    }
    clearTimeout(late);
}

const begin = performance.now();
const schemas = loadSchemas();
if (schemas < LEGACY.length + 1)
    console.log(`skip  ${LEGACY.length + 1 - schemas} of the specification's schemas are not in ${schemaFolder ?? "any folder"}: replies are not checked against them`);
for (const kind of Object.keys(KINDS))
    await clientSteps(kind);
for (const era of ["legacy", "modern", "auto"])
    await inspectorSteps(era);
for (const revision of [...LEGACY, MODERN])
    await step(`raw session, ${revision}`, () => rawSession(revision));
await step("the transcript of docs/mcp.md is what the server says", () => {
    const { status, stderr } = spawnSync("python3", [path.join(here, "transcript.py"), cobre, "--check"], { encoding: "utf8" });
    assert.equal(status, 0, stderr);
});
await step("nothing is left running", () => until(() => ours().length === 0, "all servers and jobs end"));
await step("nobody complains", () => {
    const said = fs.readFileSync(path.join(scratch, "stderr"), "utf8");
    assert.ok(!/Sanitizer|runtime error|Assertion/.test(said), said.slice(-2000));
});
console.log(`${passed} steps passed, ${failed} failed; ${checkedFacts} results of tools by the clients, ${checked} checks by the specification's schemas; ` +
    `${((performance.now() - begin) / 1000).toFixed(0)} s`);
ours().forEach(pid => process.kill(pid, "SIGKILL"));
process.exit(failed ? 1 : 0);
