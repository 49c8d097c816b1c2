import { type Piece, summaryPiece, thoughtPiece } from './update-pieces.ts';

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
