import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { folderWith, testAgent } from '../testing/test-agent.ts';
import { readProjectInstructions } from './system-prompt.ts';

// The text of AGENTS.md is sent to the provider before the user has typed anything.

const secret = 'TOKEN=hush';
const git = { '.git/HEAD': 'ref: refs/heads/main\n' };

test.for([
  '.env',
  '.git/config',
  '.GIT/description',
  'keys/id_rsa',
  '.aws/credentials',
  'prod.tfstate',
])(
  'attack 24: AGENTS.md as a link to %s does not send its content to the provider',
  async (target) => {
    const cwd = folderWith({ ...git, [target]: secret });
    symlinkSync(target, join(cwd, 'AGENTS.md'));
    const problems: string[] = [];
    expect(await readProjectInstructions(cwd, (one) => problems.push(one))).toEqual([]);
    expect(problems).toEqual([expect.stringContaining('AGENTS.md is not used as instructions')]);
  },
);

test('attack 24: AGENTS.md as a link to a link to .env does not send its content', async () => {
  const cwd = folderWith({ ...git, '.env': secret, 'docs/a.md': '' });
  symlinkSync('../.env', join(cwd, 'docs/b.md'));
  symlinkSync('docs/b.md', join(cwd, 'AGENTS.md'));
  expect(await readProjectInstructions(cwd)).toEqual([]);
});

test('the user gets a warning about the link', async () => {
  const cwd = folderWith({ ...git, '.env': secret });
  symlinkSync('.env', join(cwd, 'AGENTS.md'));
  const { problems } = await testAgent({ provider: scriptedProvider([]), cwd });
  expect(problems).toEqual([expect.stringContaining('a file that looks like a secret')]);
});

test.for([
  ['a file', { tool: 'read', path: 'private/plan.txt', decision: 'deny' }],
  ['a folder, for all tools', { path: 'private/**', decision: 'deny' }],
] as const)(
  '18.93: attack: AGENTS.md as a link does not send a file that a rule denies (%s)',
  async ([, rule]) => {
    const cwd = folderWith({ ...git, 'private/plan.txt': secret });
    symlinkSync('private/plan.txt', join(cwd, 'AGENTS.md'));
    const config = { permissions: { mode: 'ask', rules: [rule] } } as const;
    const provider = scriptedProvider(['Hello']);
    const { agent, problems } = await testAgent({ provider, cwd, config });
    await agent.run('Hello').result;
    expect(JSON.stringify(provider.requests.map(({ request }) => request))).not.toContain(secret);
    expect(problems).toEqual([expect.stringContaining('a file that a rule denies')]);
  },
);

test.for([
  ['a file', '.', { tool: 'read', path: 'private/plan.txt', decision: 'ask' }],
  ['a folder, for all tools', '.', { path: 'private/**', decision: 'ask' }],
  ['a name, from a folder above', 'app', { path: 'plan.txt', decision: 'ask' }],
] as const)(
  '18.1425: attack: AGENTS.md as a link sends a file that a rule asks about without a question (%s)',
  async ([, folder, rule]) => {
    const root = folderWith({ ...git, 'private/plan.txt': secret, 'app/a.txt': '' });
    symlinkSync('private/plan.txt', join(root, 'AGENTS.md'));
    const config = { permissions: { mode: 'ask', rules: [rule] } } as const;
    const provider = scriptedProvider(['Hello']);
    const cwd = join(root, folder);
    const { agent, problems } = await testAgent({ provider, cwd, config });
    await agent.run('Hello').result;
    expect(JSON.stringify(provider.requests.map(({ request }) => request))).not.toContain(secret);
    expect(problems).toEqual([expect.stringContaining('a file that a rule asks about')]);
  },
);

test('18.1425: AGENTS.md is used if a rule asks about it, and a link is used if no rule asks about its file', async () => {
  const asks = { path: '*.md', decision: 'ask' } as const;
  const named = folderWith({ ...git, 'AGENTS.md': 'Be brief.' });
  expect(await readProjectInstructions(named, undefined, [asks])).toHaveLength(1);
  const linked = folderWith({ ...git, 'docs/rules.txt': 'Be brief.', 'app/a.txt': '' });
  symlinkSync('docs/rules.txt', join(linked, 'AGENTS.md'));
  for (const cwd of [linked, join(linked, 'app')])
    expect(await readProjectInstructions(cwd, undefined, [asks])).toHaveLength(1);
});
