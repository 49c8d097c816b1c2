import type { Attempt, DraftRecord, ToolResultPart } from '@millrace/core';
import type { PendingCall } from '../run/settings.ts';

/** To whom an attempt's calls hand the session over: of several, the first counts. */
export class HandOvers {
  readonly #at: Attempt;
  #isDone = false;

  constructor(at: Attempt) {
    this.#at = at;
  }

  draftsFor({ tool, input }: PendingCall, { isError }: ToolResultPart): readonly DraftRecord[] {
    const { handsOff } = tool;
    if (handsOff === undefined || isError || this.#isDone) return [];
    this.#isDone = true;
    const to = handsOff.to().name;
    const reason = handsOff.reason(input);
    const fact = { type: 'handed_off', to, ...(reason !== undefined && { reason }) } as const;
    return [{ ...this.#at, fact }];
  }
}
