import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AgentError } from '@millrace/agent';
import { describe, expect, onTestFinished, type TestContext, test } from 'vitest';
import { bundledProgram } from '../../../../scripts/bundled-program.ts';
import type { SandboxOptions } from '../contract/sandbox.ts';
import { findRepositoryRisk } from '../git/repository-risk.ts';
import { bashTool } from '../shell/bash-tool.ts';
import { countConnections } from '../testing/sandbox/use-sandbox.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { findSandbox } from './find-sandbox.ts';

/** Creates a tool in a sandbox. Skips the test if there is no sandbox. */
async function confined(context: Pick<TestContext, 'skip'>, options: SandboxOptions = {}) {
  const found = await findSandbox(options);
  if (found.sandbox === undefined) {
    if (process.env['MILLRACE_REQUIRE_ALL'] === '1') throw new Error(found.reason);
    return context.skip(found.reason);
  }
  const { sandbox } = found;
  onTestFinished(() => sandbox.close());
  const root = temporaryFolder();
  const tool = bashTool({ workspace: { root }, sandbox, timeoutMs: 30_000 });
  const run = (command: string, more: Readonly<Record<string, boolean | number>> = {}) =>
    runTool(tool, { command, ...more });
  return { root, tool, run };
}

describe('a command in the sandbox', () => {
  test('changes the workspace and returns its output and exit code', async (context) => {
    const { root, run } = await confined(context);
    expect(await run('echo made > file; pwd; exit 3')).toMatchObject({
      text: `${root}\n[Exit code 3]`,
      value: { exitCode: 3 },
    });
    expect(readFileSync(join(root, 'file'), 'utf8')).toBe('made\n');
  });

  test('prints to stdout and stderr by path', async (context) => {
    const { run } = await confined(context);
    const lines = ['echo 1', 'echo 2 > /dev/stderr', 'echo 3 > /dev/stdout', 'echo 4 >&2'];
    expect((await run(lines.join('\n'))).text).toBe('1\n2\n3\n4');
  });

  test('finds files in /tmp again, which the host does not see', async (context) => {
    const { run } = await confined(context);
    await run('echo kept > /tmp/of-this-test; echo cached > "$XDG_CACHE_HOME" || true');
    expect((await run('cat /tmp/of-this-test; echo $TMPDIR')).text).toBe('kept\n/tmp');
    expect(existsSync('/tmp/of-this-test')).toBe(false);
  });

  test('commits with git, and leaves the settings alone', async (context) => {
    const { root, run } = await confined(context);
    spawnSync('git', ['init', '-q', '-b', 'main', root]);
    writeTree(root, { file: 'text' });
    const who = '-c user.name=a -c user.email=a@b';
    const ran = await run(
      `git add . && git ${who} commit -qm first && git log --format=%s && git checkout -qb other && git branch`,
    );
    expect(ran.text).toBe('first\n  main\n* other');
    // Git commands must not count as a risk later because of the folders that the sandbox creates in .git.
    expect(await findRepositoryRisk(root)).toBeUndefined();
    const config = await run('git config user.name evil');
    expect(config).toMatchObject({
      isError: true,
      text: expect.stringContaining('outside_sandbox'),
    });
  });

  test('gets SIGTERM before it is killed', async (context) => {
    const { run } = await confined(context);
    const ran = await run(`trap 'echo stopped; exit 0' TERM; sleep 100 & wait`, {
      timeout_ms: 500,
    });
    expect(ran.text).toMatch(/^stopped\n\[It took longer/);
  });

  test('runs beside another one', async (context) => {
    const { root, run } = await confined(context);
    mkdirSync(join(root, '.git'));
    const texts = await Promise.all(
      [1, 2, 3].map(async (n) => (await run(`echo ${n} > f${n}; cat f${n}`)).text),
    );
    expect(texts).toEqual(['1', '2', '3']);
  });

  test('fails with a hint if it needs network, and gets it if it asks', async (context) => {
    const { run } = await confined(context);
    const { port, count } = await countConnections();
    const command = `cat < /dev/tcp/127.0.0.1/${port}`;
    expect((await run(command)).text).toContain('network: true runs the command with network');
    expect((await run(command, { network: true })).text).toBe('secret of the host');
    expect(count()).toBe(1);
  });

  test('fails with a hint if it writes elsewhere, and can run outside', async (context) => {
    const { run } = await confined(context);
    const outside = temporaryFolder();
    const command = `touch /usr/made-by-test; touch ${outside}/made`;
    expect((await run(command)).text).toContain('outside_sandbox: true');
    expect(existsSync(join(outside, 'made'))).toBe(false);
    await run(`touch ${outside}/made`, { outside_sandbox: true });
    expect(existsSync(join(outside, 'made'))).toBe(true);
  });

  test('changes further places that an option names', async (context) => {
    const cache = temporaryFolder();
    const { run } = await confined(context, { writable: [cache, '/does/not/exist'] });
    await run(`echo made > ${cache}/file`);
    expect(readFileSync(join(cache, 'file'), 'utf8')).toBe('made\n');
  });

  test('uses UNIX sockets if an option permits it', async (context) => {
    const { run } = await confined(context, { unixSockets: true });
    const program = `socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die $!; print "made"`;
    expect((await run(`perl -MSocket -e '${program}'`)).text).toBe('made');
  });

  test('is not hindered in what builds do', async (context) => {
    const { run } = await confined(context);
    const ran = await run(
      `set -e; for i in $(seq 50); do (echo $i > f$i) & done; wait; ls f* | wc -l; mkdir -p a/b; mv a c; ln -s c l; cp -r c d; chmod 700 d; rm -rf c; perl -MSocket -e 'socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or die; print "pair\\n"'; (echo a; sleep 0.1; echo b) | sort -r; exec 3<>/dev/tcp/127.0.0.1/1 || true`,
    );
    expect(ran.text).toMatch(/^50\npair\nb\na/);
  });
});

test('the tool offers what the sandbox can give', async (context) => {
  const { tool } = await confined(context);
  const fieldsOf = ({ inputSchema }: typeof tool) =>
    Object.keys(inputSchema['properties'] as object).sort();
  const usual = ['command', 'description', 'timeout_ms'];
  const inSandbox = [...usual, 'change_git', 'outside_sandbox'];
  expect(fieldsOf(tool)).toEqual([...inSandbox, 'network'].sort());
  expect(fieldsOf((await confined(context, { network: true })).tool)).toEqual(inSandbox.sort());
  expect(fieldsOf(bashTool({ workspace: { root: '/' } }))).toEqual(usual);
  expect(tool.description).toContain('no network');
  expect(tool.summarize({ command: 'ls', outside_sandbox: true })).toBe(
    'ls  # OUTSIDE THE SANDBOX',
  );
  expect(tool.summarize({ command: 'git push', network: true })).toBe(
    'git push  # WITH NETWORK; MAY CHANGE GIT',
  );
});

test('a sandbox that worked is not tested again, and a wrong name is', async (context) => {
  let stored: string | undefined;
  const written: (string | undefined)[] = [];
  const tested = {
    read: () => stored,
    write: (name: string | undefined) => {
      written.push(name);
      stored = name;
    },
  };
  await confined(context, { tested });
  const [first] = written;
  expect(first).toMatch(/bwrap .* user:\[\d+\]/);
  const { run } = await confined(context, { tested });
  expect(written).toEqual([first]);
  expect(await run('echo works')).toMatchObject({ text: 'works' });
  // The name has the options that decide whether the sandbox works.
  await confined(context, { tested, unixSockets: true });
  expect(written).toHaveLength(2);
  stored = 'another machine';
  await confined(context, { tested });
  expect(written).toEqual([first, expect.any(String), first]);
});

test('the whole disk cannot be a workspace', async (context) => {
  await confined(context);
  const { sandbox } = await findSandbox();
  onTestFinished(() => sandbox?.close());
  const tool = bashTool({ workspace: { root: '/' }, sandbox });
  expect((await runTool(tool, { command: 'true' })).text).toContain('whole disk');
});

test.for([
  { nework: true },
  { profile: 'none' },
  { hide: ['x'] },
  { limits: { x: 1 } },
  { writable: ['/'] },
])('wrong options are refused: %j', (options) =>
  expect(findSandbox(options as SandboxOptions)).rejects.toThrow(AgentError),
);

test.skipIf(process.getuid?.() !== 0 || process.platform !== 'linux')(
  'a system whose /proc shows another namespace has no sandbox, and says so at once',
  () => {
    const program = bundledProgram(
      new URL('../testing/sandbox/sandboxed-agent.ts', import.meta.url),
    );
    const input = JSON.stringify({ root: temporaryFolder(), input: { command: 'true' } });
    const args = ['--pid', '--fork', process.execPath, program];
    const env = { ...process.env, NODE_OPTIONS: '' };
    const { stdout } = spawnSync('unshare', args, { input, env, encoding: 'utf8' });
    expect(stdout).toContain('/proc does not show the processes of this container');
    expect(stdout).toContain('mount -t proc proc /proc');
  },
);
