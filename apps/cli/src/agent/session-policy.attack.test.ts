import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type JsonObject, sessionId, toolCallId } from '@millrace/core';
import {
  bashTool,
  callKey,
  createWorkspace,
  editTool,
  readTool,
  webFetchTool,
  writeTool,
} from '@millrace/tools';
import { describe, expect, onTestFinished, test } from 'vitest';
import { mergePermissions } from '../config/permissions.ts';
import { ruleFromText } from '../config/rule-text.ts';
import { createSessionPolicy } from './session-policy.ts';

// A hostile model misuses rules that the user granted. The rules have the form in which the command
// stores them.

interface Granted {
  /** The rules of `--allow`. */
  readonly flags?: readonly string[];
  /** Rules that the chat stored for the folder. */
  readonly stored?: readonly string[];
}

type Called = readonly [
  tool: 'bash' | 'write' | 'edit' | 'read',
  input: Readonly<Record<string, string>>,
];

async function decisionOn([name, input]: Called, { flags = [], stored = [] }: Granted) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'policy-')));
  onTestFinished(() => rmSync(root, { recursive: true }));
  execFileSync('git', ['init', '-q', root]);
  writeFileSync(join(root, '.env'), 'KEY=hush');
  const layers = { layers: [], decisions: { allow: stored }, foldersFile: undefined };
  const given = flags.map((text) => ruleFromText(text, 'allow'));
  const { rules } = await mergePermissions(layers, { rules: given });
  const workspace = createWorkspace({ root });
  const nothing = async () => {};
  const policy = createSessionPolicy({
    ...{ workspace, rules, saveRule: nothing, deleteRule: nothing },
    // Other tests attack the sandbox.
    isConfined: false,
  });
  const tools = [
    bashTool({ workspace }),
    writeTool(workspace),
    editTool(workspace),
    readTool(workspace),
  ];
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`There is no tool ${name}`);
  const part = { kind: 'tool_call', toolCallId: toolCallId('c'), name } as const;
  const call = { ...part, arguments: JSON.stringify(input) };
  const decided = await policy.approve(
    { name, call, tool, input, summary: name },
    { session: sessionId('s'), turn: 1 },
  );
  return typeof decided === 'string' ? decided : decided.decision;
}

const bash = (command: string): Called => ['bash', { command }];
const write = (path: string): Called => ['write', { path, content: '' }];
const edit = (path: string): Called => ['edit', { path }];
const read = (path: string): Called => ['read', { path }];

interface Attack extends Granted {
  readonly number: number;
  readonly call: Called;
  /** A call that the rules are supposed to allow. */
  readonly meant: Called;
}

const evilMake = "make test '--eval=$(shell touch x)'";
const attacks: readonly Attack[] = [
  {
    number: 6,
    stored: ['bash:git log'],
    meant: bash('git log -3'),
    call: bash('git log --output=x'),
  },
  {
    number: 6,
    flags: ['bash:git log'],
    meant: bash('git log -3'),
    call: bash('git log --output=x'),
  },
  { number: 6, stored: ['bash:make test'], meant: bash('make test -j4'), call: bash(evilMake) },
  {
    number: 6,
    stored: ['bash:gradle test'],
    meant: bash('gradle test'),
    call: bash('gradle test -I x'),
  },
  { number: 12, flags: ['write:**'], meant: write('src/a.ts'), call: write('.git/config') },
  {
    number: 12,
    flags: ['write:.git/config'],
    meant: write('.git/config'),
    call: write('.git/hooks/x'),
  },
  { number: 12, flags: ['write'], meant: write('a.ts'), call: write('.git/hooks/pre-commit') },
  { number: 12, flags: ['edit:**'], meant: edit('a.json'), call: edit('millrace.json') },
  { number: 13, meant: read('.env.example'), call: read('.env') },
  { number: 13, flags: ['read'], meant: read('a'), call: read('.env') },
  { number: 13, flags: ['read:.env'], meant: read('.env'), call: read('.npmrc') },
  { number: 13, stored: ['read=.env'], meant: read('.env'), call: read('a/.env') },
  { number: 13, flags: ['edit:**'], meant: edit('a.ts'), call: edit('.env') },
  { number: 13, meant: bash('cat .env.example'), call: bash('cat .env') },
];

test.for(attacks)('attack $number: $call is asked about', async ({ call, meant, ...granted }) => {
  expect(await decisionOn(meant, granted)).toBe('allow');
  expect(await decisionOn(call, granted)).toBe('ask');
});

test.each([
  ['a command', { command: 'npm test' }, 'allow'],
  ['network', { command: 'npm install', network: true }, 'ask'],
  ['a place outside of the sandbox', { command: 'npm install', outside_sandbox: true }, 'ask'],
])('attack: a hook of the user that allows a call of bash: %s', async (_what, input, decision) => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'policy-')));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const workspace = createWorkspace({ root });
  const nothing = async () => {};
  const policy = createSessionPolicy({
    ...{ workspace, rules: [], saveRule: nothing, deleteRule: nothing, isConfined: true },
  });
  const tool = bashTool({ workspace });
  const part = { kind: 'tool_call', toolCallId: toolCallId('c'), name: 'bash' } as const;
  const call = { ...part, arguments: JSON.stringify(input) };
  const asked = { name: 'bash', call, tool, input, summary: 'bash' };
  const decided = await policy.approveFreely(asked, { session: sessionId('s'), turn: 1 });
  expect(typeof decided === 'string' ? decided : decided.decision).toBe(decision);
  expect(policy.current().remembered).toEqual([]);
});

describe('18.195: attack: a hook of the user that allows every call', () => {
  const freely = async (name: string, input: object, isConfined: boolean) => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'policy-')));
    onTestFinished(() => rmSync(root, { recursive: true }));
    const workspace = createWorkspace({ root });
    const nothing = async () => {};
    const policy = createSessionPolicy({
      ...{ workspace, rules: [], saveRule: nothing, deleteRule: nothing, isConfined },
    });
    const tool = name === 'bash' ? bashTool({ workspace }) : webFetchTool();
    const part = { kind: 'tool_call', toolCallId: toolCallId('c'), name } as const;
    const call = { ...part, arguments: JSON.stringify(input) };
    const asked = { name, call, tool, input: input as JsonObject, summary: name };
    const at = { session: sessionId('s'), turn: 1 };
    const decided = await policy.approveFreely(asked, at);
    const decision = typeof decided === 'string' ? decided : decided.decision;
    return {
      decision,
      place: () => policy.reading?.placeOf({ tool: name, input }, callKey(asked, at)),
    };
  };

  const commands = [
    'mkdir .vscode; echo {} > .vscode/tasks.json',
    'echo x > CLAUDE.md',
    'cat .env',
    'python3 -c "print(open(\'.env\').read())"',
  ];
  test.each(
    commands.flatMap((command) =>
      [true, false].map((isConfined) => [command, isConfined] as const),
    ),
  )('does not allow %j (sandbox: %s)', async (command, isConfined) => {
    expect((await freely('bash', { command }, isConfined)).decision).toBe('ask');
  });

  test.each([true, false])('allows npm test (sandbox: %s)', async (isConfined) => {
    expect((await freely('bash', { command: 'npm test' }, isConfined)).decision).toBe('allow');
  });

  test('does not lift the guard of protected files', async () => {
    const { place } = await freely('bash', { command: 'npm test' }, true);
    expect(await place()).toMatchObject({ place: 'profile', protect: expect.any(Array) });
  });

  test('does not allow a request to the network', async () => {
    const { decision } = await freely('web_fetch', { url: 'https://example.com' }, true);
    expect(decision).toBe('ask');
  });
});
