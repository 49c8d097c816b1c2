import type { FindDisguises } from '@millrace/core';
import { useState } from 'react';
import { Button } from '../../design/button.tsx';
import type { Labels } from '../../labels/labels.ts';
import { countText, numberText, useLabels } from '../../labels/use-labels.ts';
import { VisibleLines, VisibleText } from './visible-text.tsx';

const folded: ClipLimits = { headLines: 8, headLength: 320, tailLines: 4, tailLength: 200 };

/** Maximum number of characters in one step. More characters would freeze the page. */
const maxLength = 100_000;

interface LongTextProps {
  readonly text: string;
  /**
   * Finds the characters to show as codes. If it is defined, the view shows the whole text immediately. The caller must
   * limit its length.
   */
  readonly find?: FindDisguises | undefined;
}

/**
 * Shows a text of any length. Initially it shows the start and the end, with buttons to show more.
 */
export function LongText({ text, find }: LongTextProps) {
  return find !== undefined ? (
    <div className="long-text">
      <VisibleLines {...{ text, find }} />
    </div>
  ) : (
    <FoldedText text={text} />
  );
}

function FoldedText({ text }: Pick<LongTextProps, 'text'>) {
  const t = useLabels();
  const [level, setLevel] = useState(0);
  const { head, tail, omitted } = clip(text, limitsAt(level));
  const isAllNext = text.length <= maxLength * 10 ** level;
  const size = countText(t, text.length);
  const next = isAllNext ? t.showAllOf(size) : t.showMoreOf(size);
  return (
    <>
      <div className="long-text" tabIndex={level > 0 ? 0 : undefined} data-all={level > 0}>
        <VisibleText text={head} />
        {omitted !== undefined && <Gap text={omittedText(t, omitted)} />}
        <VisibleText text={tail} />
      </div>
      <MoreBar {...{ level, onLevel: setLevel, next: omitted === undefined ? undefined : next }} />
    </>
  );
}

/** Marks omitted text. */
export function Gap({ text }: { readonly text: string }) {
  return <span className="gap">… {text} …</span>;
}

function limitsAt(level: number): ClipLimits {
  if (level === 0) return folded;
  const length = (maxLength / 2) * 10 ** (level - 1);
  return { headLines: length, headLength: length, tailLines: length, tailLength: length };
}

interface MoreBarProps {
  /** The number of times that the user has clicked the button that shows more. */
  readonly level: number;
  readonly onLevel: (level: number) => void;
  /** The label of the button that shows more. Undefined if everything is shown. */
  readonly next: string | undefined;
}

/** Buttons that show more or less of a long text. */
export function MoreBar({ level, onLevel, next }: MoreBarProps) {
  const t = useLabels();
  if (level === 0 && next === undefined) return null;
  return (
    <div className="more-bar">
      {next !== undefined && (
        <Button size="small" look="quiet" onClick={() => onLevel(level + 1)}>
          {next}
        </Button>
      )}
      {level > 0 && (
        <Button size="small" look="quiet" onClick={() => onLevel(0)}>
          {t.showLess}
        </Button>
      )}
    </div>
  );
}

export interface ClipLimits {
  readonly headLines: number;
  readonly headLength: number;
  readonly tailLines: number;
  readonly tailLength: number;
}

interface Omitted {
  readonly lines: number;
  readonly characters: number;
}

interface Clipped {
  readonly head: string;
  readonly tail: string;
  /** The size of the omitted text. Undefined if nothing is omitted. */
  readonly omitted?: Omitted;
}

/**
 * Returns the start and the end of a text. The end is always included, because harmful content
 * could hide there.
 */
export function clip(text: string, limits: ClipLimits): Clipped {
  const headEnd = endOfHead(text, limits);
  const tailStart = startOfTail(text, limits);
  // Omitting only a few characters would save no space. So the whole text is returned.
  if (tailStart - headEnd <= limits.tailLength / 4 && !hasMoreLines(text, headEnd, tailStart, 2))
    return { head: text, tail: '' };
  const omittedText = text.slice(headEnd, tailStart);
  return {
    head: text.slice(0, headEnd),
    tail: text.slice(tailStart),
    omitted: countOf(omittedText),
  };
}

function countOf(text: string): Omitted {
  return { lines: text.split('\n').length - 1, characters: text.length };
}

/** Returns the size of the omitted text in words. */
export function omittedText(t: Labels, { lines, characters }: Omitted): string {
  const size = countText(t, characters);
  return lines < 2 ? size : `${t.lineCount(numberText(t, lines))}, ${size}`;
}

function endOfHead(text: string, { headLines, headLength }: ClipLimits): number {
  let at = -1;
  for (let line = 0; line < headLines; line++) {
    const next = text.indexOf('\n', at + 1);
    if (next < 0 || next >= headLength)
      return avoidSplitPair(text, Math.min(headLength, text.length));
    at = next;
  }
  return at + 1;
}

function startOfTail(text: string, { tailLines, tailLength }: ClipLimits): number {
  const minStart = Math.max(0, text.length - tailLength);
  let at = text.length;
  // A line feed at the end of the text does not start a new line.
  for (let line = text.endsWith('\n') ? -1 : 0; line < tailLines; line++) {
    const before = at === 0 ? -1 : text.lastIndexOf('\n', at - 1);
    if (before < minStart) return avoidSplitPair(text, minStart);
    at = before;
  }
  return at + 1;
}

function hasMoreLines(text: string, from: number, to: number, minStart: number): boolean {
  return from < to && text.slice(from, to).split('\n').length > minStart;
}

/** Moves a cut position if it would split a surrogate pair. */
function avoidSplitPair(text: string, at: number): number {
  const isSplit = /^[\udc00-\udfff]/.test(text.slice(at, at + 1)) && at > 0;
  return isSplit && /[\ud800-\udbff]$/.test(text.slice(at - 1, at)) ? at - 1 : at;
}
