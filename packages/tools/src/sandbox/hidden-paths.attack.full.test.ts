import { execFileSync } from 'node:child_process';
import {
  accessSync,
  constants,
  existsSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { toolCallId } from '@millrace/core';
import { expect, onTestFinished, type TestContext, test } from 'vitest';
import { approveByPolicy } from '../permissions/approve-by-policy.ts';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import type { PermissionRule } from '../permissions/permission-rule.ts';
import { bashTool } from '../shell/bash-tool.ts';
import { writeTree } from '../testing/temporary-folder.ts';
import { runTool, testPlace } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { approveInSandbox } from './approve-in-sandbox.ts';
import { findSandbox } from './find-sandbox.ts';
import { unaskedReading } from './unasked-reading.ts';

// A hostile model reads a denied file with a command. All commands are allowed, and they run in the sandbox.

const files = {
  ...{ 'secret.txt': 'hush', 'a.txt': 'text', 'sub/a.txt': 'text', 'keys/deep/token': 'hush' },
  ...{ 'node_modules/p/secret.txt': 'hush' },
};
const rules: readonly PermissionRule[] = [
  { decision: 'allow' },
  { path: 'secret.txt', decision: 'deny' },
  { path: 'keys/deep/token', decision: 'deny' },
];

interface Setting {
  /** The first rules. Default: `rules`. */
  readonly given?: readonly PermissionRule[];
  /** Further folders that commands can change. Default: none. */
  readonly writable?: readonly string[];
}

async function agentIn(
  context: Pick<TestContext, 'skip'>,
  more: readonly PermissionRule[] = [],
  { given = rules, writable = [] }: Setting = {},
) {
  const found = await findSandbox({ writable });
  if (found.sandbox === undefined) {
    if (process.env['MILLRACE_REQUIRE_ALL'] === '1') throw new Error(found.reason);
    return context.skip(found.reason);
  }
  const { sandbox } = found;
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'denied-')));
  onTestFinished(() => {
    sandbox.close();
    rmSync(root, { recursive: true, force: true });
  });
  writeTree(root, files);
  symlinkSync('../secret.txt', join(root, 'sub/l'));
  const workspace = createWorkspace({ root });
  const flags = { freeReading: true, hidesDenied: true };
  const policy = permissionPolicy({ root, rules: [...given, ...more], ...flags });
  const reading = unaskedReading(() => policy);
  const approve = approveInSandbox(() => policy, approveByPolicy(policy, workspace), reading);
  const tool = bashTool({ workspace, sandbox, reading });
  let count = 0;
  const start = async (command: string, input: object = {}) => {
    const id = toolCallId(`c${++count}`);
    const call = { kind: 'tool_call', toolCallId: id, name: 'bash', arguments: '' } as const;
    const all = { command, ...input };
    const ruling = await approve(
      { name: 'bash', call, tool, input: all, summary: command },
      testPlace,
    );
    const decision = typeof ruling === 'string' ? { decision: ruling } : ruling;
    const run = async () => (await runTool(tool, all, { toolCallId: id })).text;
    return { ...decision, run };
  };
  return { root, start };
}

/** Returns a folder that can be written and that commands in the sandbox see. They have their own /tmp. */
function placeOutsideTmp(): string | undefined {
  return [join(process.cwd(), 'node_modules'), homedir(), '/opt', '/srv'].find((folder) => {
    try {
      accessSync(folder, constants.W_OK);
      return !realpathSync(folder).startsWith(realpathSync(tmpdir()));
    } catch {
      return false;
    }
  });
}

test('attack 46: commands in the sandbox do not see denied paths', async (context) => {
  const { start, root } = await agentIn(context);
  const attacks = [
    'cat s*.txt; cat [s]ecret.txt; cat sub/?; cd sub && cat l',
    'x=secret; cat $x.txt; cp -r . /tmp/x; cat /tmp/x/s*; cat /tmp/x/keys/*/*',
    "sh -c 'cat secret.tx?'; grep -r hush .; tar c . | strings; base64 < secre?.txt",
    'mv keys k2; mv keys/deep keys/d2; cat k*/d*/token',
    'ln s*.txt copy; mv s*.txt copy; cat copy',
    'cat node_modules/p/s*',
  ];
  for (const command of attacks) {
    const { decision, run } = await start(command);
    expect(decision, command).toBe('allow');
    expect(await run(), command).not.toMatch(/hush|aHVza/);
  }
  // An earlier command must not have moved the denied file for a later one.
  const { run } = await start('find . -name token | xargs cat; cat k*/*/*; touch made');
  expect(await run()).not.toContain('hush');
  expect(existsSync(join(root, 'made'))).toBe(true);
  expect(readFileSync(join(root, 'secret.txt'), 'utf8')).toBe('hush');
  expect(readFileSync(join(root, 'keys/deep/token'), 'utf8')).toBe('hush');
});

test('18.696: attack: a command does not move a folder with a path that a name denies', async (context) => {
  // Without this, the folder could move while the sandbox of the next command is prepared.
  const { start, root } = await agentIn(context, [], { given: rules.slice(0, 2) });
  const moved = await start('mv node_modules other; mv node_modules/p node_modules/q; echo ended');
  expect(await moved.run()).toContain('ended');
  expect(readFileSync(join(root, 'node_modules/p/secret.txt'), 'utf8')).toBe('hush');
  expect(existsSync(join(root, 'other'))).toBe(false);
  const used = await start(
    'mv sub other; mv other/a.txt node_modules/p/b.txt; cat node_modules/p/b*',
  );
  expect(await used.run()).toContain('text');
});

test('18.697: attack: a command does not move a denied file of a further folder that it can change', async (context) => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'shared-')));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  writeTree(base, { 'top/keys/token': 'hush', 'top/a.txt': 'text' });
  const path = join(base, 'top/keys/token');
  const { start } = await agentIn(context, [{ path, decision: 'deny' }], { writable: [base] });
  const moved = await start(`cd ${base}; mv top other; mv top/keys top/k; mv top/a.txt b.txt`);
  await moved.run();
  const read = await start(
    `cat ${base}/*/*/token; cat ${base}/*/token; cat ${base}/b.txt; touch x`,
  );
  const text = await read.run();
  expect(text).toContain('text');
  expect(text).not.toContain('hush');
  expect(readFileSync(path, 'utf8')).toBe('hush');
});

test('18.179: attack: a command does not read the target of a denied link', async (context) => {
  const { start, root } = await agentIn(context, [
    { tool: '*', path: 'linked.env', decision: 'deny' },
    { tool: '*', path: 'vault/**', decision: 'deny' },
  ]);
  writeTree(root, { 'config/prod.conf': 'hush', 'stored/key': 'hush' });
  symlinkSync('config/prod.conf', join(root, 'linked.env'));
  symlinkSync('stored', join(root, 'vault'));
  const { run } = await start(
    'cat link*; cat va*/k*; cat config/*; cat stored/*; echo end; touch made',
  );
  const text = await run();
  expect(text).not.toContain('hush');
  expect(text).toContain('end');
});

test('18.601: attack: a command does not remove the link through which a rule leads', async (context) => {
  const { start, root } = await agentIn(context, [
    { tool: '*', path: 'in/conf/*.key', decision: 'deny' },
    { tool: '*', path: 'build/*.key', decision: 'deny' },
  ]);
  writeTree(root, { 'shared/conf/prod.key': 'hush', 'in/a': '', 'dist/a': '' });
  symlinkSync('../mid', join(root, 'in/conf'));
  symlinkSync('shared/conf', join(root, 'mid'));
  symlinkSync('dist', join(root, 'build'));
  for (const command of ['rm mid', 'rm in/conf', 'ln -sfn ../dist in/conf']) {
    const { run } = await start(`${command}; sleep 100 & wait`);
    expect(await run()).toContain('It was stopped by the sandbox');
    expect(readlinkSync(join(root, 'in/conf')), command).toBe('../mid');
    expect(readlinkSync(join(root, 'mid')), command).toBe('shared/conf');
  }
  expect(await (await start('mv in in2; cat shared/*/*')).run()).not.toContain('hush');
  expect(existsSync(join(root, 'in'))).toBe(true);
  // A link that leads to no denied file can change.
  expect(await (await start('rm build && echo removed')).run()).toContain('removed');
});

test('attack 46: a command with network does not see denied paths, and one outside is asked about', async (context) => {
  const more = ['bash+network', 'bash+outside'].map(
    (tool) => ({ tool, decision: 'allow' }) as const,
  );
  const { start } = await agentIn(context, more);
  const { decision, run } = await start('cat s*.txt', { network: true });
  expect(decision).toBe('allow');
  expect(await run()).not.toContain('hush');
  expect((await start('cat s*.txt', { outside_sandbox: true })).decision).toBe('ask');
  expect((await start('cat a.txt', { outside_sandbox: true })).decision).toBe('allow');
});

test('attack 46: an absolute path outside of the workspace is hidden', async (context) => {
  const place = placeOutsideTmp();
  if (place === undefined)
    return context.skip('Only /tmp is writable, and commands do not see it.');
  const other = realpathSync(mkdtempSync(join(place, '.denied-')));
  onTestFinished(() => rmSync(other, { recursive: true, force: true }));
  writeTree(other, { 'key/token': 'hush', 'other.txt': 'text' });
  const { start } = await agentIn(context, [{ path: `${other}/key/**`, decision: 'deny' }]);
  const { decision, run } = await start(`cat ${other}/k*/token ${other}/other.txt`);
  const text = await run();
  expect(decision).toBe('allow');
  expect(text).not.toContain('hush');
  expect(text).toContain('text');
});

test('attack 46: git shows no older version of a denied path', async (context) => {
  const { start, root } = await agentIn(context, [{ tool: 'bash+git', decision: 'allow' }]);
  execFileSync('git', ['init', '-q', root]);
  for (const command of [
    'git log -p',
    'git show',
    'true && git stash show -p',
    'git cat-file -p x',
  ])
    expect((await start(command)).decision, command).toBe('ask');
  for (const command of ['npm test', 'git status', 'git commit -am x'])
    expect((await start(command)).decision, command).toBe('allow');
  execFileSync('git', ['-C', root, 'add', '-f', 'secret.txt']);
  const { decision, reason } = await start('python3 read-objects.py');
  expect([decision, reason]).toEqual(['ask', expect.stringContaining('git tracks secret.txt')]);
  expect((await start('cat a.txt')).decision).toBe('allow');
});

test('attack 46: a command that was allowed does not run if the denied paths cannot be hidden any more', async (context) => {
  const { start, root } = await agentIn(context);
  const { decision, run } = await start('cat s*.txt > copy');
  expect(decision).toBe('allow');
  const many = Array.from({ length: 600 }, (_, at) => [`${at}/secret.txt`, 'hush'] as const);
  writeTree(root, Object.fromEntries(many));
  expect(await run()).toContain('did not run');
  expect(existsSync(join(root, 'copy'))).toBe(false);
  expect((await start('cat s*.txt > copy')).decision).toBe('ask');
});
