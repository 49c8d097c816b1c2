import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, type TestContext, test } from 'vitest';
import { processesIn } from '../../../../packages/tools/src/testing/processes.ts';
import { quietMs, settleMs } from '../input/answer/answer-guard.ts';
import { gatedAnswer, scriptedModel } from './testing/scripted-model.ts';
import { describeInTmux, terminalHarness, waitForDialog } from './testing/terminal-harness.ts';
import { waitOptions } from './testing/test-workspace.ts';

/** An editor that reads one key without echo, and ends when the file `close` exists. */
const editor = `#!/bin/sh
stty raw -echo
touch "$HOME/opened"
(sleep 0.2; dd bs=1 count=1 2>/dev/null > "$HOME/typed"; mv "$HOME/typed" "$HOME/read") < /dev/tty &
while [ ! -e "$HOME/close" ]; do sleep 0.1; done
kill $! 2>/dev/null
stty -raw echo
`;

/** An editor that reads no key, such as one that opens a window. It ends when the file `close` exists. */
const windowEditor = `#!/bin/sh
touch "$HOME/opened"
while [ ! -e "$HOME/close" ]; do sleep 0.1; done
`;

/** Opens an editor during a run. The run then asks to run a command that creates the file `ran`. */
async function askBehindEditor(context: TestContext, program: string, flags: string) {
  const { server, files, env } = await scriptedModel(context);
  const editors = { 'bin/editor': program };
  const { open, workspace } = terminalHarness(context, { ...files, ...editors });
  const terminal = await open({ env: { ...env, EDITOR: 'editor', VISUAL: '' } });
  const call = { name: 'bash', arguments: JSON.stringify({ command: 'touch ran' }) };
  const { reply, gates } = gatedAnswer(['I think. ', 'I run it.'], [call]);
  server.reply(reply);
  server.answer({ text: 'The end.' });
  await terminal.send(`millrace ${flags}`);
  await terminal.waitFor('\n>');
  await terminal.send('Go');
  await terminal.waitForPrinted(flags === '' ? 'I think.' : 'Working.');
  await terminal.press('C-g');
  const home = (name: string) => join(workspace.folder, 'home', name);
  await context.expect.poll(() => existsSync(home('opened')), waitOptions).toBe(true);
  for (const gate of gates) gate.open();
  // The question is due now, but the chat does not show it.
  await delay(3 * quietMs);
  const close = () => writeFileSync(home('close'), '');
  const hasRun = () => existsSync(join(workspace.project, 'ran'));
  return { terminal, close, hasRun, read: () => readFileSync(home('read'), 'utf8') };
}

/** Opens a question that a key answers now. */
async function askInShell(context: TestContext, command: string) {
  const { server, files, env } = await scriptedModel(context);
  const { open, workspace } = terminalHarness(context, files);
  const terminal = await open({ env });
  const call = { name: 'bash', arguments: JSON.stringify({ command: 'touch ran' }) };
  server.answer({ toolCalls: [call] });
  server.answer({ text: 'The end.' });
  await terminal.send(command);
  await terminal.waitFor('\n>');
  await terminal.send('Go');
  await terminal.waitFor(/y approves|Answer:/);
  const hasRun = () => existsSync(join(workspace.project, 'ran'));
  return { terminal, hasRun, pid: workspace.pids().at(-1) ?? 0 };
}

describeInTmux().concurrent('the editor of the user is open, and a question appears', () => {
  for (const flags of ['', '--plain']) {
    test(`18.1050: attack: a key for the editor answers the question ${flags}`, async (context) => {
      const { terminal, close, hasRun, read } = await askBehindEditor(context, editor, flags);
      await terminal.type('y');
      await context.expect.poll(read, waitOptions).toBe('y');
      close();
      await terminal.waitFor('Run `touch ran`?');
      await delay(2 * settleMs);
      expect(hasRun()).toBe(false);
    });

    test(`18.1051: attack: a key that waits when the editor ends answers the question ${flags}`, async (context) => {
      const { terminal, close, hasRun } = await askBehindEditor(context, windowEditor, flags);
      await terminal.type('y');
      await delay(quietMs);
      expect(hasRun()).toBe(false);
      close();
      await terminal.waitFor('Run `touch ran`?');
      await delay(2 * settleMs);
      expect(hasRun()).toBe(false);
    });
  }

  test('a single key answers the question after the editor has ended', async (context) => {
    const { terminal, close, hasRun } = await askBehindEditor(context, windowEditor, '');
    close();
    await waitForDialog(terminal);
    await terminal.press('y');
    await terminal.waitFor('The end.');
    expect(hasRun()).toBe(true);
  });
});

describeInTmux().concurrent('the process is stopped while a question is open', () => {
  for (const flags of ['', ' --plain']) {
    test(`18.1052: attack: a key that waits after fg answers the question${flags}`, async (context) => {
      const { terminal, hasRun } = await askInShell(context, `millrace${flags}`);
      await terminal.press('C-z');
      await terminal.waitFor('Stopped');
      await terminal.typeAtOnce('fg\ry');
      await terminal.waitFor(/(?:In the prompt: |> )y/);
      await delay(2 * settleMs);
      expect(hasRun()).toBe(false);
    });
  }

  test('18.1053: attack: another process stops and continues the chat', async (context) => {
    const { terminal, hasRun, pid } = await askInShell(context, `sh -c 'millrace; true'`);
    process.kill(pid, 'SIGSTOP');
    await terminal.type('y');
    process.kill(pid, 'SIGCONT');
    await terminal.type('z');
    // The chat drops a key that it reads before the signal.
    await terminal.waitFor(/In the prompt: y?z/);
    await delay(2 * settleMs);
    expect(hasRun()).toBe(false);
  });
});

describeInTmux().concurrent('the process is stopped while a command runs', () => {
  for (const start of ['millrace --yes', 'millrace -p --yes Go'])
    test(`18.1350: attack: a command works on while nothing checks it: ${start}`, async (context) => {
      const { server, files, env } = await scriptedModel(context);
      const { open, workspace } = terminalHarness(context, files);
      const terminal = await open({ env });
      const command = 'mkdir inner; cd inner; while :; do date > tick; done & while :; do :; done';
      server.answer({ toolCalls: [{ name: 'bash', arguments: JSON.stringify({ command }) }] });
      server.answer({ text: 'The end.' });
      await terminal.send(start);
      const isChat = !start.includes('-p');
      if (isChat) {
        await terminal.waitFor('\n>');
        await terminal.send('Go');
      }
      const inner = join(workspace.project, 'inner');
      const states = () => new Set(processesIn(inner).map(stateOf));
      await context.expect.poll(() => existsSync(join(inner, 'tick')), waitOptions).toBe(true);
      await terminal.press('C-z');
      await terminal.waitFor('Stopped');
      expect(states()).toEqual(new Set(['T']));
      await terminal.type('fg\r');
      await context.expect.poll(() => states().has('R'), waitOptions).toBe(true);
      await terminal.press(isChat ? 'Escape' : 'C-c');
      if (isChat) await terminal.waitFor('aborted before it finished');
      await context.expect.poll(states, waitOptions).toEqual(new Set());
    });
});

/** Returns the state of a process as one letter, or `gone`. */
function stateOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3);
  } catch {
    return 'gone';
  }
}
