import { shortIdLength } from '../../store/find-session.ts';
import { count } from '../render/amounts.ts';
import type { Look } from '../render/look.ts';
import { Printer } from '../render/printer.ts';
import { type Block, note } from '../state/block.ts';

export interface ScreenfulOptions {
  /** How many blocks there were in all. */
  readonly total: number;
  readonly rows: number;
  readonly session: string;
}

/** The last of what a session had printed, as much as fills a screen, with a word on where the rest is. */
export function lastScreenful(
  look: Look,
  blocks: readonly Block[],
  { total, rows, session }: ScreenfulOptions,
): readonly Block[] {
  let height = 0;
  let first = blocks.length;
  while (first > 0 && height < rows) {
    first--;
    height += new Printer().print(look, blocks.slice(first, first + 1)).length;
  }
  const shown = blocks.slice(first);
  const hidden = total - shown.length;
  if (hidden <= 0) return shown;
  const id = session.slice(0, shortIdLength);
  const text = `… ${count(hidden, 'earlier piece')} of this session: millrace sessions show ${id}`;
  return [note('dim', text), ...shown];
}
