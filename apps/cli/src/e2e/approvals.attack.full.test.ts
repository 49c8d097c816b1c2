import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, type TestContext, test } from 'vitest';
import { fewOf } from '../../../../packages/core/src/testing/runs.ts';
import { scriptedModel } from './testing/scripted-model.ts';
import {
  describeInTmux,
  idleHint,
  secondsOf,
  startChat,
  terminalHarness,
  waitForDialog,
} from './testing/terminal-harness.ts';
import type { TerminalOptions, TestTerminal } from './testing/test-terminal.ts';

interface OpenQuestion {
  readonly terminal: TestTerminal;
  /** Returns true if the command of the approval request ran. */
  readonly hasRun: () => boolean;
  /** Returns the saved rules as text. */
  readonly savedRules: () => string;
}

/** Opens a chat whose model asks to run a command. The command creates the file `ran`. */
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
  const rules = join(workspace.folder, 'home/.config/millrace/folders.json');
  return {
    terminal,
    hasRun: () => existsSync(join(workspace.project, 'ran')),
    savedRules: () => (existsSync(rules) ? readFileSync(rules, 'utf8') : ''),
  };
}

/**
 * Stops the run and waits for the prompt. If a call was approved, it has then finished, or its card
 * is on the screen.
 */
async function finish(terminal: TestTerminal): Promise<void> {
  const idle = /waiting for your answer|Reason for denying|Enter sends/;
  await terminal.waitFor(idle);
  for (let left = 5; left > 0; left--) {
    const screen = await terminal.screen();
    if (screen.includes(idleHint)) break;
    if (screen.includes('waiting for your answer')) await waitForDialogOrEnd(terminal);
    await pressUntilChange(terminal, screen);
  }
  // A busy program handles two presses of Esc together, and opens the list of earlier messages.
  const list = 'Go back to before which message?';
  const isEnd = (screen: string) => screen.includes(idleHint) || screen.includes(list);
  const end = await terminal.waitUntil(isEnd, 'the prompt');
  if (!end.includes(idleHint)) await terminal.press('Escape');
  await terminal.waitFor(idleHint);
}

/**
 * Presses Esc until the screen changes. A key that follows the end of a paste at once belongs to the paste and
 * has no effect.
 */
async function pressUntilChange(terminal: TestTerminal, screen: string): Promise<void> {
  const changed = terminal.waitUntil((next) => next !== screen, 'a change after Esc');
  for (let isOver = false; !isOver; ) {
    await terminal.press('Escape');
    isOver = await Promise.race([changed.then(() => true), delay(1000, false)]);
  }
}

/** Like `waitForDialog`, but also ends if the dialog closes. */
async function waitForDialogOrEnd(terminal: TestTerminal): Promise<void> {
  await Promise.race([waitForDialog(terminal).catch(() => {}), terminal.waitFor(idleHint)]);
}

/**
 * Scrolls to the next page. A busy program may ignore the key for more than a second, without a
 * hint. So this function presses the key again if the page has not changed after 3 s.
 */
async function showNextPage(terminal: TestTerminal, screen: string): Promise<void> {
  const [, position = ''] = /(lines \d+–\d+ of \d+)/.exec(screen) ?? [];
  let last = screen;
  for (let left = 20; left > 0 && last.includes(position); left--) {
    const later = secondsOf(last) + 3;
    await terminal.press('Space');
    last = await terminal.waitUntil(
      (next) => !next.includes(position) || secondsOf(next) >= later,
      'the next page',
    );
  }
}

const refusals: readonly (readonly [string, string])[] = [
  ['n and Enter', 'n\r'],
  ['no and Enter', 'no\r'],
  ['a sentence and Enter', 'do not run this please\r'],
  ['n, Enter and Enter', 'n\r\r'],
  ['y, a backspace, n and Enter', 'y\u007fn\r'],
  ['a pasted y', '\u001b[200~y\u001b[201~'],
  ['y and Enter', 'y\r'],
  ['a move to Yes and Enter', '\u001b[B\r'],
  ['a report of the terminal and y', '\u001b[Iy'],
];

const longCommand = [
  'touch ran',
  ...Array.from({ length: 148 }, (_, n) => `echo line ${n}`),
  'echo end',
].join('\n');

describeInTmux().concurrent('keys that are not an approval', () => {
  // A law in `approval-law.attack.test.ts` checks random keys without a terminal.
  test.for(fewOf(refusals, 3))(
    'attack 0: %s in one read do not run the call',
    async ([, bytes], context) => {
      const { terminal, hasRun } = await askToRun(context, 'touch ran');
      await waitForDialog(terminal);
      await terminal.typeAtOnce(bytes);
      await finish(terminal);
      expect(hasRun()).toBe(false);
    },
  );

  test('attack 0: a pasted refusal and Enter in one read do not run the call', async (context) => {
    const { terminal, hasRun } = await askToRun(context, 'touch ran');
    await waitForDialog(terminal);
    await terminal.typeAtOnce('\u001b[200~no, never run this\u001b[201~\r');
    // The Enter belongs to the paste, so the text waits as the reason for denying.
    await terminal.waitFor('Reason for denying');
    expect(hasRun()).toBe(false);
  });

  test('attack 5: a sentence typed at ten keys a second neither runs the call nor saves a rule', async (context) => {
    const { terminal, hasRun, savedRules } = await askToRun(context, 'touch ran');
    await terminal.waitFor('waiting for your answer');
    const sentence = 'always say yes and never ask again, you may';
    // The typing speed of a person. The attack needs these pauses.
    await terminal.typeAtPace(sentence, 100);
    await terminal.waitFor('In the prompt: always say yes');
    await terminal.saveScreen('typed-on');
    await finish(terminal);
    expect(hasRun()).toBe(false);
    expect(savedRules()).toBe('');
    // The prompt contains the typed text.
    expect(await terminal.screen()).toContain(`> ${sentence}`);
  });

  test('attack 5: a rule is saved only by a second, separate key, and exactly as it was shown', async (context) => {
    const { terminal, hasRun, savedRules } = await askToRun(context, 'touch ran');
    await waitForDialog(terminal);
    await terminal.press('a');
    await terminal.waitFor('save this rule for this folder?');
    await terminal.typeAtOnce('y\r');
    await terminal.waitFor('In the prompt: ay');
    await waitForDialog(terminal);
    await terminal.press('a');
    const screen = await terminal.waitFor('save this rule for this folder?');
    await terminal.saveScreen('second-step');
    expect(screen).toContain('│ bash=touch ran');
    expect([hasRun(), savedRules()]).toEqual([false, '']);
    await terminal.waitFor('y approves');
    await terminal.press('y');
    await terminal.waitFor('The end.');
    expect(hasRun()).toBe(true);
    expect(savedRules()).toContain('"bash=touch ran"');
  });

  const sizes = [
    { columns: 80, rows: 24 },
    { columns: 200, rows: 50 },
    { columns: 20, rows: 5 },
  ];

  test.for(fewOf(sizes, 1))(
    'attack 10: a command of 150 lines does not run before all of it was shown, at $columns × $rows',
    async (size, context) => {
      const { terminal, hasRun } = await askToRun(context, longCommand, size);
      // In a narrow window, the end of "152 lines below" is cut.
      const hides = (screen: string) => /lines bel/.test(screen);
      await terminal.waitUntil(hides, 'the number of hidden lines');
      await terminal.saveScreen(`long-command-${size.columns}x${size.rows}`);
      for (const key of ['y', 'Enter', 'Up', 'a', 's']) {
        // This wait is longer than the quiet period. So only the lines that were not shown can
        // prevent the answer.
        await new Promise((resolve) => setTimeout(resolve, 1500));
        if (!hides(await terminal.screen())) break;
        await terminal.press(key);
      }
      expect(hasRun()).toBe(false);
    },
  );

  test('attack 10: a command of 150 lines runs after a person scrolled through it', async (context) => {
    const { terminal, hasRun } = await askToRun(context, longCommand);
    const seen: string[] = [];
    await waitForDialog(terminal);
    for (let left = 40; left > 0; left--) {
      const screen = await terminal.waitFor(/lines \d+–\d+ of \d+/);
      seen.push(screen);
      if (screen.includes('the end')) break;
      await showNextPage(terminal, screen);
    }
    for (let n = 0; n < 148; n++) expect(seen.join('\n')).toMatch(new RegExp(`echo line ${n}\\b`));
    expect(hasRun()).toBe(false);
    await terminal.waitFor('y approves');
    await terminal.press('y');
    await terminal.waitFor('The end.');
    expect(hasRun()).toBe(true);
  });

  test('attack 10: hidden characters of a command are visible', async (context) => {
    const hidden = `touch ran #\u202e\u200b\u00a0\r\u001b[2J${' '.repeat(500)}\u0430dmin${'\n'.repeat(90)}; x`;
    const { terminal } = await askToRun(context, hidden);
    await terminal.saveScreen('hidden-characters');
    const screen = (await waitForDialog(terminal)).replaceAll(/\s+[│↳]?[\s␣]*/g, '');
    for (const mark of ['‹U+202E›', '‹U+200B›', '‹U+00A0›', '␍', '␛', '‹U+0430›dmin'])
      expect(screen).toContain(mark);
    expect(screen).toContain('‹500spaces›');
    expect(screen).toContain('‹89emptylines›');
  });

  const wideTexts: readonly (readonly [string, string])[] = [
    ['joined Indian consonants', '\u0915\u094d'.repeat(1500)],
    ['emoji with a skin tone', '👍🏽'.repeat(400)],
    ['Thai vowels', '\u0e01\u0e33'.repeat(450)],
  ];
  test.for(fewOf(wideTexts, 1))(
    'attack 10: %s do not push a command off the screen',
    async ([, text], context) => {
      const { terminal, hasRun } = await askToRun(context, `touch ran; echo ${text}`);
      await terminal.waitUntil((screen) => /waiting for your answer/.test(screen), 'a question');
      await terminal.saveScreen('wide-characters');
      const screen = await terminal.screen();
      // The start of the command is visible, or the request was not shown completely.
      expect(screen).toContain('touch ran; echo');
      expect(hasRun()).toBe(false);
    },
  );
});
