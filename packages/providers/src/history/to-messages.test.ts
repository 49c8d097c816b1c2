import {
  type Item,
  type ItemKind,
  itemId,
  type Part,
  type ProviderState,
  type ToolCallPart,
  toolCallId,
} from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Message } from './message.ts';
import { toMessages } from './to-messages.ts';

const owner = { provider: 'here', model: 'm1' };
const own: ProviderState = { ...owner, data: { token: 'ours' } };
const foreign: ProviderState = { provider: 'elsewhere', model: 'm1', data: { token: 'theirs' } };
const otherModel: ProviderState = { provider: 'here', model: 'm2', data: { token: 'older' } };

let count = 0;
const item = (kind: ItemKind, ...parts: Part[]): Item => ({
  id: itemId(`i${++count}`),
  kind,
  parts,
});
const text = (said: string, state?: ProviderState): Part => ({
  kind: 'text',
  text: said,
  ...(state && { providerState: state }),
});
const call = (id: string, args = '{}'): ToolCallPart => ({
  kind: 'tool_call',
  toolCallId: toolCallId(id),
  name: 'read',
  arguments: args,
});
const result = (id: string, said = 'ok'): Part => ({
  kind: 'tool_result',
  toolCallId: toolCallId(id),
  name: 'read',
  text: said,
  isError: false,
});
const messagesOf = (items: readonly Item[], ids?: { form: RegExp; length: number }) =>
  toMessages({ items }, { ...owner, ids });

describe('calls and results', () => {
  test('a call without a result is answered', () => {
    const [, answer] = messagesOf([item('assistant', call('c1')), item('user', text('Go on'))]);
    expect(answer).toMatchObject({ role: 'tool', results: [{ toolCallId: 'c1', isError: true }] });
  });

  test('results come right after their calls, in the order of the calls, each once', () => {
    const messages = messagesOf([
      item('assistant', call('c1'), call('c2')),
      item('user', text('a steer that came in between')),
      item('tool', result('c2', 'two'), result('c1', 'one'), result('c1', 'again')),
      item('tool', result('c9', 'of nobody')),
    ]);
    expect(messages.map(({ role }) => role)).toEqual(['assistant', 'tool', 'user']);
    expect(messages[1]).toMatchObject({ results: [{ text: 'one' }, { text: 'two' }] });
  });

  test('an id that comes again in a later turn is another call', () => {
    const messages = messagesOf([
      item('assistant', call('c1')),
      item('tool', result('c1', 'first')),
      item('assistant', call('c1')),
      item('tool', result('c1', 'second')),
    ]);
    const ids = messages.flatMap((message) =>
      message.role === 'tool'
        ? message.results.map(({ toolCallId, text: said }) => [toolCallId, said])
        : [],
    );
    expect(ids.map(([, said]) => said)).toEqual(['first', 'second']);
    expect(new Set(ids.map(([id]) => id)).size).toBe(2);
  });

  test('E26: arguments that are not JSON object are sent as {}, with an error for a result', () => {
    for (const bad of ['{"path":', 'null', '[1]', '"text"']) {
      const [sent, answer] = messagesOf([item('assistant', call('c1', bad))]);
      expect(sent).toMatchObject({ parts: [{ arguments: '{}', input: {} }] });
      expect(answer).toMatchObject({ results: [{ isError: true }] });
    }
  });

  test('E11: empty arguments are {}, and valid ones go as the model wrote them', () => {
    const [sent] = messagesOf([item('assistant', call('c1', ''), call('c2', '{ "a" : 1 }'))]);
    expect(sent).toMatchObject({
      parts: [{ arguments: '{}' }, { arguments: '{ "a" : 1 }', input: { a: 1 } }],
    });
  });

  test('arguments that are not JSON are sent as their value where the part has one', () => {
    for (const bad of ['', '{"path":', 'null']) {
      const [sent] = messagesOf([item('assistant', { ...call('c1', bad), input: { a: 1 } })]);
      expect(sent).toMatchObject({ parts: [{ arguments: '{"a":1}', input: { a: 1 } }] });
    }
  });

  test('if the text and the value of arguments differ, the text counts', () => {
    const [sent] = messagesOf([item('assistant', { ...call('c1', '{"a":1}'), input: { a: 2 } })]);
    expect(sent).toMatchObject({ parts: [{ arguments: '{"a":1}', input: { a: 1 } }] });
  });

  test('E28: half a surrogate pair in arguments is replaced, in the text and in the value', () => {
    const escaped = call('c1', '{"a":["x\\ud83d"],"\\ude00":1}');
    const raw = call('c2', '{"a":"\ud83d"}');
    const valued = { ...call('c3', '{"a":"\ud83d"}'), input: { a: '\ud83d' } };
    const whole = call('c4', '{ "a": "\\ud83d\\ude00" }');
    const [sent] = messagesOf([item('assistant', escaped, raw, valued, whole)]);
    expect(sent).toMatchObject({
      parts: [
        { arguments: '{"a":["x\ufffd"],"\ufffd":1}', input: { a: ['x\ufffd'], '\ufffd': 1 } },
        { arguments: '{"a":"\ufffd"}', input: { a: '\ufffd' } },
        { arguments: '{"a":"\ufffd"}', input: { a: '\ufffd' } },
        { arguments: '{ "a": "\\ud83d\\ude00" }', input: { a: '😀' } },
      ],
    });
  });

  test('a call that was cut off is not sent', () => {
    const cut: Part = { ...call('c1', '{"a'), partial: true };
    expect(messagesOf([item('assistant', cut, text('Hm'))])).toMatchObject([
      { parts: [{ text: 'Hm' }] },
    ]);
  });
});

describe('provider state in parts', () => {
  test('goes back to the same provider and model only, and unchanged', () => {
    const [message] = messagesOf([
      item('assistant', text('a', own), text('b', foreign), text('c', otherModel)),
    ]);
    expect(message?.role === 'assistant' && message.parts).toEqual([
      { kind: 'text', text: 'a', providerState: own },
      { kind: 'text', text: 'b' },
      { kind: 'text', text: 'c' },
    ]);
  });

  test('reasoning and hosted blocks of others are dropped, and so are those that were cut off', () => {
    const reasoning = (state: ProviderState, partial?: true): Part => ({
      kind: 'reasoning',
      form: 'full',
      text: 'Hm',
      providerState: state,
      ...(partial && { partial }),
    });
    const block = (state: ProviderState): Part => ({
      kind: 'custom',
      name: 'search',
      value: 1,
      providerState: state,
    });
    const [message] = messagesOf([
      item(
        'assistant',
        reasoning(own),
        reasoning(own, true),
        reasoning(foreign),
        block(own),
        block(otherModel),
      ),
    ]);
    expect(message?.role === 'assistant' && message.parts.map(({ kind }) => kind)).toEqual([
      'reasoning',
      'custom',
    ]);
  });

  test('reasoning without any state is dropped', () => {
    const bare: Part = { kind: 'reasoning', form: 'full', text: 'Hm' };
    expect(messagesOf([item('assistant', bare)])).toEqual([]);
  });
});

test('E28: half a surrogate pair is replaced in what is sent, but not in what is signed', () => {
  const signed: Part = { kind: 'reasoning', form: 'full', text: '\ud83d', providerState: own };
  const answered = item('assistant', signed, text('b\ud83d', own), text('c\ud83d', foreign));
  const [user, answer] = messagesOf([item('user', text('a\ud83d')), answered]);
  expect(user).toMatchObject({ parts: [{ text: 'a\ufffd' }] });
  expect(answer).toMatchObject({
    parts: [{ text: '\ud83d' }, { text: 'b\ud83d' }, { text: 'c\ufffd' }],
  });
});

test('context is sent as the user’s, a notification not at all, and what is empty is left out', () => {
  const messages = messagesOf([
    item('system', text('Be brief')),
    item('context', text('The folder has 3 files')),
    item('notification', text('Model changed')),
    item('user', text('')),
    item('assistant', text('', own)),
  ]);
  expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant']);
});

test('cache hints mark the messages of their items', () => {
  const [first, second] = [item('user', text('a')), item('user', text('b'))];
  const messages = toMessages({ items: [first, second], cache: { upTo: [first.id] } }, owner);
  expect(messages.map(({ isCachePoint }) => isCachePoint)).toEqual([true, false]);
});

describe('ids of calls', () => {
  const nine = { form: /^[A-Za-z0-9]{9}$/, length: 9 };

  test('that fit are kept, others are replaced, in the call and in its result', () => {
    const messages = messagesOf([item('assistant', call('abc123XYZ'), call('call_1|fc_2'))], nine);
    const [sent, answer] = messages as [
      Message & { role: 'assistant' },
      Message & { role: 'tool' },
    ];
    const ids = sent.parts.map((part) => part.kind === 'tool_call' && part.toolCallId);
    expect(ids[0]).toBe('abc123XYZ');
    expect(ids[1]).toMatch(nine.form);
    expect(answer.results.map(({ toolCallId: id }) => id)).toEqual(ids);
  });

  test('are found while one is free, and then the history is rejected', () => {
    const one = { form: /^[A-Za-z0-9]$/, length: 1 };
    const many = (length: number) =>
      item('assistant', ...Array.from({ length }, (_, nth) => call(`call_${nth}`)));
    const [, answer] = messagesOf([many(62)], one) as [Message, Message & { role: 'tool' }];
    const ids = answer.results.map(({ toolCallId: id }) => id);
    expect(new Set(ids).size).toBe(62);
    for (const id of ids) expect(id).toMatch(one.form);
    expect(() => messagesOf([many(63)], one)).toThrow(
      expect.objectContaining({ kind: 'invalid_request' }),
    );
  });

  test('are unique whatever they were, and the same each time', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 1, maxLength: 60, unit: 'grapheme-ascii' }), {
          maxLength: 30,
        }),
        (names) => {
          const items = [item('assistant', ...names.map((name) => call(name)))];
          const sent = messagesOf(items, nine).flatMap((message) =>
            message.role === 'tool' ? message.results.map(({ toolCallId: id }) => id) : [],
          );
          expect(new Set(sent).size).toBe(names.length);
          for (const id of sent) expect(id).toMatch(nine.form);
          expect(messagesOf(items, nine)).toEqual(messagesOf(items, nine));
        },
      ),
    );
  });
});

test('any history becomes messages in which each call is followed by its results', () => {
  const part = fc.oneof(
    fc.constantFrom<Part>(text('x'), text('', own), text('y', foreign)),
    fc.constantFrom('c1', 'c2', 'c3').map((id) => call(id)),
    fc.constantFrom('c1', 'c2', 'c3').map((id) => result(id)),
  );
  const kind = fc.constantFrom<ItemKind>(
    'system',
    'user',
    'assistant',
    'tool',
    'context',
    'notification',
  );
  const items = fc.array(fc.tuple(kind, fc.array(part, { maxLength: 4 })), { maxLength: 8 });
  fc.assert(
    fc.property(items, (drawn) => {
      const messages = messagesOf(drawn.map(([itemKind, parts]) => item(itemKind, ...parts)));
      for (const [index, message] of messages.entries()) {
        const calls =
          message.role === 'assistant'
            ? message.parts.flatMap((one) => (one.kind === 'tool_call' ? one.toolCallId : []))
            : [];
        const next = messages[index + 1];
        const answers = next?.role === 'tool' ? next.results.map(({ toolCallId: id }) => id) : [];
        if (message.role === 'assistant') expect(answers).toEqual(calls);
        if (message.role === 'tool') expect(messages[index - 1]?.role).toBe('assistant');
        if (message.role !== 'tool') expect(message.parts.length).toBeGreaterThan(0);
      }
    }),
  );
});

test('blobs are not sent, except those of a user', () => {
  const blob = {
    kind: 'file',
    name: 'a.txt',
    mimeType: 'text/plain',
    source: { type: 'blob', hash: 'h', length: 9 },
  } as const;
  const messages = messagesOf([
    item('user', blob),
    item('assistant', blob, call('c1')),
    item('tool', { ...result('c1'), attachments: [blob] } as Part),
  ]);
  expect(messages).toMatchObject([
    { parts: [blob] },
    { parts: [{ kind: 'tool_call' }] },
    { results: [{ text: 'ok' }] },
  ]);
  expect(messages[2]?.role === 'tool' && messages[2].results[0]).not.toHaveProperty('attachments');
});

test('the provider’s explanation of a refusal is not sent back', () => {
  const explained: Part = {
    kind: 'text',
    text: 'Refused.',
    metadata: { refusal: true, isExplanation: true },
  };
  expect(messagesOf([item('assistant', explained)])).toEqual([]);
});
