import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { attackAgent, endAgents, sandboxUsers } from '../testing/sandbox/use-sandbox.ts';

// The hooks of a repository are a link whose path goes through a second link. A command that replaces the
// second link changes the hooks of the repository.

endAgents();

const hook = (folder: string) =>
  `printf '#!/bin/sh\\n' > ${folder}/pre-commit; chmod +x ${folder}/pre-commit`;

describe.for(sandboxUsers)('as %s', (user) => {
  test('18.92: attack: a command replaces a link on the way to the hooks of the workspace', async (context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.workspace, {
      ...{ '.git/HEAD': 'ref: refs/heads/main\n', '.git/config': '', '.git/refs/x': '' },
      ...{ '.git/objects/x': '', 'good/hooks/x': '', 'evil/hooks/x': '' },
    });
    symlinkSync('good', join(agent.workspace, 'shared'));
    symlinkSync('../shared/hooks', join(agent.workspace, '.git/hooks'));
    await agent.run(`${hook('evil/hooks')}; rm shared; ln -s evil shared`);
    expect(existsSync(join(agent.workspace, '.git/hooks/pre-commit'))).toBe(false);
  });

  test('18.92: attack: a second command replaces a link on the way to hooks of the first', async (context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.workspace, { a: '' });
    await agent.run(
      'git init -q sub; mkdir -p good/hooks evil/hooks; ln -s good shared; rm -r sub/.git/hooks; ln -s ../../shared/hooks sub/.git/hooks',
    );
    await agent.run(`${hook('evil/hooks')}; rm shared; ln -s evil shared`);
    expect(existsSync(join(agent.workspace, 'evil/hooks/pre-commit'))).toBe(true);
    expect(existsSync(join(agent.workspace, 'sub/.git/hooks/pre-commit'))).toBe(false);
  });
});
