import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { endsByItself } from '../../../core/src/testing/ends-by-itself.ts';
import { gitPlaces } from '../sandbox/places/git-places.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { isHarmlessChange, isHarmlessGitConfig, remotesOf } from './git-config.ts';
import { readGitSettings } from './read-git-settings.ts';
import { RepositorySearch } from './repositories/repository-search.ts';

// A repository has very long settings. They are read before each command, and when the user
// types `@`. While they are read, the terminal accepts no keys, not even Ctrl-C.

const long = (text: string) => text.repeat(Math.floor(150_000 / text.length));

const hostile: readonly (readonly [what: string, config: string])[] = [
  ['spaces before a backslash', `[core]\nbare =${long(' ')}\\x\n`],
  ['spaces in a header', `[core${long(' ')}x\n`],
  ['spaces in a header with a name', `[core "a"${long(' ')}x\n`],
  ['spaces after a key', `[core]\nbare${long(' ')}x\n`],
  ['an open quote', `[core "${long('\\a')}`],
  ['empty lines', `[core]\n${long('\n')}x`],
  ['comments', long('#\n')],
  ['headers', long('[a]\n')],
  ['keys', `[core]\n${long('a\n')}`],
];

test.for(hostile)('18.101: settings with many %s do not keep the process busy', ([, config]) => {
  expect(endsByItself(() => isHarmlessGitConfig(config))).toBeTypeOf('boolean');
  expect(endsByItself(() => readGitSettings(config)).length).toBeLessThan(20_001);
  expect(endsByItself(() => remotesOf(config)).size).toBe(0);
  expect(endsByItself(() => isHarmlessChange('[core]\n', config))).toBeTypeOf('boolean');
});

test('18.101: the places of a repository with such settings are found', () => {
  const root = temporaryFolder();
  mkdirSync(join(root, '.git'));
  writeFileSync(join(root, '.git/config'), `[core${long(' ')}x]\n[core]\n\thooksPath = tools\n`);
  const { guarded } = endsByItself(() => gitPlaces(root, new RepositorySearch()));
  expect(guarded).toContain(join(root, 'tools'));
});

test('18.101: a header with spaces around its name is still read', () => {
  const text = '[ core ]\n\thooksPath = a\n[ remote  "b" ]\n\turl =   c\n';
  expect(readGitSettings(text)).toEqual([
    { section: 'core', key: 'hookspath', value: 'a' },
    { section: 'remote', key: 'url', value: 'c' },
  ]);
  const config = '[remote "b"]\n\turl =   https://host/a\n';
  expect(isHarmlessGitConfig(config, { connects: true })).toBe(true);
});
