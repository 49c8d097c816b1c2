import type { JsonObject, ValueWriter } from '@millrace/core';
import { type ItemContext, type Origin, OutputItem } from './output-item.ts';

/**
 * What the provider does by itself, and whatever else only it understands: searches, code, MCP,
 * compaction. Kept as it came, to be shown and sent back.
 */
export class HostedItem extends OutputItem {
  readonly type: string;
  #part: ValueWriter | undefined;

  constructor(context: ItemContext, origin: Origin, type: string) {
    super(context, origin);
    this.type = type;
  }

  override open(item: JsonObject): void {
    super.open(item);
    if (!this.isClosed) this.#set(item);
  }

  /** How far it is, in the provider's words. */
  progress(status: string): void {
    if (!this.isClosed) this.#set({ ...this.fields, status });
  }

  /** What is encrypted in it differs from event to event; any of it will do. */
  override agrees(_item: JsonObject): boolean {
    return true;
  }

  override retract(): void {
    this.#part?.retract('withdrawn');
  }

  protected override finish(item: JsonObject): void {
    this.#set(item).commit({ providerState: this.state(this.ownFields) });
  }

  protected override giveUp(isResponseWhole: boolean): void {
    if (isResponseWhole) this.finish(this.fields);
    else this.#part?.retract('cut');
  }

  protected get ownFields(): JsonObject {
    return { type: this.type, ...(this.id === undefined ? {} : { id: this.id }) };
  }

  #set(item: JsonObject): ValueWriter {
    this.#part ??= this.context.writer.custom(this.type);
    this.#part.set(item);
    return this.#part;
  }
}
