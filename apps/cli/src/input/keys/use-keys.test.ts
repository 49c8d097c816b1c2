import { TestClock } from '@millrace/log/suite';
import { expect, test } from 'vitest';
import { type Key, namedKey } from './key.ts';
import { KeyReader } from './use-keys.ts';

function reading() {
  const keys: Key[] = [];
  const clock = new TestClock();
  return { keys, clock, reader: new KeyReader({ clock, onKey: (key) => keys.push(key) }) };
}

test('an Esc is one when nothing follows it for 50 ms', async () => {
  const { keys, clock, reader } = reading();
  reader.push('\u001b');
  await clock.advance(49);
  expect(keys).toEqual([]);
  await clock.advance(1);
  expect(keys).toEqual([namedKey('escape')]);
});

test('a sequence that comes in two is one key, and no timer is left behind', async () => {
  const { keys, clock, reader } = reading();
  reader.push('\u001b');
  await clock.advance(40);
  reader.push('[');
  await clock.advance(40);
  reader.push('A');
  await clock.advance(10_000);
  expect(keys).toEqual([namedKey('up')]);
});

test('what came of a paste that halts is taken after a second, and the rest is pasted too', async () => {
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

test('a key by itself leads out of a paste whose end was lost', async () => {
  const { keys, clock, reader } = reading();
  reader.push('\u001b[200~one');
  await clock.advance(1000);
  reader.push('\r');
  reader.push('x');
  expect(keys.slice(1)).toEqual([namedKey('enter'), { type: 'text', text: 'x' }]);
});

test('forgets what is not whole on reset', async () => {
  const { keys, clock, reader } = reading();
  reader.push('\u001b');
  reader.reset();
  await clock.advance(1000);
  reader.push('[A');
  expect(keys).toEqual([{ type: 'text', text: '[A' }]);
});
