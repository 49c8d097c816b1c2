import {
  type JsonObject,
  parseJson,
  type TextWriter,
  type ToolCallId,
  toolCallId,
} from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import { textIn } from '../json/fields.ts';
import { isProgrammatic } from './container.ts';
import {
  type BlockContext,
  type BlockEnd,
  fragmentOf,
  type OpenBlock,
  startedInput,
} from './open-block.ts';

/** A call of one of the client's tools. */
export class OpenToolUse implements OpenBlock {
  readonly #context: BlockContext;
  readonly #start: JsonObject;
  readonly #part: TextWriter;
  /** Only looked at when they are whole. */
  #arguments = '';

  constructor(context: BlockContext, start: JsonObject) {
    const name = textIn(start, 'name');
    if (name === undefined) throw fault('protocol_error', 'a tool call has no name');
    this.#context = context;
    this.#start = start;
    this.#part = context.writer.toolCall(newId(textIn(start, 'id'), context), name);
  }

  delta(delta: JsonObject): void {
    this.#append(fragmentOf(delta));
  }

  /**
   * No arguments are `{}` or were cut off, and code that made the call waits in a container: both are
   * told only at the end of the message.
   */
  get waits(): boolean {
    return isProgrammatic(this.#start) || !this.#isWritten;
  }

  close(end?: BlockEnd): void {
    if (end?.isCut && !this.#isWritten) return this.#part.commit({ partial: true });
    if (this.#arguments === '') this.#append(startedInput(this.#start));
    const { type: _type, id: _id, name: _name, input: _input, ...rest } = this.#start;
    const container = isProgrammatic(this.#start) ? end?.container : undefined;
    const kept = { ...rest, ...(container === undefined ? {} : { container }) };
    const hasKept = Object.keys(kept).length > 0;
    this.#part.commit({ providerState: hasKept ? this.#context.state(kept) : undefined });
  }

  get #isWritten(): boolean {
    return parseJson(this.#arguments || startedInput(this.#start)).ok;
  }

  #append(fragment: string): void {
    this.#arguments += fragment;
    this.#part.append(fragment);
  }
}

/** The provider's id, or ours where that cannot be one or another call has it already. */
function newId(given: string | undefined, { ids, usedIds }: BlockContext): ToolCallId {
  const own = given === undefined ? undefined : validId(given);
  const id = own === undefined || usedIds.has(own) ? ids.toolCall() : own;
  usedIds.add(id);
  return id;
}

function validId(text: string): ToolCallId | undefined {
  try {
    return toolCallId(text);
  } catch {
    return undefined;
  }
}
