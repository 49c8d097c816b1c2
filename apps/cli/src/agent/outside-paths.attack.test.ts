import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonObject, type Part, toolCallId, toolCallPart } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { folderWith, testAgent } from '../testing/test-agent.ts';

// A model uses paths outside of the workspace. While the approval request is open, a command
// replaces a folder by a link.

interface Places {
  readonly base: string;
  readonly root: string;
}

function places(): Places {
  const base = folderWith({
    ...{ 'ws/docs/config': 'old\n', 'ws/docs/a.txt': 'plain\n' },
    ...{ 'home/config': 'untouched\n', 'home/a.txt': 'SECRET\n', 'out/b/a.txt': 'outside\n' },
  });
  symlinkSync(join(base, 'ws'), join(base, 'alias'));
  return { base, root: join(base, 'ws') };
}

interface Attack {
  readonly places: Places;
  readonly call: readonly [name: string, input: JsonObject];
  readonly swap?: (() => void) | undefined;
}

/** Runs a call, replaces a folder while the approval request is open, and approves the call. */
async function attack({ places: { root }, call: [name, input], swap }: Attack) {
  const call = toolCallPart(toolCallId('c'), name, input);
  const provider = scriptedProvider([{ content: { parts: [call] } }, 'Done.']);
  const { agent } = await testAgent({ provider, cwd: root });
  const run = agent.run('Go');
  let asked = 0;
  for await (const event of run.events) {
    if (event.type !== 'approval_asked') continue;
    asked++;
    swap?.();
    await run.approve(event.toolCallId);
  }
  const parts = (await run.result).items.flatMap((item): readonly Part[] => item.parts);
  const [result] = parts.filter((part) => part.kind === 'tool_result');
  return { asked, text: result?.text ?? '', isError: result?.isError };
}

/** Replaces a folder by a link to the target. */
function swapped(path: string, target: string): void {
  renameSync(path, `${path}.kept`);
  symlinkSync(target, path);
}

test.for(['write', 'edit'] as const)(
  'attack: %s through a link to the workspace stays there, although a folder became a link',
  async (name) => {
    const at = places();
    const change =
      name === 'write'
        ? { content: 'EVIL' }
        : { edits: [{ old_text: 'untouched', new_text: 'EVIL' }] };
    const { asked, isError, text } = await attack({
      places: at,
      call: [name, { path: join(at.base, 'alias/docs/config'), ...change }],
      swap: () => swapped(join(at.root, 'docs'), join(at.base, 'home')),
    });
    expect({ asked, isError }).toEqual({ asked: 1, isError: true });
    expect(text).toMatch(/when the call was allowed|outside the workspace/);
    expect(readFileSync(join(at.base, 'home/config'), 'utf8')).toBe('untouched\n');
  },
);

test.for<readonly [string, string]>([
  ['read', 'out/b/a.txt'],
  ['ls', 'out/b'],
  ['glob', 'out/b'],
  ['grep', 'out/b'],
  ['write', 'out/b/a.txt'],
  ['write', 'out/b/new.txt'],
])('attack: %s of %s outside does not follow a folder that became a link', async ([name, path]) => {
  const at = places();
  const more = { content: 'EVIL', pattern: '.' };
  const { asked, isError, text } = await attack({
    places: at,
    call: [name, { path: join(at.base, path), ...more }],
    swap: () => swapped(join(at.base, 'out/b'), join(at.base, 'home')),
  });
  expect({ asked, isError }).toEqual({ asked: 1, isError: true });
  expect(text).not.toContain('SECRET');
  expect(text).toContain('when the call was allowed');
  expect(readFileSync(join(at.base, 'home/a.txt'), 'utf8')).toBe('SECRET\n');
  expect(existsSync(join(at.base, 'home/new.txt'))).toBe(false);
});

test('a path outside, and one through a link to the workspace, work after an approval', async () => {
  const at = places();
  mkdirSync(join(at.base, 'out/c'));
  const write = (path: string) =>
    attack({ places: at, call: ['write', { path: join(at.base, path), content: 'x' }] });
  expect(await write('out/c/new.txt')).toMatchObject({ asked: 1, isError: false });
  expect(await write('alias/docs/config')).toMatchObject({ asked: 1, isError: false });
  expect(readFileSync(join(at.root, 'docs/config'), 'utf8')).toBe('x');
  const path = join(at.base, 'out/b/a.txt');
  const read = await attack({ places: at, call: ['read', { path }] });
  expect(read).toMatchObject({ asked: 1, isError: false });
  expect(read.text).toContain('outside');
});

test('18.1012: an approved change of a file that a protected name leads to works', async () => {
  const at = places();
  mkdirSync(join(at.root, 'conf'));
  symlinkSync('conf', join(at.root, '.vscode'));
  const input = { path: 'conf/tasks.json', content: 'x' };
  const write = await attack({ places: at, call: ['write', input] });
  expect(write).toMatchObject({ asked: 1, isError: false });
  expect(readFileSync(join(at.root, 'conf/tasks.json'), 'utf8')).toBe('x');
});

test('18.1013: attack: the preview of a file outside shows a folder that became a link', async () => {
  const { base, root } = places();
  const { preview } = await testAgent({ provider: scriptedProvider([]), cwd: root });
  const real = join(base, 'out/b/a.txt');
  const call = { tool: 'write', input: { path: '../out/b/a.txt', content: 'x' } };
  expect(await preview(call, real)).toMatchObject({ linesBefore: 1 });
  const made = { ...call, input: { path: '../out/new/deep/a.txt', content: 'x' } };
  const there = join(base, 'out/new/deep/a.txt');
  expect(await preview(made, there)).toMatchObject({ linesBefore: undefined, basis: 'absent' });
  swapped(join(base, 'out/b'), join(base, 'home'));
  expect(await preview(call, real)).toBeUndefined();
});
