import type { ContentInput, UpdateInput } from '@millrace/server';
import type {
  AgentOutputItem,
  protocol,
  RunItem,
  RunStreamEvent,
  StreamEvent,
} from '@openai/agents';
import { saidBefore } from '../model/model-failure.ts';
import { keptPart } from '../response/preserved-part.ts';
import type { NamedPart } from '../response/to-response.ts';
import { callContent, messageContent, outputContent } from './message-content.ts';
import {
  dataPiece,
  type Piece,
  StreamedTexts,
  summaryPiece,
  textPiece,
  thoughtPiece,
} from './streamed-texts.ts';

/** A `StreamedRunResult`, or any stream of such events. */
export interface RunEvents extends AsyncIterable<RunStreamEvent> {
  readonly newItems?: readonly RunItem[];
  readonly rawResponses?: readonly { readonly output: readonly AgentOutputItem[] }[];
}

/**
 * A streamed run as what a sync agent yields: text and reasoning as they come, calls, results and
 * hand-offs whole, each message under an index of its own. A run that fails throws here too, after
 * all that was said; what is open then the server keeps as partial. Whoever leaves stops the run.
 */
export async function* convertRunEvents(run: RunEvents): AsyncGenerator<UpdateInput> {
  const updates = new RunUpdates();
  const earlier = new Set(itemsSoFar(run));
  try {
    // Not `yield*`: in an async generator that costs four more promises for each piece.
    for await (const event of run) for (const update of updates.of(event)) yield update;
  } catch (error) {
    // When a run fails, the SDK drops the events that nobody has read yet.
    const items = itemsSoFar(run).filter((item) => !earlier.has(item));
    for (const rawItem of items) yield* updates.item({ rawItem });
    yield* updates.said(saidBefore(error));
    throw error;
  }
  yield* updates.end();
}

/** All that came of it so far. Of an answer that the SDK could not use, its words. */
function itemsSoFar({
  newItems = [],
  rawResponses = [],
}: RunEvents): readonly RunItem['rawItem'][] {
  const said = rawResponses.at(-1)?.output ?? [];
  const isWord = ({ type }: AgentOutputItem) => type === 'message' || type === 'reasoning';
  return [...newItems.map(({ rawItem }) => rawItem), ...said.filter(isWord)];
}

/** The events of one run as updates of a task's messages. */
export class RunUpdates {
  #count = 0;
  readonly #texts = new StreamedTexts(() => this.#count++);
  readonly #thoughts = new StreamedTexts(() => this.#count++);
  readonly #told = new Set<RunItem['rawItem']>();

  of(event: RunStreamEvent): readonly UpdateInput[] {
    switch (event.type) {
      case 'raw_model_stream_event':
        return this.#streamed(event.data);
      case 'run_item_stream_event':
        return this.item(event.item);
      case 'agent_updated_stream_event':
        return [];
    }
  }

  /** Once each. What needs no message, such as a request for approval, has none. */
  item(item: Pick<RunItem, 'rawItem'>): readonly UpdateInput[] {
    const { rawItem } = item;
    if (rawItem === undefined || this.#told.has(rawItem)) return [];
    this.#told.add(rawItem);
    if ('role' in rawItem) return rawItem.role === 'assistant' ? this.#message(rawItem) : [];
    switch (rawItem.type) {
      case 'reasoning':
        return this.#reasoning(rawItem);
      case 'function_call':
      case 'hosted_tool_call':
      case 'computer_call':
      case 'shell_call':
      case 'apply_patch_call':
        return this.#full(callContent(rawItem));
      case 'function_call_result':
      case 'computer_call_result':
      case 'shell_call_output':
      case 'apply_patch_call_output':
        return this.#full(outputContent(rawItem));
      default:
        return [];
    }
  }

  /** What a model had said when it failed. */
  said(parts: readonly NamedPart[]): readonly UpdateInput[] {
    return parts.flatMap(({ id, part }) => {
      if (part.kind === 'text') return rest(this.#texts, id, part.text, textPiece);
      if (part.kind !== 'reasoning') return [];
      const piece = part.form === 'summary' ? summaryPiece : thoughtPiece;
      return rest(this.#thoughts, id, part.text, piece);
    });
  }

  end(): readonly UpdateInput[] {
    return [...this.#thoughts.closeAll(), ...this.#texts.closeAll()];
  }

  #streamed(data: StreamEvent): readonly UpdateInput[] {
    if (data.type === 'output_text_delta') {
      const isJson = data.providerData?.['mimeType'] === 'application/json';
      const piece = isJson ? dataPiece(data.delta) : textPiece(data.delta);
      return this.#texts.grow(data.itemId ?? '', piece);
    }
    const raw = data.type === 'model' ? rawReasoning(data.event) : undefined;
    if (raw === undefined) return [];
    const { itemId, piece } = raw;
    return piece ? this.#thoughts.grow(itemId, piece) : this.#thoughts.close(itemId);
  }

  /** It is as it streamed, or this instead: the message has the last word. */
  #message(item: protocol.AssistantMessageItem): readonly UpdateInput[] {
    const id = item.id !== undefined && this.#texts.has(item.id) ? item.id : '';
    const content = messageContent(item);
    if (content.type !== 'text' || content.content !== this.#texts.textOf(id))
      return [{ type: 'full', index: this.#texts.take(id), content }];
    return this.#texts.finish(id);
  }

  #reasoning(item: protocol.ReasoningItem): readonly UpdateInput[] {
    const { id = '', content, rawContent = [] } = item;
    const kept = keptPart(item);
    if (kept?.kind === 'custom') {
      const data = { name: kept['name'] ?? '', value: kept['value'] ?? null };
      return this.#full({ type: 'data', author: 'agent', data });
    }
    const summary = content.map(({ text }) => text);
    const thoughts = rawContent.map(({ text }) => text);
    const told = this.#thoughts.textOf(id);
    if (told === [...summary, ...thoughts].join('')) return this.#thoughts.finish(id);
    const shown = { type: 'reasoning', author: 'agent', summary, content: thoughts } as const;
    return [{ type: 'full', index: this.#thoughts.take(id), content: shown }];
  }

  #full(content: ContentInput): readonly UpdateInput[] {
    return [{ type: 'full', index: this.#count++, content }];
  }
}

function rest(
  texts: StreamedTexts,
  id: string,
  text: string,
  piece: (text: string) => Piece,
): readonly UpdateInput[] {
  const told = texts.textOf(id);
  return text.startsWith(told) ? texts.grow(id, piece(text.slice(told.length))) : [];
}

/** A piece of reasoning in a raw event of OpenAI's Responses API; the end of it has none. */
export interface RawReasoning {
  readonly itemId: string;
  readonly piece?: Piece;
}

export function rawReasoning(event: unknown): RawReasoning | undefined {
  const { type, item_id, delta, summary_index, content_index, item } = fieldsOf(event);
  const itemId = String(item_id ?? '');
  const text = String(delta ?? '');
  switch (type) {
    case 'response.reasoning_summary_text.delta':
      return { itemId, piece: summaryPiece(text, Number(summary_index ?? 0)) };
    case 'response.reasoning_text.delta':
      return { itemId, piece: thoughtPiece(text, Number(content_index ?? 0)) };
    case 'response.output_item.done': {
      const { type: kind, id } = fieldsOf(item);
      return kind === 'reasoning' ? { itemId: String(id ?? '') } : undefined;
    }
    default:
      return undefined;
  }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
