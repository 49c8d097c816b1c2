import type { JsonObject, JsonValue, StopReason } from '@millrace/core';
import {
  applyStopRules,
  type BlockKind,
  type Ending,
  type Expected,
  type ExpectedCall,
  type ExpectedMedia,
  type ExpectedUsage,
  orderOf,
  type SignedContent,
} from './expected.ts';
import {
  atPath,
  entriesOf,
  fieldsOf,
  isComment,
  isObject,
  numberOf,
  parseLine,
  textOf,
  unique,
} from './read-json.ts';

const byReason: Readonly<Partial<Record<StopReason, string>>> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  content_filter:
    'SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION',
  error: 'MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL IMAGE_OTHER NO_IMAGE',
};

const hostedParts = new Set(['executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse']);
const knownParts = new Set(['text', 'thought', 'thoughtSignature', 'functionCall', 'inlineData']);

/** Computes the expected result of a Gemini stream from all of its events at once. */
export function readGemini(lines: readonly string[]): Expected {
  const { events, hasFailed } = eventsOf(lines);
  const candidates = events.flatMap(firstCandidate);
  const partsByEvent = candidates.map(({ content }) =>
    entriesOf(fieldsOf(content)['parts']).map(fieldsOf),
  );
  const parts = partsByEvent.flat();
  const finish = candidates.map((candidate) => textOf(candidate['finishReason'])).find(Boolean);
  const blocked = events.map(blockReasonOf).find(Boolean);
  const rest = parts.flatMap((part) => Object.keys(part)).filter((key) => !knownParts.has(key));
  const calls = geminiCalls(partsByEvent);
  const signed = parts.flatMap(signatureOf);
  return {
    texts: joined(parts.filter(({ thought }) => thought !== true)),
    reasoning: joined(parts.filter(({ thought }) => thought === true)),
    order: orderOf(parts.flatMap(blocksOf)),
    hosted: rest.filter((type) => hostedParts.has(type)),
    others: rest.filter((type) => !hostedParts.has(type)),
    media: parts.flatMap(({ inlineData }) => (isObject(inlineData) ? [mediaOf(inlineData)] : [])),
    usage: usageOf(events),
    ...applyStopRules({
      ends: endingOf(hasFailed, finish ?? blocked),
      rawStop: finish ?? blocked,
      mapped: finish === undefined ? 'content_filter' : mappedOf(finish, calls.length > 0),
      calls,
      isRefused: false,
      state: signed.map(({ signature }) => signature),
      signed,
    }),
    citations: unique(candidates.flatMap(citationsOf)),
  };
}

function endingOf(hasFailed: boolean, rawStop: string | undefined): Ending {
  if (hasFailed) return 'error';
  return rawStop === undefined ? 'truncated' : 'terminal';
}

/** Returns the events before the first error or invalid event. */
function eventsOf(lines: readonly string[]): {
  readonly events: readonly JsonObject[];
  readonly hasFailed: boolean;
} {
  const values = lines.filter((line) => !isComment(line)).map(parseLine);
  const failed = values.findIndex((value) => !isObject(value) || isObject(value['error']));
  const events = failed < 0 ? values : values.slice(0, failed);
  return { events: events.map(fieldsOf), hasFailed: failed >= 0 };
}

function firstCandidate(event: JsonObject): readonly JsonObject[] {
  const candidates = entriesOf(event['candidates']).map(fieldsOf);
  return candidates.filter(({ index }) => index === undefined || index === 0);
}

function blockReasonOf(event: JsonObject): string {
  return textOf(fieldsOf(event['promptFeedback'])['blockReason']);
}

function mappedOf(finish: string, isWithCall: boolean): StopReason {
  if (finish === 'STOP' && isWithCall) return 'tool_use';
  const reasons: readonly StopReason[] = ['stop', 'length', 'content_filter', 'error'];
  return reasons.find((reason) => byReason[reason]?.split(' ').includes(finish)) ?? 'unknown';
}

function blocksOf({
  text,
  thought,
  functionCall,
}: JsonObject): readonly (readonly [BlockKind, string])[] {
  const name = textOf(fieldsOf(functionCall)['name']);
  return [
    [thought === true ? 'reasoning' : 'text', textOf(text)],
    ['call', name],
  ];
}

function joined(parts: readonly JsonObject[]): string {
  return parts
    .map(({ text }) => textOf(text))
    .join('')
    .toWellFormed();
}

function mediaOf({ mimeType, data }: JsonObject): ExpectedMedia {
  return { mimeType: textOf(mimeType), base64: textOf(data) };
}

function signatureOf({
  thoughtSignature,
  functionCall,
  text,
}: JsonObject): readonly SignedContent[] {
  const signature = textOf(thoughtSignature);
  const on = textOf(fieldsOf(functionCall)['name']) || textOf(text);
  return signature === '' ? [] : [{ signature, on }];
}

function citationsOf({ groundingMetadata }: JsonObject): readonly string[] {
  const chunks = entriesOf(fieldsOf(groundingMetadata)['groundingChunks']).map(fieldsOf);
  return chunks.map(({ web }) => textOf(fieldsOf(web)['uri']));
}

/**
 * Returns the usage: the last number of each field, because some events have only a few of the
 * fields.
 */
function usageOf(events: readonly JsonObject[]): ExpectedUsage | undefined {
  const usages = events.map(({ usageMetadata }) => fieldsOf(usageMetadata));
  const last = (name: string) =>
    usages.map((usage) => usage[name]).findLast((count) => typeof count === 'number');
  const input = last('promptTokenCount');
  const visible = last('candidatesTokenCount');
  if (input === undefined && visible === undefined) return undefined;
  const reasoning = numberOf(last('thoughtsTokenCount'));
  return {
    input: numberOf(input),
    output: numberOf(visible) + reasoning,
    cacheRead: numberOf(last('cachedContentTokenCount')),
    cacheWrite: 0,
    reasoning,
  };
}

interface CollectedCall {
  readonly event: number;
  readonly name: string;
  readonly id: string;
  readonly isSigned: boolean;
  readonly given: JsonValue | undefined;
  readonly partials: JsonObject[];
}

/**
 * Collects the calls of a response event by event. A name starts a call. Everything else continues
 * the last call.
 */
function geminiCalls(partsByEvent: readonly (readonly JsonObject[])[]): readonly ExpectedCall[] {
  const calls: CollectedCall[] = [];
  for (const [event, parts] of partsByEvent.entries()) {
    for (const { functionCall, thoughtSignature } of parts) {
      const { name, id, args, partialArgs } = fieldsOf(functionCall);
      if (textOf(name) !== '') {
        const isSigned = textOf(thoughtSignature) !== '';
        const call = {
          event,
          name: textOf(name),
          id: textOf(id),
          isSigned,
          given: args,
          partials: [],
        };
        if (!calls.some((earlier) => isRepeat(call, earlier))) calls.push(call);
      }
      calls.at(-1)?.partials.push(...entriesOf(partialArgs).map(fieldsOf));
    }
  }
  return calls.map(toCall);
}

/**
 * Returns whether a call repeats an earlier signed call in a later event, without its signature.
 */
function isRepeat(call: CollectedCall, earlier: CollectedCall): boolean {
  const isSame = call.name === earlier.name && call.id === earlier.id;
  const isEqual =
    call.given !== undefined && JSON.stringify(call.given) === JSON.stringify(earlier.given);
  return isSame && isEqual && earlier.isSigned && !call.isSigned && earlier.event < call.event;
}

function toCall({ name, id, given, partials }: CollectedCall): ExpectedCall {
  const value = typeof given === 'string' ? parseLine(given) : streamedValue(given, partials);
  const text = typeof given === 'string' ? given : JSON.stringify(value);
  return {
    name,
    arguments: text,
    ...(value !== undefined && { value }),
    ...(id !== '' && { id }),
    isWhole: isObject(value),
  };
}

function streamedValue(given: JsonValue | undefined, partials: readonly JsonObject[]): JsonValue {
  const pieces = Map.groupBy(partials, ({ jsonPath }) => textOf(jsonPath));
  let value: JsonValue = fieldsOf(given);
  for (const [path, values] of pieces) value = atPath(value, path, leafOf(values));
  return value;
}

/** Returns the value at one path. Text arrives in pieces, and other values arrive at once. */
function leafOf(partials: readonly JsonObject[]): JsonValue {
  if (partials.some((partial) => 'stringValue' in partial)) {
    return partials
      .map(({ stringValue }) => textOf(stringValue))
      .join('')
      .toWellFormed();
  }
  const { numberValue, boolValue } = partials.at(-1) ?? {};
  return numberValue ?? boolValue ?? null;
}
