import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import { type Part, toArray } from '@millrace/core';
import { type Log, memoryLog, snapshot } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { call } from '../../../agent/src/testing/model-script.ts';
import { editTool } from '../files/edit-tool.ts';
import { applyPatchTool } from '../files/patch-tool.ts';
import { writeTool } from '../files/write-tool.ts';
import { bashTool } from '../shell/bash-tool.ts';
import { subAgentsTool } from '../sub-agents/sub-agents-tool.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { applyFilePlan } from './apply-file-plan.ts';
import { commandFiles } from './command-files.ts';
import { readFileChanges } from './file-changes.ts';
import { planFileChanges } from './plan-file-changes.ts';

const session = 's';

/** Creates a folder with an agent that calls the given tools, one per turn. */
function startSession() {
  const root = temporaryFolder();
  const log: Log = memoryLog();
  const workspace = createWorkspace({ root });
  const script: ScriptEntry[] = [];
  const files = commandFiles({ workspace, copies: temporaryFolder() });
  const bash = bashTool({ workspace, files });
  const tools = [writeTool(workspace), editTool(workspace), applyPatchTool(workspace), bash];
  let calls = 0;
  const agent = createAgent({ provider: scriptedProvider(script), log, tools });
  return {
    ...{ root, log, workspace, tools },
    /** Sends a message. The agent makes the calls and answers. Returns the offset before the message. */
    async send(...parts: readonly (readonly [name: string, input: object])[]): Promise<number> {
      const before = (await log.info(session))?.through ?? 0;
      const made = parts.map(([name, input]): Part => call(`c${calls++}`, name, input as never));
      script.push(...made.map((part) => ({ content: { parts: [part] } })), 'Done.');
      await agent.run('Go on', { session }).text();
      return before;
    },
    async undoTo(through: number) {
      const changes = await readFileChanges(log, session);
      const plan = await planFileChanges(workspace, {
        undo: changes.filter(({ offset }) => offset > through),
      });
      return { plan, apply: () => applyFilePlan(workspace, log.blobs, plan) };
    },
    path: (name: string) => join(root, name),
    write: (name: string, text: string) => writeFileSync(join(root, name), text),
    read(name: string): string | undefined {
      try {
        return readFileSync(join(root, name), 'utf8');
      } catch {
        return undefined;
      }
    },
  };
}

describe('taking back changes of files', () => {
  test('restores what was there before each message, also after several changes', async () => {
    const files = startSession();
    files.write('a.txt', 'one\n');
    const first = await files.send(
      ['edit', { path: 'a.txt', edits: [{ old_text: 'one', new_text: 'two' }] }],
      ['write', { path: 'sub/b.txt', content: 'new\n' }],
    );
    const second = await files.send(
      ['write', { path: 'a.txt', content: 'three\n' }],
      ['apply_patch', { type: 'delete_file', path: 'sub/b.txt' }],
    );
    await (await files.undoTo(second)).apply();
    expect([files.read('a.txt'), files.read('sub/b.txt')]).toEqual(['two\n', 'new\n']);
    await (await files.undoTo(first)).apply();
    expect([files.read('a.txt'), files.read('sub/b.txt')]).toEqual(['one\n', undefined]);
  });

  test('restores the permissions', async () => {
    const files = startSession();
    files.write('run.sh', 'echo one\n');
    execFileSync('chmod', ['755', files.path('run.sh')]);
    const before = await files.send(['apply_patch', { type: 'delete_file', path: 'run.sh' }]);
    await (await files.undoTo(before)).apply();
    expect(statSync(files.path('run.sh')).mode & 0o777).toBe(0o755);
  });

  test('repeats changes that were taken back', async () => {
    const files = startSession();
    const before = await files.send(['write', { path: 'a.txt', content: 'one\n' }]);
    await (await files.undoTo(before)).apply();
    const redo = await readFileChanges(files.log, session);
    const plan = await planFileChanges(files.workspace, { redo });
    await applyFilePlan(files.workspace, files.log.blobs, plan);
    expect(files.read('a.txt')).toBe('one\n');
  });

  test('includes the changes of sub-agents', async () => {
    const files = startSession();
    const { log, tools, root, workspace } = files;
    const part = call('w', 'write', { path: 'a.txt', content: 'by a helper\n' });
    const helper = createAgent({
      ...{ provider: scriptedProvider([{ content: { parts: [part] } }, 'Written.']), log, tools },
    });
    const task = subAgentsTool({ agents: { helper: { agent: helper, description: 'Helps' } } });
    const asked = call('t', 'task', { agent: 'helper', task: 'Write' });
    const provider = scriptedProvider([{ content: { parts: [asked] } }, 'Done.']);
    await createAgent({ provider, log, tools: [task] })
      .run('Go', { session: 'p' })
      .text();
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('by a helper\n');
    const undo = await readFileChanges(log, 'p');
    await applyFilePlan(workspace, log.blobs, await planFileChanges(workspace, { undo }));
    expect(files.read('a.txt')).toBeUndefined();
  });

  test('refuses if somebody else changed a file, and changes nothing', async () => {
    const files = startSession();
    const before = await files.send(
      ['write', { path: 'a.txt', content: 'one\n' }],
      ['write', { path: 'b.txt', content: 'two\n' }],
    );
    files.write('b.txt', 'mine\n');
    const { plan, apply } = await files.undoTo(before);
    expect(plan.conflicts).toMatchObject([{ path: files.path('b.txt'), code: 'changed' }]);
    await expect(apply()).rejects.toMatchObject({ code: 'changed' });
    expect([files.read('a.txt'), files.read('b.txt')]).toEqual(['one\n', 'mine\n']);
  });

  test('refuses if a file changes after the plan was made, and restores the others', async () => {
    const files = startSession();
    const before = await files.send(
      ['write', { path: 'a.txt', content: 'one\n' }],
      ['write', { path: 'b.txt', content: 'two\n' }],
    );
    const { apply } = await files.undoTo(before);
    files.write('b.txt', 'mine\n');
    await expect(apply()).rejects.toMatchObject({ code: 'changed' });
    expect([files.read('a.txt'), files.read('b.txt')]).toEqual(['one\n', 'mine\n']);
  });

  test('keeps secrets and settings of programs out', async () => {
    const files = startSession();
    files.write('.env', 'KEY=hidden\n');
    mkdirSync(files.path('.vscode'));
    const before = await files.send(
      ['write', { path: '.env', content: 'KEY=other\n' }],
      ['write', { path: '.vscode/tasks.json', content: '{}' }],
    );
    const { plan } = await files.undoTo(before);
    expect(plan.conflicts.map(({ code }) => code)).toEqual(['not_stored', 'protected']);
    const [change] = await readFileChanges(files.log, session);
    expect(await files.log.blobs.get(change?.before?.hash ?? '')).toBeUndefined();
  });

  test('keeps files out that git runs because of its settings', async () => {
    const files = startSession();
    execFileSync('git', ['init', '-q'], { cwd: files.root });
    execFileSync('git', ['config', 'core.hooksPath', 'tools/hooks'], { cwd: files.root });
    mkdirSync(files.path('tools/hooks'), { recursive: true });
    const before = await files.send([
      'write',
      { path: 'tools/hooks/pre-commit', content: 'echo run\n' },
    ]);
    const { plan } = await files.undoTo(before);
    expect(plan.conflicts.map(({ code }) => code)).toEqual(['protected']);
  });

  test('cannot take back what was redacted, and the log has lost the content', async () => {
    const files = startSession();
    const { log } = files;
    const before = await files.send(['write', { path: 'a.txt', content: 'private\n' }]);
    const [change] = await readFileChanges(log, session);
    const hash = change?.after?.hash ?? '';
    expect(await log.blobs.get(hash)).toBeDefined();
    const { items } = await snapshot(log, session);
    for (const { id, kind } of toArray(items)) if (kind === 'tool') await log.redact(session, id);
    expect(await log.blobs.get(hash)).toBeUndefined();
    const { plan } = await files.undoTo(before);
    expect(plan.conflicts).toMatchObject([{ path: '', code: 'not_stored' }]);
  });

  test('refuses paths outside of the folder, as an imported session could have them', async () => {
    const files = startSession();
    await files.send(['write', { path: 'a.txt', content: 'one\n' }]);
    const other = createWorkspace({ root: temporaryFolder() });
    const undo = await readFileChanges(files.log, session);
    const { conflicts } = await planFileChanges(other, { undo });
    expect(conflicts).toMatchObject([{ code: 'outside' }]);
  });
});
