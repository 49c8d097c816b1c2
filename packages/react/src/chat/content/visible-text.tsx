import { type Disguise, disguisesIn, type FindDisguises } from '@millrace/core';
import './visible-text.css';

interface VisibleTextProps {
  readonly text: string;
  readonly escapes?: EscapeScope | undefined;
}

/** Shows untrusted text. Invisible and misleading characters are replaced by visible escapes. */
export function VisibleText({ text, escapes }: VisibleTextProps) {
  return shownRuns(textRuns(text, escapes));
}

function shownRuns(runs: readonly TextRun[]) {
  return runs.map((run, at) =>
    run.escape === undefined ? (
      run.text
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: runs have no other identity
      <span key={at} className="escape" data-lines={run.text.includes('\n') || undefined}>
        {run.escape}
      </span>
    ),
  );
}

interface VisibleLinesProps extends Pick<VisibleTextProps, 'text'> {
  readonly find: FindDisguises;
}

/**
 * Shows untrusted text that the user must read before an answer. If it has several lines, each of them has a number
 * beside it, so a line break in the text looks different from a break at the end of the window.
 */
export function VisibleLines({ text, find }: VisibleLinesProps) {
  const lines = linesOf(textRuns(text, find));
  if (lines.length === 1) return shownRuns(lines[0]?.runs ?? []);
  return lines.map(({ number, runs }) => (
    <span key={number} className="numbered-line" data-line={number}>
      <span>{shownRuns(runs)}</span>
    </span>
  ));
}

interface NumberedLine {
  readonly number: number;
  readonly runs: TextRun[];
}

/** Splits runs into lines. Each line contains its line break. An escape can stand for several empty lines. */
function linesOf(runs: readonly TextRun[]): readonly NumberedLine[] {
  const lines: NumberedLine[] = [{ number: 1, runs: [] }];
  for (const run of runs) {
    const parts = run.escape === undefined ? run.text.split(/(?<=\n)/) : [run];
    for (const part of parts) {
      const shown = typeof part === 'string' ? { text: part } : part;
      const { number, runs: line } = lines.at(-1) ?? { number: 1, runs: [] };
      line.push(shown);
      const breaks = shown.text.split('\n').length - 1;
      if (breaks > 0) lines.push({ number: number + breaks, runs: [] });
    }
  }
  return lines;
}

interface TextRun {
  readonly text: string;
  /**
   * The escape that the page shows instead of `text`. Undefined if `text` can be shown as it is.
   */
  readonly escape?: string;
}

/** Matches long runs of spaces, which could move the following text out of view, many empty lines, and controls. */
const blanksAndControls = /[ \t\u3000]{40,}|(?<=\n)(?:[ \t\u3000]*\n){3,}|(?![\n\t])\p{Cc}/gu;

/**
 * Matches texts that can contain a long grapheme cluster, for example of marks or Hangul jamo. Browsers never break a
 * line inside a cluster, so a long cluster would leave its box, and many marks can look like one.
 */
const joining = /(?:(?![\u4e00-\u9fff\uac00-\ud7a3\p{DI}\p{C}\p{Z}])[^\0-\u02ff]){9,}/gu;
/** Maximum number of characters of a cluster that is shown as it is. No language needs as many. */
const maxCluster = 8;
/** Undefined until the first text needs it. */
let segmenter: Intl.Segmenter | undefined;

/** Matches characters that change the direction of the following text. */
const directionMarks = /[\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Finds the characters to escape. Default: `disguisesIn`. `directions` escapes only direction marks. It is used for text
 * that the user reads but does not approve.
 */
type EscapeScope = FindDisguises | 'directions';

/** Splits a text into runs that are shown unchanged and runs that are escaped. */
export function textRuns(text: string, escapes: EscapeScope = disguisesIn): readonly TextRun[] {
  const runs: TextRun[] = [];
  let through = 0;
  for (const part of hiddenIn(text, escapes)) {
    if (part.index > through) runs.push({ text: text.slice(through, part.index) });
    const hidden = part.text.repeat(part.times);
    runs.push({ text: hidden, escape: labelFor(part) });
    through = part.index + hidden.length;
  }
  if (through < text.length) runs.push({ text: text.slice(through) });
  return runs;
}

interface HiddenPart extends Disguise {
  /** The number of equal characters beside each other. A part of several spaces or lines counts as one. */
  times: number;
}

/** Returns all parts of a text that a reader would not see or would misread, in the order of the text. */
function hiddenIn(text: string, escapes: EscapeScope): readonly HiddenPart[] {
  const parts: HiddenPart[] = [];
  let through = 0;
  for (const { index, text: one } of foundIn(text, escapes)) {
    if (index < through) continue;
    const last = parts.at(-1);
    if (last?.text === one && index === through) last.times++;
    else parts.push({ index, text: one, times: 1 });
    through = index + one.length;
  }
  return parts;
}

function foundIn(text: string, escapes: EscapeScope): readonly Disguise[] {
  if (escapes === 'directions') return matchesIn(text, directionMarks);
  return [...matchesIn(text, blanksAndControls), ...escapes(text), ...longClustersIn(text)].sort(
    (a, b) => a.index - b.index,
  );
}

function matchesIn(text: string, pattern: RegExp): readonly Disguise[] {
  return Array.from(text.matchAll(pattern), ({ 0: found, index }) => ({ index, text: found }));
}

/** Returns the characters of long grapheme clusters, without the first character of each cluster. */
function longClustersIn(text: string): readonly Disguise[] {
  return matchesIn(text, joining).flatMap(({ text: run, index: start }) => {
    segmenter ??= new Intl.Segmenter();
    return [...segmenter.segment(run)].flatMap(({ segment, index: within }) => {
      const [, ...others] = matchesIn(segment, /./gsu);
      return others.length < maxCluster
        ? []
        : others.map((one) => ({ ...one, index: one.index + within + start }));
    });
  });
}

function labelFor({ text, times }: HiddenPart): string {
  // A character has at most two units.
  if (text.length > 2)
    return text.includes('\n') ? `↵ ×${text.split('\n').length - 1}` : `␠ ×${text.length}`;
  return times === 1 ? escapeOf(text) : `${escapeOf(text)} ×${times}`;
}

function escapeOf(one: string): string {
  if (one === '\r') return '\\r';
  const code = one.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${hexCode(code)}}` : unitOf(one);
}

const hexCode = (code: number) => code.toString(16).toUpperCase().padStart(4, '0');
/** Returns the JSON escape of a UTF-16 unit. */
export const unitOf = (unit: string) => `\\u${hexCode(unit.charCodeAt(0))}`;
