import { compareDecimals, transcript } from '@millrace/core';
import type { RunContext } from './context.ts';
import { repeats } from './repeats.ts';
import { usageSince } from './usage-since.ts';

/** Why a run may not go on, where it may not. */
export function overLimit({ settings, journal, before }: RunContext): string | undefined {
  const { maxTurns, maxTokens, maxCost, maxRepeats } = settings.limits;
  if ((journal.loop.run?.turns ?? 0) >= maxTurns) return `${maxTurns} turns`;
  const { input, output, costs } = usageSince(journal.state, before);
  if (input + output >= maxTokens) return `${maxTokens} tokens`;
  const spent = costs.find(({ currency }) => currency === maxCost?.currency);
  if (maxCost && spent && compareDecimals(spent.amount, maxCost.amount) >= 0)
    return `${maxCost.amount} ${maxCost.currency}`;
  if (repeats(transcript(journal.state)) >= maxRepeats) return `the same call ${maxRepeats} times`;
  return undefined;
}
