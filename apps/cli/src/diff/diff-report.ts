import {
  causeText,
  type DiffedSession,
  type DifferenceSide,
  type SessionDiff,
  type SessionDifference,
  type TurnTotals,
  type ValueChange,
  type WorkTotals,
} from '@millrace/agent';
import { unifiedDiff } from '@millrace/tools';
import { formatDuration, formatMoney, formatTokens } from '../chat/render/format-amounts.ts';
import { countOf, textTable } from '../print/text-table.ts';
import { oneLine } from '../text/cells/printable.ts';
import { diffToAnsi } from '../text/diff/diff-to-ansi.ts';
import { TerminalText } from '../text/terminal/terminal-gate.ts';
import type { Theme } from '../text/theme/theme.ts';

interface ReportOptions {
  readonly theme: Theme;
  /** The width of the terminal. Default: unlimited. */
  readonly columns: number | undefined;
}

/** The width of a diff that is not for a terminal. */
const fileWidth = 100;
const maxDiffLines = 60;
const maxValueLength = 120;

/** Formats the comparison of two sessions. Each entry is a line. */
export function diffReport(
  diff: SessionDiff,
  { theme, columns }: ReportOptions,
): readonly TerminalText[] {
  const { a, b, divergence, differences, differenceCount, redactedTurns } = diff;
  const plain = [
    `a  ${sessionLine(a)}`,
    `b  ${sessionLine(b)}`,
    '',
    ...(divergence === undefined
      ? ['The two sessions do not differ.']
      : [
          `First divergence: ${placeText(divergence)}, ${causeText(divergence.cause)}`,
          ...[sideLine('a', divergence.a), sideLine('b', divergence.b)],
        ]),
  ];
  const rest = differences.slice(1);
  const others = textTable([differenceHead, ...rest.map(differenceRow)], {
    ...{ columns, rightAligned: [2, 3] },
  });
  const missing = differenceCount - differences.length;
  const tables = [
    '',
    ...(rest.length === 0 ? [] : ['Differences after it', '', ...others]),
    ...(missing > 0 ? [`… ${countOf(missing, 'more difference')}`] : []),
    ...(rest.length === 0 ? [] : ['']),
    ...turnLines(diff, columns),
    ...(redactedTurns.length === 0
      ? []
      : ['', `Not compared, because items are redacted: turn ${redactedTurns.join(', ')}`]),
  ];
  const shown = divergence && contentDiff(divergence);
  const width = columns || fileWidth;
  const painted = shown
    ? diffToAnsi(shown, { theme, width, maxLines: maxDiffLines, longLines: 'wrap' })
    : '';
  return [
    ...plain.map(lineOf),
    ...(painted === '' ? [] : [lineOf(''), TerminalText.of(TerminalText.painted(painted), '\n')]),
    ...tables.map(lineOf),
  ];
}

function lineOf(text: string): TerminalText {
  return TerminalText.of(text, '\n');
}

function sessionLine({ session, through, turns }: DiffedSession): string {
  return `${session} (${countOf(through, 'record')}, ${countOf(turns, 'turn')})`;
}

function placeText({ turn, attempt, call }: SessionDifference): string {
  const again = attempt > 1 ? `, attempt ${attempt}` : '';
  const of = call === undefined ? '' : `, call ${call.index + 1}${call.name && ` (${call.name})`}`;
  return `turn ${turn}${again}${oneLine(of, maxValueLength)}`;
}

function sideLine(name: string, side: DifferenceSide | undefined): string {
  if (side === undefined) return `${name}  no such record`;
  return `${name}  record ${side.offset} (${side.type})`;
}

/** Returns the difference of texts or values in the format of `diff -u`. */
function contentDiff({ a, b, changes, field }: SessionDifference): string | undefined {
  if (changes !== undefined && field !== 'text' && field !== 'presence')
    return changes.map(changeLines).join('\n');
  const [one, other] = [a?.text?.text, b?.text?.text];
  if (one !== undefined || other !== undefined)
    return unifiedDiff(asLines(one), asLines(other), maxDiffLines).text;
  const [before, after] = [a?.value, b?.value];
  if (before === undefined && after === undefined) return undefined;
  return changeLines({ path: '', a: before, b: after });
}

function asLines(text: string | undefined): string {
  return text === undefined || text === '' ? '' : `${text}\n`;
}

function changeLines({ path, a, b }: ValueChange): string {
  const name = path === '' ? '' : `${path} `;
  const lines: string[] = [];
  if (a !== undefined) lines.push(`-${oneLine(name + JSON.stringify(a), maxDiffLines * 80)}`);
  if (b !== undefined) lines.push(`+${oneLine(name + JSON.stringify(b), maxDiffLines * 80)}`);
  return lines.join('\n');
}

const differenceHead = ['turn', 'cause', 'a', 'b', 'what'];

function differenceRow(one: SessionDifference): readonly string[] {
  const { cause, a, b, message } = one;
  const place = placeText(one).replace(/^turn /, '');
  // The message begins with the turn and the cause, and ends with the records.
  const what = message.replace(/^[^.]*\. /, '').replace(/ \([^()]*\)$/, '');
  const offset = (side: DifferenceSide | undefined) => (side ? String(side.offset) : '–');
  return [place, cause, offset(a), offset(b), oneLine(what, maxValueLength)];
}

const turnHead = ['turn', 'same', 'time', '', 'in', '', 'out', '', 'cost', '', 'model'];
const sideHead = ['', '', 'a', 'b', 'a', 'b', 'a', 'b', 'a', 'b', ''];

/** The number of turns before the first difference that are shown. The others are counted. */
const shownBefore = 2;
const maxTurns = 40;

/** Formats time, tokens and costs of both sessions side by side. */
function turnLines({ turns, a, b }: SessionDiff, columns: number | undefined): readonly string[] {
  const first = turns.findIndex(({ isSame }) => !isSame);
  const start = Math.max(0, first === -1 ? turns.length - maxTurns : first - shownBefore);
  const shown = turns.slice(start, start + maxTurns);
  const rows = shown.map(({ turn, isSame, a: one, b: other }) => [
    String(turn),
    isSame ? 'yes' : 'no',
    ...pairs(one, other),
    models(one, other),
  ]);
  const table = textTable([turnHead, sideHead, ...rows, ['all', '', ...pairs(a, b), '']], {
    ...{ columns, rightAligned: [2, 3, 4, 5, 6, 7, 8, 9] },
  });
  const after = turns.length - start - shown.length;
  const hidden = [
    ...(start === 0 ? [] : [`${countOf(start, 'equal turn')} before`]),
    ...(after === 0 ? [] : [`${countOf(after, 'turn')} after`]),
  ];
  return [
    'Turns',
    '',
    ...table,
    ...(hidden.length === 0 ? [] : [`Not shown: ${hidden.join(', ')}`]),
  ];
}

function pairs(a: WorkTotals | undefined, b: WorkTotals | undefined): readonly string[] {
  const both = (show: (totals: WorkTotals) => string) =>
    [a, b].map((one) => (one === undefined ? '–' : show(one)));
  return [
    ...both(({ durationMs }) => formatDuration(durationMs)),
    ...both(({ usage }) => formatTokens(usage.input)),
    ...both(({ usage }) => formatTokens(usage.output)),
    ...both(({ usage }) => formatMoney(usage.costs) || '–'),
  ];
}

function models(a: TurnTotals | undefined, b: TurnTotals | undefined): string {
  const names = [...new Set([a?.model, b?.model])].filter((name) => name !== undefined);
  return oneLine(names.join(' / '), maxValueLength);
}
