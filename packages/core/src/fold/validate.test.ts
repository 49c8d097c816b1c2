import { describe, expect, test } from 'vitest';
import { itemId, type PartId, partId, toolCallId } from '../ids.ts';
import { type ContentLimits, defaultContentLimits } from '../limits.ts';
import type { Delta } from '../protocol/delta.ts';
import type { Fact } from '../protocol/fact.ts';
import type { Part } from '../protocol/part.ts';
import type { Refusal } from '../protocol/protocol-error.ts';
import type { DraftRecord } from '../protocol/record.ts';
import { noUsage } from '../protocol/usage.ts';
import { testSession } from '../testing/random-log.ts';
import { fold } from './fold.ts';
import { emptyState, type FoldState } from './fold-state.ts';
import { transcript } from './transcript.ts';
import { validate } from './validate.ts';

const item = itemId('i1');
const other = itemId('i2');
const a = partId(1, 1, 'a');
const b = partId(1, 1, 'b');

const begin = (id: PartId = a): Delta => ({
  type: 'begin_part',
  partId: id,
  itemId: item,
  kind: 'text',
});
const append = (at: number, chunk: string, id: PartId = a): Delta => ({
  type: 'append_text',
  partId: id,
  at,
  chunk,
});
const bytes = (at: number, ...chunk: number[]): Delta => ({
  type: 'append_bytes',
  partId: a,
  at,
  chunk: Uint8Array.from(chunk),
});
const commit = (length: number): Delta => ({ type: 'commit_part', partId: a, length });
const whole = (part: Part, id: PartId = a): Delta => ({
  type: 'commit_part',
  partId: id,
  itemId: item,
  part,
});
const retract: Delta = { type: 'retract_part', partId: a, reason: 'withdrawn' };
const replace = (value: unknown): Delta =>
  ({ type: 'replace_structured', partId: a, value }) as Delta;
const text: Part = { kind: 'text', text: 'whole' };
const media: Delta = {
  type: 'begin_part',
  partId: a,
  itemId: item,
  kind: 'media',
  mimeType: 'image/png',
};
const structured: Delta = { type: 'begin_part', partId: a, itemId: item, kind: 'structured' };
const finish: Fact = { type: 'item_finished', itemId: item };

const draft = (body: Delta | Fact, turn = 1, attempt = 1): DraftRecord =>
  isFact(body) ? { turn, attempt, fact: body } : { turn, attempt, delta: body };

const isFact = (body: Delta | Fact): body is Fact => !('partId' in body) && body.type !== 'unknown';

const head = (offset: number, body: DraftRecord) =>
  ({ v: 1, offset, time: 0, producer: 'test', ...body }) as const;

/** The state after an open item and these, each of which the validator takes. */
function after(...bodies: readonly (Delta | Fact)[]): FoldState {
  const started: Fact = { type: 'item_started', itemId: item, kind: 'assistant' };
  return [started, ...bodies].reduce((state: FoldState, body) => {
    const taken = validate(state, draft(body));
    if (taken === undefined) return state;
    const offset = state.through + 1;
    const folded = fold(state, head(offset, taken));
    expect(folded.outcome).toBe('applied');
    return folded.state;
  }, emptyState(testSession));
}

function refusal(
  state: FoldState,
  body: Delta | Fact,
  limits?: ContentLimits,
): Refusal | undefined {
  const before = structuredClone(state);
  try {
    validate(state, draft(body), limits);
    return undefined;
  } catch (error) {
    expect(error).toHaveProperty('name', 'ProtocolError');
    expect(state).toEqual(before);
    return (error as { readonly code: Refusal }).code;
  }
}

const refused: readonly (readonly [string, readonly (Delta | Fact)[], Delta | Fact, Refusal])[] = [
  ['an append that says something else', [begin(), append(0, 'abc')], append(1, 'xc'), 'conflict'],
  [
    'a shorter append that says something else',
    [begin(), append(0, 'abc')],
    append(0, 'x'),
    'conflict',
  ],
  ['bytes that say something else', [media, bytes(0, 1, 2, 3)], bytes(1, 9, 3, 4), 'conflict'],
  ['an append beyond the end', [begin(), append(0, 'abc')], append(4, 'e'), 'gap'],
  ['bytes beyond the end', [media, bytes(0, 1)], bytes(2, 3), 'gap'],
  ['an append to an unknown part', [], append(0, 'a'), 'unknown_part'],
  ['an append to a committed part', [begin(), commit(0)], append(0, 'a'), 'part_closed'],
  ['an append to a retracted part', [begin(), retract], append(0, 'a'), 'part_closed'],
  ['a replacement in an unknown part', [], replace(1), 'unknown_part'],
  [
    'metadata of an unknown part',
    [],
    { type: 'set_metadata', partId: a, metadata: {} },
    'unknown_part',
  ],
  ['a commit by length of an unknown part', [], commit(0), 'unknown_part'],
  ['a begin of another kind while open', [begin()], structured, 'conflict'],
  [
    'a begin in another item while open',
    [begin()],
    { ...begin(), itemId: other } as Delta,
    'conflict',
  ],
  ['a begin after commit', [begin(), commit(0)], begin(), 'part_closed'],
  ['a begin after retract', [begin(), retract], begin(), 'part_closed'],
  ['a begin in an unknown item', [], { ...begin(), itemId: other } as Delta, 'unknown_item'],
  ['a begin in a finished item', [finish], begin(), 'item_closed'],
  [
    'a whole part in an unknown item',
    [],
    { ...whole(text), itemId: other } as Delta,
    'unknown_item',
  ],
  ['a whole part in a finished item', [finish], whole(text), 'item_closed'],
  ['a commit with another length', [begin(), append(0, 'abc')], commit(2), 'conflict'],
  ['a commit of a structured part without a value', [structured], commit(0), 'no_value'],
  [
    'a whole part over one of another item',
    [begin()],
    { ...whole(text), itemId: other } as Delta,
    'conflict',
  ],
  ['a whole part over a committed one', [whole(text)], whole(text), 'part_closed'],
  ['a commit after commit', [begin(), commit(0)], commit(0), 'part_closed'],
  [
    'metadata after commit',
    [whole(text)],
    { type: 'set_metadata', partId: a, metadata: {} },
    'part_closed',
  ],
  ['a retraction of an unknown part', [], retract, 'unknown_part'],
  ['text in a structured part', [structured], append(0, 'a'), 'wrong_kind'],
  ['text in media', [media], append(0, 'a'), 'wrong_kind'],
  ['bytes in text', [begin()], bytes(0, 1), 'wrong_kind'],
  ['a value in text', [begin()], replace(1), 'wrong_kind'],
  ['a signature on text', [begin()], { ...commit(0), signature: 's' } as Delta, 'wrong_kind'],
  ['an id of another attempt', [], begin(partId(1, 2, 'a')), 'wrong_attempt'],
  ['an id of another turn', [], begin(partId(2, 1, 'a')), 'wrong_attempt'],
  ['half a pair at the end', [begin()], append(0, 'a\ud83d'), 'lone_surrogate'],
  ['half a pair in a whole part', [], whole({ kind: 'text', text: '\ude00' }), 'lone_surrogate'],
  ['a value that is NaN', [structured], replace(Number.NaN), 'not_json'],
  ['a value with a function', [structured], replace({ f: () => 1 }), 'not_json'],
  [
    'a whole part with a bad value',
    [],
    whole({ kind: 'custom', name: 'c', value: null, metadata: { n: Number.NaN } }),
    'not_json',
  ],
  [
    'an item that was started',
    [],
    { type: 'item_started', itemId: item, kind: 'user' },
    'conflict',
  ],
  ['the end of an unknown item', [], { type: 'item_finished', itemId: other }, 'unknown_item'],
  ['the end of a finished item', [finish], finish, 'item_closed'],
  ['the end of an item with an open part', [begin()], finish, 'open_parts'],
  [
    'the end of a response with an open part',
    [begin()],
    { type: 'response_finished', itemId: item, stop: { reason: 'stop' }, usage: noUsage },
    'open_parts',
  ],
  [
    'the redaction of an item with an open part',
    [begin()],
    { type: 'item_redacted', itemId: item },
    'open_parts',
  ],
  [
    'the redaction of an unknown item',
    [],
    { type: 'item_redacted', itemId: other },
    'unknown_item',
  ],
];

describe('the validator refuses, and leaves the state as it was,', () => {
  test.each(refused)('%s', (_name, before, body, code) => {
    expect(refusal(after(...before), body)).toBe(code);
  });

  test('an item id that a superseded attempt had used', () => {
    const state = after({ type: 'attempt_superseded', reason: 'test' });
    expect(refusal(state, { type: 'item_started', itemId: item, kind: 'user' })).toBe('conflict');
  });

  test('a part in an item of another turn or attempt', () => {
    for (const [turn, attempt] of [
      [2, 1],
      [1, 2],
    ] as const) {
      const body = begin(partId(turn, attempt, 'a'));
      expect(() => validate(after(), draft(body, turn, attempt))).toThrow(
        'another turn or attempt',
      );
    }
  });

  test('facts that no reader could read, and says where', () => {
    const usage = { ...noUsage, input: 1.5, costs: [{ amount: '1e3', currency: 'USD' }] };
    const bad: readonly (readonly [object, string])[] = [
      [{ type: 'usage_reported', usage }, '$.usage.input'],
      [{ type: 'usage_reported', usage: { ...usage, input: 1 } }, '$.usage.costs[0].amount'],
      [{ type: 'item_started', itemId: 'i9', kind: 'ghost' }, '$.kind'],
      [{ type: 'unknown', raw: { said: 'no type' } }, '$.type'],
      [{ type: 'unknown', raw: { type: 'turn_started' } }, '$'],
    ];
    for (const [fact, path] of bad) {
      const take = () => validate(after(), { turn: 1, attempt: 1, fact: fact as Fact });
      expect(take).toThrow(
        expect.objectContaining({ code: 'bad_value', place: expect.objectContaining({ path }) }),
      );
    }
  });

  test('facts with what JSON cannot say, or too much of it', () => {
    const command = (value: unknown) => ({ type: 'command_queued', key: 'k', command: { value } });
    expect(refusal(after(), command(Number.NaN) as Fact)).toBe('not_json');
    expect(refusal(after(), command('x'.repeat(9 * 2 ** 20)) as Fact)).toBe('too_large');
  });

  test('deltas and heads that no reader could read', () => {
    const take = (body: object, head: object = {}) => {
      const delta = { ...begin(), ...body } as Delta;
      return () => validate(after(), { turn: 1, attempt: 1, delta, ...head });
    };
    const bad = expect.objectContaining({ code: 'bad_value' });
    for (const partId of ['1.1.', '01.1.x', '1e0.1.x', '1.1.\n', 7, null]) {
      expect(take({ partId })).toThrow(bad);
    }
    for (const toolCallId of ['', 'c'.repeat(1025), undefined]) {
      expect(take({ kind: 'tool_call', name: 't', toolCallId })).toThrow(bad);
    }
    expect(take({ kind: 'ghost' })).toThrow(bad);
    expect(take({ type: 'append_text', at: Number.NaN, chunk: '' })).toThrow(bad);
    expect(take({ type: 'commit_part', length: 0, partial: false })).toThrow(bad);
    expect(take({ type: 'commit_part', part: null })).toThrow(bad);
    expect(take({ type: 'set_metadata', metadata: 5 })).toThrow(bad);
    expect(take({}, { delta: null })).toThrow(bad);
    expect(take({}, { delta: undefined, fact: null })).toThrow(bad);
    expect(take({}, { delta: { type: 'bogus', partId: a } })).toThrow(bad);
    expect(take({}, { turn: -1 })).toThrow(bad);
    expect(take({}, { attempt: Number.NaN })).toThrow(bad);
  });

  test('two costs of one currency, and a snapshot, which only a store writes', () => {
    const cost = { amount: '1', currency: 'USD' };
    const usage = { ...noUsage, costs: [cost, cost] };
    expect(refusal(after(), { type: 'usage_reported', usage })).toBe('bad_value');
    for (const items of [[], null, [1]]) {
      const snapshot = { type: 'snapshot', covers: [1, 1], items };
      expect(refusal(after(), snapshot as Fact)).toBe('bad_value');
    }
  });

  test('the superseding of attempt 0, and whatever a superseded attempt still says', () => {
    const superseded: Fact = { type: 'attempt_superseded', reason: 'test' };
    expect(() => validate(after(), { turn: 1, attempt: 0, fact: superseded })).toThrow(
      expect.objectContaining({ code: 'wrong_attempt' }),
    );
    const shared: Fact = { type: 'item_started', itemId: other, kind: 'assistant' };
    const folded = fold(after(), head(2, { turn: 1, attempt: 0, fact: shared })).state;
    const state = fold(folded, head(3, { turn: 1, attempt: 1, fact: superseded })).state;
    expect(refusal(state, { ...begin(b), itemId: other } as Delta)).toBe('wrong_attempt');
    const late: Fact = { type: 'item_started', itemId: itemId('i3'), kind: 'assistant' };
    expect(refusal(state, late)).toBe('wrong_attempt');
    const stop = { reason: 'stop' } as const;
    const end: Fact = { type: 'response_finished', itemId: other, stop, usage: noUsage };
    expect(refusal(state, end)).toBe('wrong_attempt');
    expect(refusal(state, { type: 'item_finished', itemId: other })).toBe('wrong_attempt');
    expect(refusal(state, { type: 'usage_reported', usage: noUsage })).toBeUndefined();
  });

  test('the end of a turn in which a part is open', () => {
    const end: Fact = { type: 'turn_finished', stop: { reason: 'stop' } };
    expect(refusal(after(begin()), end)).toBe('open_parts');
    expect(refusal(after(begin(), commit(0)), end)).toBeUndefined();
  });

  test('the end of an item in another turn, and of a response in no attempt or another', () => {
    const end = { type: 'item_finished', itemId: item } as const;
    const stop = { reason: 'stop' } as const;
    const response = { type: 'response_finished', itemId: item, stop, usage: noUsage } as const;
    const take = (fact: Fact, turn: number, attempt: number) => () =>
      validate(after(), { turn, attempt, fact });
    const wrong = expect.objectContaining({ code: 'wrong_attempt' });
    expect(take(end, 2, 1)).toThrow(wrong);
    expect(take(response, 1, 0)).toThrow(wrong);
    expect(take(response, 1, 2)).toThrow(wrong);
    expect(take(end, 1, 0)()).toBeDefined();
  });

  test('one part more than an item may have', () => {
    const limits = { ...defaultContentLimits, maxParts: 1 };
    expect(refusal(after(whole(text)), whole(text, b), limits)).toBe('too_large');
    expect(refusal(after(), whole(text, b), limits)).toBeUndefined();
  });

  test('bytes that are none', () => {
    const take = (delta: object) => () =>
      validate(after(media), { turn: 1, attempt: 1, delta: delta as Delta });
    const bad = expect.objectContaining({ code: 'bad_value' });
    const view = new DataView(new ArrayBuffer(2));
    const arrays = [[1, 2], Float64Array.of(1.5), Uint16Array.of(300), view];
    for (const found of [undefined, null, 'abc', { length: 3 }, ...arrays]) {
      expect(take({ type: 'append_bytes', partId: a, at: 0, chunk: found })).toThrow(bad);
      const part = { kind: 'media', mimeType: 'm', source: { type: 'bytes', bytes: found } };
      expect(take({ type: 'commit_part', partId: b, itemId: item, part })).toThrow(bad);
    }
    const chunk = Buffer.from([1]);
    expect(take({ type: 'append_bytes', partId: a, at: 0, chunk })()).toBeDefined();
  });

  test('more values than a document may have, and facts that are too long', () => {
    const many = new Array(2 ** 20 + 1).fill(0);
    expect(refusal(after(structured), replace(many))).toBe('too_large');
    const long = '\u0001'.repeat(6 * 2 ** 20);
    const error = { code: long, message: long };
    expect(refusal(after(), { type: 'error_reported', error })).toBe('too_large');
  });

  test('holes, a draft of both kinds, and what is no draft at all', () => {
    const bad = expect.objectContaining({ code: 'bad_value' });
    const take = (given: unknown) => () => validate(after(), given as DraftRecord);
    const place = { turn: 1, attempt: 1 };
    expect(take({ ...place, fact: { type: 'compacted', itemIds: new Array(2) } })).toThrow(bad);
    expect(take({ ...place, fact: { type: 'turn_started' }, delta: begin() })).toThrow(bad);
    for (const given of [
      null,
      undefined,
      5,
      {},
      place,
      { ...place, fact: { type: Symbol('x') } },
    ]) {
      expect(take(given)).toThrow(bad);
    }
    const huge = { ...place, delta: { type: 'append_text', partId: '1'.repeat(1e6) } };
    expect(take(huge)).toThrow(/^.{1,500}$/);
  });

  test('a part in a redacted item', () => {
    const state = after({ type: 'item_redacted', itemId: item });
    expect(refusal(state, begin())).toBe('item_closed');
  });

  test('an unknown delta that is none', () => {
    const delta: Delta = {
      type: 'unknown',
      raw: { type: 'append_text', partId: a, at: 0, chunk: '' },
    };
    const take = () => validate(after(), { turn: 1, attempt: 1, delta });
    expect(take).toThrow(expect.objectContaining({ code: 'bad_value' }));
  });

  test('attachments with metadata that is no JSON, and names without end', () => {
    const attachment = {
      kind: 'file',
      name: 'f',
      mimeType: 'm',
      source: { type: 'url', url: 'u' },
    };
    const result = (file: object) =>
      whole({
        kind: 'tool_result',
        toolCallId: toolCallId('c1'),
        name: 't',
        text: '',
        isError: false,
        attachments: [{ ...attachment, ...file } as never],
      });
    expect(refusal(after(), result({ metadata: { n: Number.NaN } }))).toBe('not_json');
    expect(refusal(after(), result({ name: 'n'.repeat(2 ** 20) }))).toBe('too_large');
    expect(refusal(after(), result({}))).toBeUndefined();
  });

  test('an id that a redacted item had', () => {
    const state = after(whole(text), finish, { type: 'item_redacted', itemId: item });
    expect(refusal(state, begin())).toBe('part_closed');
  });

  test('what is over a limit', () => {
    const limits = {
      ...defaultContentLimits,
      maxChunkLength: 12,
      maxTextLength: 20,
      maxOpenParts: 1,
    };
    const state = after(begin(), append(0, 'abcdefghij'));
    const x = (count: number) => 'x'.repeat(count);
    expect(refusal(state, append(10, x(13)), limits)).toBe('too_large');
    expect(refusal(state, append(10, x(11)), limits)).toBe('too_large');
    expect(refusal(state, append(10, x(10)), limits)).toBeUndefined();
    expect(refusal(state, begin(b), limits)).toBe('too_large');
    expect(refusal(after(), whole({ kind: 'text', text: x(21) }), limits)).toBe('too_large');
  });

  test('JSON that is nested too deeply, and cycles', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 10_000; level++) deep = [deep];
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    expect(refusal(after(structured), replace(deep))).toBe('too_large');
    expect(refusal(after(structured), replace(cycle))).toBe('too_large');
  });

  test('a chunk of 100 MB', () => {
    expect(refusal(after(begin()), append(0, 'x'.repeat(100 * 2 ** 20)))).toBe('too_large');
  });
});

describe('the validator takes', () => {
  test('of an overlapping append only its new end', () => {
    const taken = validate(after(begin(), append(0, 'abc')), draft(append(1, 'bcde')));
    expect(taken?.delta).toEqual(append(3, 'de'));
  });

  test('of overlapping bytes only their new end', () => {
    const taken = validate(after(media, bytes(0, 1, 2)), draft(bytes(1, 2, 3)));
    expect(taken?.delta).toEqual(bytes(2, 3));
  });

  test.each([
    ['an append that is there already', [begin(), append(0, 'abc')], append(1, 'b')],
    ['an empty append', [begin()], append(0, '')],
    ['a begin that is there already', [begin()], begin()],
    ['a retraction that is there already', [begin(), retract], retract],
  ] as const)('nothing of %s', (_name, before, body) => {
    expect(validate(after(...before), draft(body))).toBeUndefined();
  });

  test('a whole part over an open one of any kind, which it replaces', () => {
    const call = toolCallId('c1');
    const part: Part = {
      kind: 'tool_result',
      toolCallId: call,
      name: 't',
      text: '',
      isError: true,
    };
    const state = after(begin(), append(0, 'abc'), whole(part));
    expect(transcript(state)[0]?.parts).toEqual([part]);
  });

  test('a whole part without a begin', () => {
    expect(transcript(after(whole(text)))[0]?.parts).toEqual([text]);
  });

  test('a retraction of a committed part, also in a finished item', () => {
    expect(transcript(after(begin(), commit(0), retract))[0]?.parts).toEqual([]);
    expect(transcript(after(whole(text), finish, retract))[0]?.parts).toEqual([]);
  });

  test('the fields that are known, and no others', () => {
    const fact = { type: 'aborted', reason: 'user', extra: 1n } as never;
    const taken = validate(after(), { turn: 1, attempt: 1, fact });
    expect(taken?.fact).toEqual({ type: 'aborted', reason: 'user' });
  });

  test('items whose ids look like part ids, which superseding does not mistake for them', () => {
    const odd = itemId('1.1.a');
    const start: Fact = { type: 'item_started', itemId: odd, kind: 'assistant' };
    let state = fold(after(), head(2, { turn: 1, attempt: 0, fact: start })).state;
    const bodies: readonly DraftRecord[] = [
      { turn: 1, attempt: 1, delta: { ...whole(text), itemId: odd } as Delta },
      { turn: 1, attempt: 1, delta: retract },
      { turn: 1, attempt: 3, fact: { type: 'attempt_superseded', reason: 'test' } },
    ];
    for (const body of bodies) state = fold(state, head(state.through + 1, body)).state;
    expect(transcript(state).map(({ id }) => id)).toEqual([item, odd]);
  });

  test('what it does not know, as it came', () => {
    const unknown: Delta = { type: 'unknown', raw: { type: 'hologram', beam: 7 } };
    const state = after();
    expect(validate(state, { turn: 1, attempt: 1, delta: unknown })?.delta).toEqual(unknown);
  });
});

test('a refusal says what was tried, where, and what to do', () => {
  expect(() => validate(after(begin(), commit(0)), draft(append(0, 'secret')))).toThrow(
    'Cannot take append_text (turn 1, attempt 1, partId 1.1.a): the part was committed or retracted, and its id is not used again; begin a new part',
  );
});
