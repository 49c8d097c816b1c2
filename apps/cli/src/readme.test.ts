import { readFileSync } from 'node:fs';
import { parseJson } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { flagNames, getFlag } from './args/flags.ts';
import { flagHelp, flagSyntax } from './args/help-text.ts';
import { configSchema } from './config/config-schema.ts';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

describe('the README', () => {
  test('has the flags as the help has them', () => {
    const owners = ['run', 'print'] as const;
    const own = flagNames.filter((name) =>
      owners.some((owner) => getFlag(name).owners.includes(owner)),
    );
    const rows = own.map((name) => `| \`${flagSyntax(name)}\` | ${flagHelp(name, owners)} |`);
    expect(readme.match(/^\| `-.*$/gm)).toEqual(rows);
  });

  test('has all flags of serve in its section', () => {
    const [, section = ''] = /\n## Serve agents over HTTP\n([\s\S]*?)\n## /.exec(readme) ?? [];
    const common = ['cwd', 'help', 'version', 'no-color'];
    const own = flagNames.filter((name) => getFlag(name).owners.includes('serve'));
    const missing = own.filter((name) => !section.includes(`\`--${name}`));
    expect(missing.filter((name) => !common.includes(name))).toEqual([]);
  });

  test('25: names all commands', () => {
    const [, names = ''] = /\nThe commands are (.*?)\. Each command/.exec(readme) ?? [];
    const chat = ['run', 'print'];
    const commands = getFlag('help').owners.filter((owner) => !chat.includes(owner));
    expect([...names.matchAll(/`(?:millrace )?(\w+)`/g)].map(([, name]) => name).sort()).toEqual(
      commands.toSorted(),
    );
  });

  test('has an example of a configuration that can be used', () => {
    const [, json = ''] = /```json\n([\s\S]*?)```/.exec(readme) ?? [];
    const parsed = parseJson(json);
    expect(parsed.ok && configSchema().safeParse(parsed.value).error).toBeUndefined();
  });
});
