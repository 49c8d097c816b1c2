import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { type JsonObject, sessionId, toolCallId } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { approveByPolicy } from '../permissions/approve-by-policy.ts';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import type { PermissionRule } from '../permissions/permission-rule.ts';
import { approveInSandbox } from '../sandbox/approve-in-sandbox.ts';
import { type CallPlace, callKey, unaskedReading } from '../sandbox/unasked-reading.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { testPlace } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { approveInMode, type PermissionMode } from './approve-in-mode.ts';

// A hostile model works in the mode `auto`, in which commands in the sandbox need no approval.

interface Setting {
  /** Default: `auto`. */
  readonly mode?: PermissionMode;
  readonly rules?: readonly PermissionRule[];
  readonly prepare?: (root: string) => void;
}

/** Returns functions that decide about a command in a mode, and that say how it is confined. */
function autoMode({ mode = 'auto', rules = [], prepare }: Setting = {}) {
  const root = temporaryFolder();
  prepare?.(root);
  const workspace = createWorkspace({ root });
  const policy = permissionPolicy({ root, rules, freeReading: true, hidesDenied: true });
  const reading = unaskedReading(() => policy);
  const byPolicy = approveByPolicy(policy, workspace);
  const approve = approveInMode({
    ...{ mode: () => mode, policy: () => policy, workspace, reading },
    approve: approveInSandbox(() => policy, byPolicy, reading),
  });
  const part = { kind: 'tool_call', toolCallId: toolCallId('c'), name: 'bash' } as const;
  return {
    async decide(command: string, place: CallPlace = testPlace): Promise<string> {
      const input: JsonObject = { command };
      const call = { ...part, arguments: JSON.stringify(input) };
      const pending = { name: 'bash', call, tool: { name: 'bash' }, input, summary: 'bash' };
      const ruling = await approve(pending as unknown as Parameters<typeof approve>[0], place);
      return typeof ruling === 'string' ? ruling : ruling.decision;
    },
    confinement: (command: string, place: CallPlace) =>
      reading.placeOf(
        { tool: 'bash', input: { command } },
        callKey({ call: { ...part, arguments: '' } }, place),
      ),
  };
}

function bash(command: string, setting: Setting = {}): Promise<string> {
  return autoMode(setting).decide(command);
}

test('18.177: attack: two sub-agents with the same call id both guard protected files', async () => {
  const { decide, confinement } = autoMode();
  const places = ['one', 'two'].map((name) => ({ session: sessionId(name), turn: 1 }));
  for (const place of places) expect(await decide('make build', place)).toBe('allow');
  for (const place of places)
    expect(await confinement('make build', place)).toMatchObject({
      place: 'profile',
      protect: expect.arrayContaining([expect.stringContaining('.npmrc')]),
    });
});

describe('a rule', () => {
  const guarded = { protect: expect.arrayContaining([expect.stringContaining('.npmrc')]) };
  const place = { session: sessionId('s'), turn: 1 };
  const confinementWith = async (rule: PermissionRule, mode: PermissionMode) => {
    const { decide, confinement } = autoMode({ mode, rules: [rule] });
    expect(await decide('npm test', place)).toBe('allow');
    return confinement('npm test', place);
  };

  test.each(['auto', 'accept-edits'] as const)(
    '18.182: attack: for the prefix `npm test` lifts the guard of protected files in the mode %s',
    async (mode) => {
      const prefix = { tool: 'bash', command: 'npm test', decision: 'allow' } as const;
      expect(await confinementWith(prefix, mode)).toMatchObject(guarded);
      const broad = { tool: 'bash', decision: 'allow', yields: true } as const;
      expect(await confinementWith(broad, mode)).toMatchObject(guarded);
    },
  );

  test.each<PermissionRule>([
    { tool: 'bash', command: 'npm test', exact: true, decision: 'allow' },
    { tool: 'bash', decision: 'allow' },
  ])('18.182: %j lifts the guard on purpose', async (rule) => {
    expect(await confinementWith(rule, 'auto')).not.toMatchObject(guarded);
  });
});

test.each([
  'mkdir -p .vscode; echo evil > .vscode/tasks.json',
  'echo evil >> .npmrc',
  "sh -c 'echo evil > .envrc'",
  'cp a .husky/pre-commit',
  'tee .github/workflows/a.yml < a',
  'git config --file=.gitmodules a.b c',
  'sed -i s/a/b/ CLAUDE.md',
  "python3 -c \"open('.mcp.json', 'w')\"",
  'ln -s a .idea',
])('18.123: attack: the mode auto asks about %j, which names a protected file', async (command) => {
  expect(await bash(command)).toBe('ask');
});

test.each([
  ...['npm test', 'head -5 a > b', 'git log HEAD~1 > c', 'mkdir -p src/tools', 'make build'],
  ...[
    "git tag -l 'v*'",
    'git stash show -p',
    'git -C src submodule status',
    'git archive HEAD > a.tar',
  ],
])('18.123: the mode auto does not ask about %j', async (command) => {
  expect(await bash(command)).toBe('allow');
});

test.each(['git reset HEAD~1', 'git commit -m x', 'cd src && git -C . add a', 'git stash'])(
  '18.1380: attack: the mode auto asks about %j, because git can later run what it stores',
  async (command) => {
    expect(await bash(command)).toBe('ask');
  },
);

describe('with a denied path that the sandbox cannot hide', () => {
  const rules = [{ tool: '*', path: 'private.txt', decision: 'deny' }] as const;
  const withFile = (root: string) => writeTree(root, { 'private.txt': 'secret', 'x.sh': 'ls' });
  const tracked = (root: string) => {
    withFile(root);
    for (const words of [
      ['init', '-q'],
      ['add', '.'],
    ])
      execFileSync('git', words, { cwd: root });
  };
  const undecodable = (root: string) => {
    withFile(root);
    writeFileSync(Buffer.concat([Buffer.from(`${root}/bad`), Buffer.of(0xff)]), '');
  };

  test.each([
    ['that git tracks', tracked, 'bash x.sh'],
    ['beside a name that is not valid UTF-8', undecodable, 'grep -r secret . > y'],
    ['beside a name that is not valid UTF-8', undecodable, 'bash x.sh'],
  ])('18.129: attack: the mode auto asks, for a path %s', async (_what, prepare, command) => {
    expect(await bash(command, { rules, prepare })).toBe('ask');
  });

  test('18.129: the mode auto does not ask if the sandbox can hide it', async () => {
    expect(await bash('bash x.sh', { rules, prepare: withFile })).toBe('allow');
  });
});

test.each([
  ['many different words', Array.from({ length: 5100 }, (_, at) => at.toString(36)).join(' ')],
  [
    'many folders in paths',
    Array.from({ length: 30 }, (_, at) => `${'a/'.repeat(1000)}${at}`).join(' '),
  ],
])('18.538: attack: a line with %s blocks the program, so it is asked about', async (_, words) => {
  expect(await autoMode().decide(`echo ${words}`)).toBe('ask');
});

test('18.538: a long line with few different words is checked, and needs no question', async () => {
  const { decide } = autoMode();
  const line = `echo ${'a '.repeat(40_000)} ${'b'.repeat(10_000)}`;
  expect(await decide(line)).toBe('allow');
  expect(await decide(`${line} .env`)).toBe('ask');
});

describe('the variables that the user adds to the environment', () => {
  const at = { session: sessionId('s'), turn: 1 };
  const modes = ['ask', 'accept-edits', 'auto'] as const;
  const placeWith = async (rule: PermissionRule, mode: PermissionMode, place: CallPlace = at) => {
    const { decide, confinement } = autoMode({ mode, rules: [rule] });
    const decision = await decide('make test', place);
    return { decision, ...(await confinement('make test', place)) };
  };

  test.each(
    modes.flatMap((mode) =>
      [
        { tool: 'bash', command: 'make test', decision: 'allow' } as const,
        { tool: 'bash', decision: 'allow', yields: true } as const,
      ].map((rule) => [mode, rule] as const),
    ),
  )('18.693: attack: a command in the mode %s gets them with the rule %j', async (mode, rule) => {
    const place = await placeWith(rule, mode);
    expect(place).toMatchObject({ decision: 'allow', place: 'profile', getsEnv: false });
  });

  test.each(modes)(
    '18.694: a command in the mode %s gets them with a rule for the line, and for all commands',
    async (mode) => {
      for (const more of [{ command: 'make test', exact: true }, {}])
        expect(await placeWith({ tool: 'bash', ...more, decision: 'allow' }, mode)).toMatchObject({
          ...{ decision: 'allow', place: 'profile', getsEnv: true },
        });
    },
  );

  test('18.694: a command that a person approves gets them', async () => {
    const rule = { tool: 'bash', command: 'make test', decision: 'ask' } as const;
    const answered = { ...at, isAnswered: true };
    for (const mode of modes)
      expect(await placeWith(rule, mode, answered)).toMatchObject({ getsEnv: true });
  });

  test('18.695: attack: a command without a decision about it gets them', async () => {
    const { confinement } = autoMode();
    expect(await confinement('make test', at)).toMatchObject({ getsEnv: false });
  });
});
