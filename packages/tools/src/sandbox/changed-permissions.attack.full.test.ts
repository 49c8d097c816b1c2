import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type AttackedAgent,
  attackAgent,
  endAgents,
  sandboxUsers,
} from '../testing/sandbox/use-sandbox.ts';

// A command may change the permissions of folders that contain guarded paths. The agent of an ordinary user
// then can neither check these paths nor rename files that appear there.

endAgents();

const repository = (folder: string) => ({
  [`${folder}.git/HEAD`]: 'ref: refs/heads/main\n',
  [`${folder}.git/config`]: '[core]\n\tbare = false\n',
  [`${folder}.git/objects/x`]: '',
  [`${folder}.git/refs/x`]: '',
});

describe.for(sandboxUsers)('as %s', (user) => {
  const has = (agent: AttackedAgent, name: string) => existsSync(join(agent.workspace, name));

  test.for(['0555', '0'])(
    'attack 7: a command creates .git/commondir and gives .git the permissions %s',
    async (mode, context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, repository(''));
      await agent.run('echo ../evil > .git/ORIG_HEAD');
      const said = await agent.run(
        `perl -e 'rename ".git/ORIG_HEAD", ".git/commondir"; chmod ${mode}, ".git"; sleep 1'`,
      );
      expect(has(agent, '.git/commondir')).toBe(false);
      expect(said).toContain('The sandbox renamed');
      expect(readdirSync(join(agent.workspace, '.git')).join()).toContain('blocked-by-sandbox');
    },
  );

  test.for(['0555', '0'])(
    'attack 7: a command creates .git and gives the workspace the permissions %s',
    async (mode, context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, { 'new/HEAD': 'ref: refs/heads/main\n' });
      await agent.run(`perl -e 'rename "new", ".git"; chmod ${mode}, "."; sleep 1'`);
      expect(has(agent, '.git')).toBe(false);
    },
  );

  test.for(['', 'inner/'])(
    'attack 7: a command hides %s.git from the check of the next one',
    async (folder, context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, repository(folder));
      const hidden = folder === '' ? '.git' : folder;
      await agent.run(`chmod 0 ${hidden}`);
      await agent.run(`chmod 700 ${hidden}; echo evil > ${folder}.git/hooks/pre-commit`);
      await agent.run(`chmod 700 ${hidden}; echo evil > ${folder}.git/config`);
      expect(has(agent, `${folder}.git/hooks/pre-commit`)).toBe(false);
      expect(statSync(join(agent.workspace, `${folder}.git/config`)).size).toBe(21);
    },
  );
});
