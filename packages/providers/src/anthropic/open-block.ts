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
  /** Commits the part. `end` is given only at the end of the message. */
  close(end?: BlockEnd): void;
  /**
   * True if a stopped block must be closed with the end of the message. Otherwise it is closed at
   * once.
   */
  readonly waitsForMessageEnd?: boolean;
  /**
   * Called when another block starts. It begins the part now, so that the order of parts is right.
   */
  reservePosition?(): void;
}

/** What the end of a message says about a block. */
export interface BlockEnd {
  /** The answer was cut off in this block. */
  readonly isCut: boolean;
  /** The container in which the code of the message runs. */
  readonly container: JsonObject | undefined;
}

export interface BlockContext {
  readonly writer: DeltaWriter;
  readonly ids: Ids;
  /** The request for text parts. It has no output schema if a tool receives the output. */
  readonly textRequest: ModelRequest;
  readonly request: ModelRequest;
  readonly outputTool: string | undefined;
  /** The ids of all calls of this response. */
  readonly usedIds: Set<ToolCallId>;
  /** Creates the state that the provider needs back with a part. */
  readonly state: (data: JsonValue) => ProviderState;
}

/** The input in the start of a block. Some providers send it there in one piece. */
export function initialInput({ input }: JsonObject): string {
  if (input === undefined || input === null) return '';
  if (typeof input === 'string') return input;
  const text = JSON.stringify(input);
  return text === '{}' ? '' : text;
}

/** A fragment of the arguments. Some proxies send a value instead of text. */
export function inputFragment({ partial_json: fragment }: JsonObject): string {
  if (typeof fragment === 'string') return fragment;
  return fragment === undefined || fragment === null ? '' : JSON.stringify(fragment);
}
