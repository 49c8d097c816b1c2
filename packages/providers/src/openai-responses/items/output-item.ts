import type { JsonObject, ProviderState } from '@millrace/core';
import { withContainerSession } from '../../history/remote-state.ts';
import type { StateOwner } from '../../history/sendable-parts.ts';
import { textIn } from '../../json/fields.ts';
import type { ReaderContext } from '../../wire/wire.ts';
import type { BuiltInCall } from '../built-ins/built-in-calls.ts';

/** The data that all items of a response use. */
export interface ItemContext extends ReaderContext {
  readonly owner: StateOwner;
  /** The call ids that this response has already used. Each id must be unique. */
  readonly callIds: Set<string>;
  /** Returns whether the request has a tool with this name. */
  isDeclared(name: string): boolean;
  /** Returns whether the client runs a call of a built-in tool. */
  isClientRun(builtIn: BuiltInCall, item: JsonObject): boolean;
  /** Returns the name of the tool that answers calls of a built-in tool. */
  nameOf(builtIn: BuiltInCall): string;
  /** True if the provider runs all calls of custom tools that the request does not declare. */
  readonly runsCustomCalls: boolean;
}

/**
 * The reasoning that led to an item. The provider rejects the item without this reasoning, and the reasoning
 * without the item. Each item therefore stores a reference to its reasoning.
 */
export interface ReasoningOrigin {
  readonly reasoning: { readonly id: string | undefined } | undefined;
  /** True if the item directly follows the reasoning. */
  readonly isNext: boolean;
}

/**
 * One item of a response's output while it streams. The API sends the content of an item several times: in
 * pieces, at the end of each piece, at the end of the item, and in the final output. Each later version
 * replaces the earlier one.
 */
export abstract class OutputItem {
  abstract readonly type: string;
  protected readonly context: ItemContext;
  readonly #origin: ReasoningOrigin;
  #fields: JsonObject = {};
  #isOpened = false;
  #isClosed = false;

  constructor(context: ItemContext, origin: ReasoningOrigin) {
    this.context = context;
    this.#origin = origin;
  }

  /** The latest id of the item. Some servers change the id with each event. */
  get id(): string | undefined {
    return textIn(this.#fields, 'id');
  }

  /** The fields that are known so far. Empty values are treated as missing. */
  get fields(): JsonObject {
    return this.#fields;
  }

  /** True after the start event of the item has arrived. */
  get isOpened(): boolean {
    return this.#isOpened;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** True if the item has no visible content. */
  get isEmpty(): boolean {
    return false;
  }

  /** Returns whether both items have the same id or the same call id. */
  sharesIdWith(item: JsonObject): boolean {
    return isSameText('id', this.#fields, item) || isSameText('call_id', this.#fields, item);
  }

  /** Returns true only if the given item is certainly a different item than this one. */
  differsFrom(_item: JsonObject): boolean {
    return false;
  }

  /** Handles the start of the item. */
  open(item: JsonObject): void {
    this.#isOpened = true;
    const fields = Object.entries(item).filter(([, value]) => value !== null && value !== '');
    this.#fields = { ...this.#fields, ...Object.fromEntries(fields) };
  }

  /** Handles the end of the item. It writes the missing content and commits the parts. */
  close(item: JsonObject): void {
    this.#isClosed = true;
    this.open(item);
    this.finish(item);
  }

  /** Handles the end of the response. */
  end(isResponseWhole: boolean): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.endWithoutDone(isResponseWhole);
  }

  /** Returns whether this closed item has the same content as `item`. */
  abstract matches(item: JsonObject): boolean;

  /** Retracts all parts of the item. */
  abstract retract(): void;

  protected abstract finish(item: JsonObject): void;

  /** Handles the end of the response for an item that has no end event. */
  protected abstract endWithoutDone(isResponseWhole: boolean): void;

  /** Returns the state of a part that contains the whole item. */
  protected stateOf(item: JsonObject, fields: JsonObject): ProviderState {
    return this.state(withContainerSession(fields, item, this.context.session));
  }

  /**
   * Returns the state of a part, which is sent back with the part. It contains the fields of the item and a
   * reference to its reasoning.
   */
  protected state(fields: JsonObject): ProviderState {
    const { provider, model } = this.context.owner;
    const { reasoning, isNext } = this.#origin;
    if (reasoning === undefined) return { provider, model, data: fields };
    const id = reasoning.id === undefined ? {} : { reasoning: reasoning.id };
    return { provider, model, data: { ...fields, origin: { ...id, isNext } } };
  }
}

function isSameText(key: string, fields: JsonObject, item: JsonObject): boolean {
  const own = textIn(fields, key);
  return own !== undefined && own === textIn(item, key);
}
