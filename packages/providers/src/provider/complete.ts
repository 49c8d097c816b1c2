import {
  type Delta,
  type Fact,
  Folder,
  type Ids,
  type Item,
  type LogRecord,
  noUsage,
  type OpenPart,
  type Part,
  type Refusal,
  randomIds,
  recordVersion,
  transcript,
} from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type {
  CompleteOptions,
  Completion,
  Provider,
  ResponseEnd,
  StreamItem,
} from '../contract/provider.ts';
import { ProviderError } from '../contract/provider-error.ts';
import { closeCutPart } from './close-parts.ts';

/**
 * Streams one attempt and builds the item from its deltas, in the same way as a log. If the provider sends an
 * invalid delta, the completion ends with a `protocol_error`.
 */
export async function complete(
  provider: Pick<Provider, 'id' | 'stream'>,
  request: ModelRequest,
  options: CompleteOptions = {},
): Promise<Completion> {
  const { signal, trace, session, onStep } = options;
  const { ids = randomIds((bytes) => crypto.getRandomValues(bytes)) } = options;
  const item = { id: ids.item(), turn: 1, attempt: 1 };
  const answer = new FoldedItem(ids, item);
  let end: ResponseEnd | undefined;
  let problem: string | undefined;
  for await (const step of provider.stream(request, { item, ids, signal, trace, session })) {
    problem = problemInStep(answer.add(step.deltas), end);
    end ??= step.end;
    if (problem !== undefined) break;
    await onStep?.(step);
  }
  problem ??= problemAtEnd(end, answer);
  if (end !== undefined && problem === undefined) return toCompletion(answer.finish(end), end);
  answer.closeOpenParts();
  const failed = protocolErrorEnd(provider.id, problem ?? '', end);
  return toCompletion(answer.finish(failed), failed);
}

function problemInStep(
  refusal: Refusal | undefined,
  end: ResponseEnd | undefined,
): string | undefined {
  if (end !== undefined) return 'a step came after the end';
  return refusal === undefined ? undefined : `a delta does not follow those before it (${refusal})`;
}

function problemAtEnd(end: ResponseEnd | undefined, answer: FoldedItem): string | undefined {
  if (end === undefined) return 'there is no end step';
  return answer.hasOpenParts ? 'parts are still open at the end' : undefined;
}

function protocolErrorEnd(
  provider: string,
  problem: string,
  end: ResponseEnd | undefined,
): ResponseEnd {
  const way = 'Fix the provider or its wrapper; rewrite recorded steps with moveSteps';
  const message = `Cannot fold the stream of ${provider}: ${problem}. ${way}`;
  const error = new ProviderError('protocol_error', message, { provider, cause: end?.error });
  const usage = end?.usage ?? { ...noUsage, estimated: true };
  return { ...end, stop: { reason: 'error', cause: error.kind }, usage, error };
}

function toCompletion(item: Item, end: ResponseEnd): Completion {
  const text = item.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
  const structured = item.parts.find(isStructured);
  return { ...end, item, text, ...(structured && { value: structured.value }) };
}

function isStructured(part: Part): part is Part & { readonly kind: 'structured' } {
  return part.kind === 'structured';
}

/** Builds an item from deltas, in the same way as a log. */
class FoldedItem {
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

  /** Adds the deltas. If a delta is invalid, it adds only the deltas before it and returns the reason. */
  add(deltas: readonly Delta[]): Refusal | undefined {
    return this.#add(deltas.map((delta) => ({ delta })));
  }

  /** Closes all open parts, as after a response that was cut off. */
  closeOpenParts(): void {
    this.add(
      this.#folder.state.open.map((part) =>
        closeCutPart(part.id, part.begin.kind, lengthOf(part), 'cut'),
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

  #add(bodies: readonly RecordBody[]): Refusal | undefined {
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

type RecordBody = { readonly delta: Delta } | { readonly fact: Fact };

function lengthOf({ text, bytes }: OpenPart): number {
  return bytes?.length ?? text.length;
}
