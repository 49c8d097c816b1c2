import type { Attempt, ItemId, PartId, ReasoningForm } from '@millrace/core';
import type { MarkdownStream, Block as Passage } from '@millrace/markdown';
import type { NoteBlock } from './block.ts';
import type { ToolCard } from './tool-card.ts';

/**
 * Content that is not completely printed yet. Entries are printed in the order in which they
 * started.
 */
export type Entry = TextEntry | ThoughtEntry | CallEntry | MessageEntry | NoteEntry;

interface OfAttempt {
  readonly at: Attempt;
}

export interface TextEntry extends OfAttempt {
  readonly kind: 'text';
  readonly partId: PartId;
  readonly itemId: ItemId;
  /** Splits the text into finished passages and an unfinished rest. */
  readonly stream: MarkdownStream;
  /** The full text. JavaScript concatenates strings without copying them, so this is cheap. */
  readonly text: string;
  /** Finished passages that are not printed yet. */
  readonly ready: readonly Passage[];
  readonly end: EntryEnd;
}

export interface ThoughtEntry extends OfAttempt {
  readonly kind: 'thought';
  readonly partId: PartId;
  readonly itemId: ItemId;
  readonly form: ReasoningForm;
  readonly text: string;
  readonly startedAt: number;
  readonly finishedAt: number | undefined;
  readonly end: EntryEnd;
}

/**
 * The state of an entry. `held` means that the entry is incomplete. A later event decides whether
 * it is printed.
 */
export type EntryEnd = 'open' | 'held' | 'done';

export interface CallEntry extends OfAttempt {
  readonly kind: 'call';
  readonly partId: PartId | undefined;
  readonly card: ToolCard;
  /**
   * True if the entry must not be printed before its turn ends. Either the events so far do not
   * contain the model's own call, so its position is unknown, or a stop prevented the call.
   */
  readonly isUnplaced: boolean;
}

export interface MessageEntry extends OfAttempt {
  readonly kind: 'message';
  readonly itemId: ItemId;
  /** The message comes from a user or is a notification. */
  readonly from: 'user' | 'notification';
  readonly author: string | undefined;
  readonly text: string;
  readonly isDone: boolean;
}

interface NoteEntry extends OfAttempt {
  readonly kind: 'note';
  readonly block: NoteBlock;
  /** True if the note is wrong as soon as a run starts, because the session waited until then. */
  readonly endsWithWait?: boolean | undefined;
}
