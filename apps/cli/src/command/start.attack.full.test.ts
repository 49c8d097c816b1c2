import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { childEnv, fewOf, patientMs } from '../../../../packages/core/src/testing/runs.ts';
import { exitCodes } from '../exit-code.ts';
import { builtProgram } from '../testing/built-program.ts';

// The command starts in a hostile folder, or with a hostile environment. The attack succeeds if the
// command hangs, loops forever, or ignores the first signal.

/** Only a process that hangs takes this long. It is then killed, and the exit code is null. */
const hangMs = patientMs(30_000);

let home: string;
let cwd: string;
const started: ChildProcess[] = [];
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-start-')));
  cwd = join(home, 'project');
  mkdirSync(cwd);
});
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  rmSync(home, { recursive: true, force: true });
});

interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Starts the command as a separate process. With `ignore`, its input ends immediately. With `pipe`,
 * its input never ends.
 */
function start(words: readonly string[], env: Variables = {}, input: 'ignore' | 'pipe' = 'ignore') {
  // The processes share Node's cache of compiled code. Attacks on a folder that the command uses
  // need their own cache.
  const isOwnFolder = 'HOME' in env || 'XDG_CACHE_HOME' in env;
  const shared = isOwnFolder ? { PATH: process.env['PATH'] } : childEnv();
  const own = { ...shared, HOME: home, ...env };
  const given = Object.entries(own).filter(([, value]) => value !== undefined);
  const child = spawn(process.execPath, [builtProgram(), ...words], {
    ...{ cwd, env: Object.fromEntries(given), stdio: [input, 'pipe', 'pipe'] },
    ...{ timeout: hangMs, killSignal: 'SIGKILL' },
  });
  started.push(child);
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
    });
  const ended = once(child, 'close').then(([code]): Result => ({ code, ...texts }));
  return { child, ended };
}

/**
 * The demo answers this question immediately. Other questions start the tour, which takes seconds.
 */
const ask = ['-p', 'what are you?', '--model', 'demo', '--read-only'];
const put = (path: string, text = '') => {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), text);
};
const pipe = (path: string) => {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  execFileSync('mkfifo', [join(home, path)]);
};
const sparse = (path: string) => {
  put(path);
  truncateSync(join(home, path), 10 * 2 ** 30);
};

const folders: Readonly<Record<string, () => void>> = {
  'a FIFO as .git': () => pipe('project/.git'),
  'a FIFO as .git/HEAD': () => pipe('project/.git/HEAD'),
  'a file as .git that leads to a folder with a FIFO': () => {
    put('project/.git', 'gitdir: other\n');
    pipe('project/other/HEAD');
  },
  'a link to a device as .git/HEAD': () => {
    mkdirSync(join(cwd, '.git'));
    symlinkSync('/dev/zero', join(cwd, '.git/HEAD'));
  },
  'a link to a device as .git': () => symlinkSync('/dev/zero', join(cwd, '.git')),
  'a file of 10 GiB as .git': () => sparse('project/.git'),
  'a file of 10 GiB as .git/HEAD': () => sparse('project/.git/HEAD'),
  'a FIFO as AGENTS.md': () => pipe('project/AGENTS.md'),
  'a folder as AGENTS.md': () => void mkdirSync(join(cwd, 'AGENTS.md')),
  'a link to a device as AGENTS.md': () => symlinkSync('/dev/zero', join(cwd, 'AGENTS.md')),
  'a file of 10 GiB as AGENTS.md': () => sparse('project/AGENTS.md'),
  'a FIFO as .gitignore': () => pipe('project/.gitignore'),
};

test.for(fewOf(Object.keys(folders), 4))('attack 18: %s does not stop the start', async (name) => {
  folders[name]?.();
  const { code, stdout } = await start(ask).ended;
  expect(code).toBe(exitCodes.done);
  expect(stdout).not.toBe('');
});

const refused: Readonly<Record<string, () => void>> = {
  'a FIFO as millrace.json': () => pipe('project/millrace.json'),
  'a link to a FIFO as millrace.json': () => {
    pipe('project/pipe');
    symlinkSync('pipe', join(cwd, 'millrace.json'));
  },
  'a link to a device as millrace.json': () => symlinkSync('/dev/zero', join(cwd, 'millrace.json')),
  'a file of 10 GiB as millrace.json': () => sparse('project/millrace.json'),
  'a folder as millrace.json': () => void mkdirSync(join(cwd, 'millrace.json')),
  'a FIFO as the configuration of the user': () => pipe('.config/millrace/config.json'),
  'a FIFO as the decisions of the user': () => pipe('.config/millrace/folders.json'),
};

test.for(fewOf(Object.keys(refused), 3))('attack 18: %s is an error that says so', async (name) => {
  refused[name]?.();
  const { code, stderr } = await start(ask).ended;
  expect(code).toBe(exitCodes.usage);
  expect(stderr).toMatch(/Cannot read .*\.json: .*(regular file|larger than|folder)/);
});

test.for([
  ['XDG_DATA_HOME', '/proc/none'],
  ['XDG_DATA_HOME', '/proc/self/none/deep'],
  ['XDG_DATA_HOME', '/dev/null'],
  ['HOME', '/proc/none'],
  ['HOME', '/dev/null'],
  ['HOME', undefined],
] as const)('attack 21: with %s=%s the command says what to do and ends', async ([name, value]) => {
  const { code, stderr } = await start(ask, { [name]: value }).ended;
  expect(code).toBe(exitCodes.error);
  expect(stderr).toMatch(/^millrace: Cannot .*--store <file>\n$/);
});

test.for([['--version'], ask])(
  'attack 21: a cache folder that cannot be made: %j',
  async (words) => {
    const { code, stdout } = await start(words, { XDG_CACHE_HOME: '/proc/none' }).ended;
    expect(code).toBe(exitCodes.done);
    expect(stdout).not.toBe('');
  },
);

test('attack 21: decisions that cannot be stored are an error that says so', async () => {
  put('project/millrace.json', JSON.stringify({ permissions: { allow: ['bash'] } }));
  const { code, stderr } = await start([...ask, '--trust'], { XDG_CONFIG_HOME: '/proc/none' })
    .ended;
  expect(code).toBe(exitCodes.usage);
  expect(stderr).toMatch(/Cannot write \/proc\/none.*folders\.json/);
});

test('attack 21: the data folder of a server that cannot be made is an error', async () => {
  const { code, stderr } = await start(['serve', '--data', '/proc/none/x', '--port', '0']).ended;
  expect(code).toBe(exitCodes.error);
  expect(stderr).toMatch(/Cannot store data in \/proc\/none\/x.*--data <dir>/);
});

/** Resolves when a file exists. */
async function appears(path: string): Promise<void> {
  const found = Promise.withResolvers<void>();
  const watcher = watch(dirname(path), () => existsSync(path) && found.resolve());
  if (existsSync(path)) found.resolve();
  await found.promise;
  watcher.close();
}

const signals = ['SIGTERM', 'SIGINT'] as const;

test.for(fewOf(signals, 1))(
  'attack 18: %s ends a start that waits for an MCP server',
  async (signal) => {
    const begun = join(home, 'begun');
    const stuck = { command: 'sh', args: ['-c', `touch '${begun}'; exec sleep 1000`] };
    put('.config/millrace/config.json', JSON.stringify({ mcpServers: { stuck } }));
    const { child, ended } = start(['-p', 'Hello', '--model', 'demo']);
    await Promise.race([appears(begun), ended]);
    child.kill(signal);
    expect((await ended).code).toBe(exitCodes.aborted);
  },
);

test.for(fewOf(signals, 1))('attack 18: %s ends a start that waits for input', async (signal) => {
  const { child, ended } = start(['-p', '--model', 'demo'], {}, 'pipe');
  await Promise.race([once(child.stderr as NodeJS.ReadableStream, 'data'), ended]);
  child.kill(signal);
  expect((await ended).code).toBe(exitCodes.aborted);
});

test.for(fewOf(signals, 1))(
  'attack 18: %s ends a start that waits for a model server',
  async (signal) => {
    const server = createServer((socket) => socket.on('error', () => {}));
    const connected = once(server, 'connection');
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = server.address() as { readonly port: number };
    const { child, ended } = start(['-p', 'Hello', '--model', 'ollama/x'], {
      OLLAMA_HOST: `127.0.0.1:${address.port}`,
    });
    await Promise.race([connected, ended]);
    child.kill(signal);
    expect((await ended).code).toBe(exitCodes.aborted);
    server.close();
  },
);

test.for(fewOf(signals, 1))(
  'attack 18: %s ends a start that waits for a FIFO as --config',
  async (signal) => {
    pipe('project/pipe');
    const { child, ended } = start([...ask, '--config', 'pipe']);
    // Resolves when the command has opened the other end of the pipe.
    const writer = await open(join(cwd, 'pipe'), 'w');
    child.kill(signal);
    expect((await ended).code).toBe(exitCodes.aborted);
    await writer.close();
  },
);

test('attack 18: a signal before the program is loaded ends it', async () => {
  const { child, ended } = start(ask);
  await once(child, 'spawn');
  child.kill('SIGTERM');
  // If the signal arrives before the handler exists, the system ends the process.
  const { code } = await ended;
  expect(child.signalCode === 'SIGTERM' || code === exitCodes.aborted).toBe(true);
});
