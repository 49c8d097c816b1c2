import { TestClock } from '@millrace/log/suite';
import { expect, test } from 'vitest';
import { type Key, namedKey } from './key.ts';
import { type KeyRead, KeyReader } from './key-reader.ts';

function reading() {
  const keys: Key[] = [];
  const clock = new TestClock();
  return {
    keys,
    clock,
    reader: new KeyReader({ clock, onRead: (read) => keys.push(...read.keys) }),
  };
}

test('Esc is a key if nothing follows it for 50 ms', async () => {
  const { keys, clock, reader } = reading();
  reader.push('\u001b');
  await clock.advance(49);
  expect(keys).toEqual([]);
  await clock.advance(1);
  expect(keys).toEqual([namedKey('escape')]);
});

test('a sequence in two chunks is one key, and leaves no timer', async () => {
  const { keys, clock, reader } = reading();
  reader.push('\u001b');
  await clock.advance(40);
  reader.push('[');
  await clock.advance(40);
  reader.push('A');
  await clock.advance(10_000);
  expect(keys).toEqual([namedKey('up')]);
});

test('a stalled paste is reported after a second, and so is its rest', async () => {
  const { keys, clock, reader } = reading();
  reader.push('\u001b[200~one\r');
  await clock.advance(999);
  expect(keys).toEqual([]);
  await clock.advance(1);
  reader.push('two\r\u001b[201~!');
  expect(keys).toEqual([
    { type: 'paste', text: 'one\r' },
    { type: 'paste', text: 'two\r' },
    { type: 'paste', text: '!' },
  ]);
});

test('a single key ends a paste whose end marker was lost', async () => {
  const { keys, clock, reader } = reading();
  reader.push('\u001b[200~one');
  await clock.advance(1000);
  reader.push('\r');
  reader.push('x');
  expect(keys.slice(1)).toEqual([namedKey('enter'), { type: 'text', text: 'x' }]);
});

test('drops incomplete input on reset', async () => {
  const { keys, clock, reader } = reading();
  reader.push('\u001b');
  reader.reset();
  await clock.advance(1000);
  reader.push('[A');
  expect(keys).toEqual([{ type: 'text', text: '[A', isWhole: true }]);
});

test.for([
  ['a letter', ['y'], true],
  ['Enter', ['\r'], true],
  ['an arrow', ['\u001b[B'], true],
  ['two letters', ['no'], false],
  ['a letter and Enter', ['n\r'], false],
  ['a paste of one letter', ['\u001b[200~y\u001b[201~'], false],
  ['a letter after a report of the terminal', ['\u001b[Iy'], false],
  ['a letter before the start of a sequence', ['y\u001b['], false],
  ['the end of a sequence that started in another read', ['\u001b[', '13u'], false],
  ['a letter with an accent of its own', ['y\u0301'], false],
] as const)('%s is reported as one press: %3$s', ([, chunks, isAlone]) => {
  const reads: KeyRead[] = [];
  const reader = new KeyReader({ clock: new TestClock(), onRead: (read) => reads.push(read) });
  for (const chunk of chunks) reader.push(chunk);
  expect(reads.at(-1)?.isAlone).toBe(isAlone);
});

test('a text is whole if nothing arrived together with it, before it or after a paste', async () => {
  const { keys, clock, reader } = reading();
  const isWhole = async (chunk: string) => {
    keys.length = 0;
    reader.push(chunk);
    const found = keys.map((key) => 'isWhole' in key);
    await clock.advance(1);
    return found;
  };
  const paste = (text: string) => `\u001b[200~${text}\u001b[201~`;
  expect(await isWhole(paste('/a b.png'))).toEqual([true]);
  expect(await isWhole('late')).toEqual([false]);
  await clock.advance(1000);
  expect(await isWhole(`${paste('a')}b`)).toEqual([false, false]);
  await clock.advance(1000);
  expect(await isWhole('/a.png')).toEqual([true]);
  expect(await isWhole('more')).toEqual([false]);
  await clock.advance(1000);
  expect(await isWhole('a')).toEqual([false]);
});
