import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { globNames, readProtection, secretNamesIn, writeProtection } from './protected-paths.ts';

const docs = readFileSync(new URL('../../../../docs/permissions.md', import.meta.url), 'utf8');

/** Returns the names in the lists of one section of the documentation. */
function listedIn(heading: string): readonly string[] {
  const section = docs.split('\n## ').find((text) => text.startsWith(heading)) ?? '';
  const items = section.split('\n').filter((line) => line.startsWith('- '));
  return items.flatMap((line) => [...line.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
}

describe('the documentation lists what is protected', () => {
  test.each(listedIn('Files that are asked about before writing'))('writing %s', (name) => {
    expect(writeProtection(name)).toMatchObject({ why: 'runs_code' });
    expect(writeProtection(`some/folder/${name.toUpperCase()}`)).toBeDefined();
  });

  test.each(listedIn('Files that look like secrets'))('reading %s', (name) => {
    expect(readProtection(name)).toMatchObject({ why: 'secret' });
    expect(readProtection(`some/folder/${name.toUpperCase()}`)).toBeDefined();
  });
});

test.each([
  ...['.env.example', '.env.sample', 'example.env', '.env.template', 'id_rsa.pub', 'a/.ssh/x.pub'],
  ...['.ssh/known_hosts', 'src/credentials.ts', 'id_generator.ts', 'key.ts', 'environment', 'src'],
  ...['keyboard.md', 'secrets.md', 'package.json', '.', 'monkey'],
])('%s is no secret', (path) => {
  expect(readProtection(path)).toBeUndefined();
});

test.each([
  'src/a.ts',
  'package.json',
  '.gitignore',
  '.github/ISSUE_TEMPLATE.md',
  'git/config',
  '.',
])('%s may be written by a broad rule', (path) => {
  expect(writeProtection(path)).toBeUndefined();
});

test.each([
  ['.git/config', '.git/config', true],
  ['.git/**', '.git/hooks/x', true],
  ['**/.git/*', 'a/.git/config', true],
  ['.vscode/', '.vscode/tasks.json', true],
  ['**', '.git/config', false],
  ['*', '.git/config', false],
  ['.*/**', '.git/config', false],
  ['{.git,a}/**', '.git/config', false],
  ['*/config', '.git/config', false],
  ['src/**', 'src/.npmrc', false],
])('the glob %s for %s names what is protected: %s', (glob, path, expected) => {
  const protection = writeProtection(path);
  expect(protection !== undefined && globNames(glob, protection)).toBe(expected);
});

test('a test of the names in a folder has the same result as a test of the whole paths', () => {
  const name = fc.constantFrom(
    ...[
      'a.ts',
      '.env',
      '.ENV.local',
      'x.env',
      '.env.example',
      'key.pem',
      'key.pem.bak',
      'id_rsa',
      'id_rsa.pub',
    ],
    ...[
      '.aws',
      '.ssh',
      'known_hosts',
      'config',
      'config.bak',
      '.git',
      '.config',
      'gcloud',
      'gh',
      'credentials',
    ],
    ...[
      '.cargo',
      '.local',
      'share',
      'millrace',
      'settings.xml',
      '.m2',
      '.e\u200bnv',
      'é.pem',
      '#.env#',
      'src',
    ],
  );
  fc.assert(
    fc.property(fc.array(name, { maxLength: 3 }), name, (folder, file) => {
      const isSecret = secretNamesIn(folder.join('/'))(file);
      expect(isSecret).toBe(readProtection([...folder, file].join('/')) !== undefined);
    }),
    { numRuns: runs(4000) },
  );
});
