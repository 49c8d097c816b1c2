import type { Delta, DeltaWriter, Part, Stop, StopReason, Usage } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { ProviderError, ProviderErrorKind } from '../errors/provider-error.ts';
import type { Pieces } from './pieces.ts';

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
