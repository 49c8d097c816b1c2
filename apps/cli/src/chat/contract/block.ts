import type { PartId, ReasoningForm } from '@millrace/core';
import type { Block as Passage } from '@millrace/markdown';
import type { ApprovalDialog, ConfirmDialog, QuestionDialog } from './dialog.ts';
import type { ToolCard } from './tool-card.ts';

/**
 * Content that is printed to the scrollback once. Its lines depend on the width of the terminal.
 */
export type Block =
  /** A message from a user or from a different author. */
  | { readonly type: 'message'; readonly text: string; readonly author: string | undefined }
  /** A slash command that the user entered. */
  | { readonly type: 'command'; readonly text: string }
  /** Finished passages of the model's answer. Passages with the same part id belong together. */
  | { readonly type: 'answer'; readonly partId: PartId; readonly passages: readonly Passage[] }
  | {
      readonly type: 'thought';
      readonly text: string;
      readonly form: ReasoningForm;
      readonly tookMs: number;
    }
  | { readonly type: 'call'; readonly card: ToolCard }
  /** The full content of an approval request. */
  | { readonly type: 'approval'; readonly dialog: ApprovalDialog | ConfirmDialog | QuestionDialog }
  | { readonly type: 'note'; readonly tone: Tone; readonly text: string }
  /**
   * A link for other people, and the lines of a code to scan. The link is one line that the terminal wraps, so that a
   * selection contains no line break.
   */
  | { readonly type: 'link'; readonly link: string; readonly code: readonly string[] }
  /** The difference of a file in the format of `diff -u`, without file names. */
  | { readonly type: 'diff'; readonly title: string; readonly text: string }
  /** A table with a name and a description per row. */
  | { readonly type: 'rows'; readonly rows: readonly Row[] };

export type Row = readonly [name: string, about: string];

export type Tone = 'plain' | 'dim' | 'good' | 'bad' | 'mark';

export type NoteBlock = Extract<Block, { readonly type: 'note' }>;

/**
 * Returns the number of blocks, where each passage of an answer counts. The number of passages in a block depends on
 * how the answer arrived.
 */
export function countBlocks(blocks: readonly Block[]): number {
  return blocks.reduce(
    (sum, block) => sum + (block.type === 'answer' ? block.passages.length : 1),
    0,
  );
}

export function note(tone: Tone, text: string): NoteBlock {
  return { type: 'note', tone, text };
}
