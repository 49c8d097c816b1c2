import fc from 'fast-check';
import type { Content } from '../contract/content.ts';

const word = fc.oneof(
  fc.constantFrom(
    '',
    'a',
    ' the ',
    '{"x":',
    '1}',
    '{}',
    '"',
    '😀',
    '\ud83d',
    '\ude00',
    'null',
    '\n',
  ),
  fc.string({ maxLength: 5 }),
);
const id = fc.constantFrom('c1', 'c2', 'c3');
const name = fc.constantFrom('read', 'write');
const wellFormed = fc.string({ unit: 'grapheme', maxLength: 8 });
// The value is encoded and decoded as JSON, because -0 becomes 0.
const json = fc
  .jsonValue({ maxDepth: 3, stringUnit: 'grapheme' })
  .map((value) => JSON.parse(JSON.stringify(value)) as Content & never);
const object = fc.dictionary(wellFormed, json, { maxKeys: 3, noNullPrototype: true });
const attachment = fc.record({
  file_id: wellFormed,
  name: wellFormed,
  type: wellFormed,
  size: fc.nat(),
});

const author = fc.constantFrom('user' as const, 'agent' as const);
const style = fc.constantFrom('static' as const, 'active' as const);

/**
 * Random content in its stored form. In this form, an empty reasoning list and `is_error: false` are null.
 */
export const contents: fc.Arbitrary<Content> = fc.oneof(
  fc.record({
    type: fc.constant('text' as const),
    author,
    style,
    content: wellFormed,
    format: fc.constantFrom('plain' as const, 'markdown' as const, 'code' as const),
    attachments: fc.option(fc.array(attachment, { maxLength: 2 })),
  }),
  fc.record({ type: fc.constant('data' as const), author, style, data: object }),
  fc.record({
    type: fc.constant('tool_request' as const),
    ...{ author, style, tool_call_id: id, name, arguments: object },
  }),
  fc.record({
    type: fc.constant('tool_response' as const),
    ...{ author, style, tool_call_id: id, name, content: json },
    is_error: fc.constantFrom(null, true),
  }),
  fc.record({
    type: fc.constant('reasoning' as const),
    ...{ author, style, summary: fc.array(wellFormed, { maxLength: 2 }) },
    content: fc.option(fc.array(wellFormed, { minLength: 1, maxLength: 2 })),
  }),
);

const entry = fc.nat(2);
const deltas = fc.oneof(
  fc.record({ type: fc.constantFrom('text', null), text_delta: word }),
  fc.record({ type: fc.constantFrom('data', undefined), data_delta: word }),
  fc.record({ type: fc.constant('tool_request'), tool_call_id: id, name, arguments_delta: word }),
  fc.record({ type: fc.constant('tool_response'), tool_call_id: id, name, content_delta: word }),
  fc.record({ summary_index: entry, summary_delta: word }),
  fc.record({ content_index: entry, content_delta: word }),
);

const index = fc.option(fc.nat(2), { freq: 6 });
const deltaUpdate = fc.record({ type: fc.constant('delta'), index, delta: deltas });
const update = fc.oneof(
  { weight: 2, arbitrary: fc.record({ type: fc.constant('start'), index, content: contents }) },
  { weight: 8, arbitrary: deltaUpdate },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('full'), index, content: contents }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('done'), index }) },
);

/** Random lists of anything that an agent may send. */
export const updateLists: fc.Arbitrary<readonly unknown[]> = fc.array(update, { maxLength: 25 });

/** Random lists of deltas, without a start or an end. */
export const deltaLists: fc.Arbitrary<readonly unknown[]> = fc.array(deltaUpdate, {
  maxLength: 25,
});
