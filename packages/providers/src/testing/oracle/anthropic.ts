import type { JsonArray, JsonObject, StopReason } from '@millrace/core';
import {
  applyStopRules,
  type BlockKind,
  type Ending,
  type Expected,
  type ExpectedCall,
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

const reasons: Readonly<Record<string, StopReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool_use',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  sensitive: 'content_filter',
  refusal: 'refusal',
  pause_turn: 'pause',
};

const kinds: Readonly<Record<string, BlockKind>> = {
  text: 'text',
  thinking: 'reasoning',
  tool_use: 'call',
};

const isHosted = (type: string) => /^server_tool_use$|^mcp_tool_use$|_tool_result$/.test(type);

/** Computes the expected result of a Messages stream from all of its events at once. */
export function readAnthropic(lines: readonly string[]): Expected {
  const { events, ends } = eventsOf(lines);
  const blocks = anthropicBlocks(events);
  const ofType = (type: string) => blocks.filter((block) => block.type === type);
  const rawStop = lastText(events, 'stop_reason');
  const details = events.map(({ delta }) => fieldsOf(fieldsOf(delta)['stop_details']));
  const explanation = details.map((detail) => textOf(detail['explanation'])).findLast(Boolean);
  const thinking = ofType('thinking').filter(({ signature }) => signature !== '');
  const rest = blocks
    .map(({ type }) => type)
    .filter((type) => kinds[type] === undefined && type !== 'redacted_thinking');
  return {
    texts: joined(ofType('text').map(({ text }) => text)),
    reasoning: joined(ofType('thinking').map(({ text }) => text)),
    ...(rawStop === 'refusal' && explanation !== undefined && { refusal: explanation }),
    order: orderOf(
      blocks.flatMap(({ type, text }) => {
        const kind = kinds[type];
        return kind === undefined ? [] : [[kind, kind === 'call' ? 'begins' : text]];
      }),
    ),
    hosted: rest.filter(isHosted),
    others: rest.filter((type) => !isHosted(type)),
    media: [],
    usage: anthropicUsage(events),
    ...applyStopRules({
      ends,
      rawStop,
      mapped: reasons[rawStop ?? ''] ?? 'unknown',
      calls: ofType('tool_use').map(toCall),
      isRefused: false,
      state: [
        ...thinking.flatMap(({ text, signature }) => [text, signature].filter(Boolean)),
        ...ofType('redacted_thinking').map(({ start }) => textOf(start['data'])),
        ...ofType('compaction').map(({ text }) => text),
        ...['encrypted_content', 'encrypted_index'].flatMap((key) => textsUnder(events, key)),
      ],
      signed: thinking.map(({ text, signature }) => ({ signature, on: text })),
    }),
    citations: unique(blocks.flatMap(({ citations }) => textsUnder(citations, 'url'))),
  };
}

const joined = (texts: readonly string[]) => texts.join('').toWellFormed();

/** Returns the events up to the end of the stream, which is an error, a stop, or a cut. */
function eventsOf(lines: readonly string[]): {
  readonly events: readonly JsonObject[];
  readonly ends: Ending;
} {
  const events: JsonObject[] = [];
  let id: string | undefined;
  for (const value of lines.filter((line) => !isComment(line)).map(parseLine)) {
    if (!isObject(value) || value['type'] === 'error') return { events, ends: 'error' };
    if (value['type'] === 'message_start') {
      const started = textOf(fieldsOf(value['message'])['id']);
      if (id !== undefined && started !== id) return { events, ends: 'error' };
      if (started === id) continue;
      id = started;
    }
    events.push(value);
    if (value['type'] === 'message_stop') return { events, ends: 'terminal' };
  }
  return { events, ends: 'truncated' };
}

/** Returns the last value of a field in the message start or a delta that is not empty. */
function lastText(events: readonly JsonObject[], name: string): string | undefined {
  const words = events.flatMap(({ message, delta }) => [
    textOf(fieldsOf(message)[name]),
    textOf(fieldsOf(delta)[name]),
  ]);
  return words.findLast(Boolean);
}

function toCall({ start, text, isClosed }: AnthropicBlock): ExpectedCall {
  const given = fieldsOf(start['input']);
  const isGiven = text === '' && Object.keys(given).length > 0;
  const written = isGiven ? JSON.stringify(given) : text.toWellFormed();
  const value = isGiven ? given : parseArguments(written);
  return {
    name: textOf(start['name']),
    arguments: written,
    ...(value !== undefined && { value }),
    id: textOf(start['id']),
    isWhole: isClosed && value !== undefined,
  };
}

interface AnthropicBlock {
  readonly type: string;
  /** The block in its start event. */
  readonly start: JsonObject;
  /** The content of the block: text, thinking, arguments or summary. */
  readonly text: string;
  readonly signature: string;
  readonly citations: JsonArray;
  readonly isClosed: boolean;
}

/**
 * Returns the blocks by index. Each is built from its own events. Complete blocks of the message
 * start come first.
 */
function anthropicBlocks(events: readonly JsonObject[]): readonly AnthropicBlock[] {
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

/** Returns the usage: the last number of each field. Null and missing values are ignored. */
function anthropicUsage(events: readonly JsonObject[]): ExpectedUsage | undefined {
  const usages = events
    .flatMap(({ message, usage }) => [fieldsOf(message)['usage'], usage])
    .filter(isObject);
  if (usages.length === 0) return undefined;
  // The counts at the top level do not include the usage of compactions.
  const compactions = usages
    .flatMap((usage) => entriesOf(usage['iterations']).map(fieldsOf))
    .filter(({ type }) => type === 'compaction');
  const total = (name: string) =>
    [lastNumber(usages, name), ...compactions.map((iteration) => numberOf(iteration[name]))].reduce(
      (sum, count) => sum + count,
    );
  const cacheRead = total('cache_read_input_tokens');
  const cacheWrite = total('cache_creation_input_tokens');
  const input = total('input_tokens') + cacheRead + cacheWrite;
  const output = total('output_tokens');
  // A report of zero tokens counts as no report.
  if (input === 0 && output === 0) return undefined;
  return {
    input,
    output,
    cacheRead,
    cacheWrite,
    reasoning: 0,
  };
}

function lastNumber(usages: readonly JsonObject[], name: string): number {
  return numberOf(
    usages.map((usage) => usage[name]).findLast((value) => typeof value === 'number'),
  );
}
