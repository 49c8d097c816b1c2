import { cellWidth } from '../../text/cells/cell-width.ts';
import type { Terminal } from './coalesced-output.ts';

/** What was drawn last, as far as it stands above the cursor. */
export interface Drawn {
  readonly lines: readonly string[];
}

/** How many rows more these lines take in a terminal that has become narrower and wraps them anew. */
function addedRows({ lines }: Drawn, columns: number): number {
  const rows = lines.map((line) => Math.max(1, Math.ceil(cellWidth(line) / Math.max(1, columns))));
  return rows.reduce((sum, count) => sum + count - 1, 0);
}

/** Those that leave lines as they are when they become narrower: there is nothing more to erase. */
export function doesReflow(env: Readonly<Record<string, string | undefined>>): boolean {
  if (env['TMUX'] !== undefined) return true;
  return env['XTERM_VERSION'] === undefined && !['linux', 'dumb'].includes(env['TERM'] ?? '');
}

/**
 * Where the terminal becomes narrower, erases what its wrapping added to the live region, before that is
 * erased by as many rows as it had. To be called before whoever draws it hears of the new size.
 */
export function eraseReflowed(terminal: Terminal, drawn: () => Drawn): () => void {
  let before = terminal.columns ?? 0;
  const onResize = () => {
    const { columns = 0 } = terminal;
    const added = columns < before ? addedRows(drawn(), columns) : 0;
    before = columns;
    if (added > 0) terminal.write('\u001b[2K\u001b[1A'.repeat(added));
  };
  terminal.on('resize', onResize);
  return () => terminal.off('resize', onResize);
}
