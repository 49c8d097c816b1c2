import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { toolCallId, toolCallPart } from '@millrace/core';
import { beforeEach, expect, test } from 'vitest';
import { approveByPolicy } from '../permissions/approve-by-policy.ts';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import { bashTool } from '../shell/bash-tool.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { testPlace } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { approveInSandbox } from './approve-in-sandbox.ts';
import { callKey, unaskedReading } from './unasked-reading.ts';

// A hostile model refers to a system file in a form that does not look like its path. The closed view shows
// files such as /etc/passwd, because programs need them.

let root: string;
beforeEach(() => {
  root = temporaryFolder();
  writeTree(root, { 'a.txt': 'a', 'sub/b.txt': 'b', 'sub/node_modules/p/x': '' });
  writeTree(root, { 'node_modules/p/x': '' });
});

async function isUnasked(command: string): Promise<boolean> {
  const policy = permissionPolicy({ root, freeReading: true, searchesSkipDenied: true });
  const call = { tool: 'bash', input: { command } };
  return (await unaskedReading(() => policy).hiddenPaths(call)) !== undefined;
}

test.for([
  'cat {/etc/passwd,a.txt}',
  'ls {/opt,sub}',
  'cat ~/../etc/passwd',
  'cat ~root/x',
  'cd ~/../etc && cat passwd',
  'grep -f/etc/passwd -v a.txt',
  'grep -vf/etc/passwd a.txt',
  'strings @/etc/passwd',
])('attack 35: `%s` is asked about', async (command) => {
  expect(await isUnasked(command)).toBe(false);
});

test.for([
  'cat node_modules/p/link/passwd',
  'cd sub && cat node_modules/p/link/passwd',
  'cd sub && cd node_modules && cat p/link/passwd',
  'cd node_modules/p/link && cat passwd',
])('attack 35: `%s` is asked about, because a link leads outside', async (command) => {
  for (const at of ['node_modules/p/link', 'sub/node_modules/p/link'])
    symlinkSync('/etc', join(root, at));
  expect(await isUnasked(command)).toBe(false);
});

const following = [
  'grep -R root .',
  'grep -inR root sub',
  'grep --dereference-recursive root .',
  'diff -r sub node_modules',
  'find -L . -name passwd',
  'find . -follow -name passwd',
  'ls -LR',
  'du -aL .',
  'tree -l',
  'rg -L root',
  'rg --follow root',
];

test.for(following)(
  'attack 35: `%s` is asked about, because it follows a link',
  async (command) => {
    expect(await isUnasked(command)).toBe(true);
    symlinkSync('/etc', join(root, 'sub/link'));
    expect(await isUnasked(command)).toBe(false);
  },
);

test.each([
  ['cat link', [], true],
  ['cat sub/b.txt link', [], true],
  // A rule of the user allows these lines, independently of the files.
  ['cat link', [{ tool: 'bash', command: 'cat link', exact: true, decision: 'allow' }], false],
  ['cat link', [{ tool: 'bash', command: 'cat', decision: 'allow' }], false],
] as const)(
  '18.639: attack: a link leads to a secret after the decision about `%s`, rules %j',
  async (command, rules, isHidden) => {
    writeTree(root, { '.env': 'KEY=1' });
    symlinkSync('a.txt', join(root, 'link'));
    const policy = permissionPolicy({ root, rules, freeReading: true, searchesSkipDenied: true });
    const reading = unaskedReading(() => policy);
    const approve = approveInSandbox(
      () => policy,
      approveByPolicy(policy, createWorkspace({ root })),
      reading,
    );
    const call = toolCallPart(toolCallId('c'), 'bash', { command });
    const checked = { name: 'bash', call, tool: bashTool({ workspace: { root } }), summary: '' };
    const ruling = await approve({ ...checked, input: { command } }, testPlace);
    expect(typeof ruling === 'string' ? ruling : ruling.decision).toBe('allow');
    rmSync(join(root, 'link'));
    symlinkSync('.env', join(root, 'link'));
    const key = callKey({ call }, testPlace);
    const place = await reading.placeOf({ tool: 'bash', input: { command } }, key);
    const hidden = place.place === 'refused' ? [] : place.hide;
    expect(hidden.includes(join(root, '.env'))).toBe(isHidden);
  },
);

test.for([
  'cat a.txt sub/*.txt',
  'cut -d/ -f2 a.txt',
  'grep -rn "a{2}" .',
  "find . -name '*.txt' | sort",
  'cd sub && cat b.txt',
  'ls -l node_modules/p',
])('`%s` needs no question', async (command) => {
  expect(await isUnasked(command)).toBe(true);
});
