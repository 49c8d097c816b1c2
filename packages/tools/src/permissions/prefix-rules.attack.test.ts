import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { commandRuling } from '../testing/policy/policy-ruling.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';

// A rule allows the start of a command, and a hostile model or repository makes more of it.

let root: string;
beforeEach(() => {
  root = temporaryFolder();
  writeTree(root, { 'a.txt': 'a', 'package.json': '{}' });
  execFileSync('git', ['-C', root, 'init', '-q']);
});

/** The decision with a rule of a file, and with one that was granted in the chat. */
async function rulings(command: string, line: string) {
  const rule = { tool: 'bash', command, decision: 'allow' } as const;
  return [
    await commandRuling(root, line, { rules: [rule] }),
    await commandRuling(root, line, { remembered: [{ ...rule, yields: true }] }),
  ];
}

describe('an option in the place of a value', () => {
  // The programs do not know that `-t` has a value, or read a value with a dash as an option.
  test.for([
    ['npm test', 'npm test -t --script-shell=/outside/evil'],
    ['npm test', 'npm test --grep --prefix=/outside'],
    ['npm test', "npm test '-k' '--node-options=--require=/outside/evil.js'"],
    ['npm run lint', 'npm run lint -t --script-shell=/outside/evil'],
    ['npm test', 'npm test -- -t --config=/outside/evil.ts'],
    ['npx vitest', 'npx vitest -t --config=/outside/evil.ts'],
    ['npx jest', 'npx jest --testNamePattern --globalSetup=/outside/evil.js'],
    ['npx mocha', 'npx mocha -g --require=/outside/evil.js'],
    ['pytest', 'pytest -k --rootdir=/outside'],
    ['npx jest', `npx jest -tc '{"globalSetup":"/outside/evil.js"}'`],
    ['npx vitest', 'npx vitest -tc evil.ts'],
    ['npx mocha', 'npx mocha -gr evil.js'],
    ['npx mocha', 'npx mocha -bgr evil.js'],
  ] as const)('attack 31: the rule %s does not cover `%s`', async ([command, line]) => {
    expect(await rulings(command, line)).toEqual(['ask', 'ask']);
  });

  test.for([
    ['npm test', 'npm test -- -t "adds two numbers"'],
    ['npx vitest', 'npx vitest --testNamePattern=-x src/a.test.ts'],
    ['npx jest', 'npx jest -it adds'],
    ['cargo test', 'cargo test -j4 -p core'],
    ['git commit', 'git commit -am "Fix the sum"'],
  ] as const)('the rule %s covers `%s`', async ([command, line]) => {
    expect(await rulings(command, line)).toEqual(['allow', 'allow']);
  });
});

describe('a repository with hooks', () => {
  beforeEach(() => {
    writeTree(root, { '.git/hooks/pre-commit': '#!/bin/sh\ntouch evil\n' });
    chmodSync(join(root, '.git/hooks/pre-commit'), 0o755);
  });

  test.for([
    ['git commit', 'git commit -m x'],
    ['git add', 'git add a.txt'],
    ['git push', 'git push'],
  ] as const)('attack 32: the rule %s does not run hooks by `%s`', async ([command, line]) => {
    expect(await rulings(command, line)).toEqual(['ask', 'ask']);
  });

  test('a rule for exactly the line runs hooks, and a command that only reads runs none', async () => {
    const command = 'git commit -m x';
    const rules = [{ tool: 'bash', command, exact: true, decision: 'allow' }] as const;
    expect(await commandRuling(root, command, { rules })).toBe('allow');
    expect(await rulings('git status', 'git status')).toEqual(['allow', 'allow']);
  });
});

describe('a repository whose remote is a folder of the archive', () => {
  const configure = (name: string, value: string) =>
    execFileSync('git', ['-C', root, 'config', name, value]);

  test.for([
    ['remote.origin.url', './evil.git'],
    ['remote.origin.url', 'evil.git'],
    ['remote.origin.url', 'file:///evil.git'],
    ['remote.origin.url', 'ext::sh -c evil'],
    ['remote.origin.pushurl', '../evil.git'],
    ['branch.main.remote', 'evil.git'],
    ['branch.main.pushRemote', './evil.git'],
  ] as const)('attack 37: %s = %s does not run the hooks of the folder', async ([name, value]) => {
    configure(name, value);
    expect(await rulings('git push', 'git push')).toEqual(['ask', 'ask']);
  });

  test.for(['https://example.com/a.git', 'git@example.com:a/b.git', 'ssh://git@example.com:22/a'])(
    'a rule pushes to %s',
    async (url) => {
      configure('remote.origin.url', url);
      configure('branch.main.remote', 'origin');
      expect(await rulings('git push', 'git push')).toEqual(['allow', 'allow']);
    },
  );

  test('a rule commits, because that uses no remote', async () => {
    configure('remote.origin.url', '../other.git');
    expect(await rulings('git commit', 'git commit -m x')).toEqual(['allow', 'allow']);
  });
});
