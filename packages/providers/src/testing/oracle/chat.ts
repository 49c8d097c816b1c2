import type { JsonObject, JsonValue, StopReason } from '@millrace/core';
import { type CallPiece, chatCalls } from './chat-calls.ts';
import {
  applyStopRules,
  type BlockKind,
  type Ending,
  type Expected,
  type ExpectedMedia,
  type ExpectedUsage,
  orderOf,
  type SignedContent,
} from './expected.ts';
import {
  entriesOf,
  fieldsOf,
  isComment,
  isObject,
  numberOf,
  parseLine,
  textOf,
  textsUnder,
  unique,
} from './read-json.ts';

const reasons: Readonly<Record<string, StopReason>> = {
  stop: 'stop',
  end: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  length: 'length',
  model_length: 'length',
  model_context_window_exceeded: 'length',
  content_filter: 'content_filter',
  error: 'error',
  insufficient_system_resource: 'error',
};

/** Computes the expected result of a Chat Completions stream from all of its events at once. */
export function readChat(lines: readonly string[]): Expected {
  const { events, hasFailed } = eventsOf(lines);
  const choices = events.flatMap(({ choices }) => entriesOf(choices).map(fieldsOf).filter(isFirst));
  const deltas = choices.map(({ delta }) => fieldsOf(delta));
  const rawStop = choices.map((choice) => textOf(choice['finish_reason'])).find(Boolean);
  const { calls, starts, isSound } = chatCalls(piecesOf(deltas));
  const refusal = joined(deltas.map((delta) => textOf(delta['refusal'])));
  const transcript = joined(deltas.map(({ audio }) => textOf(fieldsOf(audio)['transcript'])));
  const signed = signaturesOf(deltas);
  const details = detailsOf(deltas);
  return {
    texts: joined(deltas.map(({ content }) => contentText(content, 'text'))),
    reasoning: joined(deltas.map(reasoningOf)),
    ...(refusal !== '' && { refusal }),
    ...(transcript !== '' && { transcript }),
    order: orderOf(deltas.flatMap((delta, chunk) => blocksOf(delta, starts.includes(chunk)))),
    hosted: [],
    others: [],
    media: [...soundOf(deltas), ...imagesOf(deltas)],
    usage: chatUsage(events),
    ...applyStopRules({
      ends: endingOf(hasFailed, rawStop, isSound),
      rawStop,
      mapped: reasons[rawStop ?? ''] ?? 'unknown',
      calls,
      isRefused: refusal !== '',
      state: [...details.flat(), ...signed.map(({ signature }) => signature)],
      signed,
    }),
    citations: citationsOf(events, deltas),
  };
}

function endingOf(hasFailed: boolean, rawStop: string | undefined, isSound: boolean): Ending {
  if (hasFailed) return 'error';
  if (rawStop === undefined) return 'truncated';
  return isSound ? 'terminal' : 'error';
}

/** Returns the events before the first error or invalid event. */
function eventsOf(lines: readonly string[]): {
  readonly events: readonly JsonObject[];
  readonly hasFailed: boolean;
} {
  const values = lines.filter((line) => !isComment(line)).map(parseLine);
  const failed = values.findIndex((value) => !isObject(value) || isError(value));
  const events = failed < 0 ? values : values.slice(0, failed);
  return { events: events.map(fieldsOf), hasFailed: failed >= 0 };
}

function isError(event: JsonObject): boolean {
  return event['object'] === 'error' || (event['error'] !== undefined && event['error'] !== null);
}

function isFirst(choice: JsonObject): boolean {
  return choice['index'] === undefined || choice['index'] === 0;
}

const joined = (texts: readonly string[]) => texts.join('').toWellFormed();

/** Returns the text of a content, which is a text or a list of parts. */
function contentText(content: JsonValue | undefined, type: 'text' | 'thinking'): string {
  if (typeof content === 'string') return type === 'text' ? content : '';
  const parts = entriesOf(content).map(fieldsOf);
  return parts
    .filter((part) => part['type'] === type)
    .map((part) => (type === 'text' ? textOf(part['text']) : contentText(part['thinking'], 'text')))
    .join('');
}

/**
 * Returns the reasoning in the first field that is not empty, because some servers send the same
 * reasoning under two names.
 */
function reasoningOf(delta: JsonObject): string {
  const { reasoning_content, reasoning, reasoning_text, reasoning_details, content } = delta;
  const fields = [reasoning_content, reasoning, reasoning_text].map(textOf);
  const details = entriesOf(reasoning_details).map(fieldsOf);
  const detailed = details.map(({ text, summary }) => textOf(text) + textOf(summary)).join('');
  return [...fields, detailed, contentText(content, 'thinking')].find(Boolean) ?? '';
}

function blocksOf(
  delta: JsonObject,
  startsCall: boolean,
): readonly (readonly [BlockKind, string])[] {
  return [
    ['reasoning', reasoningOf(delta)],
    ['text', contentText(delta['content'], 'text')],
    ['call', startsCall ? 'begins' : ''],
  ];
}

/**
 * Merges details with the same type and index. Their texts, data and signatures are joined
 * separately.
 */
function detailsOf(deltas: readonly JsonObject[]): readonly (readonly string[])[] {
  const merged = new Map<string, Map<string, string>>();
  for (const detail of deltas.flatMap((delta) => entriesOf(delta['reasoning_details']))) {
    const { type, index } = fieldsOf(detail);
    const key = JSON.stringify([type, index]);
    const fields = merged.get(key) ?? new Map<string, string>();
    for (const name of ['text', 'summary', 'data', 'signature']) {
      fields.set(name, (fields.get(name) ?? '') + textOf(fieldsOf(detail)[name]));
    }
    merged.set(key, fields);
  }
  return [...merged.values()].map((fields) => [...fields.values()].filter(Boolean));
}

/** Returns the pieces of all calls. The legacy `function_call` is one call without id and index. */
function piecesOf(deltas: readonly JsonObject[]): readonly CallPiece[] {
  return deltas.flatMap((delta, chunk) => {
    const old = delta['function_call'];
    const entries = entriesOf(delta['tool_calls']).map(fieldsOf);
    return [...entries, ...(isObject(old) ? [{ function: old }] : [])].map((entry) => ({
      chunk,
      entry,
    }));
  });
}

function signaturesOf(deltas: readonly JsonObject[]): readonly SignedContent[] {
  return deltas
    .flatMap((delta) => entriesOf(delta['tool_calls']))
    .flatMap((entry) => {
      const on = textOf(fieldsOf(fieldsOf(entry)['function'])['name']);
      const found = textsUnder(fieldsOf(entry)['extra_content'], 'thought_signature');
      return found.map((signature) => ({ signature, on }));
    });
}

function soundOf(deltas: readonly JsonObject[]): readonly ExpectedMedia[] {
  const base64 = deltas.map(({ audio }) => textOf(fieldsOf(audio)['data'])).join('');
  return base64 === '' ? [] : [{ mimeType: undefined, base64 }];
}

function imagesOf(deltas: readonly JsonObject[]): readonly ExpectedMedia[] {
  const urls = deltas.flatMap((delta) => textsUnder(delta['images'], 'url'));
  return urls.flatMap((url) => {
    const [, mimeType, base64] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
    return base64 === undefined ? [] : [{ mimeType, base64 }];
  });
}

function citationsOf(events: readonly JsonObject[], deltas: readonly JsonObject[]) {
  const noted = deltas.flatMap((delta) => textsUnder(delta['annotations'], 'url'));
  const listed = events.flatMap((event) => entriesOf(event['citations']).map(textOf));
  return unique([...noted, ...listed]);
}

/** Returns the last usage, from any of the fields that servers use. */
function chatUsage(events: readonly JsonObject[]): ExpectedUsage | undefined {
  const usages = events.flatMap((event) => [
    ...entriesOf(event['choices']).map((choice) => fieldsOf(choice)['usage']),
    fieldsOf(event['x_groq'])['usage'],
    event['usage'],
  ]);
  const last = usages.findLast((usage) => isObject(usage));
  return last === undefined ? undefined : normalised(fieldsOf(last));
}

function normalised(usage: JsonObject): ExpectedUsage {
  const prompt = numberOf(usage['prompt_tokens']);
  const completion = numberOf(usage['completion_tokens']);
  const cacheRead = cachedOf(usage);
  const reasoning = numberOf(fieldsOf(usage['completion_tokens_details'])['reasoning_tokens']);
  // Some servers do not include reasoning in the completion count. The total then shows the
  // difference.
  const isLeftOut = numberOf(usage['total_tokens']) === prompt + completion + reasoning;
  return {
    // Cached tokens are part of the input. If there are more cached tokens than input tokens, the
    // server did not include them.
    input: cacheRead > prompt ? prompt + cacheRead : prompt,
    output: isLeftOut ? completion + reasoning : completion,
    cacheRead,
    cacheWrite: 0,
    reasoning,
  };
}

function cachedOf(usage: JsonObject): number {
  const places: readonly (JsonValue | undefined)[] = [
    fieldsOf(usage['prompt_tokens_details'])['cached_tokens'],
    fieldsOf(usage['prompt_token_details'])['cached_tokens'],
    usage['prompt_cache_hit_tokens'],
    usage['num_cached_tokens'],
  ];
  return numberOf(places.find((place) => typeof place === 'number'));
}
