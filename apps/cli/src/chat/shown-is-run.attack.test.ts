import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AgentOptions, defineTool } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { createWorkspace, editTool, writeTool } from '@millrace/tools';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { previewOf } from '../agent/workspace-tools.ts';
import { TestChat, type TestChatOptions, toolCalls } from '../testing/test-chat.ts';

// The call that runs must be the call that the dialog showed, even if files change while the dialog
// is open.

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'shown-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** A policy that asks about each call and names its real path, as the policy of the agent does. */
const asksAbout =
  (root: string): AgentOptions['approve'] =>
  ({ input }) => ({ decision: 'ask', judged: join(root, (input as { path: string }).path) });

function chatIn(folder: string, options: TestChatOptions): TestChat {
  const workspace = createWorkspace({ root: folder });
  return new TestChat({
    ...{ cwd: folder, rows: 40, tools: [editTool(workspace), writeTool(workspace)] },
    approve: asksAbout(workspace.root),
    preview: (call, judged) => previewOf(workspace, call, judged),
    ...options,
  });
}

const source = `function test() {\n  // MARK\n}\n${'\n'.repeat(8)}function authorize(user) {\n  return user.isAdmin;\n}\n`;
const movesMark = {
  path: 'a.js',
  edits: [
    { old_text: '  // MARK\n', new_text: '  check();\n' },
    { old_text: '  return user.isAdmin;', new_text: '  // MARK\n  return user.isAdmin;' },
  ],
};
const replacesMark = {
  path: 'a.js',
  edits: [{ old_text: '  // MARK\n', new_text: '  return true;\n' }],
};
const twoEdits = toolCalls(['c1', 'edit', movesMark], ['c2', 'edit', replacesMark]);

test('attack: a call that changes the effect of the next one also changes its preview', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'a.js'), source);
  const chat = chatIn(folder, { script: [twoEdits, 'Done.'] });
  await chat.send('Go');
  await chat.waitForText('Edit a.js (+2 −1)');
  await chat.quiet();
  await chat.press('y');
  // The second change now applies to the other function.
  await chat.until(() => /function authorize[^?]*\+ {3}return true/.test(chat.terminal.screen));
  await chat.until(() => readFileSync(join(folder, 'a.js'), 'utf8').includes('check()'));
});

test('attack: an approval of a change of a file that changed meanwhile has no effect', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'a.js');
  writeFileSync(file, source);
  const chat = chatIn(folder, { script: [toolCalls(['c1', 'edit', replacesMark]), 'Done.'] });
  await chat.send('Go');
  await chat.waitForText('Edit a.js (+1 −1)');
  await chat.quiet();
  const moved = source
    .replace('  // MARK\n', '')
    .replace('  return user', '  // MARK\n  return user');
  writeFileSync(file, moved);
  await chat.press('y');
  await chat.waitForText('a.js changed after its change was shown');
  expect(readFileSync(file, 'utf8')).toBe(moved);
  await chat.until(() => /function authorize[^?]*\+ {3}return true/.test(chat.terminal.screen));
  // The new change needs a new answer.
  await chat.quiet();
  await chat.press('y');
  await chat.waitForText('Done.');
  expect(readFileSync(file, 'utf8')).toBe(moved.replace('  // MARK\n', '  return true;\n'));
});

test('attack: the answer for all calls does not cover a second change of one file', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'a.js'), source);
  const chat = chatIn(folder, { script: [twoEdits, 'Done.'] });
  await chat.send('Go');
  await chat.waitForText('Edit a.js (+2 −1)');
  await chat.quiet();
  chat.type('w');
  await chat.waitForText('Allow these 1? 1 more for the same file later');
  await chat.quiet();
  await chat.press('y');
  await chat.until(() => readFileSync(join(folder, 'a.js'), 'utf8').includes('check()'));
  await chat.until(() => /function authorize[^?]*\+ {3}return true/.test(chat.terminal.screen));
  expect(readFileSync(join(folder, 'a.js'), 'utf8')).not.toContain('return true');
});

const allowsAll = {
  path: 'rules.txt',
  edits: [{ old_text: 'deny', new_text: 'allow', replace_all: true }],
};
const withAll = toolCalls(
  ['c1', 'write', { path: 'notes.txt', content: 'hi\n' }],
  ['c2', 'edit', allowsAll],
);

test('attack: the answer for all calls shows every place that replace_all changes', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'rules.txt'), 'a: deny\nb: deny\nc: deny\nd: deny\n');
  const workspace = createWorkspace({ root: folder });
  const slow = Promise.withResolvers<void>();
  const chat = chatIn(folder, {
    script: [withAll, 'Done.'],
    preview: async (call, judged) => {
      if (call.tool === 'edit') await slow.promise;
      return previewOf(workspace, call, judged);
    },
  });
  await chat.send('Go');
  await chat.waitForText('Write notes.txt (new)');
  await chat.quiet();
  await chat.press('w');
  expect(chat.terminal.screen).not.toContain('Allow all 2?');
  slow.resolve();
  await chat.waitForText('Allow all 2?');
  for (const name of ['a', 'b', 'c', 'd'])
    expect(chat.terminal.screen).toContain(`+ ${name}: allow`);
});

test('attack: replace_all is shown although there is no preview', async () => {
  const chat = chatIn(temporaryFolder(), {
    script: [withAll, 'Done.'],
    preview: async () => undefined,
  });
  await chat.send('Go');
  await chat.waitForText('Write notes.txt');
  await chat.quiet();
  chat.type('w');
  await chat.waitForText('Allow all 2?');
  expect(chat.terminal.screen).toContain('Edit 1 of 1 replaces all places with its text');
});

test('attack: a terminal in another folder previews the file of the call', async () => {
  const [driven, other] = [temporaryFolder(), temporaryFolder()];
  const content = Array.from({ length: 12 }, (_, n) => `important ${n}\n`).join('');
  writeFileSync(join(driven, 'conf.txt'), content);
  const clock = new VirtualClock();
  const log = memoryLog({ clock });
  const call = toolCalls(['c1', 'write', { path: 'conf.txt', content: 'x\n' }]);
  const driver = chatIn(driven, { log, clock, script: [call, 'Done.'] });
  await driver.send('Go');
  await driver.waitForText('Write conf.txt (replaces 12 lines)?');
  const follower = chatIn(other, { log, clock, name: 'second', columns: 120 });
  await follower.waitForText(`Write conf.txt in ${driven} (replaces 12 lines)?`);
  await follower.quiet();
  expect(follower.terminal.screen).not.toContain('(new)');
  // A terminal in the same folder shows the preview of the change.
  const same = chatIn(driven, { log, clock, name: 'third', columns: 120 });
  await same.waitForText('Write conf.txt (replaces 12 lines)?');
});

test('18.1465: attack: a command looks like a part of a quoted text or of a comment', async () => {
  const command = 'git commit -m \ua78cTidy; rm -rf src\ua78c; git log \uff03 b; rm \u2010\u2010x';
  const bash = defineTool({
    ...{ name: 'bash', description: 'Runs', input: z.object({ command: z.string() }) },
    execute: async () => 'ran',
  });
  const chat = new TestChat({
    ...{ script: [toolCalls(['c1', 'bash', { command }]), 'Done.'], tools: [bash], columns: 120 },
    approve: () => ({ decision: 'ask', reason: `No rule allows \`${command}\`` }),
  });
  await chat.send('Go');
  await chat.waitForText('No rule allows');
  await chat.quiet();
  const question = chat.terminal.screen.slice(chat.terminal.screen.lastIndexOf('? Run'));
  const compact = question.replaceAll(/[\s│↳␣]/g, '');
  const shown =
    'git commit -m ‹U+A78C›Tidy; rm -rf src‹U+A78C›; git log ‹U+FF03› b; rm ‹U+2010›‹U+2010›x';
  expect(compact).toContain(shown.replaceAll(' ', ''));
  expect(question).not.toMatch(/[\ua78c\uff03\u2010]/);
});
