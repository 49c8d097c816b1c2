import type { BlockContent } from './block.ts';
import { type FenceStart, isTableStart } from './block-start.ts';

/** Lines that become one block when they end. */
export interface TextLeaf {
  readonly kind: 'paragraph' | 'table';
  readonly lines: string[];
  size: number;
  /** Its first part was told. */
  readonly isRest: boolean;
}

/** The block that lines are being added to. */
export type Leaf =
  | TextLeaf
  | { readonly kind: 'fence'; readonly fence: FenceStart }
  /** Indented code, and the empty lines that are a part of it if it goes on. */
  | { readonly kind: 'indented'; readonly blanks: string[] }
  | { readonly kind: 'html'; readonly end: RegExp | undefined };

/** A longer paragraph or table is shown in parts, so that no part takes long. */
const maxSize = 32_768;

export function paragraphLeaf(line: string, isRest = false): TextLeaf {
  return leafOf('paragraph', [line], isRest);
}

export function isText(leaf: Leaf | undefined): leaf is TextLeaf {
  return leaf?.kind === 'paragraph' || leaf?.kind === 'table';
}

export interface Grown {
  /** What has become a block of its own. */
  readonly done?: BlockContent | undefined;
  readonly leaf: TextLeaf;
}

/** A paragraph or a table with one more line. */
export function grow(leaf: TextLeaf, line: string): Grown {
  const head = leaf.lines.at(-1) ?? '';
  if (leaf.kind === 'paragraph' && isTableStart(head, line)) {
    leaf.lines.pop();
    return { done: contentOf(leaf), leaf: leafOf('table', [head, line]) };
  }
  if (leaf.size + line.length > maxSize) return { done: contentOf(leaf), leaf: restOf(leaf, line) };
  leaf.lines.push(line);
  leaf.size += line.length;
  return { leaf };
}

/** The rest of a long table keeps its head, by which its cells are read; it is not shown again. */
function restOf(leaf: TextLeaf, line: string): TextLeaf {
  if (leaf.kind === 'paragraph') return paragraphLeaf(line, true);
  return leafOf('table', [...leaf.lines.slice(0, 2), line], true);
}

function leafOf(kind: TextLeaf['kind'], lines: string[], isRest = false): TextLeaf {
  return { kind, lines, size: lines.reduce((sum, line) => sum + line.length, 0), isRest };
}

/** What a leaf is when nothing more comes; nothing if its lines were told one by one. */
export function contentOf(leaf: Leaf): BlockContent | undefined {
  switch (leaf.kind) {
    case 'paragraph':
      return leaf.lines.length === 0
        ? undefined
        : { kind: 'paragraph', text: leaf.lines.join('\n'), isRest: leaf.isRest };
    case 'table':
      return { kind: 'table', rows: leaf.lines, isRest: leaf.isRest };
    case 'fence':
    case 'indented':
      return { kind: 'code_close' };
    case 'html':
      return undefined;
  }
}

export function copyLeaf(leaf: Leaf): Leaf {
  if (isText(leaf)) return { ...leaf, lines: [...leaf.lines] };
  return leaf.kind === 'indented' ? { ...leaf, blanks: [...leaf.blanks] } : leaf;
}
