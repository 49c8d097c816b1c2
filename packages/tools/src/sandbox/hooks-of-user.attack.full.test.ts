import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { attackAgent, endAgents, sandboxUsers } from '../testing/sandbox/use-sandbox.ts';

// The user's own settings name a folder for hooks, relative to each repository.

const settings = mkdtempSync(join(tmpdir(), 'settings-'));
writeFileSync(
  join(settings, 'config'),
  '[core]\n\thooksPath = .own-hooks\n[safe]\n\tdirectory = *\n',
);
chmodSync(settings, 0o755);
vi.stubEnv('GIT_CONFIG_GLOBAL', join(settings, 'config'));
afterAll(() => rmSync(settings, { recursive: true }));

endAgents();

const identity = '-c user.name=a -c user.email=a@b -c safe.directory=*';
const hook = (folder: string) =>
  `mkdir -p ${folder}/.own-hooks; cp evil.sh ${folder}/.own-hooks/post-index-change`;
/** The changed time of the file makes the next `git status` write the index, and then git runs the hook. */
const commit = `echo a > a; git add a; git ${identity} commit -q -m x; touch -d @1 a`;
const create = `git init -q v; (cd v; ${commit})`;
const link = `git ${identity} update-index --add --cacheinfo 160000,$(git ${identity} -C v rev-parse HEAD),v`;

describe.for(sandboxUsers)('as %s', (user) => {
  test.for([
    ['with the repository', [`${create}; ${hook('v')}; ${link}`]],
    ['later', [`${create}; ${link}`, hook('v')]],
    ['of the workspace', [hook('.')]],
  ] as const)(
    '18.847: attack: a command creates hooks in the folder of a user setting, %s',
    async ([_title, commands], context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, { 'evil.sh': `#!/bin/sh\ntouch '${agent.outside}/ran'\n` });
      const prepare = `chmod 755 evil.sh; git init -q; ${commit}; chown -R --reference=. .`;
      spawnSync('sh', ['-c', prepare], { cwd: agent.workspace });
      for (const command of commands) await agent.run(command);
      for (const folder of ['.', 'v'])
        spawnSync('git', ['-C', folder, 'status'], { cwd: agent.workspace });
      expect(existsSync(join(agent.outside, 'ran'))).toBe(false);
    },
  );
});
