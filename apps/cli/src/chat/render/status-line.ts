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
  /**
   * The name of the other process that drives the session. Undefined if no other process drives it.
   */
  readonly holder: string | undefined;
  /** The names of the MCP servers that are not connected yet. Default: none. */
  readonly connecting?: readonly string[] | undefined;
  /** The number of background commands that run now. Default: 0. */
  readonly running?: number | undefined;
  readonly mode: SessionMode;
  /** Texts of extensions. Default: none. */
  readonly texts?: readonly string[] | undefined;
}

/** Maximum length of a text of an extension. */
const maxTextLength = 60;

/** Draws the status line. It shows as many values as fit, the most important first. */
export function statusLine(look: Look, status: StatusOptions): string {
  const parts = statusParts(status);
  let text = clipText(parts[0] ?? '', look.width);
  for (const part of parts.slice(1)) {
    const longer = `${text} · ${part}`;
    if (cellWidth(longer) > look.width) break;
    text = longer;
  }
  return withTone(look, 'dim', text);
}

function statusParts({
  chosen,
  stats,
  holder,
  mode,
  connecting = [],
  running = 0,
  texts = [],
}: StatusOptions): readonly string[] {
  const { input, output, costs, estimated } = sessionUsage(stats);
  const { firstTokenMs, tokensPerSecond } = stats;
  const about = estimated ? '~' : '';
  const used =
    input + output > 0
      ? `${about}${formatTokens(input)} in, ${formatTokens(output)} out`
      : undefined;
  const cost = costs.length > 0 ? formatMoney(costs) : undefined;
  const first =
    firstTokenMs === undefined ? undefined : `first token ${formatFirstToken(firstTokenMs)}`;
  const speed =
    tokensPerSecond === undefined ? undefined : `${Math.round(tokensPerSecond)} tokens/s`;
  const parts = [
    modeTexts[mode].label,
    holder === undefined ? chosen.label : `${chosen.label}, driven by ${holder}`,
    connecting.length === 0 ? undefined : `connecting to ${connecting.join(', ')}`,
    running === 0 ? undefined : `${running} in the background (/tasks)`,
    ...texts.map((text) => oneLine(text, maxTextLength)),
    ...[contextPart(chosen.contextTokens, stats.contextTokens), used, cost, first, speed],
  ];
  return parts.filter((part) => part !== undefined);
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
