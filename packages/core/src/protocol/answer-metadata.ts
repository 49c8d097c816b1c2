import {
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
} from '../json/json-value.ts';
import type { Item } from './item.ts';
import type { Part } from './part.ts';

// Providers report some data about an answer for which the protocol has no field. This data is in the
// metadata of its part, or in a custom part. The functions below read this data.

/** The log probability of one token of an answer. */
export interface TokenLogprob {
  readonly token: string;
  /** The natural logarithm of the token's probability. */
  readonly logprob: number;
  /** The most likely tokens at this position, if the request asked for them. */
  readonly top?: readonly { readonly token: string; readonly logprob: number }[];
}

/**
 * Returns the log probabilities of a part's tokens. The list is empty if the request did not ask
 * for them.
 */
export function logprobsOf({ metadata }: Part): readonly TokenLogprob[] {
  return objects(metadata?.['logprobs']).flatMap((entry) => {
    const plain = tokenIn(entry);
    if (plain === undefined) return [];
    const top = objects(entry['top']).flatMap((other) => tokenIn(other) ?? []);
    return entry['top'] === undefined ? plain : { ...plain, top };
  });
}

/** The sources that the provider's search found for a text. */
export interface Grounding {
  /** The searches that the provider made. */
  readonly queries: readonly string[];
  /** The passages of the text, each with its sources. */
  readonly supports: readonly GroundingSupport[];
  /**
   * HTML of the provider that links to the search. The provider's terms can require that a user
   * interface shows it.
   */
  readonly searchEntryPoint?: string;
  /** The web pages that the provider tried to read, with the status of each. */
  readonly urls: readonly { readonly url: string; readonly status: string }[];
}

/** One passage of a text and its sources. */
export interface GroundingSupport {
  readonly text?: string;
  /** The position in the text, in bytes of its UTF-8 form. */
  readonly start: number;
  readonly end?: number;
  /** Indices into the provider's list of sources. */
  readonly sources: readonly number[];
}

/** Returns the grounding of a text part or custom part. Undefined if the provider reported no grounding. */
export function groundingOf(part: Part): Grounding | undefined {
  const own = part.kind === 'custom' && isJsonObject(part.value) ? part.value : part.metadata;
  const grounding = own?.['grounding'];
  if (!isJsonObject(grounding)) return undefined;
  const { searchEntryPoint } = grounding;
  return {
    queries: strings(grounding['queries']),
    supports: objects(grounding['supports']).map(toSupport),
    ...(typeof searchEntryPoint === 'string' && { searchEntryPoint }),
    urls: objects(grounding['urls']).flatMap(({ url, status }) =>
      typeof url === 'string' ? { url, status: String(status ?? '') } : [],
    ),
  };
}

/** One of several answers to the same request. */
export interface AlternativeAnswer {
  /** The provider's number of the answer. The item itself contains answer number 0. */
  readonly index: number;
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly { readonly name: string; readonly arguments: string }[];
  /** The stop reason as the provider sent it. */
  readonly stop?: string;
}

/** The name of the custom part that contains an alternative answer. */
export const alternativeName = 'alternative';

/**
 * Returns the alternative answers in an item, if the request asked for several answers. Alternative answers
 * are custom parts. They are never sent back to a model, and their tool calls never run.
 */
export function alternativesOf({ parts }: Pick<Item, 'parts'>): readonly AlternativeAnswer[] {
  return parts.flatMap((part) => {
    if (part.kind !== 'custom' || part.name !== alternativeName || !isJsonObject(part.value))
      return [];
    const { index, text, reasoning, stop } = part.value;
    return {
      index: typeof index === 'number' ? index : 0,
      text: typeof text === 'string' ? text : '',
      reasoning: typeof reasoning === 'string' ? reasoning : '',
      toolCalls: objects(part.value['calls']).map((call) => ({
        name: String(call['name'] ?? ''),
        arguments: String(call['arguments'] ?? ''),
      })),
      ...(typeof stop === 'string' && { stop }),
    };
  });
}

function tokenIn({ token, logprob }: JsonObject): TokenLogprob | undefined {
  return typeof token === 'string' && typeof logprob === 'number' ? { token, logprob } : undefined;
}

function toSupport({ text, start, end, sources }: JsonObject): GroundingSupport {
  return {
    ...(typeof text === 'string' && { text }),
    start: typeof start === 'number' ? start : 0,
    ...(typeof end === 'number' && { end }),
    sources: list(sources).flatMap((source) => (typeof source === 'number' ? source : [])),
  };
}

function list(value: JsonValue | undefined): JsonArray {
  return Array.isArray(value) ? value : [];
}

function objects(value: JsonValue | undefined): readonly JsonObject[] {
  return list(value).filter(isJsonObject);
}

function strings(value: JsonValue | undefined): readonly string[] {
  return list(value).filter((one) => typeof one === 'string');
}
