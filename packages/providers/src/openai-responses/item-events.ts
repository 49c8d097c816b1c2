import type { JsonObject } from '@millrace/core';
import { objectIn, textIn } from '../json/fields.ts';
import type { OutputItems } from './output-items.ts';

type Read = (items: OutputItems, event: JsonObject) => void;

/** Pieces as they stream. */
const pieces: Readonly<Record<string, Read>> = {
  'output_text.delta': (items, event) =>
    items.message(event).append(contentIndex(event), deltaOf(event), false),
  'refusal.delta': (items, event) =>
    items.message(event).append(contentIndex(event), deltaOf(event), true),
  'function_call_arguments.delta': (items, event) =>
    items.call(event, 'function_call')?.append(deltaOf(event)),
  'custom_tool_call_input.delta': (items, event) =>
    items.call(event, 'custom_tool_call')?.append(deltaOf(event)),
  'reasoning_summary_text.delta': (items, event) =>
    items.reasoning(event).append('summary', summaryIndex(event), deltaOf(event)),
  'reasoning_text.delta': (items, event) =>
    items.reasoning(event).append('full', contentIndex(event), deltaOf(event)),
  'output_text.annotation.added': (items, event) => {
    const annotation = objectIn(event, 'annotation');
    if (annotation) items.message(event, true).cite(contentIndex(event), annotation);
  },
  'image_generation_call.partial_image': (items, event) => items.image(event)?.preview(event),
};

/** The same, said again as a whole. */
const wholes: Readonly<Record<string, Read>> = {
  'output_text.done': (items, event) =>
    items.message(event, true).settle(contentIndex(event), wholeOf(event, 'text'), false),
  'refusal.done': (items, event) =>
    items.message(event, true).settle(contentIndex(event), wholeOf(event, 'refusal'), true),
  'function_call_arguments.done': (items, event) =>
    items.call(event, 'function_call', true)?.settle(wholeOf(event, 'arguments')),
  'custom_tool_call_input.done': (items, event) =>
    items.call(event, 'custom_tool_call', true)?.settle(wholeOf(event, 'input')),
  'reasoning_summary_text.done': (items, event) =>
    items.reasoning(event, true).settle('summary', summaryIndex(event), wholeOf(event, 'text')),
  'reasoning_text.done': (items, event) =>
    items.reasoning(event, true).settle('full', contentIndex(event), wholeOf(event, 'text')),
  'reasoning_summary_part.done': (items, event) => {
    const whole = textIn(objectIn(event, 'part'), 'text') ?? '';
    items.reasoning(event, true).settle('summary', summaryIndex(event), whole);
  },
  'content_part.done': (items, event) => endPart(items, event, objectIn(event, 'part') ?? {}),
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

function endPart(all: OutputItems, event: JsonObject, part: JsonObject): void {
  const at = contentIndex(event);
  const text = wholeOf(part, 'text');
  if (part['type'] === 'reasoning_text') return all.reasoning(event, true).settle('full', at, text);
  const refusal = textIn(part, 'refusal');
  // Some servers call reasoning output_text here.
  const thought = refusal === undefined ? all.thoughtAt(event) : undefined;
  if (thought !== undefined) return thought.settleContent(at, text);
  const message = all.message(event, true);
  message.settle(at, refusal ?? text, refusal !== undefined);
  if (refusal === undefined) message.settleCitations(at, part);
}

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
