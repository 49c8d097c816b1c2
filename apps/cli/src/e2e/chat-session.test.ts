import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { essaySections } from '../demo/essay.ts';
import {
  asked,
  atTheTerminal,
  countOf,
  describeInTmux,
  idle,
  startChat,
  wordsOf,
} from './testing/terminal-harness.ts';
import type { Terminal } from './testing/test-terminal.ts';
import { gone, type WorkPlace } from './testing/test-workspace.ts';

const sizes = [
  { columns: 80, rows: 24 },
  { columns: 200, rows: 50 },
];

/** What would take the history away: clearing the screen, the scrollback, or all of the terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what clears
const clears = /\u001b\[[23]J|\u001bc/;

type Killing = (place: WorkPlace, terminal: Terminal) => Promise<void>;

const programKilled: Killing = async ({ pids }) => {
  for (const pid of pids()) process.kill(pid, 'SIGKILL');
};
const terminalClosed: Killing = (_place, terminal) => terminal.close();

const followed = 'You follow it here, and can stop it, answer it and say more.';

describeInTmux().concurrent('a session with keys in a real terminal', () => {
  test('opens without a key, in an empty home, and says with which model', async (context) => {
    const { open } = atTheTerminal(context);
    const terminal = await open({ columns: 200, env: { MILLRACE_MODEL: '' } });
    expect(await startChat(terminal)).toMatch(/\nUsing .*\/help says what/);
    await terminal.press('C-d');
    await terminal.shows(/\/help says[^\n]*\n+\$/);
  });

  test.for(sizes)(
    'goes from the first message to --continue at $columns × $rows',
    async ({ columns, rows }, context) => {
      const { place, open } = atTheTerminal(context);
      const terminal = await open({ columns, rows });
      const keep = (name: string) => terminal.keep(`${columns}x${rows}-${name}`);
      await terminal.say('i=1; while [ $i -le 60 ]; do echo "before $i"; i=$((i+1)); done');
      await terminal.shows(/\nbefore 60\n\$/);

      await startChat(terminal);
      await keep('1-welcome');
      await terminal.say('hello there');
      await terminal.printed('› hello there');
      await keep('2-thinking');
      await terminal.printed('∴ thought for');
      // Calls that do not need each other stand together, each with its result.
      await terminal.printed('✓ Read README.md 3 lines ✓ Read package.json 1 line');
      await keep('3-parallel-tools');

      await asked(terminal);
      await keep('4-approval');
      const note = () => readFileSync(join(place.project, 'millrace-demo.md'), 'utf8');
      expect(note()).toContain('Visit 1.');
      await terminal.press('y');
      await terminal.shows('That was the tour.');
      const toured = await terminal.shows(idle);
      expect(note()).toContain('Visit 2.');
      expect(toured).toMatch(
        /✓ Edit millrace-demo.md .*\+1 −1\n[\s\S]*│ 3 - Visit 1\.\n {2}│ 3 \+ Visit 2\.\n/,
      );
      await keep('5-diff');

      await terminal.say('a long story');
      await terminal.printed('A model does not send an answer.');
      await keep('6-streaming');
      await terminal.printed('So the first rule is');
      // The beginning is read while the end is not said yet.
      expect(await terminal.everything()).not.toContain(essaySections.at(-1)?.slice(-40));
      await terminal.press('Escape');
      await terminal.shows('■ stopped');
      const stopped = answerIn(await terminal.shows(idle));
      await keep('7-stopped');
      expect(stopped).toContain('So the first rule is');
      expect(terminal.written).not.toMatch(clears);
      const history = await terminal.everything();
      for (let line = 1; line <= 60; line++) expect(countOf(history, `before ${line}\n`)).toBe(1);
      expect(countOf(history, 'answering ·')).toBe(0);
      expect(countOf(history, '1. Bytes')).toBe(1);

      await terminal.press('C-d');
      await terminal.shows(/To go on: millrace --continue.*\n+\$/);
      await terminal.clear();
      await startChat(terminal, '--continue');
      const again = await terminal.shows('■ stopped');
      await keep('8-continued');
      expect(answerIn(again)).toContain(stopped);
      await terminal.say('what are you?');
      await terminal.shows('I am the demo model of Millrace');
      await terminal.shows(/With \/model you choose among what is there\.\n[\s\S]*Enter sends/);
      await keep('9-went-on');
      await terminal.press('C-d');
      await terminal.shows(/To go on: [^\n]*\n+\$/);
    },
  );

  test('is followed live by a second terminal, which says who drives, approves and stops', async (context) => {
    const { place, open } = atTheTerminal(context);
    const first = await open();
    const second = await open({ columns: 100, rows: 30 });
    await startChat(first);
    await first.say('hello there');
    await asked(first);

    await second.say('millrace sessions');
    const [, id = ''] =
      /^(\w{8}) .*hello there/m.exec(await second.shows(/\w{8} .*hello there/)) ?? [];
    await second.say(`millrace --resume ${id}`);
    await second.until((screen) => wordsOf(screen).includes(followed), followed);
    await second.shows(/followed: .* drives/);
    await asked(second);
    await second.keep('two-terminals-second');
    await second.press('y');
    await first.shows('That was the tour.');
    await second.shows('That was the tour.');
    expect(readFileSync(join(place.project, 'millrace-demo.md'), 'utf8')).toContain('Visit 2.');
    await first.shows(idle);

    await first.say('a long story');
    await second.printed('› a long story');
    await second.printed('A model does not send an answer.');
    await second.shows(/followed: .* drives/);
    await second.keep('two-terminals-live');
    await second.press('Escape');
    await first.shows('■ stopped');
    await second.shows('■ stopped');
    await first.shows(idle);
    const end = await second.shows(idle);
    await second.keep('two-terminals-stopped');
    expect(end).not.toMatch(/followed/);

    // Nobody drives any more, so the second one does, and the first one follows.
    await second.say('what are you?');
    await first.printed('› what are you?');
    await first.printed('I am the demo model of Millrace');
  });

  test.for<[string, Killing]>([
    ['kill -9 of the program', programKilled],
    ['its terminal was closed', terminalClosed],
  ])(
    'has what was on the screen again after %s in the middle of an answer',
    async ([, kill], context) => {
      const { place, open } = atTheTerminal(context);
      const terminal = await open({ rows: 40 });
      await startChat(terminal);
      await terminal.say('a long story');
      await terminal.printed('and a proxy on the way');
      const seen = tailOf(await terminal.screen());
      await kill(place, terminal);
      const [pid = 0] = place.pids();
      await gone(pid);

      const other = await open({ rows: 40 });
      await startChat(other, '--continue');
      await other.shows(/■ (?:stopped|cut short)/);
      await other.shows(idle);
      await other.keep(`after-${kill.name}`);
      expect(wordsOf(await other.everything())).toContain(seen);
      await other.say('what are you?');
      await other.shows(/With \/model you choose among what is there\.\n[\s\S]*Enter sends/);
    },
  );
});

/** The end of the answer that was stopped, as far as it is on the screen. */
function answerIn(screen: string): string {
  const words = wordsOf(screen.slice(0, screen.indexOf('■ stopped')));
  return words.slice(words.indexOf('The bytes come in reads'));
}

/** What is on the screen of the long answer, to the last word that has come. */
function tailOf(screen: string): string {
  const from = Math.max(0, screen.indexOf('How a word gets'));
  const [answer = ''] = screen.slice(from).split(/\n. answering · /);
  expect(answer).toContain('and a proxy on the way');
  return wordsOf(answer);
}
