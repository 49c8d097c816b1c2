import {
  type DeltaWriter,
  type Ids,
  type JsonObject,
  type ProviderState,
  type ToolCallId,
  toolCallId,
} from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import type { Owner } from '../history/own-parts.ts';
import { arrayIn, isObject, textIn } from '../json/fields.ts';
import { partState } from './part-state.ts';
import { RepeatedCalls } from './repeated-calls.ts';
import { StreamedCall } from './streamed-call.ts';

export interface CallContext extends Owner {
  readonly writer: DeltaWriter;
  readonly ids: Ids;
  /** The provider knows its own ids again, but takes no others. */
  readonly keepsGivenIds: boolean;
}

/** The client's calls of one response: whole ones, and those whose arguments stream. */
export class ToolCalls {
  readonly #context: CallContext;
  readonly #usedIds = new Set<string>();
  readonly #repeated = new RepeatedCalls();
  /** Whose arguments stream. Several only where they have ids. */
  #open: readonly StreamedCall[] = [];
  #count = 0;

  constructor(context: CallContext) {
    this.#context = context;
  }

  /** How many are written. */
  get count(): number {
    return this.#count;
  }

  /** Parts of one event are calls of their own; those of a later one may repeat them. */
  nextEvent(parts: readonly JsonObject[]): void {
    this.#repeated.nextEvent(parts);
  }

  add(call: JsonObject, signature: string | undefined): void {
    const name = textIn(call, 'name');
    const open = this.#openFor(textIn(call, 'id'), name);
    if (open !== undefined) this.#feed(open, call, signature);
    else if (name === undefined) refuseNameless(call);
    else if (call['willContinue'] === true || Array.isArray(call['partialArgs'])) {
      this.#stream(call, name, signature);
    } else this.#whole(call, name, signature);
  }

  /** The response is over. A call whose end did not come is whole only if the model came to its end. */
  close(isComplete: boolean): void {
    for (const open of this.#open) {
      if (isComplete) this.#commit(open);
      else open.retract();
    }
    this.#open = [];
  }

  #whole(call: JsonObject, name: string, signature: string | undefined): void {
    this.#commitUntold();
    if (signature === undefined && this.#repeated.has(call)) return;
    const id = textIn(call, 'id');
    const part = this.#context.writer.toolCall(this.#idFor(id), name);
    part.append(argumentsOf(call));
    part.commit({ providerState: this.#state(signature, id) });
    this.#count++;
  }

  #stream(call: JsonObject, name: string, signature: string | undefined): void {
    this.#commitUntold();
    const { writer } = this.#context;
    const givenId = textIn(call, 'id');
    const begun = new StreamedCall(writer, this.#idFor(givenId), name, givenId);
    this.#open = [...this.#open, begun];
    this.#feed(begun, call, signature);
  }

  /** The open call that a piece is of: by its id, or else, unless it begins a call, the last. */
  #openFor(id: string | undefined, name: string | undefined): StreamedCall | undefined {
    const known = this.#open.findLast(({ givenId }) => givenId !== undefined && givenId === id);
    if (name === undefined) return known ?? this.#open.at(-1);
    return known?.name === name ? known : undefined;
  }

  #feed(open: StreamedCall, call: JsonObject, signature: string | undefined): void {
    open.feed(call, signature);
    if (call['willContinue'] !== true) this.#commit(open);
  }

  /** Another call ends those before it whose pieces could not be told from its own. */
  #commitUntold(): void {
    for (const open of this.#open) if (open.givenId === undefined) this.#commit(open);
  }

  #commit(open: StreamedCall): void {
    this.#open = this.#open.filter((other) => other !== open);
    open.commit(this.#state(open.signature, open.givenId));
    this.#count++;
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

/** An end that comes twice is none; arguments need a call. */
function refuseNameless(call: JsonObject): void {
  if (arrayIn(call, 'partialArgs').length === 0 && !isObject(call['args'])) return;
  throw fault('protocol_error', 'a tool call has no name');
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
