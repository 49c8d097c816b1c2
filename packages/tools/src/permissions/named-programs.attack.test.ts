import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { RepositorySearch } from '../git/repositories/repository-search.ts';
import { gitPlaces } from '../sandbox/places/git-places.ts';
import { policyRuling } from '../testing/policy/policy-ruling.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';

// The user has allowed all file changes in the folder. A hostile model writes a program that a setting of git names.

let root: string;
beforeEach(() => {
  root = temporaryFolder();
  vi.stubEnv('HOME', temporaryFolder());
  writeTree(root, {
    '.git/HEAD': 'ref: refs/heads/main\n',
    '.git/refs/x': '',
    '.git/objects/x': '',
  });
  writeTree(root, { 'tools/run': '', 'tools/inner/run': '', 'src/a.ts': '' });
});
afterEach(() => void vi.unstubAllEnvs());

/** Returns the text of a configuration file with one setting. */
const settingOf = (name: string, value: string) => {
  const [, section, subsection, key] = /^(\w+)(?:\.(.+))?\.(\w+)$/.exec(name) ?? [];
  const header = subsection === undefined ? section : `${section} "${subsection}"`;
  return `[${header}]\n\t${key} = "${value.replace(/["\\]/g, '\\$&')}"\n`;
};
const configure = (name: string, value: string) =>
  writeTree(root, { '.git/config': settingOf(name, value) });
const ruling = async (path: string) => {
  const rules = [{ tool: 'write', path: '**', decision: 'allow' }] as const;
  return (await policyRuling(root, ['write', { path, content: '' }], { rules })).decision;
};
/** Returns the guarded paths without those of the repository itself. */
const guarded = () => {
  const { guarded: places, programs } = gitPlaces(root, new RepositorySearch());
  return [...places, ...programs]
    .filter((path) => path.startsWith(root) && !path.startsWith(join(root, '.git/')))
    .map((path) => path.slice(root.length + 1))
    .filter((path) => path !== 'HEAD');
};

describe('18.1691: attack: a broad rule does not write the program of the setting', () => {
  test.for([
    ...['filter.a.clean', 'filter.a.smudge', 'filter.a.process', 'diff.a.command'],
    ...['diff.a.textconv', 'diff.external', 'merge.a.driver', 'mergetool.a.cmd', 'difftool.a.path'],
    ...['core.fsmonitor', 'core.sshCommand', 'core.editor', 'core.pager', 'core.askPass'],
    ...['core.gitProxy', 'core.attributesFile', 'core.alternateRefsCommand', 'sequence.editor'],
    ...['gpg.program', 'gpg.ssh.program', 'gpg.ssh.defaultKeyCommand', 'pager.log'],
    ...['credential.helper', 'credential.https://example.com.helper', 'interactive.diffFilter'],
    ...['uploadpack.packObjectsHook', 'remote.origin.uploadpack', 'remote.origin.receivepack'],
    ...['trailer.a.command', 'tar.x.command', 'hook.a.command', 'sendemail.toCmd'],
  ])('%s', async (name) => {
    configure(name, 'tools/run');
    expect(await ruling('tools/run')).toBe('ask');
  });

  test('alias', async () => {
    configure('alias.a', '!tools/run');
    expect(await ruling('tools/run')).toBe('ask');
    configure('alias.a', 'log tools/run');
    expect(await ruling('tools/run')).toBe('allow');
  });
});

describe('18.1692: attack: a broad rule does not write a program in the value', () => {
  test.for([
    ...['./tools/run', 'tools//run --x %f', 'python3 tools/run', '"tools/run" %f', "'tools/run'"],
    ...[
      'tools/../tools/inner/../run',
      "sh -c 'python3 tools/run %f'",
      'sh -c "exec \'tools/run\'"',
    ],
    ...['cd tools && ./run', 'cd tools; sh run', 'A=b tools/run', 'x --script=tools/run'],
    ...['$PWD/tools/run', '"$(git rev-parse --show-toplevel)/tools/run" %f', `\${A}/tools/run`],
    ...['$(git rev-parse --show-toplevel)/tools/run', '`pwd`/tools/run', 'cat x|tools/run'],
    ...['f() { tools/run "$1"; }; f', '!tools/run', 'tools\\/run', '../tools/run', 'x <tools/run'],
    ...['git-lfs clean -- tools/run', 'PATH=tools:$PATH run', 'link/run'],
  ])('%s', async (value) => {
    symlinkSync('tools', join(root, 'link'));
    configure('filter.a.clean', value);
    expect(await ruling('tools/run')).toBe('ask');
  });

  test('as an absolute path', async () => {
    configure('filter.a.clean', `${join(root, 'tools/run')} %f`);
    expect(await ruling('tools/run')).toBe('ask');
    for (const path of ['src/a.ts', 'tools/new', 'tools/inner/run'])
      expect(await ruling(path)).toBe('allow');
  });

  test('with spaces in the name', async () => {
    writeTree(root, { 'my tools/run it': '' });
    configure('gpg.program', 'my tools/run it');
    expect(await ruling('my tools/run it')).toBe('ask');
    configure('filter.a.clean', '"my tools/run it" %f');
    expect(await ruling('my tools/run it')).toBe('ask');
  });

  test('without a folder, as an argument', async () => {
    writeTree(root, { 'clean.py': '' });
    configure('filter.a.clean', 'python3 clean.py %f');
    expect(await ruling('clean.py')).toBe('ask');
  });

  test('of a file that the settings include, and of the user', async () => {
    writeTree(root, { more: settingOf('filter.a.clean', 'tools/run') });
    configure('include.path', '../more');
    expect(await ruling('tools/run')).toBe('ask');
    configure('include.path', '../none');
    expect(await ruling('tools/run')).toBe('allow');
    const home = process.env['HOME'] ?? '';
    vi.stubEnv('GIT_CONFIG_GLOBAL', join(home, '.gitconfig'));
    writeTree(home, { '.gitconfig': settingOf('core.pager', 'tools/run') });
    expect(await ruling('tools/run')).toBe('ask');
  });

  test('with a link in its path', async () => {
    symlinkSync('tools/run', join(root, 'run'));
    configure('filter.a.clean', './run');
    expect(await ruling('tools/run')).toBe('ask');
  });

  test('as a folder with hooks', async () => {
    writeTree(root, { 'tools/pre-commit': '' });
    configure('alias.a', '!git -c core.hooksPath=tools commit');
    expect(await ruling('tools/pre-commit')).toBe('ask');
    expect(await ruling('tools/post-commit')).toBe('ask');
    configure('alias.a', '!git -c core.hooksPath=tools/inner commit');
    expect(await ruling('tools/inner/run')).toBe('allow');
  });
});

describe('18.1693: the settings of an honest repository guard no further files', () => {
  test.for([
    ['filter.lfs.clean', 'git-lfs clean -- %f'],
    ['filter.lfs.process', 'git-lfs filter-process'],
    ['filter.lfs.clean', 'git lfs clean -- %f'],
    ['credential.helper', '!gh auth git-credential'],
    ['credential.helper', 'store'],
    ['core.editor', 'code --wait'],
    ['core.pager', 'less -R'],
    ['core.fsmonitor', 'true'],
    ['pager.log', 'false'],
    ['alias.up', '!git add . && git commit'],
    ['alias.src', 'log src'],
    ['alias.go', '!cd src && git log'],
    ['core.sshCommand', 'ssh -i ~/.ssh/key'],
    ['filter.a.clean', 'tools'],
    ['filter.a.clean', 'none/run missing.py'],
    ['constructor.clean', 'tools/run'],
    ['__proto__.a.clean', 'tools/run'],
  ] as const)('%s = %s', async ([name, value]) => {
    const names = 'clean git-lfs lfs auth store code less true false add commit log ssh gh git';
    writeTree(root, Object.fromEntries(names.split(' ').map((one) => [one, ''])));
    configure(name, value);
    expect(guarded()).toEqual([]);
  });
});

test.for(['.', './', '..', '../..', '/', '$PWD', '""', './.', 'cd ..'])(
  '18.1694: the workspace and the folders above it stay writable with the word %j',
  async (value) => {
    // The folders look like folders with hooks.
    writeTree(root, { 'pre-commit': '', 'inner/pre-commit': '' });
    configure('filter.a.clean', value);
    expect(guarded()).toEqual([]);
    expect(await ruling('src/a.ts')).toBe('allow');
  },
);

test('18.1694: a workspace in a folder with hooks that an alias names stays writable', async () => {
  writeTree(root, { 'inner/a.ts': '', 'pre-commit': '' });
  configure('alias.a', `!git -c core.hooksPath=${root} commit`);
  root = join(root, 'inner');
  expect(await ruling('a.ts')).toBe('allow');
});

test('18.1695: attack: very long settings name very many files', () => {
  const names = Array.from({ length: 3000 }, (_, index) => `f${index}`);
  writeTree(root, Object.fromEntries(names.map((name) => [`many/${name}`, ''])));
  const value = `tools/run ${names.map((name) => `many/${name}`).join(' ')}`;
  configure('filter.a.clean', value);
  const found = guarded();
  expect(found).toContain('tools/run');
  expect(found.length).toBeLessThanOrEqual(200);
  const deep = `${'$('.repeat(3000)}"'${'/a'.repeat(3000)} ${'"\\"'.repeat(3000)}\0`;
  configure('filter.a.clean', deep);
  expect(guarded()).toEqual([]);
});

// Without a bound, this takes half an hour.
test('18.1676: attack: settings repeat the name of a large folder thousands of times', () => {
  const names = Array.from({ length: 5000 }, (_, index) => `f${index}`);
  writeTree(root, Object.fromEntries(names.map((name) => [`d/${name}`, ''])));
  const settings = Array.from({ length: 40 }, (_, at) =>
    settingOf(`alias.x${at}`, `!a${at} ${'d '.repeat(8000)}`),
  );
  writeTree(root, { '.git/config': settings.join('') });
  expect(guarded()).toEqual([]);
});
