import { type LogRecord, sessionId } from '@millrace/core';
import { type KeyboardEvent, type ReactNode, useMemo, useState } from 'react';
import { ActivityLine } from '../chat/activity-line.tsx';
import type { ChatSource } from '../chat/state/chat-source.ts';
import { TranscriptView } from '../chat/transcript/transcript-view.tsx';
import { useLabels } from '../labels/use-labels.ts';
import { ChatFrame } from '../session/chat.tsx';
import { keyAction } from './key-action.ts';
import { SessionModel } from './model/session-model.ts';
import { PastSourceFactory } from './past-source.ts';
import { indexOfMoment, momentText, stepFrom } from './playback/moment.ts';
import { usePlayback } from './playback/playback.ts';
import { PlaybackControls } from './playback/playback-controls.tsx';
import { Scrubber } from './playback/scrubber.tsx';
import { wholeTrack } from './playback/track.ts';
import { turnSummary } from './playback/turn-preview.tsx';
import './inspector.css';
import './timeline/timeline.css';

/** The properties of `Replay`. */
export interface ReplayProps {
  /** The id of the session. */
  readonly session: string;
  /** All records of the session, in order. */
  readonly records: readonly LogRecord[];
  /** Returns the bytes of a blob that a record references. Default: attachments cannot be shown. */
  readonly blob?: ((hash: string) => Promise<Blob>) | undefined;
  /** Content above the conversation. Default: none. */
  readonly header?: ReactNode;
}

const noBlob = () => Promise.reject(new Error('The recording does not contain this attachment'));
const noMoments = { a: undefined, b: undefined };
const noZoom = { zoomIn: () => {}, zoomOut: () => {}, showAll: () => {} };

/**
 * Plays a recorded session with its original timing. It needs no server, because it computes the
 * conversation at each moment from the records. At first it shows the end of the session. Give its parent
 * element a height.
 */
export function Replay({ session, records: given, blob = noBlob, header }: ReplayProps) {
  const t = useLabels();
  const model = useMemo(() => {
    const created = new SessionModel(sessionId(session));
    created.add(given);
    return created;
  }, [session, given]);
  const { records, axis, checkpoints } = model;
  const lastIndex = records.length - 1;
  // Undefined means the last record.
  const [at, setAt] = useState<number>();
  const [shortenPauses, setShortenPauses] = useState(true);
  const index = indexOfMoment(records, at);
  const goToIndex = (to: number) =>
    setAt(to >= lastIndex ? undefined : records[Math.max(0, to)]?.offset);
  const player = usePlayback(model, shortenPauses, goToIndex);
  const source = useSourceAt(model, at, blob);
  const track = useMemo(
    () => wholeTrack(model, shortenPauses, { from: 0, to: axis.lengthMs(shortenPauses) }),
    [model, axis, shortenPauses],
  );
  const select = (offset: number | undefined) => {
    player.pause();
    goToIndex(indexOfMoment(records, offset));
  };
  const toggle = () => {
    if (player.isPlaying) return player.pause();
    // If the last record is shown, playback starts from the beginning.
    const from = index >= lastIndex ? 0 : index;
    goToIndex(from);
    player.play(from);
  };
  const step = (by: 1 | -1, far: boolean) =>
    select(records[stepFrom(records, index, by, far ? 'fact' : 'record')]?.offset);
  const toStart = () => select(records[0]?.offset);
  const toNow = () => select(undefined);
  const onKeyDown = (event: KeyboardEvent) => {
    const action = keyAction(event, { zoom: noZoom, toggle, toNow, toStart, step });
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  const text = momentText(model, index, t);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the scrubber keys work anywhere in the replay
    <div className="replay" onKeyDown={onKeyDown}>
      {header}
      <ChatFrame isPast={at !== undefined}>
        <TranscriptView source={source} emptyText={t.noRecords} />
        <div className="chat-foot">
          <div className="chat-foot-main">
            <ActivityLine source={source} isPast hasEnded={at === undefined} />
          </div>
        </div>
      </ChatFrame>
      <footer className="replay-foot">
        <div className="inspector-head">
          <PlaybackControls
            {...{ player, shortenPauses, onShortenPauses: setShortenPauses, onToggle: toggle }}
            isRecording
            isRunning={checkpoints.head.run !== undefined}
            isLive={at === undefined}
            onLive={toNow}
            onStart={toStart}
            onStep={(by) => step(by, false)}
          />
          <p className="inspector-moment">{text}</p>
        </div>
        <Scrubber
          {...{ track, text, moments: noMoments }}
          offset={records[index]?.offset ?? 0}
          last={records.at(-1)?.offset ?? 0}
          preview={(mark, next) => turnSummary(model, mark.offset, next?.offset)}
          onOffset={select}
        />
      </footer>
    </div>
  );
}

/** Returns the conversation at a record. Undefined means the last record. */
function useSourceAt(
  model: SessionModel,
  at: number | undefined,
  blob: ChatSource['blob'],
): ChatSource {
  const factory = useMemo(() => new PastSourceFactory(blob), [blob]);
  return useMemo(() => {
    const { checkpoints } = model;
    const state = at === undefined ? checkpoints.head : checkpoints.stateAt(at);
    return factory.at(state, model.factsUpTo(state.through));
  }, [factory, model, at]);
}
