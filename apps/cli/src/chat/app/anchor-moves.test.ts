import { expect, test } from 'vitest';
import { FakeTerminal } from '../../testing/fake-terminal.ts';
import { anchorMoves } from './anchor-moves.ts';

/** What was printed, and below it four rows that are drawn again and again; the cursor is in the second. */
const drawn = 'printed\nactivity 1\n> prompt\nhint\nstatus\n\u001b[3A\u001b[3G';
/** Only the first of them has changed. */
const frame =
  '\u001b[3B\u001b[1G\u001b[4A\u001b[1G\u001b[Kactivity 2\n\u001b[E\u001b[E\u001b[E\u001b[3A\u001b[3G';

test('a frame is drawn where it was', () => {
  const [plain, anchored] = [new FakeTerminal(), new FakeTerminal()];
  plain.write(drawn + frame);
  anchored.write(drawn + anchorMoves(frame));
  expect(anchored.screen).toBe('printed\nactivity 2\n> prompt\nhint\nstatus');
  expect([anchored.screen, anchored.cursor]).toEqual([plain.screen, plain.cursor]);
});

test('where the terminal has dropped the rows below the cursor, nothing above the frame is drawn over', () => {
  const dropped = 'first\nsecond\nprinted\nactivity 1\n> prompt\u001b[3G';
  const terminal = new FakeTerminal({ rows: 5 });
  terminal.write(dropped);
  terminal.write(anchorMoves(frame));
  terminal.write(anchorMoves(frame));
  expect(terminal.text).toBe('first\nsecond\nprinted\nactivity 2\n> prompt');
  expect(terminal.cursor).toEqual({ row: 1, column: 2 });
});

test.each([
  ['\u001b[3B\u001b[1G\u001b[3A', '\u001b[1G'],
  ['\u001b[3B\u001b[1G\u001b[1A', '\u001b[1G\u001b[2B'],
  ['\u001b[2B and \u001b[4A', '\u001b[2B and \u001b[4A'],
])('%j becomes %j', (text, moves) => {
  expect(anchorMoves(text)).toBe(moves);
});
