import type { JsonArray, JsonObject, JsonValue } from '@millrace/core';
import { countIn, isObject, objectIn, textIn } from '../wire/fields.ts';
import { fault } from '../wire/wire-fault.ts';
import { ToolCall, type ToolCallContext } from './tool-call.ts';

/** What one entry of `delta.tool_calls` says, whoever sent it. Empty is absent. */
interface Fragment {
  readonly index: number | undefined;
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly text: string;
}

/**
 * The calls of one response. Which fragment belongs to which call is a matter of id, index and name,
 * of which servers leave out, repeat or change any.
 */
export class ToolCalls {
  readonly #context: ToolCallContext;
  readonly #calls: ToolCall[] = [];
  readonly #byId = new Map<string, ToolCall>();
  readonly #byIndex = new Map<number, ToolCall>();
  #latest: ToolCall | undefined;

  constructor(context: ToolCallContext) {
    this.#context = context;
  }

  get count(): number {
    return this.#calls.length;
  }

  /** The entries of one chunk, which are different calls, also where they have no index. */
  add(entries: JsonArray): void {
    let place = 0;
    for (const entry of entries) {
      if (isObject(entry)) this.#add(entry, entries.length > 1 ? place : undefined);
      place++;
    }
  }

  /** More arguments for the call at an index, where nothing but the index tells which one it is. */
  append(index: number, text: string): void {
    const call = this.#byIndex.get(index);
    if (call === undefined) return;
    this.#latest = call;
    if (text !== '') call.addArguments(text);
  }

  #add(entry: JsonObject, place: number | undefined): void {
    const called = objectIn(entry, 'function');
    const fragment: Fragment = {
      index: countIn(entry, 'index') ?? place,
      id: usableId(textIn(entry, 'id')),
      name: textIn(called, 'name'),
      text: argumentText(called?.['arguments']),
    };
    this.#latest = this.#resolve(fragment);
    this.#extend(this.#latest, fragment, extraOf(entry));
  }

  /** Something else begins, and comes after them. */
  takePlaces(): void {
    for (const call of this.#calls) call.takePlace();
  }

  commit(): void {
    for (const call of this.#calls) call.commit();
  }

  #extend(call: ToolCall, { id, name, text }: Fragment, extra: JsonObject | undefined): void {
    if (name !== undefined) call.addName(name);
    if (id !== undefined && call.id === undefined) {
      call.giveId(id);
      this.#byId.set(id, call);
    }
    if (text !== '') call.addArguments(text);
    if (extra !== undefined) call.addExtra(extra);
  }

  #resolve(fragment: Fragment): ToolCall {
    const { id, index, name } = fragment;
    const known = id === undefined ? undefined : this.#byId.get(id);
    if (known !== undefined) return isAnother(known, name) ? this.#start(fragment) : known;
    const open = index === undefined ? undefined : this.#byIndex.get(index);
    if (open !== undefined) {
      const isNew = id !== undefined && open.id !== undefined && name !== undefined;
      return isNew ? this.#start(fragment) : open;
    }
    const latest = this.#latest;
    if (name !== undefined && !this.#isGoingOn(fragment)) return this.#start(fragment);
    // An id of its own is a call of its own, whose name is still to come.
    if (latest === undefined || (id !== undefined && latest.id !== undefined)) {
      if (id === undefined && index === undefined)
        throw fault('protocol_error', 'a fragment of a tool call belongs to no call');
      return this.#start(fragment);
    }
    return latest;
  }

  /** Without id and index, a call's own name says nothing new until its arguments are complete. */
  #isGoingOn({ id, index, name }: Fragment): boolean {
    const latest = this.#latest;
    return (
      latest !== undefined &&
      id === undefined &&
      index === undefined &&
      latest.name === name &&
      !latest.isComplete
    );
  }

  #start({ id, index }: Fragment): ToolCall {
    const isTaken = id !== undefined && this.#byId.has(id);
    const call = new ToolCall(this.#context, isTaken ? undefined : id);
    this.#calls.push(call);
    if (id !== undefined) this.#byId.set(id, call);
    if (index !== undefined) this.#byIndex.set(index, call);
    return call;
  }
}

/** Some servers use an id again for the next call of a parallel set. */
function isAnother(call: ToolCall, name: string | undefined): boolean {
  return name !== undefined && call.hasArguments && name !== call.name;
}

/** Some servers send the value instead of its text. */
function argumentText(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

const maxIdLength = 512;

/** An id that could not be stored is as good as none. */
function usableId(id: string | undefined): string | undefined {
  return id !== undefined && id.length <= maxIdLength && /^[\x20-\x7e]+$/.test(id) ? id : undefined;
}

const ownFields: ReadonlySet<string> = new Set(['index', 'id', 'type', 'function']);

function extraOf(entry: JsonObject): JsonObject | undefined {
  for (const key in entry) {
    if (!ownFields.has(key)) {
      return Object.fromEntries(Object.entries(entry).filter(([name]) => !ownFields.has(name)));
    }
  }
  return undefined;
}
