import type { Attempt, ItemId, PartId, ReasoningForm } from '@millrace/core';
import type { Block as Passage } from '../../text/markdown/block.ts';
import type { MarkdownStream } from '../../text/markdown/markdown-stream.ts';
import type { NoteBlock } from './block.ts';
import type { ToolCard } from './tool-card.ts';

/** Something that is not in the scrollback yet, or not all of it. They go there in the order of their begin. */
export type Entry = TextEntry | ThoughtEntry | CallEntry | SaidEntry | NoteEntry;

interface OfAttempt {
  readonly at: Attempt;
}

export interface TextEntry extends OfAttempt {
  readonly kind: 'text';
  readonly partId: PartId;
  readonly itemId: ItemId;
  /** Cuts it into passages that are finished and a rest that is not. */
  readonly stream: MarkdownStream;
  /** All of it: a rope that nobody flattens unless the part turns out to be something else. */
  readonly text: string;
  /** Finished passages that are not printed yet. */
  readonly ready: readonly Passage[];
  readonly end: End;
}

export interface ThoughtEntry extends OfAttempt {
  readonly kind: 'thought';
  readonly partId: PartId;
  readonly itemId: ItemId;
  readonly form: ReasoningForm;
  readonly text: string;
  readonly startedAt: number;
  readonly finishedAt: number | undefined;
  readonly end: End;
}

/** `held`: it was cut off, and whether that counts is not known yet. */
export type End = 'open' | 'held' | 'done';

export interface CallEntry extends OfAttempt {
  readonly kind: 'call';
  readonly partId: PartId | undefined;
  readonly card: ToolCard;
  /** The model did not write it here: its place among the others is known when its turn is over. */
  readonly isLoose: boolean;
}

export interface SaidEntry extends OfAttempt {
  readonly kind: 'said';
  readonly itemId: ItemId;
  /** A person, or a notice that is meant for one. */
  readonly by: 'user' | 'notification';
  readonly author: string | undefined;
  readonly text: string;
  readonly isDone: boolean;
}

interface NoteEntry extends OfAttempt {
  readonly kind: 'note';
  readonly block: NoteBlock;
}
