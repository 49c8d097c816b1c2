import type { ChosenModel } from '../../contract/agent.ts';
import type { PermissionsConfig } from '../../contract/config.ts';
import { cellWidth } from '../../text/cells/cell-width.ts';
import type { UsageStats } from '../contract/chat-state.ts';
import { sessionUsage } from '../state/usage-stats.ts';
import { formatDuration, formatMoney, formatTokens } from './format-amounts.ts';
import { clipText, type Look, withTone } from './look.ts';

interface StatusOptions {
  readonly chosen: Pick<ChosenModel, 'label' | 'contextTokens'>;
  readonly stats: UsageStats;
  /** The name of the other process that drives the session. Undefined if there is none. */
  readonly holder: string | undefined;
  /** `allow` means that tools run without a question. Default: `ask`. */
  readonly mode?: PermissionsConfig['mode'] | undefined;
}

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

/** The text for each mode. The usual mode needs none. */
const modeText = {
  ask: undefined,
  allow: 'asks nothing (--yes)',
  'read-only': 'read-only',
} as const;

function statusParts({ chosen, stats, holder, mode = 'ask' }: StatusOptions): readonly string[] {
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
    modeText[mode],
    holder === undefined ? chosen.label : `${chosen.label}, driven by ${holder}`,
    ...[contextPart(chosen.contextTokens, stats.contextTokens), used, cost, first, speed],
  ];
  return parts.filter((part) => part !== undefined);
}

/**
 * Formats the time to the first token. A very short time is shown as `< 0.1 s`, never as `0.0 s`.
 */
function formatFirstToken(ms: number): string {
  return ms < 50 ? '< 0.1 s' : formatDuration(ms);
}

function contextPart(size: number | undefined, used: number | undefined): string | undefined {
  if (used === undefined) return undefined;
  if (size === undefined) return `context ${formatTokens(used)}`;
  return `context ${Math.min(100, Math.round((used / size) * 100))}% of ${formatTokens(size)}`;
}
