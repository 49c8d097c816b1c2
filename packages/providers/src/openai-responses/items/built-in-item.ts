import type { JsonObject, PartId, ToolCallId } from '@millrace/core';
import { fault } from '../../errors/wire-fault.ts';
import { textIn } from '../../json/fields.ts';
import type { BuiltInCall } from '../built-ins/built-in-calls.ts';
import { type ItemContext, OutputItem, type ReasoningOrigin } from './output-item.ts';
import { isChanged, isIncomplete, takeCallId } from './tool-calls.ts';

/**
 * A call of a built-in tool. If the client runs the call, it becomes a tool call with the input for the tool
 * that answers it. Otherwise it is stored in the provider's format. Only the end of the item shows whether
 * the client or the provider runs it.
 */
export class BuiltInItem extends OutputItem {
  readonly type: string;
  readonly #builtIn: BuiltInCall;
  #partId: PartId | undefined;
  #callId: ToolCallId | undefined;
  #written = '';

  constructor(context: ItemContext, origin: ReasoningOrigin, type: string, builtIn: BuiltInCall) {
    super(context, origin);
    this.type = type;
    this.#builtIn = builtIn;
  }

  /** True if there is a call that the client can run. */
  get isCallable(): boolean {
    return this.#callId !== undefined;
  }

  override differsFrom(item: JsonObject): boolean {
    return isChanged(this.#builtIn.idField, this.fields, item);
  }

  override matches(item: JsonObject): boolean {
    return !this.differsFrom(item) && this.#textOf(item) === this.#written;
  }

  override retract(): void {
    if (this.#partId !== undefined) this.context.writer.retract(this.#partId, 'withdrawn');
    if (this.#callId !== undefined) this.context.callIds.delete(this.#callId);
    this.#partId = undefined;
    this.#callId = undefined;
  }

  protected override finish(item: JsonObject): void {
    this.#written = this.#textOf(item);
    if (this.context.isClientRun(this.#builtIn, item)) return this.#writeCall(item);
    const providerState = this.stateOf(item, { type: this.type, ...idOf(item) });
    this.#partId = this.context.writer.whole({
      kind: 'custom',
      name: this.type,
      value: item,
      providerState,
    });
  }

  /**
   * Handles the end of a response in which this item has no end. Only the item's end confirms that the call
   * is complete. If the response claims to be complete without it, the method throws.
   */
  protected override endWithoutDone(isResponseWhole: boolean): void {
    if (isResponseWhole) throw fault('truncated_stream', 'a tool call has no end');
  }

  #writeCall(item: JsonObject): void {
    const isCut = isIncomplete(item);
    const id = takeCallId(this.context, textIn(item, this.#builtIn.idField) ?? '');
    const { created_by: _by, status: _status, ...own } = item;
    this.#partId = this.context.writer.whole({
      kind: 'tool_call',
      toolCallId: id,
      name: this.context.nameOf(this.#builtIn),
      arguments: this.#written,
      // A partial call is for display only and never runs.
      ...(isCut ? { partial: true } : { providerState: this.state(own) }),
    });
    if (!isCut) this.#callId = id;
  }

  #textOf(item: JsonObject): string {
    return JSON.stringify(this.#builtIn.inputOf(item));
  }
}

function idOf(item: JsonObject): JsonObject {
  const id = textIn(item, 'id');
  return id === undefined ? {} : { id };
}
