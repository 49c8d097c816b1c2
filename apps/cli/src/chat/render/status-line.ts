import { cachedPercent } from '@millrace/core';
import { modeTexts } from '../../agent/session-mode.ts';
import type { ChosenModel } from '../../contract/agent.ts';
import type { SessionMode } from '../../contract/config.ts';
import { cellWidth } from '../../text/cells/cell-width.ts';
import { oneLine } from '../../text/cells/printable.ts';
import type { UsageStats } from '../contract/chat-state.ts';
import { sessionUsage } from '../state/usage-stats.ts';
import { formatDuration, formatMoney, formatTokens } from './format-amounts.ts';
import { clipText, type Look, withTone } from './look.ts';

interface StatusOptions {
  readonly chosen: Pick<ChosenModel, 'label' | 'contextTokens'>;
  readonly stats: UsageStats;
  /** False while earlier records are read, so that the sums in `stats` are incomplete. Default: true. */
  readonly isWhole?: boolean | undefined;
  /**
   * The name of the other process that drives the session. Undefined if no other process drives it.
   */
  readonly holder: string | undefined;
  /** The names of the MCP servers that are not connected yet. Default: none. */
  readonly connecting?: readonly string[] | undefined;
  /** The number of background commands that run now. Default: 0. */
  readonly running?: number | undefined;
  readonly mode: SessionMode;
  /** The folder and the branch, such as `orders (main)`. Default: not shown. */
  readonly place?: string | undefined;
  /** Texts of extensions. Default: none. */
  readonly texts?: readonly string[] | undefined;
}

/** Maximum length of a text of an extension. */
const maxTextLength = 60;

/** A narrower window gets two lines, if it has enough rows. */
const minOneLineWidth = 60;
const minTwoLineRows = 14;

/** Draws the status line, or two status lines in a narrow window. */
export function statusLines(look: Look, status: StatusOptions, rows: number): readonly string[] {
  if (look.width >= minOneLineWidth || rows < minTwoLineRows) return [statusLine(look, status)];
  const { first, second } = statusParts(status);
  const lines = [first, second].map((parts) => fittingParts(look, parts));
  return lines.filter((line) => line !== '').map((line) => withTone(look, 'dim', line));
}

/** Draws the status line. It shows as many values as fit, the most important first. */
export function statusLine(look: Look, status: StatusOptions): string {
  const { first, second } = statusParts(status);
  return withTone(look, 'dim', fittingParts(look, [...first, ...second]));
}

/** A value of the status line. A low `rank` means that it is important. */
interface StatusPart {
  readonly text: string;
  readonly rank: number;
}

/** Joins the most important parts that fit, in the order of `parts`. */
function fittingParts({ width }: Look, parts: readonly StatusPart[]): string {
  const shown = new Set<StatusPart>();
  const textOf = () =>
    parts
      .filter((part) => shown.has(part))
      .map(({ text }) => text)
      .join(' · ');
  for (const part of parts.toSorted((one, other) => one.rank - other.rank)) {
    shown.add(part);
    if (shown.size > 1 && cellWidth(textOf()) > width) shown.delete(part);
  }
  return shown.size === 0 ? '' : clipText(textOf(), width);
}

interface StatusParts {
  /** The mode, the model and what happens now. */
  readonly first: readonly StatusPart[];
  /** The place, and the use of tokens. */
  readonly second: readonly StatusPart[];
}

function statusParts(status: StatusOptions): StatusParts {
  const { chosen, stats, holder, mode, connecting = [], running = 0, texts = [], place } = status;
  const { isWhole = true } = status;
  const usage = sessionUsage(stats);
  const { input, output, costs, estimated } = usage;
  const { firstTokenMs, tokensPerSecond } = stats;
  const about = estimated ? '~' : '';
  const part = (rank: number, text: string | undefined): readonly StatusPart[] =>
    text === undefined ? [] : [{ rank, text }];
  const given = (isGiven: boolean, text: string) => (isGiven ? text : undefined);
  const cached = isWhole && usage.cacheRead > 0 ? cachedPercent(usage) : undefined;
  return {
    first: [
      ...part(0, modeTexts[mode].label),
      ...part(1, holder === undefined ? chosen.label : `${chosen.label}, driven by ${holder}`),
      ...part(2, given(connecting.length > 0, `connecting to ${connecting.join(', ')}`)),
      ...part(3, given(!isWhole, 'reading earlier messages')),
      ...part(3, given(running > 0, `${running} in the background (/tasks)`)),
      ...texts.flatMap((text) => part(8, oneLine(text, maxTextLength))),
    ],
    second: [
      ...part(5, place === undefined || place === '' ? undefined : oneLine(place, maxTextLength)),
      ...part(4, contextPart(chosen.contextTokens, stats.contextTokens)),
      ...part(7, cached === undefined ? undefined : `cache ${cached}%`),
      ...part(6, given(isWhole && costs.length > 0, formatMoney(costs))),
      ...part(
        9,
        given(
          isWhole && input + output > 0,
          `${about}${formatTokens(input)} in, ${formatTokens(output)} out`,
        ),
      ),
      ...part(
        10,
        firstTokenMs === undefined ? undefined : `first token ${formatFirstToken(firstTokenMs)}`,
      ),
      ...part(
        11,
        tokensPerSecond === undefined ? undefined : `${Math.round(tokensPerSecond)} tokens/s`,
      ),
    ],
  };
}

/**
 * Formats the time to the first token. Very short times are shown as `< 0.1 s`, never as `0.0 s`.
 */
function formatFirstToken(ms: number): string {
  return ms < 50 ? '< 0.1 s' : formatDuration(ms);
}

function contextPart(size: number | undefined, used: number | undefined): string | undefined {
  if (used === undefined) return undefined;
  if (size === undefined) return `context ${formatTokens(used)}`;
  return `context ${Math.min(100, Math.round((used / size) * 100))}% of ${formatTokens(size)}`;
}
