import { useState } from 'react';
import { Button } from '../../design/button.tsx';
import { VisibleText } from './visible-text.tsx';

const folded: ClipLimits = { headLines: 8, headLength: 320, tailLines: 4, tailLength: 200 };

/** More than that at once would make the page stand still. */
const maxLength = 100_000;

/** A text of any length: its head and its tail, and all of it for whoever wants to see it. */
export function LongText({ text }: { readonly text: string }) {
  const [level, setLevel] = useState(0);
  const { head, tail, between } = clip(text, limitsAt(level));
  const isAllNext = text.length <= maxLength * 10 ** level;
  const size = text.length.toLocaleString('en');
  const next = isAllNext ? `Show all ${size} characters` : `Show more of ${size} characters`;
  return (
    <>
      <div className="long-text" tabIndex={level > 0 ? 0 : undefined} data-all={level > 0}>
        <VisibleText text={head} />
        {between !== undefined && <Gap words={between} />}
        <VisibleText text={tail} />
      </div>
      <MoreBar {...{ level, onLevel: setLevel, next: between && next }} />
    </>
  );
}

/** What is left out here. */
export function Gap({ words }: { readonly words: string }) {
  return <span className="gap">… {words} …</span>;
}

function limitsAt(level: number): ClipLimits {
  if (level === 0) return folded;
  const length = (maxLength / 2) * 10 ** (level - 1);
  return { headLines: length, headLength: length, tailLines: length, tailLength: length };
}

interface MoreBarProps {
  /** How often more was asked for. */
  readonly level: number;
  readonly onLevel: (level: number) => void;
  /** What the next press shows; undefined where all is shown. */
  readonly next: string | undefined;
}

/** Shows more of what is long, and less again. */
export function MoreBar({ level, onLevel, next }: MoreBarProps) {
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
          Show less
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

interface Clipped {
  readonly head: string;
  readonly tail: string;
  /** What is between them, in words; undefined where it is all there. */
  readonly between?: string;
}

/** The head and the tail of a text: what matters may be at its end, and whoever hides it hides it there. */
export function clip(text: string, limits: ClipLimits): Clipped {
  const headEnd = endOfHead(text, limits);
  const tailStart = startOfTail(text, limits);
  // A cut that leaves out hardly anything is none.
  if (tailStart - headEnd <= limits.tailLength / 4 && !hasMoreLines(text, headEnd, tailStart, 2))
    return { head: text, tail: '' };
  const left = text.slice(headEnd, tailStart);
  return { head: text.slice(0, headEnd), tail: text.slice(tailStart), between: countOf(left) };
}

function countOf(text: string): string {
  const lines = text.split('\n').length - 1;
  const characters = `${text.length.toLocaleString('en')} characters`;
  return lines < 2 ? characters : `${lines.toLocaleString('en')} lines, ${characters}`;
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
  const least = Math.max(0, text.length - tailLength);
  let at = text.length;
  // What ends a text begins no line.
  for (let line = text.endsWith('\n') ? -1 : 0; line < tailLines; line++) {
    const before = at === 0 ? -1 : text.lastIndexOf('\n', at - 1);
    if (before < least) return avoidSplitPair(text, least);
    at = before;
  }
  return at + 1;
}

function hasMoreLines(text: string, from: number, to: number, least: number): boolean {
  return from < to && text.slice(from, to).split('\n').length > least;
}

/** Not in the middle of a letter of two. */
function avoidSplitPair(text: string, at: number): number {
  const isSplit = /^[\udc00-\udfff]/.test(text.slice(at, at + 1)) && at > 0;
  return isSplit && /[\ud800-\udbff]$/.test(text.slice(at - 1, at)) ? at - 1 : at;
}
