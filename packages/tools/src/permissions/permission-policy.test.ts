import { AgentError } from '@millrace/agent';
import { describe, expect, test } from 'vitest';
import { type PermissionPolicy, type PolicyData, permissionPolicy } from './permission-policy.ts';
import type { PermissionRule } from './permission-rule.ts';

const root = '/srv/project';
const policyOf = (rules: readonly PermissionRule[] = [], more: Partial<PolicyData> = {}) =>
  permissionPolicy({ root, rules, ...more });
const decideWith = (policy: PermissionPolicy) => ({
  run: (command: string) => policy.decide({ tool: 'bash', input: { command } }).decision,
  on: (tool: string, path?: string) => policy.decide({ tool, input: { path } }).decision,
});
const withRules = (...rules: readonly PermissionRule[]) => decideWith(policyOf(rules));
const git: PermissionRule = { tool: 'bash', command: 'git status', decision: 'allow' };

describe('without rules', () => {
  const { run, on } = withRules();

  test('to read inside the root is allowed', () => {
    for (const tool of ['read', 'ls', 'grep', 'glob']) expect(on(tool, 'src/a.ts')).toBe('allow');
    expect(on('grep')).toBe('allow');
    expect(on('read', `${root}/a`)).toBe('allow');
    expect(on('read', 'a/../../project/b')).toBe('allow');
  });

  test('to read outside, to write, to run, and what is not known is asked for', () => {
    for (const path of ['..', '../other', '/etc/passwd', `${root}-2/a`, 'a/../../b']) {
      expect(on('read', path)).toBe('ask');
    }
    expect(on('write', 'a')).toBe('ask');
    expect(on('edit', 'a')).toBe('ask');
    expect(run('ls')).toBe('ask');
    expect(on('github__push')).toBe('ask');
    expect(on('constructor')).toBe('ask');
  });

  test('to ask a person need not be asked for', () => {
    expect(on('ask_user')).toBe('allow');
  });

  test.each([{}, { command: 5 }, null, 'ls', undefined])('an input %j is asked for', (input) => {
    expect(policyOf().decide({ tool: 'bash', input }).decision).toBe('ask');
  });

  test('a path that is none is asked for', () => {
    expect(policyOf().decide({ tool: 'read', input: { path: 5 } }).decision).toBe('ask');
    expect(policyOf().decide({ tool: 'read', input: 'a' }).decision).toBe('ask');
  });
});

describe('the order of rules', () => {
  test('a denial wins, wherever it is', () => {
    const rules: PermissionRule[] = [
      { tool: 'write', path: 'src/secret/**', decision: 'deny' },
      { tool: 'write', path: 'src/**', decision: 'allow' },
    ];
    for (const order of [rules, rules.toReversed()]) {
      expect(withRules(...order).on('write', 'src/secret/a')).toBe('deny');
      expect(withRules(...order).on('write', 'src/a')).toBe('allow');
    }
  });

  test('of the others the last that fits decides', () => {
    const ask: PermissionRule = { tool: 'edit', path: 'src/**', decision: 'ask' };
    const allow: PermissionRule = { tool: 'edit', path: 'src/docs/**', decision: 'allow' };
    expect(withRules(ask, allow).on('edit', 'src/docs/a.md')).toBe('allow');
    expect(withRules(allow, ask).on('edit', 'src/docs/a.md')).toBe('ask');
  });

  test('what is remembered comes after the rules, and a denial wins still', () => {
    const policy = policyOf([
      { tool: 'bash', command: 'git push', decision: 'ask' },
      { tool: 'bash', command: 'rm', decision: 'deny' },
    ])
      .remember({ tool: 'bash', command: 'git', decision: 'allow' })
      .remember({ tool: 'bash', command: 'rm', decision: 'allow' });
    expect(decideWith(policy).run('git push origin')).toBe('allow');
    expect(decideWith(policy).run('rm a')).toBe('deny');
  });

  test('a tool may be named by a glob, and all tools by none', () => {
    const { on, run } = withRules({ tool: 'github__*', decision: 'allow' });
    expect(on('github__list')).toBe('allow');
    expect(on('gitlab__list')).toBe('ask');
    expect(run('ls')).toBe('ask');
    expect(withRules({ decision: 'deny' }).on('read', 'a')).toBe('deny');
    expect(withRules({ decision: 'allow' }).run('anything > there')).toBe('allow');
  });
});

describe('paths', () => {
  test('fit by name at any depth, or by folder', () => {
    const { on } = withRules(
      { tool: 'write', path: '*.md', decision: 'allow' },
      { tool: 'write', path: 'docs/', decision: 'allow' },
      { tool: 'write', path: './lib/*.ts', decision: 'allow' },
    );
    for (const path of [
      'a.md',
      'x/y/b.md',
      'docs/deep/a',
      `${root}/docs/b`,
      'lib/a.ts',
      './lib/b.ts',
    ]) {
      expect(on('write', path)).toBe('allow');
    }
    for (const path of ['a.mdx', 'a.md/b', 'docs2/a', 'lib/deep/a.ts', '../a.md', '/tmp/a.md']) {
      expect(on('write', path)).toBe('ask');
    }
  });

  test('are denied with all that is below, in any case of letters, by name anywhere', () => {
    const { on } = withRules(
      { path: '.env', decision: 'deny' },
      { path: 'config/secrets', decision: 'deny' },
      { path: `${root}/private/**`, decision: 'deny' },
    );
    const denied = ['.env', 'a/.env', '.ENV', '/elsewhere/.env', '.env/x', 'config/secrets/key'];
    for (const path of [...denied, 'Config/Secrets', 'private/a', 'x/../private/a']) {
      expect(on('read', path)).toBe('deny');
    }
    expect(on('read', '.env.example')).toBe('allow');
    expect(on('read', 'config/other')).toBe('allow');
  });

  test('may have parentheses and brackets in them, as folders of some frameworks do', () => {
    const { on } = withRules(
      { path: 'app/(auth)/**', decision: 'deny' },
      { path: 'app/[id]/key', decision: 'deny' },
      { path: '@(a|b).pem', decision: 'deny' },
    );
    for (const path of ['app/(auth)/login.ts', 'app/[id]/key', 'x/a.pem', 'b.pem']) {
      expect(on('read', path)).toBe('deny');
    }
    for (const path of ['app/auth/login.ts', 'app/(other)/x', 'c.pem']) {
      expect(on('read', path)).toBe('allow');
    }
  });

  test('outside the root are allowed by an absolute glob alone', () => {
    expect(withRules({ tool: 'read', decision: 'allow' }).on('read', '/etc/hosts')).toBe('ask');
    const { on } = withRules({ tool: 'read', path: '/usr/include/**', decision: 'allow' });
    expect(on('read', '/usr/include/a/b.h')).toBe('allow');
    expect(on('read', '/usr/include/../../etc/passwd')).toBe('ask');
  });

  test('that lead elsewhere are decided on by where they lead, too', () => {
    const policy = policyOf([{ path: 'secret/**', decision: 'deny' }]);
    const call = { tool: 'read', input: { path: 'link' } };
    expect(policy.decide(call).decision).toBe('allow');
    expect(policy.decide({ ...call, leadsTo: `${root}/secret/a` }).decision).toBe('deny');
  });

  test('are no business of commands, nor commands of theirs', () => {
    expect(withRules({ path: '**', decision: 'allow' }).run('ls')).toBe('ask');
    expect(withRules({ command: 'src', decision: 'deny' }).on('read', 'src')).toBe('allow');
  });
});

describe('a search', () => {
  test('is asked for where it would show what is denied', () => {
    const { on } = withRules({ path: 'config/secrets/**', decision: 'deny' });
    expect(on('grep')).toBe('ask');
    expect(on('grep', 'config')).toBe('ask');
    expect(on('glob', 'config/secrets/deep')).toBe('deny');
    expect(on('grep', 'src')).toBe('allow');
    expect(on('read', 'config')).toBe('allow');
    expect(withRules({ path: '.env', decision: 'deny' }).on('grep', 'src')).toBe('ask');
    expect(withRules({ path: `${root}/a/b`, decision: 'deny' }).on('grep', 'a')).toBe('ask');
    expect(withRules({ path: `${root}/a/b`, decision: 'deny' }).on('grep', 'c')).toBe('allow');
  });

  test('is allowed where it skips what is denied, or where that was decided on', () => {
    const rules: PermissionRule[] = [{ path: '.env', decision: 'deny' }];
    const skipping = policyOf(rules, { searchesSkipDenied: true });
    expect(decideWith(skipping).on('grep', 'src')).toBe('allow');
    expect(skipping.deniedPaths('grep')).toEqual(['.env']);
    const policy = policyOf(rules);
    const remembered = policy.remember(policy.ruleFor({ tool: 'grep', input: {} }, 'allow'));
    expect(decideWith(remembered).on('grep')).toBe('allow');
    expect(decideWith(remembered).on('grep', 'src')).toBe('ask');
  });
});

describe('a command that begins as a rule says', () => {
  const { run } = withRules(git, { tool: 'bash', command: 'npm test', decision: 'allow' });

  test.each(['git status', 'git status -s', ` git  'status' "a b"`, 'git status *', 'git status;'])(
    'is allowed: %j',
    (command) => expect(run(command)).toBe('allow'),
  );

  test.each(['git', 'git statusx', 'git stat?s', 'gi[t] status', 'GIT status', '/bin/git status'])(
    'is another one: %j',
    (command) => expect(run(command)).toBe('ask'),
  );

  test.each([
    'git status && npm test',
    'git status; npm test -- a\nnpm test',
    'git status | npm test',
  ])('is allowed with others that are: %j', (command) => expect(run(command)).toBe('allow'));

  test.each([
    'git status && rm -rf /',
    'git status; x',
    'git status\nx',
    'git status & x',
    'git status | x',
    'git status || x',
    'git status $(x)',
    'git status "$(x)"',
    'git status `x`',
    'git status > x',
    'git status < x',
    'git status 2>&1',
    'git status $HOME',
    'PATH=. git status',
    'time git status',
    '(git status)',
    'git() { x; }; git status',
    'git status # x',
    "git status 'x",
    'git \\\nstatus',
    'git status \r\n x',
    '',
    '   ',
  ])('is asked for with more than that: %j', (command) => expect(run(command)).toBe('ask'));
});

describe('commands that are denied', () => {
  const { run } = withRules(
    { tool: 'bash', decision: 'allow' },
    { tool: 'bash', command: 'rm', decision: 'deny' },
    { tool: 'bash', command: 'git push', decision: 'ask' },
  );

  test.each([
    'rm x',
    'ls; rm x',
    'ls && r\\m x',
    '/bin/rm x',
    'A=1 rm x',
    'a $(rm x)',
    'rm x > y',
    '! rm',
    // On some file systems that is the same program.
    'RM x',
  ])('are denied wherever they can be seen: %j', (command) => expect(run(command)).toBe('deny'));

  test.each([
    '$x',
    'sudo rm x',
    'sh -c "rm x"',
    'eval rm',
    'a "$(rm x)"',
    '/usr/bin/env rm',
    'r?m x',
    'git push',
    'ionice rm x',
    'flock lock rm x',
    'trap "rm x" EXIT',
    'watch rm x',
    'ssh localhost rm x',
    'find . -exec rm {} +',
  ])('may be in what cannot be told, which is asked for: %j', (command) =>
    expect(run(command)).toBe('ask'),
  );

  test.each(['ls -l', 'git pull && ls', 'echo rm', 'find . -name rm', 'git stash push'])(
    'leave others allowed: %j',
    (command) => expect(run(command)).toBe('allow'),
  );

  test('of several words are seen behind options, and asked for where those may take words', () => {
    const { run } = withRules(
      { tool: 'bash', command: 'git', decision: 'allow' },
      { tool: 'bash', command: 'git push', decision: 'deny' },
      { tool: 'bash', command: 'git remote add', decision: 'ask' },
    );
    expect(run('git --no-pager push')).toBe('deny');
    expect(run('git -C elsewhere push')).toBe('ask');
    expect(run('git -c a=b -C elsewhere push origin')).toBe('ask');
    expect(run('git remote -v add x')).toBe('ask');
    expect(run('git stash push')).toBe('allow');
    expect(run('git -C elsewhere status')).toBe('allow');
    expect(run('git commit -m push')).toBe('allow');
  });

  test('by their whole path are so', () => {
    const { run } = withRules(
      { tool: 'bash', decision: 'allow' },
      { tool: 'bash', command: '/opt/bin/deploy', decision: 'deny' },
    );
    expect(run('/opt/bin/deploy now')).toBe('deny');
    expect(run('deploy now')).toBe('allow');
  });

  test('by an earlier rule that asks are allowed by a later one, behind options too', () => {
    const { run } = withRules(
      { tool: 'bash', command: 'git push', decision: 'ask' },
      { tool: 'bash', command: 'git', decision: 'allow' },
    );
    expect(run('git push')).toBe('allow');
    expect(run('git -C elsewhere push')).toBe('allow');
  });
});

describe('a command that names a path that is denied', () => {
  const rules: readonly PermissionRule[] = [
    { tool: 'bash', command: 'cat', decision: 'allow' },
    { path: '.env', decision: 'deny' },
    { path: 'secret/**', decision: 'deny' },
    { path: 'docs/**', decision: 'ask' },
  ];
  const { run } = withRules(...rules);

  test.each([
    'cat .env',
    'cat ./a/../.env',
    'cat a b/.ENV',
    'cat -- secret/key',
    "cat 'secret/key'",
    `cat ${root}/secret/key`,
    'cat --show=.env',
    'cat a && cat .env',
  ])('is asked for: %j', (command) => {
    expect(run(command)).toBe('ask');
    expect(withRules({ decision: 'allow' }, ...rules).run(command)).toBe('ask');
  });

  test('is asked for where a redirection leads there, too', () => {
    const { run } = withRules({ tool: 'bash', decision: 'allow' }, ...rules);
    expect(run('cat < .env')).toBe('ask');
    expect(run('cat a >secret/b')).toBe('ask');
    expect(run('cat a >b')).toBe('allow');
  });

  test.each(['cat env', 'cat .env.example', 'cat docs/a', 'cat secrets'])(
    'is another than %j',
    (command) => expect(run(command)).toBe('allow'),
  );

  test('is allowed where that very line is', () => {
    const policy = policyOf(rules);
    const call = { tool: 'bash', input: { command: 'cat .env' } };
    expect(policy.remember(policy.ruleFor(call, 'allow')).decide(call).decision).toBe('allow');
  });

  test('says so', () => {
    const call = { tool: 'bash', input: { command: 'cat .env' } };
    expect(policyOf(rules).decide(call).reason).toBe(
      '`cat .env` may be about .env, which is denied',
    );
  });
});

describe('what is remembered', () => {
  test('is a new policy, and the old one is as it was', () => {
    const policy = policyOf();
    const next = policy.remember({ tool: 'write', decision: 'allow' });
    expect(decideWith(policy).on('write', 'a')).toBe('ask');
    expect(decideWith(next).on('write', 'a')).toBe('allow');
  });

  test('may be one command line, with whatever is in it, and no other', () => {
    const policy = policyOf([git]);
    const call = { tool: 'bash', input: { command: 'npm test > out.txt' } };
    const { run } = decideWith(policy.remember(policy.ruleFor(call, 'allow')));
    expect(run('npm test > out.txt')).toBe('allow');
    expect(run('npm test > out.txt2')).toBe('ask');
    expect(run('npm test > out.txt; x')).toBe('ask');
    expect(run('git status')).toBe('allow');
  });

  test('may be one path, also one that looks like a glob', () => {
    const policy = policyOf();
    const call = { tool: 'edit', input: { path: './app/[id]/*.ts' } };
    const { on } = decideWith(policy.remember(policy.ruleFor(call, 'allow')));
    expect(on('edit', 'app/[id]/*.ts')).toBe('allow');
    expect(on('edit', 'app/i/a.ts')).toBe('ask');
    expect(on('write', 'app/[id]/*.ts')).toBe('ask');
  });

  test('is held once, and at most so many', () => {
    const rule: PermissionRule = { tool: 'a', decision: 'allow' };
    expect(policyOf().remember(rule).remember(rule).remembered).toEqual([rule]);
    const remembered = Array.from({ length: 1000 }, (_, at) => ({ ...rule, tool: `t${at}` }));
    const full = policyOf([], { remembered });
    expect(() => full.remember(rule)).toThrow(AgentError);
    expect(full.remember({ ...rule, tool: 't5' }).remembered).toHaveLength(1000);
  });
});

test('a policy is the same after it was stored', () => {
  const policy = policyOf([git, { path: '.env', decision: 'deny', reason: 'Secrets' }], {
    kinds: { fetch: 'free', run_sql: 'run' },
  }).remember({ tool: 'write', path: 'docs/**', decision: 'allow' });
  const again = permissionPolicy(JSON.parse(JSON.stringify(policy)));
  expect(JSON.stringify(again)).toBe(JSON.stringify(policy));
  const calls = [
    { tool: 'bash', input: { command: 'git status' } },
    { tool: 'read', input: { path: '.env' } },
    { tool: 'write', input: { path: 'docs/a' } },
    { tool: 'fetch', input: {} },
    { tool: 'run_sql', input: { command: 'git status' } },
  ];
  expect(calls.map(again.decide)).toEqual(calls.map(policy.decide));
  expect(calls.map((call) => policy.decide(call).decision)).toEqual([
    'allow',
    'deny',
    'allow',
    'allow',
    'ask',
  ]);
});

test('a decision says why', () => {
  const policy = policyOf([git, { path: '.env', decision: 'deny', reason: 'it has secrets' }]);
  const reason = (tool: string, input: object) => policy.decide({ tool, input }).reason;
  expect(reason('read', { path: '.env' })).toBe('To read .env is denied by a rule: it has secrets');
  expect(reason('bash', { command: 'git status && rm x' })).toBe('No rule allows `rm x`');
  expect(reason('bash', { command: 'git status > x' })).toBe(
    'No rule allows `git status`, and the command has a redirection',
  );
  expect(reason('read', { path: '../x' })).toMatch(/is outside the workspace$/);
});

describe('what could not be meant is refused', () => {
  test.each<[string, PermissionRule]>([
    ['a path and a command', { path: 'a', command: 'b', decision: 'allow' }],
    ['a command that is more than words', { command: 'git status | cat', decision: 'allow' }],
    ['a command with a glob', { command: 'git *', decision: 'allow' }],
    ['no command', { command: ' ', decision: 'allow' }],
    ['a syntax word', { command: 'time', decision: 'allow' }],
    ['no path', { path: '', decision: 'allow' }],
    ['a negative glob', { path: '!src/**', decision: 'allow' }],
    ['no tool', { tool: '', decision: 'allow' }],
    ['exactly nothing', { tool: 'a', exact: true, decision: 'allow' }],
    ['no decision', { tool: 'a', decision: 'maybe' as never }],
  ])('%s', (_, rule) => {
    expect(() => policyOf([rule])).toThrow(AgentError);
    expect(() => policyOf().remember(rule)).toThrow(/^Cannot use the rule/);
  });

  test('a root that is relative', () => {
    expect(() => permissionPolicy({ root: 'src' })).toThrow(/absolute/);
  });

  test('a rule for a call that has no command', () => {
    const policy = policyOf();
    expect(() => policy.ruleFor({ tool: 'bash', input: {} }, 'allow')).toThrow(AgentError);
    expect(policy.ruleFor({ tool: 'mcp__x', input: {} }, 'allow')).toEqual({
      tool: 'mcp__x',
      decision: 'allow',
    });
  });
});
