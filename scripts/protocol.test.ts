import { readFileSync } from 'node:fs';
import {
  type AgentEvent,
  agentEvents,
  type Batch,
  decodeRecord,
  decodeTranscript,
  encodeRecord,
  Folder,
  mergeBatch,
  sessionId,
  transcript,
  validate,
} from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { protocolExamples } from './protocol-examples.ts';

const examples = protocolExamples();

const textOf = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
const document = textOf('PROTOCOL.md');

/** Returns the names that a source file gives to the field `type` of its types and values. */
function typesIn(path: string): readonly string[] {
  const names = [...textOf(path).matchAll(/\btype: '(\w+)'/g)].map(([, name = '']) => name);
  return [...new Set(names)].filter((name) => !['unknown', 'unreadable'].includes(name));
}

test.each([
  ['delta', 'packages/core/src/protocol/delta.ts'],
  ['fact', 'packages/core/src/protocol/fact.ts'],
  ['command of an agent loop', 'packages/agent/src/contract/command.ts'],
  ['command for a key', 'packages/server/src/agents/handlers/keyed-messages.ts'],
  ['command for an event', 'packages/server/src/agents/handlers/async-runner.ts'],
])('PROTOCOL.md describes each %s', (_what, path) => {
  const types = typesIn(path);
  expect(types).not.toEqual([]);
  expect(types.filter((type) => !document.includes(`\`${type}\``))).toEqual([]);
});

test('PROTOCOL.md has an example of each kind of sequence, and each is read', () => {
  expect(examples.map(({ name }) => name)).toEqual([
    'text',
    'a tool call',
    'two interleaved tool calls',
    'reasoning, then text',
    'media bytes',
    'structured output',
    'two items open at once',
    'a full override by another kind',
    'a superseded attempt',
    'a settled turn',
    'a message with an idempotency key',
  ]);
  expect(document.match(/^### Example/gm)).toHaveLength(examples.length);
});

describe.each(examples)(
  'the example “$name”',
  ({ lines, transcript: expected, events: expectedEvents }) => {
    const records = lines.map((line) => decodeRecord(line));
    const through = records.at(-1)?.offset ?? 0;
    const batch: Batch = { after: 0, through, records };
    const isDense = records.length === through;

    function folded(...batches: readonly Batch[]): Folder {
      const folder = new Folder(sessionId('example'));
      for (const one of batches) expect(folder.addBatch(one).outcome).toBe('applied');
      return folder;
    }

    test('folds to its transcript, merged or not', () => {
      expect(transcript(folded(batch).state)).toEqual(decodeTranscript(expected));
      expect(transcript(folded(mergeBatch(batch)).state)).toEqual(decodeTranscript(expected));
    });

    test('has the listed events', () => {
      const events: AgentEvent[] = [];
      new Folder(sessionId('example')).addBatch(batch, (before, record, after) => {
        events.push(...agentEvents(before, record, after));
      });
      expect(events.map(({ type }) => type)).toEqual(expectedEvents);
    });

    test('is encoded exactly as written', () => {
      expect(records.map(encodeRecord)).toEqual(lines);
    });

    // A settled log has gaps in its offsets, so it cannot be read record by record.
    if (!isDense) return;

    test('passes validation, and folds record by record', () => {
      const folder = folded();
      for (const record of records) {
        expect(validate(folder.state, record)).toEqual(record);
        expect(folder.add(record).outcome).toBe('applied');
      }
      expect(folder.state).toEqual(folded(batch).state);
    });
  },
);
