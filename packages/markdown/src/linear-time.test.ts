import { describe, expect, test } from 'vitest';
import { isFull } from '../../core/src/testing/runs.ts';
import { type Block, type OnWork, tableHead, tableRow } from './block.ts';
import { MarkdownStream } from './markdown-stream.ts';
import { parseInline } from './parse-inline.ts';
import { hostileTexts } from './testing/hostile-markdown.ts';

/** All steps that it takes to read a text: its blocks and what is in them. */
function workOf(text: string): number {
  let work = 0;
  const onWork = (steps: number) => {
    work += steps;
  };
  const stream = new MarkdownStream(onWork);
  stream.push(text);
  for (const block of stream.end()) readInline(block, onWork);
  return work;
}

function readInline(block: Block, onWork: OnWork): void {
  if (block.kind === 'paragraph' || block.kind === 'heading') parseInline(block.text, onWork);
  if (block.kind !== 'table') return;
  const columns = tableHead(block.rows).cells.length;
  for (const row of block.rows)
    for (const cell of tableRow(row, columns)) parseInline(cell, onWork);
}

/** The length of the shorter text. The counts of steps do not depend on the machine, so a short text is enough. */
const length = isFull ? 40_000 : 10_000;

describe('the work of reading Markdown', () => {
  test.each(Object.entries(hostileTexts))('is proportional to its length: %s', (_, piece) => {
    const once = piece.repeat(Math.ceil(length / piece.length));
    const work = workOf(once);
    expect(workOf(once + once)).toBeLessThan(2.15 * work);
    expect(work).toBeGreaterThan(once.length);
    expect(work).toBeLessThan(20 * once.length);
  });
});
