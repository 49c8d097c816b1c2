import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RepositorySearch } from '../../git/repositories/repository-search.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { gitPlaces } from '../places/git-places.ts';
import { type MacosView, macosProfile } from './macos-profile.ts';

// These tests check the text of the profile. They do not run it, because that needs macOS.

const home = join('/Users', 'me');
const profile = (given: Partial<MacosView> & Pick<MacosView, 'root'>) =>
  macosProfile({
    ...{ view: 'workspace', network: false, unixSockets: false, temporary: '/private/tmp/own' },
    ...{ writable: [], hidden: [`${home}/.ssh`], protected: [], pinned: [] },
    ...{ git: gitPlaces(given.root, new RepositorySearch()).guarded, ...given },
  }).split('\n');

test('commands write to the workspace and to a folder of their own, after all writing is refused', () => {
  const root = temporaryFolder();
  const lines = profile({ root, writable: [`${home}/.cache`] });
  const refused = lines.indexOf('(deny default)');
  const allowed = lines.findIndex((line) => line.startsWith('(allow file-write* (subpath'));
  expect(refused).toBeGreaterThan(0);
  expect(allowed).toBeGreaterThan(refused);
  expect(lines[allowed]).toBe(
    `(allow file-write* (subpath "/private/tmp/own") (subpath "${root}") (subpath "${home}/.cache"))`,
  );
});

test('with less rights, commands write only to a folder of their own, or to none', () => {
  const root = temporaryFolder();
  const own = '/private/tmp/own';
  const readOnly = profile({ root, view: 'read-only' });
  expect(readOnly).toContain(`(allow file-write* (subpath "${own}"))`);
  expect(profile({ root, view: 'closed' }).join('\n')).not.toContain(own);
});

test('settings of git and protected files are refused after the workspace is allowed', () => {
  const root = temporaryFolder();
  mkdirSync(join(root, '.git'));
  const lines = profile({ root, protected: [join(root, 'a/b')] });
  const allowed = lines.findIndex((line) => line.startsWith('(allow file-write* (subpath'));
  const refused = lines.findIndex((line) => line.startsWith('(deny file-write* (subpath'));
  expect(refused).toBeGreaterThan(allowed);
  for (const name of ['.git/hooks', '.git/config', '.git/commondir', 'HEAD', 'a/b'])
    expect(lines[refused]).toContain(`(subpath "${join(root, name)}")`);
  const kept = lines.find((line) => line.startsWith('(deny file-write-unlink'));
  for (const name of ['.', '.git', 'a']) expect(kept).toContain(`(literal "${join(root, name)}")`);
});

test('without a repository, none can be created', () => {
  const root = temporaryFolder();
  expect(profile({ root }).join('\n')).toContain(`(subpath "${root}/.git")`);
});

test('attack: commands write to a terminal of the user', () => {
  const text = profile({ root: temporaryFolder() }).join('\n');
  expect(text).toContain('(literal "/dev/tty")');
  expect(text).not.toContain('ttys');
});

test('attack: commands change hooks and repositories that are not directly in the workspace', () => {
  const root = temporaryFolder();
  mkdirSync(join(root, '.git'));
  writeFileSync(join(root, '.git/config'), '[core]\n\thooksPath = tools/hooks\n');
  mkdirSync(join(root, 'a/b/.git'), { recursive: true });
  const text = profile({ root }).join('\n');
  for (const name of ['tools/hooks', 'a/b/.git/config'])
    expect(text).toContain(`(subpath "${join(root, name)}")`);
});

test('keys are refused last', () => {
  const root = temporaryFolder();
  for (const view of ['workspace', 'read-only', 'closed'] as const)
    expect(profile({ root, view }).at(-1)).toBe(
      `(deny file-read* file-write* (subpath "${home}/.ssh"))`,
    );
});

test('the network is refused, or UNIX sockets except the one for names', () => {
  const root = temporaryFolder();
  expect(profile({ root }).join('\n')).not.toContain('network');
  const open = profile({ root, network: true });
  expect(open).toContain('(allow network* system-socket)');
  expect(open).toContain('(deny network-outbound (remote unix-socket))');
  const sockets = profile({ root, network: true, unixSockets: true });
  expect(sockets.join('\n')).not.toContain('unix-socket');
});

test('the closed view hides personal folders, but not the workspace', () => {
  const root = temporaryFolder();
  const lines = profile({ root, view: 'closed' });
  const hidden = lines.findIndex((line) => line.startsWith('(deny file-read* (subpath "/Users")'));
  const shown = lines.findIndex((line) => line.startsWith('(allow file-read* (subpath'));
  expect(hidden).toBeGreaterThan(0);
  expect(shown).toBeGreaterThan(hidden);
  expect(lines[shown]).toContain(`(subpath "${root}")`);
});

test('a path cannot end its quotation', () => {
  const root = temporaryFolder();
  const evil = '/a") (allow file-write* (subpath "/';
  const text = profile({ root, hidden: [evil, '/b\\c'] }).at(-1);
  expect(text).toContain('(subpath "/a\\") (allow file-write* (subpath \\"/")');
  expect(text).toContain('(subpath "/b\\\\c")');
});
