import {
  type DeltaWriter,
  type Ids,
  type JsonObject,
  type ProviderState,
  type TextWriter,
  type ToolCallId,
  toolCallId,
} from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import type { StateOwner } from '../history/sendable-parts.ts';
import { arrayIn, isObject, objectIn, objectsIn, textIn } from '../json/fields.ts';
import { partState } from './part-state.ts';
import { StreamedArguments } from './streamed-arguments.ts';

interface ToolCallContext extends StateOwner {
  readonly writer: DeltaWriter;
  readonly ids: Ids;
  /** The provider knows its own ids again, but takes no others. */
  readonly keepsGivenIds: boolean;
}

/** The client's calls of one response: whole ones, and those whose arguments stream. */
export class GeminiToolCalls {
  readonly #context: ToolCallContext;
  readonly #usedIds = new Set<string>();
  readonly #repeated = new RepeatedCalls();
  /** Whose arguments stream. Several only where they have ids. */
  #open: readonly StreamedCall[] = [];
  #count = 0;

  constructor(context: ToolCallContext) {
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
    else if (name === undefined) checkNamelessCall(call);
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
    this.#commitCallsWithoutId();
    if (signature === undefined && this.#repeated.has(call)) return;
    const id = textIn(call, 'id');
    const part = this.#context.writer.toolCall(this.#idFor(id), name);
    part.append(argumentText(call));
    part.commit({ providerState: this.#state(signature, id) });
    this.#count++;
  }

  #stream(call: JsonObject, name: string, signature: string | undefined): void {
    this.#commitCallsWithoutId();
    const { writer } = this.#context;
    const givenId = textIn(call, 'id');
    const started = new StreamedCall(writer, this.#idFor(givenId), name, givenId);
    this.#open = [...this.#open, started];
    this.#feed(started, call, signature);
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
  #commitCallsWithoutId(): void {
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
function checkNamelessCall(call: JsonObject): void {
  if (arrayIn(call, 'partialArgs').length === 0 && !isObject(call['args'])) return;
  throw fault('protocol_error', 'a tool call has no name');
}

/** Nothing means no arguments. */
function argumentText({ args }: JsonObject): string {
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

/** A call whose arguments come in pieces. */
class StreamedCall {
  readonly #part: TextWriter;
  readonly #id: ToolCallId;
  readonly name: string;
  readonly #arguments = new StreamedArguments();
  /** The provider's own, where it gave one. */
  readonly givenId: string | undefined;
  #signature: string | undefined;

  constructor(writer: DeltaWriter, id: ToolCallId, name: string, givenId: string | undefined) {
    this.#part = writer.toolCall(id, name);
    this.#id = id;
    this.name = name;
    this.givenId = givenId;
  }

  get signature(): string | undefined {
    return this.#signature;
  }

  feed(call: JsonObject, signature: string | undefined): void {
    this.#signature ??= signature;
    const args = objectIn(call, 'args');
    if (args !== undefined) this.#arguments.setAll(args);
    for (const partial of objectsIn(call, 'partialArgs')) {
      this.#part.append(this.#arguments.add(partial));
    }
  }

  commit(providerState: ProviderState | undefined): void {
    const end = this.#arguments.end();
    if ('append' in end) {
      this.#part.append(end.append);
      return this.#part.commit({ providerState });
    }
    this.#part.replace({
      kind: 'tool_call',
      toolCallId: this.#id,
      name: this.name,
      arguments: end.replace,
      ...(providerState === undefined ? {} : { providerState }),
    });
  }

  retract(): void {
    this.#part.retract('cut');
  }
}

/**
 * Tells calls that come again, in a later event and without their signature, from equal calls that
 * are made again: by their ids, or else by the event, which has all of the earlier one's calls and no
 * others.
 */
class RepeatedCalls {
  /** The calls of each event that signed one, until they have come again. */
  readonly #events = new Set<string>();
  /** Signed calls of earlier events that have an id. */
  readonly #calls = new Set<string>();
  /** The same of this event, whose parts are calls of their own. */
  #current: readonly string[] = [];
  #isEventRepeated = false;

  nextEvent(parts: readonly JsonObject[]): void {
    for (const call of this.#current) this.#calls.add(call);
    const calls = parts.flatMap(callsIn);
    const isSigned = (part: JsonObject) => textIn(part, 'thoughtSignature') !== undefined;
    const signed = parts.filter(isSigned).flatMap(callsIn);
    this.#current = signed.flatMap(keyWithId);
    this.#isEventRepeated = false;
    if (calls.length === 0 || !calls.every(hasArguments)) return;
    const event = JSON.stringify(calls);
    if (signed.length > 0) this.#events.add(event);
    else this.#isEventRepeated = this.#events.delete(event);
  }

  /** Is this call of the event, which nobody signed, one that came already? */
  has(call: JsonObject): boolean {
    return this.#isEventRepeated || keyWithId(call).some((key) => this.#calls.has(key));
  }
}

function callsIn(part: JsonObject): readonly JsonObject[] {
  const call = objectIn(part, 'functionCall');
  return call === undefined ? [] : [call];
}

/** Without arguments, calls that are made again look like those that come again. */
function hasArguments({ args }: JsonObject): boolean {
  return args !== undefined && args !== null;
}

function keyWithId(call: JsonObject): readonly string[] {
  return textIn(call, 'id') === undefined ? [] : [JSON.stringify(call)];
}
