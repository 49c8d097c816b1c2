import {
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineTool } from '@millrace/agent';
import { createWorkspace, editTool, writeTool } from '@millrace/tools';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { previewOf } from '../agent/workspace-tools.ts';
import { keys, TestChat, toolCalls } from '../testing/test-chat.ts';

// The user changes the input of a call. The confirmation must show what the changed call does, and the call must do
// only this.

/** A chat with a call that changes `a.txt`, and with a file outside of its folder. */
function chatWith(name: 'edit' | 'write', link?: string) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'changed-')));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const root = mkdtempSync(join(folder, 'work-'));
  const at = (path: string) => join(root, path);
  writeFileSync(at('../outside.txt'), 'one\n');
  const lead = () => {
    rmSync(at('a.txt'), { force: true });
    symlinkSync('../outside.txt', at('a.txt'));
  };
  writeFileSync(at(link ?? 'a.txt'), 'one\ntwo\n');
  if (link !== undefined) symlinkSync(link, at('a.txt'));
  const workspace = createWorkspace({ root });
  const change = { edits: [{ old_text: 'one', new_text: 'new' }] };
  const input = { path: 'a.txt', ...(name === 'edit' ? change : { content: 'new\n' }) };
  const results: string[] = [];
  const chat = new TestChat({
    ...{ cwd: root, rows: 50, columns: 120, tools: [editTool(workspace), writeTool(workspace)] },
    script: [
      toolCalls(['c1', name, input]),
      (request) => {
        results.push(JSON.stringify(request));
        return 'Done.';
      },
    ],
    approve: ({ input: asked }) => {
      const path = at((asked as { readonly path: string }).path);
      return { decision: 'ask', reason: 'no rule allows it', judged: realpathSync(path) };
    },
    preview: (call, judged) => previewOf(workspace, call, judged),
  });
  const open = async () => {
    await chat.send('Go');
    await chat.waitForText('.txt (');
    await chat.quiet();
    chat.type('c');
    await chat.waitForText('Enter shows the changed call');
  };
  const read = (path: string) => readFileSync(at(path), 'utf8');
  return {
    chat,
    open,
    read,
    lead,
    results,
    write: (text: string) => writeFileSync(at('a.txt'), text),
  };
}

test('18.1142: attack: the file becomes a link to another file while the user changes the content', async () => {
  const { chat, open, read, lead, results } = chatWith('write');
  await open();
  lead();
  await chat.press('!');
  await chat.press(keys.enter);
  await chat.waitForText('Run it with this input?');
  await chat.quiet();
  await chat.press('y');
  await chat.waitForText('Done.');
  expect(read('../outside.txt')).toBe('one\n');
  expect(results[0]).toContain('It was not run: the user changed the input');
});

test('18.1143: attack: the changed call uses another path, which no question showed', async () => {
  const { chat, open } = chatWith('edit');
  await open();
  const input = { path: '../outside.txt', edits: [{ old_text: 'one', new_text: 'new' }] };
  for (let line = 0; line < 12; line++) chat.type('\x15\x7f');
  chat.type('\x0b');
  chat.type(JSON.stringify(input));
  await chat.quiet();
  await chat.press(keys.enter);
  await chat.waitForText('The path must stay a.txt');
  expect(chat.terminal.screen).not.toContain('Run it with this input?');
});

test('18.1144: the confirmation shows the real path and the lines that the changed content replaces', async () => {
  const { chat, open, read } = chatWith('write', 'b.txt');
  await open();
  await chat.press('!');
  await chat.press(keys.enter);
  await chat.waitForText('Run it with this input?');
  await chat.until(() => chat.terminal.screen.includes('+ new!'));
  const { screen } = chat.terminal;
  for (const shown of ['→ b.txt', '- two', 'no rule allows it']) expect(screen).toContain(shown);
  await chat.quiet();
  await chat.press('y');
  await chat.waitForText('Done.');
  expect(read('b.txt')).toBe('new!\n');
});

test('18.1144: attack: the file changes after the confirmation showed the changed call', async () => {
  const { chat, open, read, write } = chatWith('write');
  await open();
  await chat.press('!');
  await chat.press(keys.enter);
  await chat.waitForText('Run it with this input?');
  await chat.quiet();
  write('notes of an afternoon\n');
  await chat.press('y');
  await chat.waitForText('changed after its change was shown');
  expect(read('a.txt')).toBe('notes of an afternoon\n');
});

test('18.1145: attack: the confirmation gives the reason of the old command for the changed one', async () => {
  const bash = defineTool({
    ...{ name: 'bash', description: 'Runs', input: z.object({ command: z.string() }) },
    execute: async () => 'ok',
  });
  const chat = new TestChat({
    ...{ tools: [bash], script: [toolCalls(['c1', 'bash', { command: 'touch a' }]), 'Done.'] },
    approve: ({ input }) => {
      const { command } = input as { readonly command: string };
      return { decision: 'ask', reason: `no rule allows \`${command}\``, judged: 'here' };
    },
  });
  await chat.send('Go');
  await chat.waitForText('no rule allows');
  await chat.quiet();
  chat.type('c');
  await chat.waitForText('Enter shows the changed call');
  await chat.press('b');
  await chat.press(keys.enter);
  await chat.waitForText('Run it with this input?');
  const [, confirmed] = chat.terminal.screen.split('Run it with this input?');
  expect(confirmed).not.toContain('no rule allows `touch a`');
  // 18.1237: the reason of the changed command is a part of its question.
  expect(confirmed).toContain('no rule allows `touch ab`');
});
