import type {
  Delta,
  DeltaWriter,
  JsonValue,
  Part,
  Stop,
  StopReason,
  ToolCallPart,
  Usage,
} from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { ProviderError, ProviderErrorKind } from '../contract/provider-error.ts';

/**
 * The answer of a scripted provider to one request, or a function that creates the answer from the request.
 * An answer is one of these:
 *
 * - a text. If the request has an `output` schema, the text is JSON and becomes a structured part, as
 *   with real providers.
 * - a tool call, or a list of texts, tool calls and other parts.
 * - a `ScriptedResponse`, which can also fail.
 */
export type ScriptEntry = ScriptedAnswer | ((request: ModelRequest) => ScriptedAnswer);

/** The answer to one request: one part, several parts, or a response with all its settings. */
export type ScriptedAnswer = ScriptedPart | readonly ScriptedPart[] | ScriptedResponse;

/** A part of a scripted response. A string becomes a text part. */
export type ScriptedPart = Part | ScriptedToolCall | string;

/** A tool call of a script. Create it with `toolCall`. */
export interface ScriptedToolCall extends Omit<ToolCallPart, 'toolCallId' | 'input'> {
  /** The id of the call. Default: the run creates a new id. */
  readonly toolCallId?: string | undefined;
}

/**
 * Creates a tool call for the script of a `scriptedProvider`.
 *
 * @param id The id of the call. Default: the run creates a new id, so that equal calls have different ids.
 * @example
 * scriptedProvider([toolCall('weather', { town: 'Bath' }), 'Take a coat.']);
 */
export function toolCall(name: string, input: JsonValue = {}, id?: string): ScriptedToolCall {
  const call = { kind: 'tool_call', name, arguments: JSON.stringify(input) } as const;
  return id === undefined ? call : { ...call, toolCallId: id };
}

/** Converts an answer to a response with settings. */
export function responseOf(answer: ScriptedAnswer): ScriptedResponse {
  if (typeof answer === 'string' || 'kind' in answer) return { content: { parts: [answer] } };
  return 'content' in answer ? answer : { content: { parts: answer } };
}

/** A scripted response, with its content and its end. */
export interface ScriptedResponse {
  readonly content: ScriptedContent;
  /**
   * The reason why the response ends. Default: `tool_use` if there is a tool call, otherwise
   * `stop`.
   */
  readonly stop?: StopReason | Stop | undefined;
  /** The token counts. Default: an estimate from the length of the output. */
  readonly usage?: Partial<Usage> | undefined;
  /** A failure of the stream. Default: none. */
  readonly fault?: ScriptedFault | undefined;
  /** The rule that splits text into deltas. Default: the provider's `pieces`. */
  readonly pieces?: ScriptedPieces | undefined;
  /** Delay between two steps in milliseconds. Default: the provider's `pauseMs`. */
  readonly pauseMs?: number | undefined;
}

/**
 * The content of a scripted response. It is one of these:
 *
 * - `parts`: finished parts, which are streamed in pieces. The arguments of a call may be invalid
 *   JSON.
 * - `deltas`: recorded deltas, one per step. They are rewritten for the current item and attempt.
 * - `write`: a generator that writes to the `DeltaWriter`. Each yield ends a step.
 */
export type ScriptedContent =
  | { readonly parts: readonly ScriptedPart[] }
  | { readonly deltas: readonly Delta[] }
  | {
      /** Writes the content. Each yield ends a step. */
      readonly write: (writer: DeltaWriter) => Iterable<void>;
    };

/** A failure that occurs after the given number of steps. 0 means before any output. */
export type ScriptedFault =
  | {
      readonly type: 'error';
      readonly after: number;
      readonly error: ProviderErrorKind | ProviderError;
    }
  /** The stream sends no further data until the request is aborted. */
  | { readonly type: 'stall'; readonly after: number }
  /** The stream ends without a terminal signal. */
  | { readonly type: 'cut'; readonly after: number }
  /** The stream emits this step after the following step, as an incorrect adapter would. */
  | { readonly type: 'swap'; readonly after: number };

/**
 * The rule that splits a scripted text: by character, into token-like pieces, as a whole, or randomly with a
 * seed.
 */
export type ScriptedPieces = 'character' | 'token' | 'whole' | { readonly seed: number };

export function* piecesOf(text: string, pieces: ScriptedPieces): Generator<string> {
  if (pieces === 'character') yield* text;
  else if (pieces === 'token') yield* tokensOf(text);
  else if (pieces === 'whole') yield text;
  else yield* seeded(text, pieces.seed);
}

/** Splits a text into words. Each word includes the whitespace before it. Long words are split further. */
function tokensOf(text: string): readonly string[] {
  return text.match(/\s?[^\s]{1,6}|\s/gsu) ?? [];
}

const maxPieceLength = 12;

/** Splits a text into pieces of one to twelve characters. The same seed always produces the same pieces. */
function* seeded(text: string, seed: number): Generator<string> {
  const characters = [...text];
  const next = randomNumbers(seed);
  for (let at = 0; at < characters.length; ) {
    const count = 1 + Math.floor(next() * maxPieceLength);
    yield characters.slice(at, at + count).join('');
    at += count;
  }
}

/**
 * Returns a source of random numbers in [0, 1) from a seed (mulberry32). All JavaScript engines produce the
 * same numbers.
 */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
