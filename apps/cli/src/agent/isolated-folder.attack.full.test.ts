import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonObject, sessionId, toolCallId, toolCallPart } from '@millrace/core';
import type { ModelRequest } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { findSandbox } from '@millrace/tools';
import { expect, test } from 'vitest';
import { loadConfig } from '../config/load-config.ts';
import { folderWith, testAgent } from '../testing/test-agent.ts';

let made = 0;
const call = (name: string, input: JsonObject) =>
  toolCallPart(toolCallId(`c${++made}`), name, input);

test('23.6: attack: two sub-agents work at the same time, and their commands change only their own worktrees', async (context) => {
  const found = await findSandbox();
  if (found.sandbox === undefined) {
    if (process.env['MILLRACE_REQUIRE_ALL'] === '1') throw new Error(found.reason);
    return context.skip(found.reason);
  }
  found.sandbox.close();
  const cwd = folderWith({ 'a.txt': 'a\n', 'b.txt': 'b\n', 'shared.txt': 'x\n' });
  const git = (...words: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...words], { cwd });
  git('init', '-q');
  git('add', '-A');
  git('commit', '-q', '-m', 'first');
  writeFileSync(join(cwd, 'shared.txt'), 'not committed\n');
  const home = folderWith();
  const env = { HOME: home, PATH: process.env['PATH'] };
  const config = await loadConfig({ args: { permissions: 'auto' }, env, cwd });
  const task = (name: string) =>
    call('task', { agent: 'worker', task: `Change ${name}`, isolation: 'worktree' });
  // Both sub-agents use this provider. The answer depends on the task and on the number of results.
  const answer = ({ items }: ModelRequest) => {
    const name = /Change (a|b)\.txt/.exec(
      JSON.stringify(items.find(({ kind }) => kind === 'user')),
    )?.[1];
    const results = items.filter(({ kind }) => kind === 'tool').length;
    if (name === undefined)
      return results > 0 ? 'Done.' : { content: { parts: [task('a.txt'), task('b.txt')] } };
    if (results > 0) return `Changed ${name}.txt.`;
    const tries = [`echo new > ${cwd}/${name}.txt`, `echo bad > ${cwd}/new.txt`];
    const command = [`cat shared.txt`, `echo new > ${name}.txt`, ...tries].join('; ');
    return { content: { parts: [call('bash', { command })] } };
  };
  const provider = scriptedProvider(Array.from({ length: 6 }, () => answer));
  const { agent } = await testAgent({ provider, cwd, env, config });
  const run = agent.run('Go', { session: sessionId('s') });
  const asked: (string | undefined)[] = [];
  for await (const event of run.events) {
    if (event.type !== 'approval_asked') continue;
    asked.push(event.reason);
    await run.deny(event.toolCallId);
  }
  const text = JSON.stringify((await run.result).items);
  expect(asked).toEqual([]);
  for (const name of ['a.txt', 'b.txt']) {
    expect(text).toContain(`Merged from the worktree of the sub-agent:\\n- ${name}`);
    expect(readFileSync(join(cwd, name), 'utf8')).toBe('new\n');
  }
  const seen = JSON.stringify(provider.requests.map(({ request }) => request));
  expect(seen).toContain('not committed');
  expect(existsSync(join(cwd, 'new.txt'))).toBe(false);
  expect(git('worktree', 'list').toString().trim().split('\n')).toHaveLength(1);
});
