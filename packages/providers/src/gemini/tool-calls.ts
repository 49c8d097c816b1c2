import {
  type DeltaWriter,
  type Ids,
  isJsonObject,
  type JsonObject,
  type ProviderState,
  type TextWriter,
  type ToolCallId,
  toolCallId,
} from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import type { StateOwner } from '../history/sendable-parts.ts';
import { arrayIn, objectIn, objectsIn, textIn } from '../json/fields.ts';
import { partState } from './part-state.ts';
import { StreamedArguments } from './streamed-arguments.ts';

interface ToolCallContext extends StateOwner {
  readonly writer: DeltaWriter;
  readonly ids: Ids;
  /** True if the API accepts only ids that it created itself. */
  readonly keepsGivenIds: boolean;
}

/**
 * The calls of one response that the client must run: complete calls, and calls whose arguments
 * stream.
 */
export class GeminiToolCalls {
  readonly #context: ToolCallContext;
  readonly #usedIds = new Set<string>();
  readonly #repeated = new RepeatedCalls();
  /** The calls whose arguments stream. Several calls can stream at the same time only if they have ids. */
  #open: readonly StreamedCall[] = [];
  #count = 0;

  constructor(context: ToolCallContext) {
    this.#context = context;
  }

  /** The number of committed calls. */
  get count(): number {
    return this.#count;
  }

  /**
   * Must be called before the parts of each event are read. The calls in one event are all different. A later
   * event can repeat them.
   */
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

  /** Ends the response. An unfinished call counts as complete only if the model finished normally. */
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

  /**
   * Returns the open call that a piece belongs to, or undefined if the piece starts a new call. The id
   * identifies the call. Without an id, the piece belongs to the last call.
   */
  #openFor(id: string | undefined, name: string | undefined): StreamedCall | undefined {
    const known = this.#open.findLast(({ givenId }) => givenId !== undefined && givenId === id);
    if (name === undefined) return known ?? this.#open.at(-1);
    return known?.name === name ? known : undefined;
  }

  #feed(open: StreamedCall, call: JsonObject, signature: string | undefined): void {
    open.feed(call, signature);
    if (call['willContinue'] !== true) this.#commit(open);
  }

  /**
   * Commits the open calls without ids, because a new call starts. Otherwise pieces of the old and the new
   * call would be indistinguishable.
   */
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

  /** Returns the provider's id if it is valid and unique in the response. Otherwise returns a new id. */
  #idFor(given: string | undefined): ToolCallId {
    const isFree = given !== undefined && !this.#usedIds.has(given);
    let id = isFree ? asToolCallId(given) : undefined;
    while (id === undefined || this.#usedIds.has(id)) id = this.#context.ids.toolCall();
    this.#usedIds.add(id);
    return id;
  }
}

/**
 * Checks a call without a name. A repeated end of a call is ignored. Throws if arguments arrive that belong
 * to no call.
 */
function checkNamelessCall(call: JsonObject): void {
  if (arrayIn(call, 'partialArgs').length === 0 && !isJsonObject(call['args'])) return;
  throw fault('protocol_error', 'a tool call has no name');
}

/** Returns the arguments as text. Missing arguments become an empty text. */
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

/** A call whose arguments stream in pieces. */
class StreamedCall {
  readonly #part: TextWriter;
  readonly #id: ToolCallId;
  readonly name: string;
  readonly #arguments = new StreamedArguments();
  /** The provider's id, or undefined if the provider sent no id. */
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
 * Recognizes calls that the API sends again in a later event, without their signature. It distinguishes them
 * from new calls with equal arguments. A call with an id repeats an earlier call with the same id. Without
 * ids, an event repeats an earlier event if it has exactly the same calls.
 */
class RepeatedCalls {
  /** The signed calls of each event, as JSON. An entry is removed when its event is repeated. */
  readonly #events = new Set<string>();
  /** The signed calls of earlier events that have an id. */
  readonly #calls = new Set<string>();
  /** The signed calls of the current event. Calls of one event cannot repeat each other. */
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

  /** Returns whether this unsigned call repeats an earlier call. */
  has(call: JsonObject): boolean {
    return this.#isEventRepeated || keyWithId(call).some((key) => this.#calls.has(key));
  }
}

function callsIn(part: JsonObject): readonly JsonObject[] {
  const call = objectIn(part, 'functionCall');
  return call === undefined ? [] : [call];
}

/** Returns whether a call has arguments. Without arguments, a new call looks the same as a repetition. */
function hasArguments({ args }: JsonObject): boolean {
  return args !== undefined && args !== null;
}

function keyWithId(call: JsonObject): readonly string[] {
  return textIn(call, 'id') === undefined ? [] : [JSON.stringify(call)];
}
