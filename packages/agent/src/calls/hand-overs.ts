import type { Attempt, DraftRecord, ToolResultPart } from '@millrace/core';
import type { RunContext } from '../run/context.ts';
import type { PendingCall } from '../run/settings.ts';
import type { HandOff } from '../tool/tool.ts';
import { failure } from './failure.ts';

/** To whom an attempt's calls hand the session over: of several, the first counts. */
export class HandOvers {
  readonly #context: RunContext;
  readonly #at: Attempt;
  #isDone = false;

  constructor(context: RunContext, at: Attempt) {
    this.#context = context;
    this.#at = at;
  }

  /** What the model is told of one that comes too late. */
  reviewed({ call, tool }: PendingCall, part: ToolResultPart): ToolResultPart {
    const isTaken = this.#isDone || this.#context.journal.loop.turn?.handedTo !== undefined;
    if (tool.handsOff === undefined || part.isError || !isTaken) return part;
    return failure(call, 'It was handed to somebody else already.');
  }

  draftsFor({ tool, input }: PendingCall, { isError }: ToolResultPart): readonly DraftRecord[] {
    const { handsOff } = tool;
    if (handsOff === undefined || isError) return [];
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
