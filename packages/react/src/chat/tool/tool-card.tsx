import { type JsonValue, type PartId, PartialJson, type ToolCallPart } from '@millrace/core';
import { Suspense, useCallback, useContext, useId, useState } from 'react';
import { ChevronIcon, HandoffIcon } from '../../design/icons.tsx';
import { duration } from '../../design/time.tsx';
import type { Labels } from '../../labels/labels.ts';
import { Filled, useLabels } from '../../labels/use-labels.ts';
import { lazyView } from '../../on-demand/lazy-view.tsx';
import { VisibleText } from '../content/visible-text.tsx';
import { type ChatSource, useCallFacts, useResult, useSourceValue } from '../state/chat-source.ts';
import type { CallFacts } from '../state/fact-index.ts';
import { useUnfolded } from '../state/use-unfolded.ts';
import { SubAgentView } from '../sub-agent/lane-context.ts';
import {
  type CallStatus,
  callStatusIn,
  isFinalStatus,
  StatusIcon,
  statusLabels,
} from './call-status.tsx';
import { handoffTarget } from './handoff.ts';
import { InputView } from './input-view.tsx';
import { ResultView, shownFiles } from './result-view.tsx';
import './tool-card.css';

// Few tools have an app.
const AppView = lazyView(async () => (await import('../app/app-view.tsx')).AppView);

/** The properties of `ToolCard`. */
export interface ToolCardProps {
  readonly source: ChatSource;
  readonly partId: PartId;
  readonly part: ToolCallPart;
  readonly isOpen: boolean;
}

/** Shows a tool call from its first streamed character to its result. */
export function ToolCard({ source, partId, part, isOpen }: ToolCardProps) {
  const t = useLabels();
  const { toolCallId, name } = part;
  const facts = useCallFacts(source, toolCallId);
  const result = useResult(source, toolCallId);
  const status = useSourceValue(source, useStatusSelector(toolCallId, isOpen));
  // A card with images is initially unfolded, so that the images are visible immediately.
  const hasMedia = result?.kind === 'tool_result' && shownFiles(result).length > 0;
  const isGoingOn = !isFinalStatus[status];
  // The lane of a sub-agent shows its text, so the same text is not shown as progress.
  const SubAgent = useContext(SubAgentView);
  // The server does not give the sub-agents of the original to readers of a copy.
  const isOwn = facts?.parent === undefined || facts.parent === source.state.session;
  const child = isOwn ? facts?.child : undefined;
  const hasLane = child !== undefined && SubAgent !== undefined;
  const [isUnfolded, setUnfolded] = useFolding(source, partId, isGoingOn, { hasLane, hasMedia });
  // While an approval is required, the approval card shows the input.
  const isShown = isUnfolded && status !== 'asking';
  const bodyId = useId();
  const to = handoffTarget(name, result);
  const stateText = statusLabel(status, facts, t);
  const label = to === undefined ? t.toolState(name, t[statusLabels[status]]) : t.handedOverTo(to);
  const card = (
    <fieldset className="tool-card" data-status={status} aria-label={label}>
      <button
        type="button"
        className="tool-head"
        aria-expanded={isShown}
        aria-controls={bodyId}
        onClick={() => setUnfolded(!isUnfolded)}
      >
        {to === undefined ? (
          <>
            <StatusIcon status={status} />
            <span className="tool-name">
              <VisibleText text={name} />
            </span>
            <ToolSummary part={part} facts={facts} isOpen={isOpen} />
          </>
        ) : (
          <HandoffTitle {...{ name, to }} />
        )}
        {/* Each text gets a new element. The text is aligned right, so its start would move otherwise. */}
        <span key={stateText} className="tool-state">
          {stateText}
        </span>
        <span className="fold-mark" data-open={isShown || undefined}>
          <ChevronIcon />
        </span>
      </button>
      {isShown && (
        <div className="tool-body" id={bodyId}>
          <ToolInput part={part} isOpen={isOpen} facts={facts} />
          {facts?.rejected && result === undefined && (
            <p className="tool-words">
              <VisibleText text={facts.rejected.message} escapes="directions" />
            </p>
          )}
          {result?.kind === 'tool_result' && !(hasLane && isGoingOn) && (
            <ResultView
              {...{ source, part: result }}
              isOpen={status === 'running'}
              isStopped={status === 'stopped'}
            />
          )}
          {child !== undefined && SubAgent !== undefined && (
            <Suspense fallback={null}>
              <SubAgent source={source} session={child} isRunning={isGoingOn} />
            </Suspense>
          )}
        </div>
      )}
    </fieldset>
  );
  if (result?.kind !== 'tool_result' || result.metadata?.['mcpApp'] === undefined) return card;
  return (
    <>
      {card}
      <Suspense fallback={null}>
        <AppView source={source} call={part} result={result} />
      </Suspense>
    </>
  );
}

/**
 * Returns whether the card is unfolded. A card that was unfolded while it ran stays unfolded, so that its
 * result does not disappear. The card of a sub-agent folds at the end, because its session is long.
 */
function useFolding(
  source: ChatSource,
  partId: PartId,
  isGoingOn: boolean,
  { hasLane, hasMedia }: { readonly hasLane: boolean; readonly hasMedia: boolean },
): readonly [boolean, (isUnfolded: boolean) => void] {
  const plain = useUnfolded(source, partId, isGoingOn || hasMedia);
  const [chosen, choose] = useState<boolean>();
  return hasLane ? [chosen ?? isGoingOn, choose] : plain;
}

/** The title of a hand-off, with the name of the call next to it. */
function HandoffTitle({ name, to }: { readonly name: string; readonly to: string }) {
  const t = useLabels();
  return (
    <>
      <HandoffIcon />
      <span className="tool-handoff">
        <Filled
          text={t.handedOverTo('{0}')}
          parts={[
            <b key="to">
              <VisibleText text={to} />
            </b>,
          ]}
        />
      </span>
      <span className="tool-summary">
        <VisibleText text={name} />
      </span>
    </>
  );
}

function useStatusSelector(id: string, isOpen: boolean) {
  return useCallback((from: ChatSource) => callStatusIn(from, id, isOpen), [id, isOpen]);
}

function ToolInput({
  part,
  isOpen,
  facts,
}: Pick<ToolCardProps, 'part' | 'isOpen'> & { readonly facts: CallFacts | undefined }) {
  const t = useLabels();
  const input = useLiveInput(part, isOpen);
  const changed = facts?.answer?.input;
  if (changed === undefined)
    return <InputView name={part.name} input={input} text={part.arguments} isOpen={isOpen} />;
  return (
    <>
      <p className="tool-words">{t.changedBy(facts?.answer?.by ?? t.theApprover)}</p>
      <InputView name={part.name} input={changed} text="" />
    </>
  );
}

const summaryFields = ['command', 'path', 'pattern', 'query', 'url', 'task', 'description'];

/** Shows one line that describes the call: a summary, or its most important argument. */
function ToolSummary({
  part,
  facts,
  isOpen,
}: Pick<ToolCardProps, 'part' | 'isOpen'> & { readonly facts: CallFacts | undefined }) {
  const input = useLiveInput(part, isOpen);
  const fields = (typeof input === 'object' && input !== null ? input : {}) as object;
  const named = new Map<string, unknown>(Object.entries(fields));
  const mainField = summaryFields
    .map((key) => named.get(key))
    .find((value) => typeof value === 'string');
  const summary = facts?.summary === part.name ? undefined : facts?.summary;
  const other = [...named.values()].find((value) => typeof value === 'string');
  const text = mainField ?? summary ?? other;
  return (
    <span className="tool-summary">
      {typeof text === 'string' && <VisibleText text={text.slice(0, 200)} />}
    </span>
  );
}

function statusLabel(status: CallStatus, facts: CallFacts | undefined, t: Labels): string {
  const { startedAt, finishedAt } = facts ?? {};
  if (status === 'done' && startedAt !== undefined && finishedAt !== undefined)
    return finishedAt - startedAt < 1 ? '' : duration(finishedAt - startedAt);
  if (status === 'rejected' && facts?.rejected?.code === 'denied') return t.denied;
  return status === 'done' ? '' : t[statusLabels[status]];
}

/** Maximum length of arguments that are parsed while they stream. Longer arguments are shown as text. */
const maxLength = 50_000;

/**
 * Returns the input, parsed from the arguments that have arrived so far. Returns undefined if they
 * cannot be parsed yet.
 */
function useLiveInput(part: ToolCallPart, isOpen: boolean): JsonValue | undefined {
  const [reader] = useState(() => new IncrementalJson());
  if (part.input !== undefined && !isOpen) return part.input;
  return part.arguments.length > maxLength ? undefined : reader.read(part.arguments);
}

/** Parses a growing JSON text. Each call parses only the text that is new. */
class IncrementalJson {
  #json = new PartialJson();
  #length = 0;

  read(text: string): JsonValue | undefined {
    if (text.length < this.#length) {
      this.#json = new PartialJson();
      this.#length = 0;
    }
    if (text.length > this.#length) this.#json.feed(text.slice(this.#length));
    this.#length = text.length;
    return this.#json.value;
  }
}
