import {
  attemptOf,
  type FoldState,
  type ItemState,
  type LogRecord,
  type Part,
  type PartId,
  type ToolCallPart,
  type ToolResultPart,
  toArray,
} from '@millrace/core';
import { partOf } from './part-content.ts';

/**
 * The finished parts of a session, by their ids and by the ids of their calls. It grows with the records, so
 * that no reader searches all parts for each call.
 */
export class PartIndex {
  readonly #parts = new Map<PartId, Part>();
  /** The newest part of each call. */
  readonly #calls = new Map<string, PartId>();
  /** The first part of each result. */
  readonly #results = new Map<string, PartId>();
  #isFilled = false;

  /** Adds the parts that a record adds, and removes those that it removes. */
  update({ delta, fact, turn, attempt }: LogRecord, after: FoldState): void {
    if (!this.#isFilled || fact?.type === 'item_redacted') this.#fill(toArray(after.items));
    else if (fact?.type === 'snapshot')
      for (const item of toArray(after.items)) if (item.turn === turn) this.#addItem(item);
    if (fact?.type === 'attempt_superseded')
      for (const id of this.#parts.keys()) {
        const at = attemptOf(id);
        if (at.turn === turn && at.attempt === attempt) this.#parts.delete(id);
      }
    if (delta?.type === 'retract_part') this.#parts.delete(delta.partId);
    if (delta?.type !== 'commit_part') return;
    const { partId } = delta;
    const part = partOf(after, partId);
    if (part !== undefined) this.#add(partId, part);
  }

  part(id: PartId): Part | undefined {
    return this.#parts.get(id);
  }

  call(callId: string): { readonly partId: PartId; readonly part: ToolCallPart } | undefined {
    const partId = this.#calls.get(callId);
    const part = partId && this.#parts.get(partId);
    return partId !== undefined && part?.kind === 'tool_call' ? { partId, part } : undefined;
  }

  result(callId: string): ToolResultPart | undefined {
    const partId = this.#results.get(callId);
    const part = partId && this.#parts.get(partId);
    return part?.kind === 'tool_result' ? part : undefined;
  }

  #fill(items: readonly ItemState[]): void {
    this.#isFilled = true;
    this.#parts.clear();
    for (const item of items) this.#addItem(item);
  }

  #addItem({ parts }: ItemState): void {
    for (const { id, part } of parts) if (part !== undefined) this.#add(id, part);
  }

  #add(id: PartId, part: Part): void {
    this.#parts.set(id, part);
    if (part.kind === 'tool_call') this.#calls.set(part.toolCallId, id);
    if (part.kind === 'tool_result' && this.result(part.toolCallId) === undefined)
      this.#results.set(part.toolCallId, id);
  }
}
