import {
  type AgentEvent,
  emptyState,
  Folder,
  type FoldState,
  type Item,
  type LogRecord,
  liveTranscript,
  MillraceError,
  type SessionId,
  transcript,
} from '@millrace/core';
import type { Observer } from '../contract/observer.ts';

/** An observer that keeps a transcript up to date. */
export interface TranscriptObserver {
  /** The observer function. Pass it to `observers`. */
  readonly observe: Observer;
  /** The current state. Undefined before the first record. */
  readonly state: FoldState | undefined;
  /** Returns the items with their committed parts. */
  transcript(): readonly Item[];
  /** Returns the items, including the parts that still stream. */
  live(): readonly Item[];
}

/**
 * Creates an observer that keeps the transcript of one session up to date. Without an argument, it uses the
 * session of the first record that it receives. The transcript starts with the next record. To include
 * earlier items, pass the session's state.
 */
export function transcriptObserver(from?: SessionId | FoldState): TranscriptObserver {
  const session = typeof from === 'object' ? from.session : from;
  let folder = typeof from === 'object' ? new Folder(from) : undefined;
  /** The error that reports a gap in the records. After a gap, every further record throws the same error. */
  let problem: MillraceError | undefined;

  const observe = (record: LogRecord, [event]: readonly AgentEvent[]): void => {
    const of = folder?.state.session ?? session;
    if (event !== undefined && of !== undefined && event.session !== of) return;
    // A record without events does not contain the session id. It is used only if its offset follows the last
    // record.
    if (event === undefined && folder?.state.through !== record.offset - 1) return;
    if (problem !== undefined) throw problem;
    folder ??= event && new Folder(stateBefore(record, event.session));
    const folded = folder?.add(record);
    if (folded?.outcome !== 'gap') return;
    problem = gapAfter(folded.state, record);
    throw problem;
  };

  return {
    observe,
    get state() {
      return folder?.state;
    },
    transcript: () => (folder === undefined ? [] : transcript(folder.state)),
    live: () => (folder === undefined ? [] : liveTranscript(folder.state)),
  };
}

function stateBefore({ offset }: LogRecord, session: SessionId): FoldState {
  return { ...emptyState(session), through: offset - 1 };
}

function gapAfter({ session, through }: FoldState, { offset }: LogRecord): MillraceError {
  const message =
    `Cannot keep the transcript of session ${session}: record ${offset} does not follow ` +
    `offset ${through}. Create the observer from the session's state`;
  return new MillraceError('gap', message, { session, offset, through });
}
