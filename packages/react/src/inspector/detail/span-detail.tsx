import { attemptOf, cachedPercent, type PartId, type Usage } from '@millrace/core';
import type { Span } from '@millrace/core/spans';
import type { ReactNode } from 'react';
import { LongText } from '../../chat/content/long-text.tsx';
import { FactIndex } from '../../chat/state/fact-index.ts';
import { useMillrace } from '../../context.ts';
import { Button } from '../../design/button.tsx';
import { duration } from '../../design/time.tsx';
import { CopyButton } from '../../markdown/copy-button.tsx';
import type { SessionModel } from '../model/session-model.ts';
import { partText, partTitle } from '../part-text.ts';
import { stateSource } from '../past-source.ts';
import type { ReadRequest } from '../records/record-detail.tsx';
import { durationText } from '../tree/span-tree.tsx';
import type { TreeNode } from '../tree/tree-nodes.ts';
import { PromptView } from './prompt-view.tsx';
import './detail.css';

interface SpanDetailProps {
  readonly node: TreeNode | undefined;
  readonly model: SessionModel;
  readonly readRequest: ReadRequest;
  /** Shows the chat at the end of the span. Undefined if that state cannot be computed. */
  readonly onShowInChat: ((offset: number) => void) | undefined;
  readonly onZoom: (node: TreeNode) => void;
  /** Shows the records of the span. */
  readonly onRecords: (offset: number) => void;
}

const kindTitles: Readonly<Record<TreeNode['kind'], string>> = {
  ...{ run: 'Run', turn: 'Turn', attempt: 'Attempt', call: 'Tool call', agent: 'Sub-agent' },
  ...{ approval: 'Approval', retry: 'Retry', span: 'Reported span' },
};

/** Shows the selected span: timing, usage, errors, the prompt, and the content that it produced. */
export function SpanDetail(props: SpanDetailProps) {
  const { node, model, onShowInChat, onZoom, onRecords } = props;
  if (node === undefined)
    return <p className="inspector-empty">Select a span in the tree to see what it did.</p>;
  const { span, kind, name, status, usage } = node;
  const offset = span?.endOffset ?? span?.offset;
  return (
    <article className="span-detail" aria-label={`${kindTitles[kind]} ${name}`}>
      <header>
        <h4>
          <small>{kindTitles[kind]}</small> {name}
        </h4>
        <span className="tag" data-mark={status}>
          {node.endTime === undefined ? 'in progress' : status}
        </span>
      </header>
      {node.detail !== undefined && <p className="span-detail-line">{node.detail}</p>}
      <div className="span-actions">
        {offset !== undefined && onShowInChat !== undefined && (
          <Button size="small" onClick={() => onShowInChat(offset)}>
            Show in chat
          </Button>
        )}
        <Button size="small" onClick={() => onZoom(node)}>
          Zoom to it
        </Button>
        {span !== undefined && (
          <Button size="small" onClick={() => onRecords(span.offset)}>
            Raw records
          </Button>
        )}
      </div>
      {span?.error !== undefined && (
        <div className="span-error" role="note">
          <b>{span.error.code}</b> <LongText text={span.error.message} />
          {span.stop?.cause !== undefined && <small>Cause: {span.stop.cause}</small>}
        </div>
      )}
      <Timing node={node} end={model.axis.end} parent={parentOf(model, span)} />
      {usage !== undefined && (
        <UsageTable
          usage={usage}
          title={kind === 'attempt' ? 'Tokens' : 'Tokens of all attempts'}
        />
      )}
      {span?.child !== undefined && <ChildLink id={span.child} />}
      {span?.traceId !== undefined && (
        <p className="span-detail-line">
          Trace <code>{span.traceId.slice(0, 8)}…</code>
          <CopyButton text={span.traceId} label="Copy the trace id" />
        </p>
      )}
      {span !== undefined && <SpanContent span={span} {...props} />}
      {node.reported !== undefined && (
        <Section title="Reported data">
          <LongText
            text={JSON.stringify(
              {
                input: node.reported.input,
                output: node.reported.output,
                data: node.reported.data,
              },
              null,
              2,
            )}
          />
        </Section>
      )}
    </article>
  );
}

function parentOf({ spans }: SessionModel, span: Span | undefined): Span | undefined {
  return span?.parentId === undefined ? undefined : spans.get(span.parentId);
}

function Section({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="span-section" aria-label={title}>
      <h5>{title}</h5>
      {children}
    </section>
  );
}

/** Shows the phases of a span: waiting, until the first token, and streaming. */
function Timing({
  node,
  end,
  parent,
}: {
  readonly node: TreeNode;
  readonly end: number;
  readonly parent: Span | undefined;
}) {
  const phases = phasesOf(node, end, parent);
  const total = phases.reduce((sum, { ms }) => sum + ms, 0) || 1;
  return (
    <Section title="Timing">
      <div className="phases" aria-hidden="true">
        {phases.map(({ name, ms }) => (
          <span key={name} data-phase={name} style={{ flexGrow: Math.max(ms / total, 0.01) }} />
        ))}
      </div>
      <dl className="facts">
        {phases.map(({ name, ms }) => (
          <div key={name} data-phase={name}>
            <dt>{name}</dt>
            <dd>{duration(ms)}</dd>
          </div>
        ))}
        <div>
          <dt>Total</dt>
          <dd>{durationText(node, end)}</dd>
        </div>
        <div>
          <dt>Started</dt>
          <dd>
            {node.span?.isCut === true && 'before '}
            {new Date(node.startTime).toLocaleString()}
          </dd>
        </div>
      </dl>
    </Section>
  );
}

interface Phase {
  readonly name: 'Queued' | 'First token' | 'Stream' | 'Work';
  readonly ms: number;
}

/**
 * Returns the phases of a span. A tool call is queued from the end of the model's answer until the
 * call starts.
 */
function phasesOf(node: TreeNode, end: number, parent: Span | undefined): readonly Phase[] {
  const { startTime, firstContentTime, kind, span } = node;
  const endTime = node.endTime ?? Math.max(end, startTime);
  const isCall = kind === 'call' || kind === 'agent';
  const queuedTime = isCall ? parent?.endTime : span?.queuedTime;
  const queued: readonly Phase[] =
    queuedTime !== undefined && queuedTime < startTime
      ? [{ name: 'Queued', ms: startTime - queuedTime }]
      : [];
  if (firstContentTime === undefined) return [...queued, { name: 'Work', ms: endTime - startTime }];
  return [
    ...queued,
    { name: 'First token', ms: firstContentTime - startTime },
    { name: 'Stream', ms: Math.max(0, endTime - firstContentTime) },
  ];
}

function UsageTable({ usage, title }: { readonly usage: Usage; readonly title: string }) {
  const { input, output, cacheRead, cacheWrite, reasoning, costs, estimated } = usage;
  const counts: readonly (readonly [string, number, string?])[] = [
    ['Sent', input],
    ['From the cache', cacheRead, cacheRead > 0 ? ` (${cachedPercent(usage)} %)` : ''],
    ['To the cache', cacheWrite],
    ['Generated', output],
    ['Reasoning', reasoning],
  ];
  return (
    <Section title={estimated ? `${title} (estimated)` : title}>
      <dl className="facts">
        {counts
          .filter(([, count], at) => count > 0 || at === 0)
          .map(([name, count, more]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                {count.toLocaleString('en')}
                {more}
              </dd>
            </div>
          ))}
        {costs.map(({ amount, currency }) => (
          <div key={currency}>
            <dt>Cost</dt>
            <dd>
              {amount} {currency}
            </dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}

/** Shows the content of a span: the prompt and the answer, or the input and the output. */
function SpanContent({ span, model, readRequest }: { readonly span: Span } & SpanDetailProps) {
  const { kind, turn, attempt, usage } = span;
  const isAttempt = kind === 'attempt' && span.child === undefined;
  const parts = model.hasStates ? partsOf(model, span) : [];
  return (
    <>
      {isAttempt && (
        <Section title="Prompt">
          <PromptView
            {...{ turn, attempt, usage, readRequest }}
            before={attemptBefore(model, span)}
          />
        </Section>
      )}
      {parts.length > 0 && (
        <Section title={isAttempt || kind === 'turn' ? 'Answer' : 'Input and output'}>
          {parts.map(({ id, title, text }) => (
            <div key={id} className="prompt-block">
              <small>{title}</small>
              <LongText text={text} />
            </div>
          ))}
        </Section>
      )}
    </>
  );
}

interface ShownPart {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

/** Returns the parts that an attempt, a turn or a call produced. */
function partsOf(model: SessionModel, span: Span): readonly ShownPart[] {
  const { kind, turn, attempt, toolCallId, endOffset, status } = span;
  if (kind === 'run' || kind === 'retry' || span.child !== undefined) return [];
  // The record that supersedes an attempt retracts its parts. So the parts are shown in their state
  // before that record.
  const isGone = status === 'discarded' && kind === 'attempt';
  const at = endOffset === undefined ? Number.POSITIVE_INFINITY : endOffset - (isGone ? 1 : 0);
  const state = model.checkpoints.stateAt(at);
  const source = stateSource({ state, facts: new FactIndex(), blob: () => Promise.reject() });
  return source.itemIds.flatMap((id) => {
    const item = source.item(id);
    if (item === undefined) return [];
    return item.parts.flatMap((part, index): readonly ShownPart[] => {
      const isOfCall = 'toolCallId' in part && part.toolCallId === toolCallId;
      const partId = item.partIds[index] ?? `${id} ${index}`;
      const of = attemptOf(partId as PartId);
      const isOfAttempt =
        item.kind === 'assistant' &&
        of.turn === turn &&
        (kind === 'turn' || of.attempt === attempt);
      const isShown = toolCallId === undefined ? isOfAttempt : isOfCall;
      return isShown ? [{ id: partId, title: partTitle(part), text: partText(part) }] : [];
    });
  });
}

/** Returns the attempt that made the previous model request. */
function attemptBefore({ spans }: SessionModel, span: Span) {
  const before = spans.spans.findLast(
    ({ kind, offset, child }) => kind === 'attempt' && child === undefined && offset < span.offset,
  );
  if (before !== undefined) return { turn: before.turn, attempt: before.attempt };
  return span.turn > 1 ? { turn: span.turn - 1, attempt: 1 } : undefined;
}

/** A link to the session of a sub-agent. Without links, the id of the session. */
function ChildLink({ id }: { readonly id: string }) {
  const { SessionLink } = useMillrace();
  return (
    <p className="span-detail-line">
      {SessionLink === undefined ? (
        <>
          Session of the sub-agent: <code>{id}</code>
        </>
      ) : (
        <SessionLink id={id} view="inspector">
          Inspect the session of the sub-agent
        </SessionLink>
      )}
    </p>
  );
}
