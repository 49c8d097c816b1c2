import type { JsonValue, StopReason, Usage } from '@millrace/core';

/** What must come out of one response, whoever reads it. */
export interface Expected {
  /** All answer text, end to end. */
  readonly texts: string;
  /** All visible reasoning, end to end. */
  readonly reasoning: string;
  /** What the provider said instead of an answer. */
  readonly refusal?: string;
  /** The client's calls in order. */
  readonly calls: readonly ExpectedCall[];
  /** What begins after what: text, reasoning and calls that are not empty, neighbours of a kind as one. */
  readonly order: readonly BlockKind[];
  /** The types of what hosted tools left, in order. */
  readonly hosted: readonly string[];
  /** The types of all other blocks, known or not, in order. */
  readonly others: readonly string[];
  readonly media: readonly ExpectedMedia[];
  /** The words of spoken output. */
  readonly transcript?: string;
  /** What is known of it, also where the response failed; undefined where nothing was said. */
  readonly usage: ExpectedUsage | undefined;
  /** `error` for all that did not come to its own end. */
  readonly stop: StopReason;
  readonly rawStop: string | undefined;
  readonly ends: Ending;
  /** The facts allow a reader to fail here instead. */
  readonly mayFail?: true;
  /**
   * What the provider must get back: each of these texts, unchanged, somewhere in the next request.
   * Nothing of a response that failed.
   */
  readonly state: readonly string[];
  /** Signatures, each with the text or the name of the call that it sits on. */
  readonly signed: readonly Signed[];
  /** Addresses, each once. */
  readonly citations: readonly string[];
}

/** By the provider's terminal signal, without one, or by an error (theirs, or bytes that make no sense). */
export type Ending = 'terminal' | 'truncated' | 'error';

export type BlockKind = 'text' | 'reasoning' | 'call';

export interface ExpectedCall {
  readonly name: string;
  /** As the model wrote it; for wires that send values, their JSON text. */
  readonly arguments: string;
  /** Their value; absent where they are not JSON. */
  readonly value?: JsonValue;
  /** The provider's own, where it gave one that no earlier call has. */
  readonly id?: string;
  /** Its end came and its arguments make sense. It runs if, besides, the stop is `tool_use`. */
  readonly isWhole: boolean;
  /** The arguments are plain text: not to be read as JSON. */
  readonly isText?: true;
  /** The calls that a wrapper nobody declared stands for. */
  readonly wraps?: readonly { readonly name: string; readonly value: JsonValue }[];
}

export interface ExpectedMedia {
  /** Undefined where the stream does not say. */
  readonly mimeType: string | undefined;
  readonly base64: string;
}

export type ExpectedUsage = Pick<
  Usage,
  'input' | 'output' | 'cacheRead' | 'cacheWrite' | 'reasoning'
>;

export interface Signed {
  readonly signature: string;
  readonly on: string;
}
