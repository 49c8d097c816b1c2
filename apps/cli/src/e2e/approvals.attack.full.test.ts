import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { scriptedModel } from './testing/scripted-model.ts';
import {
  describeInTmux,
  idleHint,
  startChat,
  terminalHarness,
  waitForDialog,
} from './testing/terminal-harness.ts';
import type { TerminalOptions, TestTerminal } from './testing/test-terminal.ts';

interface OpenQuestion {
  readonly terminal: TestTerminal;
  /** Whether the command of the question ran. */
  readonly hasRun: () => boolean;
  /** The rules that were saved, as text. */
  readonly savedRules: () => string;
}

/** Opens a chat whose model asks to run a command that leaves the file `ran`. */
async function askToRun(
  context: TestContext,
  command: string,
  size: TerminalOptions = {},
): Promise<OpenQuestion> {
  const { server, files, env } = await scriptedModel(context);
  const { open, workspace } = terminalHarness(context, files);
  const terminal = await open({ ...size, env });
  const call = { name: 'bash', arguments: JSON.stringify({ command }) };
  server.answer({ text: 'I run it.', toolCalls: [call] });
  server.answer({ text: 'The end.' });
  server.answer({ text: 'The very end.' });
  await startChat(terminal);
  await terminal.send('Go');
  const rules = join(workspace.folder, 'home/.local/share/millrace/folders.json');
  return {
    terminal,
    hasRun: () => existsSync(join(workspace.project, 'ran')),
    savedRules: () => (existsSync(rules) ? readFileSync(rules, 'utf8') : ''),
  };
}

/** Denies what is still asked and waits for the end, so that an approval would have run. */
async function finish(terminal: TestTerminal): Promise<void> {
  for (let left = 5; left > 0; left--) {
    const screen = await terminal.waitFor(/Enter sends|Reason for denying|waiting for your answer/);
    if (screen.includes(idleHint) && !screen.includes('waiting for your answer')) return;
    if (screen.includes('Reason for denying')) await terminal.press('Enter');
    else {
      await waitForDialog(terminal);
      await terminal.press('Escape');
    }
    await terminal.waitFor(/Enter sends|Reason for denying/);
  }
}

const refusals: readonly (readonly [string, string])[] = [
  ['n and Enter', 'n\r'],
  ['no and Enter', 'no\r'],
  ['a sentence and Enter', 'do not run this please\r'],
  ['a pasted refusal and Enter', '\u001b[200~no, never run this\u001b[201~\r'],
  ['n, Enter and Enter', 'n\r\r'],
];

describeInTmux().concurrent('keys that are not an approval', () => {
  test.for(refusals)('attack 0: %s in one read do not run the call', async ([, bytes], context) => {
    const { terminal, hasRun } = await askToRun(context, 'touch ran');
    await waitForDialog(terminal);
    await terminal.typeAtOnce(bytes);
    await finish(terminal);
    expect(hasRun()).toBe(false);
  });
});
