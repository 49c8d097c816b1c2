import { expect, test } from 'vitest';
import { Captured } from '../testing/output-streams.ts';
import { Notes } from './output.ts';

test('a note begins its own line where the answer has not ended one on the same terminal', async () => {
  const stderr = new Captured({ isTTY: true });
  let isMidLine = true;
  const notes = new Notes(stderr, { hasColor: false, isWatched: true, isMidLine: () => isMidLine });
  await notes.aside('one');
  isMidLine = false;
  await notes.say('two');
  expect(stderr.text).toBe('\none\ntwo\n');
});

test('what is said aside is for those who watch, and what has to be known for everybody', async () => {
  const stderr = new Captured();
  const rest = { hasColor: true, isMidLine: () => false };
  const notes = new Notes(stderr, { ...rest, isWatched: false });
  await notes.aside('one');
  await notes.say('two');
  expect(stderr.text).toBe('two\n');
});
