import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { attackAgent, endAgents, sandboxUsers } from '../testing/sandbox/use-sandbox.ts';

// Many projects store their hooks next to other scripts, and have links to them in `.git/hooks`.

endAgents();

const repository = {
  ...{ '.git/HEAD': 'ref: refs/heads/main\n', '.git/refs/x': '', '.git/objects/x': '' },
  ...{ '.git/config': '', '.git/hooks/x.sample': '', 'scripts/check.sh': 'good' },
};

describe.for(sandboxUsers)('as %s', (user) => {
  test.for([
    ['.git/hooks', '../../scripts/check.sh', ''],
    ['.git/hooks', '../../other/check.sh', ''],
    ['tools', '../scripts/check.sh', '[core]\n\thooksPath = tools\n'],
  ] as const)(
    '18.95: attack: a command changes a hook of %s that is a link to %s',
    async ([folder, target, config], context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, { ...repository, 'tools/x': '', '.git/config': config });
      symlinkSync('scripts', join(agent.workspace, 'other'));
      symlinkSync(target, join(agent.workspace, folder, 'pre-commit'));
      await agent.run(
        'echo evil > scripts/check.sh; rm -f scripts/check.sh; echo evil > scripts/check.sh; mv scripts s; mkdir evil; echo evil > evil/check.sh; rm other; ln -s evil other; true',
      );
      const hook = readFileSync(join(agent.workspace, folder, 'pre-commit'), 'utf8');
      expect(hook).toBe('good');
    },
  );
});
