import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { attackAgent, attacksAs, endAgents, sandboxUsers } from '../testing/sandbox/use-sandbox.ts';
import { refusedCommand, runScript } from '../testing/sandbox/watched-command.ts';

endAgents();

// A command creates a repository in the `.git` of another new one, and so on for many levels. The user then works in
// one of them.

/** Creates the levels with other names, and renames them from the inside at once, so that no check finds them early. */
const nest = (folder: string, levels: number, outside: string) => `
mkdir -p ${folder}; d=${folder}
for i in $(seq ${levels}); do
  mkdir -p $d/g/refs $d/g/objects; echo 'ref: refs/heads/x' > $d/g/H
  printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = "touch ${outside}/ran; false"\\n' > $d/g/config
  [ $i = ${levels} ] || mkdir $d/g/d
  d=$d/g/d
done
python3 -c '
import os
for level in range(${levels}, 0, -1):
    at = "/".join(["${folder}"] + ["g/d"] * (level - 1))
    os.rename(at + "/g/H", at + "/g/HEAD")
    os.rename(at + "/g", at + "/.git")
'`;

/** Returns the folders that git uses as repositories, by their names. */
function repositoriesIn(folder: string): readonly string[] {
  const words = [folder, '(', '-name', '.git', '-o', '-name', 'HEAD', ')', '-not', '-path'];
  const found = execFileSync('find', [...words, join(folder, '.git/*')], { encoding: 'utf8' });
  const own = join(folder, '.git');
  return found.split('\n').filter((path) => path !== '' && path !== own);
}

function gitStatus(cwd: string): void {
  try {
    execFileSync('git', ['-c', 'safe.directory=*', 'status'], { cwd, stdio: 'ignore' });
  } catch {
    // The folder is not a repository any more.
  }
}

const attacks = [true, false].flatMap((change_git) =>
  ['a', 'node_modules/a'].map((folder) => ({ folder, change_git })),
);

describe.for(sandboxUsers)('a command of %s', (user) => {
  test.for(attacksAs(user, attacks))(
    '18.1687: attack: creates 40 levels of repositories in $folder (change_git: $change_git)',
    async ({ folder, change_git }, context) => {
      const { run, workspace, outside } = await attackAgent(user, context);
      const runOne = (command: string) => run('', { input: { command, change_git } });
      const texts = [await runOne(`${nest(folder, 40, outside)}; echo ended`)];
      texts.push(await runOne('true'));
      const text = texts.join('\n');
      const left = repositoriesIn(workspace);
      for (const path of left) gitStatus(dirname(path));
      expect(readdirSync(outside), text).toEqual([]);
      expect(left).toHaveLength(0);
      // The check of the packages may end after the result of the command. A check beside the command may stop it.
      if (folder === 'a' && text.includes('ended'))
        expect(text).toContain('30 more repositories were renamed');
      expect(text).not.toContain('cannot check');
    },
  );
});

test('18.1684: attack: a command creates more repositories than one search finds below other levels', async () => {
  const last = 'a/.git/d/.git/d/.git';
  const { root, notes, isComplete } = await refusedCommand(
    (folder) => runScript(folder, 'git init -q'),
    (folder) => {
      runScript(folder, nest('a', 3, folder));
      runScript(folder, `cd ${last}; seq -f b%g/.git 1 2300 | xargs mkdir -p`);
    },
  );
  expect(repositoriesIn(root)).toHaveLength(0);
  expect(notes).toContain('\n2293 more repositories were renamed');
  expect(isComplete, notes).toBe(true);
});
