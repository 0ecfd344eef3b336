// The Inspector's command line against `toolcrib`, over pipes and HTTP, in both eras.
//
//   inspector.mjs TOOLCRIB

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { dirname, join, resolve } from 'node:path';

import { BUILT_IN, DEADLINE, TOKEN, run } from './place.mjs';

const toolcrib = resolve(process.argv[2]);
const inspector = join(
    dirname(fileURLToPath(import.meta.url)),
    'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js'
);

// Runs one method, and gives how it ended and what it printed.
function inspect(place, era, method, more = []) {
    const target =
        place.transport === 'http'
            ? ['--transport', 'http', '--server-url', place.url, '--header', `Authorization: Bearer ${TOKEN}`, '--stored-auth-only']
            : [toolcrib, '--', ...place.everywhere, 'mcp'];
    const args = ['--cli', '--protocol-era', era, '--format', 'json', '--method', method, ...more, ...target];
    return new Promise(done => {
        execFile(process.execPath, [inspector, ...args], { env: place.environment, timeout: DEADLINE }, (error, out, err) => {
            done({ status: error ? error.code : 0, out, err, result: out.trim() ? JSON.parse(out).result : undefined });
        });
    });
}

const call = (place, era, name, args) => inspect(place, era, 'tools/call', ['--tool-name', name, '--tool-args-json', JSON.stringify(args)]);

async function everyToolIsListedAndItsSchemasAreClean(place, era) {
    const listed = await inspect(place, era, 'tools/list', ['--strict']);
    assert.equal(listed.status, 0, listed.err);
    assert.deepEqual(
        listed.result.tools.map(tool => tool.name),
        BUILT_IN
    );
    // Every remark on a schema is here, however light it is. Values of a database are of any type, and readers want `items` all the same.
    const remarks = listed.err.split('\n\n').filter(remark => /^(Warning|Error): /m.test(remark));
    assert.deepEqual(remarks.filter(remark => !/tool "query_database"[^]*no validation keyword/.test(remark)), []);
}

// Those that are there only with a setting: the search, and what a long catalogue is found and called with.
async function toolsThatSettingsBringAreClean(place, era) {
    if (place.transport !== 'stdio') return; // the server read its settings when it began
    const settings = '[search]\nprovider = "searxng"\nurl = "http://127.0.0.1:1"\n[mcp]\ntokenBudget = 1\npinned = ["web_search"]\n';
    writeFileSync(join(place.home, 'config.toml'), settings);
    const listed = await inspect(place, era, 'tools/list', ['--strict']);
    assert.equal(listed.status, 0, listed.err);
    assert.deepEqual(
        listed.result.tools.map(tool => tool.name),
        ['call_read_tool', 'call_tool', 'call_write_tool', 'find_tools', 'read_result', 'web_search']
    );
    assert.doesNotMatch(listed.err, /schema|warning|error/i);
}

async function toolsAreCalled(place, era) {
    const read = await call(place, era, 'read_file', { path: 'notes.md' });
    assert.equal(read.status, 0, read.err);
    assert.equal(read.result.structuredContent.content, 'hello\n');
    const shell = await call(place, era, 'shell', { command: 'echo $((6 * 7))' });
    assert.equal(shell.status, 0, shell.err);
    assert.equal(shell.result.structuredContent.stdout.trim(), '42');
}

async function aFailingCallIsAResult(place, era) {
    const failed = await call(place, era, 'read_file', { path: 'absent.md' });
    assert.notEqual(failed.status, 0);
    assert.match(failed.out + failed.err, /absent\.md/);
}

await run(
    toolcrib,
    'inspector',
    ['stdio', 'http'].flatMap(transport => ['legacy', 'modern'].map(era => ({ transport, era }))),
    [everyToolIsListedAndItsSchemasAreClean, toolsThatSettingsBringAreClean, toolsAreCalled, aFailingCallIsAResult]
);
