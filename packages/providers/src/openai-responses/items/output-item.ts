import type { JsonObject, ProviderState } from '@millrace/core';
import type { StateOwner } from '../../history/sendable-parts.ts';
import { textIn } from '../../json/fields.ts';
import type { ReaderContext } from '../../wire/wire.ts';
import type { BuiltInCall } from '../built-ins/built-in-calls.ts';

/** The context that items share. */
export interface ItemContext extends ReaderContext {
  readonly owner: StateOwner;
  /** The call ids of this response, which must be unique. */
  readonly callIds: Set<string>;
  /** True if the request has a tool with this name. */
  isDeclared(name: string): boolean;
  /** Whether the client runs a call of a built-in tool. */
  isClientRun(builtIn: BuiltInCall, item: JsonObject): boolean;
  /** The name of the tool that answers a built-in tool. */
  nameOf(builtIn: BuiltInCall): string;
  /** True if the provider runs all calls of custom tools that the request does not declare. */
  readonly runsCustomCalls: boolean;
}

/**
 * The reasoning that led to an item. The provider rejects one without the other, so the item stores
 * it.
 */
export interface ReasoningOrigin {
  readonly reasoning: { readonly id: string | undefined } | undefined;
  /** True if the item directly follows the reasoning. */
  readonly isNext: boolean;
}

/**
 * One item of a response's output while it streams. The API sends it several times: in pieces, at
 * the end of each piece, at its own end, and in the final output. The latest version counts.
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

  /** The latest id. Some servers change it with each event. */
  get id(): string | undefined {
    return textIn(this.#fields, 'id');
  }

  /** The known fields. Empty values count as missing. */
  get fields(): JsonObject {
    return this.#fields;
  }

  /** True after the start event of the item. */
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

  /** True if both have the same id, or the same call id. */
  sharesIdWith(item: JsonObject): boolean {
    return isSameText('id', this.#fields, item) || isSameText('call_id', this.#fields, item);
  }

  /** True if it is certainly a different item. */
  differsFrom(_item: JsonObject): boolean {
    return false;
  }

  /** Handles the start of the item. */
  open(item: JsonObject): void {
    this.#isOpened = true;
    const fields = Object.entries(item).filter(([, value]) => value !== null && value !== '');
    this.#fields = { ...this.#fields, ...Object.fromEntries(fields) };
  }

  /** Handles the end of the item: writes what is missing and commits. */
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

  /** True if a closed item has the same content. */
  abstract matches(item: JsonObject): boolean;

  /** Retracts everything that was written. */
  abstract retract(): void;

  protected abstract finish(item: JsonObject): void;

  /** The response ended without an end of this item. */
  protected abstract endWithoutDone(isResponseWhole: boolean): void;

  /** The state that is sent back with a part: the item's own fields and its reasoning. */
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
