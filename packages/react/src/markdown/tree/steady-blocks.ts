import type { Block } from '@millrace/markdown';

/** The widths of the columns of a table depend on this many rows. */
export const decidingRows = 3;

/**
 * Removes text at the end of an unfinished document if its form is not clear yet, such as the start
 * of a table. Otherwise a table would appear as lines of text first, and its columns would change
 * their widths with the first rows. This delays only a few lines.
 */
export function steadyBlocks(blocks: readonly Block[], text: string): readonly Block[] {
  const last = blocks.at(-1);
  const before = blocks.slice(0, -1);
  const isCut = !/[\r\n]$/.test(text);
  if (last?.kind === 'table') {
    const rows = isCut && last.rows.length > 2 ? last.rows.slice(0, -1) : last.rows;
    const isDecided = last.isRest || rows.length >= 2 + decidingRows;
    return isDecided ? [...before, { ...last, rows }] : before;
  }
  if (last?.kind !== 'paragraph') return blocks;
  const lines = last.text.split('\n');
  const kept = lines.slice(0, lines.length - heldLines(lines, isCut));
  if (kept.length === lines.length) return blocks;
  return kept.length === 0 ? before : [...before, { ...last, text: kept.join('\n') }];
}

/**
 * Returns how many lines at the end of a paragraph may still become a table or the start of a code
 * block.
 */
function heldLines(lines: readonly string[], isCut: boolean): number {
  const [previous = '', last = ''] = lines.length > 1 ? lines.slice(-2) : ['', ...lines];
  if (isCut && /^\s*(?:`{1,3}|~{1,3})$/.test(last)) return 1;
  if (!/^\s*\|/.test(last)) return 0;
  const isUnderline = isCut && /^[\s|:-]*$/.test(last) && /^\s*\|/.test(previous);
  return isUnderline ? 2 : 1;
}
