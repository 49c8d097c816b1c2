import { existsSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { memoryLog } from '@millrace/log';
import { createWorkspace, type PermissionRule } from '@millrace/tools';
import { describe, expect, test } from 'vitest';
import { expandPrompt } from '../extensions/slash-prompts.ts';
import { readMentionedFiles } from '../input/attachments/mentioned-files.ts';
import { readPictures } from '../input/attachments/mentioned-pictures.ts';
import { extendedAgent, folderWith, hookSettings } from '../testing/test-agent.ts';
import { createSessionPolicy } from './session-policy.ts';
import { unaskedCalls } from './unasked-calls.ts';
import { readingTools } from './workspace-tools.ts';

// A project chooses the calls: its command has shell blocks and mentions files.

/** Starts a command of a project, with a hook of the user that gives this answer about each call. */
async function withHook(event: 'PreToolUse' | 'PostToolUse', answer: object, times = 1) {
  const { built, extensions, home } = await extendedAgent(
    {
      'home/.claude/settings.json': hookSettings(event, 'sh ~/guard.sh'),
      'home/guard.sh': `cat >> ~/calls; echo >> ~/calls; cat ~/answer.json`,
      'home/answer.json': JSON.stringify(answer),
      'project/.claude/commands/go.md': 'Check: !`cat notes.txt` and @notes.txt',
      'project/notes.txt': 'private-text',
      'project/public.txt': 'public-text',
    },
    [],
  );
  const texts: string[] = [];
  for (let left = times; left > 0; left--)
    texts.push(...(await expandPrompt(extensions, '/go', [], built.runUnasked)));
  const calls = join(home, 'calls');
  const asked = existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : [];
  return { text: texts.join('\n'), asked };
}

test('18.631: attack: a shell block and a mention avoid a hook that ends the run', async () => {
  const { text } = await withHook('PreToolUse', { continue: false, stopReason: 'Closed' });
  expect(text).not.toContain('private-text');
  expect(text).toContain('were not run');
});

test('18.631: attack: a shell block and a mention avoid a hook that changes the input', async () => {
  const updatedInput = { command: 'cat public.txt', file_path: 'public.txt' };
  const { text } = await withHook('PreToolUse', { hookSpecificOutput: { updatedInput } });
  expect(text).not.toContain('private-text');
  expect(text.match(/public-text/g)).toHaveLength(2);
});

test('18.631: attack: a hook changes a shell block to a command that needs a question', async () => {
  const updatedInput = { command: 'touch made.txt', file_path: '.env' };
  const { text } = await withHook('PreToolUse', { hookSpecificOutput: { updatedInput } });
  expect(text).toContain('were not run');
  expect(text).not.toContain('private-text');
});

test('18.631: attack: a hook decides about the first of two identical shell blocks only', async () => {
  const once = await withHook('PreToolUse', {});
  const twice = await withHook('PreToolUse', {}, 2);
  expect(once.text).toContain('private-text');
  expect(twice.asked).toHaveLength(2 * once.asked.length);
});

test('18.631: attack: a shell block and a mention avoid a hook that runs after a call', async () => {
  const { text, asked } = await withHook('PostToolUse', { continue: false, stopReason: 'Closed' });
  expect(text).not.toContain('private-text');
  expect(asked.join()).toContain('private-text');
});

test('18.631: the text of a hook is beside the output of a shell block', async () => {
  const said = { hookSpecificOutput: { additionalContext: 'Ship on Friday.' } };
  const { text } = await withHook('PostToolUse', said);
  expect(text).toContain('private-text\n\n<hook>\nShip on Friday.\n</hook>');
});

test('18.632: attack: a link changes after the decision about a mentioned file', async () => {
  const root = folderWith({ 'public.txt': 'public-text', '.env': 'KEY=hush' });
  symlinkSync('public.txt', join(root, 'link.txt'));
  const workspace = createWorkspace({ root });
  const policy = createSessionPolicy({
    ...{ workspace, rules: [{ path: '.env', decision: 'deny' }], isConfined: false },
    ...{ saveRule: async () => {}, deleteRule: async () => {} },
  });
  let isSwapped = false;
  const run = unaskedCalls({
    approve: async (call, at) => {
      const ruling = await policy.approve(call, at);
      if (!isSwapped) return ruling;
      symlinkSync('.env', join(root, 'next'));
      renameSync(join(root, 'next'), join(root, 'link.txt'));
      return ruling;
    },
    ...{ tools: readingTools(workspace, policy.policies), hooks: undefined, log: memoryLog() },
  });
  expect(await readMentionedFiles('See @link.txt', run)).toEqual([
    expect.stringContaining('public-text'),
  ]);
  isSwapped = true;
  expect(await readMentionedFiles('See @link.txt', run)).toEqual([]);
});

describe('a picture or a PDF document that a message mentions', () => {
  const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3);
  const names = ['shot.png', 'doc.pdf', 'private/shot.png', 'private/doc.pdf', '.env.pdf'];

  /** Creates an agent with these rules, whose hook gives this answer about each call. */
  async function pictures(rules: readonly PermissionRule[], answer?: object) {
    const { built, cwd, home } = await extendedAgent(
      {
        ...(answer && {
          'home/.claude/settings.json': hookSettings('PreToolUse', 'sh ~/guard.sh'),
        }),
        'home/guard.sh': 'cat >> ~/calls; echo >> ~/calls; cat ~/answer.json',
        'home/answer.json': JSON.stringify(answer ?? {}),
        'project/private/a.txt': '',
      },
      [],
      { config: { permissions: { mode: 'ask', rules } } },
    );
    const write = (folder: string, name: string) =>
      writeFileSync(join(folder, name), name.endsWith('.png') ? png : '%PDF-1.4\n');
    for (const name of names) write(cwd, name);
    write(join(cwd, '..'), 'out.png');
    symlinkSync('private/shot.png', join(cwd, 'link.png'));
    const calls = join(home, 'calls');
    return {
      cwd,
      sent: async (text: string) =>
        (await readPictures(text, { cwd, home, chosen: [text], run: built.runUnasked })).length,
      asked: () => (existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : []),
    };
  }

  test.each([
    ['denies the call', { hookSpecificOutput: { permissionDecision: 'deny' } }],
    ['asks', { hookSpecificOutput: { permissionDecision: 'ask' } }],
    ['ends the run', { continue: false, stopReason: 'Closed' }],
    ['blocks the call', { decision: 'block', reason: 'No' }],
  ])('18.894: attack: is sent although a hook %s', async (_, answer) => {
    const { sent, asked } = await pictures([], answer);
    const all = ['@shot.png', './shot.png', '@doc.pdf', '../out.png', '@link.png'];
    for (const text of all) expect(await sent(text), text).toBe(0);
    expect(asked()).toHaveLength(all.length);
  });

  test.each<readonly [PermissionRule, readonly string[]]>([
    [{ tool: 'read', decision: 'deny' }, ['@shot.png', '@doc.pdf', '../out.png']],
    [{ tool: 'read', decision: 'ask' }, ['@shot.png', '@doc.pdf', '../out.png']],
    [{ decision: 'ask' }, ['@shot.png', '../out.png']],
    [
      { path: 'private/**', decision: 'ask' },
      ['@private/shot.png', '@private/doc.pdf', 'link.png'],
    ],
    [
      { path: 'private/**', decision: 'deny' },
      ['@private/shot.png', '@private/doc.pdf', 'link.png'],
    ],
    [{ path: 'out.png', decision: 'ask' }, ['../out.png']],
    [{ path: 'out.png', decision: 'deny' }, ['../out.png']],
  ])('18.895: attack: is sent although the rule %j applies', async (rule, texts) => {
    const { sent } = await pictures([rule]);
    for (const text of texts) expect(await sent(text), text).toBe(0);
  });

  test('is sent if no rule and no hook is against it', async () => {
    const { sent, asked } = await pictures([{ path: 'other/**', decision: 'deny' }], {});
    const all = ['@shot.png', './doc.pdf', '@private/shot.png', 'link.png', '../out.png'];
    for (const text of all) expect(await sent(text), text).toBe(1);
    expect(asked()).toHaveLength(all.length);
    expect(await sent('@.env.pdf')).toBe(0);
  });

  test('is reported if it is too large', async () => {
    const { sent, cwd } = await pictures([]);
    writeFileSync(join(cwd, 'big.png'), Buffer.concat([png, Buffer.alloc(5_000_001)]));
    await expect(sent('@big.png')).rejects.toThrow('Cannot send big.png');
  });
});
