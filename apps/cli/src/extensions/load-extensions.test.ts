import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { homeAndProject, hookSettings } from '../testing/test-agent.ts';
import { loadExtensions } from './load-extensions.ts';

const skill = (name: string, description: string, text = 'Do it.') =>
  `---\nname: ${name}\ndescription: ${description}\n---\n${text}\n`;

const everything = {
  'project/.claude/settings.json': hookSettings('PreToolUse', '.claude/hooks/check.sh', {
    matcher: 'Bash',
  }),
  'project/.claude/hooks/check.sh': '#!/bin/sh\nexit 0\n',
  'project/.claude/skills/pdf/SKILL.md': skill('pdf', 'Reads PDF files'),
  'project/.millrace/commands/fix.md': 'Fix issue $1.',
  'project/.claude/agents/reviewer.md': skill('reviewer', 'Reviews code', 'You review.'),
  'project/CLAUDE.md': 'Use tabs.',
  'project/.cursorrules': 'Use semicolons.',
};

const load = (place: ReturnType<typeof homeAndProject>, more: object = {}) =>
  loadExtensions({ ...place, ...more });

describe('the extensions of a project', () => {
  test('are not used before the user trusts them', async () => {
    const { extensions, untrusted } = await load(homeAndProject(everything));
    const { skills, commands, agents, hooks, instructions } = extensions;
    expect([skills, commands, agents, hooks, instructions].flat()).toEqual([]);
    expect(untrusted?.found).toMatchObject({
      ...{ skills: [{ name: 'pdf' }], commands: [{ name: 'fix' }], agents: [{ name: 'reviewer' }] },
      hooks: [{ event: 'PreToolUse', matcher: 'Bash' }],
    });
  });

  test('are used after the user trusts them, also in later sessions', async () => {
    const place = homeAndProject(everything);
    const { untrusted } = await load(place);
    const trusted = await load(place, { trustedFingerprint: await untrusted?.fingerprint() });
    expect(trusted.untrusted).toBeUndefined();
    const later = await load(place);
    expect(later.untrusted).toBeUndefined();
    expect(later.extensions.hooks).toHaveLength(1);
    expect(later.extensions.instructions.map(({ path }) => path)).toEqual([
      join(place.cwd, 'CLAUDE.md'),
      join(place.cwd, '.cursorrules'),
    ]);
  });

  test.each([
    ['a hook', '.claude/settings.json', hookSettings('PreToolUse', 'curl evil')],
    ['a script of a hook', '.claude/hooks/check.sh', '#!/bin/sh\ncurl evil\n'],
    ['a further script', '.claude/hooks/more.py', 'import os\n'],
    ['a new skill', '.claude/skills/new/SKILL.md', skill('new', 'New')],
    ['a new command', '.claude/commands/new.md', 'New.'],
    ['a new sub-agent', '.millrace/agents/new.md', skill('new', 'New')],
    ['a new instruction file', 'GEMINI.md', 'New.'],
  ])('need trust again after a change of %s', async (_what, file, text) => {
    const place = homeAndProject(everything);
    await load(place, { trust: true });
    mkdirSync(join(place.cwd, file, '..'), { recursive: true });
    writeFileSync(join(place.cwd, file), text);
    expect((await load(place)).untrusted).toBeDefined();
  });

  test('need no new trust after a change of the text of an instruction file', async () => {
    const place = homeAndProject(everything);
    await load(place, { trust: true });
    writeFileSync(join(place.cwd, 'CLAUDE.md'), 'Use spaces.');
    expect((await load(place)).untrusted).toBeUndefined();
  });

  test('attack: are not trusted if they change between the question and the answer', async () => {
    const place = homeAndProject(everything);
    const { untrusted } = await load(place);
    const trustedFingerprint = await untrusted?.fingerprint();
    writeFileSync(join(place.cwd, '.claude/hooks/check.sh'), '#!/bin/sh\ncurl evil\n');
    const after = await load(place, { trustedFingerprint });
    expect(after.extensions.hooks).toEqual([]);
    expect(after.untrusted).toBeDefined();
  });

  test('attack: cannot lead to files outside of the repository or to secrets', async () => {
    const place = homeAndProject({
      'secret/id.md': skill('stolen', 'Secret'),
      'project/.env': 'KEY=1',
      'project/.claude/commands/ok.md': 'Fine.',
    });
    const commands = join(place.cwd, '.claude/commands');
    symlinkSync(join(place.cwd, '../secret/id.md'), join(commands, 'out.md'));
    symlinkSync(join(place.cwd, '.env'), join(commands, 'env.md'));
    const { extensions } = await load(place, { trust: true });
    expect(extensions.commands.map(({ name }) => name)).toEqual(['ok']);
    expect(extensions.problems).toEqual([
      expect.stringContaining('looks like a secret'),
      expect.stringContaining('outside of the repository'),
    ]);
  });

  test('attack: the home folder of the user is not a project of its own', async () => {
    const { home, env, config } = homeAndProject({
      'home/.claude/settings.json': hookSettings('Stop', 'true'),
    });
    const { extensions, untrusted } = await loadExtensions({ env, config, cwd: home });
    expect(untrusted).toBeUndefined();
    expect(extensions.hooks).toMatchObject([{ origin: 'user' }]);
  });
});

test('the files of the user are used without a question, and the project has precedence', async () => {
  const place = homeAndProject({
    'home/.config/millrace/skills/pdf/SKILL.md': skill('pdf', 'Of the user'),
    'home/.claude/skills/own/SKILL.md': skill('own', 'Of the user'),
    'home/.config/millrace/commands/fix.md': 'Of the user.',
    'home/.config/millrace/AGENTS.md': 'Be brief.',
    'home/.config/millrace/hooks.json': hookSettings('Stop', 'true'),
  });
  const { extensions } = await load(place);
  expect(extensions.skills.map(({ name }) => name)).toEqual(['pdf', 'own']);
  expect(extensions.instructions).toMatchObject([{ origin: 'user' }]);
  expect(extensions.hooks).toMatchObject([{ event: 'Stop', origin: 'user' }]);
  mkdirSync(join(place.cwd, '.agents/skills/pdf'), { recursive: true });
  writeFileSync(join(place.cwd, '.agents/skills/pdf/SKILL.md'), skill('pdf', 'Of the project'));
  const both = await load(place, { trust: true });
  expect(both.extensions.skills.find(({ name }) => name === 'pdf')?.description).toBe(
    'Of the project',
  );
});

test('files in parent folders up to the repository root are found', async () => {
  const place = homeAndProject({
    'project/.claude/commands/top.md': 'Top.',
    'project/app/x.ts': '',
  });
  const cwd = join(place.cwd, 'app');
  const { extensions } = await loadExtensions({ ...place, cwd, trust: true });
  expect(extensions.commands.map(({ name }) => name)).toEqual(['top']);
});

test('unusable files and settings are reported and do not stop the start', async () => {
  const { extensions } = await load(
    homeAndProject({
      'project/.claude/settings.json': JSON.stringify({
        hooks: {
          Unheard: [{ hooks: [{ command: 'x' }] }],
          Stop: [{ hooks: [{ type: 'prompt', prompt: 'Think' }] }, { matcher: '(', hooks: [] }],
        },
      }),
      'project/.claude/settings.local.json': 'not json',
      'project/.claude/agents/explore.md': skill('explore', 'Takes a name'),
      'project/.claude/skills/bad name/SKILL.md': skill('bad name', 'Spaces'),
      'project/.claude/commands/wide.md': '---\nallowed-tools: Bash\nmodel: opus\n---\nGo.',
    }),
    { trust: true },
  );
  expect(extensions.problems.join('\n')).toMatch(
    /Unheard[\s\S]*type "command"[\s\S]*regular expression[\s\S]*not a JSON object/,
  );
  expect(extensions.problems.join('\n')).toContain('allowed-tools and model have no effect');
  expect(extensions.problems.join('\n')).toContain('explore.md is not a sub-agent');
  expect(extensions.problems.join('\n')).toContain('a skill needs a name');
});

test('23: skills and sub-agents with a title as their name have the name of their folder or file', async () => {
  const place = homeAndProject({
    'project/.claude/skills/pair-work/SKILL.md': skill('Pair Work', 'Two people'),
    'project/.claude/agents/load-balancer.md': skill('Load Balancing Expert', 'Balances'),
  });
  const { extensions } = await load(place, { trust: true });
  expect(extensions.problems).toEqual([]);
  expect(extensions.skills.map(({ name }) => name)).toEqual(['pair-work']);
  expect(extensions.agents.map(({ name }) => name)).toEqual(['load-balancer']);
});

test('disableAllHooks switches the hooks of a file off', async () => {
  const settings = { ...JSON.parse(hookSettings('Stop', 'true')), disableAllHooks: true };
  const place = homeAndProject({ 'home/.claude/settings.json': JSON.stringify(settings) });
  expect((await load(place)).extensions.hooks).toEqual([]);
});
