import type { JsonArray, JsonObject, StopReason } from '@millrace/core';
import {
  applyStopRules,
  type BlockKind,
  type Ending,
  type Expected,
  type ExpectedCall,
  type ExpectedMedia,
  type ExpectedUsage,
  orderOf,
} from './expected.ts';
import {
  entriesOf,
  fieldsOf,
  isComment,
  isObject,
  numberOf,
  parseArguments,
  parseLine,
  textOf,
  textsUnder,
  unique,
} from './read-json.ts';

const terminals = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'error',
]);
const callTypes = new Set(['function_call', 'custom_tool_call', 'mcp_approval_request']);
const knownTypes = new Set(['message', 'reasoning', ...callTypes]);
const isHosted = (type: string) => /_call$|_output$|^mcp_|^tool_search_|^program/.test(type);

/** Computes the expected result of a Responses stream from all of its events at once. */
export function readResponses(lines: readonly string[]): Expected {
  const { events, last, isBroken } = eventsOf(lines);
  const response = fieldsOf(last['response']);
  const items = responseItems(events, entriesOf(response['output']));
  const ofType = (...types: readonly string[]) =>
    items.filter(({ item }) => types.includes(textOf(item['type']))).map(({ item }) => item);
  const parts = ofType('message').flatMap(({ content }) => entriesOf(content).map(fieldsOf));
  const refusal = joined(parts, 'refusal');
  const callItems = items.filter(({ item }) => isCall(item));
  const rawStop = rawStopOf(last, response);
  const types = items.map(({ item }) => textOf(item['type']));
  const rest = types.filter((type) => !knownTypes.has(type));
  return {
    texts: joined(parts, 'text'),
    reasoning: ofType('reasoning').map(reasoningOf).join('').toWellFormed(),
    ...(refusal !== '' && { refusal }),
    order: orderOf(items.flatMap(({ item }) => blockOf(item))),
    hosted: rest.filter(isHosted),
    others: rest.filter((type) => !isHosted(type)),
    media: ofType('image_generation_call').flatMap(imageOf),
    usage: usageOf(events),
    ...applyStopRules({
      ends: isBroken ? 'error' : endingOf(last, callItems),
      rawStop,
      mapped: mappedOf(rawStop, callItems),
      calls: callItems.map((call) => toCall(call, declaredIn(events))),
      isRefused: refusal !== '',
      state: items.flatMap(({ item }) => textOf(item['encrypted_content']) || []),
      signed: [],
    }),
    citations: unique([
      ...parts.flatMap((part) => textsUnder(part['annotations'], 'url')),
      ...events.flatMap((event) => textsUnder(event['annotation'], 'url')),
    ]),
  };
}

/** Returns all valid events. `last` is the terminal event, or empty if it did not arrive. */
function eventsOf(lines: readonly string[]): {
  readonly events: readonly JsonObject[];
  readonly last: JsonObject;
  readonly isBroken: boolean;
} {
  const values = lines.filter((line) => !isComment(line)).map(parseLine);
  const broken = values.findIndex((value) => !isObject(value) || typeof value['type'] !== 'string');
  const events = (broken < 0 ? values : values.slice(0, broken)).map(fieldsOf);
  const last = events.find(({ type }) => terminals.has(textOf(type))) ?? {};
  return { events, last, isBroken: broken >= 0 };
}

/**
 * Returns how the stream ended. If the response has an end but a call has none, the stream was cut.
 */
function endingOf({ type }: JsonObject, calls: readonly ResponseItem[]): Ending {
  if (type === undefined) return 'truncated';
  if (type === 'error' || type === 'response.failed') return 'error';
  if (type === 'response.completed' && calls.some(({ isDone }) => !isDone)) return 'truncated';
  return 'terminal';
}

function rawStopOf({ type }: JsonObject, response: JsonObject): string | undefined {
  if (type === 'response.completed') return 'completed';
  if (type !== 'response.incomplete') return undefined;
  return textOf(fieldsOf(response['incomplete_details'])['reason']) || 'incomplete';
}

/**
 * Returns the stop reason. This wire has no stop reason for tool use, so a call that is not
 * incomplete means tool use.
 */
function mappedOf(rawStop: string | undefined, calls: readonly ResponseItem[]): StopReason {
  if (rawStop === 'completed') {
    return calls.some(({ item }) => item['status'] !== 'incomplete') ? 'tool_use' : 'stop';
  }
  if (rawStop === 'max_output_tokens') return 'length';
  return rawStop === 'content_filter' ? 'content_filter' : 'unknown';
}

function joined(parts: readonly JsonObject[], name: string): string {
  return parts
    .map((part) => textOf(part[name]))
    .join('')
    .toWellFormed();
}

function reasoningOf({ summary, content }: JsonObject): string {
  const parts = [...entriesOf(summary), ...entriesOf(content)];
  return parts.map((part) => textOf(fieldsOf(part)['text'])).join('');
}

function blockOf(item: JsonObject): readonly (readonly [BlockKind, string])[] {
  if (isCall(item)) return [['call', 'begins']];
  if (item['type'] === 'reasoning') return [['reasoning', reasoningOf(item)]];
  return [['text', joined(entriesOf(item['content']).map(fieldsOf), 'text')]];
}

function isCall({ type }: JsonObject): boolean {
  return callTypes.has(textOf(type));
}

/** Converts an item with which the provider asks whether it may call a tool of an MCP server. */
function toApproval({ item, isDone }: ResponseItem): ExpectedCall {
  const { server_label = null, name = null } = item;
  const text = textOf(item['arguments']);
  const parsed = parseArguments(text);
  const exact = parsed === undefined && text !== '' ? { arguments_text: text } : {};
  const value = { server_label, name, arguments: parsed ?? {}, ...exact };
  const written = JSON.stringify(value);
  return {
    name: 'mcp_approval',
    arguments: written,
    value,
    id: textOf(item['id']),
    isWhole: isDone,
  };
}

function toCall(call: ResponseItem, declared: readonly string[]): ExpectedCall {
  const { item, isDone } = call;
  if (item['type'] === 'mcp_approval_request') return toApproval(call);
  const isText = item['type'] === 'custom_tool_call';
  const written = textOf(item[isText ? 'input' : 'arguments']).toWellFormed();
  const value = isText ? undefined : parseArguments(written);
  const name = textOf(item['name']);
  const isEnded = isDone && item['status'] !== 'incomplete';
  const inner = entriesOf(fieldsOf(value)['tool_uses']).map(fieldsOf);
  const isWrapper = name === 'parallel' && !declared.includes(name) && inner.length > 0;
  const wraps = inner.map(({ recipient_name, parameters }) => ({
    name: textOf(recipient_name).replace(/^functions\./, ''),
    value: parameters ?? {},
  }));
  return {
    name,
    arguments: written,
    ...(value !== undefined && { value }),
    id: textOf(item['call_id']),
    isWhole: isEnded && (isText || value !== undefined),
    ...(isText && { isText }),
    ...(isWrapper && { wraps }),
  };
}

function declaredIn(events: readonly JsonObject[]): readonly string[] {
  const tools = entriesOf(fieldsOf(events[0]?.['response'])['tools']);
  return tools.map((tool) => textOf(fieldsOf(tool)['name']));
}

function imageOf({ result, output_format }: JsonObject): readonly ExpectedMedia[] {
  const base64 = textOf(result);
  const mimeType = `image/${textOf(output_format) || 'png'}`;
  return base64 === '' ? [] : [{ mimeType, base64 }];
}

function usageOf(events: readonly JsonObject[]): ExpectedUsage | undefined {
  const last = events.map(({ response }) => fieldsOf(response)['usage']).findLast(isObject);
  if (last === undefined) return undefined;
  const usage = fieldsOf(last);
  return {
    input: numberOf(usage['input_tokens']),
    output: numberOf(usage['output_tokens']),
    cacheRead: numberOf(fieldsOf(usage['input_tokens_details'])['cached_tokens']),
    cacheWrite: 0,
    reasoning: numberOf(fieldsOf(usage['output_tokens_details'])['reasoning_tokens']),
  };
}

interface ResponseItem {
  readonly item: JsonObject;
  /** True if the item ended with its own event, or is in the final output. */
  readonly isDone: boolean;
}

/**
 * Returns the items from the most reliable source: the final output, then `output_item.done`, then
 * other `done` events, then deltas. Items are found by index, because ids may differ between
 * events.
 */
function responseItems(events: readonly JsonObject[], output: JsonArray): readonly ResponseItem[] {
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
  /** Returns the text of the `done` event, or the joined deltas. */
  const textOfEvents = (name: string, field: string, at: JsonObject = {}) => {
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
      textOfEvents('output_text', 'text', { content_index }) +
      textOfEvents('reasoning_text', 'text', { content_index }),
    refusal: textOfEvents('refusal', 'refusal', { content_index }),
  }));
  const summary = places('summary_index').map((summary_index) => ({
    text: textOfEvents('reasoning_summary_text', 'text', { summary_index }),
  }));
  const start = fieldsOf(ofType('output_item.added')[0]?.['item']);
  return {
    item: {
      ...start,
      content: content.length > 0 ? content : entriesOf(start['content']),
      summary,
      arguments: textOfEvents('function_call_arguments', 'arguments'),
      input: textOfEvents('custom_tool_call_input', 'input'),
    },
    isDone: false,
  };
}
