import {
  type Delta,
  type Fact,
  Folder,
  type Ids,
  type Item,
  type LogRecord,
  type OpenPart,
  type Refusal,
  recordVersion,
  transcript,
} from '@millrace/core';
import { cutPart } from './cut-part.ts';
import type { ResponseEnd, StreamItem } from './provider.ts';

/** The item that deltas build, folded as a log would. */
export class FoldedAnswer {
  readonly #folder: Folder;
  readonly #item: StreamItem;
  #offset = 0;

  constructor(ids: Ids, item: StreamItem) {
    this.#folder = new Folder(ids.session());
    this.#item = item;
    this.#add([{ fact: { type: 'item_started', itemId: item.id, kind: 'assistant' } }]);
  }

  get hasOpenParts(): boolean {
    return this.#folder.state.open.length > 0;
  }

  /** Adds the deltas. Where one does not fit it adds those before it, and tells why. */
  add(deltas: readonly Delta[]): Refusal | undefined {
    return this.#add(deltas.map((delta) => ({ delta })));
  }

  /** Closes what is open as that of a response that was cut off. */
  cut(): void {
    this.add(
      this.#folder.state.open.map((part) =>
        cutPart(part.id, part.begin.kind, lengthOf(part), 'cut'),
      ),
    );
  }

  finish({ stop, usage }: ResponseEnd): Item {
    const { id: itemId } = this.#item;
    this.#add([{ fact: { type: 'response_finished', itemId, stop, usage } }]);
    const [item] = transcript(this.#folder.state);
    if (item === undefined) throw new TypeError('Cannot find the item of a stream that was folded');
    return item;
  }

  #add(bodies: readonly Body[]): Refusal | undefined {
    const { turn, attempt } = this.#item;
    const head = { v: recordVersion, time: 0, turn, attempt, producer: 'provider' } as const;
    const after = this.#offset;
    const records: LogRecord[] = bodies.map((body, index) => ({
      ...head,
      offset: after + index + 1,
      ...body,
    }));
    const through = after + records.length;
    const folded = this.#folder.addBatch({ after, through, records });
    if (folded.outcome !== 'gap') {
      this.#offset = through;
      return undefined;
    }
    this.#add(bodies.slice(0, folded.gap.offset - after - 1));
    return folded.gap.code;
  }
}

type Body = { readonly delta: Delta } | { readonly fact: Fact };

function lengthOf({ text, bytes }: OpenPart): number {
  return bytes?.length ?? text.length;
}
