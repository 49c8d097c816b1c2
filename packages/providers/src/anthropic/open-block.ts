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
  /** Closes the block and commits its part. `end` is set only at the end of the message. */
  close(end?: BlockEnd): void;
  /**
   * True if the block is closed only at the end of the message. Otherwise it is closed when it
   * stops.
   */
  readonly waitsForMessageEnd?: boolean;
  /**
   * Called when a new block starts. It begins the part of this block, so that the parts have the same order
   * as the blocks.
   */
  reservePosition?(): void;
}

/** The data from the end of the message that a block needs. */
export interface BlockEnd {
  /** True if the answer was cut off in this block. */
  readonly isCut: boolean;
  /** The container in which the message runs code, with the session that it belongs to. */
  readonly container: JsonObject | undefined;
}

export interface BlockContext {
  readonly writer: DeltaWriter;
  readonly ids: Ids;
  /**
   * The request according to which text parts are read. It has no output schema if a tool receives the
   * output.
   */
  readonly textRequest: ModelRequest;
  readonly request: ModelRequest;
  readonly outputTool: string | undefined;
  /** The ids of all tool calls that this response has used. */
  readonly usedIds: Set<ToolCallId>;
  /** Creates the state of a part. The provider must get this state back with the part. */
  readonly state: (data: JsonValue) => ProviderState;
}

/**
 * Returns the input that the start of a block contains, as text. Some providers send the whole input there.
 */
export function initialInput({ input }: JsonObject): string {
  if (input === undefined || input === null) return '';
  if (typeof input === 'string') return input;
  const text = JSON.stringify(input);
  return text === '{}' ? '' : text;
}

/** Returns a fragment of the arguments as text. Some proxies send a JSON value instead of text. */
export function inputFragment({ partial_json: fragment }: JsonObject): string {
  if (typeof fragment === 'string') return fragment;
  return fragment === undefined || fragment === null ? '' : JSON.stringify(fragment);
}
