import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonObject, sessionId, toolCallId, toolCallPart } from '@millrace/core';
import { expect, test } from 'vitest';
import { extendedAgent, hookSettings } from '../testing/test-agent.ts';
import { toHookCall } from './tool-names.ts';

// The user has a hook that guards a folder. A hostile model chooses paths with links, and replaces links.

const session = sessionId('s');
const call = (name: string, input: JsonObject) => ({
  content: { parts: [toolCallPart(toolCallId('a'), name, input)] },
  pieces: 'whole' as const,
});

/** Refuses calls whose file is in the folder `sub`. It believes the path of its input. */
const guard = `const { file_path, path } = JSON.parse(require('fs').readFileSync(0, 'utf8')).tool_input;
const fs = require('fs');
fs.appendFileSync(process.env.HOME + '/seen', (file_path ?? path) + '\\n');
if (fs.existsSync('flip')) { fs.unlinkSync('flip'); fs.unlinkSync('ln'); fs.symlinkSync('sub/dir', 'ln'); }
if ((file_path ?? path).includes('/sub')) { console.error('GUARDED'); process.exit(2); }`;

async function withGuard(name: string, input: JsonObject, files = {}, matcher = '*', more = {}) {
  const settings = hookSettings('PreToolUse', 'node ~/guard.cjs', { matcher, ...more });
  const { built, cwd, home, provider } = await extendedAgent(
    {
      'home/.claude/settings.json': settings,
      'home/guard.cjs': guard,
      'project/sub/keep.txt': 'FROZEN\n',
      'project/sub/dir/a.txt': 'FROZEN\n',
      'project/open/keep.txt': 'open\n',
      ...files,
    },
    [call(name, input), 'Done.'],
    { config: { permissions: { mode: 'accept-edits', rules: [] } }, approve: 'park' },
  );
  mkdirSync(join(cwd, 'open/dir'));
  symlinkSync('flip' in files ? 'open/dir' : 'sub/dir', join(cwd, 'ln'));
  symlinkSync('sub/new.txt', join(cwd, 'dangling'));
  await built.agent.run('Go', { session }).result;
  const parts = provider.requests.at(-1)?.request.items.flatMap((item) => item.parts) ?? [];
  const [texts = ''] = parts.flatMap((part) => (part.kind === 'tool_result' ? part.text : []));
  const seen = existsSync(join(home, 'seen')) ? readFileSync(join(home, 'seen'), 'utf8') : '';
  return { cwd, texts, seen: seen.trim().replace(`${cwd}/`, '') };
}

test.each([
  ['write', { path: 'ln/../keep.txt', content: 'EVIL' }, 'sub/keep.txt'],
  ['write', { path: 'ln/../new/x.txt', content: 'EVIL' }, 'sub/new/x.txt'],
  ['write', { path: 'dangling', content: 'EVIL' }, 'sub/new.txt'],
  ['edit', { path: 'ln/../keep.txt', edits: [{ old_text: 'F', new_text: 'E' }] }, 'sub/keep.txt'],
  ['read', { path: 'ln/../keep.txt' }, 'sub/keep.txt'],
  ['read', { path: 'ln/a.txt' }, 'sub/dir/a.txt'],
  ['ls', { path: 'ln/..' }, 'sub'],
  ['grep', { path: 'ln/..', pattern: 'FROZEN' }, 'sub'],
  ['glob', { path: 'ln/..', pattern: '*' }, 'sub'],
])('18.1640: attack: %s avoids a guard hook with %j', async (name, input, used) => {
  const { cwd, texts, seen } = await withGuard(name, input);
  expect(seen).toBe(used);
  expect(texts).toContain('GUARDED');
  expect(texts).not.toContain('FROZEN');
  expect(readFileSync(join(cwd, 'sub/keep.txt'), 'utf8')).toBe('FROZEN\n');
  expect(existsSync(join(cwd, 'sub/new')) || existsSync(join(cwd, 'sub/new.txt'))).toBe(false);
});

test.each(['Write(sub/**)', 'Write(ln/**)', 'Write(linked/**)'])(
  '18.1640: attack: a path through a link avoids the condition %s',
  async (condition) => {
    const input = { path: 'ln/a.txt', content: 'EVIL' };
    const { texts, cwd } = await withGuard('write', input, {}, 'Write', { if: condition });
    const isGuarded = condition !== 'Write(linked/**)';
    expect(texts.includes('GUARDED')).toBe(isGuarded);
    expect(readFileSync(join(cwd, 'sub/dir/a.txt'), 'utf8')).toBe(isGuarded ? 'FROZEN\n' : 'EVIL');
  },
);

test('18.1641: attack: a link changes between the guard hook and the permission policy', async () => {
  const input = { path: 'ln/../keep.txt', content: 'EVIL' };
  const { cwd, texts, seen } = await withGuard('write', input, { 'project/flip': '', flip: '' });
  expect(seen).toBe('open/keep.txt');
  expect(texts).toContain('the hooks checked a different file');
  expect(readFileSync(join(cwd, 'sub/keep.txt'), 'utf8')).toBe('FROZEN\n');
  expect(readFileSync(join(cwd, 'open/keep.txt'), 'utf8')).toBe('open\n');
});

test('18.1640: a hook that repeats the path of a call keeps the path of the model', async () => {
  const { input } = toHookCall('grep', { path: 'src', pattern: 'x' }, { cwd: '/repo' });
  expect(input).toEqual({ path: '/repo/src', pattern: 'x' });
});
