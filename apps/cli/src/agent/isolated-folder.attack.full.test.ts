import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
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

test('18.530: attack: a command in a worktree reads denied files of the folder of the session', async (context) => {
  const found = await findSandbox();
  if (found.sandbox === undefined) {
    if (process.env['MILLRACE_REQUIRE_ALL'] === '1') throw new Error(found.reason);
    return context.skip(found.reason);
  }
  found.sandbox.close();
  const cwd = folderWith({ 'a.txt': 'a\n', '.gitignore': 'secret.txt\nl\n' });
  const git = (...words: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...words], { cwd });
  git('init', '-q');
  git('add', '-A');
  git('commit', '-q', '-m', 'first');
  writeFileSync(join(cwd, 'secret.txt'), 'KEY-1\n');
  // The link is denied, so its target is hidden too.
  const outside = folderWith({ 'other.txt': 'KEY-2\n' });
  symlinkSync(join(outside, 'other.txt'), join(cwd, 'l'));
  const deny = ['secret.txt', 'l'].map((path) => ({ path, decision: 'deny' }) as const);
  // A rule that allows everything below the folder does not allow what is denied there.
  const allow = [{ tool: 'read', path: `${cwd}/**`, decision: 'allow' }] as const;
  const home = folderWith();
  const env = { HOME: home, PATH: process.env['PATH'] };
  const config = await loadConfig({ args: { permissions: 'auto' }, env, cwd });
  const { mode } = config.permissions;
  const task = call('task', { agent: 'worker', task: 'Work', isolation: 'worktree' });
  const calls = [
    call('bash', {
      command: `sh -c 'cat ${cwd}/s*t.txt; cat ${outside}/*; cat ${cwd}/a*; touch x'`,
    }),
    call('read', { path: join(cwd, 'secret.txt') }),
    call('read', { path: join(cwd, 'l') }),
    call('read', { path: join(cwd, 'a.txt') }),
  ];
  const provider = scriptedProvider([
    { content: { parts: [task] } },
    { content: { parts: calls } },
    'Done.',
    'Done.',
  ]);
  const { agent } = await testAgent({
    ...{ provider, cwd, env },
    config: { ...config, permissions: { mode, rules: [...deny, ...allow] } },
  });
  const run = agent.run('Go', { session: sessionId('s') });
  const asked: (string | undefined)[] = [];
  for await (const event of run.events) {
    if (event.type !== 'approval_asked') continue;
    asked.push(event.reason);
    await run.deny(event.toolCallId);
  }
  const text = JSON.stringify((await run.result).items);
  const seen = JSON.stringify(provider.requests.map(({ request }) => request));
  expect(seen).not.toContain('KEY-');
  expect(seen).toContain('a.txt');
  expect(seen).toContain('is denied by a rule');
  // Nothing that is denied is in the repository, so the sandbox confines the command without a question.
  expect(asked).toEqual([]);
  expect(text).toContain('Merged from the worktree of the sub-agent:\\n- x');
});
