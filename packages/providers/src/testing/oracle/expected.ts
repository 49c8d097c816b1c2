import type { JsonValue, StopReason, Usage } from '@millrace/core';

/** The expected result of one response. */
export interface Expected {
  /** The text of all answer texts, joined. */
  readonly texts: string;
  /** The visible text of all reasoning, joined. */
  readonly reasoning: string;
  /** The text of the provider's refusal. */
  readonly refusal?: string;
  /** The client's tool calls in order. */
  readonly calls: readonly ExpectedCall[];
  /**
   * The order of the text, reasoning and call blocks that are not empty. Adjacent blocks of one
   * kind count as one.
   */
  readonly order: readonly BlockKind[];
  /** The types of the blocks of hosted tools, in order. */
  readonly hosted: readonly string[];
  /** The types of all other blocks, known or unknown, in order. */
  readonly others: readonly string[];
  readonly media: readonly ExpectedMedia[];
  /** The transcript of spoken output. */
  readonly transcript?: string;
  /** The known usage, also of a failed response. Undefined if the stream contains no usage. */
  readonly usage: ExpectedUsage | undefined;
  /** The stop reason. It is `error` for every response without a normal end. */
  readonly stop: StopReason;
  readonly rawStop: string | undefined;
  readonly ends: Ending;
  /** True if an error is also an acceptable result. */
  readonly mayFail?: true;
  /**
   * The texts that the next request must contain unchanged, because the provider requires them.
   * Empty for a failed response.
   */
  readonly state: readonly string[];
  /** The signatures, each with the text or the call name that it belongs to. */
  readonly signed: readonly SignedContent[];
  /** The URLs of the citations, without duplicates. */
  readonly citations: readonly string[];
}

/**
 * The end of the stream. `terminal`: with the provider's terminal signal. `truncated`: without it. `error`:
 * with an error of the provider, or because of invalid bytes.
 */
export type Ending = 'terminal' | 'truncated' | 'error';

export type BlockKind = 'text' | 'reasoning' | 'call';

export interface ExpectedCall {
  readonly name: string;
  /** The text that the model wrote. For wires that send values, it is their JSON text. */
  readonly arguments: string;
  /** The parsed arguments. Absent if they are not JSON. */
  readonly value?: JsonValue;
  /** The provider's id. Absent if an earlier call has the same id. */
  readonly id?: string;
  /**
   * True if the call ended and its arguments are valid. The call runs if the stop reason is also
   * `tool_use`.
   */
  readonly isWhole: boolean;
  /** True if the arguments are plain text instead of JSON. */
  readonly isText?: true;
  /** The inner calls of a wrapper tool that was not declared. */
  readonly wraps?: readonly { readonly name: string; readonly value: JsonValue }[];
}

export interface ExpectedMedia {
  /** The media type. Undefined if the stream does not contain it. */
  readonly mimeType: string | undefined;
  readonly base64: string;
}

export type ExpectedUsage = Pick<
  Usage,
  'input' | 'output' | 'cacheRead' | 'cacheWrite' | 'reasoning'
>;

export interface SignedContent {
  readonly signature: string;
  readonly on: string;
}

interface RawOutcome {
  readonly ends: Ending;
  readonly rawStop: string | undefined;
  /** Millrace's stop reason for the raw one, before any rule is applied. */
  readonly mapped: StopReason;
  readonly calls: readonly ExpectedCall[];
  readonly isRefused: boolean;
  readonly state: readonly string[];
  readonly signed: readonly SignedContent[];
}

type JudgedOutcome = Pick<
  Expected,
  'ends' | 'rawStop' | 'stop' | 'calls' | 'mayFail' | 'state' | 'signed'
>;

/**
 * Applies the rules that all wires share. A failed response has no complete calls, and no state for
 * the next request.
 */
export function applyStopRules(outcome: RawOutcome): JudgedOutcome {
  const { ends, rawStop, mapped, calls, isRefused, state, signed } = outcome;
  if (ends !== 'terminal') {
    const cut = calls.map((call) => ({ ...call, isWhole: false }));
    return { ends, rawStop, stop: 'error', calls: cut, state: [], signed: [] };
  }
  const base = { ends, rawStop, calls, state, signed };
  const isWithCall = calls.some(({ isWhole }) => isWhole);
  // An invalid call is answered with an error, so the stop reason stays `tool_use`.
  if (mapped === 'tool_use' && calls.length === 0) return { ...base, stop: 'stop', mayFail: true };
  if (mapped === 'stop' && isRefused) return { ...base, stop: 'refusal' };
  if (mapped === 'stop' && isWithCall) return { ...base, stop: 'tool_use' };
  if (mapped === 'error') return { ...base, stop: 'error', mayFail: true };
  return { ...base, stop: mapped };
}

/** Returns the kinds of the blocks that are not empty. Adjacent blocks of one kind count as one. */
export function orderOf(blocks: readonly (readonly [BlockKind, string])[]): readonly BlockKind[] {
  const kinds = blocks.filter(([, content]) => content !== '').map(([kind]) => kind);
  return kinds.filter((kind, index) => kind !== kinds[index - 1]);
}
