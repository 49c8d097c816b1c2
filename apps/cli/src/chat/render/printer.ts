import type { PartId } from '@millrace/core';
import { MarkdownRenderer } from '../../text/markdown/markdown-renderer.ts';
import type { Block } from '../state/block.ts';
import type { TextEntry } from '../state/entry.ts';
import { blockLines, isApart } from './block-lines.ts';
import { fitted } from './lines.ts';
import type { Look } from './look.ts';

/** Makes lines of blocks, each once. It knows what was printed last, and how far its code is. */
export class Printer {
  #before: Block | undefined;
  #answer: { readonly partId: PartId; readonly renderer: MarkdownRenderer } | undefined;

  print(look: Look, blocks: readonly Block[]): readonly string[] {
    return blocks.flatMap((block) => {
      const lines = this.#linesOf(look, block);
      const apart = this.isApart(block) ? [''] : [];
      this.#before = block;
      return [...apart, ...fitted(look, lines)];
    });
  }

  /** What has come of an answer and is not printed yet, as it looks now. */
  preview(look: Look, { partId, ready, stream }: TextEntry): readonly string[] {
    return this.#rendererOf(look, partId, false).preview([...ready, ...stream.tail], look.width);
  }

  /** Whether an empty line comes between this and what was printed last. */
  isApart(block: Block): boolean {
    return isApart(this.#before, block);
  }

  #linesOf(look: Look, block: Block): readonly string[] {
    if (block.type !== 'answer') return blockLines(look, block);
    return this.#rendererOf(look, block.partId, true).render(block.passages, look.width);
  }

  #rendererOf({ theme }: Look, partId: PartId, isKept: boolean): MarkdownRenderer {
    if (this.#answer?.partId === partId) return this.#answer.renderer;
    const renderer = new MarkdownRenderer({ theme });
    if (isKept) this.#answer = { partId, renderer };
    return renderer;
  }
}
