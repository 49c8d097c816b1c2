import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseLine } from './oracle/read-json.ts';
import { hasSharedRecordings, recordingsOf, splitResponses, wires } from './recordings.ts';
import { readers } from './wire-table.ts';

const fixtures = join(import.meta.dirname, '..', '..', 'fixtures');
const start = (id: string) => JSON.stringify({ type: 'message_start', message: { id } });
const created = (id: string) => JSON.stringify({ type: 'response.created', response: { id } });
const stop = '{"type":"message_stop"}';
const completed = '{"type":"response.completed"}';

describe('recordings', () => {
  test('exist for each wire', () => {
    for (const wire of wires) {
      const origins = recordingsOf(wire).map(({ origin }) => origin);
      expect(origins).toContain('own');
      expect(origins.includes('shared')).toBe(hasSharedRecordings);
    }
  });

  test('lose no line when they are split', () => {
    for (const { events, responses } of wires.flatMap(recordingsOf)) {
      expect(responses.flat()).toEqual(events);
    }
  });

  test('are split where another response starts after the end of one', () => {
    const first = [start('a'), 'x', stop];
    expect(splitResponses([...first, start('b'), stop])).toEqual([first, [start('b'), stop]]);
    const second = [created('b'), completed];
    expect(splitResponses([created('a'), completed, ...second])).toEqual([
      [created('a'), completed],
      second,
    ]);
  });

  test('are not split at a repeated start or at a start inside an open response', () => {
    expect(splitResponses([start('a'), start('a'), stop])).toHaveLength(1);
    expect(splitResponses([start('a'), stop, start('a'), stop])).toHaveLength(1);
    expect(splitResponses([start('a'), start('b'), stop])).toHaveLength(1);
  });

  test('without lines are one empty response', () => {
    expect(splitResponses([])).toEqual([[]]);
  });
});

describe.each(wires)('fixtures of %s', (wire) => {
  const own = recordingsOf(wire).filter(({ origin }) => origin === 'own');

  test('are all listed in the README, which lists nothing else', () => {
    const readme = readFileSync(join(fixtures, 'README.md'), 'utf8');
    const section = readme.split(/^## /m).find((text) => text.startsWith(`${wire}:`)) ?? '';
    const listed = [...section.matchAll(/^- `([^`]+)`: ./gm)].map(([, name]) => name);
    expect(listed.sort()).toEqual(own.map(({ name }) => name).sort());
    expect(readdirSync(join(fixtures, wire)).filter((name) => !name.endsWith('.jsonl'))).toEqual(
      [],
    );
  });

  test('are JSON in each line, except those about invalid JSON', () => {
    const isOdd = (name: string) => /not-json|spliced-payloads|comment-payload/.test(name);
    for (const { name, events } of own) {
      const isJson = events.every((line) => parseLine(line) !== undefined);
      expect({ name, isJson }).toEqual({ name, isJson: !isOdd(name) });
    }
  });

  test('end in an error exactly if their name starts with bad-', () => {
    for (const { name, responses } of own) {
      const stops = responses.map((lines) => readers[wire](lines).stop);
      expect({ name, isError: stops.includes('error') }).toEqual({
        name,
        isError: name.startsWith('bad-'),
      });
    }
  });
});
