import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readFolder } from '../../git/repositories/read-folder.ts';
import { RepositorySearch } from '../../git/repositories/repository-search.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { gitPlaces } from '../places/git-places.ts';
import { type MacosView, macosProfile } from './macos-profile.ts';

// Ways out of the macOS sandbox. These tests check the text of the profile and not its effect, because its
// effect needs macOS.

const profile = (given: Partial<MacosView> & Pick<MacosView, 'root'>) =>
  macosProfile({
    ...{ view: 'workspace', network: false, unixSockets: false, temporary: '/private/tmp/own' },
    ...{ writable: [], hidden: [], protected: [], pinned: [] },
    ...{ git: gitPlaces(given.root, new RepositorySearch()).guarded, ...given },
  });

/** Returns the values of all rules with this start. */
function valuesOf(text: string, start: string): readonly string[] {
  const lines = text.split('\n').filter((line) => line.startsWith(start));
  return lines.flatMap((line) =>
    [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, one = '']) => one),
  );
}

const views = ['workspace', 'read-only', 'closed'] as const;

test.for(views)('18.104: in the view %s everything is refused that no rule allows', (view) => {
  const lines = profile({ root: temporaryFolder(), view, network: true }).split('\n');
  expect(lines.slice(0, 2)).toEqual(['(version 1)', '(deny default)']);
  expect(lines).not.toContain('(allow default)');
});

test.for([
  ['starts programs with launchd', 'com.apple.xpc.launchd'],
  ['opens programs', 'com.apple.coreservices.launchservicesd'],
  ['opens programs', 'com.apple.lsd.open'],
  ['sends events to programs', 'com.apple.coreservices.appleevents'],
  ['reads keys', 'com.apple.SecurityServer'],
  ['reads keys', 'com.apple.securityd.xpc'],
  ['reads the clipboard', 'com.apple.pasteboard.1'],
  ['downloads and sends without network', 'com.apple.nsurlsessiond'],
  ['resolves names without network', 'com.apple.dnssd.service'],
  ['changes settings of programs', 'com.apple.cfprefsd.daemon'],
  ['shows and reads the screen', 'com.apple.windowserver.active'],
])('18.104: a command %s through the service %s and is refused', ([, service]) => {
  for (const view of views)
    for (const network of [false, true]) {
      const text = profile({ root: temporaryFolder(), view, network });
      const allowed = valuesOf(text, '(allow mach-lookup');
      expect(allowed.length).toBeGreaterThan(0);
      expect(allowed).not.toContain(service);
      expect(text).not.toMatch(/\(allow (?:[^()]* )?(?:mach\*|mach-lookup|job-creation)\)/);
      // Only commands with network access may use services that connect.
      expect(allowed.includes('com.apple.trustd.agent')).toBe(network);
    }
});

test('18.104: a command reads the environment of the agent from the kernel and is refused', () => {
  const text = profile({ root: temporaryFolder(), view: 'closed' });
  const names = valuesOf(text, '(allow sysctl-read (sysctl-name ');
  const prefixes = valuesOf(text, '(allow sysctl-read (sysctl-name-prefix ');
  expect(names.length).toBeGreaterThan(0);
  expect(text).not.toContain('(allow sysctl-read)');
  for (const secret of ['kern.procargs2', 'kern.procargs', 'kern.proc.all', 'kern.proc.pid.1']) {
    expect(names).not.toContain(secret);
    expect(prefixes.some((prefix) => secret.startsWith(prefix))).toBe(false);
  }
});

test.for(views)('18.105: in the view %s a second name for a file is refused', (view) => {
  const lines = profile({ root: temporaryFolder(), view }).split('\n');
  expect(lines.some((line) => /^\(deny file-link file-clone[ )]/.test(line))).toBe(true);
  expect(lines.some((line) => /^\(allow .*file-(?:link|clone)/.test(line))).toBe(false);
});

test('18.106: a folder with keys that is a link is hidden where it really is', () => {
  const [root, home] = [temporaryFolder(), temporaryFolder()];
  mkdirSync(join(home, 'dotfiles/aws'), { recursive: true });
  symlinkSync('dotfiles/aws', join(home, '.aws'));
  symlinkSync(home, join(home, 'also'));
  const hidden = [join(home, '.aws'), join(home, 'also/.netrc')];
  const last = profile({ root, hidden }).split('\n').at(-1) ?? '';
  expect(last).toMatch(/^\(deny file-read\* file-write\* /);
  for (const path of [...hidden, join(home, 'dotfiles/aws'), join(home, '.netrc')])
    expect(last).toContain(`(subpath "${path}")`);
});

test.for(['.GIT', '.Git/hooks/pre-commit', 'Millrace.json', 'MILLRACE.JſON', 'head', '.git'])(
  '18.107: %s cannot be created, because the file system ignores letter case',
  (name) => {
    const root = temporaryFolder();
    const text = profile({ root, protected: [join(root, 'millrace.json')] });
    const spellings = valuesOf(text, '(deny file-write* (regex').map(
      (one) => new RegExp(one.replaceAll('\\\\', '\\')),
    );
    expect(spellings.some((one) => one.test(join(root, name)))).toBe(true);
    for (const other of ['.gitignore', 'a/millrace.jsonl', 'heads', 'src/a.ts'])
      expect(spellings.some((one) => one.test(join(root, other)))).toBe(false);
  },
);

test('18.107: places of an existing repository that do not exist yet are refused in any spelling', () => {
  const root = join(temporaryFolder(), 'a.b (1)');
  mkdirSync(join(root, '.git'), { recursive: true });
  writeFileSync(join(root, '.git/config'), '');
  const spellings = valuesOf(profile({ root }), '(deny file-write* (regex').map(
    (one) => new RegExp(one.replaceAll('\\\\', '\\')),
  );
  for (const name of ['.git/COMMONDIR', '.git/Hooks/a', '.GIT/config.worKtree'])
    expect(spellings.some((one) => one.test(join(root, name)))).toBe(true);
  expect(spellings.some((one) => one.test(join(root.replace('.b', 'xb'), '.git/commondir')))).toBe(
    false,
  );
});

test.for([
  [['.GIT'], { hasGit: true, isBare: false }],
  [['head', 'Objects', 'REFS'], { hasGit: false, isBare: true }],
  [['Head', 'CommonDir'], { hasGit: false, isBare: true }],
  [['.github', 'heads'], { hasGit: false, isBare: false }],
] as const)('18.107: a repository with the names %j is found', ([names, found]) => {
  const folder = temporaryFolder();
  for (const name of names) mkdirSync(join(folder, name));
  expect(readFolder(folder, undefined, 0, { foldsNames: true })).toMatchObject(found);
  // Git on Linux does not use such names.
  expect(readFolder(folder, undefined, 0, { foldsNames: false })).toMatchObject({
    hasGit: false,
    isBare: false,
  });
});

test.for([
  '.git\u017Fsh',
  '.\u00DFh/id',
  '.vim/\uFB01le',
  '.gitcon\uFB01g',
  '.la\uFB06',
  '.o\uFB03ce',
  '.of\uFB01ce',
  '.o\uFB00ice',
])(
  '18.769: attack: %j cannot be created, because the file system treats several letters as one',
  (name) => {
    const root = temporaryFolder();
    const plain = ['.gitssh', '.ssh/id', '.vim/file', '.gitconfig', '.last', '.office'];
    const text = profile({ root, protected: plain.map((one) => join(root, one)) });
    const spellings = valuesOf(text, '(deny file-write* (regex').map(
      (one) => new RegExp(one.replace(/\\(["\\])/g, '$1')),
    );
    expect(spellings.some((one) => one.test(join(root, name)))).toBe(true);
    expect(spellings.some((one) => one.test(join(root, 'notes')))).toBe(false);
  },
);
