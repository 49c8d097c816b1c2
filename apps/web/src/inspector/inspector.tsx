import type { Client } from '@millrace/client';
import { type KeyboardEvent, useState } from 'react';
import { ExportMenu } from './export-menu.tsx';
import { InspectorNotes } from './inspector-notes.tsx';
import { keyAction } from './key-action.ts';
import { momentText, stepFrom } from './moment.ts';
import { RecordsPanel } from './records-panel.tsx';
import { Scrubber } from './scrubber.tsx';
import { Timeline } from './timeline.tsx';
import { Transport } from './transport.tsx';
import { useInspected } from './use-inspected.ts';
import { type OnMoment, useMoment } from './use-moment.ts';
import { usePlayback } from './use-playback.ts';
import { useSpans } from './use-spans.ts';
import { useZoom } from './use-zoom.ts';
import './inspector.css';

export interface InspectorProps {
  readonly client: Client;
  readonly taskId: string;
  /** The offset of the record that is looked at; undefined for what is now. */
  readonly at: number | undefined;
  /** Somebody goes elsewhere: whoever shows the session shows this state, or what is now. */
  readonly onMoment: OnMoment;
}

/** A session as a recording: its records on a time line that one can go along. */
export function Inspector({ client, taskId, at, onMoment }: InspectorProps) {
  const [inspected, retry] = useInspected(client, taskId);
  const { model, count } = inspected;
  const { records, axis, checkpoints } = model;
  const [isShort, setIsShort] = useState(true);
  const { index, goTo, goToIndex } = useMoment(inspected, at, onMoment);
  const player = usePlayback(model, isShort, goToIndex);
  const spans = useSpans(client, taskId, Math.floor(model.waterfall.size / 4));
  const positionOf = (time: number) => axis.position(Math.min(time, axis.end), isShort);
  const time = axis.times[index] ?? axis.start;
  const zoom = useZoom(axis.lengthMs(isShort), positionOf(time));
  const isRunning = checkpoints.head.run !== undefined;

  const move = (to: number) => {
    player.pause();
    goToIndex(to);
  };
  const toNow = () => {
    player.pause();
    goTo(undefined);
  };
  const toggle = () => {
    if (player.isPlaying) return player.pause();
    // From the end it plays all of it again.
    const from = at === undefined || index >= count - 1 ? 0 : index;
    goToIndex(from);
    player.play(from);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const action = keyAction(event, { zoom, toggle, toNow, move, step });
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  const step = (by: 1 | -1, far: boolean) =>
    move(stepFrom(records, index, by, far ? 'fact' : 'record'));
  const offset = records[index]?.offset;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys of the scrubber, wherever the focus is in here
    <div className="inspector" onKeyDown={onKeyDown}>
      <header className="inspector-head">
        <Transport
          {...{ player, isRunning, isShort, onShort: setIsShort, onToggle: toggle, onLive: toNow }}
          isLive={at === undefined}
          onStart={() => move(0)}
          onStep={(by) => step(by, false)}
        />
        <p className="inspector-moment">{momentText(model, index)}</p>
        <ExportMenu {...{ taskId, model, at, offset }} />
      </header>
      <InspectorNotes {...{ inspected, retry, at }} />
      <Scrubber {...{ model, count, index, isShort }} window={zoom.window} onIndex={move} />
      <Timeline
        {...{ model, count, index, spans, zoom, isShort, positionOf }}
        onOffset={(to) => {
          player.pause();
          goTo(to);
        }}
      />
      <RecordsPanel
        {...{ model, count, index }}
        onIndex={move}
        readRequest={(of) => client.task(taskId).request(of)}
      />
    </div>
  );
}
