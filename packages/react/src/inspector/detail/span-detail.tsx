import { attemptOf, cachedPercent, type PartId, type Usage } from '@millrace/core';
import type { Span } from '@millrace/core/spans';
import type { ReactNode } from 'react';
import { LongText } from '../../chat/content/long-text.tsx';
import { FactIndex } from '../../chat/state/fact-index.ts';
import { useMillrace } from '../../context.ts';
import { Button } from '../../design/button.tsx';
import { duration } from '../../design/time.tsx';
import type { Labels } from '../../labels/labels.ts';
import { numberText, useLabels } from '../../labels/use-labels.ts';
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

const kindTitles = {
  ...{ run: 'run', turn: 'turn', attempt: 'attempt', call: 'toolCall', agent: 'subAgent' },
  ...{ approval: 'approval', retry: 'retry', span: 'reportedSpan' },
} as const satisfies Readonly<Record<TreeNode['kind'], keyof Labels>>;

const statusTitles = {
  ...{ ok: 'callDone', error: 'failed', discarded: 'discarded', waiting: 'waiting' },
} as const satisfies Readonly<Record<TreeNode['status'], keyof Labels>>;

/** Shows the selected span: timing, usage, errors, the prompt, and the content that it produced. */
export function SpanDetail(props: SpanDetailProps) {
  const t = useLabels();
  const { node, model, onShowInChat, onZoom, onRecords } = props;
  if (node === undefined) return <p className="inspector-empty">{t.selectSpan}</p>;
  const { span, kind, name, status, usage } = node;
  const offset = span?.endOffset ?? span?.offset;
  return (
    <article className="span-detail" aria-label={`${t[kindTitles[kind]]} ${name}`}>
      <header>
        <h4>
          {/* The names of runs and turns contain their kind. */}
          {kind !== 'run' && kind !== 'turn' && <small>{t[kindTitles[kind]]}</small>} {name}
        </h4>
        <span className="tag" data-mark={status}>
          {node.endTime === undefined ? t.inProgress : t[statusTitles[status]]}
        </span>
      </header>
      {node.detail !== undefined && <p className="span-detail-line">{node.detail}</p>}
      <div className="span-actions">
        {offset !== undefined && onShowInChat !== undefined && (
          <Button size="small" onClick={() => onShowInChat(offset)}>
            {t.showInChat}
          </Button>
        )}
        <Button size="small" onClick={() => onZoom(node)}>
          {t.zoomToIt}
        </Button>
        {span !== undefined && (
          <Button size="small" onClick={() => onRecords(span.offset)}>
            {t.rawRecords}
          </Button>
        )}
      </div>
      {span?.error !== undefined && (
        <div className="span-error" role="note">
          <b>{span.error.code}</b> <LongText text={span.error.message} />
          {span.stop?.cause !== undefined && <small>{t.causeOf(span.stop.cause)}</small>}
        </div>
      )}
      <Timing node={node} end={model.axis.end} parent={parentOf(model, span)} />
      {usage !== undefined && (
        <UsageTable usage={usage} title={kind === 'attempt' ? t.tokens : t.tokensOfAllAttempts} />
      )}
      {span?.child !== undefined && <ChildLink id={span.child} />}
      {span?.traceId !== undefined && (
        <p className="span-detail-line">
          {t.trace} <code>{span.traceId.slice(0, 8)}…</code>
          <CopyButton text={span.traceId} label={t.copyTheTraceId} />
        </p>
      )}
      {span !== undefined && <SpanContent span={span} {...props} />}
      {node.reported !== undefined && (
        <Section title={t.reportedData}>
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
  const t = useLabels();
  const phases = phasesOf(node, end, parent);
  const total = phases.reduce((sum, { ms }) => sum + ms, 0) || 1;
  return (
    <Section title={t.timing}>
      <div className="phases" aria-hidden="true">
        {phases.map(({ name, ms }) => (
          <span key={name} data-phase={name} style={{ flexGrow: Math.max(ms / total, 0.01) }} />
        ))}
      </div>
      <dl className="facts">
        {phases.map(({ name, ms }) => (
          <div key={name} data-phase={name}>
            <dt>{t[name]}</dt>
            <dd>{duration(ms)}</dd>
          </div>
        ))}
        <div>
          <dt>{t.total}</dt>
          <dd>{durationText(node, end, t)}</dd>
        </div>
        <div>
          <dt>{t.started}</dt>
          <dd>
            {node.span?.isCut === true && `${t.before} `}
            {new Date(node.startTime).toLocaleString(t.locale)}
          </dd>
        </div>
      </dl>
    </Section>
  );
}

interface Phase {
  readonly name: 'queuedPhase' | 'firstToken' | 'stream' | 'work';
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
      ? [{ name: 'queuedPhase', ms: startTime - queuedTime }]
      : [];
  if (firstContentTime === undefined) return [...queued, { name: 'work', ms: endTime - startTime }];
  return [
    ...queued,
    { name: 'firstToken', ms: firstContentTime - startTime },
    { name: 'stream', ms: Math.max(0, endTime - firstContentTime) },
  ];
}

function UsageTable({ usage, title }: { readonly usage: Usage; readonly title: string }) {
  const t = useLabels();
  const { input, output, cacheRead, cacheWrite, reasoning, costs, estimated } = usage;
  const counts: readonly (readonly [string, number, string?])[] = [
    [t.sent, input],
    [t.fromTheCache, cacheRead, cacheRead > 0 ? ` (${cachedPercent(usage)} %)` : ''],
    [t.toTheCache, cacheWrite],
    [t.generated, output],
    [t.reasoning, reasoning],
  ];
  return (
    <Section title={estimated ? t.estimated(title) : title}>
      <dl className="facts">
        {counts
          .filter(([, count], at) => count > 0 || at === 0)
          .map(([name, count, more]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                {numberText(t, count)}
                {more}
              </dd>
            </div>
          ))}
        {costs.map(({ amount, currency }) => (
          <div key={currency}>
            <dt>{t.cost}</dt>
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
  const t = useLabels();
  const { kind, turn, attempt, usage } = span;
  const isAttempt = kind === 'attempt' && span.child === undefined;
  const parts = model.hasStates ? partsOf(model, span, t) : [];
  return (
    <>
      {isAttempt && (
        <Section title={t.prompt}>
          <PromptView
            {...{ turn, attempt, usage, readRequest }}
            before={attemptBefore(model, span)}
          />
        </Section>
      )}
      {parts.length > 0 && (
        <Section title={isAttempt || kind === 'turn' ? t.answer : t.inputAndOutput}>
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
function partsOf(model: SessionModel, span: Span, t: Labels): readonly ShownPart[] {
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
      return isShown ? [{ id: partId, title: partTitle(part, t), text: partText(part) }] : [];
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

/**
 * Shows a link to the session of a sub-agent. If the application has no links, it shows the id of the
 * session.
 */
function ChildLink({ id }: { readonly id: string }) {
  const t = useLabels();
  const { SessionLink } = useMillrace();
  return (
    <p className="span-detail-line">
      {SessionLink === undefined ? (
        <>
          {t.subAgentSession} <code>{id}</code>
        </>
      ) : (
        <SessionLink id={id} view="inspector">
          {t.inspectSubAgent}
        </SessionLink>
      )}
    </p>
  );
}
