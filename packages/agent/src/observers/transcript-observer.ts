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

/** An observer that maintains a transcript. */
export interface TranscriptObserver {
  /** Pass this to `observers`. */
  readonly observe: Observer;
  /** The current state. Undefined before the first record. */
  readonly state: FoldState | undefined;
  /** Returns the items with their committed parts. */
  transcript(): readonly Item[];
  /** Returns the items, including the parts that still stream. */
  live(): readonly Item[];
}

/**
 * Creates an observer that maintains the transcript of one session. Without an argument, it is the
 * session of the first record that the observer receives. The transcript starts with the next record. To
 * include earlier items, pass the session's state.
 */
export function transcriptObserver(from?: SessionId | FoldState): TranscriptObserver {
  const session = typeof from === 'object' ? from.session : from;
  let folder = typeof from === 'object' ? new Folder(from) : undefined;
  /** The error after a gap in the records. Every further record then throws it again. */
  let problem: MillraceError | undefined;

  const observe = (record: LogRecord, [event]: readonly AgentEvent[]): void => {
    const of = folder?.state.session ?? session;
    if (event !== undefined && of !== undefined && event.session !== of) return;
    // A record without events names no session. It is used only if it is the next record.
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
