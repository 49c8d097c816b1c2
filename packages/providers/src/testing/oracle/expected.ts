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
  readonly signed: readonly SignedContent[];
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

export interface SignedContent {
  readonly signature: string;
  readonly on: string;
}

interface RawOutcome {
  readonly ends: Ending;
  readonly rawStop: string | undefined;
  /** The common word for the raw one, before any rule. */
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

/** The rules that all wires share. Of a response that failed no call is whole and nothing goes back. */
export function applyStopRules(outcome: RawOutcome): JudgedOutcome {
  const { ends, rawStop, mapped, calls, isRefused, state, signed } = outcome;
  if (ends !== 'terminal') {
    const cut = calls.map((call) => ({ ...call, isWhole: false }));
    return { ends, rawStop, stop: 'error', calls: cut, state: [], signed: [] };
  }
  const base = { ends, rawStop, calls, state, signed };
  const isWithCall = calls.some(({ isWhole }) => isWhole);
  // A call that is there but invalid is answered with an error, so the stop stays.
  if (mapped === 'tool_use' && calls.length === 0) return { ...base, stop: 'stop', mayFail: true };
  if (mapped === 'stop' && isRefused) return { ...base, stop: 'refusal' };
  if (mapped === 'stop' && isWithCall) return { ...base, stop: 'tool_use' };
  if (mapped === 'error') return { ...base, stop: 'error', mayFail: true };
  return { ...base, stop: mapped };
}

/** The kinds of the blocks that are not empty, with neighbours of a kind as one. */
export function orderOf(blocks: readonly (readonly [BlockKind, string])[]): readonly BlockKind[] {
  const kinds = blocks.filter(([, content]) => content !== '').map(([kind]) => kind);
  return kinds.filter((kind, index) => kind !== kinds[index - 1]);
}
