import { isJsonObject, type JsonArray, type JsonObject, type JsonValue } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import { countIn, objectIn, textIn } from '../json/fields.ts';
import { ChatToolCall, type ToolCallContext } from './tool-call.ts';

/** One entry of `delta.tool_calls`. Empty values are treated as missing. */
interface CallFragment {
  readonly index: number | undefined;
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly text: string;
  /** True for a custom tool, whose input is plain text. */
  readonly isPlain: boolean;
}

/**
 * The calls of one response. It assigns fragments to calls by id, index and name. Servers may omit, repeat or
 * change each of these fields.
 */
export class ChatToolCalls {
  readonly #context: ToolCallContext;
  readonly #calls: ChatToolCall[] = [];
  readonly #byId = new Map<string, ChatToolCall>();
  readonly #byIndex = new Map<number, ChatToolCall>();
  /**
   * The calls of the last chunk that had several entries. Used for servers that send neither an id nor an
   * index.
   */
  #byPosition: readonly ChatToolCall[] = [];
  /**
   * The calls of the current chunk. Each entry of a chunk belongs to a different call, except if an entry
   * only adds arguments.
   */
  #inChunk: ChatToolCall[] = [];
  #latest: ChatToolCall | undefined;

  constructor(context: ToolCallContext) {
    this.#context = context;
  }

  get count(): number {
    return this.#calls.length;
  }

  /** Adds the entries of one chunk. */
  add(entries: JsonArray): void {
    this.#inChunk = [];
    for (const entry of entries) if (isJsonObject(entry)) this.#add(entry, entries.length > 1);
    if (entries.length > 1) this.#byPosition = this.#inChunk;
  }

  /** Appends arguments to the call with this index. Used if only the index identifies the call. */
  append(index: number, text: string): void {
    const call = this.#byIndex.get(index);
    if (call === undefined) return;
    this.#latest = call;
    if (text !== '') call.addArguments(text);
  }

  #add(entry: JsonObject, isOneOfSeveral: boolean): void {
    const custom = objectIn(entry, 'custom');
    const called = custom ?? objectIn(entry, 'function');
    const fragment: CallFragment = {
      index: countIn(entry, 'index'),
      id: validId(textIn(entry, 'id')),
      name: textIn(called, 'name'),
      text: argumentText(called?.[custom === undefined ? 'arguments' : 'input']),
      isPlain: custom !== undefined,
    };
    const position = isOneOfSeveral ? this.#inChunk.length : undefined;
    const found = this.#resolve(fragment, position);
    const isMore = isOnlyArguments(fragment, found);
    this.#latest = this.#inChunk.includes(found) && !isMore ? this.#start(fragment) : found;
    this.#inChunk.push(this.#latest);
    this.#extend(this.#latest, fragment, extraFields(entry));
  }

  /**
   * Begins the parts of calls whose id and name are known. Must be called before different content begins, so
   * that the parts have the right order.
   */
  beginKnownCalls(): void {
    for (const call of this.#calls) call.beginIfKnown();
  }

  /** Commits all calls. If the response was cut short, an incomplete call becomes a partial part. */
  commit(isCutShort: boolean): void {
    for (const call of this.#calls) call.commit(isCutShort);
  }

  #extend(
    call: ChatToolCall,
    { id, name, text, isPlain }: CallFragment,
    extra: JsonObject | undefined,
  ): void {
    if (name !== undefined) call.addName(name);
    if (id !== undefined && call.id === undefined) {
      call.setId(id);
      this.#byId.set(id, call);
    }
    if (isPlain) call.addPlainInput(text);
    else if (text !== '') call.addArguments(text);
    if (extra !== undefined) call.addExtra(extra);
  }

  #resolve(fragment: CallFragment, position: number | undefined): ChatToolCall {
    const { id, index, name } = fragment;
    const known = id === undefined ? undefined : this.#byId.get(id);
    if (known !== undefined)
      return this.#isAnother(known, fragment) ? this.#start(fragment) : known;
    const open = index === undefined ? undefined : this.#byIndex.get(index);
    if (open !== undefined) {
      const isNew = id !== undefined && open.id !== undefined && name !== undefined;
      return isNew ? this.#start(fragment) : open;
    }
    const before = position === undefined ? this.#latest : this.#byPosition[position];
    const isBare = id === undefined && index === undefined;
    const isContinued =
      before !== undefined && (name === undefined || (isBare && isOpen(before, name)));
    // A new id starts a new call. The name of the call can arrive later.
    const hasOwnId = id !== undefined && before?.id !== undefined;
    if (isContinued && !hasOwnId) return before;
    if (name === undefined && isBare)
      throw fault('protocol_error', 'a fragment does not belong to any tool call');
    return this.#start(fragment);
  }

  /**
   * Returns whether a fragment starts a new call, although its id is already known. Some servers use the same
   * id for two parallel calls, or for calls with different indexes.
   */
  #isAnother(known: ChatToolCall, { name, index }: CallFragment): boolean {
    if (name === undefined) return false;
    const isElsewhere = index !== undefined && this.#byIndex.get(index) !== known && known.hasIndex;
    return isElsewhere || (known.hasArguments && name !== known.name);
  }

  #start({ id, index }: CallFragment): ChatToolCall {
    this.beginKnownCalls();
    const isTaken = id !== undefined && this.#byId.has(id);
    const call = new ChatToolCall(this.#context, isTaken ? undefined : id, index !== undefined);
    this.#calls.push(call);
    if (id !== undefined) this.#byId.set(id, call);
    if (index !== undefined) this.#byIndex.set(index, call);
    return call;
  }
}

/**
 * Returns whether a fragment only adds arguments to a call. vLLM can send a name and the first arguments as
 * two entries of one chunk. Both entries then have the same index.
 */
function isOnlyArguments({ index, id, name }: CallFragment, call: ChatToolCall): boolean {
  return index !== undefined && name === undefined && (id === undefined || id === call.id);
}

/**
 * Returns whether a fragment with this name can continue the call. Without an id or index, a repeated name
 * continues the call until its arguments are complete.
 */
function isOpen(call: ChatToolCall, name: string): boolean {
  return call.name === name && !call.isComplete;
}

/** Returns the arguments as text. Some servers send a JSON value instead of text. */
function argumentText(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

const maxIdLength = 512;

/** Returns the id if it can be stored, and otherwise undefined. */
function validId(id: string | undefined): string | undefined {
  return id !== undefined && id.length <= maxIdLength && /^[\x20-\x7e]+$/.test(id) ? id : undefined;
}

const ownFields: ReadonlySet<string> = new Set(['index', 'id', 'type', 'function', 'custom']);

function extraFields(entry: JsonObject): JsonObject | undefined {
  for (const key in entry) {
    if (!ownFields.has(key)) {
      return Object.fromEntries(Object.entries(entry).filter(([name]) => !ownFields.has(name)));
    }
  }
  return undefined;
}
