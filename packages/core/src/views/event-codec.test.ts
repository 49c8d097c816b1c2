import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DecodeError } from '../codec/decoder.ts';
import { Folder } from '../fold/fold.ts';
import { settleTurn } from '../fold/settle-turn.ts';
import { executionId, itemId, partId, runId, sessionId, toolCallId } from '../ids.ts';
import type { JsonObject } from '../json/json-value.ts';
import type { Item } from '../protocol/item.ts';
import type { LogRecord } from '../protocol/record.ts';
import { noUsage } from '../protocol/usage.ts';
import { randomLog, testSession } from '../testing/random-log.ts';
import { isFull } from '../testing/runs.ts';
import type {
  AgentEvent,
  ContentEvent,
  EventHead,
  FactEvent,
  SettledEvent,
} from './agent-event.ts';
import { agentEvents } from './agent-events.ts';
import { decodeEvent, encodeEvent } from './event-codec.ts';

const numbers = fc.array(fc.nat(0xffff), { minLength: 1, maxLength: 120, size: 'max' });

const batchOf = (records: readonly LogRecord[]) => ({
  after: 0,
  through: records.at(-1)?.offset ?? 0,
  records,
});

function eventsOf(records: readonly LogRecord[]): readonly AgentEvent[] {
  const events: AgentEvent[] = [];
  new Folder(testSession).addBatch(batchOf(records), (before, record, after) => {
    events.push(...agentEvents(before, record, after));
  });
  return events;
}

function settled(records: readonly LogRecord[]): readonly LogRecord[] {
  const { state } = new Folder(testSession).addBatch(batchOf(records));
  return records.reduce(
    (log, { fact, turn }) => (fact?.type === 'turn_finished' ? settleTurn(log, turn, state) : log),
    records,
  );
}

test('of any log, settled or not, events are decoded to what was encoded, and encode to the same text', () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(numbers, fc.boolean(), (seed, isSettled) => {
      const log = randomLog(seed);
      const events = eventsOf(isSettled ? settled(log) : log);
      const texts = events.map(encodeEvent);
      const decoded = texts.map((text) => decodeEvent(text));
      expect(decoded).toStrictEqual(events);
      expect(decoded.map(encodeEvent)).toEqual(texts);
      for (const { type } of events) seen.add(type);
    }),
  );
  if (!isFull) return;
  expect([...seen]).toEqual(
    expect.arrayContaining(['media_delta', 'tool_call_ready', 'part_retracted', 'turn_settled']),
  );
});

const head: EventHead = {
  session: sessionId('s1'),
  offset: 7,
  time: 1_763_200_000_020,
  turn: 1,
  attempt: 2,
};
const ofPart = { partId: partId(1, 2, 'a'), itemId: itemId('i1') };
const stretch = { ...ofPart, at: 3 };
const id = toolCallId('call_1');
const call = { toolCallId: id, name: 'read' };
const execution = { executionId: executionId('x1') };
const stop = { reason: 'stop' } as const;
const error = { code: 'overloaded', message: 'later' };
const tricky: JsonObject = JSON.parse('{"__proto__":{"a":1},"constructor":1,"hasOwnProperty":[]}');
const message: Item = {
  id: itemId('i1'),
  kind: 'assistant',
  parts: [
    { kind: 'tool_call', toolCallId: id, name: 'read', arguments: '{"a":1}', input: { a: 1 } },
    { kind: 'media', mimeType: 'image/png', source: { type: 'bytes', bytes: Uint8Array.of(1) } },
  ],
};
const settledItems = [
  { itemId: itemId('i1'), parts: message.parts.map((part) => ({ partId: ofPart.partId, part })) },
];

/** Every type of event and every optional field, or it does not compile. */
type Body = ContentEvent | FactEvent | SettledEvent;
type Full<T> = Required<Extract<Body, { readonly type: T }>>;

const bodies: { readonly [T in Body['type']]: Full<T> } = {
  assistant_text_delta: { type: 'assistant_text_delta', ...stretch, text: 'a\ud83d' },
  text_delta: { type: 'text_delta', ...stretch, text: '' },
  reasoning_delta: { type: 'reasoning_delta', ...stretch, text: 'so', form: 'redacted' },
  media_delta: { type: 'media_delta', ...stretch, mimeType: 'm', bytes: Uint8Array.of(0, 255) },
  structured_updated: { type: 'structured_updated', ...ofPart, value: tricky },
  custom_updated: { type: 'custom_updated', ...ofPart, name: 'c', value: tricky },
  tool_call_started: { type: 'tool_call_started', ...ofPart, ...call },
  tool_call_arguments_delta: {
    type: 'tool_call_arguments_delta',
    ...stretch,
    toolCallId: id,
    delta: '{"',
  },
  tool_call_ready: { type: 'tool_call_ready', ...ofPart, ...call, input: tricky },
  tool_execution_update: {
    type: 'tool_execution_update',
    ...stretch,
    toolCallId: id,
    ...execution,
    text: 'reading…',
  },
  part_started: { type: 'part_started', ...ofPart, kind: 'file', name: 'a.pdf', mimeType: 'm' },
  part_metadata_set: { type: 'part_metadata_set', ...ofPart, metadata: tricky },
  part_finished: {
    type: 'part_finished',
    ...ofPart,
    kind: 'reasoning',
    partial: true,
    signature: 's',
    providerState: { provider: 'p', model: 'm', data: tricky },
    part: { kind: 'text', text: 'cut', partial: true },
  },
  part_retracted: { type: 'part_retracted', ...ofPart, reason: 'cut', toolCallId: id },
  turn_settled: { type: 'turn_settled', covers: [3, 7], items: settledItems },
  turn_finished: { type: 'turn_finished', itemId: itemId('i1'), stop, message },
  unknown: { type: 'unknown', raw: { ...tricky, type: 'paid', must_understand: true } },
  item_started: {
    type: 'item_started',
    itemId: itemId('i1'),
    kind: 'user',
    author: { name: 'Ada' },
    metadata: tricky,
  },
  item_finished: { type: 'item_finished', itemId: itemId('i1'), stop },
  item_redacted: { type: 'item_redacted', itemId: itemId('i1'), reason: 'asked' },
  response_started: {
    ...{ type: 'response_started', itemId: itemId('i1'), provider: 'p', model: 'm' },
    ...{ tools: ['look'], version: '2.1' },
  },
  response_finished: {
    type: 'response_finished',
    itemId: itemId('i1'),
    stop,
    usage: noUsage,
    details: { model: 'weather-2' },
  },
  usage_reported: { type: 'usage_reported', usage: noUsage },
  attempt_superseded: { type: 'attempt_superseded', reason: 'truncated_stream' },
  retry_scheduled: { type: 'retry_scheduled', error, delayMs: 500 },
  run_started: {
    type: 'run_started',
    runId: runId('r1'),
    trace: { traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`, tracestate: 'a=1' },
  },
  run_finished: { type: 'run_finished', runId: runId('r1'), stop },
  turn_started: { type: 'turn_started' },
  aborted: { type: 'aborted', reason: 'user' },
  error_reported: { type: 'error_reported', error },
  command_queued: { type: 'command_queued', key: 'k', command: tricky },
  command_consumed: { type: 'command_consumed', key: 'k', error },
  compacted: {
    ...{ type: 'compacted', itemIds: [itemId('i1')], summary: 'short' },
    clipped: [{ itemId: itemId('i2'), maxLength: 200 }],
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
    ...{ type: 'approval_asked', ...call, reason: 'writes', rule: 'write' },
    judged: '/folder/a.ts',
    from: { toolCallId: id, agents: ['desk'], session: sessionId('s3'), input: tricky },
  },
  guardrail_applied: {
    ...{ type: 'guardrail_applied', name: 'no-cards', on: 'tool_call', verdict: 'change' },
    ...{
      reason: 'a card',
      itemId: itemId('i1'),
      toolCallId: id,
      replacedBy: itemId('i2'),
      input: tricky,
    },
  },
  tool_output_asked: { type: 'tool_output_asked', ...call, input: tricky },
  approval_answered: {
    type: 'approval_answered',
    ...call,
    decision: 'deny',
    reason: 'no',
    by: 'Ada',
    input: tricky,
    basis: 'absent',
    until: 5,
    answeredIn: sessionId('s3'),
  },
  child_usage_reported: {
    ...{ type: 'child_usage_reported', ...call },
    of: {
      ...{ session: sessionId('s3'), agent: 'desk', turn: 2, attempt: 1 },
      ...{ provider: 'p', model: 'm' },
    },
    usage: noUsage,
  },
  file_changed: {
    ...{ type: 'file_changed', ...call, executionId: executionId('x1'), path: '/folder/a.ts' },
    before: { hash: 'ab'.repeat(32), length: 5, mode: 0o644, isStored: true },
    after: { hash: 'cd'.repeat(32), length: 6, mode: 0o755, isStored: false },
    scope: 'recorded',
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
    outcome: 'discarded',
  },
};

test.each(Object.entries(bodies))('an event of type %s comes back as it was', (_type, body) => {
  const event: AgentEvent = { ...head, ...body };
  const text = encodeEvent(event);
  expect(decodeEvent(text)).toStrictEqual(event);
  expect(encodeEvent(decodeEvent(text))).toBe(text);
});

test('a turn without a message says so with null, which is not the same as nothing', () => {
  const text = encodeEvent({ ...head, type: 'turn_finished', stop, message: null });
  expect(decodeEvent(text)).toStrictEqual({ ...head, type: 'turn_finished', stop, message: null });
  expect(() => decodeEvent(text.replace(',"message":null', ''))).toThrow(DecodeError);
});

test('a value may be as deep in an event as it may be in a record, and no deeper', () => {
  const nested = (levels: number): JsonObject =>
    JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`);
  const told = (levels: number): readonly AgentEvent[] => [
    { ...head, ...bodies.command_queued, command: nested(levels) },
    { ...head, ...bodies.structured_updated, value: nested(levels) },
    { ...head, ...bodies.unknown, raw: nested(levels) },
  ];
  for (const event of told(128)) expect(decodeEvent(encodeEvent(event))).toEqual(event);
  for (const event of told(129)) {
    expect(() => decodeEvent(encodeEvent(event))).toThrow(
      expect.objectContaining({ code: 'too_large' }),
    );
  }
});

describe('what a later writer tells', () => {
  test.each(['rotated', '__proto__', 'constructor', 'toString', 'snapshot', ''])(
    'an event of type %j is an unknown event with all that it had',
    (type) => {
      const raw = { ...head, ...tricky, type, toolCallId: 17, covers: 'all' };
      const event = decodeEvent(JSON.stringify(raw));
      expect(event).toStrictEqual({ ...head, type: 'unknown', raw });
      expect(decodeEvent(encodeEvent(event))).toStrictEqual(event);
    },
  );

  test('unknown fields are ignored', () => {
    for (const body of Object.values(bodies)) {
      const event = { ...head, ...body };
      const text = JSON.stringify({ ...JSON.parse(encodeEvent(event)), later: tricky });
      expect(decodeEvent(text)).toStrictEqual(event);
    }
  });
});

describe('an event that is not what it should be', () => {
  const broken = (body: Body, change: object) =>
    JSON.stringify({ ...JSON.parse(encodeEvent({ ...head, ...body })), ...change });
  const refusal = (path: string) => expect.objectContaining({ code: 'bad_value', place: { path } });

  test.each<[path: string, body: Body, change: object]>([
    ['$.session', bodies.turn_started, { session: '' }],
    ['$.session', bodies.unknown, { session: undefined }],
    ['$.offset', bodies.turn_started, { offset: 0 }],
    ['$.time', bodies.turn_started, { time: 0.5 }],
    ['$.turn', bodies.turn_started, { turn: null }],
    ['$.attempt', bodies.turn_started, { attempt: '1' }],
    ['$.type', bodies.turn_started, { type: 7 }],
    ['$.type', bodies.turn_started, { type: undefined }],
    ['$.partId', bodies.text_delta, { partId: 'a' }],
    ['$.at', bodies.text_delta, { at: -1 }],
    ['$.form', bodies.reasoning_delta, { form: 'whole' }],
    ['$.bytes', bodies.media_delta, { bytes: 'AP9' }],
    ['$.kind', bodies.part_started, { kind: 'constructor' }],
    ['$.part.text', bodies.part_finished, { part: { kind: 'text' } }],
    ['$.message.parts[0].kind', bodies.turn_finished, { message: { ...message, parts: [{}] } }],
    ['$.items[0].itemId', bodies.turn_settled, { items: [{ itemId: '\u0000' }] }],
    ['$.covers[0]', bodies.turn_settled, { covers: [0, 7] }],
    ['$.covers', bodies.turn_settled, { covers: [7, 3] }],
    ['$.raw', bodies.unknown, { raw: [] }],
    ['$.usage.input', bodies.usage_reported, { usage: { ...noUsage, input: -1 } }],
  ])('names %s', (path, body, change) => {
    expect(() => decodeEvent(broken(body, change))).toThrow(refusal(path));
  });

  test('names the id of a tool call as a fact does', () => {
    const changes = [{ toolCallId: 17 }, { toolCallId: '' }, { toolCallId: undefined, id: 'x' }];
    for (const change of changes) {
      expect(() => decodeEvent(broken(bodies.approval_asked, change))).toThrow(
        refusal('$.toolCallId'),
      );
    }
  });

  test('is not an event at all', () => {
    for (const text of ['null', '[]', '"turn_started"', '7']) {
      expect(() => decodeEvent(text)).toThrow(refusal('$'));
    }
    expect(() => decodeEvent('{"type":')).toThrow(expect.objectContaining({ code: 'not_json' }));
  });
});
