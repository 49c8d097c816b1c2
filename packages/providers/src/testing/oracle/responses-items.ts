import type { JsonArray, JsonObject } from '@millrace/core';
import { entriesOf, fieldsOf, isObject, numberOf, textOf } from './json-access.ts';

export interface ResponseItem {
  readonly item: JsonObject;
  /** It ended: by an event of its own, or in the final output. */
  readonly isDone: boolean;
}

/**
 * The items, each as the highest authority has it: the final output, then `output_item.done`, then
 * the other `done` events, then the pieces. Ids may differ from event to event; indexes do not.
 */
export function responseItems(
  events: readonly JsonObject[],
  output: JsonArray,
): readonly ResponseItem[] {
  if (output.length > 0) return output.map((item) => ({ item: fieldsOf(item), isDone: true }));
  const indexes = events.flatMap(({ output_index }) =>
    typeof output_index === 'number' ? [output_index] : [],
  );
  return [...new Set(indexes)]
    .sort((a, b) => a - b)
    .map((index) => streamed(events.filter(({ output_index }) => output_index === index)));
}

function streamed(events: readonly JsonObject[]): ResponseItem {
  const ofType = (type: string) => events.filter((event) => event['type'] === `response.${type}`);
  const done = ofType('output_item.done').at(-1)?.['item'];
  if (isObject(done)) return { item: done, isDone: true };
  /** The `done` of one place, or else its pieces. */
  const said = (name: string, field: string, at: JsonObject = {}) => {
    const here = (event: JsonObject) => Object.keys(at).every((key) => event[key] === at[key]);
    const whole = ofType(`${name}.done`).find(here)?.[field];
    const pieces = ofType(`${name}.delta`).filter(here);
    return textOf(whole) || pieces.map(({ delta }) => textOf(delta)).join('');
  };
  const places = (field: string) =>
    [...new Set(events.map((event) => event[field]))]
      .filter((place) => typeof place === 'number')
      .sort((a, b) => numberOf(a) - numberOf(b));
  const content = places('content_index').map((content_index) => ({
    text:
      said('output_text', 'text', { content_index }) +
      said('reasoning_text', 'text', { content_index }),
    refusal: said('refusal', 'refusal', { content_index }),
  }));
  const summary = places('summary_index').map((summary_index) => ({
    text: said('reasoning_summary_text', 'text', { summary_index }),
  }));
  const start = fieldsOf(ofType('output_item.added')[0]?.['item']);
  return {
    item: {
      ...start,
      content: content.length > 0 ? content : entriesOf(start['content']),
      summary,
      arguments: said('function_call_arguments', 'arguments'),
      input: said('custom_tool_call_input', 'input'),
    },
    isDone: false,
  };
}
