import type { Delta, DeltaWriter, Part, Stop, StopReason, Usage } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { ProviderError, ProviderErrorKind } from '../errors/provider-error.ts';

/** What a scripted provider says to one request. A text is short for a response with one text part. */
export type Scripted =
  | string
  | ScriptedResponse
  | ((request: ModelRequest) => string | ScriptedResponse);

export interface ScriptedResponse {
  readonly content: ScriptedContent;
  /** `tool_use` where a call was made, else `stop`. */
  readonly stop?: StopReason | Stop | undefined;
  readonly usage?: Partial<Usage> | undefined;
  readonly fault?: ScriptedFault | undefined;
  /** Instead of the provider's. */
  readonly pieces?: Pieces | undefined;
  readonly pauseMs?: number | undefined;
}

/**
 * Finished parts, which are streamed piece by piece (arguments of a call may be no JSON); deltas that
 * somebody recorded, moved to the item and attempt at hand and told one a step; or what is written
 * by hand, where each yield ends a step.
 */
export type ScriptedContent =
  | { readonly parts: readonly (Part | string)[] }
  | { readonly deltas: readonly Delta[] }
  | { readonly write: (writer: DeltaWriter) => Iterable<void> };

/** What goes wrong after so many steps; 0 is before anything was said. */
export type ScriptedFault =
  | {
      readonly type: 'error';
      readonly after: number;
      readonly error: ProviderErrorKind | ProviderError;
    }
  /** Says nothing more until it is aborted. */
  | { readonly type: 'stall'; readonly after: number }
  /** Ends without saying that it is complete. */
  | { readonly type: 'cut'; readonly after: number }
  /** Tells this step after the next one: what a broken adapter would do. */
  | { readonly type: 'swap'; readonly after: number };

/** How a scripted text is cut: by character, into pieces like a model's tokens, or by a seed. */
export type Pieces = 'character' | 'token' | 'whole' | { readonly seed: number };

export function* piecesOf(text: string, pieces: Pieces): Generator<string> {
  if (pieces === 'character') yield* text;
  else if (pieces === 'token') yield* tokensOf(text);
  else if (pieces === 'whole') yield text;
  else yield* seeded(text, pieces.seed);
}

/** Words with the space before them, long ones in two or three pieces. */
function tokensOf(text: string): readonly string[] {
  return text.match(/\s?[^\s]{1,6}|\s/gsu) ?? [];
}

const longest = 12;

/** One to twelve characters each, always the same for the same seed. */
function* seeded(text: string, seed: number): Generator<string> {
  const characters = [...text];
  const next = randomNumbers(seed);
  for (let at = 0; at < characters.length; ) {
    const count = 1 + Math.floor(next() * longest);
    yield characters.slice(at, at + count).join('');
    at += count;
  }
}

/** Numbers in [0, 1) from a seed (mulberry32): a script must not depend on the engine's randomness. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
