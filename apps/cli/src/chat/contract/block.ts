import type { PartId, ReasoningForm } from '@millrace/core';
import type { Block as Passage } from '../../text/markdown/block.ts';
import type { Ask } from './dialog.ts';
import type { ToolCard } from './tool-card.ts';

/** What is printed once, into the scrollback, and never again. How wide the terminal is decides its lines. */
export type Block =
  /** What a person said, or somebody in their place. */
  | { readonly type: 'said'; readonly text: string; readonly author: string | undefined }
  /** What a person asked of the chat, not of the model. */
  | { readonly type: 'typed'; readonly text: string }
  /** Finished passages of what the model answers. Those of one part belong together. */
  | { readonly type: 'answer'; readonly partId: PartId; readonly passages: readonly Passage[] }
  | {
      readonly type: 'thought';
      readonly text: string;
      readonly form: ReasoningForm;
      readonly tookMs: number;
    }
  | { readonly type: 'call'; readonly card: ToolCard }
  /** All of what somebody is asked about. */
  | { readonly type: 'asked'; readonly ask: Extract<Ask, { readonly type: 'approval' }> }
  | { readonly type: 'note'; readonly tone: Tone; readonly text: string }
  /** A name and what there is to say about it, a row each. */
  | { readonly type: 'rows'; readonly rows: readonly Row[] };

export type Row = readonly [name: string, about: string];

export type Tone = 'plain' | 'dim' | 'good' | 'bad' | 'mark';

export type NoteBlock = Extract<Block, { readonly type: 'note' }>;

export function note(tone: Tone, text: string): NoteBlock {
  return { type: 'note', tone, text };
}
