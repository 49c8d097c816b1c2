import type {
  DeltaWriter,
  Ids,
  JsonObject,
  JsonValue,
  ProviderState,
  ToolCallId,
} from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';

/** One content block while it streams. */
export interface OpenBlock {
  delta(delta: JsonObject): void;
  /** It is over: its part is committed. Only the end of the message says more about it than that. */
  close(end?: BlockEnd): void;
  /** Must it, once it is stopped, be closed with the end of the message? Else it is closed at once. */
  readonly waitsForMessageEnd?: boolean;
  /** Another block starts: it takes its place among the parts, even if nothing of it has come yet. */
  reservePosition?(): void;
}

/** What the end of a message says about a block. */
export interface BlockEnd {
  /** The answer was cut off where it was at this block. */
  readonly isCut: boolean;
  /** That the code of the message runs in. */
  readonly container: JsonObject | undefined;
}

export interface BlockContext {
  readonly writer: DeltaWriter;
  readonly ids: Ids;
  /** What text is read by: nothing is made of it where a tool takes the output. */
  readonly textRequest: ModelRequest;
  readonly request: ModelRequest;
  readonly outputTool: string | undefined;
  /** Those that calls of this response have. */
  readonly usedIds: Set<ToolCallId>;
  /** What the provider wants back with a part. */
  readonly state: (data: JsonValue) => ProviderState;
}

/** What a block was started with beyond its deltas: whole input, where the provider sends no fragments. */
export function initialInput({ input }: JsonObject): string {
  if (input === undefined || input === null) return '';
  if (typeof input === 'string') return input;
  const text = JSON.stringify(input);
  return text === '{}' ? '' : text;
}

/** A fragment of arguments; some proxies send them as the value. */
export function inputFragment({ partial_json: fragment }: JsonObject): string {
  if (typeof fragment === 'string') return fragment;
  return fragment === undefined || fragment === null ? '' : JSON.stringify(fragment);
}
