import type { JsonObject, ProviderState } from '@millrace/core';
import type { StateOwner } from '../../history/sendable-parts.ts';
import { textIn } from '../../json/fields.ts';
import type { ReaderContext } from '../../wire/wire.ts';

/** What items need to know of the response they are in. */
export interface ItemContext extends ReaderContext {
  readonly owner: StateOwner;
  /** So that no two calls of a response have the same. */
  readonly callIds: Set<string>;
  /** Is it a tool that the request has? */
  isDeclared(name: string): boolean;
}

/**
 * The reasoning that an item came out of. The provider refuses the one without the other, and so the
 * item remembers it.
 */
export interface ReasoningOrigin {
  readonly reasoning: { readonly id: string | undefined } | undefined;
  /** Does it follow at once? */
  readonly isNext: boolean;
}

/**
 * One item of a response's output while it streams. It is said several times: by pieces, by the end
 * of each piece, by its own end, and in the output of the whole response. The later counts.
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

  /** As it was said last: some servers give another one with each event. */
  get id(): string | undefined {
    return textIn(this.#fields, 'id');
  }

  /** What is known of it; what a server says empty counts as not said. */
  get fields(): JsonObject {
    return this.#fields;
  }

  /** Has it been said what it is? */
  get isOpened(): boolean {
    return this.#isOpened;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Is there nothing to be seen of it? */
  get isEmpty(): boolean {
    return false;
  }

  /** Has it the id, or that of its call? */
  sharesIdWith(item: JsonObject): boolean {
    return isSameText('id', this.#fields, item) || isSameText('call_id', this.#fields, item);
  }

  /** Is it another one for certain? */
  differsFrom(_item: JsonObject): boolean {
    return false;
  }

  /** What its start says. */
  open(item: JsonObject): void {
    this.#isOpened = true;
    const fields = Object.entries(item).filter(([, value]) => value !== null && value !== '');
    this.#fields = { ...this.#fields, ...Object.fromEntries(fields) };
  }

  /** Its end: writes what is missing and commits. */
  close(item: JsonObject): void {
    this.#isClosed = true;
    this.open(item);
    this.finish(item);
  }

  /** The response ended. */
  end(isResponseWhole: boolean): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.endWithoutDone(isResponseWhole);
  }

  /** Of a closed one: does this say the same? */
  abstract matches(item: JsonObject): boolean;

  /** Takes back all that was written of it. */
  abstract retract(): void;

  protected abstract finish(item: JsonObject): void;

  /** The response ended, and its own end never came. */
  protected abstract endWithoutDone(isResponseWhole: boolean): void;

  /** What goes back with a part of it: fields of its own, and where it came from. */
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
