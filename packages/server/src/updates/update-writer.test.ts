import { countingIds, isMillraceError, toArray, transcript } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { byId, shownByAgentex, updatesOfLog } from '../testing/agentex-client.ts';
import { deltaLists, updateLists } from '../testing/random-updates.ts';
import { recordUpdates, task } from '../testing/recorded-updates.ts';
import { messagesOf } from './task-messages.ts';
import { UpdateWriter } from './update-writer.ts';

const start = (content: object, index: number | null = 0) => ({ type: 'start', index, content });
const text = (content: string, more = {}) => ({ type: 'text', author: 'agent', content, ...more });
const delta = (fields: object, index: number | null = 0) => ({
  type: 'delta',
  index,
  delta: fields,
});
const textDelta = (text_delta: string, index: number | null = 0) =>
  delta({ type: 'text', text_delta }, index);
const done = (index: number | null = 0) => ({ type: 'done', index });
const contents = (...updates: Parameters<typeof recordUpdates>) =>
  messagesOf(recordUpdates(...updates).state).map(({ content }) => content);

const aborted = { reason: 'aborted', cause: 'interrupted' } as const;

describe('any sequence of updates', () => {
  test('is closed at the end, and the streamed messages equal the stored ones', () => {
    fc.assert(
      fc.property(updateLists, fc.boolean(), (updates, isCut) => {
        const { records, state } = recordUpdates(updates, isCut ? { stop: aborted } : {});
        expect(state.open).toEqual([]);
        expect(toArray(state.items).filter(({ finished }) => finished === undefined)).toEqual([]);
        const shown = shownByAgentex(updatesOfLog(task, records).updates);
        expect(byId(shown.messages)).toEqual(byId(messagesOf(state)));
        expect(shown.refetched).toEqual([]);
      }),
    );
  });

  test('no two messages share an index', () => {
    fc.assert(
      fc.property(updateLists, (updates) => {
        const byMessage = new Map<unknown, Set<unknown>>();
        for (const update of updatesOfLog(task, recordUpdates(updates).records).updates) {
          const id = update.parent_task_message?.id;
          byMessage.set(id, (byMessage.get(id) ?? new Set()).add(update.index));
          if (update.type === 'full' && update.retracted) byMessage.delete(id);
        }
        const indexes = [...byMessage.values()].map((found) => [...found]);
        expect(indexes.every((found) => found.length === 1)).toBe(true);
        expect(new Set(indexes.flat()).size).toBe(indexes.length);
      }),
    );
  });

  test('without an end, is on the log as far as it was sent', () => {
    fc.assert(
      fc.property(deltaLists, fc.nat(), fc.string(), (updates, at, piece) => {
        const sent = updates.toSpliced(at % (updates.length + 1), 0, textDelta(piece));
        const { state } = recordUpdates(sent, { leave: true });
        const stored = messagesOf(state).filter(({ content }) => content.type === 'text');
        expect(stored.length).toBeGreaterThan(0);
      }),
    );
  });
});

describe('a start', () => {
  test('is a preview that later updates replace', () => {
    expect(contents([start(text('draft')), textDelta('wip'), done()])).toMatchObject([
      { content: 'wip' },
    ]);
    expect(contents([start(text('draft'))])).toMatchObject([{ content: 'draft' }]);
  });

  test('that is repeated sets format and preview, and keeps the text', () => {
    const again = start(text('other', { format: 'code' }));
    const updates = [start(text('draft')), textDelta('kept'), again, textDelta('!')];
    expect(contents(updates)).toMatchObject([{ content: 'kept!', format: 'code' }]);
    expect(recordUpdates(updates).warnings.restarted).toBe(1);
    expect(contents([start(text('one')), again])).toMatchObject([
      { content: 'other', format: 'code' },
    ]);
  });

  test.each([
    ['a call', { type: 'tool_request', tool_call_id: 'c', name: 'read', arguments_delta: '{}' }],
    ['data', { type: 'data', data_delta: '{}' }],
    ['reasoning', { type: 'reasoning_summary', summary_index: 0, summary_delta: 'Hm.' }],
  ])('21.P: that changes the style of %s after a delta is shown to viewers', (_kind, fields) => {
    const bodies: Readonly<Record<string, object>> = {
      tool_request: { type: 'tool_request', tool_call_id: 'c', name: 'read', arguments: {} },
      data: { type: 'data', data: {} },
      reasoning_summary: { type: 'reasoning', summary: [], content: null },
    };
    const late = { author: 'agent', style: 'active', ...bodies[fields.type] };
    const { records, state } = recordUpdates([delta(fields), start(late), done()]);
    const shown = shownByAgentex(updatesOfLog(task, records).updates);
    expect(messagesOf(state)).toMatchObject([{ content: { style: 'active' } }]);
    expect(byId(shown.messages)).toEqual(byId(messagesOf(state)));
  });

  test('of another type than its deltas is dropped, unless it is a call', () => {
    const data = delta({ type: 'data', data_delta: '{"a":1}' });
    expect(contents([start(text('')), data])).toMatchObject([{ type: 'data', data: { a: 1 } }]);
    expect(recordUpdates([start(text('')), data]).warnings.mismatched).toBe(1);
    const call = {
      type: 'tool_request',
      author: 'agent',
      tool_call_id: 'c',
      name: 'now',
      arguments: {},
    };
    expect(contents([start(call), textDelta('Hm.')])).toMatchObject([call, { content: 'Hm.' }]);
  });

  test('of reasoning gives its entries one message', () => {
    const reasoning = { type: 'reasoning', author: 'agent', summary: [], content: null };
    const entry = delta({ type: 'reasoning_content', content_index: 0, content_delta: 'Hm.' });
    const { state, records } = recordUpdates([start(reasoning), entry]);
    const [started] = updatesOfLog(task, records).updates;
    expect(messagesOf(state)).toMatchObject([
      { id: started?.parent_task_message?.id, content: { summary: [], content: ['Hm.'] } },
    ]);
  });
});

describe('an update without an index', () => {
  test('goes to the latest index, and a start opens the next free index', () => {
    const updates = [
      textDelta('a', 1),
      textDelta('b', null),
      start(text(''), null),
      textDelta('c', null),
    ];
    expect(contents(updates)).toMatchObject([{ content: 'ab' }, { content: 'c' }]);
    expect(recordUpdates(updates).warnings.unindexed).toBe(3);
  });

  test('with a full does not replace an indexed message', () => {
    const full = { type: 'full', content: text('whole') };
    expect(contents([textDelta('a'), full, full])).toMatchObject([
      { content: 'a' },
      { content: 'whole' },
      { content: 'whole' },
    ]);
  });
});

test('a done for an unknown index is counted and dropped', () => {
  const { records, warnings } = recordUpdates([done(3), done(null)]);
  expect(records).toEqual([]);
  expect(warnings.unopened).toBe(2);
});

test('data that is not JSON is stored as text, with a note', () => {
  const { state, warnings } = recordUpdates([delta({ type: 'data', data_delta: '{"a":' })]);
  expect(messagesOf(state)).toMatchObject([{ content: { type: 'text', content: '{"a":' } }]);
  expect(transcript(state)[0]?.parts[0]).toMatchObject({
    partial: true,
    metadata: { note: expect.stringContaining('no JSON') },
  });
  expect(warnings.unparsed).toBe(1);
});

test('a key named __proto__ is data', () => {
  const input = JSON.parse('{"__proto__":{"x":1}}') as object;
  const call = {
    type: 'tool_request',
    author: 'agent',
    tool_call_id: 'c',
    name: 'n',
    arguments: input,
  };
  const [content] = contents([{ type: 'full', index: 0, content: call }]);
  expect(JSON.stringify(content)).toContain('"arguments":{"__proto__":{"x":1}}');
});

test('a stop stores text as partial, retracts an unfinished call and finishes the items', () => {
  const half = delta({ tool_call_id: 'c', name: 'n', arguments_delta: '{' });
  const { state } = recordUpdates([textDelta('Hel'), half], { stop: aborted });
  expect(transcript(state)).toMatchObject([
    { stop: aborted, parts: [{ kind: 'text', text: 'Hel', partial: true }] },
  ]);
});

describe('a refusal', () => {
  const code = (act: () => unknown) => {
    try {
      act();
    } catch (error) {
      return isMillraceError(error) ? error.code : error;
    }
    return undefined;
  };
  const writer = (options = {}) =>
    new UpdateWriter({ turn: 1, attempt: 1, ids: countingIds(), ...options });

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['no type', { index: 0 }],
    ['an unknown type', { type: 'begin', index: 0 }],
    ['a content without an author', start({ type: 'text', content: '' })],
    ['a delta without a word', delta({})],
    ['an index below zero', textDelta('', -1)],
    [
      'a cycle',
      (() => {
        const cycle: Record<string, unknown> = { type: 'data', author: 'agent' };
        cycle['data'] = cycle;
        return start(cycle);
      })(),
    ],
    [
      'ten thousand levels',
      start({
        type: 'data',
        author: 'agent',
        data: JSON.parse(`${'{"a":'.repeat(1e4)}1${'}'.repeat(1e4)}`),
      }),
    ],
  ])('of %s has a code and no effect', (_what, update) => {
    const one = writer();
    expect(code(() => one.write(update))).toBe('bad_update');
    expect(one.isOpen).toBe(false);
    expect(one.write(textDelta('on'))).not.toEqual([]);
  });

  test('of too many indexes, or of too much text, has a code and keeps the rest', () => {
    const one = writer({ maxIndexes: 1, limits: { maxTextLength: 100 } });
    one.write(textDelta('a'.repeat(99)));
    expect(code(() => one.write(textDelta('', 1)))).toBe('too_many_indexes');
    expect(code(() => one.write(textDelta('de')))).toBe('too_large');
    one.write(textDelta('d'));
    expect(one.end().map(({ delta: last }) => last?.type)).toContain('commit_part');
    expect(code(() => one.write(textDelta('late')))).toBe('writer_ended');
  });
});
