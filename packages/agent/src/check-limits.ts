import { compareDecimals, isDecimal } from '@millrace/core';
import { AgentError } from './errors/agent-error.ts';
import type { Limits, RetrySettings } from './run/settings.ts';

/** Refuses what no run could live with, before there is one. */
export function checkLimits({ maxCost, ...counts }: Limits, retry: RetrySettings): void {
  for (const [name, value] of Object.entries(counts)) assertAtLeast(name, value, 1);
  if (maxCost !== undefined && !isPrice(maxCost.amount)) throw badCost(maxCost.amount);
  const { attemptsFor = {}, ...times } = retry;
  for (const [name, value] of Object.entries(times))
    assertAtLeast(name, value, name === 'maxAttempts' ? 1 : 0);
  for (const [kind, value] of Object.entries(attemptsFor))
    assertAtLeast(`attemptsFor ${kind}`, value, 1);
}

function isPrice(amount: string): boolean {
  return isDecimal(amount) && compareDecimals(amount, '0') >= 0;
}

function assertAtLeast(name: string, value: number, least: number): void {
  if (value >= least) return;
  const message = `Cannot use ${name} ${value}: it is a number, ${least} or more`;
  throw new AgentError('bad_option', message, { option: name });
}

function badCost(amount: string): AgentError {
  const message = `Cannot use maxCost ${amount}: it is an exact decimal such as 0.50, 0 or more`;
  return new AgentError('bad_option', message, { option: 'maxCost' });
}
