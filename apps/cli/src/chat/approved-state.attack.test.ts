import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentOptions, Tool } from '@millrace/agent';
import type { JsonObject } from '@millrace/core';
import { createWorkspace, editTool, writeTool } from '@millrace/tools';
import { expect, onTestFinished, test } from 'vitest';
import { previewOf } from '../agent/workspace-tools.ts';
import { TestChat, toolCalls } from '../testing/test-chat.ts';

// The user approves a change. Before the call runs, for example because it waits for an earlier call, the file
// changes. The call must not make a change that the user has not seen.

type Call = readonly [id: string, name: string, input: JsonObject];

/** A policy that asks about each call and names its real path, as the policy of the agent does. */
const asksAbout =
  (root: string): AgentOptions['approve'] =>
  ({ input }) => ({ decision: 'ask', judged: join(root, (input as { path: string }).path) });

/** A chat in which each call waits for `run` after its approval. */
function slowChat(files: Readonly<Record<string, string>>, ...calls: readonly Call[]) {
  const folder = mkdtempSync(join(tmpdir(), 'approved-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const at = (name: string) => join(folder, name);
  for (const [name, content] of Object.entries(files)) writeFileSync(at(name), content);
  const workspace = createWorkspace({ root: folder });
  const starts: (() => void)[] = [];
  const delayed = (tool: Tool): Tool => ({
    ...tool,
    execute: async (input, context) => {
      await new Promise<void>((resolve) => starts.push(resolve));
      return tool.execute(input, context) as never;
    },
  });
  const results: string[] = [];
  const answer = (request: unknown) => {
    results.push(JSON.stringify(request));
    return 'Done.';
  };
  const chat = new TestChat({
    ...{ cwd: folder, rows: 40, columns: 120, script: [toolCalls(...calls), answer] },
    tools: [editTool(workspace), writeTool(workspace)].map(delayed),
    approve: asksAbout(workspace.root),
    preview: (call, judged) => previewOf(workspace, call, judged),
  });
  const read = (name: string) => readFileSync(at(name), 'utf8');
  return { chat, starts, results, at, read };
}

const replaced = (old: string, now: string, all = false): JsonObject => ({
  ...{ path: 'rules.txt' },
  edits: [{ old_text: old, new_text: now, ...(all && { replace_all: true }) }],
});

/** Returns true if the dialog shows the preview of a change that adds this line. */
function isPreviewed({ terminal: { screen } }: TestChat, added: string): boolean {
  return screen.includes('rules.txt (+1 −1)') && screen.includes(added);
}

test.for([
  ['edit', replaced('deny', 'allow', true), 'a: deny\n', 'a: deny\nall: deny\n'],
  ['edit', replaced('deny', 'allow'), 'a: deny\nb: none\n', 'a: none\nb: deny\n'],
  ['write', { path: 'rules.txt', content: 'x\n' }, 'a: deny\n', 'notes of an afternoon\n'],
  ['write', { path: 'rules.txt', content: 'x\n' }, undefined, 'notes of an afternoon\n'],
] as const)(
  '18.1005: attack: an approved %s changes a file that changed after the approval',
  async ([name, input, before, after]) => {
    const files = before === undefined ? {} : { 'rules.txt': before };
    const { chat, starts, results, at, read } = slowChat(files, ['c1', name, input]);
    await chat.send('Go');
    await chat.waitForText('rules.txt (');
    await chat.quiet();
    await chat.press('y');
    await chat.until(() => starts.length === 1);
    writeFileSync(at('rules.txt'), after);
    starts[0]?.();
    await chat.waitForText('Done.');
    expect(read('rules.txt')).toBe(after);
    expect(results[0]).toContain('it changed after the user saw this change');
  },
);

test('18.1005: an approved call still runs if its file did not change', async () => {
  const input = replaced('deny', 'allow', true);
  const { chat, starts, read } = slowChat({ 'rules.txt': 'a: deny\n' }, ['c1', 'edit', input]);
  await chat.send('Go');
  await chat.waitForText('rules.txt (');
  await chat.quiet();
  await chat.press('y');
  await chat.until(() => starts.length === 1);
  starts[0]?.();
  await chat.waitForText('Done.');
  expect(read('rules.txt')).toBe('a: allow\n');
});

test('18.1006: two changes of one file both run if each is approved after the one before', async () => {
  const { chat, starts, read } = slowChat(
    { 'rules.txt': 'a: deny\nb: deny\n' },
    ['c1', 'edit', replaced('a: deny', 'a: allow')],
    ['c2', 'edit', replaced('b: deny', 'b: ask')],
  );
  await chat.send('Go');
  // The second preview is shown only after the first change: it has the changed line as context.
  const shown = ['+ a: allow', '   a: allow'];
  for (const [index, written] of ['a: allow', 'b: ask'].entries()) {
    await chat.until(() => isPreviewed(chat, shown[index] ?? ''));
    await chat.quiet();
    await chat.press('y');
    await chat.until(() => starts.length === index + 1);
    starts[index]?.();
    await chat.until(() => read('rules.txt').includes(written));
  }
  await chat.waitForText('Done.');
  expect(read('rules.txt')).toBe('a: allow\nb: ask\n');
});

test('18.1006: attack: a change that was approved before an earlier change runs after it', async () => {
  const { chat, starts, results, read } = slowChat(
    { 'rules.txt': 'a: none\nb: deny\n' },
    ['c1', 'edit', replaced('a: none', 'a: deny')],
    ['c2', 'edit', replaced('deny', 'allow', true)],
  );
  await chat.send('Go');
  for (const [index, text] of ['+ a: deny', '+ b: allow'].entries()) {
    await chat.until(() => isPreviewed(chat, text));
    await chat.quiet();
    await chat.press('y');
    await chat.until(() => starts.length === index + 1);
  }
  starts[0]?.();
  await chat.until(() => read('rules.txt').includes('a: deny'));
  starts[1]?.();
  await chat.waitForText('Done.');
  expect(read('rules.txt')).toBe('a: deny\nb: deny\n');
  expect(results[0]).toContain('it changed after the user saw this change');
});
