import type { JsonArray, JsonObject } from '@millrace/core';
import { entriesOf, fieldsOf, numberOf, textOf } from './json-access.ts';

export interface AnthropicBlock {
  readonly type: string;
  /** As it began. */
  readonly start: JsonObject;
  /** What it holds, whatever that is called: text, thinking, arguments, a summary. */
  readonly text: string;
  readonly signature: string;
  readonly citations: JsonArray;
  readonly isClosed: boolean;
}

/** The blocks by index, each put together from its own events; whole ones of the start come first. */
export function anthropicBlocks(events: readonly JsonObject[]): readonly AnthropicBlock[] {
  const whole = events.flatMap(({ message }) => entriesOf(fieldsOf(message)['content']));
  const starts = events.filter(({ type }) => type === 'content_block_start');
  const ordered = [...starts].sort((a, b) => numberOf(a['index']) - numberOf(b['index']));
  return [
    ...whole.map((start) => block(fieldsOf(start), [], true)),
    ...ordered.map(({ index, content_block }) => {
      const own = events.filter((event) => event['index'] === index);
      const deltas = own.map(({ delta }) => fieldsOf(delta));
      const isClosed = own.some(({ type }) => type === 'content_block_stop');
      return block(fieldsOf(content_block), deltas, isClosed);
    }),
  ];
}

const contentFields = ['text', 'thinking', 'partial_json', 'content'];

function block(
  start: JsonObject,
  deltas: readonly JsonObject[],
  isClosed: boolean,
): AnthropicBlock {
  const all = (fields: readonly string[]) =>
    [start, ...deltas].flatMap((piece) => fields.map((field) => textOf(piece[field]))).join('');
  const cited = deltas.flatMap(({ citation }) => (citation === undefined ? [] : [citation]));
  return {
    type: textOf(start['type']),
    start,
    text: all(contentFields),
    signature: all(['signature']),
    citations: [...entriesOf(start['citations']), ...cited],
    isClosed,
  };
}
