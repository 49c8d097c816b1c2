import type { BeginPart, CommitWhole, Delta, Part, PartId } from '@millrace/core';
import type { StreamEvent } from '@openai/agents';
import type { Answer } from './answer.ts';

/**
 * Deltas as the SDK's stream events: text has one of its own; reasoning and arguments are raw events
 * in the words of OpenAI's Responses API, which whoever reads raw events knows.
 */
export class StreamEvents {
  readonly #answer: Pick<Answer, 'partOf'>;
  readonly #open = new Map<PartId, BeginPart>();
  #count = 0;

  constructor(answer: Pick<Answer, 'partOf'>) {
    this.#answer = answer;
  }

  /** Of a delta that the answer has already. */
  of(delta: Delta): readonly StreamEvent[] {
    switch (delta.type) {
      case 'begin_part':
        this.#open.set(delta.partId, delta);
        return started(delta, this.#count++);
      case 'append_text':
        return this.#grown(delta.partId, delta.chunk);
      case 'commit_part':
        return delta.part === undefined ? this.#ended(delta.partId) : this.#whole(delta);
      case 'retract_part':
        this.#open.delete(delta.partId);
        return [];
      default:
        return [];
    }
  }

  #grown(id: PartId, chunk: string): readonly StreamEvent[] {
    const begin = this.#open.get(id);
    return begin === undefined ? [] : grown(id, begin, chunk);
  }

  #ended(id: PartId): readonly StreamEvent[] {
    this.#open.delete(id);
    const part = this.#answer.partOf(id);
    return part === undefined ? [] : ended(id, part);
  }

  /** What streamed is not told again: the response has the last word. */
  #whole({ partId, part }: CommitWhole): readonly StreamEvent[] {
    if (this.#open.has(partId)) return this.#ended(partId);
    const text = textOf(part);
    if (text === undefined) return [];
    return [
      ...started({ partId, ...part }, this.#count++),
      ...(text === '' ? [] : grown(partId, part, text)),
      ...ended(partId, part),
    ];
  }
}

type Kind = Pick<Part, 'kind'> & { readonly form?: string; readonly mimeType?: string };

function started(
  begin: Kind & { readonly partId: PartId; readonly toolCallId?: string; readonly name?: string },
  output_index: number,
): readonly StreamEvent[] {
  const { kind, partId: id, toolCallId: call_id, name } = begin;
  const added = (item: object) => raw({ type: 'response.output_item.added', output_index, item });
  if (kind === 'reasoning') return added({ type: 'reasoning', id, summary: [] });
  if (kind !== 'tool_call') return [];
  return added({ type: 'function_call', id, call_id, name, arguments: '' });
}

function grown(item_id: PartId, begin: Kind, delta: string): readonly StreamEvent[] {
  const { kind, form, mimeType = kind === 'structured' ? 'application/json' : undefined } = begin;
  switch (kind) {
    case 'text':
    case 'structured': {
      const type = 'output_text_delta';
      return [{ type, itemId: item_id, delta, ...(mimeType && { providerData: { mimeType } }) }];
    }
    case 'reasoning':
      return form === 'summary'
        ? raw({ type: 'response.reasoning_summary_text.delta', item_id, summary_index: 0, delta })
        : raw({ type: 'response.reasoning_text.delta', item_id, content_index: 0, delta });
    case 'tool_call':
      return raw({ type: 'response.function_call_arguments.delta', item_id, delta });
    default:
      return [];
  }
}

function ended(id: PartId, part: Part): readonly StreamEvent[] {
  const done = (item: object) => raw({ type: 'response.output_item.done', item });
  if (part.kind === 'reasoning') return done({ type: 'reasoning', id });
  if (part.kind !== 'tool_call') return [];
  const { toolCallId: call_id, name, arguments: text } = part;
  return done({ type: 'function_call', id, call_id, name, arguments: text });
}

function raw(event: object): readonly StreamEvent[] {
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
