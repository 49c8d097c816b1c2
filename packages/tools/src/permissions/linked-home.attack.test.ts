import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { keyPlaces } from '../sandbox/places/key-places.ts';
import { policyRuling } from '../testing/policy/policy-ruling.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';

// The variables of the user name folders through symbolic links. A hostile model uses the real paths.

afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

/** Creates `real/user` with files, and a link `link` to `real`. */
function linkedHome(files: readonly string[] = []) {
  const base = temporaryFolder();
  mkdirSync(join(base, 'real/user'), { recursive: true });
  writeTree(join(base, 'real/user'), Object.fromEntries(files.map((name) => [name, 'KEY\n'])));
  symlinkSync('real', join(base, 'link'));
  for (const name of ['XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_CACHE_HOME'])
    vi.stubEnv(name, undefined);
  return { base, home: join(base, 'real/user') };
}

/** Links a path of the home folder to a target. */
function link(home: string, path: string, target: string): void {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  symlinkSync(target, join(home, path));
}

const broad = { rules: [{ tool: 'write', path: '**', decision: 'allow' }] } as const;
const reading = async (root: string, path: string) =>
  (await policyRuling(root, ['read', { path }])).decision;
const writing = async (root: string, path: string) =>
  (await policyRuling(root, ['write', { path, content: 'x' }], broad)).decision;

test.for([
  ['a link above the home folder', 'link/user'],
  ['a parent folder behind a link', 'link/user/../user'],
  ['a parent folder that the kernel applies to the target of a link', 'inner/../user'],
])('18.510: attack: HOME has %s, and the home folder is the workspace', async ([_, path]) => {
  const { base, home } = linkedHome(['.mozilla/firefox/cookies', 'bin/tool', 'src/a.ts']);
  symlinkSync('real/user', join(base, 'inner'));
  vi.stubEnv('HOME', `${base}/${path}`);
  expect(await reading(home, '.mozilla/firefox/cookies')).toBe('ask');
  expect(await writing(home, 'bin/tool')).toBe('ask');
  expect(await writing(home, '.nvm/nvm.sh')).toBe('ask');
  expect(await reading(home, '.local/share/millrace/log.db')).toBe('ask');
  expect(await writing(home, '.cache/millrace/compiled/a')).toBe('ask');
  expect(await reading(home, 'src/a.ts')).toBe('allow');
  expect(await writing(home, 'src/a.ts')).toBe('allow');
});

test('18.511: attack: HOME does not exist yet, and the model creates its folder', async () => {
  const { base, home } = linkedHome();
  rmSync(home, { recursive: true });
  vi.stubEnv('HOME', join(base, 'link/user'));
  const root = join(base, 'real');
  expect(await writing(root, 'user/.bashrc.d/a.sh')).toBe('ask');
  expect(await writing(root, 'user/.local/share/millrace/a')).toBe('ask');
  expect(await writing(root, 'other/a.sh')).toBe('allow');
});

test.for([
  ['~/.config', '.config', 'config', 'config/millrace/hooks.json'],
  ['~/.config/millrace', '.config/millrace', 'agent', 'agent/hooks.json'],
  ['a file of settings', '.config/millrace/hooks.json', 'my-hooks.json', 'my-hooks.json'],
  ['a file that does not exist', '.config/millrace/hooks.json', 'later.json', 'later.json'],
  ['the extensions', '.config/millrace/extensions', 'ext', 'ext/a/index.ts'],
  ['one extension', '.config/millrace/extensions/a', 'ext-a', 'ext-a/index.ts'],
  ['hooks for other agents', '.claude/settings.json', 'other.json', 'other.json'],
  ['skills', '.agents/skills', 'my-skills', 'my-skills/a/run.sh'],
  ['a start-up file', '.bashrc', 'bash/rc', 'bash/rc'],
] as const)('18.512: attack: %s is a link into the workspace', async ([_, path, target, named]) => {
  const { home } = linkedHome();
  vi.stubEnv('HOME', home);
  const root = join(home, 'dotfiles');
  const isMissing = target.startsWith('later');
  writeTree(root, { ...(isMissing ? {} : { [named]: 'KEY\n' }), 'a.txt': '' });
  link(home, path, join(root, target));
  expect(await writing(root, named)).toBe('ask');
  expect(await writing(root, 'a.txt')).toBe('allow');
});

test('18.512: attack: the keys of the agent are behind a link', async () => {
  const { home } = linkedHome();
  vi.stubEnv('HOME', home);
  const root = join(home, 'dotfiles');
  writeTree(root, { 'config/millrace/keys.json': 'KEY', 'config/a.json': '', 'k.json': 'KEY' });
  link(home, '.config', 'dotfiles/config');
  link(root, 'config/millrace/other.json', '../../k.json');
  for (const path of ['config/millrace/keys.json', 'k.json'])
    expect(await reading(root, path)).toBe('ask');
  expect(await reading(root, 'config/a.json')).toBe('allow');
  // Commands do not see them.
  expect(keyPlaces(process.env).keys).toEqual(
    expect.arrayContaining([join(root, 'config/millrace'), join(root, 'k.json')]),
  );
});

test('18.513: attack: the user links ~/.config after the start', async () => {
  const { home } = linkedHome(['.config/millrace/keys.json']);
  vi.useFakeTimers({ toFake: ['performance'] });
  vi.stubEnv('HOME', home);
  const root = join(home, 'dotfiles');
  writeTree(root, { 'a.txt': '' });
  expect(await writing(root, 'config/millrace/hooks.json')).toBe('allow');
  renameSync(join(home, '.config'), join(root, 'config'));
  link(home, '.config', 'dotfiles/config');
  vi.advanceTimersByTime(1001);
  expect(await writing(root, 'config/millrace/hooks.json')).toBe('ask');
  expect(await reading(root, 'config/millrace/keys.json')).toBe('ask');
});
