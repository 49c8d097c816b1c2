import { memo, useMemo, useState } from 'react';
import { Button } from '../../design/button.tsx';
import type { Labels } from '../../labels/labels.ts';
import { countText, numberText, useLabels } from '../../labels/use-labels.ts';
import { CopyButton } from '../../markdown/copy-button.tsx';
import { onDemand } from '../../on-demand/on-demand.ts';
import { type DiffLine, diffLines } from './diff.ts';
import type { WordPiece } from './diff-sides.ts';
import { type ClipLimits, clip, Gap, MoreBar, omittedText } from './long-text.tsx';
import { VisibleText } from './visible-text.tsx';
import './diff-view.css';

interface DiffViewProps {
  readonly diff: string;
  /** False if the diff is made from the input of a call, so that no line names a file. Default: true. */
  readonly hasFiles?: boolean;
  /** If true, the view initially shows only the first and last lines, without a scroll area. */
  readonly isFolded?: boolean;
  /**
   * If true, the view shows all lines, without a scroll area. The caller must limit the number of
   * lines.
   */
  readonly isWhole?: boolean;
}

const marks = { added: '+', removed: '−', same: '', hunk: '', file: '' } as const;

/**
 * The code that compares words and creates the side-by-side view. Until it is loaded, diffs are
 * unified.
 */
export const diffSides = onDemand(() => import('./diff-sides.ts'));

type DiffSides = typeof import('./diff-sides.ts');

/** True if the user's last choice was the side-by-side view. New diffs then start in this view. */
let startsWithSides = false;

/**
 * A diff, unified or side by side. Colors and signs mark changed lines. A stronger color marks
 * changed words.
 */
export const DiffView = memo(function DiffView(props: DiffViewProps) {
  const t = useLabels();
  const { diff, hasFiles = true, isFolded = false, isWhole = false } = props;
  const [level, setLevel] = useState(0);
  const [hasSides, setSides] = useState(startsWithSides);
  const onSides = () => {
    startsWithSides = !hasSides;
    setSides(startsWithSides);
  };
  const all = useMemo(() => diffLines(diff, hasFiles), [diff, hasFiles]);
  const limits = isWhole ? unlimited : limitsAt(isFolded ? level : level + 1);
  const { head, tail, between } = cutLines(all, limits);
  const isShortened =
    between > 0 || all.some(({ text }) => clip(text, limits.line).omitted !== undefined);
  const sides = diffSides.useLoaded(true);
  const View = hasSides && sides !== undefined ? SideLines : UnifiedLines;
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
        <span className="diff-switch" hidden={sides === undefined}>
          <Button size="small" look="quiet" onClick={onSides}>
            {hasSides ? t.unified : t.sideBySide}
          </Button>
        </span>
        <CopyButton text={diff} label={t.copyTheDiff} />
      </figcaption>
      <div
        className="diff-lines"
        // The element is focusable, so that keyboard users can scroll it.
        tabIndex={isWhole ? undefined : 0}
        data-all={!isWhole && (!isFolded || level > 0)}
      >
        <View lines={head} limits={limits.line} sides={sides} />
        {between > 0 && (
          <p className="diff-more">
            <Gap text={t.lineCount(numberText(t, between))} />
          </p>
        )}
        <View lines={tail} limits={limits.line} sides={sides} />
      </div>
      <MoreBar
        {...{ level, onLevel: setLevel, next: isShortened ? moreLabel(all, diff, t) : undefined }}
      />
    </figure>
  );
});

function moreLabel(all: readonly DiffLine[], diff: string, t: Labels): string {
  const isOneLine = all.length < 3;
  return isOneLine
    ? t.showMoreOf(countText(t, diff.length))
    : t.showMoreOf(t.lineCount(numberText(t, all.length)));
}

interface LinesProps {
  readonly lines: readonly DiffLine[];
  readonly limits: ClipLimits;
  readonly sides: DiffSides | undefined;
}

function UnifiedLines({ lines, limits, sides }: LinesProps) {
  const words = useMemo(() => sides?.changedWords(lines), [sides, lines]);
  return lines.map((line, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other identity
    <DiffRow key={at} {...{ line, limits, words: words?.get(line) }} />
  ));
}

function SideLines({ lines, limits, sides }: LinesProps) {
  const words = useMemo(() => sides?.changedWords(lines), [sides, lines]);
  return sides?.sideRows(lines).map((row, at) => {
    if (row.type === 'note')
      // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other identity
      return <DiffRow key={at} line={row.line} limits={limits} />;
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other identity
      <div key={at} className="diff-pair">
        {[row.before, row.after].map((line, side) =>
          line === undefined ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: a row has two sides
            <div key={side} className="diff-line" data-kind="none" />
          ) : (
            <DiffRow
              // biome-ignore lint/suspicious/noArrayIndexKey: a row has two sides
              key={side}
              {...{ line, limits, words: words?.get(line), isBefore: side === 0 }}
            />
          ),
        )}
      </div>
    );
  });
}

interface DiffRowProps {
  readonly line: DiffLine;
  readonly limits: ClipLimits;
  /** The line in pieces, with marks on changed words. Undefined if the line was not compared. */
  readonly words?: readonly WordPiece[] | undefined;
  /** True for a line on the left of a side-by-side view. */
  readonly isBefore?: boolean;
}

function DiffRow({ line, limits, words, isBefore = false }: DiffRowProps) {
  const t = useLabels();
  const { kind, text, before, after } = line;
  const number = kind === 'removed' || isBefore ? before : after;
  const { head, tail, omitted } = clip(text === '' ? ' ' : text, limits);
  // A hunk line without line numbers contains a note about an edit.
  const isNote = kind === 'hunk' && !/^@@ (?:-\d|@@$)/.test(text);
  return (
    <div className="diff-line" data-kind={kind} data-note={isNote || undefined}>
      <span className="diff-number">{number}</span>
      <span className="diff-mark">{marks[kind]}</span>
      <span className="diff-text">
        {words !== undefined && omitted === undefined ? (
          words.map(wordPiece)
        ) : (
          <>
            <VisibleText text={head} />
            {omitted !== undefined && <Gap text={omittedText(t, omitted)} />}
            <VisibleText text={tail} />
          </>
        )}
      </span>
    </div>
  );
}

function wordPiece({ text, isChanged }: WordPiece, index: number) {
  return (
    <span key={index} className={isChanged ? 'diff-word' : undefined}>
      <VisibleText text={text} />
    </span>
  );
}

/** The limits of a diff: the number of lines at the start and at the end, and the length of a line. */
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
 * Returns the limits for a level. Level 0 is the folded diff. Level 1 shows up to 2,000 lines, and
 * each further level shows ten times as many. A long diff opens in steps, because rendering too
 * many lines would freeze the page.
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
 * because the gap would need a line too.
 */
export function cutLines<Line>(
  all: readonly Line[],
  { head, tail }: Pick<DiffLimits, 'head' | 'tail'>,
): CutLines<Line> {
  const between = all.length - head - tail;
  if (between <= 1) return { head: all, tail: [], between: 0 };
  return { head: all.slice(0, head), tail: all.slice(-tail), between };
}
