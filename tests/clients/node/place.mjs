// A home and a workspace that are thrown away, and a server of them for those who come over HTTP.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const DEADLINE = 30_000;
// They wait more than they work.
const AT_ONCE = 4;
export const TOKEN = 'a-token-of-the-tests-that-is-long-enough';
export const BUILT_IN = [
  'apply_patch', 'delete_file', 'edit_file', 'format_code', 'git_add', 'git_branch', 'git_commit',
  'git_diff', 'git_log', 'git_push', 'git_status', 'glob_files', 'install_package',
  'list_directory', 'move_file', 'query_database', 'read_file', 'read_result',
  'run_code', 'run_tests', 'search_code', 'shell', 'web_fetch', 'write_file',
];

export class Place {
    static async open(toolcrib, transport, settings = '') {
        const place = new Place();
        place.toolcrib = toolcrib;
        place.transport = transport;
        place.root = mkdtempSync(join(tmpdir(), 'toolcrib-clients-'));
        place.home = join(place.root, '.toolcrib');
        place.work = join(place.root, 'work');
        mkdirSync(place.home, { mode: 0o700 });
        mkdirSync(place.work);
        writeFileSync(join(place.work, 'notes.md'), 'hello\n');
        writeFileSync(join(place.work, 'more.md'), 'more\n');
        writeFileSync(join(place.home, 'config.toml'), settings);
        place.everywhere = ['--home', place.home, '--workspace', place.work];
        place.environment = { ...process.env, HOME: place.root };
        if (transport === 'http') await place.serve();
        return place;
    }

    async serve() {
        this.server = spawn(this.toolcrib, [...this.everywhere, 'serve', '--addr', '127.0.0.1:0'], {
            stdio: ['ignore', 'ignore', 'pipe'],
            env: { ...this.environment, TOOLCRIB_TOKEN: TOKEN }
        });
        this.ended = new Promise(done => this.server.on('exit', done));
        let said = '';
        this.server.stderr.on('data', chunk => (said += chunk));
        const found = await become(() => said.match(/^listening on (http\S+)$/m), 'the server to listen');
        this.url = `${found[1]}/mcp`;
    }

    async close() {
        if (this.server) {
            this.server.kill('SIGTERM');
            await this.ended;
        }
        rmSync(this.root, { recursive: true, force: true });
    }

    // A tool of the user's own, which is there from now on.
    addTool(name, yaml) {
        mkdirSync(join(this.home, 'tools'), { mode: 0o700, recursive: true });
        writeFileSync(join(this.home, 'tools', `${name}.yaml`), yaml);
    }
}

export async function become(look, what) {
    const end = Date.now() + DEADLINE;
    while (Date.now() < end) {
        const found = look();
        if (found) return found;
        await new Promise(done => setTimeout(done, 20));
    }
    throw new Error(`waited in vain for ${what}`);
}

export function within(promise, what) {
    let timer;
    const late = new Promise((_, fail) => (timer = setTimeout(() => fail(new Error(`waited in vain for ${what}`)), 2 * DEADLINE)));
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// How many processes of this machine have this command line.
export function processes(words) {
    const wanted = words.join('\0') + '\0';
    return readdirSync('/proc').filter(name => {
        try {
            return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8') === wanted;
        } catch {
            return false;
        }
    }).length;
}

// Runs checks, each in its own place with its `settings`, some at once; says how many passed, and ends with 1 if one did not.
export async function run(toolcrib, client, legs, checks) {
    let failed = 0;
    for (const { transport, era } of legs) {
        const left = [...checks];
        let passed = 0;
        const work = async () => {
            for (let check = left.shift(); check; check = left.shift()) {
                const place = await Place.open(toolcrib, transport, check.settings);
                try {
                    await within(check(place, era), check.name);
                    passed += 1;
                } catch (error) {
                    failed += 1;
                    console.error(error);
                    console.error(`FAILED ${client} ${transport} ${era}: ${check.name}`);
                } finally {
                    await place.close();
                }
            }
        };
        await Promise.all(Array.from({ length: AT_ONCE }, work));
        console.log(`${client} over ${transport}, ${era}: ${passed} checks passed`);
    }
    process.exit(failed ? 1 : 0);
}
