import type { BeginPart, CommitWhole, Delta, Part, PartId } from '@millrace/core';
import type { StreamEvent } from '@openai/agents';
import type { FoldedAnswer } from './answer.ts';

/**
 * Converts deltas to the SDK's stream events. Text has its own event. Reasoning and arguments are
 * raw events in the format of OpenAI's Responses API, which readers of raw events expect.
 */
export class StreamEvents {
  readonly #answer: Pick<FoldedAnswer, 'partOf'>;
  readonly #open = new Map<PartId, BeginPart>();
  #count = 0;

  constructor(answer: Pick<FoldedAnswer, 'partOf'>) {
    this.#answer = answer;
  }

  /** Converts a delta that was already added to the answer. */
  convert(delta: Delta): readonly StreamEvent[] {
    switch (delta.type) {
      case 'begin_part':
        this.#open.set(delta.partId, delta);
        return startEvents(delta, this.#count++);
      case 'append_text':
        return this.#appended(delta.partId, delta.chunk);
      case 'commit_part':
        return delta.part === undefined
          ? this.#committed(delta.partId)
          : this.#committedWhole(delta);
      case 'retract_part':
        this.#open.delete(delta.partId);
        return [];
      default:
        return [];
    }
  }

  #appended(id: PartId, chunk: string): readonly StreamEvent[] {
    const begin = this.#open.get(id);
    return begin === undefined ? [] : deltaEvents(id, begin, chunk);
  }

  #committed(id: PartId): readonly StreamEvent[] {
    this.#open.delete(id);
    const part = this.#answer.partOf(id);
    return part === undefined ? [] : endEvents(id, part);
  }

  /**
   * Returns the events for a part that was committed as a whole. It does not repeat streamed content, because
   * the final response contains the final version.
   */
  #committedWhole({ partId, part }: CommitWhole): readonly StreamEvent[] {
    if (this.#open.has(partId)) return this.#committed(partId);
    const text = textOf(part);
    if (text === undefined) return [];
    return [
      ...startEvents({ partId, ...part }, this.#count++),
      ...(text === '' ? [] : deltaEvents(partId, part, text)),
      ...endEvents(partId, part),
    ];
  }
}

type PartStart = Pick<Part, 'kind'> & { readonly form?: string; readonly mimeType?: string };

function startEvents(
  begin: PartStart & {
    readonly partId: PartId;
    readonly toolCallId?: string;
    readonly name?: string;
  },
  output_index: number,
): readonly StreamEvent[] {
  const { kind, partId: id, toolCallId: call_id, name } = begin;
  const added = (item: object) =>
    rawEvent({ type: 'response.output_item.added', output_index, item });
  if (kind === 'reasoning') return added({ type: 'reasoning', id, summary: [] });
  if (kind !== 'tool_call') return [];
  return added({ type: 'function_call', id, call_id, name, arguments: '' });
}

function deltaEvents(item_id: PartId, begin: PartStart, delta: string): readonly StreamEvent[] {
  const { kind, form, mimeType = kind === 'structured' ? 'application/json' : undefined } = begin;
  switch (kind) {
    case 'text':
    case 'structured': {
      const type = 'output_text_delta';
      return [{ type, itemId: item_id, delta, ...(mimeType && { providerData: { mimeType } }) }];
    }
    case 'reasoning':
      return form === 'summary'
        ? rawEvent({
            type: 'response.reasoning_summary_text.delta',
            item_id,
            summary_index: 0,
            delta,
          })
        : rawEvent({ type: 'response.reasoning_text.delta', item_id, content_index: 0, delta });
    case 'tool_call':
      return rawEvent({ type: 'response.function_call_arguments.delta', item_id, delta });
    default:
      return [];
  }
}

function endEvents(id: PartId, part: Part): readonly StreamEvent[] {
  const done = (item: object) => rawEvent({ type: 'response.output_item.done', item });
  if (part.kind === 'reasoning') return done({ type: 'reasoning', id });
  if (part.kind !== 'tool_call') return [];
  const { toolCallId: call_id, name, arguments: text } = part;
  return done({ type: 'function_call', id, call_id, name, arguments: text });
}

function rawEvent(event: object): readonly StreamEvent[] {
  return [{ type: 'model', event }];
}

function textOf(part: Part): string | undefined {
  switch (part.kind) {
    case 'text':
    case 'reasoning':
      return part.text;
    case 'structured':
      return JSON.stringify(part.value);
    case 'tool_call':
      return part.arguments;
    default:
      return undefined;
  }
}
