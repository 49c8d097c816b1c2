import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { toolCallId } from '@millrace/core';
import { beforeEach, expect, test } from 'vitest';
import { approveByPolicy } from '../permissions/approve-by-policy.ts';
import { type PermissionPolicy, permissionPolicy } from '../permissions/permission-policy.ts';
import type { PermissionRule } from '../permissions/permission-rule.ts';
import { bashTool } from '../shell/bash-tool.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { testPlace } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { approveInSandbox } from './approve-in-sandbox.ts';
import { unaskedReading } from './unasked-reading.ts';

// A command that runs without a question reads a file outside of the workspace that a rule denies. The closed view
// shows the folders of the system, for example /opt.

const list = 'strings @args';

let root: string;
beforeEach(() => {
  root = temporaryFolder();
  writeTree(root, { args: '/usr/share/keys/prod.json\n', 'a.txt': 'a' });
});

function agentIn(
  rules: readonly PermissionRule[],
  elsewhere: readonly PermissionPolicy[] = [],
  at = root,
) {
  const policy = permissionPolicy({ root: at, rules, freeReading: true, hidesDenied: true });
  const workspace = createWorkspace({ root: at });
  const reading = unaskedReading(
    () => policy,
    () => elsewhere,
  );
  const approve = approveInSandbox(() => policy, approveByPolicy(policy, workspace), reading);
  const tool = bashTool({ workspace });
  const call = (command: string) => ({ tool: 'bash', input: { command } });
  return {
    place: (command: string) => reading.placeOf(call(command), 'key'),
    async decision(command: string) {
      const id = toolCallId('c');
      const made = { kind: 'tool_call', toolCallId: id, name: 'bash', arguments: '{}' } as const;
      const ruling = await approve(
        { name: 'bash', call: made, tool, input: { command }, summary: '' },
        testPlace,
      );
      return typeof ruling === 'string' ? ruling : ruling.decision;
    },
  };
}

const deny = (path: string): PermissionRule => ({ path, decision: 'deny' });

test.for(['/usr/bin/env', '/usr/share/**', '/etc/passwd'])(
  '18.600: attack: the closed view hides %s, which a rule denies',
  async (path) => {
    const hidden = path.replace('/**', '');
    const place = await agentIn([deny(path)]).place(list);
    expect(place).toMatchObject({ place: 'closed', hide: expect.arrayContaining([hidden]) });
  },
);

test('18.600: attack: a link of the workspace leads to a denied folder of the system', async () => {
  symlinkSync('/usr/share', join(root, 'conf'));
  const one = agentIn([deny('conf/*.key')]);
  expect(await one.decision(list)).toBe('ask');
  expect(await one.decision('cat a.txt')).toBe('allow');
});

test('18.600: attack: a rule of any folder matches below a link to a folder of the system', async () => {
  mkdirSync(join(root, 'deep'));
  symlinkSync('/etc', join(root, 'deep/conf'));
  const place = await agentIn([deny('**/conf/passwd')]).place(list);
  expect(place).toMatchObject({ hide: expect.arrayContaining(['/etc/passwd']) });
});

test('18.600: attack: a rule that the sandbox cannot hide is asked about', async () => {
  const one = agentIn([deny('/usr/*/keys/**')]);
  expect(await one.decision(list)).toBe('ask');
  expect(await one.decision('cat a.txt')).toBe('allow');
});

test('18.600: attack: a command in a copy of the folder reads what a rule of the folder denies', async () => {
  const copy = temporaryFolder();
  writeTree(copy, { args: '' });
  const own = permissionPolicy({ root, rules: [deny('/etc/passwd')] });
  const place = await agentIn([], [own], copy).place(list);
  expect(place).toMatchObject({ place: 'closed', hide: ['/etc/passwd'] });
});

test('18.600: a rule about a place that the closed view does not show needs no question', async () => {
  const other = temporaryFolder();
  expect(await agentIn([deny(`${other}/*/key`)]).decision(list)).toBe('allow');
  expect(await agentIn([deny('**/*.key')]).decision(list)).toBe('allow');
});

test('18.600: a new file beside a hidden place of the system does not stop the command', async () => {
  const place = await agentIn([deny('/usr/share/**')]).place(list);
  if (place.place !== 'closed') throw new Error('The command is not closed');
  const isHidden = (path: string) => place.hideNew?.(path);
  expect([isHidden('/usr/new-package'), isHidden(join(root, '.env'))]).toEqual([false, true]);
  expect(isHidden('/usr/share/keys')).toBe(true);
});
