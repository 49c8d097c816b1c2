import type { JsonObject, LogRecord } from '@millrace/core';

/** What a journal has to know of a session, besides its items. A fold of the log, like these. */
export interface JournalFold {
  /** The number of the last turn there was. */
  readonly lastTurn: number;
  /** The one that was started and is not finished. */
  readonly turn: number | undefined;
  /** The offset at which the last run ended. */
  readonly lastRunEnd: number;
  /** Those that wait, in order. */
  readonly commands: readonly QueuedCommand[];
}

export interface QueuedCommand {
  readonly key: string;
  readonly command: JsonObject;
  readonly offset: number;
  /** Milliseconds since 1970. */
  readonly time: number;
}

export const emptyJournal: JournalFold = {
  lastTurn: 0,
  turn: undefined,
  lastRunEnd: 0,
  commands: [],
};

export function foldJournal(fold: JournalFold, record: LogRecord): JournalFold {
  const { fact, turn, offset, time } = record;
  switch (fact?.type) {
    case 'turn_started':
      return { ...fold, turn, lastTurn: Math.max(fold.lastTurn, turn) };
    case 'turn_finished':
      return fold.turn === turn ? { ...fold, turn: undefined } : fold;
    case 'run_finished':
      return { ...fold, lastRunEnd: offset };
    case 'command_queued': {
      const { key, command } = fact;
      return { ...fold, commands: [...fold.commands, { key, command, offset, time }] };
    }
    case 'command_consumed':
      return { ...fold, commands: fold.commands.filter(({ key }) => key !== fact.key) };
    default:
      return fold;
  }
}
