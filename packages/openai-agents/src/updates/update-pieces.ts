import type { UpdateDelta } from '@millrace/server';

/** A piece of text, and how it is told. */
export interface Piece {
  readonly text: string;
  readonly delta: UpdateDelta;
}

export function textPiece(text: string): Piece {
  return { text, delta: { type: 'text', text_delta: text } };
}

/** Of JSON. */
export function dataPiece(text: string): Piece {
  return { text, delta: { type: 'data', data_delta: text } };
}

export function summaryPiece(text: string, summary_index = 0): Piece {
  return { text, delta: { type: 'reasoning_summary', summary_index, summary_delta: text } };
}

export function thoughtPiece(text: string, content_index = 0): Piece {
  return { text, delta: { type: 'reasoning_content', content_index, content_delta: text } };
}
