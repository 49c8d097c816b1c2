import { type JsonObject, type TextWriter, type ToolCallId, toolCallId } from '@millrace/core';
import { textIn } from '../wire/fields.ts';
import { fault } from '../wire/wire-fault.ts';
import { isProgrammatic } from './container.ts';
import { type BlockContext, fragmentOf, type OpenBlock, startedInput } from './open-block.ts';

/** A call of one of the client's tools. */
export class OpenToolUse implements OpenBlock {
  readonly #context: BlockContext;
  readonly #start: JsonObject;
  readonly #part: TextWriter;
  /** The code that made the call waits in a container, which is told only at the end of the message. */
  readonly isProgrammatic: boolean;

  constructor(context: BlockContext, start: JsonObject) {
    const name = textIn(start, 'name');
    if (name === undefined) throw fault('protocol_error', 'a tool call has no name');
    this.#context = context;
    this.#start = start;
    this.#part = context.writer.toolCall(newId(textIn(start, 'id'), context), name);
    this.isProgrammatic = isProgrammatic(start);
  }

  delta(delta: JsonObject): void {
    this.#part.append(fragmentOf(delta));
  }

  close(container?: JsonObject): void {
    if (this.#part.length === 0) this.#part.append(startedInput(this.#start));
    const { type: _type, id: _id, name: _name, input: _input, ...rest } = this.#start;
    const kept = { ...rest, ...(container === undefined ? {} : { container }) };
    const hasKept = Object.keys(kept).length > 0;
    this.#part.commit({ providerState: hasKept ? this.#context.state(kept) : undefined });
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
