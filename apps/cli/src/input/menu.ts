import type { CompletionItem } from './completion.ts';

/** The open completion list. */
export interface Menu {
  readonly items: readonly CompletionItem[];
  readonly selected: number;
}
