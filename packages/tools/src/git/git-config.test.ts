import { describe, expect, test } from 'vitest';
import { isHarmlessChange } from './git-config.ts';

const before = `[core]
\tbare = false
[remote "origin"]
\turl = git@example.com:a/b.git
[filter "lfs"]
\tclean = git-lfs clean
`;

describe('isHarmlessChange', () => {
  test.for([
    ['nothing', before],
    ['a branch with a remote', `${before}[branch "main"]\n\tremote = origin\n\tmerge = x\n`],
    ['the name of the user', `[user]\n\tname = A\n${before}`],
    ['a removed harmless setting', before.replace('\tbare = false\n', '')],
  ] as const)('accepts %s', ([, after]) => {
    expect(isHarmlessChange(before, after)).toBe(true);
  });

  test.for([
    ['a monitor', `${before}[core]\n\tfsmonitor = evil\n`],
    ['a monitor in the line of its section', `${before}[core] fsmonitor = evil\n`],
    ['a known section with another program', `${before}[filter "lfs"]\n\tclean = evil\n`],
    ['a setting in another section', before.replace('[filter "lfs"]', '[filter "text"]')],
    ['a folder as a remote', before.replace('git@example.com:a/b.git', './evil')],
    ['18.78: another address', before.replace('example.com', 'evil.example')],
    [
      '18.78: an address to push to',
      `${before}[remote "origin"]\n\tpushurl = git@evil.example:a\n`,
    ],
    ['18.78: a second address', `${before}[remote "origin"]\n\turl = https://evil.example/a\n`],
    ['18.78: a new remote', `${before}[remote "evil"]\n\turl = https://evil.example/a\n`],
    ['18.78: branches to overwrite', `${before}[remote "origin"]\n\tfetch = +refs/*:refs/*\n`],
    ['a branch with an unknown remote', `${before}[branch "main"]\n\tremote = evil\n`],
    ['a removed setting of another kind', before.replace('\tclean = git-lfs clean\n', '')],
    ['a continued line', `${before}[user]\n\tname = a\\\nb\n`],
  ] as const)('refuses %s', ([, after]) => {
    expect(isHarmlessChange(before, after)).toBe(false);
  });

  test('refuses every change of a configuration with a continued line', () => {
    const continued = '[alias]\n\tx = a \\\nb\n';
    expect(isHarmlessChange(continued, `${continued}[user]\n\tname = A\n`)).toBe(false);
  });
});
