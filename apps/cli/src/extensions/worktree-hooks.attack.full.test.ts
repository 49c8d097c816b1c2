import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonObject, sessionId, toolCallId, toolCallPart } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { homeAndProject, hookSettings, testAgent } from '../testing/test-agent.ts';
import { loadExtensions } from './load-extensions.ts';

// The user has a hook that guards a folder of the project. A sub-agent works in a git worktree.

let made = 0;
const call = (name: string, input: JsonObject) => ({
  content: { parts: [toolCallPart(toolCallId(`c${++made}`), name, input)] },
});

/** Refuses calls whose input names a file in the folder `prod` of the project. */
const guard = `#!/bin/sh
in=$(cat)
echo "$in" >> "$HOME/seen.jsonl"
case "$in" in *"$CLAUDE_PROJECT_DIR/prod"*) echo GUARDED >&2; exit 2;; esac
`;

/** Runs a sub-agent with one call in its worktree. Returns what the hook got and the texts of all requests. */
async function runGuarded(
  toCall: (worktree: string, home: string) => ReturnType<typeof call>,
  script = guard,
) {
  const place = homeAndProject({
    'project/prod/values.yaml': 'a: 1\n',
    'project/open.txt': 'open\n',
    'home/guard.sh': script,
    'home/.claude/settings.json': hookSettings('PreToolUse', '"$HOME"/guard.sh'),
  });
  const { env, cwd, home } = place;
  const git = (...words: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...words], { cwd });
  git('init', '-q');
  git('add', '-A');
  git('commit', '-q', '-m', 'first');
  const { extensions } = await loadExtensions(place);
  const folder = join(home, '.cache/millrace/worktrees');
  const inside = () => {
    const [name = ''] = readdirSync(folder).filter((one) => !one.endsWith('.json'));
    return toCall(join(folder, name), home);
  };
  const task = call('task', { agent: 'worker', task: 'Work', isolation: 'worktree' });
  const provider = scriptedProvider([task, inside, 'Reported.', 'Done.']);
  const permissions = { mode: 'accept-edits', rules: [] } as const;
  const options = { provider, cwd, env, extensions, config: { permissions } };
  const { agent } = await testAgent({ ...options, approve: 'park' });
  await agent.run('Go', { session: sessionId('s') }).result;
  const requests = provider.requests.map(({ request }) => JSON.stringify(request)).join('\n');
  const read = (path: string) => readFileSync(join(cwd, path), 'utf8');
  return { requests, read, seen: readFileSync(join(home, 'seen.jsonl'), 'utf8') };
}

const evil = { content: 'a: EVIL\n' };

test.each([
  ['a relative path', () => 'prod/values.yaml'],
  ['the path of the worktree', (root: string) => join(root, 'prod/values.yaml')],
  ['a path with dots', (root: string) => `${root}/../${root.split('/').at(-1)}/prod/values.yaml`],
  ['a link to the worktree', (_: string, home: string) => join(home, 'link/prod/values.yaml')],
])('18.341: attack: a sub-agent avoids a guard hook with %s', async (_, pathOf) => {
  const { requests, read, seen } = await runGuarded((root, home) => {
    symlinkSync(root, join(home, 'link'));
    return call('write', { path: pathOf(root, home), ...evil });
  });
  expect(requests).toContain('GUARDED');
  expect(seen).not.toContain('.cache/millrace');
  expect(read('prod/values.yaml')).toBe('a: 1\n');
});

test.each([
  ['bash', (root: string) => ({ command: `echo EVIL > ${root}/prod/values.yaml` })],
  ['edit', (root: string) => ({ path: `${root}/prod/values.yaml`, edits: [one] })],
  ['ls', (root: string) => ({ path: `${root}/prod` })],
])('18.341: attack: a sub-agent avoids a guard hook with the tool %s', async (name, input) => {
  const { requests, seen } = await runGuarded((root) => call(name, input(root)));
  expect(requests).toContain('GUARDED');
  expect(seen).not.toContain('.cache/millrace');
});
const one = { old_text: '1', new_text: 'EVIL' };

test('18.341: a hook that changes a path of the project changes the copy in the worktree', async () => {
  const json = `{"hookSpecificOutput":{"updatedInput":{"file_path":"'"$CLAUDE_PROJECT_DIR"'/moved.txt"}}}`;
  const script = `#!/bin/sh
in=$(cat)
echo "$in" >> "$HOME/seen.jsonl"
case "$in" in *'"Write"'*) echo '${json}';; esac
`;
  const { requests, read } = await runGuarded(
    (root) => call('write', { path: join(root, 'new.txt'), content: 'new' }),
    script,
  );
  expect(requests).toContain('Merged from the worktree of the sub-agent:\\n- moved.txt');
  expect(read('moved.txt')).toBe('new');
});
