import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { childEnv } from '../../../core/src/testing/runs.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';

// A command creates a repository, and the process ends at once. The sandbox renames the repository. If nobody tells the
// user, the user does not know that a command tried to leave it, or why an own repository is gone.

const program = fileURLToPath(new URL('../testing/sandbox/exit-program.ts', import.meta.url));

/** Runs a program whose command creates a repository, and that exits before the check of the command ends. */
function exitWith(...words: readonly string[]) {
  const root = temporaryFolder();
  const args = ['--conditions=@millrace/source', program, root, ...words];
  const { stderr, stdout, status } = spawnSync(process.execPath, args, {
    ...{ encoding: 'utf8', env: childEnv(), timeout: 60_000 },
  });
  return { root, stderr, stdout, status };
}

const hostile = 'a\u001b]52;c;aGk=\u0007\nb\u202e';

test('18.1510: attack: the process exits while a command runs, and nobody says what the sandbox renamed', () => {
  const { root, stderr, status } = exitWith('running', 'default', 'new', hostile);
  expect(status).toBe(3);
  expect(existsSync(join(root, 'new/.git'))).toBe(false);
  expect(stderr).toContain(`The sandbox renamed ${join(root, 'new/.git')}`);
  for (const line of stderr.trimEnd().split('\n')) {
    expect(line).toMatch(/^The sandbox renamed /);
    // The name of a repository must not control the terminal.
    expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  }
});

test('18.1511: attack: the process exits before the sandbox has checked a command that ended', () => {
  const { root, stdout, stderr } = exitWith('ended', 'own', 'new');
  expect(existsSync(join(root, 'new/.git'))).toBe(false);
  expect(stdout).toMatch(/^(?:own: The sandbox renamed .*\n)+$/);
  expect(stderr).toBe('');
});
