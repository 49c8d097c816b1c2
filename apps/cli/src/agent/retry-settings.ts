import type { AgentOptions } from '@millrace/agent';

const usual = 4;

/** What passes by itself, given time: a network that is away, a provider that has too much to do. */
const patience: Readonly<Record<string, number>> = { network: 8, overloaded: 8, rate_limit: 8 };

/** About two minutes for what passes by itself; up to five where the provider says how long. */
export const retrySettings: NonNullable<AgentOptions['retry']> = {
  ...{ maxAttempts: usual, attemptsFor: patience },
  ...{ baseDelayMs: 1000, maxDelayMs: 300_000 },
};

/** How often a request is tried that fails so. */
export function attemptsAt(kind: string): number {
  return Object.hasOwn(patience, kind) ? (patience[kind] ?? usual) : usual;
}
