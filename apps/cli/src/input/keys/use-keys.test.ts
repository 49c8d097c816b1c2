import { TestClock } from '@millrace/log/suite';
import { expect, test } from 'vitest';
import { type Key, namedKey } from './key.ts';
import { KeyReader } from './use-keys.ts';

function reading() {
  const keys: Key[] = [];
  const clock = new TestClock();
  return { keys, clock, reader: new KeyReader({ clock, onKey: (key) => keys.push(key) }) };
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
    { type: 'text', text: '!' },
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
  expect(keys).toEqual([{ type: 'text', text: '[A' }]);
});
