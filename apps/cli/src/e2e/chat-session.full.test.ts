import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fewOf } from '../../../../packages/core/src/testing/runs.ts';
import { essaySections } from '../demo/essay.ts';
import {
  countOf,
  describeInTmux,
  idleHint,
  promptText,
  startChat,
  terminalHarness,
  waitForDialog,
  withoutLayout,
} from './testing/terminal-harness.ts';
import type { TestTerminal } from './testing/test-terminal.ts';
import { type TestWorkspace, waitForExit } from './testing/test-workspace.ts';

const sizes = [
  { columns: 80, rows: 24 },
  { columns: 200, rows: 50 },
];

/**
 * Sequences that would destroy the scrollback. They clear the screen, the scrollback or the
 * terminal.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what clears
const clears = /\u001b\[[23]J|\u001bc/;

type Kill = (workspace: TestWorkspace, terminal: TestTerminal) => Promise<void>;

const programKilled: Kill = async ({ pids }) => {
  for (const pid of pids()) process.kill(pid, 'SIGKILL');
};
const terminalClosed: Kill = (_workspace, terminal) => terminal.close();

const followNotice = 'You follow it here and can send messages, answer approvals and stop it.';

describeInTmux().concurrent('a session with keys in a real terminal', () => {
  test('starts without an API key in an empty home, and shows the model', async (context) => {
    const { open } = terminalHarness(context);
    const terminal = await open({ columns: 200, env: { MILLRACE_MODEL: '' } });
    await terminal.send('millrace');
    await terminal.waitFor(/Enter starts the demo/);
    await terminal.press('Enter');
    expect(await terminal.waitFor(promptText)).toMatch(/\nUsing .*\/help lists commands/);
    await terminal.press('C-d');
    await terminal.waitFor(/\/help lists[\s\S]*\n\$/);
  });

  test.for(fewOf(sizes, 1))(
    'goes from the first message to --continue at $columns × $rows',
    async ({ columns, rows }, context) => {
      const { workspace, open } = terminalHarness(context);
      const terminal = await open({ columns, rows });
      const keep = (name: string) => terminal.saveScreen(`${columns}x${rows}-${name}`);
      await terminal.send('i=1; while [ $i -le 60 ]; do echo "before $i"; i=$((i+1)); done');
      await terminal.waitFor(/\nbefore 60\n\$/);

      await startChat(terminal);
      await keep('1-welcome');
      await terminal.send('hello there');
      await terminal.waitForPrinted('› hello there');
      await keep('2-thinking');
      await terminal.waitForPrinted('∴ thought for');
      // Parallel calls are shown together, each with its result. A slow machine also shows durations.
      await terminal.waitForPrinted(
        /✓ Read README\.md 3 lines( · [\d.]+ s)? ✓ Read package\.json 1 line/,
      );
      await keep('3-parallel-tools');

      await waitForDialog(terminal);
      await keep('4-approval');
      const note = () => readFileSync(join(workspace.project, 'millrace-demo.md'), 'utf8');
      expect(note()).toContain('Visit 1.');
      await terminal.press('y');
      await terminal.waitFor('That was the tour.');
      const toured = await terminal.waitFor(idleHint);
      expect(note()).toContain('Visit 2.');
      expect(toured).toMatch(
        /✓ Edit millrace-demo.md .*\+1 −1( · [\d.]+ s)?\n[\s\S]*│ 3 - Visit 1\.\n {2}│ 3 \+ Visit 2\.\n/,
      );
      await keep('5-diff');

      await terminal.send('a long story');
      await terminal.waitForPrinted('A model does not send a finished answer.');
      await keep('6-streaming');
      await terminal.waitForPrinted('So the result must not depend');
      // The start of the answer is visible before its end is written.
      expect(await terminal.scrollback()).not.toContain(essaySections.at(-1)?.slice(-40));
      await terminal.press('Escape');
      await terminal.waitFor('■ stopped');
      await terminal.waitFor(idleHint);
      // A slow machine prints more of the answer before it reads Esc. So the start may have
      // scrolled away.
      const stopped = answerIn(await terminal.scrollback());
      await keep('7-stopped');
      expect(stopped).toContain('So the result must not depend');
      expect(terminal.written).not.toMatch(clears);
      const history = await terminal.scrollback();
      for (let line = 1; line <= 60; line++) expect(countOf(history, `before ${line}\n`)).toBe(1);
      expect(countOf(history, 'answering ·')).toBe(0);
      expect(countOf(history, '1. Bytes')).toBe(1);

      await terminal.press('C-d');
      await terminal.waitFor(/To continue: millrace --continue.*\n+\$/);
      await terminal.clear();
      await startChat(terminal, '--continue');
      await terminal.waitFor('■ stopped');
      await keep('8-continued');
      expect(answerIn(await terminal.scrollback())).toContain(stopped);
      await terminal.send('what are you?');
      await terminal.waitFor('I am the demo model of Millrace');
      await terminal.waitFor(/Use \/model to choose a model\.\n[\s\S]*Enter sends/);
      await keep('9-went-on');
      await terminal.press('C-d');
      await terminal.waitFor(/To continue: [^\n]*\n+\$/);
    },
  );

  test('is followed live by a second terminal, which shows the driver, approves and stops', async (context) => {
    const { workspace, open } = terminalHarness(context);
    const first = await open();
    const second = await open({ columns: 100, rows: 30 });
    await startChat(first);
    await first.send('hello there');
    await waitForDialog(first);

    await second.send('millrace sessions');
    const [, id = ''] =
      /^(\w{8}) .*hello there/m.exec(await second.waitFor(/\w{8} .*hello there/)) ?? [];
    await second.send(`millrace --resume ${id}`);
    await second.waitUntil((screen) => withoutLayout(screen).includes(followNotice), followNotice);
    await second.waitFor(/driven by /);
    await waitForDialog(second);
    await second.saveScreen('two-terminals-second');
    await second.press('y');
    await first.waitFor('That was the tour.');
    await second.waitFor('That was the tour.');
    expect(readFileSync(join(workspace.project, 'millrace-demo.md'), 'utf8')).toContain('Visit 2.');
    await first.waitFor(idleHint);

    await first.send('a long story');
    await second.waitForPrinted('› a long story');
    await second.waitForPrinted('A model does not send a finished answer.');
    await second.waitFor(/driven by /);
    await second.saveScreen('two-terminals-live');
    await second.press('Escape');
    await first.waitFor('■ stopped');
    await second.waitFor('■ stopped');
    await first.waitFor(idleHint);
    const end = await second.waitFor(idleHint);
    await second.saveScreen('two-terminals-stopped');
    expect(end).not.toMatch(/driven by/);

    // No process drives the session now. So the second terminal drives it, and the first one
    // follows.
    await second.send('what are you?');
    await first.waitForPrinted('› what are you?');
    await first.waitForPrinted('I am the demo model of Millrace');
  });

  test.for<[string, Kill]>([
    ['kill -9 of the program', programKilled],
    ['its terminal was closed', terminalClosed],
  ])('shows the same text again after %s during an answer', async ([, kill], context) => {
    const { workspace, open } = terminalHarness(context);
    const terminal = await open({ rows: 40 });
    await startChat(terminal);
    await terminal.send('a long story');
    await terminal.waitForPrinted('and a proxy on the way');
    const seen = tailOf(await terminal.screen());
    await kill(workspace, terminal);
    const [pid = 0] = workspace.pids();
    await waitForExit(pid);

    const other = await open({ rows: 40 });
    await startChat(other, '--continue');
    await other.waitFor(/■ (?:stopped|interrupted)/);
    await other.waitFor(idleHint);
    await other.saveScreen(`after-${kill.name}`);
    expect(withoutLayout(await other.scrollback())).toContain(seen);
    await other.send('what are you?');
    await other.waitFor(/Use \/model to choose a model\.\n[\s\S]*Enter sends/);
  });
});

/** Returns the stopped answer, starting with its third paragraph. */
function answerIn(history: string): string {
  const words = withoutLayout(history.slice(0, history.indexOf('■ stopped')));
  return words.slice(words.indexOf('The bytes arrive in chunks'));
}

/** Returns the visible part of the long answer, up to the last word. */
function tailOf(screen: string): string {
  const from = Math.max(0, screen.indexOf('How text gets'));
  const [answer = ''] = screen.slice(from).split(/\n. answering · /);
  expect(answer).toContain('and a proxy on the way');
  return withoutLayout(answer);
}
