import { expect, test } from 'vitest';
import { english } from '../../labels/en.ts';
import { callsText } from './calls-text.ts';

test.each([
  [['read', 'read', 'bash', 'Read', 'run', 'read_file'], 'Read 4 files, ran 2 commands'],
  [['grep'], 'Searched once'],
  [['weather', 'weather', 'patch'], 'Called weather 2 times, made 1 edit'],
  [
    ['read', 'bash', 'edit', 'grep', 'glob'],
    'Read 1 file, ran 1 command, made 1 edit, 2 other calls',
  ],
])('%j are told as %j', (names, text) => {
  expect(callsText(names, english)).toBe(text);
});
