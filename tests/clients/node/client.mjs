// Both TypeScript clients of MCP against `toolcrib`, over pipes and HTTP, in the eras that each of them knows.
//
//   client.mjs TOOLCRIB client|sdk      `@modelcontextprotocol/client` (both eras) or `@modelcontextprotocol/sdk` (up to 2025-11-25)

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

import { BUILT_IN, DEADLINE, TOKEN, become, processes, run } from './place.mjs';

const [toolcrib, which] = [resolve(process.argv[2]), process.argv[3]];
const parts = await { client: newer, sdk: older }[which]();
let count = 100;
const ERAS = { legacy: '2025-11-25', modern: '2026-07-28' };

async function newer() {
    const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
    const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
    return {
        eras: ['legacy', 'modern'],
        Client,
        StdioClientTransport,
        StreamableHTTPClientTransport,
        options: era => ({ versionNegotiation: { mode: era === 'modern' ? 'auto' : 'legacy' } }),
        call: (client, params, options) => client.callTool(params, options),
        answers: (client, answer) => client.setRequestHandler('elicitation/create', answer),
        era: client => client.getNegotiatedProtocolVersion()
    };
}

async function older() {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    const { ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js');
    return {
        eras: ['legacy'],
        Client,
        StdioClientTransport,
        StreamableHTTPClientTransport,
        options: () => ({}),
        call: (client, params, options) => client.callTool(params, undefined, options),
        answers: (client, answer) => client.setRequestHandler(ElicitRequestSchema, answer),
        era: () => ERAS.legacy
    };
}

// Connects, does something, and closes.
async function connected(place, era, options, work) {
    const { answer, token = TOKEN, ...rest } = options;
    const capabilities = answer ? { elicitation: { form: {} } } : {};
    const client = new parts.Client({ name: 'tests', version: '1' }, { capabilities, ...parts.options(era), ...rest });
    if (answer) parts.answers(client, answer);
    const transport =
        place.transport === 'http'
            ? new parts.StreamableHTTPClientTransport(new URL(place.url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } })
            : new parts.StdioClientTransport({ command: toolcrib, args: [...place.everywhere, 'mcp'], env: place.environment });
    await client.connect(transport, { timeout: DEADLINE });
    try {
        return await work(client);
    } finally {
        await client.close();
    }
}

const call = (client, name, args, options = {}) => parts.call(client, { name, arguments: args }, { timeout: DEADLINE, ...options });
const text = result => result.content.map(block => block.text ?? '').join('');

// Somebody who answers every question in the same way.
function person(decision, asked) {
    return async request => {
        asked.push(request.params);
        return decision === 'decline' ? { action: 'decline' } : { action: 'accept', content: { decision } };
    };
}

async function everyToolIsListed(place, era) {
    await connected(place, era, {}, async client => {
        assert.equal(client.getServerVersion().name, 'toolcrib');
        assert.equal(parts.era(client), ERAS[era]);
        const { tools } = await client.listTools();
        assert.deepEqual(
            tools.map(tool => tool.name),
            BUILT_IN
        );
        for (const tool of tools) {
            assert.ok(tool.title && tool.description && tool.icons.length, tool.name);
            assert.equal(tool.inputSchema.type, 'object');
            assert.equal(tool.outputSchema.type, 'object');
        }
        assert.equal(tools.find(tool => tool.name === 'read_file').annotations.readOnlyHint, true);
        assert.equal(tools.find(tool => tool.name === 'delete_file').annotations.destructiveHint, true);
    });
}

async function aResultIsTextAndStructured(place, era) {
    await connected(place, era, {}, async client => {
        await client.listTools(); // what comes back is held against the schema
        const read = await call(client, 'read_file', { path: 'notes.md' });
        assert.ok(!read.isError && text(read).includes('hello'), text(read));
        assert.equal(read.structuredContent.content, 'hello\n');
        const ran = await call(client, 'shell', { command: 'echo to out; echo to err >&2; exit 3' });
        assert.equal(ran.structuredContent.exitCode, 3);
    });
}

async function whatGoesWrongIsAResultAModelCanRead(place, era) {
    await connected(place, era, {}, async client => {
        await client.listTools();
        for (const [args, word] of [
            [{ path: 'absent.md' }, 'absent.md'],
            [{ path: '../../etc/passwd' }, 'etc/passwd'],
            [{ pfad: 'notes.md' }, 'path']
        ]) {
            const result = await call(client, 'read_file', args);
            assert.ok(result.isError && text(result).includes(word) && !text(result).includes('root:'), text(result));
        }
        await assert.rejects(call(client, 'read_flie', {}), { code: -32602 });
    });
}

async function whatACallPrintsComesAsProgress(place, era) {
    await connected(place, era, {}, async client => {
        const told = [];
        const command = 'for i in one two three; do echo $i; sleep 0.2; done';
        await call(client, 'shell', { command }, { onprogress: progress => told.push(progress) });
        assert.ok(told.some(progress => progress.message?.includes('one')), JSON.stringify(told));
        assert.ok(told.every((progress, at) => at === 0 || progress.progress > told[at - 1].progress), JSON.stringify(told));
    });
}

async function anApprovalIsAskedForAndRunsTheCallOnce(place, era) {
    const asked = [];
    await connected(place, era, { answer: person('approve', asked) }, async client => {
        const result = await call(client, 'delete_file', { path: 'notes.md' });
        assert.ok(!result.isError, text(result));
    });
    assert.equal(asked.length, 1);
    assert.match(asked[0].message, /notes\.md/);
    assert.ok(!existsSync(join(place.work, 'notes.md')));
}

async function aNoIsANo(place, era) {
    for (const [decision, path] of [
        ['deny', 'notes.md'],
        ['decline', 'more.md']
    ]) {
        const asked = [];
        await connected(place, era, { answer: person(decision, asked) }, async client => {
            const result = await call(client, 'delete_file', { path });
            assert.ok(result.isError, text(result));
        });
        assert.equal(asked.length, 1);
        assert.ok(existsSync(join(place.work, path)));
    }
}

async function whoCannotBeAskedIsToldWhatIsWaitedFor(place, era) {
    await connected(place, era, {}, async client => {
        const waits = await call(client, 'delete_file', { path: 'notes.md' });
        assert.ok(waits.isError, text(waits));
        const [, id] = text(waits).match(/toolcrib approvals approve ([^\s`]+)/);
        await promisify(execFile)(toolcrib, [...place.everywhere, '--no-server', 'approvals', 'approve', id]);
        const again = await call(client, 'delete_file', { path: 'notes.md' });
        assert.ok(!again.isError, text(again));
    });
    assert.ok(!existsSync(join(place.work, 'notes.md')));
}
whoCannotBeAskedIsToldWhatIsWaitedFor.settings = '[mcp]\napprovalWaitMs = 300\n';

async function aNewToolIsToldOfAndCanBeCalled(place, era) {
    let names = [];
    const onChanged = (_error, tools) => (names = tools?.map(tool => tool.name) ?? []);
    await connected(place, era, { listChanged: { tools: { onChanged } } }, async client => {
        await client.listTools();
        place.addTool('greet', 'name: greet\ndescription: Greets\nbash: echo good morning\ntags: [run]\n');
        await become(() => names.includes('greet'), 'news of the tool');
        assert.deepEqual(names, [...BUILT_IN, 'greet'].sort());
        assert.match(text(await call(client, 'greet', {})), /good morning/);
    });
}

async function aCancelledCallLeavesNoProcess(place, era) {
    const words = ['sleep', `3${process.pid}${++count}`];
    await connected(place, era, {}, async client => {
        const stop = new AbortController();
        const running = call(client, 'shell', { command: `${words.join(' ')} & ${words.join(' ')}; echo over` }, { signal: stop.signal });
        const rejected = assert.rejects(running);
        await become(() => processes(words) === 2, 'two processes');
        stop.abort();
        await rejected;
        await become(() => processes(words) === 0, 'the end of both processes');
        // The connection goes on.
        assert.ok(!(await call(client, 'read_file', { path: 'notes.md' })).isError);
    });
}

async function aWrongTokenGetsNowhere(place, era) {
    if (place.transport !== 'http') return;
    await assert.rejects(connected(place, era, { token: 'wrong'.repeat(8) }, client => client.listTools()), /401|[Uu]nauthori[sz]ed|token/);
}

await run(
    toolcrib,
    which,
    parts.eras.flatMap(era => ['stdio', 'http'].map(transport => ({ transport, era }))),
    [
        everyToolIsListed,
        aResultIsTextAndStructured,
        whatGoesWrongIsAResultAModelCanRead,
        whatACallPrintsComesAsProgress,
        anApprovalIsAskedForAndRunsTheCallOnce,
        aNoIsANo,
        whoCannotBeAskedIsToldWhatIsWaitedFor,
        aNewToolIsToldOfAndCanBeCalled,
        aCancelledCallLeavesNoProcess,
        aWrongTokenGetsNowhere
    ]
);
