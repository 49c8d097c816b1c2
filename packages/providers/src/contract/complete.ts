import {
  type Delta,
  type Fact,
  Folder,
  type Ids,
  type Item,
  type LogRecord,
  randomIds,
  recordVersion,
  transcript,
} from '@millrace/core';
import type { ModelRequest } from './model-request.ts';
import type { ResponseEnd, Stream, StreamStep } from './provider.ts';

export interface CompleteOptions {
  readonly signal?: AbortSignal;
  readonly ids?: Ids;
  /** Hears of each step when it is folded. */
  readonly onStep?: (step: StreamStep) => void;
}

/** A whole response. An error or an abort is in it, with what had come by then. */
export interface Completion extends ResponseEnd {
  readonly item: Item;
  /** The text parts of the item, joined. */
  readonly text: string;
}

/** Streams one attempt and folds it, as a log would. */
export async function complete(
  stream: Stream,
  request: ModelRequest,
  options: CompleteOptions = {},
): Promise<Completion> {
  const { signal, ids = randomIds((bytes) => crypto.getRandomValues(bytes)), onStep } = options;
  const item = { id: ids.item(), turn: 1, attempt: 1 };
  const folded = new FoldedStream(ids);
  folded.add([{ fact: { type: 'item_started', itemId: item.id, kind: 'assistant' } }]);
  let end: ResponseEnd | undefined;
  for await (const step of stream(request, { item, ids, signal })) {
    folded.add(step.deltas.map((delta) => ({ delta })));
    end = step.end ?? end;
    onStep?.(step);
  }
  if (end === undefined) throw new TypeError('Cannot complete a stream that has no end step');
  const { stop, usage } = end;
  folded.add([{ fact: { type: 'response_finished', itemId: item.id, stop, usage } }]);
  const answer = folded.only();
  const text = answer.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
  return { ...end, item: answer, text };
}

type Body = { readonly delta: Delta } | { readonly fact: Fact };

class FoldedStream {
  readonly #folder: Folder;
  #offset = 0;

  constructor(ids: Ids) {
    this.#folder = new Folder(ids.session());
  }

  add(bodies: readonly Body[]): void {
    const after = this.#offset;
    const head = { v: recordVersion, time: 0, turn: 1, attempt: 1, producer: 'provider' } as const;
    const records: LogRecord[] = bodies.map((body) => ({
      ...head,
      offset: ++this.#offset,
      ...body,
    }));
    this.#folder.addBatch({ after, through: this.#offset, records });
  }

  only(): Item {
    const [item] = transcript(this.#folder.state);
    if (item === undefined) throw new TypeError('Cannot find the item of a stream that was folded');
    return item;
  }
}
