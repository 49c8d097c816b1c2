import type { Block, Container } from '@millrace/markdown';
import { GrowingList } from './growing-list.tsx';
import type { MarkdownNode } from './markdown-node.ts';

/**
 * Maximum cost of the blocks of a text that are shown with their format. A browser needs about a second for
 * this many blocks. Long answers of models have a few hundred. The rest of a text is shown as its source, so
 * that a hostile text cannot block the page.
 */
const maxCost = 4000;

const codeCost = 4;
const cellCost = 0.5;
/** Maximum number of cells that a code block in CSV shows before the user asks for more. */
export const maxCsvCells = 1000;
/** The cost of a character that can begin or end an element inside of a line. */
const markCost = 0.25;
const marks = /[*_`$[<~:\n]/g;

/** The nodes of the first blocks of a text, and what it costs to show them. */
export interface CountedNodes {
  readonly nodes: GrowingList<MarkdownNode>;
  readonly cost: number;
  /** The open code block, if the page shows it as a table: its separator, and its cells up to now. */
  readonly csv?: CsvCells | undefined;
}

interface CsvCells {
  readonly separator: string;
  readonly cells: number;
}

/**
 * Adds a block with `add`. After the limit, it adds the source of the block to one node that has no format.
 */
export function withinLimit(
  { nodes, cost, csv: open }: CountedNodes,
  block: Block,
  add: (nodes: GrowingList<MarkdownNode>, block: Block) => GrowingList<MarkdownNode>,
): CountedNodes {
  const { last } = nodes;
  if (last?.kind === 'plain') {
    const pieces = last.pieces.append(sourceOf(block));
    return { nodes: nodes.replaceLast({ kind: 'plain', pieces }), cost };
  }
  const csv = csvOf(block, open);
  const cells = cellCost * ((csv?.cells ?? 0) - (open?.cells ?? 0));
  const own = costOf(block);
  if (own === 0 || cost < maxCost)
    return { nodes: add(nodes, block), cost: cost + own + Math.max(0, cells), csv };
  const pieces = new GrowingList<string>().append(sourceOf(block).trimStart());
  return { nodes: nodes.append({ kind: 'plain', pieces }), cost };
}

/** Counts the cells of a code block in CSV. Returns undefined after the end of the code block. */
function csvOf(block: Block, open: CsvCells | undefined): CsvCells | undefined {
  if (block.kind === 'code_open') {
    const language = block.info.trim().split(/\s/, 1)[0]?.toLowerCase();
    if (language !== 'csv' && language !== 'tsv') return undefined;
    return { separator: language === 'csv' ? ',' : '\t', cells: 0 };
  }
  if (block.kind !== 'code_line' || open === undefined) return undefined;
  if (open.cells >= maxCsvCells) return open;
  return { ...open, cells: open.cells + block.text.split(open.separator).length };
}

/** Returns 0 for a block that continues the previous block and needs no element of its own. */
function costOf(block: Block): number {
  switch (block.kind) {
    case 'code_line':
    case 'code_close':
      return 0;
    case 'code_open':
      return codeCost;
    case 'table': {
      const cells = Math.max(1, (block.rows[0]?.split('|').length ?? 0) - 2);
      return cellCost * cells * block.rows.length + block.rows.reduce(addMarks, 0);
    }
    case 'heading':
    case 'paragraph':
    case 'html_line':
      return addMarks(boxCost(block), block.text);
    case 'rule':
      return boxCost(block);
  }
}

/** Returns the cost of the elements around a text. A footnote has four more elements than other containers. */
function boxCost({ within }: Block): number {
  return within.reduce((cost, { kind }) => cost + (kind === 'footnote' ? 5 : 1), 1);
}

/** A reference to a footnote has three elements, and subscribes to its footnote. */
const referenceCost = 7 * markCost;
const references = /\[\^/g;

function addMarks(cost: number, text: string): number {
  const count = (pattern: RegExp) => text.match(pattern)?.length ?? 0;
  return cost + markCost * count(marks) + referenceCost * count(references);
}

/** Returns the source of a block, with the line break before it. */
function sourceOf(block: Block): string {
  if (block.kind === 'code_line' && block.isCut) return block.text;
  const breaks = block.gap === undefined ? '\n' : '\n\n';
  return `${breaks}${block.within.map(markOf).join('')}${contentOf(block)}`;
}

function markOf(container: Container): string {
  switch (container.kind) {
    case 'quote':
      return '> ';
    case 'item':
      return container.opens ? `${container.number ?? '-'} ` : '  ';
    case 'footnote':
      return container.opens ? `[^${container.label}]: ` : '    ';
  }
}

function contentOf(block: Block): string {
  switch (block.kind) {
    case 'heading':
      return `${'#'.repeat(block.level)} ${block.text}`;
    case 'paragraph':
    case 'html_line':
    case 'code_line':
      return block.text;
    case 'table':
      return (block.isRest ? block.rows.slice(2) : block.rows).join('\n');
    case 'code_open':
      return `\`\`\`${block.info}`;
    case 'code_close':
      return '```';
    case 'rule':
      return '---';
  }
}
