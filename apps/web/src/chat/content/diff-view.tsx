import { memo, useState } from 'react';
import { CopyButton } from '../../markdown/copy-button.tsx';
import { type DiffLine, diffLines } from './diff.ts';
import { type ClipLimits, clip, Gap, MoreBar } from './long-text.tsx';
import { VisibleText } from './visible-text.tsx';
import './diff-view.css';

interface DiffViewProps {
  readonly diff: string;
  /** If true, shows only the first and last lines at first, without a scroll area. */
  readonly isFolded?: boolean;
  /** If true, shows all lines at once, without a scroll area. The caller limits their number. */
  readonly isWhole?: boolean;
}

const marks = { added: '+', removed: '−', same: '', hunk: '', file: '' } as const;

/** A unified diff. Colors and signs mark the lines. */
export const DiffView = memo(function DiffView(props: DiffViewProps) {
  const { diff, isFolded = false, isWhole = false } = props;
  const [level, setLevel] = useState(0);
  const all = diffLines(diff);
  const limits = isWhole ? unlimited : limitsAt(isFolded ? level : level + 1);
  const { head, tail, between } = cutLines(all, limits);
  const isShortened =
    between > 0 || all.some(({ text }) => clip(text, limits.line).omitted !== undefined);
  const rowsOf = (lines: readonly DiffLine[]) =>
    lines.map((line, at) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other identity
      <DiffRow key={at} line={line} limits={limits.line} />
    ));
  const count = (kind: DiffLine['kind']) => all.filter((line) => line.kind === kind).length;
  return (
    <figure className="diff">
      <figcaption className="code-head">
        <span>
          <span className="diff-count" data-kind="added">
            +{count('added')}
          </span>{' '}
          <span className="diff-count" data-kind="removed">
            −{count('removed')}
          </span>
        </span>
        <CopyButton text={diff} label="Copy the diff" />
      </figcaption>
      <div
        className="diff-lines"
        // Keyboard users must be able to scroll.
        tabIndex={isWhole ? undefined : 0}
        data-all={!isWhole && (!isFolded || level > 0)}
      >
        {rowsOf(head)}
        {between > 0 && (
          <p className="diff-more">
            <Gap text={`${numberOf(between)} lines`} />
          </p>
        )}
        {rowsOf(tail)}
      </div>
      <MoreBar
        {...{ level, onLevel: setLevel, next: isShortened ? moreLabel(all, diff) : undefined }}
      />
    </figure>
  );
});

const numberOf = (count: number) => count.toLocaleString('en');

function moreLabel(all: readonly DiffLine[], diff: string): string {
  const isOneLine = all.length < 3;
  return isOneLine
    ? `Show more of ${numberOf(diff.length)} characters`
    : `Show more of ${numberOf(all.length)} lines`;
}

interface DiffRowProps {
  readonly line: DiffLine;
  readonly limits: ClipLimits;
}

function DiffRow({ line: { kind, text, before, after }, limits }: DiffRowProps) {
  const number = kind === 'removed' ? before : after;
  const { head, tail, omitted } = clip(text === '' ? ' ' : text, limits);
  // A hunk line without line numbers is a note about an edit.
  const isNote = kind === 'hunk' && !/^@@ (?:-\d|@@$)/.test(text);
  return (
    <div className="diff-line" data-kind={kind} data-note={isNote || undefined}>
      <span className="diff-number">{number}</span>
      <span className="diff-mark">{marks[kind]}</span>
      <span className="diff-text">
        <VisibleText text={head} />
        {omitted !== undefined && <Gap text={omitted} />}
        <VisibleText text={tail} />
      </span>
    </div>
  );
}

/** How many lines at the start and at the end are shown, and how long each line can be. */
interface DiffLimits {
  readonly head: number;
  readonly tail: number;
  readonly line: ClipLimits;
}

const folded: DiffLimits = {
  ...{ head: 8, tail: 4 },
  line: { headLines: 1, headLength: 160, tailLines: 1, tailLength: 120 },
};

const noLimit = Number.POSITIVE_INFINITY;
const unlimited: DiffLimits = {
  ...{ head: noLimit, tail: 0 },
  line: { headLines: 1, headLength: noLimit, tailLines: 1, tailLength: 0 },
};

/**
 * Returns the limits of a level. Level 0 is the folded diff. Level 1 shows up to 2,000 lines, and
 * each further level ten times as many. A long diff opens in steps, because too many lines at once
 * would freeze the page.
 */
export function limitsAt(level: number): DiffLimits {
  if (level === 0) return folded;
  const factor = 10 ** (level - 1);
  const length = 10_000 * factor;
  return {
    ...{ head: 1500 * factor, tail: 500 * factor },
    line: { headLines: 1, headLength: length, tailLines: 1, tailLength: length },
  };
}

interface CutLines<Line> {
  readonly head: readonly Line[];
  readonly tail: readonly Line[];
  /** The number of omitted lines. */
  readonly between: number;
}

/**
 * Returns the first and the last lines. If only one line would be omitted, all lines are returned,
 * because that would save no space.
 */
export function cutLines<Line>(
  all: readonly Line[],
  { head, tail }: Pick<DiffLimits, 'head' | 'tail'>,
): CutLines<Line> {
  const between = all.length - head - tail;
  if (between <= 1) return { head: all, tail: [], between: 0 };
  return { head: all.slice(0, head), tail: all.slice(-tail), between };
}
