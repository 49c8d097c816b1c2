import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { plainText } from '../editor/folded-text.ts';
import { type History, HistoryError, openHistory } from './history.ts';
import { historyLine, parseHistoryLine } from './history-entry.ts';
import { appendLine, shortenFile } from './history-file.ts';

const folder = temporaryFolder('history');
let count = 0;
const newPath = () => join(folder(), `${++count}`, 'history.jsonl');

const texts = ({ entries }: History) => entries.map(({ text }) => text);

async function reopened(path: string): Promise<readonly string[]> {
  return texts(await openHistory({ path }));
}

function written(path: string, lines: readonly string[]): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''));
  return path;
}

describe('history', () => {
  test('is stored, readable by its owner only', async () => {
    const path = newPath();
    const history = await openHistory({ path });
    expect(history.entries).toEqual([]);
    await history.add({ text: 'one' });
    await history.add({ text: 'two\nlines' });
    expect(await reopened(path)).toEqual(['one', 'two\nlines']);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
  });

  test('makes an existing file private', async () => {
    const path = written(newPath(), [historyLine({ text: 'old' })]);
    chmodSync(path, 0o644);
    await openHistory({ path });
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('skips entries with a leading space and very long ones', async () => {
    const path = newPath();
    const history = await openHistory({ path });
    await history.add({ text: ' quiet' });
    await history.add({ text: 'x'.repeat(100_000) });
    await history.add({ text: 'kept' });
    expect(await reopened(path)).toEqual(['kept']);
    expect(readFileSync(path, 'utf8')).not.toContain('quiet');
  });

  test('keeps equal entries once, as the newest', async () => {
    const path = newPath();
    const history = await openHistory({ path });
    for (const text of ['a', 'b', 'a']) await history.add({ text });
    expect(await reopened(path)).toEqual(['b', 'a']);
  });

  test('is bounded to the newest 1,000, and so is its file', async () => {
    const lines = Array.from({ length: 1600 }, (_, index) =>
      historyLine({ text: `entry ${index}` }),
    );
    const path = written(newPath(), lines);
    const history = await openHistory({ path });
    expect([history.entries.length, history.entries[0]?.text]).toEqual([1000, 'entry 600']);
    await history.add({ text: 'new' });
    const kept = readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
    expect([kept.length, kept[0], kept.at(-1)]).toEqual([
      1001,
      lines[600],
      historyLine({ text: 'new' }),
    ]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(dirname(path))).toEqual(['history.jsonl']);
  });

  test('is shortened by one process at a time, and by another after a stale lock', async () => {
    const lines = Array.from({ length: 1600 }, (_, index) =>
      historyLine({ text: `entry ${index}` }),
    );
    const path = written(newPath(), lines);
    const lock = `${path}.lock`;
    writeFileSync(lock, '');
    const size = statSync(path).size;
    expect(await reopened(path)).toHaveLength(1000);
    expect(statSync(path).size).toBe(size);
    utimesSync(lock, new Date(0), new Date(0));
    // The first call removes the stale lock, the second one takes it.
    await reopened(path);
    await reopened(path);
    expect(statSync(path).size).toBeLessThan(size);
  });

  test('survives torn lines, other lines and other bytes', async () => {
    const path = written(newPath(), ['{"text":"a"}', '{"no":1}', '[]', '\u0000', '{"text":"b"}']);
    writeFileSync(path, '{"text":"torn', { flag: 'a' });
    const history = await openHistory({ path });
    await history.add({ text: 'c' });
    expect(await reopened(path)).toEqual(['a', 'b', 'c']);
  });

  test('contains the entries of all terminals', async () => {
    const path = newPath();
    const terminals = await Promise.all([1, 2, 3, 4].map(() => openHistory({ path })));
    const added = terminals.flatMap((history, terminal) =>
      Array.from({ length: 50 }, (_, index) => ({ history, text: `${terminal}:${index}` })),
    );
    await Promise.all(added.map(({ history, text }) => history.add({ text })));
    expect((await reopened(path)).toSorted()).toEqual(added.map(({ text }) => text).toSorted());
  });

  test('loses no line that is added while the file is shortened', async () => {
    const path = written(newPath(), ['{"text":"old"}', '{"text":"kept"}']);
    const shorten = (lines: readonly string[]) => {
      appendFileSync(path, '{"text":"late"}\n');
      return lines.slice(-1);
    };
    await shortenFile(path, shorten, 0);
    expect(await reopened(path)).toEqual(['kept', 'late']);
  });

  test('loses no line that is added to a file that was just replaced', async () => {
    const path = written(newPath(), ['{"text":"old"}', '{"text":"kept"}']);
    let opened = 0;
    const openFile = async () => {
      const file = await open(path, 'a');
      if (opened++ === 0) await shortenFile(path, (lines) => lines.slice(-1), 0);
      return file;
    };
    await appendLine(path, '{"text":"late"}', openFile);
    expect(await reopened(path)).toEqual(['kept', 'late']);
  });

  test('explains why a file cannot be used', async () => {
    const path = newPath();
    mkdirSync(path, { recursive: true });
    const error = await openHistory({ path }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(HistoryError);
    expect(error).toMatchObject({ code: 'history_unusable', place: { path } });
    expect(String(error)).toContain('The prompt works without it');
  });
});

test('a history line round-trips with its folds', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1 });
  fc.assert(
    fc.property(text, text, text, (before, folded, after) => {
      const fold = { start: before.length, end: before.length + folded.length, lines: 1 };
      const entry = { text: before + folded + after, folds: [fold] };
      fc.pre(plainText(entry.text) === entry.text);
      expect(parseHistoryLine(historyLine(entry))).toEqual(entry);
    }),
  );
});

test.each([
  ['{"text":"abc","folds":[[2,1]]}'],
  ['{"text":"abc","folds":[[0,9]]}'],
  ['{"text":"abc","folds":[[0,2],[1,3]]}'],
  ['{"text":"abc","folds":[[0.5,2]]}'],
  ['{"text":"abc","folds":["x"]}'],
  ['{"text":"abc","folds":{}}'],
])('folds that are none are left out of %s', (line) => {
  expect(parseHistoryLine(line)).toEqual({ text: 'abc' });
});
