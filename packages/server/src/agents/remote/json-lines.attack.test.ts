import { expect, test } from 'vitest';
import { jsonLines } from './json-lines.ts';

/** Counts the turns of the event loop until `end` is called. */
function countTurns() {
  let turns = 0;
  let isOver = false;
  const next = () => {
    turns++;
    if (!isOver) setImmediate(next);
  };
  next();
  const end = () => {
    isOver = true;
    return turns;
  };
  return { end };
}

async function* answerOf(line: string, lines: number): AsyncGenerator<Uint8Array> {
  yield Buffer.from(line.repeat(lines));
}

test.each([
  ['empty lines', '\n'],
  ['lines that are not JSON', 'x\n'],
  ['updates', '{"result":{}}\n'],
])('18.744: attack: a remote agent keeps the server busy with %s', async (_, line) => {
  const { end } = countTurns();
  for await (const _value of jsonLines(answerOf(line, 20_000), { unreadable: 0 }));
  expect(end()).toBeGreaterThanOrEqual(40);
});

test('18.744: attack: a remote agent sends endless empty lines', async () => {
  const limits = { maxLineLength: 100, maxLines: 1000 };
  const read = async () => {
    for await (const _ of jsonLines(answerOf('\n', 1001), { unreadable: 0 }, limits));
  };
  await expect(read()).rejects.toThrow('more than 1000 lines');
});

test('18.744: attack: many answers continue in the same turn of the event loop', async () => {
  const { end } = countTurns();
  const read = async () => {
    for await (const _ of jsonLines(answerOf('x\n', 2000), { unreadable: 0 }));
  };
  await Promise.all(Array.from({ length: 20 }, read));
  expect(end()).toBeGreaterThanOrEqual(80);
});

test('18.744: characters and lines survive any split', async () => {
  const text = '{"a":"Grüße"}\n\r\n  {"b":"😀"}\r\nx\n{"c":1}';
  const bytes = Buffer.from(text);
  for (let size = 1; size <= bytes.length; size++) {
    const chunks = async function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    };
    const counts = { unreadable: 0 };
    const values: unknown[] = [];
    for await (const value of jsonLines(chunks(), counts)) values.push(value);
    expect(values).toEqual([{ a: 'Grüße' }, { b: '😀' }, { c: 1 }]);
    expect(counts.unreadable).toBe(1);
  }
});
