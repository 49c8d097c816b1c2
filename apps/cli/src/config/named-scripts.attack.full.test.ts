import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadExtensions } from '../extensions/load-extensions.ts';
import { homeAndProject } from '../testing/test-agent.ts';
import { loadConfig } from './load-config.ts';
import { findNamedScripts } from './named-scripts.ts';

// An untrusted repository names very many files in its hooks and servers. Each search must end soon. A search
// whose time grows with the product of words and files does not end before the time limit of a test.

const numbered = <One>(count: number, name: (index: number) => One): readonly One[] =>
  Array.from({ length: count }, (_, index) => name(index));

const manyFiles = (count: number): Readonly<Record<string, string>> =>
  Object.fromEntries(numbered(count, (index) => [`project/m/f${index}`, ''] as const));

const settingsWith = (commands: readonly string[]) => {
  const hooks = commands.map((command) => ({ type: 'command', command }));
  return JSON.stringify({ hooks: { PreToolUse: [{ hooks }] } });
};

test('18.197: attack: hooks with very many words in an untrusted repository', async () => {
  const commands = numbered(100, (hook) =>
    numbered(200, (index) => `$A/z${hook}x${index}`).join(' '),
  );
  const place = homeAndProject({
    ...manyFiles(3000),
    'project/.claude/settings.json': settingsWith(commands),
  });
  const { untrusted, extensions } = await loadExtensions(place);
  expect([untrusted?.found.hooks.length, extensions.hooks.length]).toEqual([100, 0]);
  // Nobody can tell whether the scripts changed, so no answer gives trust.
  const trustedFingerprint = await untrusted?.fingerprint();
  expect((await loadExtensions({ ...place, trustedFingerprint })).untrusted).toBeDefined();
});

test('18.197: attack: as many unknown words as the search permits, and many files', async () => {
  const { cwd } = homeAndProject({ ...manyFiles(5000), 'project/deep/z7.sh': '' });
  const command = numbered(900, (index) => `$A/z${index}`).join(' ');
  const found = await findNamedScripts([{ command, projectFolder: cwd }], { root: cwd, cwd });
  expect(found?.files).toEqual([join(cwd, 'deep/z7.sh')]);
});

test('18.197: attack: a server with very many unknown arguments', async () => {
  const args = numbered(8000, (index) => `*/z${index}`);
  const { cwd, env } = homeAndProject({
    ...manyFiles(5000),
    'project/millrace.json': JSON.stringify({ mcpServers: { s: { command: 'x', args } } }),
  });
  const config = await loadConfig({ args: {}, env, cwd });
  expect([config.mcpServers, config.untrusted?.parts]).toEqual([[], ['mcpServers']]);
});

test('18.197: attack: a wildcard that a long name matches in very many ways', async () => {
  const { cwd } = homeAndProject({ 'project/a.sh': '' });
  writeFileSync(join(cwd, `${'a'.repeat(240)}.sh`), '');
  const command = `bash $X/${'*a'.repeat(40)}*b.sh`;
  const found = await findNamedScripts([{ command, projectFolder: cwd }], { root: cwd, cwd });
  expect(found?.files).toEqual([]);
});

test('18.197: attack: scripts that are too large together never count as unchanged', async () => {
  const scripts = numbered(5, (index) => `tools/s${index}.sh`);
  const place = homeAndProject({
    'project/.claude/settings.json': settingsWith(scripts.map((path) => `sh ${path}`)),
    ...Object.fromEntries(scripts.map((path) => [`project/${path}`, ''])),
  });
  for (const path of scripts) truncateSync(join(place.cwd, path), 20 * 1024 * 1024);
  const { extensions } = await loadExtensions({ ...place, trust: true });
  expect(await extensions.areHooksUnchanged()).toBe(false);
});
