import { realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { permissionPolicy } from '@millrace/tools';
import { expect, test } from 'vitest';
import { folderWith } from '../testing/test-agent.ts';
import { loadConfig } from './load-config.ts';
import { ruleFromText } from './rule-text.ts';
import { withoutRiskyParts } from './trust.ts';

// A hostile project contains a millrace.json that the user has not trusted.

test.for([
  ['an empty list', []],
  ['another list', ['/nowhere']],
] as const)(
  'attack 23: %s of an untrusted project does not show what the user hides',
  async ([, hide]) => {
    const outer = folderWith({
      'home/.config/millrace/config.json': JSON.stringify({ sandbox: { hide: ['~/diary'] } }),
      'project/.git/HEAD': 'ref: refs/heads/main\n',
      'project/millrace.json': JSON.stringify({ sandbox: { hide } }),
    });
    const home = join(outer, 'home');
    const { sandbox } = await loadConfig({
      args: {},
      env: { HOME: home },
      cwd: join(outer, 'project'),
    });
    expect(sandbox?.hide).toContain(join(home, 'diary'));
  },
);

test.for(['/bin/sh', '/usr/bin', '~/.nvm', '/proc/self/cwd/.git/config'])(
  'attack: an untrusted project does not hide %s',
  async (path) => {
    const outer = folderWith({
      'project/.git/HEAD': 'ref: refs/heads/main\n',
      'project/millrace.json': JSON.stringify({ sandbox: { profile: 'read-only', hide: [path] } }),
    });
    const env = { HOME: join(outer, 'home') };
    const load = (args = {}) => loadConfig({ args, env, cwd: join(outer, 'project') });
    const { sandbox, untrusted } = await load();
    const own = ['.config/millrace', '.local/share/millrace', '.cache/millrace/worktrees'].map(
      (folder) => join(outer, 'home', folder),
    );
    expect(untrusted?.parts).toEqual(['sandbox']);
    expect(sandbox).toMatchObject({ profile: 'read-only', hide: own });
    expect((await load({ trust: true })).sandbox?.hide).toHaveLength(own.length + 1);
  },
);

test.for(['*:/usr/**', '*:/lib64/**', '* = /usr/bin/bash', 'read:/bin/sh'])(
  '18.188: attack: an untrusted project does not hide programs with the rule %j',
  async (rule) => {
    const deny = [rule, '*:.env', 'bash:/bin/rm'];
    const outer = folderWith({
      'project/.git/HEAD': 'ref: refs/heads/main\n',
      'project/millrace.json': JSON.stringify({ permissions: { deny } }),
    });
    const env = { HOME: join(outer, 'home') };
    const load = (args = {}) => loadConfig({ args, env, cwd: join(outer, 'project') });
    const rulesOf = ({ permissions }: Awaited<ReturnType<typeof load>>) =>
      permissions.rules.map(({ path, command }) => path ?? command);
    const untrusted = await load();
    const denied = rule.replace(/^[^/]*/, '');
    expect(untrusted.untrusted?.parts).toEqual(['permissions.deny']);
    expect(rulesOf(untrusted)).not.toContain(denied);
    expect(rulesOf(untrusted)).toEqual(expect.arrayContaining(['.env', '/bin/rm']));
    expect(rulesOf(await load({ trust: true }))).toContain(denied);
  },
);

test('18.520: attack: the session store is in the project, and its path leads through a link', async () => {
  const outer = folderWith({ 'real/project/a.txt': '' });
  symlinkSync('real', join(outer, 'link'));
  const [root, store] = [join(outer, 'real/project'), join(outer, 'link/project/s.db')];
  const { permissions } = await loadConfig({ args: { store }, env: {}, cwd: root });
  const { decide } = permissionPolicy({ root, rules: permissions.rules });
  for (const path of ['s.db', 's.db-wal', 's.db-daemon/x'])
    expect(decide({ tool: 'write', input: { path } }).decision).toBe('deny');
});

test('18.705: attack: a command forges the journal of a session store in the project', async () => {
  const root = realpathSync(folderWith({ 'data/real.db': '' }));
  symlinkSync('data/real.db', join(root, 's.db'));
  const load = loadConfig({ args: { store: 's.db' }, env: {}, cwd: root });
  const { permissions, sandbox } = await load;
  const { decide } = permissionPolicy({ root, rules: permissions.rules });
  const ends = ['', '-wal', '-shm', '-journal', '-mark'];
  const files = ['s.db', 'data/real.db'].flatMap((path) => ends.map((end) => path + end));
  for (const path of [...files, 'names.jsonl', 'history.jsonl']) {
    expect(decide({ tool: 'write', input: { path, content: '' } }).decision).toBe('deny');
    expect(sandbox?.hide).toContain(join(root, path));
  }
});

test.for([
  ['Bash', 'Did you mean bash?'],
  ['Write:src/**', 'Did you mean write?'],
  ['WebFetch', 'Did you mean web_fetch?'],
  ['Bash*', 'Did you mean bash?'],
  ['Read(notes.txt)', 'Write it like "read:notes.txt"'],
  ['mcp__github__search', 'Did you mean github_search?'],
] as const)('18.522: attack: a rule for %s could never match, so it is refused', ([text, way]) => {
  for (const decision of ['deny', 'ask'] as const)
    expect(() => ruleFromText(text, decision)).toThrow(way);
});

test('18.710: attack: the model of a project counts as the choice of the user', async () => {
  const outer = folderWith({ 'project/millrace.json': JSON.stringify({ model: 'ollama/qwen3' }) });
  const load = (args: object) => loadConfig({ args, env: {}, cwd: join(outer, 'project') });
  expect(await load({})).toMatchObject({ model: 'ollama/qwen3', projectModel: 'ollama/qwen3' });
  expect((await load({ model: 'ollama/qwen3' })).projectModel).toBeUndefined();
});

test('18.711: attack: a project without trust changes a setting that no list names', () => {
  const settings = { theme: 'dark', plain: true, newSetting: true, store: 's.db' } as const;
  expect(withoutRiskyParts(settings)).toEqual({ theme: 'dark', plain: true });
});
