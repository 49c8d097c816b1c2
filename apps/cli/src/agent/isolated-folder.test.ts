import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonObject, sessionId, toolCallId, toolCallPart } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { applyFilePlan, createWorkspace, planFileChanges, readFileChanges } from '@millrace/tools';
import { describe, expect, test } from 'vitest';
import { loadExtensions } from '../extensions/load-extensions.ts';
import { folderWith, testAgent } from '../testing/test-agent.ts';

let made = 0;
const call = (name: string, input: JsonObject): ScriptEntry => ({
  content: { parts: [toolCallPart(toolCallId(`c${++made}`), name, input)] },
});
const isolatedTask = call('task', { agent: 'worker', task: 'Work', isolation: 'worktree' });

/** Creates a repository with these files and one commit, and the environment of a user. */
function repository(files: Readonly<Record<string, string>>) {
  const cwd = folderWith(files);
  const git = (...words: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...words], {
      ...{ cwd, encoding: 'utf8' },
    });
  git('init', '-q');
  git('add', '-A');
  git('commit', '-q', '-m', 'first');
  const home = folderWith();
  const env = { HOME: home, PATH: process.env['PATH'] };
  const worktrees = () => {
    const folder = join(home, '.cache/millrace/worktrees');
    return existsSync(folder)
      ? readdirSync(folder).filter((name) => !/(json|lock)$/.test(name))
      : [];
  };
  const read = (path: string) => readFileSync(join(cwd, path), 'utf8');
  return { cwd, env, git, worktrees, read };
}

const session = sessionId('s');
const config = { permissions: { mode: 'accept-edits', rules: [] } } as const;

describe('23.6: a sub-agent in a git worktree', () => {
  test('changes its own files, which come back when it reports, and can be rewound', async () => {
    const { cwd, env, worktrees, read } = repository({ 'a.txt': 'one\n' });
    const provider = scriptedProvider([
      isolatedTask,
      call('edit', { path: 'a.txt', edits: [{ old_text: 'one', new_text: 'two' }] }),
      () => {
        expect(read('a.txt')).toBe('one\n');
        return 'I changed a.txt.';
      },
      'Done.',
    ]);
    const log = memoryLog();
    const { agent } = await testAgent({
      ...{ provider, cwd, env, config, log },
    });
    const { items } = await agent.run('Go', { session }).result;
    const [result] = items.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.kind === 'tool_result' ? [part.text] : [])),
    );
    expect(result).toBe('I changed a.txt.\n\nMerged from the worktree of the sub-agent:\n- a.txt');
    expect(read('a.txt')).toBe('two\n');
    expect(worktrees()).toEqual([]);
    const requests = provider.requests.map(({ request }) => JSON.stringify(request));
    expect(requests[1]).toContain('/millrace/worktrees/millrace-');
    const workspace = createWorkspace({ root: cwd });
    const undo = await readFileChanges(log, session);
    expect(undo.map(({ path, tool }) => [path, tool])).toEqual([[join(cwd, 'a.txt'), 'task']]);
    await applyFilePlan(workspace, log.blobs, await planFileChanges(workspace, { undo }));
    expect(read('a.txt')).toBe('one\n');
  });

  test('reports a conflict, and its version stays in the worktree', async () => {
    const { cwd, env, worktrees, read } = repository({ 'a.txt': 'one\n' });
    const provider = scriptedProvider([
      isolatedTask,
      call('write', { path: 'a.txt', content: 'theirs\n' }),
      () => {
        // Another person changes the file while the sub-agent works.
        writeFileSync(join(cwd, 'a.txt'), 'ours\n');
        return 'Done.';
      },
      'Done.',
    ]);
    const { agent } = await testAgent({
      ...{ provider, cwd, env, config: { permissions: { mode: 'allow', rules: [] } } },
    });
    const { items } = await agent.run('Go', { session }).result;
    const text = JSON.stringify(items);
    expect(text).toContain('Not merged:\\n- a.txt: the same lines were changed here too');
    expect(text).toContain('git worktree remove --force');
    expect(read('a.txt')).toBe('ours\n');
    expect(worktrees()).toHaveLength(1);
  });

  test('asks as in the folder of the session, and its rules apply', async () => {
    const { cwd, env, worktrees } = repository({ 'a.txt': 'one\n', 'secret/k.txt': 'x\n' });
    const provider = scriptedProvider([
      isolatedTask,
      call('write', { path: 'b.txt', content: 'x' }),
      call('read', { path: 'secret/k.txt' }),
      call('write', { path: join(cwd, 'a.txt'), content: 'outside of the worktree' }),
      'Done.',
      'Done.',
    ]);
    const rules = [{ path: 'secret/**', decision: 'deny' }] as const;
    const { agent } = await testAgent({
      ...{ provider, cwd, env, config: { permissions: { mode: 'ask', rules } } },
    });
    const run = agent.run('Go', { session });
    const asked: string[] = [];
    for await (const event of run.events) {
      if (event.type !== 'approval_asked') continue;
      asked.push(event.name);
      await run.deny(event.toolCallId);
    }
    expect(asked).toEqual(['write', 'write']);
    expect(JSON.stringify(provider.requests[3]?.request)).toMatch(/denied|not allowed/i);
    expect(worktrees()).toEqual([]);
  });

  test('23: does not read its copy of a file that a rule denies by its absolute path', async () => {
    const { cwd, env } = repository({ 'a.txt': 'one\n', 'secret/k.txt': 'hidden words\n' });
    const provider = scriptedProvider([
      isolatedTask,
      call('read', { path: 'secret/k.txt' }),
      'Done.',
      'Done.',
    ]);
    const rules = [{ path: `${cwd}/secret/**`, decision: 'deny' }] as const;
    const { agent } = await testAgent({
      ...{ provider, cwd, env, config: { permissions: { mode: 'ask', rules } } },
    });
    await agent.run('Go', { session }).result;
    const seen = JSON.stringify(provider.requests[2]?.request);
    expect(seen).toMatch(/denied|not allowed/i);
    expect(seen).not.toContain('hidden words');
  });

  test('is always used for a file with "isolation: worktree"', async () => {
    const { cwd, env, read } = repository({
      'a.txt': 'one\n',
      '.millrace/agents/smith.md':
        '---\nname: smith\ndescription: Makes things\nisolation: worktree\n---\nYou are a smith.',
    });
    const provider = scriptedProvider([
      call('task', { agent: 'smith', task: 'Work' }),
      call('write', { path: 'b.txt', content: 'made' }),
      'Made.',
      'Done.',
    ]);
    const foldersFile = join(env.HOME, '.config/millrace/folders.json');
    const { extensions } = await loadExtensions({ cwd, env, config: { foldersFile }, trust: true });
    const { agent } = await testAgent({ provider, cwd, env, config, extensions });
    await agent.run('Go', { session }).result;
    expect(JSON.stringify(provider.requests[1]?.request)).toContain('You are a smith.');
    expect(JSON.stringify(provider.requests[1]?.request)).toContain('git worktree of your own');
    expect(read('b.txt')).toBe('made');
  });

  test('is offered only in a repository', async () => {
    const provider = scriptedProvider([]);
    const schemaIn = async (cwd: string) => {
      const { tools } = await testAgent({ provider, cwd, env: { HOME: folderWith() } });
      return JSON.stringify(tools.find(({ name }) => name === 'task')?.inputSchema);
    };
    expect(await schemaIn(folderWith())).not.toContain('worktree');
    expect(await schemaIn(repository({ a: '' }).cwd)).toContain('worktree');
  });
});
