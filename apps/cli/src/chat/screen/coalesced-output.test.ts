import { expect, test } from 'vitest';
import { FakeTerminal } from '../../testing/fake-terminal.ts';
import type { Terminal } from '../contract/chat-options.ts';
import { anchorMovesToCursor, coalescedOutput } from './coalesced-output.ts';

const outputOf = (terminal: FakeTerminal, hasColor = true) =>
  coalescedOutput(terminal as unknown as Terminal, { hasColor: () => hasColor });

test('joins the output of one tick into one write, and calls the callbacks', async () => {
  const terminal = new FakeTerminal();
  const { stream } = outputOf(terminal);
  const done = new Promise<void>((resolve) => {
    stream.write('a');
    stream.write('b', () => resolve());
    stream.write('c');
  });
  expect(terminal.writes).toBe(0);
  await done;
  expect([terminal.written, terminal.writes]).toEqual(['abc', 1]);
});

test('writes at once after close', () => {
  const terminal = new FakeTerminal();
  const { stream, close } = outputOf(terminal);
  stream.write('a');
  close();
  expect(terminal.written).toBe('a');
  stream.write('b');
  expect(terminal.written).toBe('ab');
});

test('passes all other properties through to the terminal', () => {
  const terminal = new FakeTerminal({ columns: 33, rows: 7 });
  const { stream } = outputOf(terminal);
  expect([stream.columns, stream.rows, stream.isTTY]).toEqual([33, 7, true]);
  let resized = 0;
  const onResize = () => resized++;
  stream.on('resize', onResize);
  terminal.resize(40, 8);
  stream.off('resize', onResize);
  terminal.resize(50, 8);
  expect([resized, stream.columns]).toEqual([1, 50]);
});

test('removes all colours if colours are off', async () => {
  const terminal = new FakeTerminal();
  const { stream, close } = outputOf(terminal, false);
  stream.write(
    '\u001b[36ma\u001b[39m \u001b[1;31mb\u001b[0m \u001b[7mc\u001b[27m\u001b[2K\u001b[m',
  );
  close();
  expect(terminal.written).toBe('a b \u001b[7mc\u001b[27m\u001b[2K');
});

/** A printed line, and below it four rows that are redrawn. The cursor is in the second one. */
const drawn = 'printed\nactivity 1\n> prompt\nhint\nstatus\n\u001b[3A\u001b[3G';
/** Only the first row has changed. */
const frame =
  '\u001b[3B\u001b[1G\u001b[4A\u001b[1G\u001b[Kactivity 2\n\u001b[E\u001b[E\u001b[E\u001b[3A\u001b[3G';

test('a frame is redrawn in place', () => {
  const [plain, anchored] = [new FakeTerminal(), new FakeTerminal()];
  plain.write(drawn + frame);
  anchored.write(drawn + anchorMovesToCursor(frame));
  expect(anchored.screen).toBe('printed\nactivity 2\n> prompt\nhint\nstatus');
  expect([anchored.screen, anchored.cursor]).toEqual([plain.screen, plain.cursor]);
});

test('does not overwrite printed lines if the terminal dropped rows below the cursor', () => {
  const dropped = 'first\nsecond\nprinted\nactivity 1\n> prompt\u001b[3G';
  const terminal = new FakeTerminal({ rows: 5 });
  terminal.write(dropped);
  terminal.write(anchorMovesToCursor(frame));
  terminal.write(anchorMovesToCursor(frame));
  expect(terminal.text).toBe('first\nsecond\nprinted\nactivity 2\n> prompt');
  expect(terminal.cursor).toEqual({ row: 1, column: 2 });
});

test('23.12: a frame that starts in the first row is erased without a copy in the history', () => {
  const terminal = new FakeTerminal({ rows: 5 });
  terminal.write('activity 1\n> prompt\nstatus\n\u001b[2A\u001b[3G');
  terminal.write(anchorMovesToCursor('\u001b[1A\u001b[1G\u001b[Jprinted\n> prompt\nstatus\n'));
  expect(terminal.text).toBe('printed\n> prompt\nstatus');
});

test.each([
  ['\u001b[3B\u001b[1G\u001b[3A', '\u001b[1G'],
  ['\u001b[3B\u001b[1G\u001b[1A', '\u001b[1G\u001b[2B'],
  ['\u001b[2B and \u001b[4A', '\u001b[2B and \u001b[4A'],
])('%j becomes %j', (text, moves) => {
  expect(anchorMovesToCursor(text)).toBe(moves);
});
