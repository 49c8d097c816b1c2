import type { Attempt, DraftRecord, ToolResultPart } from '@millrace/core';
import type { PendingCall } from '../run/settings.ts';
import type { HandOff } from '../tool/tool.ts';

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
    const reason = reasonOf(handsOff, input);
    const fact = { type: 'handed_off', to, ...(reason !== undefined && { reason }) } as const;
    return [{ ...this.#at, fact }];
  }
}

/** It is done either way. */
function reasonOf(handsOff: HandOff, input: unknown): string | undefined {
  try {
    return handsOff.reason(input);
  } catch {
    return undefined;
  }
}
