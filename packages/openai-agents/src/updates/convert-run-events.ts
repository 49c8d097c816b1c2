import type { ContentInput, UpdateInput } from '@millrace/server';
import type {
  AgentOutputItem,
  protocol,
  RunItem,
  RunStreamEvent,
  StreamEvent,
} from '@openai/agents';
import { partsBefore } from '../model/model-failure.ts';
import { preservedPart } from '../response/preserved-part.ts';
import type { IdentifiedPart } from '../response/to-response.ts';
import { callContent, messageContent, outputContent } from './message-content.ts';
import {
  dataPiece,
  type Piece,
  StreamedTexts,
  summaryPiece,
  textPiece,
  thoughtPiece,
} from './streamed-texts.ts';

/** A `StreamedRunResult` of the SDK, or any stream of the same events. */
export interface RunEvents extends AsyncIterable<RunStreamEvent> {
  readonly newItems?: readonly RunItem[];
  readonly rawResponses?: readonly { readonly output: readonly AgentOutputItem[] }[];
}

/**
 * Converts a streamed run to the updates that a sync agent yields. Text and reasoning are streamed. Calls,
 * results and hand-offs become whole messages. Each message has its own index. If the run fails, the function
 * first yields all output and then throws the error. The server keeps open messages as partial. If the reader
 * stops reading, the run is stopped.
 */
export async function* convertRunEvents(run: RunEvents): AsyncGenerator<UpdateInput> {
  const updates = new RunUpdates();
  const earlier = new Set(itemsSoFar(run));
  try {
    // The code does not use `yield*`, because in an async generator it creates four more promises per update.
    for await (const event of run) for (const update of updates.convert(event)) yield update;
  } catch (error) {
    // When a run fails, the SDK drops unread events. This code sends the items of these events.
    const items = itemsSoFar(run).filter((item) => !earlier.has(item));
    for (const rawItem of items) yield* updates.item({ rawItem });
    yield* updates.failedParts(partsBefore(error));
    throw error;
  }
  yield* updates.end();
}

/**
 * Returns all items of the run until now. If the SDK could not use the last answer, the result includes its
 * text and reasoning.
 */
function itemsSoFar({
  newItems = [],
  rawResponses = [],
}: RunEvents): readonly RunItem['rawItem'][] {
  const lastOutput = rawResponses.at(-1)?.output ?? [];
  const isWord = ({ type }: AgentOutputItem) => type === 'message' || type === 'reasoning';
  return [...newItems.map(({ rawItem }) => rawItem), ...lastOutput.filter(isWord)];
}

/** Converts the events of one run to updates of a task's messages. */
class RunUpdates {
  #count = 0;
  readonly #texts = new StreamedTexts(() => this.#count++);
  readonly #thoughts = new StreamedTexts(() => this.#count++);
  readonly #emittedItems = new Set<RunItem['rawItem']>();

  convert(event: RunStreamEvent): readonly UpdateInput[] {
    switch (event.type) {
      case 'raw_model_stream_event':
        return this.#streamed(event.data);
      case 'run_item_stream_event':
        return this.item(event.item);
      case 'agent_updated_stream_event':
        return [];
    }
  }

  /**
   * Returns the updates for an item, once. An item that is not a message, such as an approval request, gives
   * no update.
   */
  item(item: Pick<RunItem, 'rawItem'>): readonly UpdateInput[] {
    const { rawItem } = item;
    if (rawItem === undefined || this.#emittedItems.has(rawItem)) return [];
    this.#emittedItems.add(rawItem);
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

  /** Returns the updates for the parts that a model produced before it failed. */
  failedParts(parts: readonly IdentifiedPart[]): readonly UpdateInput[] {
    return parts.flatMap(({ id, part }) => {
      if (part.kind === 'text') return remainingText(this.#texts, id, part.text, textPiece);
      if (part.kind !== 'reasoning') return [];
      const piece = part.form === 'summary' ? summaryPiece : thoughtPiece;
      return remainingText(this.#thoughts, id, part.text, piece);
    });
  }

  end(): readonly UpdateInput[] {
    return [...this.#thoughts.closeAll(), ...this.#texts.closeAll()];
  }

  #streamed(data: StreamEvent): readonly UpdateInput[] {
    if (data.type === 'output_text_delta') {
      const isJson = data.providerData?.['mimeType'] === 'application/json';
      const piece = isJson ? dataPiece(data.delta) : textPiece(data.delta);
      return this.#texts.append(data.itemId ?? '', piece);
    }
    const raw = data.type === 'model' ? rawReasoning(data.event) : undefined;
    if (raw === undefined) return [];
    const { itemId, piece } = raw;
    return piece ? this.#thoughts.append(itemId, piece) : this.#thoughts.close(itemId);
  }

  /** Ends the streamed message, or replaces it if the final message differs. */
  #message(item: protocol.AssistantMessageItem): readonly UpdateInput[] {
    const id = item.id !== undefined && this.#texts.has(item.id) ? item.id : '';
    const content = messageContent(item);
    if (content.type !== 'text' || content.content !== this.#texts.textOf(id))
      return [{ type: 'full', index: this.#texts.take(id), content }];
    return this.#texts.finish(id);
  }

  #reasoning(item: protocol.ReasoningItem): readonly UpdateInput[] {
    const { id = '', content, rawContent = [] } = item;
    const kept = preservedPart(item);
    if (kept?.kind === 'custom') {
      const data = { name: kept['name'] ?? '', value: kept['value'] ?? null };
      return this.#full({ type: 'data', author: 'agent', data });
    }
    const summary = content.map(({ text }) => text);
    const thoughts = rawContent.map(({ text }) => text);
    const streamed = this.#thoughts.textOf(id);
    if (streamed === [...summary, ...thoughts].join('')) return this.#thoughts.finish(id);
    const shown = { type: 'reasoning', author: 'agent', summary, content: thoughts } as const;
    return [{ type: 'full', index: this.#thoughts.take(id), content: shown }];
  }

  #full(content: ContentInput): readonly UpdateInput[] {
    return [{ type: 'full', index: this.#count++, content }];
  }
}

function remainingText(
  texts: StreamedTexts,
  id: string,
  text: string,
  piece: (text: string) => Piece,
): readonly UpdateInput[] {
  const emitted = texts.textOf(id);
  return text.startsWith(emitted) ? texts.append(id, piece(text.slice(emitted.length))) : [];
}

/** A raw event with reasoning, from OpenAI's Responses API. The event at the end contains no text. */
interface RawReasoning {
  readonly itemId: string;
  readonly piece?: Piece;
}

function rawReasoning(event: unknown): RawReasoning | undefined {
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
