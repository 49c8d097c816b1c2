import type { JsonObject, StopReason } from '@millrace/core';
import { type AnthropicBlock, anthropicBlocks } from './anthropic-blocks.ts';
import { anthropicUsage } from './anthropic-usage.ts';
import type { BlockKind, Ending, Expected, ExpectedCall } from './expected.ts';
import { fieldsOf, isObject, textOf, textsUnder, unique } from './json-access.ts';
import { orderOf } from './order-of.ts';
import { isComment, parseArguments, parseLine } from './parse-line.ts';
import { settle } from './stop-rules.ts';

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

/** What a Messages stream says, read at once from all of its events. */
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
    ...settle({
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

/** The events up to the end, be it an error, a stop, or where the stream was cut. */
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

/** The last word on it, in the message's start or in a delta. */
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
