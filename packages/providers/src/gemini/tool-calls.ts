import {
  type DeltaWriter,
  type Ids,
  type JsonObject,
  type ProviderState,
  type ToolCallId,
  toolCallId,
} from '@millrace/core';
import type { Owner } from '../history/own-parts.ts';
import { arrayIn, isObject, textIn } from '../wire/fields.ts';
import { fault } from '../wire/wire-fault.ts';
import { partState } from './part-state.ts';
import { StreamedCall } from './streamed-call.ts';

export interface CallContext extends Owner {
  readonly writer: DeltaWriter;
  readonly ids: Ids;
  /** The provider knows its own ids again, but takes no others. */
  readonly keepsGivenIds: boolean;
}

/** A signed call that was written: it may come again, without its signature. */
interface SignedCall {
  readonly event: number;
  readonly name: string;
  readonly id: string | undefined;
  readonly arguments: string;
}

/** The client's calls of one response: whole ones, and those whose arguments stream. */
export class ToolCalls {
  readonly #context: CallContext;
  readonly #usedIds = new Set<string>();
  readonly #signed: SignedCall[] = [];
  #open: StreamedCall | undefined;
  #event = 0;
  #count = 0;

  constructor(context: CallContext) {
    this.#context = context;
  }

  /** How many are written. */
  get count(): number {
    return this.#count;
  }

  /** Parts of one event are calls of their own; those of a later one may repeat them. */
  nextEvent(): void {
    this.#event++;
  }

  add(call: JsonObject, signature: string | undefined): void {
    const name = textIn(call, 'name');
    if (name === undefined) this.#continue(call, signature);
    else if (call['willContinue'] === true || Array.isArray(call['partialArgs'])) {
      this.#stream(call, name, signature);
    } else this.#whole(call, name, signature);
  }

  /** The response is over. A call whose end did not come is whole only if the model came to its end. */
  close(isComplete: boolean): void {
    if (isComplete) this.#commitOpen();
    else this.#open?.retract();
    this.#open = undefined;
  }

  #whole(call: JsonObject, name: string, signature: string | undefined): void {
    this.#commitOpen();
    const id = textIn(call, 'id');
    const args = argumentsOf(call);
    if (signature === undefined && this.#isRepeat(name, id, args)) return;
    const part = this.#context.writer.toolCall(this.#idFor(id), name);
    part.append(args);
    part.commit({ providerState: this.#state(signature, id) });
    this.#count++;
    if (signature === undefined || args === '') return;
    this.#signed.push({ event: this.#event, name, id, arguments: args });
  }

  #stream(call: JsonObject, name: string, signature: string | undefined): void {
    this.#commitOpen();
    const { writer } = this.#context;
    const givenId = textIn(call, 'id');
    this.#open = new StreamedCall(writer, this.#idFor(givenId), name, givenId);
    this.#feed(this.#open, call, signature);
  }

  #continue(call: JsonObject, signature: string | undefined): void {
    if (this.#open !== undefined) return this.#feed(this.#open, call, signature);
    // An end that comes twice is none; arguments need a call.
    if (arrayIn(call, 'partialArgs').length > 0 || isObject(call['args'])) {
      throw fault('protocol_error', 'a tool call has no name');
    }
  }

  #feed(open: StreamedCall, call: JsonObject, signature: string | undefined): void {
    open.feed(call, signature);
    if (call['willContinue'] !== true) this.#commitOpen();
  }

  #commitOpen(): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    open.commit(this.#state(open.signature, open.givenId));
    this.#count++;
  }

  #isRepeat(name: string, id: string | undefined, args: string): boolean {
    return this.#signed.some(
      (earlier) =>
        earlier.event < this.#event &&
        earlier.name === name &&
        earlier.id === id &&
        earlier.arguments === args,
    );
  }

  #state(thoughtSignature: string | undefined, id: string | undefined): ProviderState | undefined {
    const keptId = this.#context.keepsGivenIds ? id : undefined;
    return partState(this.#context, { thoughtSignature, id: keptId });
  }

  /** The provider's own, where it is one and no other call of the response has it. */
  #idFor(given: string | undefined): ToolCallId {
    const isFree = given !== undefined && !this.#usedIds.has(given);
    let id = isFree ? asToolCallId(given) : undefined;
    while (id === undefined || this.#usedIds.has(id)) id = this.#context.ids.toolCall();
    this.#usedIds.add(id);
    return id;
  }
}

/** Nothing means no arguments. */
function argumentsOf({ args }: JsonObject): string {
  if (args === undefined || args === null) return '';
  return typeof args === 'string' ? args : JSON.stringify(args);
}

function asToolCallId(text: string): ToolCallId | undefined {
  try {
    return toolCallId(text);
  } catch {
    return undefined;
  }
}
