import type { AskedApproval, ItemId } from '@millrace/core';
import { type ReactNode, Suspense, useCallback, useId, useMemo, useState } from 'react';
import { Button } from '../../design/button.tsx';
import { ChevronIcon, LaneIcon, ShieldIcon } from '../../design/icons.tsx';
import type { Labels } from '../../labels/labels.ts';
import { Filled, useLabels } from '../../labels/use-labels.ts';
import { lazyView } from '../../on-demand/lazy-view.tsx';
import { ItemActionsContext } from '../branch/branch-switch.tsx';
import { VisibleText } from '../content/visible-text.tsx';
import { type ChatSource, isUnfinished, useSourceValue } from '../state/chat-source.ts';
import type { LiveSource } from '../state/live-source.ts';
import { callsText } from '../tool/calls-text.ts';
import { ItemView } from '../transcript/item-view.tsx';
import { useClaimedQuestions } from './lane-context.ts';
import './lane.css';

const ApprovalDock = lazyView(
  async () => (await import('../approval/approval-dock.tsx')).ApprovalDock,
);

/** The number of items that a lane shows at first, and how many more the button adds. */
const itemsStep = 30;

interface LaneFrameProps {
  /** A text about what the sub-agent does or did. */
  readonly status: string;
  readonly isRunning: boolean;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
  readonly children?: ReactNode;
}

/** The row of a sub-agent, and its session below the row while it is open. */
export function LaneFrame({ status, isRunning, isOpen, onToggle, children }: LaneFrameProps) {
  const t = useLabels();
  const bodyId = useId();
  return (
    <fieldset className="lane" data-running={isRunning || undefined} aria-label={t.subAgent}>
      <button
        type="button"
        className="lane-head"
        aria-expanded={isOpen}
        aria-controls={bodyId}
        onClick={onToggle}
      >
        {isRunning ? <span className="spinner" aria-hidden="true" /> : <LaneIcon />}
        <span className="lane-name">{t.subAgent}</span>
        <span className="lane-status">
          <VisibleText text={status} />
        </span>
        <span className="fold-mark" data-open={isOpen || undefined}>
          <ChevronIcon />
        </span>
      </button>
      {isOpen && (
        <div className="lane-body" id={bodyId}>
          {children}
        </div>
      )}
    </fieldset>
  );
}

const noActions = { branches: () => undefined };
const selectItemIds = ({ itemIds }: ChatSource) => itemIds;

/** Shows the conversation of a sub-agent. Of a long conversation, it first shows only the latest items. */
export function LaneItems({ source }: { readonly source: ChatSource }) {
  const t = useLabels();
  const ids = useSourceValue(source, selectItemIds);
  const [count, setCount] = useState(itemsStep);
  const shown = useMemo(() => ids.filter((id) => isShown(source, ids, id)), [source, ids]);
  const hidden = Math.max(0, shown.length - count);
  return (
    <ItemActionsContext value={noActions}>
      {hidden > 0 && (
        <Button size="small" onClick={() => setCount(count + itemsStep)}>
          {t.showEarlier(Math.min(hidden, itemsStep), hidden)}
        </Button>
      )}
      {shown.slice(hidden).map((id) => (
        <ItemView key={id} source={source} id={id} />
      ))}
    </ItemActionsContext>
  );
}

/**
 * Returns whether a lane shows an item. The first message is the task, which the tool call above the lane
 * shows. Results are part of the cards of their calls.
 */
function isShown(source: ChatSource, ids: readonly ItemId[], id: ItemId): boolean {
  const kind = source.item(id)?.kind;
  if (kind === 'tool') return false;
  return kind !== 'user' || ids.find((one) => source.item(one)?.kind === 'user') !== id;
}

/** Returns one line about the activity of a sub-agent. */
export function useLaneStatus(source: ChatSource): string {
  const t = useLabels();
  return useSourceValue(
    source,
    useCallback((from: ChatSource) => laneStatus(from, t), [t]),
  );
}

function laneStatus(source: ChatSource, t: Labels): string {
  const { state, facts } = source;
  if (state.asked.length > 0) return t.waitsForYourAnswer;
  const open = state.open.at(-1)?.begin;
  if (open?.kind === 'tool_call') return t.callsTool(open.name);
  if (open?.kind === 'tool_result') return t.runsTool(open.name);
  if (isUnfinished(source)) return open === undefined ? t.works : t.writes;
  const stop = facts.lastStop?.reason;
  if (stop === 'aborted') return t.stopped;
  if (stop === 'error') return t.failed;
  const calls = source.itemIds.flatMap((id) => source.item(id)?.parts ?? []);
  const names = calls.flatMap((part) => (part.kind === 'tool_call' ? [part.name] : []));
  return names.length === 0 ? t.answered : callsText(names, t);
}

const selectAsked = ({ state }: ChatSource) => state.asked;

interface LaneQuestionsProps {
  /** The session of the task that started all sub-agents. Its user answers the questions. */
  readonly root: LiveSource;
  /** The session of the sub-agent. */
  readonly session: string;
}

/**
 * The questions of a sub-agent. The root session has a copy of each question, and its answer goes down to
 * the sub-agent. The card opens on demand, because the foot of the page already shows the question.
 */
export function LaneQuestions({ root, session }: LaneQuestionsProps) {
  const all = useSourceValue(root, selectAsked);
  const asked = useMemo(() => all.filter(({ from }) => from?.session === session), [all, session]);
  const [isHere, setHere] = useState(false);
  const isAnswering = isHere && asked.length > 0;
  useClaimedQuestions(session, isAnswering);
  const show = useCallback(() => setHere(true), []);
  const [first] = asked;
  if (first === undefined) return null;
  if (!isAnswering) return <QuestionRow asked={first} onAnswer={show} />;
  return (
    <Suspense fallback={null}>
      <ApprovalDock source={root} handle={root.handle} session={session} />
    </Suspense>
  );
}

function QuestionRow({
  asked,
  onAnswer,
}: {
  readonly asked: AskedApproval;
  readonly onAnswer: () => void;
}) {
  const t = useLabels();
  return (
    <div className="lane-question">
      <ShieldIcon />
      <span>
        <Filled
          text={t.asksAbout}
          parts={[
            <code key="name">
              <VisibleText text={asked.name} />
            </code>,
          ]}
        />
        .
      </span>
      <Button size="small" onClick={onAnswer}>
        {t.answerHere}
      </Button>
    </div>
  );
}
