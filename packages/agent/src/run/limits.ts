import {
  type AttemptUsage,
  type Cost,
  compareDecimals,
  type FoldState,
  type Item,
  isDecimal,
  toArray,
  toItem,
  totalUsage,
  transcript,
} from '@millrace/core';
import type { Provider } from '@millrace/providers';
import { AgentError } from '../contract/agent-error.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { Compaction, Limits, RetrySettings } from '../contract/settings.ts';
import { attemptsSince } from '../views/run-views.ts';

/** Throws if a limit, a retry setting or a compaction setting is invalid. */
export function checkLimits(
  limits: Limits,
  retry: RetrySettings,
  compaction: Compaction | undefined,
): void {
  const { maxCost, allowUnknownPrices: _, ...counts } = limits;
  for (const [name, value] of Object.entries(counts)) assertAtLeast(name, value, 1);
  if (maxCost !== undefined && !isCost(maxCost)) throw badCost(maxCost);
  const { attemptsFor = {}, ...times } = retry;
  for (const [name, value] of Object.entries(times))
    assertAtLeast(name, value, name === 'maxAttempts' ? 1 : 0);
  for (const [kind, value] of Object.entries(attemptsFor))
    assertAtLeast(`attemptsFor ${kind}`, value, 1);
  if (compaction === undefined) return;
  assertAtLeast('whenTokens', compaction.whenTokens, 1);
  assertAtLeast('keepSteps', compaction.keepSteps, 1);
}

/** Throws if there is a maximum cost, but a provider cannot report costs in the currency of that maximum. */
export function checkPrices(limits: Limits, providers: readonly Provider[]): void {
  const { maxCost, allowUnknownPrices } = limits;
  if (maxCost === undefined || allowUnknownPrices) return;
  const unpriced = providers.find((provider) => !hasPrices(provider, maxCost.currency));
  if (unpriced !== undefined) throw noPrice(unpriced, maxCost.currency);
}

function hasPrices({ info }: Provider, currency: string): boolean {
  const prices = info?.prices;
  if (prices === undefined) return false;
  return prices === 'reported' || (prices.currency ?? 'USD') === currency;
}

function noPrice({ id, model }: Provider, currency: string): AgentError {
  const message =
    `Cannot use maxCost: the price of ${id}/${model} in ${currency} is unknown. ` +
    "Set its prices in the provider's option info or models, or set limits.allowUnknownPrices to " +
    'leave its cost out';
  return new AgentError('no_price', message, { option: 'maxCost', provider: id, model });
}

function isCost(cost: Cost | null): boolean {
  const { amount, currency } = cost ?? {};
  const isText = typeof amount === 'string' && typeof currency === 'string';
  return isText && isDecimal(amount) && compareDecimals(amount, '0') >= 0;
}

function assertAtLeast(name: string, value: number, least: number): void {
  if (value >= least) return;
  const message = `Cannot use ${name} ${value}: it must be a number of at least ${least}`;
  throw new AgentError('bad_option', message, { option: name });
}

function badCost(cost: Cost): AgentError {
  const message =
    `Cannot use maxCost ${JSON.stringify(cost)}: it must be a cost such as ` +
    "{ amount: '0.50', currency: 'USD' }, with an exact decimal of at least 0";
  return new AgentError('bad_option', message, { option: 'maxCost' });
}

/** Returns the limit that the run has reached, if there is one. */
export function exceededLimit(context: RunContext): string | undefined {
  const { settings, journal } = context;
  const { maxTurns, maxRepeats } = settings.limits;
  if ((journal.loop.run?.turns ?? 0) >= maxTurns) return `${maxTurns} turns`;
  const reached = exceededBudget(context) ?? stopCause(context);
  if (reached !== undefined) return reached;
  if (countRepeats(transcript(journal.state)) >= maxRepeats)
    return `the same call ${maxRepeats} times`;
  return undefined;
}

const maxCauseLength = 200;

/** Returns the cause of the first stop condition that applies. */
function stopCause({ settings, journal }: RunContext): string | undefined {
  const { stopWhen } = settings;
  const { run } = journal.loop;
  if (stopWhen.length === 0 || run === undefined) return undefined;
  const own = toArray(journal.state.items).filter(({ turn }) => turn >= run.firstTurn);
  const check = { steps: run.finishedTurns, items: own.map(toItem) };
  for (const condition of stopWhen) {
    const met = condition(check);
    if (typeof met === 'string' && met !== '') return met.slice(0, maxCauseLength).toWellFormed();
    if (met) return 'stopWhen';
  }
  return undefined;
}

/**
 * Returns the token or cost limit that has been reached. It is the limit of this run, including its
 * sub-agents, or the limit of a run that called this run.
 */
export function exceededBudget(context: RunContext): string | undefined {
  const { settings, parent } = context;
  const { maxTokens, maxCost, allowUnknownPrices } = settings.limits;
  const attempts = attemptsOfRun(context);
  const { input, output, costs } = totalUsage(attempts);
  if (input + output >= maxTokens) return `${maxTokens} tokens`;
  const spent = costs.find(({ currency }) => currency === maxCost?.currency);
  if (maxCost && spent && compareDecimals(spent.amount, maxCost.amount) >= 0)
    return `${maxCost.amount} ${maxCost.currency}`;
  if (maxCost && !allowUnknownPrices && toArray(attempts.usage).some(lacksCost(maxCost.currency)))
    return `no cost in ${maxCost.currency} was reported`;
  return parent?.exceededBudget();
}

/**
 * Returns the usage of the run. If an earlier process started the run, the usage of that process is included.
 * A run that continues a parked session is a new run.
 */
function attemptsOfRun({ journal, initialState }: RunContext): Pick<FoldState, 'usage'> {
  const { run } = journal.loop;
  if (run === undefined || initialState.run !== run.id)
    return attemptsSince(journal.state, initialState);
  const usage = toArray(journal.state.usage).filter(({ turn }) => turn >= run.firstTurn);
  return { usage: { before: undefined, chunk: usage } };
}

/**
 * True if an attempt has usage but no cost in this currency. In this case, the maximum cost cannot be
 * checked.
 */
const lacksCost =
  (currency: string) =>
  ({ usage }: AttemptUsage): boolean =>
    !usage.estimated &&
    usage.input + usage.output > 0 &&
    !usage.costs.some((cost) => cost.currency === currency);

/** Counts the consecutive answers with identical calls, backward from the last answer. */
function countRepeats(items: readonly Item[]): number {
  let last: string | undefined;
  let count = 0;
  for (const item of items.toReversed()) {
    if (item.kind === 'user') return count;
    if (item.kind !== 'assistant') continue;
    const calls = item.parts.flatMap((part) =>
      part.kind === 'tool_call' ? [`${part.name} ${part.arguments}`] : [],
    );
    const callText = calls.join('\n');
    if (calls.length === 0 || (last !== undefined && callText !== last)) return count;
    last = callText;
    count++;
  }
  return count;
}
