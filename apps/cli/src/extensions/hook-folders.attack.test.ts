import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { homeAndProject, hookSettings } from '../testing/test-agent.ts';
import { loadExtensions } from './load-extensions.ts';

// A later version of a trusted project changes a file that a script in the folder of hooks includes.

const hooks = 'project/.claude/hooks';

function projectWith(file: string) {
  return homeAndProject({
    'project/.claude/settings.json': hookSettings(
      'PreToolUse',
      'bash "$CLAUDE_PROJECT_DIR"/.claude/hooks/main.sh',
    ),
    [`${hooks}/main.sh`]: `. "$(dirname "$0")/${file}"\n`,
    [`${hooks}/${file}`]: 'exit 2\n',
  });
}

describe('18.1015: attack: a hook runs after the change of a file that its script includes:', () => {
  test.each([
    'zz.sh',
    'zz.inc',
    'a/b/c/d/e/f/zz.sh',
    'node_modules/l/zz.sh',
    '__pycache__/lib.cpython-312.pyc',
    '.git/zz.sh',
    'link/zz.sh',
  ])('%s', async (file) => {
    const place = projectWith(file.replace('link', '../../src'));
    const folder = join(place.cwd, '.claude/hooks');
    symlinkSync('../../src', join(folder, 'link'));
    const { extensions } = await loadExtensions({ ...place, trust: true });
    expect(await extensions.areHooksUnchanged()).toBe(true);
    expect((await loadExtensions(place)).untrusted).toBeUndefined();
    const path = join(folder, file.replace('link', '../../src'));
    const { atime, mtime } = statSync(path);
    writeFileSync(path, 'exit 0\n');
    utimesSync(path, atime, mtime);
    expect(await extensions.areHooksUnchanged()).toBe(false);
    expect((await loadExtensions(place)).untrusted?.found.hooks).toHaveLength(1);
  });

  test('the last one of many', async () => {
    const place = projectWith('zz.sh');
    const folder = join(place.cwd, '.claude/hooks');
    for (let at = 0; at < 220; at++) writeFileSync(join(folder, `a${at}.sh`), '');
    const { extensions } = await loadExtensions({ ...place, trust: true });
    expect(await extensions.areHooksUnchanged()).toBe(true);
    appendFileSync(join(folder, 'zz.sh'), 'exit 0\n');
    expect(await extensions.areHooksUnchanged()).toBe(false);
  });

  test('a link leads to another folder of hooks', async () => {
    const place = projectWith('good/zz.sh');
    const folder = join(place.cwd, '.claude/hooks');
    mkdirSync(join(folder, 'evil'));
    writeFileSync(join(folder, 'evil/zz.sh'), 'exit 0\n');
    symlinkSync('good', join(folder, 'now'));
    const { extensions } = await loadExtensions({ ...place, trust: true });
    expect(await extensions.areHooksUnchanged()).toBe(true);
    rmSync(join(folder, 'now'));
    symlinkSync('evil', join(folder, 'now'));
    expect(await extensions.areHooksUnchanged()).toBe(false);
  });
});

test('18.1015: attack: hooks whose folder has too many files never count as unchanged', async () => {
  const place = projectWith('zz.sh');
  const cwd = join(place.cwd, '.claude/hooks');
  execFileSync('sh', ['-c', 'seq 20001 | xargs touch'], { cwd });
  const { extensions } = await loadExtensions({ ...place, trust: true });
  expect(await extensions.areHooksUnchanged()).toBe(false);
});
