import { expect, test } from 'vitest';
import { CapturedOutput } from '../testing/output-streams.ts';
import { Notes } from './output.ts';

test('a note begins its own line where the answer has not ended one on the same terminal', async () => {
  const stderr = new CapturedOutput({ isTTY: true });
  let isMidLine = true;
  const notes = new Notes(stderr, {
    hasColor: false,
    showDetails: true,
    isMidLine: () => isMidLine,
  });
  await notes.writeDetail('one');
  isMidLine = false;
  await notes.write('two');
  expect(stderr.text).toBe('\none\ntwo\n');
});

test('what is said aside is for those who watch, and what has to be known for everybody', async () => {
  const stderr = new CapturedOutput();
  const rest = { hasColor: true, isMidLine: () => false };
  const notes = new Notes(stderr, { ...rest, showDetails: false });
  await notes.writeDetail('one');
  await notes.write('two');
  expect(stderr.text).toBe('two\n');
});
