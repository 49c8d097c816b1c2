import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { beforeEach, expect, test } from 'vitest';
import { call } from '../../../agent/src/testing/model-script.ts';
import { writeTool } from '../files/write-tool.ts';
import { applyFilePlan } from '../rewind/apply-file-plan.ts';
import { readFileChanges } from '../rewind/file-changes.ts';
import { planFileChanges } from '../rewind/plan-file-changes.ts';
import { policyRuling } from '../testing/policy/policy-ruling.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { approveByPolicy } from './approve-by-policy.ts';
import { permissionPolicy } from './permission-policy.ts';

// The user has allowed all file changes in the folder. The folder `m` has settings that make git run a program,
// but it is not a repository yet. A hostile model adds the missing parts.

const rules = [{ tool: 'write', path: '**', decision: 'allow' }] as const;
const settings = '[core]\n\tfsmonitor = "touch PWNED"\n';
const session = 's';

let root: string;
beforeEach(() => {
  root = temporaryFolder();
  writeTree(root, { 'm/HEAD': 'ref: refs/heads/main\n', 'm/config': settings });
  // This name begins like the path of the parent folder.
  writeTree(root, { '..m/HEAD': 'ref: refs/heads/main\n', '..m/config': settings });
});

/** Creates an agent whose model makes all these writes in one turn. */
function writing(...paths: readonly string[]) {
  const workspace = createWorkspace({ root });
  const policy = permissionPolicy({ root: workspace.root, rules });
  const parts = paths.map((path, index) => call(`c${index}`, 'write', { path, content: 'x' }));
  const log = memoryLog();
  const agent = createAgent({
    ...{ log, provider: scriptedProvider([{ content: { parts } }, 'Done.']) },
    ...{ tools: [writeTool(workspace)], approve: approveByPolicy(policy, workspace) },
  });
  return { workspace, log, run: agent.run('Go', { session }) };
}

test.for([
  ['m/refs/x', 'm/objects/x'],
  ['m/REFS/x', 'm/objects/x'],
  ['m/commondir', 'm/other'],
  ['..m/refs/x', '..m/objects/x'],
])(
  '18.440: attack: a broad rule writes %s, which makes a folder a repository',
  async ([path, other]) => {
    const decide = async (file: string) =>
      (await policyRuling(root, ['write', { path: file, content: '' }], { rules })).decision;
    expect(await decide(other ?? '')).toBe('allow');
    writeTree(root, { [other ?? '']: '' });
    expect(await decide(path ?? '')).toBe('ask');
    expect(await decide('m/notes.txt')).toBe('allow');
  },
);

test('18.441: attack: two writes of one turn create the last two parts of a repository', async () => {
  const { run } = writing('m/objects/x', 'm/refs/x');
  const { items } = await run.result;
  const results = items.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.kind === 'tool_result' ? [part.text] : [])),
  );
  const refused = 'it would now make the folder m a git repository';
  expect(results.filter((text) => text.includes(refused))).toHaveLength(1);
  expect(['m/objects', 'm/refs'].filter((path) => existsSync(join(root, path)))).toHaveLength(1);
});

test('18.441: the user can approve a write that makes a folder a repository', async () => {
  writeTree(root, { 'm/objects/x': '' });
  const { run } = writing('m/refs/x');
  for await (const event of run.events)
    if (event.type === 'approval_asked') await run.approve(event.toolCallId);
  expect(existsSync(join(root, 'm/refs/x'))).toBe(true);
});

test('18.442: attack: a redo creates the last part of a repository', async () => {
  const { workspace, log, run } = writing('m/refs/x');
  await run.result;
  rmSync(join(root, 'm/refs'), { recursive: true });
  const redo = await readFileChanges(log, session);
  const plan = await planFileChanges(workspace, { redo });
  expect(plan.conflicts).toEqual([]);
  writeTree(root, { 'm/objects/x': '' });
  expect((await planFileChanges(workspace, { redo })).conflicts).toMatchObject([
    { code: 'protected' },
  ]);
  // The part appears after the plan was made.
  await expect(applyFilePlan(workspace, log.blobs, plan)).rejects.toThrow('a git repository');
  expect(existsSync(join(root, 'm/refs'))).toBe(false);
});

test.for(['m/hooks/pre-commit', 'm/Hooks/x', 'm/modules/a/config', 'm/worktrees/w/commondir'])(
  '18.484: attack: a broad rule writes %s into a repository that does not have this folder',
  async (path) => {
    writeTree(root, { 'm/objects/x': '', 'm/refs/x': '' });
    const decide = async (file: string) =>
      (await policyRuling(root, ['write', { path: file, content: '' }], { rules })).decision;
    expect(await decide(path)).toBe('ask');
    expect(await decide('m/notes.txt')).toBe('allow');
    expect(await decide('other/hooks/x')).toBe('allow');
  },
);
