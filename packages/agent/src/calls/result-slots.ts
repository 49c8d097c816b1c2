import {
  type Attempt,
  DeltaWriter,
  type DraftRecord,
  type FoldState,
  findItem,
  type Ids,
  type ItemId,
  type TextWriter,
  type ToolCallId,
  type ToolCallPart,
  type ToolResultPart,
} from '@millrace/core';

/** The log accepts 1,024 open parts. A response that still streams has open parts too. */
const maxReserved = 512;

type ResultSlot = Pick<TextWriter, 'replace'> &
  Partial<Pick<TextWriter, 'append'>> & { isOpen: boolean };

/** Creates the slot of a call beyond the limit. Its part is written together with its result. */
function lateSlot(writer: DeltaWriter): ResultSlot {
  return {
    isOpen: true,
    replace(part) {
      this.isOpen = false;
      writer.whole(part);
    },
  };
}

/**
 * The results of the tool calls of one attempt. They are parts of one tool item, in the order of the calls.
 * The methods return the records to write.
 */
export class ResultSlots {
  readonly #at: Attempt;
  readonly #ids: Ids;
  readonly #open = new Map<ToolCallId, ResultSlot>();
  #itemId: ItemId | undefined;
  #writer: DeltaWriter | undefined;

  /** If `itemId` is defined, continues the unfinished parts of that item. */
  constructor(at: Attempt, ids: Ids, itemId: ItemId | undefined, state: FoldState) {
    this.#at = at;
    this.#ids = ids;
    this.#itemId = itemId;
    if (itemId === undefined) return;
    this.#writer = new DeltaWriter({ itemId, ...at, ids });
    for (const { begin, text } of state.open)
      if (begin.kind === 'tool_result' && begin.itemId === itemId)
        this.#open.set(begin.toolCallId, this.#writer.goOn(begin, text.length));
  }

  /**
   * Reserves a result part for each call. The results then stay in the order of the calls, even if a later
   * call finishes first. Calls after the first `maxReserved` calls get no reserved part. The part of such a
   * call is written together with its result, so these parts are in the order in which the calls finish.
   */
  reserve(calls: readonly ToolCallPart[]): readonly DraftRecord[] {
    const { drafts, writer } = this.#start();
    for (const { toolCallId, name } of calls)
      if (!this.#open.has(toolCallId))
        this.#open.set(
          toolCallId,
          this.#open.size < maxReserved ? writer.toolResult(toolCallId, name) : lateSlot(writer),
        );
    return [...drafts, ...this.#takeDrafts()];
  }

  /** Returns true if the call was passed to `reserve` but has no result yet. */
  isOpen(id: ToolCallId): boolean {
    return this.#open.get(id)?.isOpen ?? false;
  }

  /** Returns the records that append progress text to the result part of a call. */
  append(id: ToolCallId, text: string): readonly DraftRecord[] {
    const place = this.#open.get(id);
    if (place?.isOpen) place.append?.(text);
    return this.#takeDrafts();
  }

  /** Returns the records that store the result. The result replaces the progress text. */
  fill(part: ToolResultPart): readonly DraftRecord[] {
    this.#open.get(part.toolCallId)?.replace(part);
    return this.#takeDrafts();
  }

  /** After this call, `append` and `fill` have no effect. */
  close(): void {
    this.#open.clear();
  }

  /** Returns the records that retract all results of the attempt. */
  retract(state: FoldState): readonly DraftRecord[] {
    const item = this.#itemId && findItem(state, this.#itemId);
    if (!item) return [];
    for (const { id } of item.parts) this.#writer?.retract(id, 'discarded');
    this.#open.clear();
    return this.#takeDrafts();
  }

  /** Returns the record that finishes the tool item. Returns no record if the item is already finished. */
  finish(state: FoldState): readonly DraftRecord[] {
    const item = this.#itemId && findItem(state, this.#itemId);
    if (!item || item.finished !== undefined) return [];
    return [{ ...this.#at, fact: { type: 'item_finished', itemId: item.id } }];
  }

  #start(): { readonly drafts: readonly DraftRecord[]; readonly writer: DeltaWriter } {
    const isNew = this.#itemId === undefined;
    this.#itemId ??= this.#ids.item();
    const itemId = this.#itemId;
    this.#writer ??= new DeltaWriter({ itemId, ...this.#at, ids: this.#ids });
    const started = { type: 'item_started', itemId, kind: 'tool' } as const;
    return { drafts: isNew ? [{ ...this.#at, fact: started }] : [], writer: this.#writer };
  }

  #takeDrafts(): readonly DraftRecord[] {
    return (this.#writer?.take() ?? []).map((delta) => ({ ...this.#at, delta }));
  }
}
