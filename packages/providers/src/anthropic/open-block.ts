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
   * True if the block is closed only at the end of the message. Otherwise it is closed when it
   * stops.
   */
  readonly waitsForMessageEnd?: boolean;
  /**
   * Called when another block starts. It begins the part, so that the parts have the order of their
   * blocks.
   */
  reservePosition?(): void;
}

/** The data that a block needs from the end of the message. */
export interface BlockEnd {
  /** True if the answer was cut off in this block. */
  readonly isCut: boolean;
  /** The container in which code of the message runs. */
  readonly container: JsonObject | undefined;
}

export interface BlockContext {
  readonly writer: DeltaWriter;
  readonly ids: Ids;
  /**
   * The request that text parts are read for. It has no output schema if a tool receives the
   * output.
   */
  readonly textRequest: ModelRequest;
  readonly request: ModelRequest;
  readonly outputTool: string | undefined;
  /** The ids of all calls of this response. */
  readonly usedIds: Set<ToolCallId>;
  /** Creates the state of a part, which the provider needs back with the part. */
  readonly state: (data: JsonValue) => ProviderState;
}

/**
 * Returns the input in the start of a block, as text. Some providers send the whole input there.
 */
export function initialInput({ input }: JsonObject): string {
  if (input === undefined || input === null) return '';
  if (typeof input === 'string') return input;
  const text = JSON.stringify(input);
  return text === '{}' ? '' : text;
}

/** Returns a fragment of the arguments as text. Some proxies send a value instead of text. */
export function inputFragment({ partial_json: fragment }: JsonObject): string {
  if (typeof fragment === 'string') return fragment;
  return fragment === undefined || fragment === null ? '' : JSON.stringify(fragment);
}
