import type { Client } from '@millrace/client';
import type { LogRecord } from '@millrace/core';
import { type KeyboardEvent, useMemo, useState } from 'react';
import { Button } from '../design/button.tsx';
import { numberText, useLabels } from '../labels/use-labels.ts';
import type { ComparedMoments } from './compare/compare-view.tsx';
import { ExportMenu } from './export-menu.tsx';
import { InspectorNotes } from './inspector-notes.tsx';
import { type DetailTab, InspectorSide } from './inspector-side.tsx';
import { keyAction } from './key-action.ts';
import { useInspectedSession } from './model/inspected-session.ts';
import { momentText, type OnMoment, stepFrom, useMoment } from './playback/moment.ts';
import { usePlayback } from './playback/playback.ts';
import { PlaybackControls } from './playback/playback-controls.tsx';
import { Scrubber } from './playback/scrubber.tsx';
import { outlineTrack, wholeTrack } from './playback/track.ts';
import { turnSummary } from './playback/turn-preview.tsx';
import { Splitter, useSplit } from './split.tsx';
import { useReportedSpans } from './timeline/reported-spans.ts';
import { Timeline } from './timeline/timeline.tsx';
import { useZoom } from './timeline/zoom.ts';
import { SpanTree } from './tree/span-tree.tsx';
import { nodeAt, pathTo, type TreeNode, treeNodes } from './tree/tree-nodes.ts';
import './inspector.css';

/** The properties of `Inspector`. */
export interface InspectorProps {
  readonly client: Client;
  readonly taskId: string;
  /** The offset of the selected record. Undefined means the current state. */
  readonly at: number | undefined;
  /** Called when the user selects a moment. */
  readonly onMoment: OnMoment;
  /**
   * Called when the user wants to see a moment in the chat. Default: the inspector selects that
   * moment.
   */
  readonly onShowInChat?: ((offset: number) => void) | undefined;
  /** Called when the user wants to continue the session from a record. Default: there is no such button. */
  readonly onBranch?: ((record: LogRecord) => void) | undefined;
}

const noneFolded: ReadonlySet<string> = new Set();

/**
 * Shows a session as a recording, with the tree of its spans, their details, the records and
 * playback.
 */
export function Inspector(props: InspectorProps) {
  const { client, taskId, at, onMoment, onShowInChat, onBranch } = props;
  const t = useLabels();
  const [inspected, retry] = useInspectedSession(client, taskId, at);
  const { model, count, outline, isPart } = inspected;
  const { records, axis, checkpoints } = model;
  const [shortenPauses, setShortenPauses] = useState(true);
  const [tab, setTab] = useState<DetailTab>('span');
  const [moments, setMoments] = useState<ComparedMoments>({ a: undefined, b: undefined });
  const { index, goTo, goToIndex } = useMoment(inspected, at, onMoment);
  const player = usePlayback(model, shortenPauses, goToIndex);
  const reported = useReportedSpans(client, taskId, Math.floor(model.spans.size / 4));
  const positionOf = (time: number) => axis.position(Math.min(time, axis.end), shortenPauses);
  const time = axis.times[index] ?? axis.start;
  const zoom = useZoom(axis.lengthMs(shortenPauses), positionOf(time));
  const offset = records[index]?.offset ?? at ?? 0;
  const last = isPart ? (outline?.through ?? 0) : (records[count - 1]?.offset ?? 0);
  const tree = useTree(model, count, reported);
  const selected = tree.selected ?? nodeAt(tree.nodes, offset);
  const [mainSplit, treeSplit] = [
    useSplit({ name: 'inspector', initial: 62 }),
    useSplit({ name: 'tree', initial: 48 }),
  ];
  // biome-ignore lint/correctness/useExhaustiveDependencies: new records change the track
  const track = useMemo(
    () =>
      isPart && outline !== undefined
        ? outlineTrack(outline, model, t)
        : wholeTrack(model, shortenPauses, zoom.window),
    [model, count, isPart, outline, shortenPauses, zoom.window.from, zoom.window.to],
  );
  const select = (to: number | undefined) => {
    player.pause();
    goTo(to);
  };
  const toggle = () => {
    if (player.isPlaying) return player.pause();
    // If the last record is selected, playback starts from the beginning.
    const from = at === undefined || index >= count - 1 ? 0 : index;
    goToIndex(from);
    player.play(from);
  };
  const step = (by: 1 | -1, far: boolean) => {
    const isEdge = isPart && (by > 0 ? index >= count - 1 : index <= 0);
    if (isEdge) return select(Math.min(last, Math.max(1, offset + by)));
    select(records[stepFrom(records, index, by, far ? 'fact' : 'record')]?.offset);
  };
  const toStart = () => select(isPart ? 1 : records[0]?.offset);
  const onKeyDown = (event: KeyboardEvent) => {
    const toNow = () => select(undefined);
    const action = keyAction(event, { zoom, toggle, toNow, toStart, step });
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  const zoomTo = (node: TreeNode) => {
    const from = positionOf(node.startTime);
    const to = positionOf(node.endTime ?? axis.end);
    const margin = Math.max(10, (to - from) * 0.05);
    zoom.setWindow({ from: from - margin, to: to + margin });
  };
  const readRequest = useMemo(
    () => (of: Parameters<ReturnType<Client['task']>['request']>[0]) =>
      client.task(taskId).request(of),
    [client, taskId],
  );
  const text =
    isPart && offset > 0
      ? t.recordOf(numberText(t, offset), numberText(t, last))
      : momentText(model, index, t);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the scrubber keys work anywhere in the inspector
    <div className="inspector" onKeyDown={onKeyDown}>
      <InspectorNotes {...{ inspected, retry, at }} />
      <div
        className="inspector-body"
        style={{ '--main': `${mainSplit.percent}%` } as React.CSSProperties}
      >
        <Timeline
          {...{ model, count, index, zoom, shortenPauses, positionOf }}
          split={treeSplit}
          onOffset={select}
        >
          <SpanTree
            nodes={tree.nodes}
            folded={tree.folded}
            onFolded={tree.setFolded}
            selected={selected?.id}
            onSelect={(id) => {
              tree.select(id);
              setTab('span');
            }}
            onOpen={zoomTo}
            window={zoom.window}
            positionOf={positionOf}
            end={axis.end}
            now={time}
          />
        </Timeline>
        <Splitter split={mainSplit} label={t.treeAndTimelineWidth} />
        <InspectorSide
          {...{ model, count, index, offset, readRequest, moments, tab }}
          node={selected}
          onTab={setTab}
          onMoments={setMoments}
          onShowInChat={model.hasStates ? (onShowInChat ?? select) : undefined}
          onZoom={zoomTo}
          onOffset={select}
        />
      </div>
      <footer className="inspector-foot">
        <div className="inspector-head">
          <PlaybackControls
            {...{ player, shortenPauses, onShortenPauses: setShortenPauses, onToggle: toggle }}
            isRunning={checkpoints.head.run !== undefined}
            isLive={at === undefined}
            onLive={() => select(undefined)}
            onStart={toStart}
            onStep={(by) => step(by, false)}
          />
          <p className="inspector-moment">{text}</p>
          <BranchButton record={records[index]} onBranch={onBranch} />
          <ExportMenu {...{ taskId, model, at }} offset={records[index]?.offset} />
        </div>
        <Scrubber
          {...{ track, offset, last: count === 0 ? 0 : last, text, moments }}
          preview={(mark, next) => turnSummary(model, mark.offset, next?.offset)}
          onOffset={select}
        />
      </footer>
    </div>
  );
}

interface BranchButtonProps {
  readonly record: LogRecord | undefined;
  readonly onBranch: InspectorProps['onBranch'];
}

/** The button that continues the session from the selected record. */
function BranchButton({ record, onBranch }: BranchButtonProps) {
  const t = useLabels();
  if (record === undefined || onBranch === undefined) return null;
  return (
    <Button size="small" onClick={() => onBranch(record)}>
      {t.branchFromHere}
    </Button>
  );
}

/** Returns the tree of spans, the selected span and the folded spans. */
function useTree(
  model: ReturnType<typeof useInspectedSession>[0]['model'],
  count: number,
  reported: Parameters<typeof treeNodes>[1],
) {
  const [selectedId, select] = useState<string>();
  const [folded, setFolded] = useState(noneFolded);
  const spans = count === 0 ? noSpans : model.spans.spans;
  const nodes = useMemo(() => treeNodes(spans, reported), [spans, reported]);
  const selected = useMemo(
    () => (selectedId === undefined ? undefined : pathTo(nodes, selectedId).at(-1)),
    [nodes, selectedId],
  );
  return { nodes, selected, select, folded, setFolded };
}

const noSpans = [] as const;
