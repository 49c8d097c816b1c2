import { countingIds, Folder, type LogRecord } from '@millrace/core';
import { expect, test } from 'vitest';
import { testSession } from '../../../core/src/testing/random-log.ts';
import { stepsOf } from '../testing/servers/steps-of.ts';
import { UpdateWriter } from './update-writer.ts';
import { updatesOf } from './updates-view.ts';

// A remote agent streams a message of many parts, and then replaces the message. Each part is retracted. The server
// creates the updates for all retractions at once, and other clients wait.

/** Returns a function that retracts all parts of a message and creates the updates. */
function retraction(count: number, part: object, metadata: object) {
  let offset = 0;
  const at = { turn: 1, attempt: 1, producer: 'p' };
  const folder = new Folder(testSession);
  const add = (what: object) => {
    offset += 1;
    const record = { ...at, offset, time: offset, ...what } as LogRecord;
    const before = folder.state;
    folder.addBatch({ after: offset - 1, through: offset, records: [record] });
    return updatesOf(before, record, folder.state);
  };
  add({ fact: { type: 'turn_started' } });
  add({ fact: { type: 'item_started', itemId: 'i', kind: 'assistant', metadata } });
  const ids = Array.from({ length: count }, (_, at) => `1.1.p${at}`);
  for (const [n, partId] of ids.entries()) {
    add({ delta: { itemId: 'i', partId, ...part, toolCallId: `c${n}` } });
    // An open part with an index is visible as soon as it has content.
    if (part === call) add({ delta: { type: 'append_text', partId, at: 0, chunk: '{}' } });
  }
  return async () => {
    const updates = ids.flatMap((partId) => add({ delta: { type: 'retract_part', partId } }));
    expect(updates.map(({ update }) => [update.type, 'retracted' in update])).toEqual(
      ids.map(() => ['full', true]),
    );
  };
}

const call = { type: 'begin_part', kind: 'tool_call', name: 't' };
const text = { type: 'commit_part', part: { kind: 'text', text: 'x' } };

test.each([
  ['open calls of a message with an index', call, { index: 0 }],
  ['finished texts of a message with an index', text, { index: 0 }],
  ['open calls', call, {}],
  ['finished texts', text, {}],
])(
  '18.1297: attack: the updates of retracted parts need the square of the parts: %s',
  async (_, part, metadata) => {
    const few = await stepsOf(retraction(150, part, metadata));
    expect(await stepsOf(retraction(600, part, metadata))).toBeLessThan(6 * few);
  },
);

const openCall = (index: number, id: string) => {
  const delta = { type: 'tool_request', tool_call_id: id, name: 't', arguments_delta: '{}' };
  return { type: 'delta', index, delta };
};
const whole = { type: 'text', author: 'agent', content: 'x' };

test.each([
  ['opens parts in many messages', false, 1024],
  ['opens parts in many messages and replaces them', true, 4096],
])('18.1299: attack: a remote agent %s of one answer', (_, replaces, most) => {
  const writer = new UpdateWriter({ turn: 1, attempt: 1, ids: countingIds() });
  let begun = 0;
  const flood = () => {
    for (let index = 0; index < 1000; index++) {
      for (let call = 0; call < 100; call++) {
        const drafts = writer.write(openCall(index, `c${index}.${call}`));
        begun += drafts.filter(({ delta }) => delta?.type === 'begin_part').length;
      }
      if (replaces) writer.write({ type: 'full', index, content: whole });
    }
  };
  expect(flood).toThrow(expect.objectContaining({ code: 'too_many_parts' }));
  expect(begun).toBe(most);
});
