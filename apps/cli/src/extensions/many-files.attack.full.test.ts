import { expect, test } from 'vitest';
import { homeAndProject } from '../testing/test-agent.ts';
import { listOf } from './front-matter.ts';
import { loadExtensions } from './load-extensions.ts';

// Millrace reads the files of a project before the user trusts it. A hostile project has many slow files.

test('18.268: attack: the front matter of many files does not block the start', async () => {
  // A YAML parser takes a second for each file. The limit of the test run would stop it.
  const slow = `description: D\ntools: [${','.repeat(16_000)}`;
  const names = Array.from({ length: 120 }, (_, index) => `n${index}`);
  const files = names.flatMap((name) => [
    [`project/.claude/skills/${name}/SKILL.md`, `---\n${slow}\n---\nText`],
    [`project/.claude/agents/${name}.md`, `---\n${slow.replace('[', '')}\n---\nText`],
    [`project/.millrace/commands/${name}.md`, `---\n${slow}\n---\nText`],
  ]);
  const good = '---\ndescription: >\n  Long\n  text\n---\nText';
  const place = homeAndProject({
    ...Object.fromEntries(files),
    'project/.claude/skills/a-good/SKILL.md': good,
  });
  const { untrusted } = await loadExtensions(place);
  expect(untrusted?.found.skills).toHaveLength(121);
  expect(untrusted?.found.skills[0]).toMatchObject({ name: 'a-good', description: 'Long text' });
  expect(untrusted?.found.agents).toHaveLength(120);
  expect(untrusted?.found.commands).toHaveLength(120);
});

test('18.268: attack: a project with more than 200 skills uses only the first ones', async () => {
  const names = Array.from({ length: 205 }, (_, index) => `n${index}`);
  const files = names.map((name) => [
    `project/.claude/skills/${name}/SKILL.md`,
    '---\ndescription: D\n---\nText',
  ]);
  const place = homeAndProject(Object.fromEntries(files));
  const { extensions } = await loadExtensions({ ...place, trust: true });
  expect(extensions.skills).toHaveLength(200);
  expect(extensions.problems.join()).toContain('Only the first 200');
});

test.each([
  ['Read, Grep', ['Read', 'Grep']],
  ['Bash(git add:*, git push:*), Read', ['Bash(git add:*, git push:*)', 'Read']],
  ['Bash(a, b', ['Bash(a', 'b']],
  ['a), b,, c', ['a)', 'b', 'c']],
  [`${','.repeat(500_000)}a`, ['a']],
])('18.268: a list of names is read in linear time', (text, names) => {
  expect(listOf(text)).toEqual(names);
});
