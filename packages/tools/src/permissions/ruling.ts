import type { Decision, ReadyRule } from './permission-rule.ts';
import type { Reading } from './reading/reading.ts';

/** A decision, with why in words for whoever is told. */
export interface Ruling {
  readonly decision: Decision;
  readonly reason: string;
  /** What it looks at, where it is allowed because it only looks. Where that leads is not known here. */
  readonly readings?: readonly Reading[] | undefined;
}

const strictness = { allow: 0, ask: 1, deny: 2 } as const;

/** The strictest of several, the first of those that are alike. */
export function strictest(rulings: readonly Ruling[]): Ruling | undefined {
  return rulings.toSorted((a, b) => strictness[b.decision] - strictness[a.decision])[0];
}

/** Which of the rules that fit decides: one that denies, else the last, unless that one yields. */
export function rulingRule(fitting: readonly ReadyRule[]): ReadyRule | undefined {
  const last = fitting.at(-1);
  const asked = fitting.findLast(({ rule }) => rule.decision === 'ask');
  const counts = last?.rule.yields ? (asked ?? last) : last;
  return fitting.find(({ rule }) => rule.decision === 'deny') ?? counts;
}

export function rulingOf({ rule, isRemembered }: ReadyRule, what: string): Ruling {
  const { decision, reason } = rule;
  const by = isRemembered ? 'as decided before in this session' : 'by a rule';
  const verb = { allow: 'is allowed', ask: 'is to be asked for', deny: 'is denied' }[decision];
  return { decision, reason: `${what} ${verb} ${by}${reason === undefined ? '' : `: ${reason}`}` };
}
