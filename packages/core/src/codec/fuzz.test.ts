import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Folder } from '../fold/fold.ts';
import { settleTurn } from '../fold/settle-turn.ts';
import { transcript } from '../fold/transcript.ts';
import { randomLog, testSession } from '../testing/random-log.ts';
import { isFull, runs } from '../testing/runs.ts';
import type { AgentEvent } from '../views/agent-event.ts';
import { agentEvents } from '../views/agent-events.ts';
import { decodeEvent, encodeEvent } from '../views/event-codec.ts';
import {
  decodeBatch,
  decodeRecord,
  decodeTranscript,
  encodeBatch,
  encodeRecord,
  encodeTranscript,
} from './codec.ts';
import { DecodeError } from './decoder.ts';

interface Document {
  readonly text: string;
  /** Decodes a text of this kind and encodes what it got. */
  readonly again: (text: string) => string;
}

const recordAgain = (text: string) => encodeRecord(decodeRecord(text));
const batchAgain = (text: string) => encodeBatch(decodeBatch(text));
const transcriptAgain = (text: string) => encodeTranscript(decodeTranscript(text));
const eventAgain = (text: string) => encodeEvent(decodeEvent(text));

/** Everything that a log is ever written as. */
function documentsOf(numbers: readonly number[]): readonly Document[] {
  const log = randomLog(numbers);
  const events: AgentEvent[] = [];
  const batch = { after: 0, through: log.length, records: log };
  const { state } = new Folder(testSession).addBatch(batch, (before, record, after) => {
    events.push(...agentEvents(before, record, after));
  });
  const settled = { ...batch, records: settleTurn(log, 1, state) };
  return [
    ...log.map((record) => ({ text: encodeRecord(record), again: recordAgain })),
    ...events.map((event) => ({ text: encodeEvent(event), again: eventAgain })),
    { text: encodeBatch(batch), again: batchAgain },
    { text: encodeBatch(settled), again: batchAgain },
    { text: encodeTranscript(transcript(state)), again: transcriptAgain },
  ];
}

const numbers = fc.array(fc.nat(0xffff), { minLength: 1, maxLength: 60, size: 'max' });
const documents: fc.Arbitrary<Document> = fc
  .tuple(numbers.map(documentsOf), fc.nat())
  .map(([all, choice]) => all[choice % all.length] ?? { text: '', again: recordAgain });

/** A value, whose text is then the same for good, or the one error that a decoder may throw. */
function outcomeOf({ again }: Document, text: string): 'decoded' | 'refused' {
  let decoded: string;
  try {
    decoded = again(text);
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError);
    return 'refused';
  }
  expect(again(decoded)).toBe(decoded);
  return 'decoded';
}

const chars = fc.constantFrom(...'{}[]",:\\/ntu0123456789-+.eE_ =AZaz\n\u0000\ud83d\ude00é');
const edits = fc.array(
  fc.record({
    way: fc.constantFrom('flip', 'delete', 'insert', 'swap', 'repeat'),
    at: fc.nat(),
    char: chars,
  }),
  { minLength: 1, maxLength: 4 },
);
type Edit = typeof edits extends fc.Arbitrary<readonly (infer E)[]> ? E : never;

function edited(text: string, { way, at, char }: Edit): string {
  const index = at % (text.length + 1);
  const before = text.slice(0, index);
  const after = text.slice(index);
  switch (way) {
    case 'flip':
      return before + char + after.slice(1);
    case 'delete':
      return before + after.slice(1);
    case 'insert':
      return before + char + after;
    case 'swap':
      return before + after.slice(1, 2) + after.slice(0, 1) + after.slice(2);
    case 'repeat':
      return before + after.slice(0, 12) + after;
  }
}

test('a document with any characters changed is decoded or refused, and nothing else happens', () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(documents, edits, (document, changes) => {
      seen.add(outcomeOf(document, changes.reduce(edited, document.text)));
    }),
    { numRuns: runs(3000) },
  );
  if (isFull) expect(seen).toEqual(new Set(['decoded', 'refused']));
});

// What decoders may stumble over, besides any JSON.
const odd = fc.constantFrom<unknown>(
  undefined,
  null,
  -1,
  -0,
  0.5,
  2 ** 53,
  '',
  '1.1.a',
  '\ud83d',
  'AAA=',
  '__proto__',
  'toString',
  'unknown',
  'snapshot',
  'commit_part',
  [],
  {},
  JSON.parse('{"__proto__":null,"type":"constructor"}'),
  { kind: 'tool_call', toolCallId: 'c', name: 'n', arguments: '[' },
  { kind: 'media', mimeType: 'm', source: { type: 'bytes', bytes: '' } },
);
const replacements = fc.oneof(odd, fc.jsonValue());

/** The document with its n-th value, counted from the innermost, replaced or taken away. */
function replaced(text: string, n: number, value: unknown): string {
  let count = 0;
  JSON.parse(text, () => ++count);
  let at = 0;
  const whole: unknown = JSON.parse(text, (_key, old: unknown) =>
    at++ === n % count ? value : old,
  );
  return JSON.stringify(whole) ?? '';
}

test('a document with any value replaced is decoded or refused, and nothing else happens', () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(documents, fc.nat(), replacements, (document, n, value) => {
      seen.add(outcomeOf(document, replaced(document.text, n, value)));
    }),
    { numRuns: runs(3000) },
  );
  if (isFull) expect(seen).toEqual(new Set(['decoded', 'refused']));
});

test('any JSON at all, and any text at all, is decoded or refused by every decoder', () => {
  const texts = fc.oneof(fc.json(), fc.string({ unit: 'binary' }), fc.string({ unit: chars }));
  fc.assert(
    fc.property(texts, (text) => {
      for (const again of [recordAgain, batchAgain, transcriptAgain, eventAgain]) {
        outcomeOf({ text, again }, text);
      }
    }),
  );
});
