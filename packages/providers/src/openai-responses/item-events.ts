import type { JsonObject } from '@millrace/core';
import { objectIn, textIn } from '../wire/fields.ts';
import type { OutputItems } from './output-items.ts';

type Read = (items: OutputItems, event: JsonObject) => void;

/** Pieces as they stream. */
const pieces: Readonly<Record<string, Read>> = {
  'output_text.delta': (items, event) =>
    items.message(event).append(contentIndex(event), deltaOf(event), false),
  'refusal.delta': (items, event) =>
    items.message(event).append(contentIndex(event), deltaOf(event), true),
  'function_call_arguments.delta': (items, event) =>
    items.call(event, 'function_call').append(deltaOf(event)),
  'custom_tool_call_input.delta': (items, event) =>
    items.call(event, 'custom_tool_call').append(deltaOf(event)),
  'reasoning_summary_text.delta': (items, event) =>
    items.reasoning(event).append('summary', summaryIndex(event), deltaOf(event)),
  'reasoning_text.delta': (items, event) =>
    items.reasoning(event).append('full', contentIndex(event), deltaOf(event)),
  'output_text.annotation.added': (items, event) => {
    const annotation = objectIn(event, 'annotation');
    if (annotation) items.message(event).cite(contentIndex(event), annotation);
  },
  'image_generation_call.partial_image': (items, event) => items.image(event)?.preview(event),
};

/** The same, said again as a whole. */
const wholes: Readonly<Record<string, Read>> = {
  'output_text.done': (items, event) =>
    items.message(event).settle(contentIndex(event), wholeOf(event, 'text'), false),
  'refusal.done': (items, event) =>
    items.message(event).settle(contentIndex(event), wholeOf(event, 'refusal'), true),
  'function_call_arguments.done': (items, event) =>
    items.call(event, 'function_call').settle(wholeOf(event, 'arguments')),
  'custom_tool_call_input.done': (items, event) =>
    items.call(event, 'custom_tool_call').settle(wholeOf(event, 'input')),
  'reasoning_summary_text.done': (items, event) =>
    items.reasoning(event).settle('summary', summaryIndex(event), wholeOf(event, 'text')),
  'reasoning_text.done': (items, event) =>
    items.reasoning(event).settle('full', contentIndex(event), wholeOf(event, 'text')),
  'reasoning_summary_part.done': (items, event) => {
    const whole = textIn(objectIn(event, 'part'), 'text') ?? '';
    items.reasoning(event).settle('summary', summaryIndex(event), whole);
  },
  'content_part.done': (items, event) => {
    const part = objectIn(event, 'part') ?? {};
    const [at, text, refusal] = [
      contentIndex(event),
      wholeOf(part, 'text'),
      textIn(part, 'refusal'),
    ];
    if (part['type'] === 'reasoning_text') items.reasoning(event).settle('full', at, text);
    else items.message(event).settle(at, refusal ?? text, refusal !== undefined);
  },
};

const items: Readonly<Record<string, Read>> = {
  'output_item.added': (all, event) => {
    const item = objectIn(event, 'item');
    if (item) all.open(event, item);
  },
  'output_item.done': (all, event) => {
    const item = objectIn(event, 'item');
    if (item) all.close(event, item);
  },
};

/** What to do with the events that are about items of the output. */
export const itemEvents: ReadonlyMap<string, Read> = new Map(
  Object.entries({ ...pieces, ...wholes, ...items }).map(([name, read]) => [
    `response.${name}`,
    read,
  ]),
);

function deltaOf({ delta }: JsonObject): string {
  return typeof delta === 'string' ? delta : '';
}

function wholeOf(event: JsonObject, key: string): string {
  return textIn(event, key) ?? '';
}

function contentIndex({ content_index }: JsonObject): number {
  return typeof content_index === 'number' ? content_index : 0;
}

function summaryIndex({ summary_index }: JsonObject): number {
  return typeof summary_index === 'number' ? summary_index : 0;
}
