import type { PartId, ToolCallPart } from '@millrace/core';
import { useCallback, useId } from 'react';
import { ChevronIcon, HandoffIcon } from '../../design/icons.tsx';
import { duration } from '../../design/time.ts';
import type { CallFacts } from '../state/call-facts.ts';
import type { ChatSource } from '../state/chat-source.ts';
import { useUnfolded } from '../state/unfolded.ts';
import { useCallFacts, useRead, useResult } from '../state/use-source.ts';
import { type CallStatus, callStatus, isOverAs, statusWords } from './call-status.ts';
import { ChildSession } from './child-session.tsx';
import { handedOverTo } from './handoff.ts';
import { InputView } from './input-view.tsx';
import { ResultView } from './result-view.tsx';
import { StatusMark } from './status-mark.tsx';
import { useLiveInput } from './use-live-input.ts';
import { VisibleText } from './visible-text.tsx';
import './tool-card.css';

export interface ToolCardProps {
  readonly source: ChatSource;
  readonly partId: PartId;
  readonly part: ToolCallPart;
  readonly isOpen: boolean;
}

/** A call from its first letter to its result. */
export function ToolCard({ source, partId, part, isOpen }: ToolCardProps) {
  const { toolCallId, name } = part;
  const facts = useCallFacts(source, toolCallId);
  const result = useResult(source, toolCallId);
  const isAsked = useRead(source, useIsAsked(toolCallId));
  const isLive = useRead(source, isLiveOf);
  const status = callStatus({ isOpen, isAsked, facts, result, isLive });
  // A picture is there to be seen.
  const hasMedia = result?.kind === 'tool_result' && (result.attachments?.length ?? 0) > 0;
  const isGoingOn = !isOverAs[status];
  const [isUnfolded, setUnfolded] = useUnfolded(source, partId, isGoingOn || hasMedia);
  // While somebody is asked, it is shown where the question is.
  const isShown = isUnfolded && status !== 'asking';
  const bodyId = useId();
  const to = handedOverTo(name, result);
  const label = to === undefined ? `Tool ${name}: ${statusWords[status]}` : `Handed over to ${to}`;
  return (
    <section className="tool-card" data-status={status} aria-label={label}>
      <button
        type="button"
        className="tool-head"
        aria-expanded={isShown}
        aria-controls={bodyId}
        onClick={() => setUnfolded(!isUnfolded)}
      >
        {to === undefined ? (
          <>
            <StatusMark status={status} />
            <span className="tool-name">
              <VisibleText text={name} />
            </span>
            <ToolSummary part={part} facts={facts} isOpen={isOpen} />
          </>
        ) : (
          <HandoffTitle {...{ name, to }} />
        )}
        <span className="tool-state">{stateWords(status, facts)}</span>
        <span className="fold-mark" data-open={isShown || undefined}>
          <ChevronIcon />
        </span>
      </button>
      {isShown && (
        <div className="tool-body" id={bodyId}>
          <ToolInput part={part} isOpen={isOpen} facts={facts} />
          {facts?.rejected && result === undefined && (
            <p className="tool-words">
              <VisibleText text={facts.rejected.message} told="directions" />
            </p>
          )}
          {result?.kind === 'tool_result' && (
            <ResultView
              {...{ source, part: result }}
              isOpen={status === 'running'}
              isStopped={status === 'stopped'}
            />
          )}
          {facts?.child !== undefined && <ChildSession id={facts.child} />}
        </div>
      )}
    </section>
  );
}

/** In words; the call's own name is beside it. */
function HandoffTitle({ name, to }: { readonly name: string; readonly to: string }) {
  return (
    <>
      <HandoffIcon />
      <span className="tool-handoff">
        Handed over to{' '}
        <b>
          <VisibleText text={to} />
        </b>
      </span>
      <span className="tool-summary">
        <VisibleText text={name} />
      </span>
    </>
  );
}

const isLiveOf = ({ state }: ChatSource) => state.run !== undefined || state.asked.length > 0;

function useIsAsked(id: string) {
  return useCallback(
    ({ state }: ChatSource) => state.asked.some(({ toolCallId }) => toolCallId === id),
    [id],
  );
}

function ToolInput({
  part,
  isOpen,
  facts,
}: Pick<ToolCardProps, 'part' | 'isOpen'> & { readonly facts: CallFacts | undefined }) {
  const input = useLiveInput(part, isOpen);
  const changed = facts?.answer?.input;
  if (changed === undefined)
    return <InputView name={part.name} input={input} text={part.arguments} isOpen={isOpen} />;
  return (
    <>
      <p className="tool-words">Changed by {facts?.answer?.by ?? 'whoever allowed it'}:</p>
      <InputView name={part.name} input={changed} text="" />
    </>
  );
}

const telling = ['command', 'path', 'pattern', 'query', 'url', 'task', 'description'];

/** The one line that tells most. */
function ToolSummary({
  part,
  facts,
  isOpen,
}: Pick<ToolCardProps, 'part' | 'isOpen'> & { readonly facts: CallFacts | undefined }) {
  const input = useLiveInput(part, isOpen);
  const fields = (typeof input === 'object' && input !== null ? input : {}) as object;
  const named = new Map<string, unknown>(Object.entries(fields));
  const told = telling.map((key) => named.get(key)).find((value) => typeof value === 'string');
  const summary = facts?.summary === part.name ? undefined : facts?.summary;
  const other = [...named.values()].find((value) => typeof value === 'string');
  const text = told ?? summary ?? other;
  return (
    <span className="tool-summary">
      {typeof text === 'string' && <VisibleText text={text.slice(0, 200)} />}
    </span>
  );
}

function stateWords(status: CallStatus, facts: CallFacts | undefined): string {
  const { startedAt, finishedAt } = facts ?? {};
  if (status === 'done' && startedAt !== undefined && finishedAt !== undefined)
    return finishedAt - startedAt < 1 ? '' : duration(finishedAt - startedAt);
  if (status === 'rejected' && facts?.rejected?.code === 'denied') return 'denied';
  return status === 'done' ? '' : statusWords[status];
}
