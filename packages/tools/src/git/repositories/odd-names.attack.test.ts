import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runScript, watchedCommand } from '../../testing/sandbox/watched-command.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';

// A command creates a repository in a folder whose name is not valid UTF-8. No string can represent its path.

const evil = `git config -f "$at"/.git/config core.fsmonitor "touch '$OUT/ran'; false"`;
const at = (name: string) => `at=$(printf '${name}')`;

/** Runs git status in each folder, like the prompt of a shell. */
function statusEverywhere(root: string): void {
  const script = `find . -type d -not -path '*/.git/*' -exec sh -c 'cd "$1" && git status' sh {} \\;`;
  execFileSync('sh', ['-c', script], { cwd: root, stdio: 'ignore' });
}

const deep = Array.from({ length: 40 }, (_, n) => `d${n}\\377`).join('/');

test.for([
  ['lib\\377', ''],
  ['a/\\377/b/\\376/c', ''],
  ['node_modules/\\377', ''],
  ['\\377/a', 'chmod 0300 "$at"'],
  ['a/\\377', 'chmod 0500 a'],
  [deep, ''],
  [`${'x'.repeat(250)}\\377`, ''],
] as const)('18.1120: attack: a command creates a repository in %s', async ([name, after]) => {
  const out = temporaryFolder();
  const { root, notes, isComplete } = await watchedCommand(
    (folder) => runScript(folder, 'git init -q'),
    (folder) =>
      runScript(
        folder,
        `set -e; ${at(name)}; mkdir -p "$at"; git init -q "$at"; ${evil}; ${after}`,
        out,
      ),
    // The second command reports what the check of `node_modules` renamed.
    // The second command reports what the check of `node_modules` renamed.
    () => {},
  );
  statusEverywhere(root);
  expect(readdirSync(out), notes).toEqual([]);
  expect(notes).toContain('.blocked-by-sandbox-');
  expect(isComplete).toBe(true);
});

test.for(['logs/refs/heads/\\377', 'logs/refs/heads/\\377/\\376/a'])(
  '18.1121: attack: a command puts a link at %s into a git folder',
  async (name) => {
    const out = temporaryFolder();
    const who = '-c user.name=a -c user.email=a@b';
    const { root, notes } = await watchedCommand(
      (folder) => runScript(folder, `git init -q; git ${who} commit -q --allow-empty -m x`),
      (folder) =>
        runScript(
          folder,
          `set -e; ${at(name)}; cd .git; mkdir -p "$(dirname "$at")"; echo as before > $OUT/file; ln -s $OUT/file "$at"`,
          out,
        ),
    );
    runScript(
      root,
      `${at(name)}; git ${who} checkout -q -b "\${at#logs/refs/heads/}" || true`,
      out,
    );
    expect(runScriptText(out, 'cat file'), notes).toBe('as before\n');
    expect(notes).toContain('The sandbox renamed');
  },
);

function runScriptText(cwd: string, script: string): string {
  return execFileSync('sh', ['-c', script], { cwd, encoding: 'utf8' });
}

test('18.1120: a folder without a repository, and a branch whose name is no text, stay', async () => {
  const who = '-c user.name=a -c user.email=a@b';
  const { notes } = await watchedCommand(
    (folder) => runScript(folder, `git init -q; git ${who} commit -q --allow-empty -m x`),
    (folder) =>
      runScript(
        folder,
        `set -e; ${at('lib\\377/a')}; mkdir -p "$at"; ln -s x "$at/b"; git checkout -q -b "$at"`,
      ),
  );
  expect(notes).toBe('');
});
