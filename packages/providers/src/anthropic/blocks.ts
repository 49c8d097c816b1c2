import type { JsonObject, JsonValue } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import { textIn } from '../json/fields.ts';
import type { BlockContext, BlockEnd, OpenBlock } from './open-block.ts';
import { OpenText, OpenThinking } from './text-blocks.ts';
import { OpenCustom, OpenOutput, OpenToolUse } from './tool-calls.ts';

/** The index of a content block, usually a number. The code uses it only as a key. */
type Index = JsonValue | undefined;

/** The content blocks of one message, by their index. */
export class MessageBlocks {
  readonly #context: BlockContext;
  readonly #open = new Map<Index, OpenBlock>();
  readonly #starts = new Map<Index, JsonObject>();
  /** Blocks that have stopped, but that are closed only at the end of the message. */
  readonly #waiting: OpenBlock[] = [];
  #last: OpenBlock | undefined;
  isEmpty = true;
  hasClientCalls = false;
  hasOutput = false;

  constructor(context: BlockContext) {
    this.#context = context;
  }

  start(index: Index, block: JsonObject | undefined): void {
    if (block === undefined || this.#isRepeat(index, block)) return;
    this.stop(index);
    for (const open of this.#open.values()) open.reservePosition?.();
    const opened = createBlock(block, this.#context);
    this.#open.set(index, opened);
    this.#last = opened;
    this.#starts.set(index, block);
    this.isEmpty = false;
    this.hasClientCalls ||= opened instanceof OpenToolUse;
    this.hasOutput ||= opened instanceof OpenOutput;
  }

  append(index: Index, delta: JsonObject): void {
    const block = this.#open.get(index);
    if (block !== undefined) return block.delta(delta);
    this.start(index, impliedStart(delta));
    this.#open.get(index)?.delta(delta);
  }

  stop(index: Index): void {
    const block = this.#open.get(index);
    this.#open.delete(index);
    if (block?.waitsForMessageEnd) this.#waiting.push(block);
    else block?.close();
  }

  /**
   * Closes all blocks at the end of the message. If the message was cut off, the last block and all blocks
   * without a stop event are marked as cut.
   */
  stopAll({ isCut, container }: BlockEnd): void {
    const unstopped = [...this.#open.values()];
    this.#open.clear();
    for (const block of this.#waiting)
      block.close({ isCut: isCut && block === this.#last, container });
    for (const block of unstopped) block.close({ isCut, container });
  }

  /**
   * Returns whether this is a repeated start of a block, which some proxies send. It must be ignored, because
   * otherwise one call would become two calls.
   */
  #isRepeat(index: Index, block: JsonObject): boolean {
    if (!this.#open.has(index)) return false;
    return JSON.stringify(this.#starts.get(index)) === JSON.stringify(block);
  }
}

/**
 * Returns a start for a block whose start event a proxy omitted. Without it, the text of the delta would be
 * lost.
 */
function impliedStart({ type, partial_json: fragment }: JsonObject): JsonObject | undefined {
  if (type === 'text_delta') return { type: 'text' };
  if (type === 'thinking_delta') return { type: 'thinking' };
  if (type !== 'input_json_delta' || fragment === '') return undefined;
  throw fault('protocol_error', 'arguments came for a tool call that was not started');
}

function createBlock(start: JsonObject, context: BlockContext): OpenBlock {
  switch (start['type']) {
    case 'text':
      return new OpenText(context, start);
    case 'thinking':
      return new OpenThinking(context, start);
    case 'redacted_thinking':
      return redactedThinking(start, context);
    case 'tool_use': {
      const isOutput = context.outputTool !== undefined && start['name'] === context.outputTool;
      return isOutput ? new OpenOutput(context, start) : new OpenToolUse(context, start);
    }
    default:
      return new OpenCustom(context, start);
  }
}

/** Writes redacted thinking, which arrives complete and encrypted. Only the provider can read it. */
function redactedThinking(start: JsonObject, { writer, state }: BlockContext): OpenBlock {
  const providerState = state({ data: textIn(start, 'data') ?? '' });
  writer.whole({ kind: 'reasoning', text: '', form: 'redacted', providerState });
  return { delta: () => {}, close: () => {} };
}
