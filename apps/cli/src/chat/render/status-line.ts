import type { Chosen } from '../../contract/agent.ts';
import { cellWidth } from '../../text/cells/cell-width.ts';
import type { Numbers } from '../contract/chat-state.ts';
import { totalOf } from '../state/usage-stats.ts';
import { duration, money, tokens } from './format-amounts.ts';
import { clipped, inTone, type Look } from './look.ts';

interface Status {
  readonly chosen: Pick<Chosen, 'label' | 'contextTokens'>;
  readonly numbers: Numbers;
  /** Who drives, where that is somebody else. */
  readonly holder: string | undefined;
}

/** The numbers in one line: as many as fit, the most telling first. */
export function statusLine(look: Look, status: Status): string {
  const parts = statusParts(status);
  let text = clipped(parts[0] ?? '', look.width);
  for (const part of parts.slice(1)) {
    const longer = `${text} · ${part}`;
    if (cellWidth(longer) > look.width) break;
    text = longer;
  }
  return inTone(look, 'dim', text);
}

function statusParts({ chosen, numbers, holder }: Status): readonly string[] {
  const { input, output, costs, estimated } = totalOf(numbers);
  const { firstTokenMs, tokensPerSecond } = numbers;
  const about = estimated ? '~' : '';
  const used =
    input + output > 0 ? `${about}${tokens(input)} in, ${tokens(output)} out` : undefined;
  const cost = costs.length > 0 ? money(costs) : undefined;
  const first = firstTokenMs === undefined ? undefined : `first token ${shortest(firstTokenMs)}`;
  const speed =
    tokensPerSecond === undefined ? undefined : `${Math.round(tokensPerSecond)} tokens/s`;
  const parts = [
    holder === undefined ? chosen.label : `${chosen.label}, followed: ${holder} drives`,
    ...[contextPart(chosen.contextTokens, numbers.contextTokens), used, cost, first, speed],
  ];
  return parts.filter((part) => part !== undefined);
}

/** Nothing takes no time. */
function shortest(ms: number): string {
  return ms < 50 ? '< 0.1 s' : duration(ms);
}

function contextPart(size: number | undefined, used: number | undefined): string | undefined {
  if (used === undefined) return undefined;
  if (size === undefined) return `context ${tokens(used)}`;
  return `context ${Math.min(100, Math.round((used / size) * 100))}% of ${tokens(size)}`;
}
