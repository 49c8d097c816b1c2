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

  test('reading inside the root is allowed', () => {
    for (const tool of ['read', 'ls', 'grep', 'glob']) expect(on(tool, 'src/a.ts')).toBe('allow');
    expect(on('grep')).toBe('allow');
    expect(on('read', `${root}/a`)).toBe('allow');
    expect(on('read', 'a/../../project/b')).toBe('allow');
  });

  test('reading outside, writing, running commands and unknown tools are asked for', () => {
    for (const path of ['..', '../other', '/etc/passwd', `${root}-2/a`, 'a/../../b']) {
      expect(on('read', path)).toBe('ask');
    }
    expect(on('write', 'a')).toBe('ask');
    expect(on('edit', 'a')).toBe('ask');
    expect(run('ls')).toBe('ask');
    expect(on('github__push')).toBe('ask');
    expect(on('constructor')).toBe('ask');
  });

  test('asking the user is allowed', () => {
    expect(on('ask_user')).toBe('allow');
  });

  test.each([{}, { command: 5 }, null, 'ls', undefined])('the input %j is asked for', (input) => {
    expect(policyOf().decide({ tool: 'bash', input }).decision).toBe('ask');
  });

  test('an invalid path is asked for', () => {
    expect(policyOf().decide({ tool: 'read', input: { path: 5 } }).decision).toBe('ask');
    expect(policyOf().decide({ tool: 'read', input: 'a' }).decision).toBe('ask');
  });
});

describe('the order of rules', () => {
  test('a rule that denies wins at any position', () => {
    const rules: PermissionRule[] = [
      { tool: 'write', path: 'src/secret/**', decision: 'deny' },
      { tool: 'write', path: 'src/**', decision: 'allow' },
    ];
    for (const order of [rules, rules.toReversed()]) {
      expect(withRules(...order).on('write', 'src/secret/a')).toBe('deny');
      expect(withRules(...order).on('write', 'src/a')).toBe('allow');
    }
  });

  test('of the others, the last one that matches decides', () => {
    const ask: PermissionRule = { tool: 'edit', path: 'src/**', decision: 'ask' };
    const allow: PermissionRule = { tool: 'edit', path: 'src/docs/**', decision: 'allow' };
    expect(withRules(ask, allow).on('edit', 'src/docs/a.md')).toBe('allow');
    expect(withRules(allow, ask).on('edit', 'src/docs/a.md')).toBe('ask');
  });

  test('remembered rules come after the others, and a rule that denies still wins', () => {
    const policy = policyOf([
      { tool: 'bash', command: 'git push', decision: 'ask' },
      { tool: 'bash', command: 'rm', decision: 'deny' },
    ])
      .remember({ tool: 'bash', command: 'git', decision: 'allow' })
      .remember({ tool: 'bash', command: 'rm', decision: 'allow' });
    expect(decideWith(policy).run('git push origin')).toBe('allow');
    expect(decideWith(policy).run('rm a')).toBe('deny');
  });

  test('a rule may name tools by a glob, and applies to all tools without one', () => {
    const { on, run } = withRules({ tool: 'github__*', decision: 'allow' });
    expect(on('github__list')).toBe('allow');
    expect(on('gitlab__list')).toBe('ask');
    expect(run('ls')).toBe('ask');
    expect(withRules({ decision: 'deny' }).on('read', 'a')).toBe('deny');
    expect(withRules({ decision: 'allow' }).run('anything > there')).toBe('allow');
  });
});

describe('paths', () => {
  test('match by name in any folder, or by folder', () => {
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

  test('are denied with everything below, in any letter case, by name anywhere', () => {
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

  test('may contain parentheses and brackets, like the folders of some frameworks', () => {
    const { on } = withRules(
      { path: 'app/(auth)/**', decision: 'deny' },
      { path: 'app/[id]/key', decision: 'deny' },
      { path: '@(a|b).pem', decision: 'deny' },
    );
    for (const path of ['app/(auth)/login.ts', 'app/[id]/key', 'x/a.pem', 'b.pem']) {
      expect(on('read', path)).toBe('deny');
    }
    for (const path of ['app/auth/login.ts', 'app/(other)/x', 'c.txt']) {
      expect(on('read', path)).toBe('allow');
    }
  });

  test('outside the root are allowed only by an absolute glob', () => {
    expect(withRules({ tool: 'read', decision: 'allow' }).on('read', '/etc/hosts')).toBe('ask');
    const { on } = withRules({ tool: 'read', path: '/usr/include/**', decision: 'allow' });
    expect(on('read', '/usr/include/a/b.h')).toBe('allow');
    expect(on('read', '/usr/include/../../etc/passwd')).toBe('ask');
  });

  test('that are links are also decided on by their target', () => {
    const policy = policyOf([{ path: 'secret/**', decision: 'deny' }]);
    const call = { tool: 'read', input: { path: 'link' } };
    expect(policy.decide(call).decision).toBe('allow');
    expect(policy.decide({ ...call, leadsTo: `${root}/secret/a` }).decision).toBe('deny');
  });

  test('in rules do not apply to commands, nor commands to paths', () => {
    expect(withRules({ path: '**', decision: 'allow' }).run('ls')).toBe('ask');
    expect(withRules({ command: 'src', decision: 'deny' }).on('read', 'src')).toBe('allow');
  });
});

describe('a search', () => {
  test('is asked for if it would show denied paths', () => {
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

  test('is allowed if it skips denied paths, or if it was approved before', () => {
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

describe('a command with the prefix of a rule', () => {
  const { run } = withRules(git, { tool: 'bash', command: 'npm test', decision: 'allow' });

  test.each([
    'git status',
    'git status -s',
    ` git  'status' "a b"`,
    'git status src/*',
    'git status;',
    'git status 2>&1 >/dev/null',
  ])('is allowed: %j', (command) => expect(run(command)).toBe('allow'));

  test.each(['git', 'git statusx', 'git stat?s', 'gi[t] status', 'GIT status', '/bin/git status'])(
    'does not match: %j',
    (command) => expect(run(command)).toBe('ask'),
  );

  test.each([
    'git status && npm test',
    'git status; npm test -- a\nnpm test',
    'git status | npm test',
  ])('is allowed together with other allowed commands: %j', (command) =>
    expect(run(command)).toBe('allow'),
  );
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
    // This is the same program on file systems that ignore letter case.
    'RM x',
  ])('are denied wherever they are recognized: %j', (command) => expect(run(command)).toBe('deny'));

  test.each(['ls -l', 'git pull && ls', 'echo rm', 'find . -name rm', 'git stash push'])(
    'do not affect other commands: %j',
    (command) => expect(run(command)).toBe('allow'),
  );

  test('of several words are recognized behind options, and asked for if the options may take values', () => {
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

  test('can be named by their full path', () => {
    const { run } = withRules(
      { tool: 'bash', decision: 'allow' },
      { tool: 'bash', command: '/opt/bin/deploy', decision: 'deny' },
    );
    expect(run('/opt/bin/deploy now')).toBe('deny');
    // The search path can lead to the denied program.
    expect(run('deploy now')).toBe('ask');
    expect(run('deployed now')).toBe('allow');
  });

  test('that an earlier rule asks about are allowed by a later rule, also behind options', () => {
    const { run } = withRules(
      { tool: 'bash', command: 'git push', decision: 'ask' },
      { tool: 'bash', command: 'git', decision: 'allow' },
    );
    expect(run('git push')).toBe('allow');
    expect(run('git -C elsewhere push')).toBe('allow');
  });
});

describe('a command that names a denied path', () => {
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

  test('is asked for if it is the target of a redirection', () => {
    const { run } = withRules({ tool: 'bash', decision: 'allow' }, ...rules);
    expect(run('cat < .env')).toBe('ask');
    expect(run('cat a >secret/b')).toBe('ask');
  });

  test('is asked for if a rule asks about the path', () => {
    expect(run('cat docs/a')).toBe('ask');
    expect(withRules(...rules, { decision: 'allow' }).run('cat docs/a')).toBe('allow');
  });

  test.each(['cat env', 'cat .env.example', 'cat secrets'])('is not %j', (command) =>
    expect(run(command)).toBe('allow'),
  );

  test('is allowed if exactly that line is allowed', () => {
    const policy = policyOf(rules);
    const call = { tool: 'bash', input: { command: 'cat .env' } };
    expect(policy.remember(policy.ruleFor(call, 'allow')).decide(call).decision).toBe('allow');
  });

  test('gives the reason', () => {
    const call = { tool: 'bash', input: { command: 'cat .env' } };
    expect(policyOf(rules).decide(call).reason).toBe('`cat .env` may use .env, which is denied');
  });
});

describe('a remembered rule', () => {
  test('gives a new policy and leaves the old one unchanged', () => {
    const policy = policyOf();
    const next = policy.remember({ tool: 'write', decision: 'allow' });
    expect(decideWith(policy).on('write', 'a')).toBe('ask');
    expect(decideWith(next).on('write', 'a')).toBe('allow');
  });

  test('may be exactly one command line with any syntax', () => {
    const policy = policyOf([git]);
    const call = { tool: 'bash', input: { command: 'npm test > out.txt' } };
    const { run } = decideWith(policy.remember(policy.ruleFor(call, 'allow')));
    expect(run('npm test > out.txt')).toBe('allow');
    expect(run('npm test > out.txt2')).toBe('ask');
    expect(run('npm test > out.txt; x')).toBe('ask');
    expect(run('git status')).toBe('allow');
  });

  test('may be one path, even one that looks like a glob', () => {
    const policy = policyOf();
    const call = { tool: 'edit', input: { path: './app/[id]/*.ts' } };
    const { on } = decideWith(policy.remember(policy.ruleFor(call, 'allow')));
    expect(on('edit', 'app/[id]/*.ts')).toBe('allow');
    expect(on('edit', 'app/i/a.ts')).toBe('ask');
    expect(on('write', 'app/[id]/*.ts')).toBe('ask');
  });

  test('is stored once, up to a limit', () => {
    const rule: PermissionRule = { tool: 'a', decision: 'allow' };
    expect(policyOf().remember(rule).remember(rule).remembered).toEqual([rule]);
    const remembered = Array.from({ length: 1000 }, (_, at) => ({ ...rule, tool: `t${at}` }));
    const full = policyOf([], { remembered });
    expect(() => full.remember(rule)).toThrow(AgentError);
    expect(full.remember({ ...rule, tool: 't5' }).remembered).toHaveLength(1000);
  });
});

test('a policy is the same after it was stored as JSON', () => {
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

test('a decision has a reason', () => {
  const policy = policyOf([git, { path: '.env', decision: 'deny', reason: 'it has secrets' }]);
  const reason = (tool: string, input: object) => policy.decide({ tool, input }).reason;
  expect(reason('read', { path: '.env' })).toBe('Reading .env is denied by a rule: it has secrets');
  expect(reason('bash', { command: 'git status && rm x' })).toBe('No rule allows `rm x`');
  expect(reason('bash', { command: 'git status > x' })).toBe(
    'No rule allows `git status`, and the command has a redirection',
  );
  expect(reason('read', { path: '../x' })).toMatch(/is outside the workspace$/);
});

describe('an invalid rule or policy is refused', () => {
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

  test.each([
    ...['~/x', '~root/.ssh/**', '$HOME', '$HOME/x', '$P4ROOT/x', '$home/x', '$' + '{HOME}/x'],
    ...['"$HOME/x"', '%USERPROFILE%/x', 'file:///etc/x', 'C:\\x', "'~/x'"],
  ])('18.778: a rule that denies the path %j, which is the path of no call', (path) => {
    expect(() => policyOf([{ path, decision: 'deny' }])).toThrow(/Write the absolute path/);
  });

  test.each(['~$$*', '$x', '~$plan', 'a:b', 'a$HOME/x', '50%/x%/y'])(
    'a rule that denies the usual name %j is accepted',
    (path) => {
      expect(() => policyOf([{ path, decision: 'deny' }])).not.toThrow();
    },
  );

  test('18.778: a rule whose program has a space', () => {
    const rule = { command: '"git push"', decision: 'deny' } as const;
    expect(() => policyOf([rule])).toThrow(/its program has a space/);
  });

  test('a relative root', () => {
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

test('an unknown field of a policy is refused, because it could have denied something', () => {
  const data = { root, rule: [{ path: '.env', decision: 'deny' }] };
  expect(() => permissionPolicy(data as PolicyData)).toThrow(
    expect.objectContaining({ code: 'bad_option' }),
  );
  // A policy object can also be used as the data of a policy.
  const policy = policyOf([{ path: '.env', decision: 'deny' }]);
  const copy = permissionPolicy({ ...policy, freeReading: true });
  expect(decideWith(copy).on('read', '.env')).toBe('deny');
});
