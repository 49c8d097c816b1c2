import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { foldBatch } from '../fold/fold.ts';
import { emptyState } from '../fold/fold-state.ts';
import { settleTurn } from '../fold/settle-turn.ts';
import { transcript } from '../fold/transcript.ts';
import { validate } from '../fold/validate.ts';
import { executionId, itemId, partId, runId, sessionId, toolCallId } from '../ids.ts';
import type { JsonObject } from '../json/json-value.ts';
import type { Delta, PartStart } from '../protocol/delta.ts';
import type { ChildAttempt, Fact } from '../protocol/fact.ts';
import type { Item } from '../protocol/item.ts';
import type { Part, PartKind, Source } from '../protocol/part.ts';
import type { LogRecord } from '../protocol/record.ts';
import type { ResponseDetails } from '../protocol/response-details.ts';
import type { Usage } from '../protocol/usage.ts';
import { randomLog, testSession } from '../testing/random-log.ts';
import {
  decodeBatch,
  decodeRecord,
  decodeTranscript,
  encodeBatch,
  encodeRecord,
  encodeTranscript,
} from './codec.ts';

const numbers = fc.array(fc.nat(0xffff), { minLength: 1, maxLength: 120, size: 'max' });
const logs = numbers.map(randomLog);

/** The log as it is written, and as it is once its finished turns are settled. */
function settled(records: readonly LogRecord[]): readonly LogRecord[] {
  const { state } = foldBatch(emptyState(testSession), batchOf(records));
  return records.reduce(
    (log, { fact, turn }) => (fact?.type === 'turn_finished' ? settleTurn(log, turn, state) : log),
    records,
  );
}

const batchOf = (records: readonly LogRecord[]) => ({
  after: 0,
  through: records.at(-1)?.offset ?? 0,
  records,
});

describe('of any log, what is decoded is what was encoded, and encodes to the same text', () => {
  test('record by record', () => {
    fc.assert(
      fc.property(logs, (records) => {
        const texts = records.map(encodeRecord);
        const decoded = texts.map((text) => decodeRecord(text));
        expect(decoded).toStrictEqual(records);
        expect(decoded.map(encodeRecord)).toEqual(texts);
      }),
    );
  });

  test('as a batch, settled or not', () => {
    fc.assert(
      fc.property(logs, fc.boolean(), (records, isSettled) => {
        const batch = batchOf(isSettled ? settled(records) : records);
        const text = encodeBatch(batch);
        expect(decodeBatch(text)).toStrictEqual(batch);
        expect(encodeBatch(decodeBatch(text))).toBe(text);
      }),
    );
  });

  test('as the transcript that it folds to', () => {
    fc.assert(
      fc.property(logs, (records) => {
        const items = transcript(foldBatch(emptyState(testSession), batchOf(records)).state);
        const text = encodeTranscript(items);
        expect(decodeTranscript(text)).toStrictEqual(items);
        expect(encodeTranscript(decodeTranscript(text))).toBe(text);
      }),
    );
  });

  test('a record is one line', () => {
    fc.assert(
      fc.property(logs, (records) => {
        expect(records.map(encodeRecord).filter((text) => /[\r\n]/.test(text))).toEqual([]);
      }),
    );
  });
});

const head = { v: 1, offset: 7, time: 1_763_200_000_020, turn: 1, attempt: 2, producer: 'model' };
const deltaRecord = (delta: Delta): LogRecord => ({ ...head, v: 1, delta });
const factRecord = (fact: Fact): LogRecord => ({ ...head, v: 1, fact });
const encodedDelta = (delta: unknown) => JSON.stringify({ ...head, delta });
const encodedFact = (fact: unknown) => JSON.stringify({ ...head, fact });

function expectRoundTrip(record: LogRecord): void {
  const text = encodeRecord(record);
  expect(decodeRecord(text)).toStrictEqual(record);
  expect(encodeRecord(decodeRecord(text))).toBe(text);
}

// What an object literal would mistake for its own: as parsed, they are keys like any other.
const trickyText =
  '{"__proto__":{"polluted":true},"constructor":1,"hasOwnProperty":[{"toString":null}],"":-3.5}';
const tricky: JsonObject = JSON.parse(trickyText);

const part = partId(1, 2, 'a');
const item = itemId('i1');
const call = { toolCallId: toolCallId('call_1'), name: 'read' };
const execution = { executionId: executionId('x1') };
const stop = { reason: 'tool_use', raw: 'tool_calls', cause: 'interrupted' } as const;
const bytes = { type: 'bytes', bytes: Uint8Array.of(0, 255, 128, 7) } as const;
const common = {
  partial: true,
  metadata: tricky,
  providerState: { provider: 'p', model: 'm', data: [tricky, null] },
} as const;

// Each table below has every name and every optional field, or it does not compile.

/** A tool call's `input` is derived and has tests of its own. */
type FullPart<K> = Required<Omit<Extract<Part, { readonly kind: K }>, 'input'>>;

const parts: { readonly [K in PartKind]: FullPart<K> } = {
  text: { kind: 'text', text: 'a\u0000\u2028\ud83d\ude00', mimeType: 'text/markdown', ...common },
  reasoning: { kind: 'reasoning', text: 'so', form: 'redacted', signature: 'sig', ...common },
  tool_call: { kind: 'tool_call', ...call, arguments: '{"path":', ...common },
  tool_result: {
    kind: 'tool_result',
    ...call,
    text: 'done',
    isError: true,
    value: tricky,
    attachments: [
      { kind: 'media', mimeType: 'image/png', source: bytes, ...common },
      { kind: 'file', name: 'f', mimeType: 'text/plain', source: bytes, ...common },
    ],
    ...common,
  },
  structured: { kind: 'structured', value: tricky, name: 'weather', ...common },
  media: { kind: 'media', mimeType: 'image/png', source: bytes, ...common },
  file: { kind: 'file', name: 'f', mimeType: 'text/plain', source: bytes, ...common },
  custom: { kind: 'custom', name: 'c', value: tricky, ...common },
};

const leastParts: { readonly [K in PartKind]: Extract<Part, { readonly kind: K }> } = {
  text: { kind: 'text', text: '' },
  reasoning: { kind: 'reasoning', text: '', form: 'full' },
  tool_call: { kind: 'tool_call', ...call, arguments: '{"path"' },
  tool_result: { kind: 'tool_result', ...call, text: '', isError: false },
  structured: { kind: 'structured', value: null },
  media: { kind: 'media', mimeType: '', source: bytes },
  file: { kind: 'file', name: '', mimeType: '', source: bytes },
  custom: { kind: 'custom', name: '', value: false },
};

const sources: { readonly [T in Source['type']]: Required<Extract<Source, { type: T }>> } = {
  bytes,
  blob: { type: 'blob', hash: 'sha256:00', length: 12 },
  url: { type: 'url', url: 'https://example.org/a.png' },
  provider_file: { type: 'provider_file', provider: 'openai', id: 'file-1' },
};

const starts: { readonly [K in PartKind]: Required<Extract<PartStart, { kind: K }>> } = {
  text: { kind: 'text', mimeType: 'application/json' },
  reasoning: { kind: 'reasoning', form: 'summary' },
  tool_call: { kind: 'tool_call', ...call },
  tool_result: { kind: 'tool_result', ...call, ...execution },
  structured: { kind: 'structured', name: 'weather' },
  media: { kind: 'media', mimeType: 'image/png' },
  file: { kind: 'file', name: 'f', mimeType: 'text/plain' },
  custom: { kind: 'custom', name: 'c' },
};

type DeltaOf<T> = Extract<Delta, { readonly type: T }>;
const { partial, providerState } = common;

const deltas: { readonly [T in Delta['type']]: readonly DeltaOf<T>[] } = {
  begin_part: Object.values(starts).map((start) => ({
    type: 'begin_part',
    partId: part,
    itemId: item,
    ...start,
  })),
  append_text: [{ type: 'append_text', partId: part, at: 3, chunk: '\ud83d\ude00"\\' }],
  append_bytes: [{ type: 'append_bytes', partId: part, at: 3, chunk: Uint8Array.of(1, 2) }],
  replace_structured: [{ type: 'replace_structured', partId: part, value: tricky }],
  set_metadata: [{ type: 'set_metadata', partId: part, metadata: tricky }],
  commit_part: [
    { type: 'commit_part', partId: part, length: 3 },
    { type: 'commit_part', partId: part, length: 3, partial, signature: 'sig', providerState },
    { type: 'commit_part', partId: part, itemId: item, part: parts.text },
  ],
  retract_part: [{ type: 'retract_part', partId: part, reason: 'cut' }],
  unknown: [{ type: 'unknown', raw: { ...tricky, type: 'rotate_part', by: 90 } }],
};

const childAttempt: Required<ChildAttempt> = {
  ...{ session: sessionId('s3'), agent: 'desk', turn: 2, attempt: 1 },
  ...{ provider: 'p', model: 'm', version: '2.1' },
};

const usage: Required<Usage> = {
  input: 1,
  output: 2,
  cacheRead: 3,
  cacheWrite: 4,
  cacheWriteLong: 2,
  reasoning: 5,
  estimated: true,
  costs: [
    { amount: '-0.000125', currency: 'USD' },
    { amount: '3', currency: 'EUR' },
  ],
  // A name that is special in JavaScript is a name like any other.
  billed: { web_search_requests: 2, ['__proto__']: 1 },
};

const details: Required<ResponseDetails> = {
  model: 'weather-2',
  responseId: 'r1',
  upstream: 'Cloud',
  serviceTier: 'flex',
  fingerprint: 'fp_1',
  stopSequence: 'END',
  nativeStop: 'end_turn',
  container: { id: 'c1', expiresAt: '2026-01-01T00:00:00Z' },
  safety: [
    {
      about: 'output',
      category: 'violence',
      level: 'low',
      score: 0.25,
      flagged: true,
      blocked: false,
    },
  ],
  timings: { queueMs: 0.5, inputMs: 1.5, outputMs: 20, totalMs: 22 },
  answeredBy: { provider: 'second', model: 'm2' },
  otherRequests: [{ provider: 'first', model: 'm1', outcome: 'overloaded', usage }],
  fromCache: true,
  other: { openai: { x: [1] } },
};
const error = { code: 'overloaded', message: 'later' };

const facts: { readonly [T in Fact['type']]: Required<Extract<Fact, { readonly type: T }>> } = {
  item_started: {
    type: 'item_started',
    itemId: item,
    kind: 'user',
    author: { name: 'Ada', id: 'u1' },
    metadata: tricky,
  },
  item_finished: { type: 'item_finished', itemId: item, stop },
  item_redacted: { type: 'item_redacted', itemId: item, reason: 'asked' },
  response_started: {
    ...{ type: 'response_started', itemId: item, provider: 'p', model: 'm' },
    ...{ tools: ['look', 'pay'], version: '2.1' },
  },
  response_finished: { type: 'response_finished', itemId: item, stop, usage, details },
  usage_reported: { type: 'usage_reported', usage },
  attempt_superseded: { type: 'attempt_superseded', reason: 'truncated_stream' },
  retry_scheduled: { type: 'retry_scheduled', error, delayMs: 500 },
  run_started: {
    type: 'run_started',
    runId: runId('r1'),
    trace: { traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`, tracestate: 'a=1' },
  },
  run_finished: { type: 'run_finished', runId: runId('r1'), stop },
  turn_started: { type: 'turn_started' },
  turn_finished: { type: 'turn_finished', itemId: item, stop },
  aborted: { type: 'aborted', reason: 'user' },
  error_reported: { type: 'error_reported', error },
  command_queued: { type: 'command_queued', key: 'k', command: tricky },
  command_consumed: { type: 'command_consumed', key: 'k', error },
  compacted: {
    ...{ type: 'compacted', itemIds: [item, itemId('i2')], summary: 'short' },
    clipped: [{ itemId: itemId('i3'), maxLength: 200 }],
  },
  handed_off: { type: 'handed_off', to: 'billing', reason: 'money' },
  branched: {
    ...{ type: 'branched', from: { session: sessionId('s0'), at: 41 }, changed: ['model'] },
    ...{
      results: [call.toolCallId],
      rerun: [call.toolCallId],
      model: 'm',
      instructions: 'Be brief.',
    },
  },
  tool_call_rejected: { type: 'tool_call_rejected', ...call, code: 'cut', message: 'no' },
  approval_asked: {
    ...{ type: 'approval_asked', ...call, reason: 'writes', rule: 'write a.ts' },
    judged: '/folder/a.ts',
    from: {
      ...{ toolCallId: call.toolCallId, agents: ['lead', 'desk'], session: sessionId('s3') },
      input: tricky,
      itemId: item,
    },
  },
  guardrail_applied: {
    ...{ type: 'guardrail_applied', name: 'no-cards', on: 'tool_call', verdict: 'change' },
    ...{ reason: 'a card number', itemId: item, toolCallId: call.toolCallId },
    ...{ replacedBy: itemId('i9'), input: tricky },
  },
  tool_output_asked: { type: 'tool_output_asked', ...call, input: tricky },
  approval_answered: {
    type: 'approval_answered',
    ...call,
    decision: 'allow',
    reason: 'fine',
    by: 'Ada',
    input: tricky,
    basis: 'absent',
    until: 'session',
    answeredIn: sessionId('s3'),
  },
  child_usage_reported: { type: 'child_usage_reported', ...call, of: childAttempt, usage },
  file_changed: {
    ...{ type: 'file_changed', ...call, ...execution, path: '/folder/a.ts' },
    before: { hash: 'ab'.repeat(32), length: 5, mode: 0o644, isStored: true },
    after: { hash: 'cd'.repeat(32), length: 6, mode: 0o755, isStored: false },
    scope: 'pending',
  },
  tool_execution_started: {
    type: 'tool_execution_started',
    ...call,
    ...execution,
    summary: 'read a.ts',
    child: sessionId('s2'),
    parent: sessionId('s1'),
  },
  tool_execution_finished: {
    type: 'tool_execution_finished',
    ...call,
    ...execution,
    isError: false,
    outcome: 'lost',
  },
  snapshot: {
    type: 'snapshot',
    covers: [3, 7],
    items: [
      { itemId: item, parts: Object.values(parts).map((given) => ({ partId: part, part: given })) },
      { itemId: itemId('i2'), parts: [] },
    ],
  },
  unknown: { type: 'unknown', raw: { ...tricky, type: 'paid', must_understand: true } },
};

describe('every thing that a record can hold comes back as it was', () => {
  test.each(Object.entries(parts))('a %s part with all that it may have', (_kind, given) => {
    expectRoundTrip(deltaRecord({ type: 'commit_part', partId: part, itemId: item, part: given }));
  });

  test.each(Object.entries(leastParts))('a %s part with only what it must have', (_kind, given) => {
    expectRoundTrip(deltaRecord({ type: 'commit_part', partId: part, itemId: item, part: given }));
  });

  test.each(Object.entries(sources))('a source of type %s', (_type, source) => {
    const given: Part = { kind: 'media', mimeType: 'image/png', source };
    expectRoundTrip(deltaRecord({ type: 'commit_part', partId: part, itemId: item, part: given }));
  });

  test.each(
    Object.values(deltas).flatMap((those) => those.map((delta) => [delta.type, delta] as const)),
  )('a delta of type %s', (_type, delta) => expectRoundTrip(deltaRecord(delta)));

  test.each(Object.entries(facts))('a fact of type %s', (_type, fact) =>
    expectRoundTrip(factRecord(fact)),
  );

  test('an item with all that it may have', () => {
    const full: Required<Item> = {
      id: item,
      kind: 'context',
      author: { name: 'Ada', id: 'u1' },
      parts: Object.values(parts),
      stop,
      redacted: true,
      metadata: tricky,
    };
    const text = encodeTranscript([full]);
    expect(decodeTranscript(text)).toStrictEqual([full]);
    expect(encodeTranscript(decodeTranscript(text))).toBe(text);
  });

  test('no bytes, no text and no items', () => {
    expectRoundTrip(
      deltaRecord({ type: 'append_bytes', partId: part, at: 0, chunk: Uint8Array.of() }),
    );
    expectRoundTrip(deltaRecord({ type: 'append_text', partId: part, at: 0, chunk: '' }));
    expect(decodeTranscript(encodeTranscript([]))).toEqual([]);
    expect(decodeBatch('{"after":0,"through":0,"records":[]}')).toEqual({
      after: 0,
      through: 0,
      records: [],
    });
  });

  test('the largest numbers', () => {
    const most = Number.MAX_SAFE_INTEGER;
    const large = { v: 1, offset: most, time: most, turn: most, attempt: most, producer: '' };
    const id = partId(most, most, 'a');
    expectRoundTrip({
      ...large,
      v: 1,
      delta: { type: 'append_text', partId: id, at: most, chunk: '' },
    });
  });

  test('half of a surrogate pair in a chunk, which is for the validator to refuse', () => {
    const record = deltaRecord({ type: 'append_text', partId: part, at: 0, chunk: 'a\ud83d' });
    expectRoundTrip(record);
    const { state } = foldBatch(emptyState(testSession), {
      after: 0,
      through: 2,
      records: [
        { ...head, v: 1, offset: 1, fact: { type: 'item_started', itemId: item, kind: 'user' } },
        {
          ...head,
          v: 1,
          offset: 2,
          delta: { type: 'begin_part', partId: part, itemId: item, kind: 'text' },
        },
      ],
    });
    expect(() => validate(state, decodeRecord(encodeRecord(record)))).toThrow(
      expect.objectContaining({ code: 'lone_surrogate' }),
    );
  });
});

describe('the input of a tool call', () => {
  const whole = (args: string, more: object = {}) =>
    encodedDelta({
      type: 'commit_part',
      partId: part,
      itemId: item,
      part: { kind: 'tool_call', ...call, arguments: args, ...more },
    });
  const inputOf = (text: string, limits = {}) => {
    const { delta } = decodeRecord(text, limits);
    const decoded = delta?.type === 'commit_part' ? delta.part : undefined;
    return decoded?.kind === 'tool_call' && 'input' in decoded ? decoded.input : 'none';
  };

  test('is never on the wire', () => {
    const record = decodeRecord(whole('{"path":"a.ts"}'));
    expect(encodeRecord(record)).not.toContain('input');
  });

  test('is the value of the arguments, whatever a document says it is', () => {
    expect(inputOf(whole('{"path":"a.ts"}', { input: 'forged' }))).toEqual({ path: 'a.ts' });
    expect(inputOf(whole(''))).toEqual({});
    expect(inputOf(whole('null'))).toBe(null);
    expect(inputOf(whole(trickyText))).toStrictEqual(tricky);
  });

  test.each([
    ['not JSON', '{"path"', {}],
    ['cut off', '{}', { partial: true }],
    ['nested too deeply', `${'['.repeat(129)}${']'.repeat(129)}`, {}],
    ['too large for a double', '1e999', {}],
  ])('is absent where the arguments are %s', (_why, args, more) => {
    expect(inputOf(whole(args, { ...more, input: 'forged' }))).toBe('none');
  });

  test('is absent where the arguments are deeper than the reader wants', () => {
    expect(inputOf(whole('[[]]'), { maxDepth: 2 })).toEqual([[]]);
    expect(inputOf(whole('[[]]'), { maxDepth: 1 })).toBe('none');
  });
});

describe('what a later writer knows', () => {
  const names = ['rotate_part', '__proto__', 'constructor', 'toString', 'hasOwnProperty', ''];

  test.each(names)('a delta of type %j is kept as it came', (type) => {
    const raw = { ...tricky, type, partId: 17, at: null };
    const text = encodedDelta(raw);
    expect(decodeRecord(text).delta).toStrictEqual({ type: 'unknown', raw });
    expect(encodeRecord(decodeRecord(text))).toBe(text);
  });

  test.each(names)('a fact of type %j is kept as it came', (type) => {
    const raw = { ...tricky, type, must_understand: true, itemId: { no: 'id' } };
    const text = encodedFact(raw);
    expect(decodeRecord(text).fact).toStrictEqual({ type: 'unknown', raw });
    expect(encodeRecord(decodeRecord(text))).toBe(text);
  });

  test('a delta or a fact whose type is "unknown" is kept as it came too', () => {
    const raw = { type: 'unknown', raw: { type: 'append_text' } };
    for (const text of [encodedDelta(raw), encodedFact(raw)]) {
      const { delta, fact } = decodeRecord(text);
      expect(delta ?? fact).toEqual({ type: 'unknown', raw });
      expect(encodeRecord(decodeRecord(text))).toBe(text);
    }
  });

  test('unknown fields are ignored at every level', () => {
    const more = { later: tricky, toString: 1 };
    const source = { type: 'url', url: 'u', ...more };
    const providerState = { provider: 'p', model: 'm', data: 1, ...more };
    const given = { kind: 'media', mimeType: 'm', source, providerState, ...more };
    const items = [{ itemId: item, parts: [{ partId: part, part: given, ...more }], ...more }];
    const fact = { type: 'snapshot', covers: [1, 2], items, ...more };
    const batch = { after: 0, through: 7, records: [{ ...head, fact, ...more }], ...more };
    const isMore = (key: string) => Object.hasOwn(more, key);
    const known = JSON.stringify(batch, (key, value) => (isMore(key) ? undefined : value));
    expect(encodeBatch(decodeBatch(JSON.stringify(batch)))).toBe(known);
  });

  test('fields may come in any order', () => {
    const backwards = (_key: string, value: unknown) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).reverse())
        : value;
    for (const fact of Object.values(facts)) {
      const text = encodeRecord(factRecord(fact));
      const turned = JSON.stringify(JSON.parse(text), backwards);
      expect(decodeRecord(turned)).toEqual(decodeRecord(text));
    }
  });
});

test('names that every object has are data, and change no prototype', () => {
  const text = encodedDelta({ type: 'set_metadata', partId: part, metadata: tricky });
  const { delta } = decodeRecord(text);
  const metadata = delta?.type === 'set_metadata' ? delta.metadata : {};
  expect(JSON.stringify(metadata)).toBe(trickyText);
  expect(Object.getPrototypeOf(metadata)).toBe(Object.prototype);
  expect('polluted' in metadata).toBe(false);
  expect('polluted' in {}).toBe(false);
});
