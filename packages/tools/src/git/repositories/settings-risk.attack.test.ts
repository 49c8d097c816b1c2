import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { endsByItself } from '../../../../core/src/testing/ends-by-itself.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { isHarmlessGitConfig } from '../git-config.ts';
import { isQuietGitConfig } from '../quiet-config.ts';
import { RepositorySearch } from './repository-search.ts';
import { riskOfGit } from './settings-risk.ts';

// A command creates a repository. Its settings name a program, or git reads the settings differently than the check.

function riskOf(config: string | Buffer, { network = false } = {}) {
  const root = temporaryFolder();
  execFileSync('git', ['init', '-q', 'sub'], { cwd: root });
  mkdirSync(join(root, 'w'));
  writeFileSync(join(root, 'sub/.git/config'), config);
  const options = { root, network, guarded: [], search: new RepositorySearch() };
  return riskOfGit(join(root, 'sub/.git'), options);
}

const remote = (url: string) => `[remote "origin"]\n\turl = ${url}\n`;
const many = '[branch "a"]\n\tmerge = b\n'.repeat(10_001);

test.for([
  ['a worktree that a line separator hides', '[core]\n\tworktree = ..\u2028ff = /../../outside\n'],
  ['a worktree that a carriage return hides', '[core]\n\tworktree = ..\r# x\n'],
  ['a second format of hashes', '[extensions]\n\tobjectformat = sha256\n\tobjectformat = sha1\n'],
  ['an unknown format of hashes', '[extensions]\n\tobjectformat = SHA1\n'],
  ['a second worktree', '[core]\n\tworktree = ../../w\n\tworktree = ..\n'],
  ['a worktree after many settings', `${many}[core]\n\tworktree = ../../w\n`],
  ['an address with a program', remote('ext::sh -c x')],
  ['an address of an unknown kind', remote('x://y')],
  ['an address that is an option', remote('--upload-pack=x')],
  ['a submodule at a program', '[submodule "a"]\n\turl = ext::sh -c x\n'],
  ['a branch of a program', '[branch "a"]\n\tremote = ext::x\n'],
  ['an update of a submodule', '[submodule "a"]\n\tupdate = !x\n'],
  ['a zero byte', '[user]\n\tname = a\0\n'],
  ['a vertical tab', '[core]\v\n\tbare = false\n'],
  ['a byte order mark', '\ufeff[core]\n\tbare = false\n'],
  ['a carriage return', '[core]\r\n\tbare = false\r\n'],
  ['a continued line', '[user]\n\tname = a \\\n[core]\n'],
  ['an included file', '[include]\n\tpath = x\n'],
  ['a conditional file', '[includeIf "gitdir:**"]\n\tpath = x\n'],
  ['a setting beside its section', '[core] fsmonitor = x\n'],
  ['upper case', '[CORE]\n\tFSMONITOR = x\n'],
  ['an old subsection', '[diff.x]\n\ttextconv = x\n'],
  ['a subsection', '[core "x"]\n\tbare = false\n'],
  ['a section without its subsection', '[remote]\n\turl = x\n'],
  ['the name of a property', '[constructor]\n\tname = x\n'],
  ['an unclosed quote', '[user]\n\tname = "a\n'],
  ['an escaped line break', '[user]\n\tname = a\\nb\n'],
  ['a continued line after a backslash', '[user]\n\tname = a\\\\\\\n[core]\n'],
  ['a quote after a backslash', '[user]\n\tname = a\\\\"\n[core]\n'],
  ['an escaped character in a name', '[user]\n\tna\\"me = a\n'],
  ['an escaped character in an address', remote('a\\\\b')],
  ['an escaped character in a worktree', '[core]\n\tworktree = \\\\../../w\n'],
  ['an escaped character in a choice', '[core]\n\tbare = \\"false\n'],
  ['a setting without a value', '[core]\n\tbare\n'],
  ...`alias.x core.pager core.editor core.sshCommand core.hooksPath core.fsmonitor core.gitProxy core.askPass
    core.attributesFile core.excludesFile core.alternateRefsCommand credential.helper gpg.program
    gpg.ssh.defaultKeyCommand user.signingKey diff.external diff.x.command diff.x.textconv filter.x.clean
    filter.x.process merge.x.driver mergetool.x.cmd difftool.x.cmd interactive.diffFilter pager.log
    sequence.editor url.x.insteadOf remote.x.uploadpack remote.x.receivepack remote.x.vcs remote.x.proxy
    http.proxy protocol.ext.allow extensions.preciousObjects extensions.partialClone remote.x.promisor
    uploadpack.packObjectsHook log.showSignature format.pretty trailer.x.command sendemail.smtpServer
    web.browser init.templateDir commit.template blame.ignoreRevsFile mailmap.file`
    .split(/\s+/)
    .map((name) => {
      const [, section, sub, key] = /^(\w+)(?:\.(\w+))?\.(\w+)$/.exec(name) ?? [];
      const header = sub === undefined ? `[${section}]` : `[${section} "${sub}"]`;
      return [name, `${header}\n\t${key} = x\n`] as const;
    }),
] as const)('18.955: attack: a command leaves settings with %s', async ([, config]) => {
  expect(await riskOf(config)).toContain('settings that are not known to be harmless');
});

const section = (kind: string, name: string, line = 'url = .') =>
  `[${kind} "${name}"]\n\t${line}\n`;

test.for([
  ...[
    '--upload-pack=touch x; git-upload-pack',
    '-x',
    '',
    ' ',
    'a b',
    'a:b',
    'a..b',
    '.a',
    'a/',
    '/a',
  ].map((name) => ['a remote', name, section('remote', name)] as const),
  ...['a\tb', 'a@{b', 'a*', 'a.lock', 'a//b', '~a', 'ext::x'].map(
    (name) => ['a remote', name, section('remote', name)] as const,
  ),
  ['a branch', '--exec=x', section('branch', '--exec=x', 'merge = a')],
  ...['-x', ' -x', '', '..', 'a/../../b', '../b', 'b '].map(
    (name) => ['a submodule', name, section('submodule', name)] as const,
  ),
  ['an option after spaces', '', remote('  --x')],
  ['an option after a tab', '', remote('\t--x')],
  ['an unknown kind after spaces', '', remote('  x://y')],
  ['a value with a space at its end', '', remote('"a "')],
  ['a quoted option after a space', '', remote('" --x"')],
  ['a remote of a branch after spaces', '', section('branch', 'a', 'remote =  --upload-pack=x')],
] as const)('18.1260: attack: a command leaves settings with %s %j', async ([, , config]) => {
  expect(await riskOf(config)).toContain('settings that are not known to be harmless');
});

test.for([
  ['', true],
  ['--upload-pack=touch x; git-upload-pack', false],
  ['-x', false],
  ['a b', false],
  ['fork/é@1', true],
] as const)(
  '18.1260: attack: a rule allows git fetch with a remote named %j',
  ([name, isHarmless]) => {
    const url = 'url = https://example.com/a.git';
    const config = name === '' ? '[user]\n\tname = a\n' : section('remote', name, url);
    expect(isHarmlessGitConfig(config, { connects: true })).toBe(isHarmless);
  },
);

const sparse = '[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = true\n';

test.for([
  ['a program', `${sparse}\tfsmonitor = x\n`],
  ['another worktree', `${sparse}\tworktree = ..\n`],
  ['a choice that would be harmless in one file', `${sparse}\tbare = true\n`],
  ['a part of the objects', `${sparse}[remote "o"]\n\tpromisor = true\n`],
  ['a continued line', '[core]\n\tsparseCheckout = true\\\n'],
  ['a carriage return', sparse.replaceAll('\n', '\r\n')],
  ['a link', undefined],
] as const)(
  '18.1184: attack: a command leaves settings of a worktree with %s',
  async ([, text]) => {
    const root = temporaryFolder();
    execFileSync('git', ['init', '-q', 'sub'], { cwd: root });
    const path = join(root, 'sub/.git/config.worktree');
    const options = { root, network: true, guarded: [], search: new RepositorySearch() };
    const risk = () => riskOfGit(join(root, 'sub/.git'), options);
    writeFileSync(path, sparse);
    expect(await risk()).toBeUndefined();
    rmSync(path);
    if (text !== undefined) writeFileSync(path, text);
    else symlinkSync('../../settings', path);
    writeFileSync(join(root, 'settings'), sparse);
    expect(await risk()).toBe('it has settings of a worktree');
  },
);

test.for(['/srv/a', '../a', 'file:///srv/a', 'a@b/c'])(
  '18.956, 18.1119: attack: a partial clone requests its missing objects from the folder %s',
  async (url) => {
    for (const lines of ['\tpromisor = true\n', '\tpartialclonefilter = blob:none\n']) {
      const config = `${remote(url)}${lines}`;
      expect(await riskOf(config, { network: true })).toContain('not known to be harmless');
      const other = config.replace(url, 'https://example.com/a.git');
      expect(await riskOf(other, { network: true })).toBeUndefined();
      expect(await riskOf(other)).toContain('not known to be harmless');
    }
  },
);

test('18.957: attack: very long settings do not keep the process busy', () => {
  const options = { isWorktree: () => true, isPartial: true };
  for (const part of [' ', '\t', '[', '"', 'a', '\n', '#', '\ta = ', '[a "b"]\n', '\tbare = 1\n'])
    for (const end of ['', '\u0001', ' x', '"', ']'])
      endsByItself(() =>
        isQuietGitConfig(`[core]\n${part.repeat(1_000_000 / part.length)}${end}`, options),
      );
});

test('settings that git itself writes stay', async () => {
  const root = temporaryFolder();
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...words], { cwd: root });
  git('init', '-q', '-b', 'main', 'one');
  git('-C', 'one', 'commit', '-q', '--allow-empty', '-m', 'x');
  const file = ['-c', 'protocol.file.allow=always'];
  git(...file, 'clone', '-q', '-c', 'advice.detachedHead=false', 'one', 'two');
  git('-C', 'two', ...file, 'submodule', '--quiet', 'add', '-b', 'main', join(root, 'one'), 'in');
  git('-C', 'two', 'remote', 'add', '--mirror=fetch', '--tags', 'b', 'git@example.com:a/b.git');
  git('-C', 'two', 'branch', 'c', '--track');
  git('-C', 'two', 'config', 'submodule.b c.url', '../b c');
  git('-C', 'two', 'remote', 'add', 'o/ü@x+1', 'https://example.com/a b.git');
  git('-C', 'two', 'branch', '-q', '--track', 'fix/#12-(x)é@', 'main');
  git('-C', 'two', ...file, 'submodule', '--quiet', 'add', join(root, 'one'), 'lib/b.d');
  git('-C', 'two', 'config', 'branch.c.description', 'a # b');
  git('-C', 'two', 'config', 'branch.main.description', ' "a" \\ b\\');
  git('-C', 'two', 'config', 'user.name', 'A "B" C');
  git('-C', 'two', 'config', 'index.skipHash', 'true');
  git('-C', 'two', 'config', 'feature.manyFiles', 'true');
  git('clone', '-q', '--sparse', 'one', 'sparse');
  git('-C', 'sparse', 'sparse-checkout', 'set', '--sparse-index', 's');
  git('clone', '-q', '--bare', 'one', 'bare');
  git('init', '-q', '--object-format=sha256', 'long');
  git('init', '-q', '--separate-git-dir=data', 'apart');
  const options = { root, network: false, guarded: [], search: new RepositorySearch() };
  for (const name of ['one', 'two', 'two/in', 'sparse', 'long', 'apart'])
    expect([name, await riskOfGit(join(root, name, '.git'), options)]).toEqual([name, undefined]);
});
