import type { Client } from '@millrace/client';
import { type KeyboardEvent, useState } from 'react';
import { ExportMenu } from './export-menu.tsx';
import { type InspectedState, useInspectedSession } from './model/inspected-session.ts';
import { momentText, type OnMoment, stepFrom, useMoment } from './playback/moment.ts';
import { usePlayback } from './playback/playback.ts';
import { PlaybackControls } from './playback/playback-controls.tsx';
import { Scrubber } from './playback/scrubber.tsx';
import { RecordsPanel } from './records/records-panel.tsx';
import { useSpans } from './timeline/spans.ts';
import { Timeline } from './timeline/timeline.tsx';
import { useZoom, type Zoom } from './timeline/zoom.ts';
import './inspector.css';
import { Button } from '../design/button.tsx';

interface InspectorProps {
  readonly client: Client;
  readonly taskId: string;
  /** The offset of the selected record. Undefined means the current state. */
  readonly at: number | undefined;
  /** Called when the user selects another moment. The caller shows the given state. */
  readonly onMoment: OnMoment;
}

/** Shows a session as a recording: playback, timeline and records. */
export function Inspector({ client, taskId, at, onMoment }: InspectorProps) {
  const [inspected, retry] = useInspectedSession(client, taskId);
  const { model, count } = inspected;
  const { records, axis, checkpoints } = model;
  const [shortenPauses, setShortenPauses] = useState(true);
  const { index, goTo, goToIndex } = useMoment(inspected, at, onMoment);
  const player = usePlayback(model, shortenPauses, goToIndex);
  const spans = useSpans(client, taskId, Math.floor(model.waterfall.size / 4));
  const positionOf = (time: number) => axis.position(Math.min(time, axis.end), shortenPauses);
  const time = axis.times[index] ?? axis.start;
  const zoom = useZoom(axis.lengthMs(shortenPauses), positionOf(time));
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
    // If the last record is selected, playback starts from the beginning.
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
    // biome-ignore lint/a11y/noStaticElementInteractions: the scrubber keys work anywhere in the inspector
    <div className="inspector" onKeyDown={onKeyDown}>
      <header className="inspector-head">
        <PlaybackControls
          {...{
            player,
            isRunning,
            shortenPauses,
            onShortenPauses: setShortenPauses,
            onToggle: toggle,
            onLive: toNow,
          }}
          isLive={at === undefined}
          onStart={() => move(0)}
          onStep={(by) => step(by, false)}
        />
        <p className="inspector-moment">{momentText(model, index)}</p>
        <ExportMenu {...{ taskId, model, at, offset }} />
      </header>
      <InspectorNotes {...{ inspected, retry, at }} />
      <Scrubber {...{ model, count, index, shortenPauses }} window={zoom.window} onIndex={move} />
      <Timeline
        {...{ model, count, index, spans, zoom, shortenPauses, positionOf }}
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

interface InspectorNotesProps {
  readonly inspected: InspectedState;
  readonly at: number | undefined;
  readonly retry: () => void;
}

/**
 * Shows a note about the state of the records: loading, too large, failed, empty, or not reached
 * yet.
 */
function InspectorNotes({ inspected, at, retry }: InspectorNotesProps) {
  const { status, count, through, model } = inspected;
  const last = model.records.at(-1)?.offset ?? 0;
  if (status.state === 'failed') {
    const why = status.error instanceof Error ? status.error.message : 'Unknown error';
    return (
      <div className="inspector-note" data-tone="bad" role="alert">
        <p>{why}</p>
        <Button size="small" onClick={retry}>
          Try again
        </Button>
      </div>
    );
  }
  if (status.state === 'full') {
    return (
      <p className="inspector-note" data-tone="warn">
        This session is too large for the page. These are its first {count.toLocaleString('en')}{' '}
        records. The server has the rest, from offset {through} on.
      </p>
    );
  }
  if (status.state === 'loading') {
    return <p className="inspector-note">Reading records … {count.toLocaleString('en')}</p>;
  }
  if (count === 0) {
    return (
      <p className="inspector-note">
        Nothing was recorded yet. Send a message, and its records appear here.
      </p>
    );
  }
  if (at !== undefined && at > last) {
    return (
      <p className="inspector-note" data-tone="warn">
        The link points to record {at}, but the last record of this session is {last}.
      </p>
    );
  }
  return null;
}

interface KeyHandlers {
  readonly zoom: Pick<Zoom, 'zoomIn' | 'zoomOut' | 'showAll'>;
  readonly toggle: () => void;
  readonly toNow: () => void;
  readonly move: (index: number) => void;
  readonly step: (by: 1 | -1, far: boolean) => void;
}

/** Elements that use these keys themselves. */
const fieldSelector = 'input, select, textarea, [contenteditable]';

/**
 * Returns the action of a key in the inspector. Returns undefined if the key belongs to another
 * element.
 */
export function keyAction(
  event: Pick<KeyboardEvent, 'key' | 'shiftKey' | 'ctrlKey' | 'metaKey' | 'altKey' | 'target'>,
  { zoom, toggle, toNow, move, step }: KeyHandlers,
): (() => void) | undefined {
  const { key, shiftKey, ctrlKey, metaKey, altKey } = event;
  const target = event.target as Element;
  if (ctrlKey || metaKey || altKey || target.closest(fieldSelector) !== null) return undefined;
  switch (key) {
    case 'ArrowRight':
    case 'ArrowUp':
      return () => step(1, shiftKey);
    case 'ArrowLeft':
    case 'ArrowDown':
      return () => step(-1, shiftKey);
    case 'Home':
      return () => move(0);
    case 'End':
      return toNow;
    case ' ':
      // On a focused button, Space presses that button.
      return target.closest('button, summary, a') === null ? toggle : undefined;
    case '+':
    case '=':
      return zoom.zoomIn;
    case '-':
      return zoom.zoomOut;
    case '0':
      return zoom.showAll;
    default:
      return undefined;
  }
}
