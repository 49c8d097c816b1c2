import type { StopReason } from '@millrace/core';
import type { Ending, Expected, ExpectedCall, Signed } from './expected.ts';

interface Outcome {
  readonly ends: Ending;
  readonly rawStop: string | undefined;
  /** The common word for the raw one, before any rule. */
  readonly mapped: StopReason;
  readonly calls: readonly ExpectedCall[];
  readonly isRefused: boolean;
  readonly state: readonly string[];
  readonly signed: readonly Signed[];
}

type Settled = Pick<
  Expected,
  'ends' | 'rawStop' | 'stop' | 'calls' | 'mayFail' | 'state' | 'signed'
>;

/** The rules that all wires share. Of a response that failed no call is whole and nothing goes back. */
export function settle(outcome: Outcome): Settled {
  const { ends, rawStop, mapped, calls, isRefused, state, signed } = outcome;
  if (ends !== 'terminal') {
    const cut = calls.map((call) => ({ ...call, isWhole: false }));
    return { ends, rawStop, stop: 'error', calls: cut, state: [], signed: [] };
  }
  const base = { ends, rawStop, calls, state, signed };
  const isWithCall = calls.some(({ isWhole }) => isWhole);
  // A call that is there but invalid is answered with an error, so the stop stays.
  if (mapped === 'tool_use' && calls.length === 0) return { ...base, stop: 'stop', mayFail: true };
  if (mapped === 'stop' && isRefused) return { ...base, stop: 'refusal' };
  if (mapped === 'stop' && isWithCall) return { ...base, stop: 'tool_use' };
  if (mapped === 'error') return { ...base, stop: 'error', mayFail: true };
  return { ...base, stop: mapped };
}
