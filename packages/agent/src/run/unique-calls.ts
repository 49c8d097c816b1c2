import {
  type Delta,
  type FoldState,
  type Ids,
  type PartId,
  type ToolCallId,
  toArray,
} from '@millrace/core';

/** Some models use an id again. Calls, results and approvals are told apart by it, so it gets another one. */
export class UniqueCalls {
  readonly #ids: Pick<Ids, 'toolCall'>;
  readonly #used = new Set<ToolCallId>();
  /** What each call of this run is named. */
  readonly #names = new Map<PartId, ToolCallId>();

  constructor(ids: Pick<Ids, 'toolCall'>, state: FoldState) {
    this.#ids = ids;
    for (const { parts } of toArray(state.items))
      for (const { part } of parts) if (part?.kind === 'tool_call') this.#used.add(part.toolCallId);
  }

  named(delta: Delta): Delta {
    if (delta.type === 'begin_part' && delta.kind === 'tool_call') {
      const toolCallId = this.#name(delta.partId, delta.toolCallId);
      return toolCallId === delta.toolCallId ? delta : { ...delta, toolCallId };
    }
    if (delta.type !== 'commit_part' || delta.part === undefined) return delta;
    const { part } = delta;
    if (part.kind !== 'tool_call') return delta;
    const toolCallId = this.#name(delta.partId, part.toolCallId);
    return toolCallId === part.toolCallId ? delta : { ...delta, part: { ...part, toolCallId } };
  }

  #name(part: PartId, id: ToolCallId): ToolCallId {
    const name = this.#names.get(part) ?? (this.#used.has(id) ? this.#ids.toolCall() : id);
    this.#names.set(part, name);
    this.#used.add(name);
    return name;
  }
}
